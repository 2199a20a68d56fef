#include "service/passes/fold_constants.h"

#include <algorithm>
#include <utility>

namespace webnnd::service {
namespace {

using webidl::OperatorKind;

bool SharesBytes(OperatorKind kind) {
  return kind == OperatorKind::kReshape || kind == OperatorKind::kIdentity;
}

bool IsFoldable(const Graph& graph, const Node& node) {
  if (node.kind == OperatorKind::kDequantizeLinear) return false;
  // One result keeps the evaluator's interface small; split of a constant is rare.
  if (node.results.size() != 1) return false;
  uint64_t operand_bytes = 0;
  for (ValueId value : node.operands) {
    if (value == kNoValue) continue;
    if (graph.values[value].kind != Value::Kind::kConstant) return false;
    operand_bytes += graph.values[value].descriptor.byte_length();
  }
  if (SharesBytes(node.kind)) return true;
  return graph.values[node.results[0]].descriptor.byte_length() <= operand_bytes;
}

// A graph of this one node, with its constants.
Graph Isolate(const Graph& graph, const Node& node) {
  Graph single;
  Node copy = node;
  for (ValueId& value : copy.operands) {
    if (value == kNoValue) continue;
    const GraphConstant& constant = graph.constants[graph.values[value].index];
    auto index = static_cast<uint32_t>(single.constants.size());
    single.constants.push_back(constant);
    value = static_cast<ValueId>(single.values.size());
    single.values.push_back({Value::Kind::kConstant, constant.descriptor, index});
  }
  auto result = static_cast<ValueId>(single.values.size());
  single.values.push_back(
      {Value::Kind::kResult, graph.values[node.results[0]].descriptor, /*index=*/0});
  copy.results = {result};
  single.nodes.push_back(std::move(copy));
  single.outputs.push_back({"folded", result});
  return single;
}

Result<GraphConstant> Fold(const Graph& graph, const Node& node, ConstantEvaluator& evaluator) {
  const webidl::OperandDescriptor& descriptor = graph.values[node.results[0]].descriptor;
  if (SharesBytes(node.kind)) {
    const GraphConstant& source = graph.constants[graph.values[node.operands[0]].index];
    return GraphConstant{descriptor, source.buffer, source.bytes};
  }
  ASSIGN_OR_RETURN(CompiledGraph compiled,
                   CompileGraph(Isolate(graph, node), {.constant_folding = false}));
  ASSIGN_OR_RETURN(uint32_t buffer, evaluator.Evaluate(compiled.plan, compiled.constant_buffers));
  return GraphConstant{descriptor, buffer, nullptr};
}

}  // namespace

Status FoldConstants(Graph& graph, ConstantEvaluator& evaluator) {
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    if (IsFoldable(graph, node)) {
      ASSIGN_OR_RETURN(GraphConstant constant, Fold(graph, node, evaluator));
      Value& result = graph.values[node.results[0]];
      result.kind = Value::Kind::kConstant;
      result.index = static_cast<uint32_t>(graph.constants.size());
      graph.constants.push_back(std::move(constant));
      continue;
    }
    for (ValueId value : node.results) {
      graph.values[value].index = static_cast<uint32_t>(kept.size());
    }
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
  return {};
}

}  // namespace webnnd::service
