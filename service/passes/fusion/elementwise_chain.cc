#include "service/passes/fusion/elementwise_chain.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "service/passes/elementwise_operation.h"
#include "service/passes/fusion/graph_index.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;

bool IsFloat(OperandDataType type) {
  return type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
}

bool IsPredicate(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kEqual:
    case OperatorKind::kNotEqual:
    case OperatorKind::kGreater:
    case OperatorKind::kGreaterOrEqual:
    case OperatorKind::kLesser:
    case OperatorKind::kLesserOrEqual:
    case OperatorKind::kLogicalAnd:
    case OperatorKind::kLogicalOr:
    case OperatorKind::kLogicalXor:
      return true;
    default:
      return IsUnaryPredicate(kind);
  }
}

// Whether a step can be the operator: it calculates in floats, or with truth values.
bool CanBeStep(const GraphIndex& index, const Node& node) {
  if (!std::holds_alternative<std::monostate>(node.macro)) return false;
  auto type = [&](size_t i) { return index.descriptor(node.operands[i]).data_type(); };
  const OperandDataType result = index.descriptor(node.results[0]).data_type();
  if (node.kind == OperatorKind::kCast) return IsFloat(result);
  if (node.kind == OperatorKind::kWhere) {
    return IsFloat(result) || result == OperandDataType::kUint8;
  }
  if (IsPredicate(node.kind)) return IsFloat(type(0)) || type(0) == OperandDataType::kUint8;
  return IsFloat(result) && (UnaryOperationOf(node.kind) || BinaryOperationOf(node.kind));
}

// What becomes one kernel.
struct Group {
  std::vector<size_t> nodes;      // Indices; ascending, so that operands come first.
  std::vector<ValueId> operands;  // Values of others.
};

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), index_(graph), taken_(graph.nodes.size()) {}

  void Run() {
    std::vector<Group> groups;
    // The last operators first, so that each takes in all that leads to it.
    for (size_t at = graph_.nodes.size(); at-- > 0;) {
      if (taken_[at] || !CanBeStep(index_, graph_.nodes[at])) continue;
      Group group = Grow(at);
      if (group.nodes.size() == 1) continue;
      for (size_t node : group.nodes) taken_[node] = true;
      groups.push_back(std::move(group));
    }
    std::vector<std::pair<size_t, Node>> made;
    for (const Group& group : groups) made.emplace_back(group.nodes.back(), MakeNode(group));
    for (auto& [at, node] : made) graph_.nodes[at] = std::move(node);
    DropUnreachedNodes(graph_, FindReached(graph_));
  }

 private:
  // All that `last` depends on and that nobody else needs, as far as a kernel takes it.
  Group Grow(size_t last) const {
    Group group{{last}, OperandsOf({last})};
    for (bool grew = true; grew;) {
      grew = false;
      for (ValueId value : group.operands) {
        std::optional<Group> larger = TakeIn(group, value);
        if (!larger) continue;
        group = *std::move(larger);
        grew = true;
        break;
      }
    }
    return group;
  }

  std::optional<Group> TakeIn(const Group& group, ValueId value) const {
    if (graph_.values[value].kind != Value::Kind::kResult) return std::nullopt;
    const size_t producer = graph_.values[value].index;
    const Node& node = graph_.nodes[producer];
    if (taken_[producer] || !CanBeStep(index_, node)) return std::nullopt;
    // What is broadcast is better computed once.
    const Node& last = graph_.nodes[group.nodes.back()];
    if (index_.shape(value) != index_.shape(last.results[0])) return std::nullopt;
    size_t uses = 0;
    for (const Node* user : index_.users(value)) {
      uses += Contains(group.nodes, static_cast<size_t>(user - graph_.nodes.data()));
    }
    if (uses != index_.use_count(value)) return std::nullopt;
    Group larger{group.nodes, {}};
    larger.nodes.insert(std::lower_bound(larger.nodes.begin(), larger.nodes.end(), producer),
                        producer);
    larger.operands = OperandsOf(larger.nodes);
    const bool fits = larger.nodes.size() <= ElementwiseChain::kStepsMax &&
                      larger.operands.size() <= ElementwiseChain::kOperandsMax &&
                      !larger.operands.empty() &&
                      std::all_of(larger.operands.begin(), larger.operands.end(),
                                  [&](ValueId operand) { return IsSmall(operand); });
    // Where the last operator widens, its result is the largest.
    const bool is_small = IsSmall(value) && IsSmall(last.results[0]);
    return fits && is_small ? std::optional(std::move(larger)) : std::nullopt;
  }

  // Whether a kernel can bind it as a whole.
  bool IsSmall(ValueId value) const {
    return index_.descriptor(value).byte_length() <= limits::kBindingBytesMax;
  }

  template <class T>
  static bool Contains(const std::vector<T>& list, T item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  }

  // A constant that a step carries: operand i of the node. The condition of where is none.
  std::optional<double> ConstantOf(const Node& node, size_t i) const {
    if (UnaryOperationOf(node.kind) || node.kind == OperatorKind::kCast) return std::nullopt;
    if (node.kind == OperatorKind::kWhere && i == 0) return std::nullopt;
    if (!IsFloat(index_.descriptor(node.operands[i]).data_type())) return std::nullopt;
    return index_.Scalar(node.operands[i]);
  }

  // Values that the operators take from elsewhere, each once.
  std::vector<ValueId> OperandsOf(const std::vector<size_t>& nodes) const {
    std::vector<ValueId> operands;
    for (size_t at : nodes) {
      const Node& node = graph_.nodes[at];
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const ValueId value = node.operands[i];
        const bool is_inside = graph_.values[value].kind == Value::Kind::kResult &&
                               Contains(nodes, size_t{graph_.values[value].index});
        if (is_inside || ConstantOf(node, i) || Contains(operands, value)) continue;
        operands.push_back(value);
      }
    }
    return operands;
  }

  Node MakeNode(const Group& group) const {
    Node made = graph_.nodes[group.nodes.back()];
    made.operands = group.operands;
    ElementwiseChain chain;
    for (size_t at : group.nodes) chain.steps.push_back(MakeStep(group, graph_.nodes[at]));
    made.macro = std::move(chain);
    return made;
  }

  ElementwiseChain::Step MakeStep(const Group& group, const Node& node) const {
    ElementwiseChain::Step step;
    step.operation = MakeActivation(node.kind, node.attributes);
    step.type = index_.descriptor(node.results[0]).data_type();
    uint32_t constants = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (std::optional<double> constant = ConstantOf(node, i)) {
        step.sources[i] = ElementwiseChain::kFirstConstant + constants;
        step.constants[constants++] = *constant;
      } else {
        step.sources[i] = SourceOf(group, node.operands[i]);
      }
    }
    return step;
  }

  static uint32_t PositionIn(const std::vector<size_t>& list, size_t item) {
    return static_cast<uint32_t>(std::find(list.begin(), list.end(), item) - list.begin());
  }

  uint32_t SourceOf(const Group& group, ValueId value) const {
    auto operand = std::find(group.operands.begin(), group.operands.end(), value);
    if (operand != group.operands.end()) {
      return static_cast<uint32_t>(operand - group.operands.begin());
    }
    const uint32_t step = PositionIn(group.nodes, graph_.values[value].index);
    CHECK(step < group.nodes.size());
    return ElementwiseChain::kOperandsMax + step;
  }

  Graph& graph_;
  GraphIndex index_;
  std::vector<bool> taken_;
};

}  // namespace

void FuseElementwise(Graph& graph) { Fuser(graph).Run(); }

}  // namespace webnnd::service
