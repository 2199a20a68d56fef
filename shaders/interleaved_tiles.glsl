// Tiles of rows that are interleaved, [outer, axis, inner], for GPUs (RowTiles of
// service/passes/lower_reduce.cc): a workgroup takes a tile, eight fours of neighbouring rows, which are 128
// bytes, and a stretch of the axis, which sixteen of its invocations for each four share.
//
// Parameters: 0 tiles; 1 size of the axis; 2 of it, of a tile; 3 rows; 4..6 tiles side by side behind the
// axis, as divisor; 7 fours behind the axis; 8..10 tiles along the axis, as divisor.
#ifndef WEBNND_SHADERS_INTERLEAVED_TILES_GLSL_
#define WEBNND_SHADERS_INTERLEAVED_TILES_GLSL_

#include "tensor.glsl"

#if TENSOR_READS != READS_STORAGE
const uint kInvocationsOfGpus = 128u;  // Of modules that only GPUs run, but which are built in both variants.
#endif

const uint kFoursOfTile = 8u;
const uint kPartsOfTile = kInvocationsOfGpus / kFoursOfTile;

// What an invocation has of a tile.
struct Tile {
  bool inside;  // Whether there is such a four of rows; else the last one stands for it.
  uint part;    // Which of those along the axis it is, of so many.
  uint parts;
  uint own;     // Which of those who share the four the invocation is.
  uint first;   // The stretch of the axis.
  uint end;
  uint row;     // The four of rows, counted in fours of [outer, inner].
  uint base;    // Its first elements, in fours of [outer, axis, inner], and from those to the next.
  uint stride;
};

Tile TileAt(uint index) {
  const uvec4 across = P4(1);
  const uvec3 along = P4(2).xyz;
  const uint line = Divide(index, across.xyz);
  const uint outer = Divide(line, along);
  const uint part = line - outer * along.x;
  const uint four = (index - line * across.x) * kFoursOfTile + gl_LocalInvocationID.x % kFoursOfTile;
  const uint in_line = min(four, across.w - 1u);
  return Tile(four < across.w, part, along.x, gl_LocalInvocationID.x / kFoursOfTile, part * P(2),
              min((part + 1u) * P(2), P(1)), outer * across.w + in_line, outer * P(1) * across.w + in_line,
              across.w);
}

// Element i of what invocation j has in shared memory, 4 * kInvocationsOfGpus values: neighbours have
// neighbouring ones.
uint InTile(uint i, uint j) { return i * kInvocationsOfGpus + j; }
// The invocation that is number `own` of those who share this one's four.
uint SharingFour(uint own) { return own * kFoursOfTile + gl_LocalInvocationID.x % kFoursOfTile; }

#endif  // WEBNND_SHADERS_INTERLEAVED_TILES_GLSL_
