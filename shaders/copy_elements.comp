// Copies a region, element by element: slice, split, concat, expand, transpose, reverse, plain copies.
// The region of the result is `rows` runs of contiguous elements; the source has any strides.
// Elements of 64 bits come as two words, and narrower ones as words where whole words move together.
//
// Parameters: 0 elements to copy; 1 rank of the source; 2 first element of the source; 3 first one of
// the result; 4..7 {run length, multiplier, shift, elements between the starts of two runs}; from 12
// dimensions (strided.glsl, stride .x of the source). Specialisation constants: 1 rank, 2 whether
// there is more than one run (0: parameters 4..7 do not matter), 3 data type.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kRank = 0u;
layout(constant_id = 2) const uint kManyRuns = 0u;
layout(constant_id = 3) const uint kType = kUint32;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

void main() {
  uint count = P(0);
  uint rank = P(1);
  uint source = P(2);
  uint result = P(3);
  uvec4 run = P4(1);
  GRID_STRIDE_LOOP(i, count) {
    uint position = i;
    if (kManyRuns != 0u) {
      uint row = Divide(i, run.xyz);
      position = row * run.w + (i - row * run.x);
    }
    const uint from = source + StridedOffsets(i, 3u, rank).x;
    STORE_ELEMENT(2, kType, result + position, LOAD_RAW(1, kType, from))
  }
}
