// FuseElementwise: chains and small trees of element-wise operators become one kernel each.
#ifndef WEBNND_SERVICE_PASSES_FUSION_ELEMENTWISE_CHAIN_H_
#define WEBNND_SERVICE_PASSES_FUSION_ELEMENTWISE_CHAIN_H_

#include "service/graph/graph.h"

namespace webnnd::service {

// Puts an ElementwiseChain (service/graph/macro.h) in the place of each operator that takes in
// others. For after all patterns, which look for the operators themselves.
void FuseElementwise(Graph& graph);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_ELEMENTWISE_CHAIN_H_
