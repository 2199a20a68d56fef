// GraphAt: what a graph with dynamic dimensions is when their sizes are known.
#ifndef WEBNND_SERVICE_PASSES_GRAPH_AT_H_
#define WEBNND_SERVICE_PASSES_GRAPH_AT_H_

#include "base/result.h"
#include "service/graph/graph.h"
#include "webidl/linear_expression.h"

namespace webnnd::service {

bool IsDynamic(const Graph& graph);

// The least step that is no less: 1 to 8, 10, 12, 14, 16, 20, ...
uint64_t RoundUpToStep(uint64_t size);

// `graph` has no macro operators; `sizes` are within their bounds. Infers every operator again
// whose operands or results depend on a size: what comes out is as valid as any static graph. An
// operator all of whose results are empty is left out, and concat and scatter do without operands
// that are empty; NotSupported where another operator makes something of nothing.
//
// Memory is planned with some room to grow in: for all sizes between two steps, four to each
// doubling, kernel calls differ in their parameters alone, wherever lowering chooses the same ones.
Result<Graph> GraphAt(const Graph& graph, const webidl::Assignment& sizes);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_GRAPH_AT_H_
