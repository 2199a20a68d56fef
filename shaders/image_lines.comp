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

// kLineTapsMax and kLineStepMax of service/passes/lower_window.cc.
const uint kTapsMax = 16u;
const uint kStepMax = 4u;
const uint kLengthMax = 3u * kStepMax + kTapsMax;
const uint kQuadsMax = (kLengthMax + 6u) / 4u;

// What four columns need of a row, and the loads that it takes from anywhere.
const uint kLength = 3u * kStep + kTaps;
const uint kQuads = (kLength + 6u) / 4u;

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
  float elements[4u * kQuadsMax];
  [[unroll]] for (uint q = 0u; q < kQuadsMax; ++q) {
    if (q >= kQuads) break;
    vec4 loaded = LoadFours1(kType, uint(clamp((at >> 2) + int(q), 0, int(P(1)))));
    [[unroll]] for (uint i = 0u; i < 4u; ++i) elements[4u * q + i] = loaded[i];
  }
  bool by_two = (at & 2) != 0;
  bool by_one = (at & 1) != 0;
  float moved[kLengthMax + 1u];
  [[unroll]] for (uint i = 0u; i <= kLengthMax; ++i) {
    if (i > kLength) break;
    float far = elements[min(i + 2u, 4u * kQuads - 1u)];
    float near = elements[i];
    moved[i] = by_two ? far : near;
  }
  float line[kLengthMax];
  [[unroll]] for (uint i = 0u; i < kLengthMax; ++i) {
    if (i >= kLength) break;
    float far = moved[i + 1u];
    float near = moved[i];
    float element = by_one ? far : near;
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
