// GraphAt: what a graph with dynamic dimensions is when their sizes are known.
#ifndef WEBNND_SERVICE_PASSES_GRAPH_AT_H_
#define WEBNND_SERVICE_PASSES_GRAPH_AT_H_

#include <cstdint>

#include "base/result.h"
#include "service/graph/graph.h"
#include "webidl/linear_expression.h"

namespace webnnd::service {

bool IsDynamic(const Graph& graph);

// The least step that is no less: 1 to 8, 10, 12, 14, 16, 20, ...
uint64_t RoundUpToStep(uint64_t size);

// The sizes that memory is planned for, so that kernel calls for other sizes up to these differ in
// their parameters alone, wherever lowering chooses the same ones.
enum class Room : uint8_t {
  kAll,    // The largest; of a dimension that is 0 or 1, where graphs are often others, that.
  kSteps,  // The next step, of four to each doubling.
};

// `graph` has no macro operators; `sizes` are within their bounds. Infers every operator again
// whose operands or results depend on a size: what comes out is as valid as any static graph. An
// operator all of whose results are empty is left out, and concat and scatter do without operands
// that are empty; NotSupported where another operator makes something of nothing.
Result<Graph> GraphAt(const Graph& graph, const webidl::Assignment& sizes, Room room = Room::kAll);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_GRAPH_AT_H_
