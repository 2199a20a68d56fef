// Slices of slot 1 taken at the coordinates that the rows of slot 2 hold -> slot 3.
//
// Parameters: 0 elements of the result; 1 coordinates per row; 4..6 elements of a slice as divisor;
// from 8 {size, stride} per coordinate. Specialisation constants: 1 element type (uint32 where whole
// words move), 2 data type of the indices, 3 whether elements are quads of words instead, 4
// coordinates per row, where they are few (else 0), 5 whether workgroups take whole slices, which are
// quads, or on llvmpipe lie anywhere.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fours.glsl"
#include "index.glsl"
#include "row_copy.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;
layout(constant_id = 3) const uint kQuads = 0u;
layout(constant_id = 4) const uint kCoordinates = 0u;
layout(constant_id = 5) const uint kBySlices = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
WRITE_SLOT(3)
DECLARE_COPY_ROW(3, 1, kType)

uint SourceOf(uint e) {
  uvec3 slice = P4(1).xyz;
  const uint coordinates = kCoordinates != 0u ? kCoordinates : P(1);
  uint row = Divide(e, slice);
  uint source = e - row * slice.x;
  for (uint d = 0u; d < coordinates; ++d) {
    uint size = P(8u + 2u * d);
    source += LOAD_INDEX(2, kIndexType, row * coordinates + d, size) * P(9u + 2u * d);
  }
  return source;
}

uvec2 ComputeElement(uint nothing, uint e, uint k) { return LOAD_RAW(1, kType, SourceOf(e)); }

uvec2 PlacesOfSlice(uint slice) { return uvec2(slice * P(4), SourceOf(slice * P(4))); }
void CopySlice(uint to, uint from) { CopyRow(to, from, P(4)); }

void main() {
  if (kBySlices != 0u && kQuads == 0u) {
    PLACED_UNITS_LOOP(Divide(P(0), P4(1).xyz), PlacesOfSlice, CopySlice)
  } else if (kBySlices != 0u) {
    uvec3 length = P4(1).xyz;
    WORKGROUP_STRIDE_LOOP(slice, Divide(P(0), length)) {
      uint result = slice * length.x;
      uint source = SourceOf(result);
#define COPY(i) STORE_QUAD(3, result + (i), LOAD_QUAD(1, source + (i)))
      FOURS_LOOP(gl_LocalInvocationID.x, length.x, gl_WorkGroupSize.x, COPY)
#undef COPY
    }
  } else if (kQuads != 0u) {
    GRID_STRIDE_LOOP(i, P(0)) STORE_QUAD(3, i, LOAD_QUAD(1, SourceOf(i)))
  } else {
    STORE_QUADS(3, kType, P(0), uint, PrepareNothing, ComputeElement);
  }
}
