// copy_elements.comp on llvmpipe for regions whose innermost dimensions are small or whose rank is high, as those
// of pixels that are shuffled by more than four are (interleave.comp), where they are few in a row or come back from
// channels: a workgroup, which is one subgroup, takes rows of the result that consist of up to three dimensions, so
// that only places within a row are found for each element, and all others for each row. Elements have 8, 16 or 32
// bits; rows begin and end on words.
//
// Parameters: 0 rows; 1 rank of the dimensions around them; 2 first element of the source; 3 first word of the
// result; in uvec4 1 and 2 {innermost dimension and the next one, as divisors}, in 1.w words of a row; in uvec4
// 3 strides in the source of the innermost one, of the next and of that around it; from 4 on dimensions
// (strided.glsl, stride .x of the source). Specialisation constants: 1 log2 of the bits of an element, 2 rank.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroup.glsl"

layout(constant_id = 1) const uint kLog2Bits = 5u;
layout(constant_id = 2) const uint kRank = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kElementType = kLog2Bits == 4u ? kFloat16 : kUint8;

struct Row {
  uvec4 innermost;
  uvec4 next;
  uvec4 strides;
};

// From the first element of a row to element `e`.
uint OffsetInRow(Row row, uint e) {
  const uint next = Divide(e, row.innermost.xyz);
  const uint outer = Divide(next, row.next.xyz);
  return (e - next * row.innermost.x) * row.strides.x + (next - outer * row.next.x) * row.strides.y +
         outer * row.strides.z;
}

// Word `i` of the row that begins at element `first`.
uint LoadWordOfRow(Row row, uint first, uint i) {
  if (kLog2Bits == 5u) return LOAD_WORD(1, first + OffsetInRow(row, i));
  const uint per_word = 32u >> kLog2Bits;
  uint word = 0u;
  [[unroll]] for (uint k = 0u; k < per_word; ++k) {
    const uint element = LOAD_RAW(1, kElementType, first + OffsetInRow(row, i * per_word + k)).x;
    word = bitfieldInsert(word, element, int(k << kLog2Bits), 1 << kLog2Bits);
  }
  return word;
}

void main() {
  const Row row = Row(P4(1), P4(2), P4(3));
  const uint words = UNIFORM(P4(1).w);
  const uint result = UNIFORM(P(3));
  WORKGROUP_STRIDE_LOOP(index, P(0)) {
    const uint first = UNIFORM(P(2) + StridedOffsets(index, 4u, P(1)).x);
#define WORD_OF_ROW(i, from, k) LoadWordOfRow(row, first, (i) + PlaceInStretch(k))
    STRETCHES_LOOP(2, result + index * words, 0u, words, WORD_OF_ROW)
  }
}
