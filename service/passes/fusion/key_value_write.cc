#include <utility>

#include "service/passes/fusion/head_rows.h"
#include "service/passes/fusion/patterns.h"
#include "service/passes/fusion/progression.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

// The row of the cache that row r goes to, in every head: start + offset + r.
struct Place {
  ValueId start = kNoValue;
  int32_t offset = 0;
  bool wraps = true;  // In 32 bits.
  friend bool operator==(const Place&, const Place&) = default;
};

// Indices of scatterND, [rows, heads, coordinates] in some shape, the last two coordinates being
// the head and the row of the cache.
std::optional<Place> MatchPlace(const GraphIndex& index, ValueId indices, const HeadShape& shape) {
  const uint32_t coordinates = index.shape(indices).back();
  using Digits = std::vector<Progression::Digit>;
  const Digits heads = Coalesce({{shape.rows, 0}, {shape.heads, 1}});
  const Digits rows = Coalesce({{shape.rows, 1}, {shape.heads, 0}});
  const Digits nothing = Coalesce({{shape.rows, 0}, {shape.heads, 0}});
  // Dimensions before have one element, of index 0.
  for (uint32_t column = 0; column + 1 < coordinates; ++column) {
    std::optional<Progression> found = MatchColumn(index, indices, column);
    const Digits& wanted = column + 2 == coordinates ? heads : nothing;
    if (found != Progression{kNoValue, 0, wanted}) return std::nullopt;
  }
  std::optional<Progression> row = MatchColumn(index, indices, coordinates - 1);
  if (!row || row->digits != rows) return std::nullopt;
  if (row->base != kNoValue && index.descriptor(row->base).data_type() != OperandDataType::kInt32) {
    return std::nullopt;
  }
  return Place{row->base, static_cast<int32_t>(row->first), !row->is_wide};
}

// The cache's shape, where `scatter` writes rows of heads into it: [..., heads, capacity, head
// size].
std::optional<HeadShape> ReadShape(const GraphIndex& index, const Node& scatter) {
  const Shape& cache = index.shape(scatter.operands[0]);
  const Shape& indices = index.shape(scatter.operands[1]);
  const size_t rank = cache.size();
  if (rank < 3 || indices.empty() || indices.back() + 1 != rank) return std::nullopt;
  for (size_t d = 0; d + 3 < rank; ++d) {
    if (cache[d] != 1) return std::nullopt;
  }
  HeadShape shape{0, cache[rank - 3], cache[rank - 1]};
  const uint64_t per_row = uint64_t{shape.heads} * shape.head_size;
  if (per_row == 0) return std::nullopt;
  shape.rows =
      static_cast<uint32_t>(index.descriptor(scatter.operands[2]).element_count() / per_row);
  // Where there are more rows than places, which of them stay is not in one piece.
  if (shape.rows == 0 || shape.rows > cache[rank - 2]) return std::nullopt;
  return shape;
}

struct Scatters {
  const Node* keys = nullptr;
  const Node* values = nullptr;
};

// The scatter of keys and that of values, of which `one` is either: those that an attention reads,
// or else two that write at the same indices.
std::optional<Scatters> FindScatters(const GraphIndex& index, const Node& one) {
  for (const Node* user : index.users(one.results[0])) {
    if (!std::holds_alternative<Attention>(user->macro)) continue;
    Scatters found{index.Producer(user->operands[1], OperatorKind::kScatterND),
                   index.Producer(user->operands[2], OperatorKind::kScatterND)};
    const bool is_either = found.keys == &one || found.values == &one;
    if (is_either && found.keys != nullptr && found.values != nullptr &&
        found.keys != found.values) {
      return found;
    }
  }
  for (const Node* user : index.users(one.operands[1])) {
    const bool is_scatter = user->kind == OperatorKind::kScatterND &&
                            std::holds_alternative<std::monostate>(user->macro);
    if (is_scatter && user != &one) return Scatters{&one, user};
  }
  return std::nullopt;
}

// What kernels can move four elements at a time.
bool IsSupported(const webidl::OperandDescriptor& cache, const HeadShape& shape) {
  return (cache.data_type() == OperandDataType::kFloat32 ||
          cache.data_type() == OperandDataType::kFloat16) &&
         shape.head_size % 4 == 0;
}

}  // namespace

std::optional<Match> MatchKeyValueWrite(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kScatterND) return std::nullopt;
  std::optional<Scatters> scatters = FindScatters(index, last);
  if (!scatters) return std::nullopt;
  const auto& [keys, values] = *scatters;
  std::optional<HeadShape> shape = ReadShape(index, *keys);
  if (!shape || !IsSupported(index.descriptor(keys->operands[0]), *shape) ||
      index.descriptor(keys->operands[0]) != index.descriptor(values->operands[0]) ||
      index.shape(keys->operands[1]) != index.shape(values->operands[1])) {
    return std::nullopt;
  }
  std::optional<Place> place = MatchPlace(index, keys->operands[1], *shape);
  if (!place) return std::nullopt;
  if (values->operands[1] != keys->operands[1]) {
    std::optional<Place> other = MatchPlace(index, values->operands[1], *shape);
    if (other != place) return std::nullopt;
  }
  const HeadRows key_rows = FindHeadRows(index, keys->operands[2], *shape);
  const HeadRows value_rows = FindHeadRows(index, values->operands[2], *shape);
  if (value_rows.rotation.rotary_size != 0) return std::nullopt;

  KeyValueWrite macro;
  macro.key_value_heads = shape->heads;
  macro.head_size = shape->head_size;
  macro.rows = shape->rows;
  macro.key_offset = key_rows.offset;
  macro.value_offset = value_rows.offset;
  macro.offset = place->offset;
  macro.wraps = place->wraps;
  macro.rotation = key_rows.rotation;
  Match match{last, {}};
  match.node.macro = macro;
  match.node.operands = {key_rows.value, value_rows.value, keys->operands[0], values->operands[0],
                         place->start,   key_rows.cos,     key_rows.sin,      key_rows.positions};
  match.node.results = {keys->results[0], values->results[0]};
  return match;
}

}  // namespace webnnd::service
