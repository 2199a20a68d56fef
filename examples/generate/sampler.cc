#include "examples/generate/sampler.h"

#include <cmath>
#include <vector>

#include "base/check.h"

namespace webnnd::generate {

Result<int32_t> Sampler::Next(std::span<const float> logits) {
  CHECK(!logits.empty());
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return InternalError("the logit of token ({}) is not a number", i);
    if (logits[i] > logits[best]) best = i;
  }
  if (!std::isfinite(logits[best])) {
    return InternalError("the largest logit ({}) is not finite", logits[best]);
  }
  if (temperature_ == 0) return static_cast<int32_t>(best);

  std::vector<double> cumulative(logits.size());
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    // Relative to the largest, so that nothing overflows.
    total += std::exp((static_cast<double>(logits[i]) - logits[best]) / temperature_);
    cumulative[i] = total;
  }
  double target = NextUniform() * total;
  for (size_t i = 0; i < cumulative.size(); ++i) {
    if (target < cumulative[i]) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(best);  // Rounding brought the target up to the total.
}

// splitmix64: small, and the same everywhere, which the standard distributions are not.
double Sampler::NextUniform() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return static_cast<double>(mixed >> 11) * 0x1p-53;
}

}  // namespace webnnd::generate
