// UntileConstants: what lies by tiles of rows, in its own order again.
#ifndef WEBNND_SERVICE_PASSES_UNTILE_CONSTANTS_H_
#define WEBNND_SERVICE_PASSES_UNTILE_CONSTANTS_H_

#include "service/passes/compile.h"

namespace webnnd::service {

// Of a graph as fusion leaves it: constants by tiles (service/graph/row_tiles.h) that anything but
// products by block and look-ups of rows reads are put in their order, for all who read them so:
// once, where there is an `evaluator`, else in each run.
Status UntileConstants(Graph& graph, ConstantEvaluator* evaluator);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_UNTILE_CONSTANTS_H_
