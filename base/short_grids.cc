#include "base/short_grids.h"

namespace webnnd {

bool ShortGrids::Has(size_t kernel, uint32_t count) const {
  const uint64_t largest = largest_[kernel].load(std::memory_order_relaxed);
  return largest >> 32 == time_.load(std::memory_order_relaxed) &&
         count <= static_cast<uint32_t>(largest);
}

void ShortGrids::Learn(size_t kernel, uint32_t count, int64_t ns) {
  if (ns < kShortNs && !Has(kernel, count)) {
    largest_[kernel] = uint64_t{time_.load()} << 32 | count;
  }
  if (++grids_ < kGridsRemembered) return;
  grids_ = 0;
  ++time_;
}

}  // namespace webnnd
