// CompileGraph: from a validated graph to a plan.
#ifndef WEBNND_SERVICE_PASSES_COMPILE_H_
#define WEBNND_SERVICE_PASSES_COMPILE_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "service/graph/graph.h"
#include "service/passes/fusion/fusion_choice.h"
#include "service/passes/graph_at.h"
#include "service/plan/plan.h"

namespace webnnd::service {

// Runs a plan without inputs, once: what folding needs of the executor.
class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;
  // `constant_buffers` are GraphConstant::buffer values, in the plan's order. So is the answer, in
  // the order of the outputs.
  virtual Result<std::vector<uint32_t>> Evaluate(const Plan& plan,
                                                 const std::vector<uint32_t>& constant_buffers) = 0;
};

struct CompileOptions {
  bool fusion = true;
  FusionChoice fusions;
  bool constant_folding = true;
  Room room = Room::kAll;  // Where sizes are dynamic.
  // Without one, nothing is folded.
  ConstantEvaluator* evaluator = nullptr;
};

struct PlanOptions {
  // Each input and each output at most once; the two of an alias have the same byte length.
  std::vector<TensorAlias> aliases;
  // Shapes with whose strides the tensors of inputs and outputs lie, at least as large as theirs;
  // or all empty: as they are. Those of an alias are the same.
  std::vector<webidl::Shape> input_capacities;
  std::vector<webidl::Shape> output_capacities;
  // Not 0: every intermediate has memory of its own with so many bytes behind it that no kernel may
  // touch. For tests, which look whether one did.
  uint64_t guard_bytes = 0;
};

struct CompiledGraph {
  Plan plan;
  // GraphConstant::buffer of each constant that the plan uses, in the plan's order.
  std::vector<uint32_t> constant_buffers;
};

// Runs `compiled`, whose outputs become the buffers of these of the graph's constants.
Status EvaluateConstants(const CompiledGraph& compiled, const std::vector<size_t>& constants,
                         ConstantEvaluator& evaluator, Graph& graph);

// The part that no plan differs in: folds constants and fuses operators.
Status OptimizeGraph(Graph& graph, const CompileOptions& options);

// A graph with dynamic dimensions where they have these sizes (service/passes/graph_at.h); of the
// options only fusion and room count.
Result<CompiledGraph> PlanGraphAt(const Graph& graph, const webidl::Assignment& sizes,
                                  const CompileOptions& options, const PlanOptions& plan_options);

// NotSupported when an operator has no kernel. The graph is consumed.
Result<CompiledGraph> PlanGraph(Graph graph, const PlanOptions& options);

// One after the other.
Result<CompiledGraph> CompileGraph(Graph graph, const CompileOptions& options,
                                   const PlanOptions& plan_options = {});

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_COMPILE_H_
