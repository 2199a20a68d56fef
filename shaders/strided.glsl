// Linear index -> offset in a tensor with other strides, dimension by dimension.
//
// Dimensions lie in the parameters from uvec4 number `first`, outermost first, two per dimension:
// {size, multiplier, shift, 0} (see Divide) and one stride per tensor. Strides count elements and
// may be "negative": they wrap like all uint arithmetic.
#ifndef WEBNND_SHADERS_STRIDED_GLSL_
#define WEBNND_SHADERS_STRIDED_GLSL_

#include "tensor.glsl"

uvec4 StridedOffsets(uint index, uint first, uint rank) {
  uvec4 offsets = uvec4(0u);
  uint rest = index;
  for (uint d = rank - 1u; d > 0u; --d) {
    uvec4 size = P4(first + 2u * d);
    uint outer = Divide(rest, size.xyz);
    offsets += (rest - outer * size.x) * P4(first + 2u * d + 1u);
    rest = outer;
  }
  return offsets + rest * P4(first + 1u);
}

#endif  // WEBNND_SHADERS_STRIDED_GLSL_
