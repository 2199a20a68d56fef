// slot 1 taken element by element at the indices of slot 2 along one axis -> slot 3, which has the
// shape of slot 2.
//
// Parameters: 0 elements; 1 rank; 2 size of the axis; 3 its stride in slot 1; from 4 dimensions of
// the result (strided.glsl, stride .x of slot 1, 0 for the axis). Specialisation constants: 1 element
// type, 2 data type of the indices, 3 rank.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;
layout(constant_id = 3) const uint kRank = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT(2)
WRITE_SLOT(3)

uvec2 ComputeElement(uint e) {
  uint index = LOAD_INDEX(2, kIndexType, e, P(2));
  return LOAD_RAW(1, kType, StridedOffsets(e, 1u, P(1)).x + index * P(3));
}

void main() { STORE_ELEMENTS(3, kType, P(0), ComputeElement); }
