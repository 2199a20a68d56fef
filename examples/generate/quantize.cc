#include "examples/generate/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace webnnd::generate {
namespace {

constexpr float kCodeMax = 15;

uint8_t RoundToCode(float value) {
  return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0f, kCodeMax));
}

}  // namespace

void QuantizeBlocks(std::span<const float> weights, QuantizedWeights& out) {
  CHECK(weights.size() % kQuantizedBlock == 0);
  for (size_t first = 0; first < weights.size(); first += kQuantizedBlock) {
    std::span<const float> block = weights.subspan(first, kQuantizedBlock);
    float low = 0, high = 0;
    for (float weight : block) {
      low = std::min(low, weight);
      high = std::max(high, weight);
    }
    // A block of zeros has no range; any scale will do.
    float scale = high > low ? (high - low) / kCodeMax : 1;
    uint8_t zero_point = RoundToCode(-low / scale);
    for (float weight : block) out.values.Append(RoundToCode(weight / scale + zero_point));
    out.scales.push_back(scale);
    out.zero_points.Append(zero_point);
  }
}

}  // namespace webnnd::generate
