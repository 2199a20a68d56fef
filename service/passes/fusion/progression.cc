#include "service/passes/fusion/progression.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Digits = std::vector<Progression::Digit>;

// What a progression is made of is a handful of operators; graphs that nest more are not followed.
constexpr int kDepthMax = 16;
// What is added to a base stays far from the ends of 32 bits: no sum of two wraps around.
constexpr int64_t kMagnitudeMax = int64_t{1} << 29;

bool IsSmall(const Progression& progression) {
  double magnitude = std::fabs(static_cast<double>(progression.first));
  for (const Progression::Digit& digit : progression.digits) {
    magnitude += std::fabs(static_cast<double>(digit.step)) * digit.extent;
  }
  return magnitude < static_cast<double>(kMagnitudeMax);
}

bool IsInteger(OperandDataType type) {
  return type == OperandDataType::kInt32 || type == OperandDataType::kInt64 ||
         type == OperandDataType::kUint8;
}

// Whether every element is the base.
bool IsBase(const Progression& progression) {
  return progression.base != kNoValue && progression.first == 0 &&
         std::all_of(progression.digits.begin(), progression.digits.end(),
                     [](const auto& digit) { return digit.step == 0; });
}

uint32_t CountOf(const Digits& digits) {
  return std::accumulate(digits.begin(), digits.end(), 1u,
                         [](uint32_t count, const auto& digit) { return count * digit.extent; });
}

// The digits of each dimension of `shape`; nothing where one belongs to two.
std::optional<std::vector<Digits>> SplitByDimension(Digits digits, const Shape& shape) {
  std::vector<Digits> dimensions(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    uint32_t left = shape[d];
    while (left > 1) {
      if (digits.empty()) return std::nullopt;
      Progression::Digit& inner = digits.back();
      if (inner.extent <= left) {
        if (left % inner.extent != 0) return std::nullopt;
        left /= inner.extent;
        dimensions[d].insert(dimensions[d].begin(), inner);
        digits.pop_back();
      } else {
        if (inner.extent % left != 0) return std::nullopt;
        dimensions[d].insert(dimensions[d].begin(), {left, inner.step});
        inner = {inner.extent / left, inner.step * left};
        left = 1;
      }
    }
  }
  return dimensions;
}

Digits Join(const std::vector<Digits>& dimensions) {
  Digits joined;
  for (const Digits& digits : dimensions) {
    joined.insert(joined.end(), digits.begin(), digits.end());
  }
  return Coalesce(joined);
}

// The digits of values in order: the innermost is the longest run of equal steps.
std::optional<Digits> FindDigits(std::vector<int64_t> values) {
  Digits digits;
  while (values.size() > 1) {
    const int64_t step = values[1] - values[0];
    size_t extent = 2;
    while (extent < values.size() && values[extent] - values[extent - 1] == step) ++extent;
    if (values.size() % extent != 0) return std::nullopt;
    std::vector<int64_t> outer;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i % extent == 0) outer.push_back(values[i]);
      if (values[i] != outer.back() + static_cast<int64_t>(i % extent) * step) return std::nullopt;
    }
    digits.insert(digits.begin(), {static_cast<uint32_t>(extent), step});
    values = std::move(outer);
  }
  return Coalesce(digits);
}

std::optional<Progression> OnlySmall(Progression progression) {
  if (!IsSmall(progression)) return std::nullopt;
  return progression;
}

std::optional<Progression> OfValues(const std::vector<double>& values) {
  std::vector<int64_t> integers;
  for (double value : values) {
    if (!(std::fabs(value) < static_cast<double>(kMagnitudeMax))) return std::nullopt;
    integers.push_back(static_cast<int64_t>(value));
  }
  if (integers.empty()) return std::nullopt;
  const int64_t first = integers.front();
  std::optional<Digits> digits = FindDigits(std::move(integers));
  if (!digits) return std::nullopt;
  return OnlySmall({kNoValue, first, *std::move(digits)});
}

class Matcher {
 public:
  explicit Matcher(const GraphIndex& index) : index_(index) {}

  std::optional<Progression> Match(ValueId value, int depth) const {
    if (depth > kDepthMax || value == kNoValue ||
        !IsInteger(index_.descriptor(value).data_type())) {
      return std::nullopt;
    }
    if (std::optional<std::vector<double>> values = index_.Values(value)) return OfValues(*values);
    std::optional<Progression> made = MatchOperator(value, depth + 1);
    if (!made && index_.descriptor(value).element_count() == 1) return Progression{value};
    return made;
  }

 private:
  std::optional<Progression> MatchOperator(ValueId value, int depth) const {
    const ValueId chosen = SkipKnownChoice(index_, value);
    if (chosen != value) return Match(chosen, depth);
    if (const Node* node = index_.Producer(value, OperatorKind::kReshape)) {
      return Match(node->operands[0], depth);
    }
    if (const Node* node = index_.Producer(value, OperatorKind::kCast)) {
      return MatchCast(*node, depth);
    }
    if (const Node* node = index_.Producer(value, OperatorKind::kAdd)) {
      return MatchSum(*node, depth);
    }
    if (const Node* node = index_.Producer(value, OperatorKind::kExpand)) {
      return MatchBroadcast(node->operands[0], index_.shape(value), depth);
    }
    if (const Node* node = index_.Producer(value, OperatorKind::kTranspose)) {
      return MatchTranspose(*node, depth);
    }
    if (const Node* node = index_.Producer(value, OperatorKind::kCumulativeSum)) {
      return MatchCumulativeSum(*node, depth);
    }
    if (const Node* node = index_.Producer(value, OperatorKind::kSlice)) {
      return MatchSlice(*node, depth);
    }
    return std::nullopt;
  }

  // Only to a wider type: a narrower one may lose bits of the base.
  std::optional<Progression> MatchCast(const Node& cast, int depth) const {
    const OperandDataType to = index_.descriptor(cast.results[0]).data_type();
    const OperandDataType from = index_.descriptor(cast.operands[0]).data_type();
    if (to != OperandDataType::kInt64 && from != to) return std::nullopt;
    std::optional<Progression> progression = Match(cast.operands[0], depth);
    if (progression && from != to) progression->is_wide = IsBase(*progression);
    return progression;
  }

  std::optional<Progression> MatchBroadcast(ValueId value, const Shape& shape, int depth) const {
    std::optional<Progression> progression = Match(value, depth);
    if (!progression) return std::nullopt;
    return Broadcast(*progression, index_.shape(value), shape);
  }

  std::optional<Progression> MatchSum(const Node& add, int depth) const {
    // Sums of bytes wrap around.
    if (index_.descriptor(add.results[0]).data_type() == OperandDataType::kUint8) {
      return std::nullopt;
    }
    const Shape& shape = index_.shape(add.results[0]);
    std::optional<Progression> a = MatchBroadcast(add.operands[0], shape, depth);
    std::optional<Progression> b = MatchBroadcast(add.operands[1], shape, depth);
    if (!a || !b) return std::nullopt;
    std::optional<Progression> sum = AddScaled(*a, *b, 1);
    // A base that was widened behind other sums: those have wrapped around, and this one does not.
    if (sum && sum->base != kNoValue && !sum->is_wide &&
        index_.descriptor(sum->base).data_type() != index_.descriptor(add.results[0]).data_type()) {
      return std::nullopt;
    }
    return sum;
  }

  std::optional<Progression> MatchTranspose(const Node& transpose, int depth) const {
    std::optional<Progression> progression = Match(transpose.operands[0], depth);
    if (!progression) return std::nullopt;
    const Shape& from = index_.shape(transpose.operands[0]);
    std::optional<std::vector<Digits>> dimensions = SplitByDimension(progression->digits, from);
    if (!dimensions) return std::nullopt;
    const auto& permutation =
        std::get<webidl::TransposeAttributes>(transpose.attributes).permutation;
    std::vector<Digits> moved;
    for (size_t d = 0; d < from.size(); ++d) {
      moved.push_back((*dimensions)[permutation ? (*permutation)[d] : from.size() - 1 - d]);
    }
    progression->digits = Join(moved);
    return progression;
  }

  // Without strides, and where each dimension that is cut progresses evenly.
  std::optional<Progression> MatchSlice(const Node& slice, int depth) const {
    const auto& attributes = std::get<webidl::SliceAttributes>(slice.attributes);
    std::optional<Progression> progression = Match(slice.operands[0], depth);
    if (!progression) return std::nullopt;
    const Shape& from = index_.shape(slice.operands[0]);
    const Shape& to = index_.shape(slice.results[0]);
    std::optional<std::vector<Digits>> dimensions = SplitByDimension(progression->digits, from);
    if (!dimensions) return std::nullopt;
    for (size_t d = 0; d < from.size(); ++d) {
      if (attributes.strides && (*attributes.strides)[d] != 1) return std::nullopt;
      if (to[d] == from[d]) continue;
      const Digits even = Coalesce((*dimensions)[d]);
      if (even.size() != 1) return std::nullopt;
      progression->first += attributes.starts[d] * even[0].step;
      (*dimensions)[d] = {{to[d], even[0].step}};
    }
    progression->digits = Join(*dimensions);
    return OnlySmall(*std::move(progression));
  }

  // Of equal elements, which then count: 0, 1, 2, ... times the element along the axis.
  std::optional<Progression> MatchCumulativeSum(const Node& node, int depth) const {
    const auto& attributes = std::get<webidl::CumulativeSumAttributes>(node.attributes);
    const Shape& shape = index_.shape(node.results[0]);
    std::optional<Progression> element = Match(node.operands[0], depth);
    if (!element || element->base != kNoValue) return std::nullopt;
    if (std::any_of(element->digits.begin(), element->digits.end(),
                    [](const auto& digit) { return digit.step != 0; })) {
      return std::nullopt;
    }
    const int64_t step = attributes.reversed ? -element->first : element->first;
    const uint32_t extent = shape[attributes.axis];
    int64_t first = attributes.exclusive ? 0 : element->first;
    if (attributes.reversed) first += element->first * (extent - 1);
    Digits digits;
    for (uint32_t d = 0; d < shape.size(); ++d) {
      digits.push_back({shape[d], d == attributes.axis ? step : 0});
    }
    return OnlySmall({kNoValue, first, Coalesce(digits)});
  }

  const GraphIndex& index_;
};

}  // namespace

Digits Coalesce(const Digits& digits) {
  Digits joined;
  for (const Progression::Digit& digit : digits) {
    if (digit.extent == 1) continue;
    if (!joined.empty() && joined.back().step == digit.step * digit.extent) {
      joined.back() = {joined.back().extent * digit.extent, digit.step};
    } else {
      joined.push_back(digit);
    }
  }
  return joined;
}

ValueId SkipKnownChoice(const GraphIndex& index, ValueId value) {
  const Node* where = index.Producer(value, OperatorKind::kWhere);
  if (where == nullptr) return value;
  std::optional<std::vector<double>> condition = index.Values(where->operands[0]);
  if (!condition || condition->empty()) return value;
  const bool first = condition->front() != 0;
  if (std::any_of(condition->begin(), condition->end(),
                  [&](double element) { return (element != 0) != first; })) {
    return value;
  }
  const ValueId chosen = where->operands[first ? 1 : 2];
  return index.shape(chosen) == index.shape(value) ? chosen : value;
}

std::optional<Progression> MatchProgression(const GraphIndex& index, ValueId value) {
  return Matcher(index).Match(value, 0);
}

std::optional<Progression> MatchColumn(const GraphIndex& index, ValueId value, uint32_t column) {
  const uint32_t columns = index.shape(value).back();
  for (const Node* node; (node = index.Producer(value, OperatorKind::kReshape)) != nullptr;) {
    const Shape& before = index.shape(node->operands[0]);
    if (before.empty() || before.back() != columns) break;
    value = node->operands[0];
  }
  if (columns == 1) return MatchProgression(index, value);
  if (std::optional<std::vector<double>> values = index.Values(value)) {
    std::vector<double> of_column;
    for (size_t i = column; i < values->size(); i += columns) of_column.push_back((*values)[i]);
    return OfValues(of_column);
  }
  const Node* concat = index.Producer(value, OperatorKind::kConcat);
  if (concat == nullptr || std::get<webidl::ConcatAttributes>(concat->attributes).axis + 1 !=
                               index.descriptor(value).rank()) {
    return std::nullopt;
  }
  for (ValueId part : concat->operands) {
    const uint32_t width = index.shape(part).back();
    if (column < width) return MatchColumn(index, part, column);
    column -= width;
  }
  return std::nullopt;
}

std::optional<Progression> Broadcast(const Progression& progression, const Shape& from,
                                     const Shape& to) {
  std::optional<std::vector<Digits>> dimensions = SplitByDimension(progression.digits, from);
  if (!dimensions || from.size() > to.size()) return std::nullopt;
  std::vector<Digits> wide(to.size());
  const size_t added = to.size() - from.size();
  for (size_t d = 0; d < to.size(); ++d) {
    const bool repeats = d < added || from[d - added] == 1;
    wide[d] = repeats ? Digits{{to[d], 0}} : (*dimensions)[d - added];
  }
  return Progression{progression.base, progression.first, Join(wide), progression.is_wide};
}

std::optional<Progression> AddScaled(const Progression& a, const Progression& b, int64_t factor) {
  if (b.base != kNoValue && (a.base != kNoValue || factor != 1)) return std::nullopt;
  if (CountOf(a.digits) != CountOf(b.digits)) return std::nullopt;
  Progression sum{a.base != kNoValue ? a.base : b.base, a.first + factor * b.first, {}};
  sum.is_wide = a.is_wide || b.is_wide;
  // From the innermost digits on, each time the largest extent that both have.
  Digits left = a.digits;
  Digits right = b.digits;
  while (!left.empty()) {
    Progression::Digit& x = left.back();
    Progression::Digit& y = right.back();
    const uint32_t extent = std::min(x.extent, y.extent);
    if (x.extent % extent != 0 || y.extent % extent != 0) return std::nullopt;
    sum.digits.insert(sum.digits.begin(), {extent, x.step + factor * y.step});
    for (Digits* digits : {&left, &right}) {
      Progression::Digit& digit = digits->back();
      digit = {digit.extent / extent, digit.step * extent};
      if (digit.extent == 1) digits->pop_back();
    }
  }
  sum.digits = Coalesce(sum.digits);
  return OnlySmall(std::move(sum));
}

}  // namespace webnnd::service
