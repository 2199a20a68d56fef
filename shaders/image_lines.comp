// Lays out an image whose columns lie together for tall_matmul.comp: slots 1 the image, 2 its lines,
// float32.
//
// Line kx of row y of a plane holds what tap kx of a row of the filter meets there, for each column of
// the result in turn, 0 in the padding. So four neighbouring columns of the result load one quad, at
// any step of the filter. Rows count from the padding above the image on.
//
// An invocation computes four columns of all lines of a row. Parameters: 0 units; 1 the last element of
// the image divided by 4; 2, 3 height and width of the image; from uvec4 1 on two divisors, {fours in a
// line}, {rows of a plane}; 3 {padding above and to the left}. Specialisation constants: 1 data type,
// 2 taps, 3 step of the filter.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fours.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kTaps = 1u;
layout(constant_id = 3) const uint kStep = 1u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)
DECLARE_LOAD_FOURS(1)

// kLineTapsMax and kLineStepMax of service/passes/window_product.cc.
const uint kTapsMax = 16u;
const uint kStepMax = 4u;
const uint kLengthMax = 3u * kStepMax + kTapsMax;

// What four columns need of a row.
const uint kLength = 3u * kStep + kTaps;

void ComputeUnit(uint unit) {
  uvec3 fours = P4(1).xyz;
  uvec3 rows = P4(2).xyz;
  uint row = Divide(unit, fours);
  uint four = unit - row * fours.x;
  uint plane = Divide(row, rows);
  // Before the first row, and column, it wraps.
  uint y = row - plane * rows.x - P4(3).x;
  uint first = 4u * four * kStep - P4(3).y;
  uint width = y < P(2) ? P(3) : 0u;
  int at = int((plane * P(2) + min(y, P(2) - 1u)) * P(3) + first);
  float line[kLengthMax];
#define FOUR_OF_IMAGE(q) LoadFours1(kType, uint(clamp((at >> 2) + int(q), 0, int(P(1)))))
  LOAD_RUN(line, kLength, kLengthMax, at, FOUR_OF_IMAGE)
#undef FOUR_OF_IMAGE
  [[unroll]] for (uint i = 0u; i < kLengthMax; ++i) {
    if (i >= kLength) break;
    float element = line[i];
    bool inside = first + i < width;
    line[i] = inside ? element : 0.0;
  }
  [[unroll]] for (uint x = 0u; x < kTapsMax; ++x) {
    if (x >= kTaps) break;
    vec4 values = vec4(line[x], line[x + kStep], line[x + 2u * kStep], line[x + 3u * kStep]);
    STORE_QUAD(2, (row * kTaps + x) * fours.x + four, floatBitsToUint(values))
  }
}

void main() {
  GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
}
