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

#endif  // WEBNND_SHADERS_FOURS_GLSL_
