// The weights of a channel, TAPS by TAPS.
#ifndef WEBNND_SHADERS_DEPTHWISE_WEIGHTS_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_WEIGHTS_GLSL_

#include "depthwise.glsl"

struct Weights {
  float of[TAPS][TAPS];
};

// If the weights lie together: no four that holds one is beyond the filter.
Weights LoadFilter(uint at) {
  const uint kTaps = TAPS * TAPS;
  float taps[kTaps];
#define FOUR_OF_FILTER(q) LoadFours2(kType, (at >> 2) + (q))
  LOAD_RUN(taps, kTaps, kTaps, at, FOUR_OF_FILTER)
#undef FOUR_OF_FILTER
  Weights weights;
  [[unroll]] for (uint i = 0u; i < kTaps; ++i) weights.of[i / TAPS][i % TAPS] = taps[i];
  return weights;
}

Weights LoadWeights(uint channel) {
  if (kFilterByFour != 0u) return LoadFilter(channel * TAPS * TAPS);
  uvec3 strides = P4(5).xyz;
  Weights weights;
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      weights.of[y][x] = LOAD(2, kType, channel * strides.x + y * strides.y + x * strides.z);
    }
  }
  return weights;
}

#endif  // WEBNND_SHADERS_DEPTHWISE_WEIGHTS_GLSL_
