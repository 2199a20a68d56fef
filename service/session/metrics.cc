#include "service/session/metrics.h"

#include <algorithm>
#include <cmath>

namespace webnnd::service {

size_t LatencyHistogram::ClassOf(uint64_t microseconds) {
  const uint64_t value = std::min(microseconds, kMicrosecondsMax);
  if (value < 4) return value;
  const auto octave = static_cast<size_t>(std::bit_width(value)) - 3;
  return 4 * octave + (value >> octave);
}

uint64_t LatencyHistogram::MiddleOf(size_t index) {
  if (index < 4) return index;
  const size_t octave = index / 4 - 1;
  const uint64_t width = uint64_t{1} << octave;
  return (4 + index % 4) * width + width / 2;
}

uint64_t LatencyHistogram::Quantile(double share) const {
  uint64_t total = 0;
  for (const auto& count : counts_) total += count.load(std::memory_order_relaxed);
  if (total == 0) return 0;
  const auto wanted =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(share * static_cast<double>(total))));
  uint64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i].load(std::memory_order_relaxed);
    if (below >= wanted) return MiddleOf(i);
  }
  return kMicrosecondsMax;
}

}  // namespace webnnd::service
