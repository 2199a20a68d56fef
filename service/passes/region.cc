#include "service/passes/region.h"

namespace webnnd::service {

uint64_t ElementCount(const RegionCopy& copy) {
  uint64_t count = 1;
  for (const StridedDimension& dimension : copy.dimensions) count *= dimension.size;
  return count;
}

bool HasQuads(const RegionCopy& copy, uint32_t per_quad) {
  if (copy.result_offset % per_quad != 0) return false;
  return copy.run_stride == 0 ||
         (copy.run_length % per_quad == 0 && copy.run_stride % per_quad == 0);
}

DimensionsAround SplitOff(const RegionCopy& copy, size_t first, size_t second) {
  DimensionsAround around;
  uint32_t stride = 1;
  for (size_t d = copy.dimensions.size(); d-- > 0;) {
    const StridedDimension& dimension = copy.dimensions[d];
    if (d == first) {
      around.result_step = stride;
    } else if (d != second) {
      around.outer.insert(around.outer.begin(), {dimension.size, {dimension.strides[0], stride}});
    }
    stride *= dimension.size;
  }
  around.outer = Coalesce(around.outer);
  return around;
}

}  // namespace webnnd::service
