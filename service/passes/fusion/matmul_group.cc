#include <algorithm>
#include <utility>

#include "service/passes/fusion/patterns.h"
#include "service/passes/fusion/product_candidate.h"
#include "service/passes/gemv.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;
using webidl::Shape;

// The candidate that makes `value`.
std::optional<ProductCandidate> FindCandidate(const GraphIndex& index, ValueId value) {
  const Node* node = index.Maker(value);
  return node != nullptr ? AsProductCandidate(index, *node) : std::nullopt;
}

// Adds the bias that is all that uses the product, but where it is one of the other `products`.
void TakeBias(const GraphIndex& index, const std::vector<ValueId>& products,
              ProductCandidate& candidate) {
  if (candidate.bias != kNoValue || index.use_count(candidate.result) != 1) return;
  if (index.users(candidate.result).empty()) return;
  const Node* add = index.users(candidate.result)[0];
  if (add->kind != OperatorKind::kAdd || !std::holds_alternative<std::monostate>(add->macro)) {
    return;
  }
  const ValueId bias = add->operands[add->operands[0] == candidate.result ? 1 : 0];
  if (std::find(products.begin(), products.end(), bias) != products.end()) return;
  const Shape& shape = index.shape(candidate.result);
  if (index.shape(add->results[0]) != shape || !IsRow(index.shape(bias), shape.back())) return;
  // A single row is like its bias: then either may be.
  candidate.bias = bias;
  candidate.hidden = candidate.result;
  candidate.result = add->results[0];
}

// Whether one kernel can compute both: same rows, of the same kind of weights.
bool AreAlike(const GraphIndex& index, const ProductCandidate& a, const ProductCandidate& b) {
  const webidl::OperandDescriptor& a_x = index.descriptor(a.node->operands[0]);
  const webidl::OperandDescriptor& b_x = index.descriptor(b.node->operands[0]);
  const webidl::OperandDescriptor& a_weights = index.descriptor(a.weights);
  const webidl::OperandDescriptor& b_weights = index.descriptor(b.weights);
  return index.SkipReshapes(a.node->operands[0]) == index.SkipReshapes(b.node->operands[0]) &&
         a_x.data_type() == b_x.data_type() && a_weights.data_type() == b_weights.data_type() &&
         a_weights.rank() == b_weights.rank() &&
         std::equal(a_weights.shape().begin() + 1, a_weights.shape().end(),
                    b_weights.shape().begin() + 1);
}

// All candidates like `candidate`, with itself, in the order of the graph.
std::vector<ProductCandidate> ListAlike(const GraphIndex& index,
                                        const ProductCandidate& candidate) {
  std::vector<ValueId> waiting = {index.SkipReshapes(candidate.node->operands[0])};
  std::vector<ProductCandidate> found;
  while (!waiting.empty()) {
    const ValueId x = waiting.back();
    waiting.pop_back();
    for (const Node* user : index.users(x)) {
      if (index.Producer(user->results[0], OperatorKind::kReshape) == user) {
        waiting.push_back(user->results[0]);
        continue;
      }
      std::optional<ProductCandidate> other = AsProductCandidate(index, *user);
      if (other && user->operands[0] == x && AreAlike(index, candidate, *other)) {
        found.push_back(*std::move(other));
      }
    }
  }
  auto before = [](const ProductCandidate& a, const ProductCandidate& b) {
    return a.node < b.node;
  };
  auto same = [](const ProductCandidate& a, const ProductCandidate& b) { return a.node == b.node; };
  std::sort(found.begin(), found.end(), before);
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

// silu(gate) as gate * sigmoid(gate).
struct Silu {
  ValueId gate = kNoValue;
  ValueId sigmoid = kNoValue;
};

std::optional<Silu> MatchSilu(const GraphIndex& index, ValueId value) {
  const Node* mul = index.Producer(value, OperatorKind::kMul);
  if (mul == nullptr) return std::nullopt;
  for (int i : {0, 1}) {
    const Node* sigmoid = index.Producer(mul->operands[i], OperatorKind::kSigmoid);
    if (sigmoid != nullptr && sigmoid->operands[0] == mul->operands[1 - i]) {
      return Silu{sigmoid->operands[0], sigmoid->results[0]};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Match> MatchGatedMatmul(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kMul) return std::nullopt;
  for (int i : {0, 1}) {
    std::optional<Silu> silu = MatchSilu(index, last.operands[i]);
    if (!silu) continue;
    std::optional<ProductCandidate> gate = FindCandidate(index, silu->gate);
    std::optional<ProductCandidate> up = FindCandidate(index, last.operands[1 - i]);
    if (!gate || !up || gate->node == up->node || !AreAlike(index, *gate, *up)) continue;
    if (gate->bias != kNoValue || up->bias != kNoValue) continue;
    // Otherwise one of them is broadcast.
    if (index.shape(gate->result) != index.shape(up->result)) continue;
    Match match;
    match.node = last;
    match.node.macro = MatmulGroup{.by_block = gate->scale != kNoValue, .gated = true};
    match.node.operands = {gate->node->operands[0]};
    AppendProduct(*gate, match.node);
    AppendProduct(*up, match.node);
    match.hidden = {gate->result, silu->sigmoid, last.operands[i], up->result};
    return match;
  }
  return std::nullopt;
}

std::optional<Match> MatchMatmulGroup(const GraphIndex& index, const Node& first) {
  std::optional<ProductCandidate> candidate = AsProductCandidate(index, first);
  if (!candidate) return std::nullopt;
  std::vector<ProductCandidate> alike = ListAlike(index, *candidate);
  const auto at = static_cast<size_t>(
      std::find_if(alike.begin(), alike.end(), [&](auto& a) { return a.node == &first; }) -
      alike.begin());
  // As many at a time as a kernel takes, found at the first of them.
  if (at % kGemvMatricesMax != 0) return std::nullopt;
  const size_t end = std::min(at + kGemvMatricesMax, alike.size());
  Match match;
  match.node = first;
  match.node.macro = MatmulGroup{.by_block = candidate->scale != kNoValue};
  match.node.operands = {first.operands[0]};
  match.node.results.clear();
  bool has_bias = false;
  std::vector<ValueId> products;
  for (size_t i = at; i < end; ++i) products.push_back(alike[i].result);
  for (size_t i = at; i < end; ++i) {
    TakeBias(index, products, alike[i]);
    AppendProduct(alike[i], match.node);
    match.node.results.push_back(alike[i].result);
    if (alike[i].hidden != kNoValue) match.hidden.push_back(alike[i].hidden);
    has_bias = has_bias || alike[i].hidden != kNoValue;
  }
  if (match.node.results.size() == 1 && !has_bias) return std::nullopt;
  return match;
}

}  // namespace webnnd::service
