// Four neighbouring elements of a float tensor at once: one load of 128 bits, or of 64 for float16.
#ifndef WEBNND_SHADERS_FOURS_GLSL_
#define WEBNND_SHADERS_FOURS_GLSL_

#include "tensor.glsl"

// LoadFours<slot>(type, i): elements 4 * i to 4 * i + 3 of a slot declared by READ_SLOT_WIDE.
#define DECLARE_LOAD_FOURS(slot)                                           \
  vec4 LoadFours##slot(uint type, uint i) {                                \
    if (type == kFloat16) {                                                \
      uvec2 pair = LOAD_PAIR(slot, i);                                     \
      return vec4(unpackHalf2x16(pair.x), unpackHalf2x16(pair.y));         \
    }                                                                      \
    return uintBitsToFloat(LOAD_QUAD(slot, i));                            \
  }

// Four float16 as two words.
uvec2 PackHalves(vec4 x) {
  return uvec2(FloatToHalf(x.x) | (FloatToHalf(x.y) << 16),
               FloatToHalf(x.z) | (FloatToHalf(x.w) << 16));
}

#define STORE_FOURS(slot, type, i, x)                                      \
  {                                                                        \
    if ((type) == kFloat16) {                                              \
      slot_pairs_##slot.pairs[i] = packUint2x32(PackHalves(x));            \
    } else {                                                               \
      STORE_QUAD(slot, i, floatBitsToUint(x))                              \
    }                                                                      \
  }

float SumOfFour(vec4 x) { return (x.x + x.y) + (x.z + x.w); }
float MaxOfFour(vec4 x) { return max(max(x.x, x.y), max(x.z, x.w)); }

// BODY(i) for i = first, first + step, ... below `end`: kFoursAtOnce of them an iteration, without
// the masks that LONG_LOOP needs, then the rest.
const uint kFoursAtOnce = 4u;
#define FOURS_LOOP(first, end, step, BODY)                                                        \
  {                                                                                               \
    uint i_ = (first);                                                                            \
    for (; i_ + (kFoursAtOnce - 1u) * (step) < (end); i_ += kFoursAtOnce * (step)) {              \
      [[unroll]] for (uint turn_ = 0u; turn_ < kFoursAtOnce; ++turn_) BODY(i_ + turn_ * (step))   \
    }                                                                                             \
    for (; i_ < (end); i_ += (step)) BODY(i_)                                                     \
  }

#endif  // WEBNND_SHADERS_FOURS_GLSL_
