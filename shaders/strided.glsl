// Linear index -> offset in a tensor with other strides, dimension by dimension.
//
// Dimensions lie in the parameters from uvec4 number `first`, outermost first, two per dimension:
// {size, multiplier, shift, 0} (see Divide) and one stride per tensor. Strides count elements and
// may be "negative": they wrap like all uint arithmetic.
//
// A module may define STRIDED_RANK as a specialisation constant (RankConstant of
// service/passes/kernel_parameters.h): how many dimensions there are, so that sizes and strides are
// uniform loads and one dimension needs no division. Where it is 0, `rank` counts.
#ifndef WEBNND_SHADERS_STRIDED_GLSL_
#define WEBNND_SHADERS_STRIDED_GLSL_

#include "tensor.glsl"

#ifndef STRIDED_RANK
#define STRIDED_RANK 0u
#endif

// `constant_rank` is as STRIDED_RANK.
uvec4 StridedOffsetsOfRank(uint index, uint first, uint constant_rank, uint rank) {
  uvec4 offsets = uvec4(0u);
  uint rest = index;
#define STRIDED_STEP(d)                                             \
  {                                                                 \
    uvec4 size = P4(first + 2u * (d));                              \
    uint outer = Divide(rest, size.xyz);                            \
    offsets += (rest - outer * size.x) * P4(first + 2u * (d) + 1u); \
    rest = outer;                                                   \
  }
  if (constant_rank == 0u) {
    for (uint d = rank - 1u; d > 0u; --d) STRIDED_STEP(d)
  } else {
    if (constant_rank > 3u) STRIDED_STEP(3u)
    if (constant_rank > 2u) STRIDED_STEP(2u)
    if (constant_rank > 1u) STRIDED_STEP(1u)
  }
#undef STRIDED_STEP
  return offsets + rest * P4(first + 1u);
}

uvec4 StridedOffsets(uint index, uint first, uint rank) {
  return StridedOffsetsOfRank(index, first, STRIDED_RANK, rank);
}

#endif  // WEBNND_SHADERS_STRIDED_GLSL_
