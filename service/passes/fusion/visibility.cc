#include "service/passes/fusion/visibility.h"

#include <cmath>

#include "service/passes/fusion/progression.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

// a < b + offset, whichever comparison says so.
struct Less {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  int64_t offset = 0;
};

// `value`, or its contrary, as such a comparison of integers.
std::optional<Less> MatchLess(const GraphIndex& index, ValueId value, bool contrary) {
  struct Row {
    OperatorKind kind;
    bool swaps;      // The second operand is the lesser one.
    int64_t offset;  // 1 where it may be equal.
  };
  constexpr Row kRows[] = {{OperatorKind::kLesser, false, 0},
                           {OperatorKind::kLesserOrEqual, false, 1},
                           {OperatorKind::kGreater, true, 0},
                           {OperatorKind::kGreaterOrEqual, true, 1}};
  for (const Row& row : kRows) {
    const Node* node = index.Producer(value, row.kind);
    if (node == nullptr) continue;
    // Not (a < b) is b <= a.
    const bool swaps = row.swaps != contrary;
    const int64_t offset = contrary ? 1 - row.offset : row.offset;
    return Less{node->operands[swaps ? 1 : 0], node->operands[swaps ? 0 : 1], offset};
  }
  return std::nullopt;
}

std::optional<Progression> MatchIn(const GraphIndex& index, ValueId value, const Shape& shape) {
  std::optional<Progression> progression = MatchProgression(index, value);
  if (!progression) return std::nullopt;
  return Broadcast(*progression, index.shape(value), shape);
}

bool IsInt32(const GraphIndex& index, ValueId value) {
  return index.descriptor(value).data_type() == OperandDataType::kInt32;
}

// key < start + reach + beyond + row, for every head.
std::optional<Visibility> MatchCausal(const GraphIndex& index, ValueId condition, bool contrary,
                                      uint32_t rows, uint32_t keys) {
  std::optional<Less> less = MatchLess(index, condition, contrary);
  if (!less) return std::nullopt;
  const Shape& shape = index.shape(condition);
  std::optional<Progression> key = MatchIn(index, less->a, shape);
  std::optional<Progression> end = MatchIn(index, less->b, shape);
  if (!key || !end || key->base != kNoValue) return std::nullopt;
  std::optional<Progression> ahead = AddScaled(*end, *key, -1);
  if (!ahead) return std::nullopt;
  uint32_t outer = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d) outer *= shape[d];
  const std::vector<Progression::Digit> wanted = {{outer, 0}, {rows, 1}, {keys, -1}};
  if (ahead->digits != Coalesce(wanted)) return std::nullopt;
  Visibility found{ahead->base};
  // Sums of other types wrap around elsewhere.
  if (ahead->base != kNoValue && !IsInt32(index, ahead->base)) return std::nullopt;
  if (ahead->base == kNoValue || ahead->is_wide) {
    found.beyond = static_cast<int32_t>(ahead->first + less->offset);
    found.rows_wrap = false;
    return found;
  }
  // What is on the key's side, or says that it may be equal, wraps nothing around.
  found.reach = static_cast<int32_t>(end->first);
  found.beyond = static_cast<int32_t>(less->offset - key->first);
  const std::vector<Progression::Digit> of_rows = {{outer, 0}, {rows, 1}, {keys, 0}};
  found.rows_wrap = end->digits == Coalesce(of_rows);
  const std::vector<Progression::Digit> alike = {{outer, 0}, {rows, 0}, {keys, 0}};
  if (!found.rows_wrap && end->digits != Coalesce(alike)) return std::nullopt;
  return found;
}

// How many keys a row sees beyond each one, less than `window`: what the framework writes.
std::optional<uint32_t> MatchWindow(const GraphIndex& index, ValueId condition, ValueId visible) {
  std::optional<Less> less = MatchLess(index, condition, /*contrary=*/false);
  if (!less) return std::nullopt;
  const Node* sum = index.Producer(less->a, OperatorKind::kCumulativeSum);
  std::optional<double> window = index.Scalar(less->b);
  if (sum == nullptr || !window) return std::nullopt;
  const auto& attributes = std::get<webidl::CumulativeSumAttributes>(sum->attributes);
  if (!attributes.exclusive || !attributes.reversed ||
      attributes.axis + 1 != index.descriptor(less->a).rank()) {
    return std::nullopt;
  }
  const Node* cast = index.Producer(sum->operands[0], OperatorKind::kCast);
  if (cast == nullptr || cast->operands[0] != visible || !IsInt32(index, cast->results[0])) {
    return std::nullopt;
  }
  const double size = *window + static_cast<double>(less->offset);
  if (!(size >= 1 && size < 0x1p30)) return std::nullopt;
  return static_cast<uint32_t>(size);
}

std::optional<Visibility> MatchVisibility(const GraphIndex& index, ValueId condition, bool contrary,
                                          uint32_t rows, uint32_t keys) {
  const Node* both = index.Producer(condition, OperatorKind::kLogicalAnd);
  if (both == nullptr) return MatchCausal(index, condition, contrary, rows, keys);
  if (contrary) return std::nullopt;
  for (int i : {0, 1}) {
    const ValueId visible = both->operands[i];
    std::optional<uint32_t> window = MatchWindow(index, both->operands[1 - i], visible);
    if (!window || index.shape(visible) != index.shape(condition)) continue;
    std::optional<Visibility> visibility = MatchCausal(index, visible, false, rows, keys);
    if (!visibility) continue;
    visibility->window = *window;
    return visibility;
  }
  return std::nullopt;
}

// Whether scores lose all weight by having `value` added.
bool Hides(double value, OperandDataType type) {
  return value <= (type == OperandDataType::kFloat16 ? -65504.0 : -1e30);
}

}  // namespace

std::optional<Mask> MatchMask(const GraphIndex& index, ValueId mask, uint32_t rows, uint32_t keys) {
  const Node* where = index.Producer(mask, OperatorKind::kWhere);
  if (where == nullptr) return std::nullopt;
  const ValueId condition = where->operands[0];
  const Shape& shape = index.shape(condition);
  // One row of scores may have lost its dimension.
  if (shape.empty() || shape.back() != keys || index.shape(mask) != shape) return std::nullopt;
  if ((shape.size() < 2 ? 1 : shape[shape.size() - 2]) != rows) return std::nullopt;
  std::optional<double> of_true = index.Scalar(where->operands[1]);
  std::optional<double> of_false = index.Scalar(where->operands[2]);
  if (!of_true || !of_false) return std::nullopt;
  const bool contrary = *of_true != 0;
  const double hidden = contrary ? *of_true : *of_false;
  if ((contrary ? *of_false : *of_true) != 0 ||
      !Hides(hidden, index.descriptor(mask).data_type())) {
    return std::nullopt;
  }
  std::optional<Visibility> visibility = MatchVisibility(index, condition, contrary, rows, keys);
  if (!visibility) return std::nullopt;
  return Mask{*visibility, std::isinf(hidden)};
}

}  // namespace webnnd::service
