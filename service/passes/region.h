// Regions of tensors that are copied to where they lie in others, and what the kernels that do so
// ask of them (region_copy.h).
#ifndef WEBNND_SERVICE_PASSES_REGION_H_
#define WEBNND_SERVICE_PASSES_REGION_H_

#include <cstddef>
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

uint64_t ElementCount(const RegionCopy& copy);

// Whether the region lies in the result as whole quads of elements.
bool HasQuads(const RegionCopy& copy, uint32_t per_quad);

// The dimensions around two of a region, with their strides in the result, and that of the first.
struct DimensionsAround {
  std::vector<StridedDimension> outer;
  uint32_t result_step = 0;
};
DimensionsAround SplitOff(const RegionCopy& copy, size_t first, size_t second);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_REGION_H_
