#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "service/passes/fusion/head_rows.h"
#include "service/passes/fusion/patterns.h"
#include "service/passes/fusion/visibility.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

// Goes from a value to what it was made of, and notes what it has passed.
class Trail {
 public:
  Trail(const GraphIndex& index, ValueId value) : index_(index), value_(value) {}

  ValueId value() const { return value_; }
  const std::vector<ValueId>& passed() const { return passed_; }

  // Moves on to operand `operand` of the operator of this kind; nullptr where that is another one.
  const Node* Pass(OperatorKind kind, uint32_t operand = 0) {
    const Node* node = index_.Producer(value_, kind);
    if (node != nullptr) PassTo(node->operands[operand]);
    return node;
  }
  void PassTo(ValueId value) {
    passed_.push_back(value_);
    value_ = value;
  }
  void PassReshapes() {
    while (Pass(OperatorKind::kReshape) != nullptr) {
    }
  }

 private:
  const GraphIndex& index_;
  ValueId value_;
  std::vector<ValueId> passed_;
};

uint64_t Product(const Shape& shape, size_t from, size_t to) {
  uint64_t product = 1;
  for (size_t d = from; d < to; ++d) product *= shape[d];
  return product;
}

// Whether a transpose exchanges the dimensions that are `last` and `last + 1` before the end, and
// no others.
bool Exchanges(const Node& transpose, size_t last, size_t rank) {
  const auto& permutation = std::get<webidl::TransposeAttributes>(transpose.attributes).permutation;
  if (rank < last + 2) return false;
  for (size_t d = 0; d < rank; ++d) {
    size_t expected = d;
    if (d == rank - 1 - last) expected = d - 1;
    if (d == rank - 2 - last) expected = d + 1;
    if ((permutation ? (*permutation)[d] : rank - 1 - d) != expected) return false;
  }
  return true;
}

// probabilities of [heads..., rows, keys]: softmax(scale * products + mask).
struct Probabilities {
  ValueId products = kNoValue;
  double scale = 1;
  Mask mask;
  uint32_t rows = 0;
  uint32_t keys = 0;
  std::vector<ValueId> hidden;
};

// scale * products, or products / (1 / scale), or the products as they are.
double PassScale(const GraphIndex& index, Trail& trail) {
  if (const Node* mul = index.Producer(trail.value(), OperatorKind::kMul)) {
    for (int i : {0, 1}) {
      std::optional<double> scale = index.Scalar(mul->operands[i]);
      if (!scale || index.shape(mul->operands[1 - i]) != index.shape(trail.value())) continue;
      trail.PassTo(mul->operands[1 - i]);
      return *scale;
    }
  }
  if (const Node* div = index.Producer(trail.value(), OperatorKind::kDiv)) {
    std::optional<double> divisor = index.Scalar(div->operands[1]);
    if (divisor && *divisor != 0 && index.shape(div->operands[0]) == index.shape(trail.value())) {
      trail.PassTo(div->operands[0]);
      return 1 / *divisor;
    }
  }
  return 1;
}

std::optional<Probabilities> MatchProbabilities(const GraphIndex& index, ValueId value) {
  Trail trail(index, value);
  trail.PassReshapes();
  const Shape shape = index.shape(trail.value());
  const Node* softmax = trail.Pass(OperatorKind::kSoftmax);
  if (softmax == nullptr || shape.size() < 2 ||
      std::get<webidl::SoftmaxAttributes>(softmax->attributes).axis + 1 != shape.size()) {
    return std::nullopt;
  }
  Probabilities found;
  found.rows = shape[shape.size() - 2];
  found.keys = shape.back();
  const Node* add = index.Producer(trail.value(), OperatorKind::kAdd);
  if (add == nullptr) return std::nullopt;
  for (int i : {0, 1}) {
    const ValueId scores = add->operands[1 - i];
    if (index.shape(scores) != shape) continue;
    std::optional<Mask> mask = MatchMask(index, add->operands[i], found.rows, found.keys);
    if (!mask) continue;
    found.mask = *mask;
    trail.PassTo(scores);
    trail.PassReshapes();
    found.scale = PassScale(index, trail);
    trail.PassReshapes();
    found.products = trail.value();
    found.hidden = trail.passed();
    return found;
  }
  return std::nullopt;
}

// Heads of a cache, each repeated `times` times in a row.
struct Repeated {
  ValueId value = kNoValue;  // [heads, capacity, head size] in some shape.
  uint32_t times = 1;
};

// `value` is [heads * times, keys, head_size].
Repeated SkipRepeat(const GraphIndex& index, ValueId value, uint64_t bytes_per_head) {
  value = index.SkipReshapes(value);
  const Node* expand = index.Producer(value, OperatorKind::kExpand);
  if (expand == nullptr) return {value};
  const Shape& from = index.shape(expand->operands[0]);
  const Shape& to = index.shape(value);
  if (from.size() != to.size()) return {value};
  for (size_t d = 0; d < to.size(); ++d) {
    if (from[d] == to[d]) continue;
    Shape expected = to;
    expected[d] = 1;
    if (from != expected || Product(to, d + 1, to.size()) != bytes_per_head) return {value};
    return {index.SkipReshapes(expand->operands[0]), to[d]};
  }
  return {value};
}

// Queries, by row: behind the transpose that puts their heads first. One row has both in order.
std::optional<ValueId> FindQueries(const GraphIndex& index, ValueId value, const HeadShape& shape) {
  value = index.SkipReshapes(value);
  const Node* transpose = index.Producer(value, OperatorKind::kTranspose);
  if (transpose == nullptr) return shape.rows == 1 ? std::optional(value) : std::nullopt;
  const Shape& by_row = index.shape(transpose->operands[0]);
  const size_t rank = by_row.size();
  if (!Exchanges(*transpose, 1, rank) || by_row[rank - 1] != shape.head_size ||
      by_row[rank - 2] != shape.heads || by_row[rank - 3] != shape.rows ||
      Product(by_row, 0, rank - 3) != 1) {
    return std::nullopt;
  }
  return transpose->operands[0];
}

// What kernels can: whole texels, and few enough of them for an invocation.
bool IsSupported(const webidl::OperandDescriptor& keys, const HeadShape& shape) {
  const bool is_float = keys.data_type() == OperandDataType::kFloat32;
  if (!is_float && keys.data_type() != OperandDataType::kFloat16) return false;
  constexpr uint32_t kHeadSizeMax = 256;
  return shape.head_size % (is_float ? 4 : 8) == 0 && shape.head_size <= kHeadSizeMax &&
         keys.element_count() != 0 && shape.rows != 0 && shape.heads != 0;
}

// Whether an invocation, which goes over all keys that rows of a tile see, would loop too long;
// those of a single row are divided. Of a block of as many keys as a team has invocations, four
// keys' products are a turn, and each value is one; the block and the ends of its loops count, too.
bool LoopsTooLong(const DeviceTraits& device, uint32_t rows, uint32_t keys, uint32_t window) {
  constexpr uint32_t kRowsOfTileMax = 8;
  const uint64_t seen = window != 0 ? uint64_t{window} + kRowsOfTileMax : keys;
  const uint64_t team = LocalSizeMin(device.narrow);
  const uint64_t blocks = DivideRoundingUp<uint64_t>(std::min<uint64_t>(keys, seen), team);
  return !device.wide && rows > 1 && blocks * (team / 4 + team + 3) > kInvocationIterationsMax;
}

// The product of probabilities and values, of [heads..., rows, head size].
std::optional<Match> MatchProduct(const GraphIndex& index, const Node& product) {
  std::optional<Probabilities> scores = MatchProbabilities(index, product.operands[0]);
  if (!scores) return std::nullopt;
  const Node* qk = index.Producer(scores->products, OperatorKind::kMatmul);
  if (qk == nullptr) return std::nullopt;
  const Shape& queries = index.shape(qk->operands[0]);
  const Shape& values = index.shape(product.operands[1]);
  const size_t rank = queries.size();
  if (rank < 3 || values.size() != rank) return std::nullopt;
  const Node* transpose = index.Producer(qk->operands[1], OperatorKind::kTranspose);
  if (transpose == nullptr || !Exchanges(*transpose, 0, rank) ||
      index.shape(transpose->operands[0]) != values ||
      !std::equal(queries.begin(), queries.end() - 2, values.begin())) {
    return std::nullopt;
  }
  // Heads that share keys are heads of the product that repeat them, rows of one matrix, or both.
  const uint32_t lines = queries[rank - 2];
  if (scores->rows == 0 || lines % scores->rows != 0) return std::nullopt;
  const auto cache_heads = static_cast<uint32_t>(Product(queries, 0, rank - 2));
  const HeadShape shape{scores->rows, cache_heads * (lines / scores->rows), queries[rank - 1]};
  if (values[rank - 1] != shape.head_size || values[rank - 2] != scores->keys) return std::nullopt;
  // Reshaped, probabilities could be those of other heads' values.
  Shape probabilities = queries;
  probabilities.back() = scores->keys;
  if (index.shape(product.operands[0]) != probabilities) return std::nullopt;
  const uint64_t elements_per_head = uint64_t{scores->keys} * shape.head_size;
  const Repeated key_heads = SkipRepeat(index, transpose->operands[0], elements_per_head);
  const Repeated value_heads = SkipRepeat(index, product.operands[1], elements_per_head);
  if (key_heads.times != value_heads.times ||
      !IsSupported(index.descriptor(key_heads.value), shape) ||
      LoopsTooLong(index.graph().device, shape.rows, scores->keys,
                   scores->mask.visibility.window)) {
    return std::nullopt;
  }
  std::optional<ValueId> by_row = FindQueries(index, qk->operands[0], shape);
  if (!by_row) return std::nullopt;

  const HeadRows rows = FindHeadRows(index, *by_row, shape);
  Attention macro;
  macro.key_value_heads = cache_heads / key_heads.times;
  macro.group = shape.heads / macro.key_value_heads;
  macro.head_size = shape.head_size;
  macro.query_offset = rows.offset;
  macro.scale = scores->scale;
  macro.reach = scores->mask.visibility.reach;
  macro.beyond = scores->mask.visibility.beyond;
  macro.rows_wrap = scores->mask.visibility.rows_wrap;
  macro.window = scores->mask.visibility.window;
  macro.nothing_is_nan = scores->mask.is_infinite;
  macro.rotation = rows.rotation;
  Match match{product, std::move(scores->hidden)};
  match.hidden.push_back(scores->products);
  match.node.macro = macro;
  match.node.operands = {
      rows.value, key_heads.value, value_heads.value, scores->mask.visibility.start,
      rows.cos,   rows.sin,        rows.positions};
  return match;
}

}  // namespace

std::optional<Match> MatchAttention(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kTranspose) return std::nullopt;
  Trail trail(index, last.operands[0]);
  trail.PassReshapes();
  const Node* product = index.Producer(trail.value(), OperatorKind::kMatmul);
  if (product == nullptr) return std::nullopt;
  std::optional<Match> match = MatchProduct(index, *product);
  if (!match) return std::nullopt;
  // [..., heads, rows, head size] before.
  const auto& macro = std::get<Attention>(match->node.macro);
  const Shape& shape = index.shape(last.operands[0]);
  const size_t rank = shape.size();
  if (!Exchanges(last, 1, rank) || shape[rank - 1] != macro.head_size ||
      shape[rank - 3] != macro.query_heads() || Product(shape, 0, rank - 3) != 1) {
    return std::nullopt;
  }
  match->hidden.insert(match->hidden.end(), trail.passed().begin(), trail.passed().end());
  match->hidden.push_back(trail.value());
  match->node.kind = last.kind;
  match->node.attributes = last.attributes;
  match->node.label = last.label;
  match->node.results = last.results;
  return match;
}

std::optional<Match> MatchAttentionOfOneRow(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kMatmul) return std::nullopt;
  std::optional<Match> match = MatchProduct(index, last);
  if (!match) return std::nullopt;
  const auto& macro = std::get<Attention>(match->node.macro);
  const uint64_t one_row = uint64_t{macro.query_heads()} * macro.head_size;
  if (index.descriptor(last.results[0]).element_count() != one_row) return std::nullopt;
  return match;
}

}  // namespace webnnd::service
