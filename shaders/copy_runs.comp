// copy_elements.comp on llvmpipe for regions of rows that are one piece of the source, or one element of it, and
// lie anywhere: a workgroup, which is one subgroup, takes some rows. Elements have 8, 16 or 32 bits.
//
// Parameters: 0 rows; 1 rank of the dimensions around them; 2 first element of the source, and 3 of the result; 4
// elements of a row; 5 elements from a row of the result to the next; from uvec4 2 on dimensions (strided.glsl,
// stride .x of the source). Specialisation constants: 1 data type, 2 rank, 3 whether a row is one element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "row_copy.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kRank = 0u;
layout(constant_id = 3) const uint kIsOne = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)
DECLARE_COPY_ROW(2, 1, kType)

// First elements in the source and in the result.
uvec2 PlacesOfRow(uint row) {
  return uvec2(P(2) + StridedOffsets(row, 2u, P(1)).x, P(3) + row * P(5));
}

// An element in all places of a word.
uint RepeatElement(uint element) {
  uint bits = LOAD_RAW(1, kType, element).x;
  if (BitsLog2(kType) == 3u) bits |= bits << 8;
  return BitsLog2(kType) == 5u ? bits : bits | bits << 16;
}

#define SAME_WORD(i, from, k) same
#define SAME_RAW(i) uvec2(same, 0u)
void RepeatRow(uint source, uint result) {
  const uint same = RepeatElement(source);
  STORE_ROW(2, kType, result, P(4), 0u, SAME_WORD, SAME_RAW)
}

void CopyRowOf(uint source, uint result) { CopyRow(result, source, P(4)); }

void main() {
  if (kIsOne != 0u) {
    PLACED_UNITS_LOOP(P(0), PlacesOfRow, RepeatRow)
  } else {
    PLACED_UNITS_LOOP(P(0), PlacesOfRow, CopyRowOf)
  }
}
