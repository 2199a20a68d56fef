// Running sums along an axis whose rows are interleaved, of 32-bit elements that lie in quads, for GPUs: by
// tiles (interleaved_tiles.glsl), slot 1 -> slot 2. One call sums up what a tile has of each of its rows;
// another writes the running sums, which begin with the sums of the tiles before, slot 3.
//
// Specialisation constants: 1 data type; 2 which part of the work the call does; 3 whether sums leave out
// their own element; 4 whether they start at the end.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "interleaved_tiles.glsl"
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kPart = 0u;
layout(constant_id = 3) const uint kExclusive = 0u;
layout(constant_id = 4) const uint kReversed = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)

// Values of kPart, SumTiles of service/passes/lower_reduce.cc.
const uint kSumsOfTiles = 0u;
const uint kRunningSums = 1u;

const uint kAtOnce = 8u;  // Quads that an invocation has on their way.

VALUE ElementOf(uvec4 quad, uint i) { return Decode(uvec2(quad[i], 0u), kType); }

shared VALUE tile_sums[4u * kInvocationsOfGpus];

void ShareWithTile(VALUE values[4]) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) tile_sums[InTile(i, gl_LocalInvocationID.x)] = values[i];
}

// Adds what those have shared who share a four, one after the other: those before this one, and all.
void FoldTile(uint own, inout VALUE before[4], inout VALUE all[4]) {
  const VALUE zero = VALUE(0);
  [[unroll]] for (uint other = 0u; other < kPartsOfTile; ++other) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      const VALUE value = tile_sums[InTile(i, SharingFour(other))];
      before[i] += other < own ? value : zero;
      all[i] += value;
    }
  }
}

// The axis goes in the order of summation. Sums of tiles that have the same place along it follow each other.
void ComputeTile(uint index) {
  const Tile tile = TileAt(index);
  const VALUE zero = VALUE(0);
  VALUE so_far[4] = VALUE[](zero, zero, zero, zero);
  if (kPart == kRunningSums && tile.parts > 1u) {
    // Those who share a four divide the sums before it between them.
    VALUE share[4] = VALUE[](zero, zero, zero, zero);
    for (uint k = tile.own; k < tile.part; k += kPartsOfTile) {
      const uvec4 quad = LOAD_QUAD(3, k * (P(3) >> 2) + tile.row);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) share[i] += ElementOf(quad, i);
    }
    ShareWithTile(share);
    barrier();
    FoldTile(tile.own, share, so_far);
    barrier();
  }

#define PLACE(k) (tile.base + (kReversed != 0u ? P(1) - 1u - (k) : (k)) * tile.stride)
  for (uint turn = tile.first; turn < tile.end; turn += kAtOnce * kPartsOfTile) {
    const uint first = turn + tile.own * kAtOnce;
    uvec4 quads[kAtOnce];
    [[unroll]] for (uint k = 0u; k < kAtOnce; ++k) {
      quads[k] = LOAD_QUAD(1, PLACE(min(first + k, tile.end - 1u)));
    }
    VALUE sum[4] = VALUE[](zero, zero, zero, zero);
    [[unroll]] for (uint k = 0u; k < kAtOnce; ++k) {
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        sum[i] += first + k < tile.end ? ElementOf(quads[k], i) : zero;
      }
    }
    ShareWithTile(sum);
    barrier();
    sum = so_far;
    FoldTile(tile.own, sum, so_far);
    barrier();
    if (kPart == kRunningSums && tile.inside) {
      [[unroll]] for (uint k = 0u; k < kAtOnce; ++k) {
        uvec4 bits;
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
          const VALUE next = sum[i] + ElementOf(quads[k], i);
          bits[i] = Encode(kExclusive != 0u ? sum[i] : next, kType).x;
          sum[i] = next;
        }
        if (first + k < tile.end) STORE_QUAD(2, PLACE(first + k), bits)
      }
    }
  }
#undef PLACE
  if (kPart == kSumsOfTiles && tile.own == 0u && tile.inside) {
    uvec4 bits;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) bits[i] = Encode(so_far[i], kType).x;
    STORE_QUAD(2, tile.part * (P(3) >> 2) + tile.row, bits)
  }
}

void main() {
  WORKGROUP_STRIDE_LOOP(tile, P(0)) ComputeTile(tile);
}
