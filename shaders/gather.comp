// slot 1 taken at the indices of slot 2 along one axis -> slot 3.
// The result is [outer, indices, inner] and the operand [outer, axis, inner].
//
// Parameters: 0 elements of the result; 1 size of the axis; 2 number of indices; 4..6 inner and 8..10
// number of indices as divisors. Specialisation constants: 1 element type (uint32 where whole words
// move), 2 data type of the indices, 3 whether elements are quads of words instead, 4 whether quads
// of the operand, [axis, inner], come by tiles (service/graph/row_tiles.h), 5 whether workgroups take
// whole slices, which are quads, or on llvmpipe lie anywhere.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fours.glsl"
#include "index.glsl"
#include "row_copy.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;
layout(constant_id = 3) const uint kQuads = 0u;
layout(constant_id = 4) const uint kTiled = 0u;
layout(constant_id = 5) const uint kBySlices = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
WRITE_SLOT(3)
DECLARE_COPY_ROW(3, 1, kType)

uint SourceOf(uint e) {
  uvec3 inner = P4(1).xyz;
  uvec3 indices = P4(2).xyz;
  uint axis = P(1);
  uint row = Divide(e, inner);
  uint outer = Divide(row, indices);
  uint index = LOAD_INDEX(2, kIndexType, row - outer * indices.x, axis);
  const uint within = e - row * inner.x;
  if (kTiled != 0u) return ((index >> 5) * inner.x + within) * 32u + (index & 31u);
  return (outer * axis + index) * inner.x + within;
}

uvec2 ComputeElement(uint nothing, uint e, uint k) { return LOAD_RAW(1, kType, SourceOf(e)); }

uvec2 PlacesOfSlice(uint slice) { return uvec2(slice * P(4), SourceOf(slice * P(4))); }
void CopySlice(uint to, uint from) { CopyRow(to, from, P(4)); }

// Finding a quad's index takes longer than copying it.
void GatherSlices() {
  uvec3 inner = P4(1).xyz;
  if (kQuads == 0u) {
    PLACED_UNITS_LOOP(Divide(P(0), inner), PlacesOfSlice, CopySlice)
    return;
  }
  WORKGROUP_STRIDE_LOOP(slice, Divide(P(0), inner)) {
    uint result = slice * inner.x;
    uint source = SourceOf(result);
#define COPY(i) STORE_QUAD(3, result + (i), LOAD_QUAD(1, source + (i)))
    FOURS_LOOP(gl_LocalInvocationID.x, inner.x, gl_WorkGroupSize.x, COPY)
#undef COPY
  }
}

void main() {
  if (kBySlices != 0u) {
    GatherSlices();
  } else if (kQuads != 0u) {
    GRID_STRIDE_LOOP(i, P(0)) STORE_QUAD(3, i, LOAD_QUAD(1, SourceOf(i)))
  } else {
    STORE_QUADS(3, kType, P(0), uint, PrepareNothing, ComputeElement);
  }
}
