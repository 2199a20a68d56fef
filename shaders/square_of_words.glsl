// A square of words of a subgroup: as many rows as it has invocations, a word of each in every one.
#ifndef WEBNND_SHADERS_SQUARE_OF_WORDS_GLSL_
#define WEBNND_SHADERS_SQUARE_OF_WORDS_GLSL_

#include "subgroup.glsl"

const uint kSquareMax = 16u;  // Rows of a larger one would find no registers.

// Of row k the bit `d`, and of invocation i the bit `of_invocation`, change places: between row k and row k + d, what
// invocations that have theirs have of the one, and those that have not of the other. An instruction and three
// choices where these are constants.
#define EXCHANGE_BITS(rows, count, d, of_invocation)                                       \
  [[unroll]] for (uint k = 0u; k < kSquareMax; ++k) {                                      \
    if ((k & d) == 0u && k + d < (count)) {                                                \
      const bool is_latter = (gl_SubgroupInvocationID & of_invocation) != 0u;              \
      const uint leaves = is_latter ? rows[k] : rows[k + d];                               \
      const uint comes = subgroupShuffle(leaves, gl_SubgroupInvocationID ^ of_invocation); \
      rows[k] = is_latter ? comes : rows[k];                                               \
      rows[k + d] = is_latter ? rows[k + d] : comes;                                       \
    }                                                                                      \
  }

// Invocation i has word i of each row, and then word k of row i as that of row k.
void TransposeRows(inout uint rows[kSquareMax]) {
  EXCHANGE_BITS(rows, kSubgroupSize, 8u, 8u)
  EXCHANGE_BITS(rows, kSubgroupSize, 4u, 4u)
  EXCHANGE_BITS(rows, kSubgroupSize, 2u, 2u)
  EXCHANGE_BITS(rows, kSubgroupSize, 1u, 1u)
}

// The same of pairs of words, of half as many rows.
void TransposeRowsOfPairs(inout uint rows[kSquareMax]) {
  EXCHANGE_BITS(rows, kSubgroupSize / 2u, 4u, 8u)
  EXCHANGE_BITS(rows, kSubgroupSize / 2u, 2u, 4u)
  EXCHANGE_BITS(rows, kSubgroupSize / 2u, 1u, 2u)
}

#endif  // WEBNND_SHADERS_SQUARE_OF_WORDS_GLSL_
