// slot 1 taken element by element at the indices of slot 2 along one axis -> slot 3, which has the
// shape of slot 2.
//
// Parameters: 0 elements; 1 rank; 2 size of the axis; 3 its stride in slot 1; from 4 dimensions of
// the result (strided.glsl, stride .x of slot 1, 0 for the axis). Specialisation constants: 1 element
// type, 2 data type of the indices, 3 rank, 4 whether quads lie in rows (strided.glsl), 5 whether
// indices are as wide as elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kInRows = 0u;
layout(constant_id = 5) const uint kWideIndices = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)

struct Operands {
  QuadOffsets places;
  uvec4 indices;
};

Operands Prepare(uint first) {
  uvec4 indices = kWideIndices != 0u ? LOAD_QUAD(2, first >> Log2PerQuad(kType)) : uvec4(0u);
  return Operands(OffsetsOfQuad(first, 1u, P(1)), indices);
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  uvec2 raw = kWideIndices != 0u ? ElementOfQuad(operands.indices, kIndexType, k)
                                 : LOAD_RAW(2, kIndexType, e);
  uint index = ClampIndex(raw, kIndexType, P(2));
  uint offset = OffsetsInQuad(operands.places, e, kInRows != 0u, 1u, P(1)).x;
  return LOAD_RAW(1, kType, offset + index * P(3));
}

void main() { STORE_QUADS(3, kType, P(0), Operands, Prepare, ComputeElement); }
