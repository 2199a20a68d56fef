// FoldConstants: computes once, at build, what depends on constants alone.
#ifndef WEBNND_SERVICE_PASSES_FOLD_CONSTANTS_H_
#define WEBNND_SERVICE_PASSES_FOLD_CONSTANTS_H_

#include "service/passes/compile.h"

namespace webnnd::service {

// An operator whose operands are all constants becomes a constant, computed by the same kernels,
// where that is no larger than what it replaces; all of them in one run. What only folded operators
// use is not kept. Never dequantizeLinear: weights stay packed.
// reshape and identity of a constant share its bytes.
Status FoldConstants(Graph& graph, ConstantEvaluator& evaluator);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FOLD_CONSTANTS_H_
