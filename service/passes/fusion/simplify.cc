#include "service/passes/fusion/simplify.h"

#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "service/passes/fusion/graph_index.h"

namespace webnnd::service {
namespace {

using webidl::OperandDescriptor;
using webidl::OperatorKind;

// Whether a transposition moves only dimensions of size 1.
bool KeepsOrder(const webidl::TransposeAttributes& attributes, const webidl::Shape& shape) {
  uint32_t previous = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto from = attributes.permutation ? (*attributes.permutation)[d]
                                             : static_cast<uint32_t>(shape.size() - 1 - d);
    if (shape[from] == 1) continue;
    if (from < previous) return false;
    previous = from;
  }
  return true;
}

// Whether the operator's result is its operand, given that both have the same type and shape.
bool KeepsOperand(const Node& node, const webidl::Shape& shape) {
  switch (node.kind) {
    case OperatorKind::kIdentity:
    case OperatorKind::kReshape:
    case OperatorKind::kCast:
    case OperatorKind::kExpand:
    case OperatorKind::kSlice:
    case OperatorKind::kPad:
    case OperatorKind::kTile:
      return true;
    case OperatorKind::kConcat:
      return node.operands.size() == 1;
    case OperatorKind::kSplit:
      return node.results.size() == 1;
    case OperatorKind::kTranspose:
      return KeepsOrder(std::get<webidl::TransposeAttributes>(node.attributes), shape);
    default:
      return false;
  }
}

class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph), same_(graph.values.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  void Run() {
    MultiplyForSquares();
    JoinConstants();
    for (Node& node : graph_.nodes) {
      for (ValueId& value : node.operands) {
        if (value != kNoValue) value = same_[value];
      }
      if (!std::holds_alternative<std::monostate>(node.macro)) continue;
      if (ChangesNothing(node)) {
        same_[node.results[0]] = node.operands[0];
      } else {
        JoinWithEqual(node);
      }
    }
    for (Graph::Output& output : graph_.outputs) output.value = same_[output.value];
    DropUnreachedNodes(graph_, FindReached(graph_));
  }

 private:
  const OperandDescriptor& descriptor(ValueId value) const {
    return graph_.values[value].descriptor;
  }

  // x to the power of 2 is x * x, for whatever x, and takes as long as a sum.
  void MultiplyForSquares() {
    const GraphIndex index(graph_);
    for (Node& node : graph_.nodes) {
      if (node.kind != OperatorKind::kPow || index.Scalar(node.operands[1]) != 2.0) continue;
      if (index.shape(node.operands[0]) != index.shape(node.results[0])) continue;
      node.kind = OperatorKind::kMul;
      node.operands[1] = node.operands[0];
    }
  }

  void JoinConstants() {
    using Key = std::tuple<webidl::OperandDataType, webidl::Shape, std::string_view>;
    std::map<Key, ValueId> first;
    std::map<std::tuple<webidl::OperandDataType, webidl::Shape, uint32_t>, ValueId> of_buffer;
    for (ValueId value = 0; value < graph_.values.size(); ++value) {
      if (graph_.values[value].kind != Value::Kind::kConstant) continue;
      const GraphConstant& constant = graph_.constants[graph_.values[value].index];
      const OperandDescriptor& type = descriptor(value);
      if (constant.bytes != nullptr) {
        std::string_view bytes(reinterpret_cast<const char*>(constant.bytes->data()),
                               constant.bytes->size());
        Key key(type.data_type(), type.shape(), bytes);
        same_[value] = first.try_emplace(std::move(key), value).first->second;
      } else {
        std::tuple key(type.data_type(), type.shape(), constant.buffer);
        same_[value] = of_buffer.try_emplace(std::move(key), value).first->second;
      }
    }
  }

  bool ChangesNothing(const Node& node) const {
    if (node.operands.empty() || node.operands[0] == kNoValue) return false;
    const OperandDescriptor& operand = descriptor(node.operands[0]);
    return descriptor(node.results[0]) == operand && KeepsOperand(node, operand.shape());
  }

  void JoinWithEqual(const Node& node) {
    std::vector<const Node*>& candidates = by_operands_[{node.kind, node.operands}];
    // Operators of one kind on the same operands are few, unless somebody means ill.
    constexpr size_t kCandidatesMax = 16;
    for (const Node* candidate : candidates) {
      if (candidate->attributes != node.attributes) continue;
      for (size_t i = 0; i < node.results.size(); ++i) {
        same_[node.results[i]] = candidate->results[i];
      }
      return;
    }
    if (candidates.size() < kCandidatesMax) candidates.push_back(&node);
  }

  Graph& graph_;
  // By value: the one that stands for it from now on.
  std::vector<ValueId> same_;
  std::map<std::pair<OperatorKind, std::vector<ValueId>>, std::vector<const Node*>> by_operands_;
};

}  // namespace

void Simplify(Graph& graph) { Simplifier(graph).Run(); }

}  // namespace webnnd::service
