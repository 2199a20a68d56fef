// How products of matrices load their operands.
#ifndef WEBNND_SHADERS_PRODUCT_LOADS_GLSL_
#define WEBNND_SHADERS_PRODUCT_LOADS_GLSL_

#include "tensor.glsl"

// Element by element, or four at once from a multiple of 4 on: along k, or along m (n, for b). Load
// of service/passes/matrix_product.h.
#define LOADS_ONE 0u
#define LOADS_FOUR_ALONG_K 1u
#define LOADS_FOUR_ACROSS 2u
#define LOADS_PANELS 3u  // Four across, in panels (pack_panels.comp).
#define LOADS_LINES 4u   // Four across, in the lines of an image (image_lines.comp).

// LoadFour<slot>(e): elements e to e + 3, for e a multiple of 4.
#define DECLARE_LOAD_FOUR(slot, type)                                       \
  vec4 LoadFour##slot(uint e) {                                             \
    if ((type) == kFloat16) {                                               \
      uvec2 pair = LOAD_PAIR(slot, e >> 2);                                 \
      return vec4(unpackHalf2x16(pair.x), unpackHalf2x16(pair.y));          \
    }                                                                       \
    return uintBitsToFloat(LOAD_QUAD(slot, e >> 2));                        \
  }

#endif  // WEBNND_SHADERS_PRODUCT_LOADS_GLSL_
