// Writes the slices of slot 2 into slot 4 at the places that the indices of slot 1 name. Where several
// name one place the last wins, whatever the order of execution: a first call notes in slot 3 (one
// word per place, cleared before) the greatest number of a slice, a second call writes those alone.
//
// Parameters: 0 elements of the updates; 1 coordinates per slice, or 0 where the index replaces
// the axis of the update's own position (scatterElements); 4..6 elements of a slice as divisor.
// With coordinates, from 8 {size, stride} per coordinate, counted in places. Without: 1 element per
// slice; 2 rank; 3 unused; 8 size and 9 stride of the axis; from 12 dimensions of the updates
// (strided.glsl, stride .x of the result, 0 for the axis).
// Specialisation constants: 1 element type (uint32 where whole words move), 2 data type of the
// indices, 3 whether this call writes, 4 rank (1 with coordinates), 5 coordinates per slice, where they
// are few (else kManyCoordinates), 6 whether workgroups take slices, whose elements are quads of words
// instead, or 7, on llvmpipe, not.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fours.glsl"
#include "index.glsl"
#include "row_copy.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;
layout(constant_id = 3) const uint kWrites = 0u;
layout(constant_id = 4) const uint kRank = 0u;
layout(constant_id = 5) const uint kCoordinates = 0u;
layout(constant_id = 6) const uint kBySlices = 0u;
layout(constant_id = 7) const uint kLieAnywhere = 0u;
const uint kManyCoordinates = 0xffffffffu;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)
WRITE_SLOT(4)
DECLARE_COPY_ROW(4, 2, kType)

uint Place(uint row) {
  if (kCoordinates == 0u) {
    return StridedOffsets(row, 3u, P(2)).x + LOAD_INDEX(1, kIndexType, row, P(8)) * P(9);
  }
  const uint coordinates = kCoordinates == kManyCoordinates ? P(1) : kCoordinates;
  uint place = 0u;
  for (uint d = 0u; d < coordinates; ++d) {
    uint size = P(8u + 2u * d);
    place += LOAD_INDEX(1, kIndexType, row * coordinates + d, size) * P(9u + 2u * d);
  }
  return place;
}

// Of a slice that another one has replaced: nothing.
const uint kReplaced = 0xffffffffu;
uvec2 PlacesOfSlice(uint row) {
  const uint place = Place(row);
  return uvec2(RELOAD_WORD(3, place) == row + 1u ? place * P(4) : kReplaced, row * P(4));
}
void CopySlice(uint to, uint from) { CopyRow(to, from, to != kReplaced ? P(4) : 0u); }

void main() {
  uint count = P(0);
  uvec3 slice = P4(1).xyz;
  if (kWrites == 0u) {
    // One invocation per slice is enough; count is then the number of slices.
    GRID_STRIDE_LOOP(row, count) { ATOMIC_MAX_WORD(3, Place(row), row + 1u); }
  } else if (kLieAnywhere != 0u) {
    PLACED_UNITS_LOOP(Divide(count, slice), PlacesOfSlice, CopySlice)
  } else if (kBySlices != 0u) {
    WORKGROUP_STRIDE_LOOP(row, Divide(count, slice)) {
      uint place = Place(row);
      const uint end = RELOAD_WORD(3, place) == row + 1u ? slice.x : 0u;
      uint from = row * slice.x;
      uint to = place * slice.x;
#define COPY(i) STORE_QUAD(4, to + (i), LOAD_QUAD(2, from + (i)))
      FOURS_LOOP(gl_LocalInvocationID.x, end, gl_WorkGroupSize.x, COPY)
#undef COPY
    }
  } else {
    GRID_STRIDE_LOOP(e, count) {
      uint row = Divide(e, slice);
      uint place = Place(row);
      if (RELOAD_WORD(3, place) == row + 1u) {
        uint to = place * slice.x + (e - row * slice.x);
        STORE_ELEMENT(4, kType, to, LOAD_RAW(2, kType, e))
      }
    }
  }
}
