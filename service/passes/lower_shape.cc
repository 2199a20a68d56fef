#include "service/passes/lower_shape.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <variant>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/axis_view.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/piece_copy.h"
#include "service/passes/region_copy.h"
#include "service/passes/transposed_views.h"
#include "webidl/number.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::Shape;

std::vector<StridedDimension> SourceDimensions(std::span<const uint32_t> shape,
                                               std::vector<uint32_t> source_strides) {
  return MakeDimensions(shape, std::vector<std::vector<uint32_t>>{std::move(source_strides)});
}

// A shape around `axis`: [outer, shape[axis], inner].
struct AxisSplit {
  uint32_t outer = 1;
  uint32_t inner = 1;
};
AxisSplit SplitAtAxis(std::span<const uint32_t> shape, uint32_t axis) {
  CHECK(axis < shape.size());
  return {Product(shape.subspan(0, axis)), Product(shape.subspan(axis + 1))};
}

// float16 with round to nearest even.
uint32_t HalfBits(double value) {
  float single = static_cast<float>(value);
  auto bits = std::bit_cast<uint32_t>(single);
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000);
  }
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13);
}

// The bits of a number as an element of `type`.
uint64_t ElementBits(const webidl::Number& number, OperandDataType type) {
  const webidl::Number cast = webidl::CastNumber(number, type);
  if (const auto* real = std::get_if<double>(&cast)) {
    return type == OperandDataType::kFloat16 ? HalfBits(*real) : FloatBits(*real);
  }
  if (const auto* integer = std::get_if<int64_t>(&cast)) return static_cast<uint64_t>(*integer);
  return std::get<uint64_t>(cast);
}

}  // namespace

Status LowerAlias(const Node& node, LoweringBuilder& builder) {
  builder.AddAlias(node.results[0], node.operands[0]);
  return {};
}

Status LowerTranspose(const Node& node, LoweringBuilder& builder) {
  if (builder.views().Covers(node)) return {};
  const Shape& shape = builder.descriptor(node.operands[0]).shape();
  std::vector<uint32_t> strides = TransposedStrides(node, shape);
  const Shape& result_shape = builder.descriptor(node.results[0]).shape();
  AddRegionCopy({.source = node.operands[0],
                 .result = node.results[0],
                 .dimensions = SourceDimensions(result_shape, std::move(strides))},
                builder);
  return {};
}

Status LowerSlice(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::SliceAttributes>(node.attributes);
  std::vector<uint32_t> strides = PackedStrides(builder.descriptor(node.operands[0]).shape());
  uint32_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    offset += attributes.starts[d] * strides[d];
    if (attributes.strides) strides[d] *= (*attributes.strides)[d];
  }
  const Shape& result_shape = builder.descriptor(node.results[0]).shape();
  AddRegionCopy({.source = node.operands[0],
                 .result = node.results[0],
                 .dimensions = SourceDimensions(result_shape, std::move(strides)),
                 .source_offset = offset},
                builder);
  return {};
}

Status LowerSplit(const Node& node, LoweringBuilder& builder) {
  uint32_t axis = std::get<webidl::SplitAttributes>(node.attributes).axis;
  const Shape shape = builder.descriptor(node.operands[0]).shape();
  AxisSplit around = SplitAtAxis(shape, axis);
  PieceCopy copy{.whole = node.operands[0],
                 .out_of_whole = true,
                 .rows = around.outer,
                 .row_length = shape[axis] * around.inner};
  uint32_t start = 0;
  for (ValueId result : node.results) {
    const uint32_t size = builder.descriptor(result).shape()[axis];
    copy.pieces.push_back({result, size * around.inner, start * around.inner});
    start += size;
  }
  AddPieceCopies(copy, builder);
  return {};
}

Status LowerConcat(const Node& node, LoweringBuilder& builder) {
  uint32_t axis = std::get<webidl::ConcatAttributes>(node.attributes).axis;
  const Shape shape = builder.descriptor(node.results[0]).shape();
  AxisSplit around = SplitAtAxis(shape, axis);
  PieceCopy copy{
      .whole = node.results[0], .rows = around.outer, .row_length = shape[axis] * around.inner};
  uint32_t start = 0;
  for (ValueId operand : node.operands) {
    const uint32_t size = builder.descriptor(operand).shape()[axis];
    copy.pieces.push_back({operand, size * around.inner, start * around.inner});
    start += size;
  }
  AddPieceCopies(copy, builder);
  return {};
}

Status LowerExpand(const Node& node, LoweringBuilder& builder) {
  const Shape& result_shape = builder.descriptor(node.results[0]).shape();
  std::vector<uint32_t> strides =
      BroadcastStrides(builder.descriptor(node.operands[0]).shape(), result_shape);
  AddRegionCopy({.source = node.operands[0],
                 .result = node.results[0],
                 .dimensions = SourceDimensions(result_shape, std::move(strides))},
                builder);
  return {};
}

Status LowerReverse(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::ReverseAttributes>(node.attributes);
  const Shape& shape = builder.descriptor(node.operands[0]).shape();
  std::vector<uint32_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (attributes.axes) axes = *attributes.axes;
  std::vector<uint32_t> strides = PackedStrides(shape);
  uint32_t offset = 0;
  for (uint32_t axis : axes) {
    offset += (shape[axis] - 1) * strides[axis];
    strides[axis] = 0 - strides[axis];
  }
  AddRegionCopy({.source = node.operands[0],
                 .result = node.results[0],
                 .dimensions = SourceDimensions(shape, std::move(strides)),
                 .source_offset = offset},
                builder);
  return {};
}

Status LowerTile(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::TileAttributes>(node.attributes);
  const Shape& shape = builder.descriptor(node.operands[0]).shape();
  std::vector<uint32_t> strides = PackedStrides(shape);
  std::vector<StridedDimension> dimensions;
  for (size_t d = 0; d < shape.size(); ++d) {
    dimensions.push_back({.size = attributes.repetitions[d], .strides = {0}});
    dimensions.push_back({.size = shape[d], .strides = {strides[d]}});
  }
  AddRegionCopy(
      {.source = node.operands[0], .result = node.results[0], .dimensions = std::move(dimensions)},
      builder);
  return {};
}

namespace {

// A dimension of pad, and its stride in the operand.
struct PaddedDimension {
  uint32_t result = 1;
  uint32_t before = 0;
  uint32_t operand = 1;
  uint32_t stride = 1;
};

// At least one; dimensions without a border join the one before them.
std::vector<PaddedDimension> PaddedDimensions(const webidl::PadAttributes& attributes,
                                              std::span<const uint32_t> operand,
                                              std::span<const uint32_t> result) {
  std::vector<PaddedDimension> dimensions;
  uint32_t stride = 1;
  for (size_t d = operand.size(); d-- > 0;) {
    PaddedDimension dimension{result[d], attributes.beginning_padding[d], operand[d], stride};
    stride *= operand[d];
    const bool joins = !dimensions.empty() && dimension.result == dimension.operand &&
                       dimensions.front().result == dimensions.front().operand;
    if (joins) {
      dimensions.front().result *= dimension.result;
      dimensions.front().operand = dimensions.front().result;
    } else {
      dimensions.insert(dimensions.begin(), dimension);
    }
  }
  if (dimensions.empty()) dimensions.emplace_back();
  return dimensions;
}

// What shaders/pad.comp moves: elements, or words in their place.
struct PaddedUnits {
  OperandDataType type;
  uint64_t value;  // Of the border.
  uint64_t operand_count;
  uint64_t result_count;
};

// Units are words where each is one of both sides: words of several elements where the innermost
// dimension has no border, or a constant one of whole words; halves of one where both are the same.
void TakeWords(bool is_constant, std::vector<PaddedDimension>& dimensions, PaddedUnits& units) {
  const uint32_t bits = webidl::BitsPerElement(units.type);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  PaddedDimension& last = dimensions.back();
  const bool has_border = last.operand != last.result;
  if (bits < 32) {
    const uint32_t per_word = 32 / bits;
    if ((has_border && !is_constant) || last.before % per_word != 0 ||
        last.operand % per_word != 0 || last.result % per_word != 0) {
      return;
    }
    last.before /= per_word;
    last.operand /= per_word;
    last.result /= per_word;
    for (size_t d = 0; d + 1 < dimensions.size(); ++d) dimensions[d].stride /= per_word;
    units.operand_count /= per_word;
    units.result_count /= per_word;
    uint64_t word = 0;
    for (uint32_t k = 0; k < per_word; ++k) word = word << bits | (units.value & mask);
    units.value = word;
  } else if (bits == 64) {
    const bool is_one_word = units.value >> 32 == (units.value & UINT32_MAX);
    if (is_constant ? !is_one_word : has_border) return;
    if (uint64_t{last.result} * 2 > INT32_MAX || units.result_count * 2 > INT32_MAX) return;
    last.before *= 2;
    last.operand *= 2;
    last.result *= 2;
    for (size_t d = 0; d + 1 < dimensions.size(); ++d) dimensions[d].stride *= 2;
    units.operand_count *= 2;
    units.result_count *= 2;
    units.value &= UINT32_MAX;
  } else {
    return;
  }
  units.type = OperandDataType::kUint32;
}

}  // namespace

Status LowerPad(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::PadAttributes>(node.attributes);
  const OperandDescriptor& operand = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  std::vector<PaddedDimension> dimensions =
      PaddedDimensions(attributes, operand.shape(), result.shape());
  PaddedUnits units{result.data_type(), ElementBits(attributes.value, result.data_type()),
                    operand.element_count(), result.element_count()};
  TakeWords(attributes.mode == webidl::PaddingMode::kConstant, dimensions, units);
  LoweredCall call;
  call.shader = shaders::ShaderId::kPad;
  call.specialization = {static_cast<uint32_t>(units.type), static_cast<uint32_t>(attributes.mode)};
  static_assert(static_cast<uint32_t>(webidl::PaddingMode::kConstant) == 0 &&
                static_cast<uint32_t>(webidl::PaddingMode::kEdge) == 1 &&
                static_cast<uint32_t>(webidl::PaddingMode::kReflection) == 2 &&
                static_cast<uint32_t>(webidl::PaddingMode::kSymmetric) == 3);
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {NarrowCast<uint32_t>(units.result_count),
                     static_cast<uint32_t>(dimensions.size()), static_cast<uint32_t>(units.value),
                     static_cast<uint32_t>(units.value >> 32)};
  for (const PaddedDimension& dimension : dimensions) {
    for (uint32_t word : MakeDivisor(dimension.result)) call.parameters.push_back(word);
    call.parameters.insert(call.parameters.end(),
                           {dimension.before, dimension.operand, dimension.stride, 0, 0});
  }
  constexpr size_t kLastQuad = 10;
  call.parameters[kLastQuad] =
      NarrowCast<uint32_t>((units.operand_count - 1) / PerQuad(units.type));
  constexpr size_t kUnrolledRankMax = 4;
  const bool in_rows =
      dimensions.size() == 1 || dimensions.back().result % PerQuad(units.type) == 0;
  call.specialization.push_back(
      dimensions.size() <= kUnrolledRankMax ? static_cast<uint32_t>(dimensions.size()) : 0);
  call.specialization.push_back(in_rows);
  // Rows long and many enough for a workgroup each; on llvmpipe they go by words, and may be any.
  const uint32_t row_min = 4 * RowUnitsMin(builder.wide(), 8);
  constexpr uint64_t kRowsMin = 64;
  const uint32_t row = dimensions.back().result;
  const uint64_t rows = units.result_count / row;
  const bool by_rows = (in_rows || !builder.wide()) && webidl::BitsPerElement(units.type) == 32 &&
                       row >= row_min && row <= kInvocationIterationsMax && rows >= kRowsMin;
  call.specialization.push_back(by_rows);
  if (by_rows) {
    call.workgroups = rows;
  } else {
    call.invocations = StoreQuads(result);
  }
  // Each element walks all dimensions.
  call.cost = (operand.byte_length() + result.byte_length()) * std::max(1u, operand.rank());
  builder.AddCall(std::move(call));
  return {};
}

Status LowerTriangular(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::TriangularAttributes>(node.attributes);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  CHECK(result.rank() >= 2);
  uint32_t columns = result.shape()[result.rank() - 1];
  uint32_t rows = result.shape()[result.rank() - 2];
  // Beyond the corners nothing changes, and the shader's differences cannot overflow.
  int64_t diagonal = std::clamp<int64_t>(attributes.diagonal, -static_cast<int64_t>(rows), columns);
  LoweredCall call;
  call.shader = shaders::ShaderId::kTriangular;
  // A turn of shaders/by_words.glsl has 64 words at most.
  const uint32_t bits = webidl::BitsPerElement(result.data_type());
  const bool by_turns = !builder.wide() && bits <= 32 && columns >= 64 * (32 / bits);
  call.specialization = {static_cast<uint32_t>(result.data_type()),
                         columns % PerQuad(result.data_type()) == 0, by_turns};
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {NarrowCast<uint32_t>(result.element_count()), static_cast<uint32_t>(diagonal),
                     attributes.upper ? 1u : 0u, 0};
  for (uint32_t size : {columns, rows}) {
    AppendDivisor(size, call.parameters);
  }
  call.invocations = StoreQuads(result);
  call.cost = 2 * result.byte_length();
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service
