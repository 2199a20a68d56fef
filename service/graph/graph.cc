#include "service/graph/graph.h"

#include <algorithm>
#include <utility>

namespace webnnd::service {

std::string_view MacroName(const Macro& macro) {
  struct Name {
    std::string_view operator()(std::monostate) const { return {}; }
    std::string_view operator()(const RmsNormalization&) const { return "rmsNormalization"; }
    std::string_view operator()(const BlockMatmul&) const { return "blockMatmul"; }
    std::string_view operator()(const MatmulGroup&) const { return "matmulGroup"; }
    std::string_view operator()(const RotaryEmbedding&) const { return "rotaryEmbedding"; }
    std::string_view operator()(const ElementwiseChain&) const { return "elementwiseChain"; }
    // Goes by the name of what comes before it.
    std::string_view operator()(const Epilogue&) const { return {}; }
    std::string_view operator()(const Attention&) const { return "attention"; }
    std::string_view operator()(const KeyValueWrite&) const { return "keyValueWrite"; }
  };
  return std::visit(Name(), macro);
}

std::string_view NodeName(const Node& node) {
  std::string_view name = MacroName(node.macro);
  return name.empty() ? webidl::OperatorName(node.kind) : name;
}

uint32_t TiledLoads(const Graph& graph, ValueId value) {
  const Value& named = graph.values[value];
  return named.kind == Value::Kind::kConstant ? graph.constants[named.index].tiled_loads : 0;
}

std::vector<bool> FindReached(const Graph& graph) {
  std::vector<bool> reached(graph.values.size(), false);
  for (const Graph::Output& output : graph.outputs) reached[output.value] = true;
  // Backwards: nodes come after their operands.
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    bool needed = std::any_of(node.results.begin(), node.results.end(),
                              [&](ValueId value) { return value != kNoValue && reached[value]; });
    if (!needed) continue;
    for (ValueId value : node.operands) {
      if (value != kNoValue) reached[value] = true;
    }
  }
  return reached;
}

void DropUnreachedNodes(Graph& graph, const std::vector<bool>& reached) {
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    bool needed = std::any_of(node.results.begin(), node.results.end(),
                              [&](ValueId value) { return value != kNoValue && reached[value]; });
    if (!needed) continue;
    for (ValueId value : node.results) {
      if (value != kNoValue) graph.values[value].index = static_cast<uint32_t>(kept.size());
    }
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
}

}  // namespace webnnd::service
