// slot 1 taken at the indices of slot 2 along one axis -> slot 3.
// The result is [outer, indices, inner] and the operand [outer, axis, inner].
//
// Parameters: 0 elements of the result; 1 size of the axis; 2 number of indices; 4..6 inner and 8..10
// number of indices as divisors. Specialisation constants: 1 element type (uint32 where whole words
// move), 2 data type of the indices.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;

READ_SLOT(1)
READ_SLOT(2)
WRITE_SLOT(3)

uvec2 ComputeElement(uint e) {
  uvec3 inner = P4(1).xyz;
  uvec3 indices = P4(2).xyz;
  uint axis = P(1);
  uint row = Divide(e, inner);
  uint outer = Divide(row, indices);
  uint index = LOAD_INDEX(2, kIndexType, row - outer * indices.x, axis);
  return LOAD_RAW(1, kType, (outer * axis + index) * inner.x + (e - row * inner.x));
}

void main() { STORE_ELEMENTS(3, kType, P(0), ComputeElement); }
