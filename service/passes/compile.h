// CompileGraph: from a validated graph to a plan.
#ifndef WEBNND_SERVICE_PASSES_COMPILE_H_
#define WEBNND_SERVICE_PASSES_COMPILE_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "service/graph/graph.h"
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
  bool constant_folding = true;
  // Without one, nothing is folded.
  ConstantEvaluator* evaluator = nullptr;
  // Not 0: every intermediate has memory of its own with so many bytes behind it that no kernel may
  // touch. For tests, which look whether one did.
  uint64_t guard_bytes = 0;
};

struct CompiledGraph {
  Plan plan;
  // GraphConstant::buffer of each constant that the plan uses, in the plan's order.
  std::vector<uint32_t> constant_buffers;
};

// NotSupported when an operator has no kernel. The graph is consumed.
Result<CompiledGraph> CompileGraph(Graph graph, const CompileOptions& options);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_COMPILE_H_
