#include "service/passes/compile.h"

#include <utility>

#include "base/limits.h"
#include "service/passes/fold_constants.h"
#include "service/passes/fusion/fuse.h"
#include "service/passes/lower_macro.h"
#include "service/passes/lowering.h"
#include "service/passes/memory_plan.h"

namespace webnnd::service {

ValueId LoweringBuilder::AddTemporary(webidl::OperandDescriptor descriptor) {
  auto value = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back({Value::Kind::kResult, std::move(descriptor), /*index=*/0});
  return value;
}

void LoweringBuilder::AddAlias(ValueId result, ValueId source) {
  CHECK(graph_.values[result].descriptor.byte_length() ==
        graph_.values[source].descriptor.byte_length());
  aliases_.push_back({result, source, calls_.size()});
}

void LoweringBuilder::AddUpdate(ValueId result, ValueId source) {
  CHECK(graph_.values[result].descriptor.byte_length() ==
        graph_.values[source].descriptor.byte_length());
  updates_.push_back({result, source, calls_.size()});
}

Status OptimizeGraph(Graph& graph, const CompileOptions& options) {
  if (options.constant_folding && options.evaluator != nullptr) {
    TRY(FoldConstants(graph, *options.evaluator));
  }
  if (options.fusion) Fuse(graph, options.fusions);
  return {};
}

Result<CompiledGraph> PlanGraph(Graph graph, const PlanOptions& options) {
  LoweringBuilder lowered(graph);
  for (const Node& node : graph.nodes) {
    bool is_macro = !std::holds_alternative<std::monostate>(node.macro);
    LowerFunction lower = is_macro ? LowerMacro : GetLowering(node.kind);
    if (lower == nullptr) {
      return NotSupportedError("the operator ({}) has no kernel", NodeName(node));
    }
    size_t first_call = lowered.calls().size();
    TRY_DOING(lower(node, lowered), "lowering the operator ({})", NodeName(node));
    if (lowered.calls().size() > limits::kKernelsPerGraphMax) {
      return QuotaError("the graph has more kernels than the limit ({})",
                        limits::kKernelsPerGraphMax);
    }
    for (size_t i = first_call; i < lowered.calls().size(); ++i) {
      LoweredCall& call = lowered.calls()[i];
      if (call.label.empty()) call.label = NodeName(node);
    }
  }
  return PlanMemory(graph, std::move(lowered), options);
}

Result<CompiledGraph> CompileGraph(Graph graph, const CompileOptions& options,
                                   const PlanOptions& plan_options) {
  TRY(OptimizeGraph(graph, options));
  return PlanGraph(std::move(graph), plan_options);
}

}  // namespace webnnd::service
