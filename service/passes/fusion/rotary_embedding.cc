#include <algorithm>
#include <utility>

#include "service/passes/fusion/patterns.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;
using webidl::Shape;

// A rotation as it is being recognised.
struct Rotation {
  RotaryEmbedding macro;
  ValueId x = kNoValue;  // [..., heads, rotary_size] in some shape of these bytes.
  ValueId cos = kNoValue;
  ValueId sin = kNoValue;
  ValueId positions = kNoValue;
  std::vector<ValueId> hidden;
};

// x with its halves, or with its neighbours, swapped: concat(second, first) of a split in two.
struct Swapped {
  ValueId x = kNoValue;
  uint32_t axis = 0;
  std::vector<ValueId> hidden;
};

std::optional<Swapped> MatchSwapped(const GraphIndex& index, ValueId value) {
  const Node* concat = index.Producer(value, OperatorKind::kConcat);
  if (concat == nullptr || concat->operands.size() != 2) return std::nullopt;
  const Node* split = index.Producer(concat->operands[0], OperatorKind::kSplit);
  if (split == nullptr || split->results.size() != 2) return std::nullopt;
  if (split->results[1] != concat->operands[0] || split->results[0] != concat->operands[1] ||
      index.shape(split->results[0]) != index.shape(split->results[1])) {
    return std::nullopt;
  }
  uint32_t axis = std::get<webidl::SplitAttributes>(split->attributes).axis;
  if (std::get<webidl::ConcatAttributes>(concat->attributes).axis != axis) return std::nullopt;
  return Swapped{split->operands[0], axis, {value, split->results[0], split->results[1]}};
}

// Whether `sign` is -1 for the first of two along `axis` of `rank` dimensions, 1 for the second.
bool IsSign(const GraphIndex& index, ValueId sign, uint32_t axis, uint32_t rank) {
  std::optional<std::vector<double>> values = index.Values(sign);
  if (!values || *values != std::vector<double>{-1, 1}) return false;
  Shape shape = index.shape(sign);
  if (shape.size() > rank) return false;
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape[axis] == 2;
}

// The factors of a product in both orders.
std::vector<std::pair<ValueId, ValueId>> Factors(const GraphIndex& index, ValueId value) {
  const Node* mul = index.Producer(value, OperatorKind::kMul);
  if (mul == nullptr) return {};
  return {{mul->operands[0], mul->operands[1]}, {mul->operands[1], mul->operands[0]}};
}

// swapped(x) * sin * sign, whose factors may stand in any order.
struct Turned {
  Swapped swapped;
  ValueId sin = kNoValue;
};

std::optional<Turned> MatchTurned(const GraphIndex& index, ValueId value) {
  const uint32_t rank = index.descriptor(value).rank();
  for (auto [product, sign] : Factors(index, value)) {
    for (auto [swapped_value, sin] : Factors(index, product)) {
      std::optional<Swapped> swapped = MatchSwapped(index, swapped_value);
      if (!swapped || !IsSign(index, sign, swapped->axis, rank)) continue;
      swapped->hidden.insert(swapped->hidden.end(), {value, product});
      return Turned{std::move(*swapped), sin};
    }
  }
  return std::nullopt;
}

// What a pair's shape says: x is [..., heads, 2, half], or [..., heads, half, 2] where the pairs
// are neighbours, and `angles` has the same but one head and no pairs.
std::optional<RotaryEmbedding> ReadPairs(const Shape& x, const Shape& angles, uint32_t axis) {
  const size_t rank = x.size();
  if (rank < 3 || angles.size() != rank || axis + 2 < rank || axis >= rank || x[axis] != 2) {
    return std::nullopt;
  }
  RotaryEmbedding macro;
  macro.interleaved = axis == rank - 1;
  const uint32_t half = macro.interleaved ? x[rank - 2] : x[rank - 1];
  Shape expected = x;
  expected[axis] = 1;
  expected[rank - 3] = 1;
  if (angles != expected) return std::nullopt;
  macro.heads = x[rank - 3];
  macro.head_size = macro.rotary_size = 2 * half;
  macro.rows = 1;
  for (size_t d = 0; d + 3 < rank; ++d) macro.rows *= x[d];
  macro.sequence = rank > 3 ? x[rank - 4] : 1;
  if (macro.rows == 0 || macro.heads == 0 || half == 0) return std::nullopt;
  return macro;
}

// Whether a constant counts 0, 1, 2, ...
bool IsCount(const GraphIndex& index, ValueId value) {
  std::optional<std::vector<double>> values = index.Values(value);
  if (!values) return false;
  for (size_t i = 0; i < values->size(); ++i) {
    if ((*values)[i] != static_cast<double>(i)) return false;
  }
  return true;
}

// Where cos and sin are gathered from tables by the same positions, uses the tables themselves.
void UseTables(const GraphIndex& index, Rotation& rotation) {
  const uint32_t half = rotation.macro.rotary_size / 2;
  const Node* cos = index.Producer(index.SkipReshapes(rotation.cos), OperatorKind::kGather);
  const Node* sin = index.Producer(index.SkipReshapes(rotation.sin), OperatorKind::kGather);
  if (cos == nullptr || sin == nullptr || cos->operands[1] != sin->operands[1]) return;
  for (const Node* gather : {cos, sin}) {
    const Shape& table = index.shape(gather->operands[0]);
    if (std::get<webidl::GatherAttributes>(gather->attributes).axis != 0 || table.size() != 2 ||
        table[1] != half) {
      return;
    }
  }
  if (index.shape(cos->operands[0]) != index.shape(sin->operands[0])) return;
  if (index.descriptor(cos->operands[1]).element_count() != rotation.macro.rows) return;
  rotation.cos = cos->operands[0];
  rotation.sin = sin->operands[0];
  rotation.positions = cos->operands[1];
  // One kernel serves a step and the prompt before it.
  rotation.macro.consecutive = rotation.macro.rows == 1;
  // first position + 0, 1, 2, ...: for a single sequence.
  const Node* add = index.Producer(rotation.positions, OperatorKind::kAdd);
  if (add == nullptr || rotation.macro.sequence != rotation.macro.rows) return;
  for (int i : {0, 1}) {
    if (index.descriptor(add->operands[i]).element_count() == 1 &&
        index.descriptor(add->operands[1 - i]).element_count() == rotation.macro.rows &&
        IsCount(index, add->operands[1 - i])) {
      rotation.positions = add->operands[i];
      rotation.macro.consecutive = true;
      return;
    }
  }
}

// x * cos + swapped(x) * sin * sign, as an add of the two in any shape.
std::optional<Rotation> MatchRotation(const GraphIndex& index, ValueId sum) {
  const Node* add = index.Producer(sum, OperatorKind::kAdd);
  if (add == nullptr || index.shape(add->operands[0]) != index.shape(add->operands[1])) {
    return std::nullopt;
  }
  for (int i : {0, 1}) {
    ValueId turned_value = index.SkipReshapes(add->operands[i]);
    ValueId straight_value = index.SkipReshapes(add->operands[1 - i]);
    std::optional<Turned> turned = MatchTurned(index, turned_value);
    if (!turned) continue;
    const Swapped& swapped = turned->swapped;
    for (auto [x, cos] : Factors(index, straight_value)) {
      if (x != swapped.x || index.shape(cos) != index.shape(turned->sin)) continue;
      std::optional<RotaryEmbedding> macro =
          ReadPairs(index.shape(x), index.shape(cos), swapped.axis);
      if (!macro || index.shape(straight_value) != index.shape(x) ||
          index.shape(turned_value) != index.shape(x)) {
        continue;
      }
      Rotation rotation{*macro, x, cos, turned->sin, kNoValue, swapped.hidden};
      rotation.hidden.push_back(straight_value);
      for (ValueId value : {add->operands[0], add->operands[1]}) {
        if (index.SkipReshapes(value) != value) rotation.hidden.push_back(value);
      }
      UseTables(index, rotation);
      return rotation;
    }
  }
  return std::nullopt;
}

Match MakeMatch(const Node& last, Rotation rotation) {
  Match match{last, std::move(rotation.hidden)};
  match.node.macro = rotation.macro;
  match.node.operands = {rotation.x, rotation.cos, rotation.sin, rotation.positions};
  return match;
}

// Whether a transpose exchanges heads and rows of [batch, heads or rows, rows or heads, size].
bool ExchangesHeads(const Node& transpose) {
  const auto& permutation = std::get<webidl::TransposeAttributes>(transpose.attributes).permutation;
  return permutation && *permutation == std::vector<uint32_t>{0, 2, 1, 3};
}

// The head with elements that do not turn: concat(rotation of the first part, second part), of a
// split of x.
std::optional<Rotation> MatchPartial(const GraphIndex& index, ValueId value) {
  const Node* concat = index.Producer(value, OperatorKind::kConcat);
  if (concat == nullptr || concat->operands.size() != 2) return std::nullopt;
  const uint32_t last_axis = index.descriptor(value).rank() - 1;
  const Node* split = index.Producer(concat->operands[1], OperatorKind::kSplit);
  if (split == nullptr || split->results.size() != 2 || split->results[1] != concat->operands[1] ||
      std::get<webidl::SplitAttributes>(split->attributes).axis != last_axis ||
      std::get<webidl::ConcatAttributes>(concat->attributes).axis != last_axis) {
    return std::nullopt;
  }
  std::optional<Rotation> rotation = MatchRotation(index, concat->operands[0]);
  if (!rotation || index.SkipReshapes(rotation->x) != split->results[0] ||
      index.shape(concat->operands[0]) != index.shape(split->results[0]) ||
      index.shape(concat->operands[0]).back() != rotation->macro.rotary_size) {
    return std::nullopt;
  }
  for (ValueId reshaped = rotation->x; reshaped != split->results[0];
       reshaped = index.Producer(reshaped, OperatorKind::kReshape)->operands[0]) {
    rotation->hidden.push_back(reshaped);
  }
  rotation->hidden.insert(rotation->hidden.end(),
                          {concat->operands[0], split->results[0], split->results[1]});
  rotation->x = split->operands[0];
  rotation->macro.head_size = index.shape(rotation->x).back();
  return rotation;
}

}  // namespace

std::optional<Match> MatchRotaryEmbedding(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kAdd) return std::nullopt;
  std::optional<Rotation> rotation = MatchRotation(index, last.results[0]);
  if (!rotation) return std::nullopt;
  return MakeMatch(last, std::move(*rotation));
}

std::optional<Match> MatchPartialRotaryEmbedding(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kConcat) return std::nullopt;
  std::optional<Rotation> rotation = MatchPartial(index, last.results[0]);
  if (!rotation) return std::nullopt;
  return MakeMatch(last, std::move(*rotation));
}

std::optional<Match> MatchTransposedRotaryEmbedding(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kTranspose || !ExchangesHeads(last)) return std::nullopt;
  const ValueId turned = last.operands[0];
  std::optional<Rotation> rotation = MatchPartial(index, turned);
  if (!rotation) rotation = MatchRotation(index, turned);
  if (!rotation) return std::nullopt;
  const ValueId by_row = index.SkipReshapes(rotation->x);
  const Node* transpose = index.Producer(by_row, OperatorKind::kTranspose);
  if (transpose == nullptr || !ExchangesHeads(*transpose)) return std::nullopt;
  // [batch, sequence, heads, head size] between the two.
  const RotaryEmbedding& macro = rotation->macro;
  const Shape between = {macro.rows / macro.sequence, macro.sequence, macro.heads, macro.head_size};
  if (index.shape(by_row) != between || index.shape(turned) != between) return std::nullopt;
  rotation->hidden.push_back(turned);
  rotation->x = transpose->operands[0];
  rotation->macro.heads_first = true;
  return MakeMatch(last, std::move(*rotation));
}

}  // namespace webnnd::service
