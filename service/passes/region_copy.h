// RegionCopy: one kernel call that moves elements between tensors of different strides. What all
// operators that only rearrange lower to.
#ifndef WEBNND_SERVICE_PASSES_REGION_COPY_H_
#define WEBNND_SERVICE_PASSES_REGION_COPY_H_

#include "service/passes/lowering.h"
#include "service/passes/region.h"

namespace webnnd::service {

// Adds the call, word by word where the element type and all positions allow it; or an alias where
// the copy would change nothing.
void AddRegionCopy(RegionCopy copy, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_REGION_COPY_H_
