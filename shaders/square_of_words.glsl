// A square of words of a subgroup: as many rows as it has invocations, a word of each in every one.
#ifndef WEBNND_SHADERS_SQUARE_OF_WORDS_GLSL_
#define WEBNND_SHADERS_SQUARE_OF_WORDS_GLSL_

#include "subgroup.glsl"

const uint kSquareMax = 16u;  // Rows of a larger one would find no registers.

// Of row k and of invocation i, the bit `d` changes places: between row k and row k + d, what invocations of
// the latter half have of the one, and those of the former half of the other. An instruction and three
// choices where `d` is a constant.
#define EXCHANGE_BIT(rows, d)                                                  \
  [[unroll]] for (uint k = 0u; k < kSquareMax; ++k) {                          \
    if ((k & d) == 0u && k + d < kSubgroupSize) {                              \
      const bool is_latter = (gl_SubgroupInvocationID & d) != 0u;              \
      const uint leaves = is_latter ? rows[k] : rows[k + d];                   \
      const uint comes = subgroupShuffle(leaves, gl_SubgroupInvocationID ^ d); \
      rows[k] = is_latter ? comes : rows[k];                                   \
      rows[k + d] = is_latter ? rows[k + d] : comes;                           \
    }                                                                          \
  }

// Invocation i has word i of each row, and then word k of row i as that of row k.
void TransposeRows(inout uint rows[kSquareMax]) {
  EXCHANGE_BIT(rows, 8u)
  EXCHANGE_BIT(rows, 4u)
  EXCHANGE_BIT(rows, 2u)
  EXCHANGE_BIT(rows, 1u)
}

#endif  // WEBNND_SHADERS_SQUARE_OF_WORDS_GLSL_
