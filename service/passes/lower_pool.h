// Pooling. LowerFunction of service/passes/lowering.h.
#ifndef WEBNND_SERVICE_PASSES_LOWER_POOL_H_
#define WEBNND_SERVICE_PASSES_LOWER_POOL_H_

#include "service/passes/lowering.h"

namespace webnnd::service {

// averagePool2d, l2Pool2d and maxPool2d. The padding has no part in averages and maxima; NaN comes
// through maxPool2d.
Status LowerPool2d(const Node& node, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_LOWER_POOL_H_
