#include "tests/reference/random_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "webidl/operator_table.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

constexpr uint64_t kElementsMax = 600;

bool IsSigned(OperandDataType type) {
  return type == OperandDataType::kInt64 || type == OperandDataType::kInt32 ||
         type == OperandDataType::kInt8 || type == OperandDataType::kInt4;
}

class Maker {
 public:
  Maker(OperatorKind kind, std::mt19937_64& random)
      : random_(random), domain_(GetRow(kind).domain) {
    made_.kind = kind;
    made_.attributes = webidl::DefaultAttributes(kind);
  }

  RandomCase Make() {
    EvaluateFunction family = GetRow(made_.kind).evaluate;
    CHECK(family != nullptr);
    if (family == EvaluateBinary) {
      MakeBroadcasting({PickType(0), PickType(0)}, /*same_type=*/true);
    } else if (family == EvaluateWhere) {
      MakeWhere();
    } else if (family == EvaluateCast) {
      MakeCast();
    } else if (family == EvaluateDequantizeLinear || family == EvaluateQuantizeLinear) {
      MakeQuantization();
    } else if (family == EvaluateSplit) {
      MakeSplit();
    } else if (family == EvaluateConcat) {
      MakeConcat();
    } else if (family == EvaluateExpand) {
      MakeExpand();
    } else if (family == EvaluateGather) {
      MakeGather();
    } else if (family == EvaluateGatherElements) {
      MakeGatherElements();
    } else if (family == EvaluateGatherNd) {
      MakeGatherNd();
    } else if (family == EvaluateScatterElements) {
      MakeScatterElements();
    } else if (family == EvaluateScatterNd) {
      MakeScatterNd();
    } else if (family == EvaluateMatmul) {
      MakeMatmul();
    } else if (family == EvaluateGemm) {
      MakeGemm();
    } else {
      MakeOfOneOperand();
    }
    return std::move(made_);
  }

 private:
  // --- Chances ----------------------------------------------------------------------------------

  uint32_t Between(uint32_t least, uint32_t greatest) {
    return least + static_cast<uint32_t>(random_() % (greatest - least + 1));
  }
  bool Flip() { return random_() % 2 == 0; }

  OperandDataType PickType(size_t slot) {
    const auto& types = webidl::GetOperatorRow(made_.kind).slots[slot].types;
    if (types.Contains(OperandDataType::kFloat32) && Flip()) return OperandDataType::kFloat32;
    return PickFrom(types);
  }
  OperandDataType PickFrom(webidl::DataTypeSet types) {
    while (true) {
      auto type = static_cast<OperandDataType>(Between(0, webidl::kOperandDataTypeCount - 1));
      if (types.Contains(type)) return type;
    }
  }

  Shape MakeShape(uint32_t rank_min, uint32_t rank_max) {
    // Ranks above 4 are rarer, as they are in use.
    uint32_t rank = Between(
        rank_min, std::max(rank_min, Between(0, 2) == 0 ? rank_max : std::min(rank_max, 4u)));
    Shape shape;
    uint64_t elements = 1;
    for (uint32_t d = 0; d < rank; ++d) {
      uint32_t size = Between(1, Flip() ? 3 : 17);
      if (elements * size > kElementsMax) size = 1;
      elements *= size;
      shape.push_back(size);
    }
    std::shuffle(shape.begin(), shape.end(), random_);
    return shape;
  }

  // A shape that broadcasts to `shape`.
  Shape MakeBroadcastable(const Shape& shape) {
    Shape own(shape.begin() + (Flip() ? 0 : Between(0, static_cast<uint32_t>(shape.size()))),
              shape.end());
    for (uint32_t& size : own) {
      if (Between(0, 3) == 0) size = 1;
    }
    return own;
  }

  std::vector<uint32_t> PickAxes(size_t rank) {
    std::vector<uint32_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random_);
    axes.resize(Between(0, static_cast<uint32_t>(rank)));
    return axes;
  }

  void Add(OperandDataType type, const Shape& shape) {
    made_.operands.push_back(MakeRandomArray(type, shape, domain_, random_));
  }

  // Indices into dimensions of size `size_of(element)`; some negative, some out of range.
  template <class SizeOf>
  void AddIndices(const Shape& shape, SizeOf size_of) {
    Array indices = MakeRandomArray(PickIndexType(), shape, Domain::kModerate, random_);
    for (uint64_t i = 0; i < indices.size(); ++i) {
      auto size = static_cast<int64_t>(size_of(i));
      auto index = static_cast<int64_t>(random_() % size);
      if (IsSigned(indices.type()) && Flip()) index -= size;
      if (Between(0, 7) == 0) {
        index = std::numeric_limits<int32_t>::max();
        if (IsSigned(indices.type()) && Flip()) index = std::numeric_limits<int32_t>::min();
      }
      indices.values[i] = index;
    }
    made_.operands.push_back(std::move(indices));
  }
  OperandDataType PickIndexType() {
    return PickFrom(webidl::GetOperatorRow(made_.kind).slots[1].types);
  }
  long double AnySign(OperandDataType type, uint32_t index, uint32_t size) {
    long double value = index;
    return IsSigned(type) && Flip() ? value - size : value;
  }

  template <class Attributes>
  Attributes& attributes() {
    return std::get<Attributes>(made_.attributes);
  }

  // --- Families ---------------------------------------------------------------------------------

  void MakeBroadcasting(std::vector<OperandDataType> types, bool same_type) {
    Shape shape = MakeShape(0, 8);
    for (size_t i = 0; i < types.size(); ++i) {
      Add(same_type ? types[0] : types[i], MakeBroadcastable(shape));
    }
  }

  void MakeWhere() {
    OperandDataType type = PickType(1);
    MakeBroadcasting({OperandDataType::kUint8, type, type}, /*same_type=*/false);
    for (long double& value : made_.operands[0]->values) value = Flip() ? Between(1, 255) : 0;
  }

  // Values that the other type holds too: the draft leaves the rest open.
  void MakeCast() {
    Add(PickType(0), MakeShape(0, 8));
    OperandDataType to = PickFrom(webidl::GetOperatorRow(made_.kind).outputs[0].types);
    attributes<webidl::CastAttributes>().data_type = to;
    if (IsFloat(to)) return;
    for (long double& value : made_.operands[0]->values) {
      if (!IsSigned(to)) value = std::fabs(value);
      if (webidl::BitsPerElement(to) == 4) value = RoundTo(made_.operands[0]->type(), value / 4);
    }
  }

  void MakeQuantization() {
    const bool quantizes = made_.kind == OperatorKind::kQuantizeLinear;
    Shape shape = MakeShape(0, 4);
    Shape blocks = shape;
    for (uint32_t& size : blocks) {
      uint32_t divisor = Between(1, size);
      size = size % divisor == 0 ? divisor : (Flip() ? 1 : size);
    }
    OperandDataType integer = PickType(quantizes ? 2 : 0);
    OperandDataType real = PickType(1);
    Add(quantizes ? real : integer, shape);
    domain_ = Domain::kPositive;
    Add(real, blocks);
    domain_ = Domain::kModerate;
    Add(integer, blocks);
  }

  void MakeSplit() {
    Shape shape = MakeShape(1, 6);
    auto& split = attributes<webidl::SplitAttributes>();
    split.axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
    uint32_t size = shape[split.axis];
    if (Flip()) {
      uint32_t parts = Between(1, 3);
      shape[split.axis] = parts * Between(1, 4);
      split.splits = parts;
    } else {
      std::vector<uint32_t> sizes;
      for (uint32_t left = size; left > 0; left -= sizes.back()) sizes.push_back(Between(1, left));
      split.splits = std::move(sizes);
    }
    Add(PickType(0), shape);
  }

  void MakeConcat() {
    Shape shape = MakeShape(1, 6);
    OperandDataType type = PickType(0);
    auto& concat = attributes<webidl::ConcatAttributes>();
    concat.axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
    for (uint32_t i = Between(1, 4); i > 0; --i) {
      shape[concat.axis] = Between(1, 5);
      Add(type, shape);
    }
  }

  void MakeExpand() {
    Shape shape = MakeShape(0, 8);
    Add(PickType(0), MakeBroadcastable(shape));
    attributes<webidl::ExpandAttributes>().new_shape = shape;
  }

  void MakeGather() {
    Shape shape = MakeShape(1, 4);
    Add(PickType(0), shape);
    uint32_t axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
    attributes<webidl::GatherAttributes>().axis = axis;
    Shape indices = MakeShape(0, 2);
    for (uint32_t& size : indices) size = std::min(size, 5u);
    AddIndices(indices, [&](uint64_t) { return shape[axis]; });
  }

  void MakeGatherElements() {
    Shape shape = MakeShape(1, 5);
    Add(PickType(0), shape);
    uint32_t axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
    attributes<webidl::GatherAttributes>().axis = axis;
    Shape indices = shape;
    indices[axis] = Between(1, 6);
    AddIndices(indices, [&](uint64_t) { return shape[axis]; });
  }

  void MakeGatherNd() {
    Shape shape = MakeShape(1, 5);
    Add(PickType(0), shape);
    uint32_t depth = Between(1, static_cast<uint32_t>(shape.size()));
    Shape indices = MakeShape(0, 2);
    for (uint32_t& size : indices) size = std::min(size, 5u);
    indices.push_back(depth);
    AddIndices(indices, [&](uint64_t i) { return shape[i % depth]; });
  }

  // No place is written twice: the draft does not say which write counts.
  void MakeScatterElements() {
    Shape shape = MakeShape(1, 4);
    OperandDataType type = PickType(0);
    Add(type, shape);
    uint32_t axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
    attributes<webidl::ScatterAttributes>().axis = axis;
    Shape indices_shape = shape;
    indices_shape[axis] = Between(1, shape[axis]);
    Array indices = MakeRandomArray(PickIndexType(), indices_shape, Domain::kModerate, random_);
    std::vector<uint32_t> places(shape[axis]);
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random_);
    uint64_t inner = 1;
    for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
    for (uint64_t i = 0; i < indices.size(); ++i) {
      uint32_t place = places[i / inner % indices_shape[axis]];
      indices.values[i] = AnySign(indices.type(), place, shape[axis]);
    }
    made_.operands.push_back(std::move(indices));
    Add(type, indices_shape);
  }

  void MakeScatterNd() {
    Shape shape = MakeShape(1, 4);
    OperandDataType type = PickType(0);
    Add(type, shape);
    uint32_t depth = Between(1, static_cast<uint32_t>(shape.size()));
    uint32_t places = 1;
    for (uint32_t d = 0; d < depth; ++d) places *= shape[d];
    std::vector<uint32_t> order(places);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    uint32_t rows = Between(1, std::min(places, 20u));
    Array indices = MakeRandomArray(PickIndexType(), {rows, depth}, Domain::kModerate, random_);
    for (uint32_t row = 0; row < rows; ++row) {
      uint32_t place = order[row];
      for (uint32_t d = depth; d-- > 0; place /= shape[d]) {
        indices.values[row * depth + d] = AnySign(indices.type(), place % shape[d], shape[d]);
      }
    }
    made_.operands.push_back(std::move(indices));
    Shape updates{rows};
    updates.insert(updates.end(), shape.begin() + depth, shape.end());
    Add(type, updates);
  }

  void MakeMatmul() {
    OperandDataType type = PickType(0);
    Shape batch = MakeShape(0, 3);
    for (uint32_t& size : batch) size = std::min(size, 3u);
    uint32_t depth = Between(1, Flip() ? 8 : 70);
    auto with = [&](Shape own, uint32_t rows, uint32_t columns) {
      own.push_back(rows);
      own.push_back(columns);
      return own;
    };
    Add(type, with(MakeBroadcastable(batch), Between(1, 20), depth));
    Add(type, with(MakeBroadcastable(batch), depth, Between(1, 40)));
  }

  void MakeGemm() {
    OperandDataType type = PickType(0);
    auto& gemm = attributes<webidl::GemmAttributes>();
    gemm.a_transpose = Flip();
    gemm.b_transpose = Flip();
    gemm.alpha = Flip() ? 1 : 0.5 * Between(1, 5);
    gemm.beta = Flip() ? 1 : 0.5 * Between(0, 5);
    uint32_t rows = Between(1, 20);
    uint32_t columns = Between(1, 40);
    uint32_t depth = Between(1, 70);
    Add(type, gemm.a_transpose ? Shape{depth, rows} : Shape{rows, depth});
    Add(type, gemm.b_transpose ? Shape{columns, depth} : Shape{depth, columns});
    if (Flip()) {
      Add(type, MakeBroadcastable({rows, columns}));
    } else {
      made_.operands.push_back(std::nullopt);
    }
  }

  void MakeOfOneOperand() {
    const auto& limits = webidl::GetOperatorRow(made_.kind).slots[0];
    const Shape shape = MakeShape(limits.rank_min, std::min(limits.rank_max, 8u));
    Add(PickType(0), shape);
    std::visit([&](auto& alternative) { SetAttributes(alternative, shape); }, made_.attributes);
  }

  // Attributes of operators with one operand. Those of several operands are set above.
  template <class Attributes>
  void SetAttributes(Attributes&, const Shape&) {}
  void SetAttributes(webidl::ClampAttributes& clamp, const Shape&) {
    double low =
        Between(0, 10) * 1.0 -
        (IsSigned(made_.operands[0]->type()) || IsFloat(made_.operands[0]->type()) ? 5 : 0);
    if (Flip()) clamp.min_value = low;
    if (Flip()) clamp.max_value = low + Between(0, 10);
  }
  // The same dimensions in another order.
  void SetAttributes(webidl::ReshapeAttributes& reshape, const Shape& shape) {
    reshape.new_shape = shape;
    std::shuffle(reshape.new_shape.begin(), reshape.new_shape.end(), random_);
    if (reshape.new_shape.size() < 8 && Flip()) reshape.new_shape.push_back(1);
  }
  void SetAttributes(webidl::TransposeAttributes& transpose, const Shape& shape) {
    if (Flip()) return;
    std::vector<uint32_t> permutation(shape.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    transpose.permutation = std::move(permutation);
  }
  void SetAttributes(webidl::SliceAttributes& slice, const Shape& shape) {
    if (Flip()) slice.strides.emplace();
    for (uint32_t size : shape) {
      slice.starts.push_back(Between(0, size - 1));
      slice.sizes.push_back(Between(1, size - slice.starts.back()));
      if (slice.strides) slice.strides->push_back(Between(1, slice.sizes.back()));
    }
  }
  void SetAttributes(webidl::TileAttributes& tile, const Shape& shape) {
    for (size_t d = 0; d < shape.size(); ++d) tile.repetitions.push_back(Between(1, d < 3 ? 3 : 1));
  }
  void SetAttributes(webidl::ReverseAttributes& reverse, const Shape& shape) {
    if (Flip()) reverse.axes = PickAxes(shape.size());
  }
  void SetAttributes(webidl::PadAttributes& pad, const Shape& shape) {
    pad.mode = static_cast<webidl::PaddingMode>(Between(0, webidl::kPaddingModeCount - 1));
    pad.value = static_cast<double>(Between(0, 5));
    for (uint32_t size : shape) {
      // Reflection does not repeat the edge, so it reaches no further than the other one.
      uint32_t most = 2;
      if (pad.mode == webidl::PaddingMode::kReflection) most = std::min(size - 1, most);
      if (pad.mode == webidl::PaddingMode::kSymmetric) most = std::min(size, most);
      pad.beginning_padding.push_back(Between(0, most));
      pad.ending_padding.push_back(Between(0, most));
    }
  }
  void SetAttributes(webidl::TriangularAttributes& triangular, const Shape&) {
    triangular.upper = Flip();
    triangular.diagonal = static_cast<int32_t>(Between(0, 8)) - 4;
  }
  void SetAttributes(webidl::ReduceAttributes& reduce, const Shape& shape) {
    if (Flip()) reduce.axes = PickAxes(shape.size());
    reduce.keep_dimensions = Flip();
  }
  void SetAttributes(webidl::ArgMinMaxAttributes& arg, const Shape& shape) {
    arg.axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
    arg.keep_dimensions = Flip();
    arg.output_data_type = Flip() ? OperandDataType::kInt32 : OperandDataType::kInt64;
  }
  void SetAttributes(webidl::CumulativeSumAttributes& sum, const Shape& shape) {
    sum.axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
    sum.exclusive = Flip();
    sum.reversed = Flip();
  }
  void SetAttributes(webidl::SoftmaxAttributes& softmax, const Shape& shape) {
    softmax.axis = Between(0, static_cast<uint32_t>(shape.size()) - 1);
  }

  std::mt19937_64& random_;
  Domain domain_;
  RandomCase made_;
};

long double RandomFloat(Domain domain, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  const double fraction = unit(random);
  const int sign = random() % 2 == 0 ? 1 : -1;
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  switch (domain) {
    case Domain::kAny:
    case Domain::kNumbers:
      switch (random() % 16) {
        case 0:
          return sign * kInfinity;
        case 1:
          return sign * 0.0L;
        case 2:
          return domain == Domain::kAny ? std::numeric_limits<long double>::quiet_NaN() : 1;
        case 3:
          return sign * static_cast<int>(random() % 5);
        default:
          return sign * std::ldexp(fraction + 1, static_cast<int>(random() % 16) - 8);
      }
    case Domain::kModerate:
      return sign * 4 * fraction;
    case Domain::kPositive:
    case Domain::kPowers:
      return 0.25 + 3 * fraction;
    case Domain::kNonzero:
      return sign * (0.25 + 8 * fraction);
  }
  UNREACHABLE();
}

long double RandomInteger(OperandDataType type, Domain domain, std::mt19937_64& random) {
  const bool is_signed = IsSigned(type);
  const uint64_t bits = random();
  switch (domain) {
    case Domain::kAny:
    case Domain::kNumbers: {
      if (random() % 2 == 0) return RoundTo(type, static_cast<long double>(random() % 3));
      if (random() % 4 != 0) return RoundTo(type, static_cast<long double>(bits));
      // The least or the greatest.
      long double least =
          is_signed ? -std::ldexp(1.0L, static_cast<int>(webidl::BitsPerElement(type)) - 1) : 0;
      return random() % 2 == 0 ? least : RoundTo(type, least - 1);
    }
    case Domain::kModerate:
      return is_signed ? static_cast<int>(bits % 15) - 7 : static_cast<int>(bits % 16);
    case Domain::kPositive:
      return static_cast<int>(bits % 7) + 1;
    case Domain::kNonzero: {
      int magnitude = static_cast<int>(bits % 7) + 1;
      return is_signed && random() % 2 == 0 ? -magnitude : magnitude;
    }
    case Domain::kPowers:
      return static_cast<int>(bits % 3) + 1;
  }
  UNREACHABLE();
}

}  // namespace

Array MakeRandomArray(OperandDataType type, const Shape& shape, Domain domain,
                      std::mt19937_64& random) {
  auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
  CHECK(descriptor.ok());
  Array array{*descriptor, std::vector<long double>(descriptor->element_count()), {}};
  for (long double& value : array.values) {
    value = IsFloat(type) ? RoundTo(type, RandomFloat(domain, random))
                          : RandomInteger(type, domain, random);
  }
  return array;
}

RandomCase MakeRandomCase(OperatorKind kind, std::mt19937_64& random) {
  return Maker(kind, random).Make();
}

std::string RandomCase::Describe() const {
  std::string text(webidl::OperatorName(kind));
  for (const auto& operand : operands) {
    text += " " + (operand ? operand->descriptor.ToString() : "-");
  }
  return text;
}

}  // namespace webnnd::reference
