// RegionCopy: one kernel call that moves elements between tensors of different strides. What all
// operators that only rearrange lower to.
#ifndef WEBNND_SERVICE_PASSES_REGION_COPY_H_
#define WEBNND_SERVICE_PASSES_REGION_COPY_H_

#include <cstdint>
#include <vector>

#include "service/passes/kernel_parameters.h"
#include "service/passes/lowering.h"

namespace webnnd::service {

// All counts, offsets and strides are in elements of the result's data type.
struct RegionCopy {
  ValueId source = kNoValue;
  ValueId result = kNoValue;
  // The region in the order in which it is written; strides[0] walk the source.
  std::vector<StridedDimension> dimensions;
  uint32_t source_offset = 0;
  // The region lies in the result as runs of `run_length` elements, `run_stride` apart, the first
  // at `result_offset`. A run_length of 0 means one run of all elements.
  uint32_t result_offset = 0;
  uint32_t run_length = 0;
  uint32_t run_stride = 0;
};

// Adds the call, word by word where the element type and all positions allow it; or an alias where
// the copy would change nothing.
void AddRegionCopy(RegionCopy copy, LoweringBuilder& builder);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_REGION_COPY_H_
