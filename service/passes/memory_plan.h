// PlanMemory: gives every value of the lowered calls a place, and every call its barriers.
#ifndef WEBNND_SERVICE_PASSES_MEMORY_PLAN_H_
#define WEBNND_SERVICE_PASSES_MEMORY_PLAN_H_

#include "service/passes/compile.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// Aliases share memory; an output is written in place where it can be, else copied at the end. So
// is an update: where the old bytes are still needed, it gets a copy of them. Where an output's
// tensor is that of an input, all that reads the input reads what it was before the dispatch.
// Intermediates live in one arena, and two share bytes when they are not alive at the same time, or
// never, with `guard_bytes` behind each, where that is not 0.
Result<CompiledGraph> PlanMemory(const Graph& graph, LoweringBuilder lowered,
                                 const PlanOptions& options = {});

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_MEMORY_PLAN_H_
