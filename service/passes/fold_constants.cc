#include "service/passes/fold_constants.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/trace.h"
#include "webidl/dynamic_inference.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;

bool SharesBytes(OperatorKind kind) {
  return kind == OperatorKind::kReshape || kind == OperatorKind::kIdentity;
}

// Folds all at once: the operators to fold become a graph of their own, which runs once, and has an
// output for each value that the rest of the graph still needs.
class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), root_(graph.values.size(), kNoValue) {}

  Status Run(ConstantEvaluator& evaluator) {
    FindFolded();
    if (folded_.empty()) return {};
    FindNeeded();
    TRY(EvaluateRoots(evaluator));
    for (ValueId value : needed_) MakeConstant(value);
    DropFolded();
    return {};
  }

 private:
  bool IsConstant(ValueId value) const {
    return graph_.values[value].kind == Value::Kind::kConstant || root_[value] != kNoValue;
  }
  bool IsComputed(ValueId root) const { return graph_.values[root].kind == Value::Kind::kResult; }

  bool IsFoldable(const Node& node) const {
    if (node.kind == OperatorKind::kDequantizeLinear) return false;
    // Split of a constant is rare.
    if (node.results.size() != 1) return false;
    // Of what depends on sizes there is one for each.
    if (graph_.values[node.results[0]].descriptor.is_dynamic() ||
        webidl::HasDynamicItems(node.attributes)) {
      return false;
    }
    uint64_t operand_bytes = 0;
    for (ValueId value : node.operands) {
      if (value == kNoValue) continue;
      if (!IsConstant(value)) return false;
      operand_bytes += graph_.values[value].descriptor.byte_length();
    }
    if (SharesBytes(node.kind)) return true;
    return graph_.values[node.results[0]].descriptor.byte_length() <= operand_bytes;
  }

  void FindFolded() {
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!IsFoldable(node)) continue;
      folded_.push_back(i);
      ValueId source = node.operands.empty() ? kNoValue : node.operands[0];
      ValueId& root = root_[node.results[0]];
      root = node.results[0];
      if (SharesBytes(node.kind)) root = root_[source] != kNoValue ? root_[source] : source;
    }
  }

  // The folded values that other operators, or the outputs, use.
  void FindNeeded() {
    std::vector<bool> seen(graph_.values.size(), false);
    auto need = [&](ValueId value) {
      if (value == kNoValue || root_[value] == kNoValue || seen[value]) return;
      seen[value] = true;
      needed_.push_back(value);
    };
    auto next_folded = folded_.begin();
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (next_folded != folded_.end() && *next_folded == i) {
        ++next_folded;
        continue;
      }
      for (ValueId value : graph_.nodes[i].operands) need(value);
    }
    for (const Graph::Output& output : graph_.outputs) need(output.value);
  }

  Status EvaluateRoots(ConstantEvaluator& evaluator) {
    Graph folding = DrawFoldedGraph();
    if (folding.outputs.empty()) return {};
    ASSIGN_OR_RETURN(
        CompiledGraph compiled,
        CompileGraph(std::move(folding), {.fusion = false, .constant_folding = false}));
    ASSIGN_OR_RETURN(std::vector<uint32_t> buffers,
                     evaluator.Evaluate(compiled.plan, compiled.constant_buffers));
    CHECK(buffers.size() == computed_roots_.size());
    for (size_t i = 0; i < buffers.size(); ++i) buffer_of_root_[computed_roots_[i]] = buffers[i];
    return {};
  }

  // The folded operators, with their constants and with the computed roots as outputs.
  Graph DrawFoldedGraph() {
    Graph folding;
    folding.device = graph_.device;
    std::map<ValueId, ValueId> drawn;
    auto draw = [&](ValueId value, Value::Kind kind, uint32_t index) {
      drawn[value] = static_cast<ValueId>(folding.values.size());
      folding.values.push_back({kind, graph_.values[value].descriptor, index});
    };
    for (uint32_t i : folded_) {
      Node copy = graph_.nodes[i];
      for (ValueId& value : copy.operands) {
        if (value == kNoValue) continue;
        if (!drawn.contains(value)) {
          draw(value, Value::Kind::kConstant, static_cast<uint32_t>(folding.constants.size()));
          folding.constants.push_back(graph_.constants[graph_.values[value].index]);
        }
        value = drawn.at(value);
      }
      draw(copy.results[0], Value::Kind::kResult, static_cast<uint32_t>(folding.nodes.size()));
      copy.results[0] = drawn.at(copy.results[0]);
      folding.nodes.push_back(std::move(copy));
    }
    for (ValueId value : needed_) {
      ValueId root = root_[value];
      if (!IsComputed(root) || !buffer_of_root_.try_emplace(root, 0).second) continue;
      folding.outputs.push_back({"folded" + std::to_string(computed_roots_.size()), drawn[root]});
      computed_roots_.push_back(root);
    }
    return folding;
  }

  void MakeConstant(ValueId value) {
    ValueId root = root_[value];
    GraphConstant constant;
    if (auto computed = buffer_of_root_.find(root); computed != buffer_of_root_.end()) {
      constant.buffer = computed->second;
    } else {
      constant = graph_.constants[graph_.values[root].index];
    }
    constant.descriptor = graph_.values[value].descriptor;
    graph_.values[value].kind = Value::Kind::kConstant;
    graph_.values[value].index = static_cast<uint32_t>(graph_.constants.size());
    graph_.constants.push_back(std::move(constant));
  }

  void DropFolded() {
    std::vector<Node> kept;
    auto next_folded = folded_.begin();
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (next_folded != folded_.end() && *next_folded == i) {
        ++next_folded;
        continue;
      }
      for (ValueId value : graph_.nodes[i].results) {
        graph_.values[value].index = static_cast<uint32_t>(kept.size());
      }
      kept.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(kept);
  }

  Graph& graph_;
  // Of folded values: the value whose bytes they have, itself or one behind reshapes; else
  // kNoValue.
  std::vector<ValueId> root_;
  std::vector<uint32_t> folded_;  // Indices of nodes, ascending.
  std::vector<ValueId> needed_;
  std::vector<ValueId> computed_roots_;  // Those of needed_ that kernels compute.
  std::map<ValueId, uint32_t> buffer_of_root_;
};

}  // namespace

Status FoldConstants(Graph& graph, ConstantEvaluator& evaluator) {
  TraceScope scope("fold");
  return Folder(graph).Run(evaluator);
}

}  // namespace webnnd::service
