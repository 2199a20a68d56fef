#include "service/passes/fusion/normalized_products.h"

#include <optional>
#include <utility>
#include <variant>

#include "service/passes/block_gemv.h"
#include "service/passes/fusion/graph_index.h"
#include "service/passes/fusion/product_candidate.h"
#include "service/passes/gemv.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;

// Of a MatmulGroup's operands.
constexpr size_t kFirstWeights = 1;
constexpr size_t kFirstBias = 4;
constexpr size_t kLastBias = 4 * kGemvMatricesMax;

// Nodes change where they stand while the index is in use: what it says of values stays true of
// those that are still to be looked at, since each normalization has its operands and its user for
// itself.
class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), index_(graph) {}

  void Run() {
    bool changed = false;
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      if (!std::holds_alternative<RmsNormalization>(graph_.nodes[at].macro)) continue;
      changed = Fuse(at) || changed;
    }
    if (changed) DropUnreachedNodes(graph_, FindReached(graph_));
  }

 private:
  bool Fuse(size_t at) {
    const Node normalization = graph_.nodes[at];
    const ValueId rows = normalization.results[0];
    const bool has_bias = normalization.operands[3] != kNoValue;
    const bool has_indices = normalization.operands[4] != kNoValue;
    if (has_bias || has_indices) return false;
    const std::optional<size_t> user = OnlyUser(rows);
    if (!user) return false;
    std::optional<Node> product = AsGroup(graph_.nodes[*user]);
    if (!product || !CanNormalize(*product, rows)) return false;
    // As x, not as weights or a bias.
    if (index_.SkipReshapes(product->operands[0]) != rows) return false;
    const ValueId x = TakeSum(at);
    if (x == kNoValue) return false;
    auto& group = std::get<MatmulGroup>(product->macro);
    group.normalizes = true;
    group.epsilon = std::get<RmsNormalization>(normalization.macro).epsilon;
    product->operands[0] = x;
    product->operands.push_back(normalization.operands[1]);
    graph_.nodes[*user] = *std::move(product);
    return true;
  }

  // The only one who uses the elements of `value`, reshaped or not.
  std::optional<size_t> OnlyUser(ValueId value) const {
    while (index_.use_count(value) == 1 && !index_.users(value).empty()) {
      const Node* user = index_.users(value)[0];
      if (index_.Producer(user->results[0], OperatorKind::kReshape) != user) {
        return static_cast<size_t>(user - graph_.nodes.data());
      }
      value = user->results[0];
    }
    return std::nullopt;
  }

  // The node as a MatmulGroup, if it is or can be one that does not normalise yet.
  std::optional<Node> AsGroup(const Node& node) const {
    if (const auto* group = std::get_if<MatmulGroup>(&node.macro)) {
      return group->normalizes ? std::nullopt : std::optional(node);
    }
    std::optional<ProductCandidate> candidate = AsProductCandidate(index_, node);
    if (!candidate) return std::nullopt;
    Node group = node;
    group.macro = MatmulGroup{.by_block = candidate->scale != kNoValue};
    group.operands = {node.operands[0]};
    AppendProduct(*candidate, group);
    group.results = {candidate->result};
    return group;
  }

  // Whether the group's kernel has room for the gain, and `rows` are as many as it normalises.
  bool CanNormalize(const Node& group, ValueId rows) const {
    const webidl::OperandDescriptor& x = index_.descriptor(rows);
    const uint32_t size = x.shape().back();
    const bool by_block = std::get<MatmulGroup>(group.macro).by_block;
    if (by_block && group.operands.size() > kLastBias && group.operands[kLastBias] != kNoValue) {
      return false;
    }
    const webidl::OperandDescriptor& weights = index_.descriptor(group.operands[kFirstWeights]);
    return weights.element_count() == uint64_t{weights.shape()[0]} * size &&
           x.element_count() <= uint64_t{by_block ? FewRowsMax(graph_.device.wide) : 1} * size;
  }

  // What the normalization `at` normalises; where that is a sum, the product that one of its terms
  // is adds the other one, in the place of the normalization. None where neither term is one.
  ValueId TakeSum(size_t at) {
    const Node& normalization = graph_.nodes[at];
    const ValueId a = normalization.operands[0];
    const ValueId b = normalization.operands[2];
    if (b == kNoValue) {
      // Nobody needs it any more.
      graph_.nodes[at].results.clear();
      return a;
    }
    for (auto [term, other] : {std::pair(a, b), std::pair(b, a)}) {
      const std::optional<size_t> maker = OnlyMaker(term);
      if (!maker) continue;
      std::optional<Node> product = AsGroup(graph_.nodes[*maker]);
      if (!product || !CanAdd(*product, term, other)) continue;
      const ValueId sum = SumOf(normalization);
      product->operands[kFirstBias] = other;
      product->results = {sum};
      graph_.nodes[*maker].results.clear();
      graph_.nodes[at] = *std::move(product);
      graph_.values[sum].index = static_cast<uint32_t>(at);
      return sum;
    }
    return kNoValue;
  }

  // Who makes the elements of `value`, where the normalization alone uses them.
  std::optional<size_t> OnlyMaker(ValueId value) const {
    while (index_.use_count(value) == 1) {
      const Node* maker = index_.Maker(value);
      if (maker == nullptr) return std::nullopt;
      if (index_.Producer(value, OperatorKind::kReshape) != maker) {
        return static_cast<size_t>(maker - graph_.nodes.data());
      }
      value = maker->operands[0];
    }
    return std::nullopt;
  }

  // Whether the group is one product without a bias, whose result is `term`, as are the rows of
  // `other`: one, or by block any number.
  bool CanAdd(const Node& group, ValueId term, ValueId other) const {
    if (group.operands.size() != kFirstBias + 1 || group.operands[kFirstBias] != kNoValue) {
      return false;
    }
    const uint64_t elements = index_.descriptor(term).element_count();
    const uint32_t columns = index_.shape(group.operands[kFirstWeights])[0];
    return index_.descriptor(other).element_count() == elements &&
           (elements == columns || std::get<MatmulGroup>(group.macro).by_block);
  }

  ValueId SumOf(const Node& normalization) {
    if (normalization.results[1] != kNoValue) return normalization.results[1];
    const webidl::OperandDescriptor descriptor = index_.descriptor(normalization.operands[0]);
    graph_.values.push_back({Value::Kind::kResult, descriptor});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  Graph& graph_;
  const GraphIndex index_;
};

}  // namespace

void FuseNormalizedProducts(Graph& graph) { Fuser(graph).Run(); }

}  // namespace webnnd::service
