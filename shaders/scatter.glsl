// Writing single elements of a result: neighbours that share a word may be written at the same time.
#ifndef WEBNND_SHADERS_SCATTER_GLSL_
#define WEBNND_SHADERS_SCATTER_GLSL_

#include "tensor.glsl"

// Element `to` of a result becomes what LOAD_RAW gave as `raw`.
#define STORE_ELEMENT(slot, type, to, raw)                                       \
  {                                                                              \
    const uint log2_bits_ = BitsLog2(type);                                      \
    if (log2_bits_ == 6u) {                                                      \
      STORE_WORD(slot, 2u * (to), (raw).x);                                      \
      STORE_WORD(slot, 2u * (to) + 1u, (raw).y);                                 \
    } else if (log2_bits_ == 5u) {                                               \
      STORE_WORD(slot, to, (raw).x);                                             \
    } else {                                                                     \
      const int bit_ = int(((to) << log2_bits_) & 31u);                          \
      const uint mask_ = bitfieldInsert(0u, 0xffffffffu, bit_, 1 << log2_bits_); \
      MERGE_WORD(slot, (to) >> (5u - log2_bits_), mask_, (raw).x << bit_);       \
    }                                                                            \
  }

#endif  // WEBNND_SHADERS_SCATTER_GLSL_
