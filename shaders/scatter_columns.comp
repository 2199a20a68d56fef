// scatterElements: slot 1 with the elements of slot 3 at the places along one axis that the indices of slot
// 2 name -> slot 4. Elements are as wide as words. A workgroup takes eight neighbouring rows behind the axis
// and kPlaces of their places: it goes over all their updates, notes the last one of each place, and writes
// the whole tile, so that nothing is cleared, copied or elected in memory before.
//
// Parameters: 0 tiles; 1 updates of a row; 2 size of the axis; 4..6 eights of rows behind the axis, as
// divisor; 8..10 tiles along the axis, as divisor. Specialisation constants: 1 data type of the indices.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index.glsl"

layout(constant_id = 1) const uint kIndexType = 2u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
WRITE_SLOT(4)

const uint kPlaces = 512u;  // kPlacesOfTile of service/passes/lower_gather.cc.
const uint kAtOnce = 4u;    // Rows of updates, or places, that an invocation loads before it goes on.

// The number of the last update of each place, from 1 on: eight of a place follow each other.
shared uint last_updates[8u * kPlaces];

void ComputeTile(uint tile) {
  const uvec3 eights = P4(1).xyz;
  const uvec3 parts = P4(2).xyz;
  const uint line = Divide(tile, eights);
  const uint outer = Divide(line, parts);
  const uint first_place = (line - outer * parts.x) * kPlaces;
  const uint places = min(kPlaces, P(2) - first_place);
  // An invocation has a four of the eight, its neighbour the other.
  const uint half_of_eight = gl_LocalInvocationID.x & 1u;
  const uint first = gl_LocalInvocationID.x >> 1;
  const uint step = gl_WorkGroupSize.x >> 1;
  const uint four = 2u * (tile - line * eights.x) + half_of_eight;
  const uint fours = 2u * eights.x;
  const uint updates = outer * P(1) * fours + four;
  const uint result = (outer * P(2) + first_place) * fours + four;
  const bool wide = BitsLog2(kIndexType) == 6u;

  for (uint i = gl_LocalInvocationID.x; i < 8u * places; i += gl_WorkGroupSize.x) last_updates[i] = 0u;
  barrier();
  for (uint start = first; start < P(1); start += kAtOnce * step) {
    uvec4 low[kAtOnce];
    uvec4 high[kAtOnce];
    [[unroll]] for (uint turn = 0u; turn < kAtOnce; ++turn) {
      const uint from = updates + min(start + turn * step, P(1) - 1u) * fours;
      low[turn] = LOAD_QUAD(2, wide ? 2u * from : from);
      if (wide) high[turn] = LOAD_QUAD(2, 2u * from + 1u);
    }
    [[unroll]] for (uint turn = 0u; turn < kAtOnce; ++turn) {
      const uint update = min(start + turn * step, P(1) - 1u);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        const uvec2 raw = wide ? ElementOfQuad(i < 2u ? low[turn] : high[turn], kIndexType, i & 1u)
                               : uvec2(low[turn][i], 0u);
        const uint place = ClampIndex(raw, kIndexType, P(2)) - first_place;
        if (place < places) atomicMax(last_updates[8u * place + 4u * half_of_eight + i], update + 1u);
      }
    }
  }
  barrier();
  for (uint start = first; start < places; start += kAtOnce * step) {
    uvec4 quads[kAtOnce];
    [[unroll]] for (uint turn = 0u; turn < kAtOnce; ++turn) {
      const uint place = min(start + turn * step, places - 1u);
      quads[turn] = LOAD_QUAD(1, result + place * fours);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        const uint update = last_updates[8u * place + 4u * half_of_eight + i];
        if (update != 0u) quads[turn][i] = LOAD_WORD(3, 4u * (updates + (update - 1u) * fours) + i);
      }
    }
    [[unroll]] for (uint turn = 0u; turn < kAtOnce; ++turn) {
      const uint place = start + turn * step;
      if (place < places) STORE_QUAD(4, result + place * fours, quads[turn])
    }
  }
  barrier();
}

void main() {
  WORKGROUP_STRIDE_LOOP(tile, P(0)) ComputeTile(tile);
}
