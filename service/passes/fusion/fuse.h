// Fuse: finds macro operators in a graph, so that one kernel computes what a framework decomposed.
#ifndef WEBNND_SERVICE_PASSES_FUSION_FUSE_H_
#define WEBNND_SERVICE_PASSES_FUSION_FUSE_H_

#include "service/graph/graph.h"
#include "service/passes/fusion/fusion_choice.h"

namespace webnnd::service {

// Replaces operators by the macro operators of `choice` and drops what nobody needs any more.
// Values that are outputs or used elsewhere keep their meaning. Nodes stay in an order in which
// operands come first.
void Fuse(Graph& graph, const FusionChoice& choice = {});

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_FUSE_H_
