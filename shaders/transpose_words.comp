// transpose.comp on llvmpipe of words of which no quads are whole on both sides: slot 1 -> slot 2. A workgroup,
// which is one subgroup, takes squares of kSide words each way; the last ones begin early enough to be whole, so
// that some words are moved twice.
//
// Parameters: 0 squares; 1 rank of the dimensions around them; 2 rows of the source's matrices, which become columns;
// 3 columns, which follow each other there; 4 words from a row of the source to the next; 5 of the result; 6 first
// word of the source; 7 of the result; uvec4 2 {squares along the rows of the result, as divisor}; uvec4 3 {squares
// along its columns, as divisor}; from uvec4 4 dimensions (strided.glsl; stride .x of the source, .y of the
// result). Specialisation constant 1: rank.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "square_of_words.glsl"

layout(constant_id = 1) const uint kRank = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kSide = 16u;  // As in service/passes/region_copy.cc.

uvec2 PlacesOfSquare(uint square) {
  const uvec3 along = P4(2).xyz;
  const uvec3 down = P4(3).xyz;
  const uint line = Divide(square, along);
  const uint outer = Divide(line, down);
  const uint row = min((square - line * along.x) * kSide, P(2) - kSide);
  const uint column = min((line - outer * down.x) * kSide, P(3) - kSide);
  const uvec2 offsets = StridedOffsets(outer, 4u, P(1)).xy;
  return uvec2(P(6) + offsets.x + row * P(4) + column, P(7) + offsets.y + column * P(5) + row);
}

void TransposeSquare(uint from, uint to) {
  uint rows[kSquareMax];
  [[unroll]] for (uint k = 0u; k < kSubgroupSize; ++k) {
    rows[k] = LOAD_WORD(1, UNIFORM(from + k * P(4)) + gl_SubgroupInvocationID);
  }
  TransposeRows(rows);
  [[unroll]] for (uint k = 0u; k < kSubgroupSize; ++k) {
    STORE_WORD(2, UNIFORM(to + k * P(5)) + gl_SubgroupInvocationID, rows[k]);
  }
}

// Of a square, those that a subgroup of few lanes can take.
void TransposeSquares(uint from, uint to) {
  for (uint row = UNKNOWN_ZERO; row < kSide; row += kSubgroupSize) {
    for (uint column = UNKNOWN_ZERO; column < kSide; column += kSubgroupSize) {
      TransposeSquare(from + row * P(4) + column, to + column * P(5) + row);
    }
  }
}

void main() { PLACED_UNITS_LOOP(P(0), PlacesOfSquare, TransposeSquares) }
