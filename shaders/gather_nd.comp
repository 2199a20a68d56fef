// Slices of slot 1 taken at the coordinates that the rows of slot 2 hold -> slot 3.
//
// Parameters: 0 elements of the result; 1 coordinates per row; 4..6 elements of a slice as divisor;
// from 8 {size, stride} per coordinate. Specialisation constants: 1 element type (uint32 where whole
// words move), 2 data type of the indices.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;

READ_SLOT(1)
READ_SLOT(2)
WRITE_SLOT(3)

uvec2 ComputeElement(uint e) {
  uvec3 slice = P4(1).xyz;
  uint coordinates = P(1);
  uint row = Divide(e, slice);
  uint source = e - row * slice.x;
  for (uint d = 0u; d < coordinates; ++d) {
    uint size = P(8u + 2u * d);
    source += LOAD_INDEX(2, kIndexType, row * coordinates + d, size) * P(9u + 2u * d);
  }
  return LOAD_RAW(1, kType, source);
}

void main() { STORE_ELEMENTS(3, kType, P(0), ComputeElement); }
