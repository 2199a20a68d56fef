#include "service/passes/compile.h"

#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "base/limits.h"
#include "base/trace.h"
#include "service/passes/fold_constants.h"
#include "service/passes/fusion/fuse.h"
#include "service/passes/lower_macro.h"
#include "service/passes/lowering.h"
#include "service/passes/memory_plan.h"
#include "service/passes/pack_block_scales.h"
#include "service/passes/pack_filters.h"
#include "service/passes/recurrent_weights.h"
#include "service/passes/strided_endpoints.h"
#include "service/passes/untile_constants.h"

namespace webnnd::service {

ValueId LoweringBuilder::AddTemporary(webidl::OperandDescriptor descriptor) {
  auto value = static_cast<ValueId>(graph_.values.size());
  const uint64_t reserved = graph_.reserves ? RoundUpToStep(descriptor.byte_length()) : 0;
  graph_.values.push_back({Value::Kind::kResult, std::move(descriptor), /*index=*/0, reserved});
  return value;
}

Result<ValueId> LoweringBuilder::AddCounters(uint32_t count) {
  const uint32_t shape[] = {count};
  ASSIGN_OR_RETURN(auto descriptor,
                   webidl::OperandDescriptor::Create(webidl::OperandDataType::kUint32, shape));
  const uint64_t first = counter_bytes_ / sizeof(uint32_t);
  const auto value = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back(
      {Value::Kind::kCounters, std::move(descriptor), NarrowCast<uint32_t>(first)});
  counter_bytes_ += AlignUp<uint64_t>(uint64_t{count} * sizeof(uint32_t), kBufferAlignment);
  return value;
}

void LoweringBuilder::AddAlias(ValueId result, ValueId source) {
  CHECK(graph_.values[result].descriptor.byte_length() <=
        graph_.values[source].descriptor.byte_length());
  aliases_.push_back({result, source, calls_.size()});
}

void LoweringBuilder::AddUpdate(ValueId result, ValueId source) {
  CHECK(graph_.values[result].descriptor.byte_length() ==
        graph_.values[source].descriptor.byte_length());
  updates_.push_back({result, source, calls_.size()});
}

Status EvaluateConstants(const CompiledGraph& compiled, const std::vector<size_t>& constants,
                         ConstantEvaluator& evaluator, Graph& graph) {
  ASSIGN_OR_RETURN(const std::vector<uint32_t> buffers,
                   evaluator.Evaluate(compiled.plan, compiled.constant_buffers));
  CHECK(buffers.size() == constants.size());
  for (size_t i = 0; i < buffers.size(); ++i) graph.constants[constants[i]].buffer = buffers[i];
  return {};
}

namespace {

// Runs a pass that gives constants another order: where there is no room for them, they keep
// theirs.
Status PackConstants(Status (&pack)(Graph&, ConstantEvaluator&), ConstantEvaluator& evaluator,
                     Graph& graph) {
  Graph before = graph;
  Status status = pack(graph, evaluator);
  if (status.ok()) return status;
  const Cause cause = status.error().cause();
  if (cause != Cause::kOutOfMemory && cause != Cause::kQuota) return status;
  graph = std::move(before);
  return {};
}

}  // namespace

Status OptimizeGraph(Graph& graph, const CompileOptions& options) {
  if (options.constant_folding && options.evaluator != nullptr) {
    TRY(FoldConstants(graph, *options.evaluator));
  }
  // What to fuse, and which kernels, is seen once sizes are known.
  if (IsDynamic(graph)) return {};
  if (options.fusion) Fuse(graph, options.fusions);
  if (!options.constant_folding || options.evaluator == nullptr) return {};
  if (graph.constants.empty()) return {};
  TRY(UntileConstants(graph, options.evaluator));
  TRY(PackConstants(PackBlockScales, *options.evaluator, graph));
  TRY(PackConstants(PackRecurrentWeights, *options.evaluator, graph));
  return PackConstants(PackFilters, *options.evaluator, graph);
}

Result<CompiledGraph> PlanGraphAt(const Graph& graph, const webidl::Assignment& sizes,
                                  const CompileOptions& options, const PlanOptions& plan_options) {
  ASSIGN_OR_RETURN(Graph at, GraphAt(graph, sizes, options.room));
  const size_t value_count = at.values.size();
  if (options.fusion) Fuse(at, options.fusions);
  for (size_t value = value_count; value < at.values.size(); ++value) {
    at.values[value].reserved_bytes = RoundUpToStep(at.values[value].descriptor.byte_length());
  }
  return PlanGraph(std::move(at), plan_options);
}

Result<CompiledGraph> PlanGraph(Graph graph, const PlanOptions& options) {
  TRY(UntileConstants(graph, nullptr));
  TraceScope lowering("lower");
  LoweringBuilder lowered(graph);
  StridedEndpoints endpoints(graph, options, lowered);
  TRY(endpoints.LowerInputs());
  for (const Node& node : graph.nodes) {
    if (endpoints.IsAppend(node)) {
      TRY(endpoints.LowerAppend(node));
      continue;
    }
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
  TRY(endpoints.LowerOutputs());
  lowering.Add("kernels", lowered.calls().size());
  lowering.End();
  TraceScope planning("plan");
  ASSIGN_OR_RETURN(CompiledGraph compiled, PlanMemory(graph, std::move(lowered), options));
  // Through either of the two a plan refers to all of it.
  for (const TensorAlias& alias : options.aliases) {
    uint64_t& input = compiled.plan.input_bytes[alias.input];
    uint64_t& output = compiled.plan.output_bytes[alias.output];
    input = output = std::max(input, output);
  }
  if (TraceOn()) planning.Add("bytes", BytesTouched(compiled.plan));
  return compiled;
}

Result<CompiledGraph> CompileGraph(Graph graph, const CompileOptions& options,
                                   const PlanOptions& plan_options) {
  TRY(OptimizeGraph(graph, options));
  return PlanGraph(std::move(graph), plan_options);
}

}  // namespace webnnd::service
