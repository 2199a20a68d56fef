// copy_elements.comp on llvmpipe of rows that are a piece of the source from its end on: slot 1 -> slot 2. A
// workgroup, which is one subgroup, takes some elements of a row as vectors, whose lanes change places.
//
// Parameters: 0 parts of rows; 1 rank of the dimensions around rows; 2 first element of the source, and 3 of the
// result; 4 elements of a part, of which a vector has no more; 5 where the last part begins, which shares elements
// with the one before it; in uvec4 2 {parts of a row, as divisor}; from uvec4 3 on dimensions (strided.glsl; stride
// .x of the source, .y of the result). Specialisation constants: 1 log2 of the bits of an element, from 3 to 6, 2
// rank.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "vectors_of_elements.glsl"

layout(constant_id = 2) const uint kRank = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kVectorsOfTurn = 4u;

// The last element of the source that a part has, and its first one of the result.
uvec2 PlacesOfPart(uint part) {
  const uvec3 parts = P4(2).xyz;
  const uint row = Divide(part, parts);
  const uint first = min((part - row * parts.x) * P(4), P(5));
  const uvec2 offsets = StridedOffsets(row, 3u, P(1)).xy;
  return uvec2(P(2) + offsets.x - first, P(3) + offsets.y + first);
}

// A vector of elements whose last one is `last`.
uint LoadBackwards(uint last) {
  const uint items = LOAD_VECTOR(1, last - (kElementsOfVector - 1u));
  return subgroupShuffle(items, LaneOfItem(kElementsOfVector - 1u - ElementOfLane()));
}

void CopyPart(uint from, uint to) {
  const uint length = UNIFORM(P(4));
  uint i = UNKNOWN_ZERO;
  for (; i + kVectorsOfTurn * kElementsOfVector <= length; i += kVectorsOfTurn * kElementsOfVector) {
    uint items[kVectorsOfTurn];
    [[unroll]] for (uint k = 0u; k < kVectorsOfTurn; ++k) items[k] = LoadBackwards(from - i - k * kElementsOfVector);
    [[unroll]] for (uint k = 0u; k < kVectorsOfTurn; ++k) STORE_VECTOR(2, to + i + k * kElementsOfVector, items[k])
  }
  for (; i < length; i += kElementsOfVector) {
    const uint first = min(i, length - kElementsOfVector);
    STORE_VECTOR(2, to + first, LoadBackwards(from - first))
  }
}

void main() { PLACED_UNITS_LOOP(P(0), PlacesOfPart, CopyPart) }
