// Depthwise convolutions of images whose columns lie together in whole fours, as do those of the result,
// with windows of TAPS by TAPS that move by one and are not dilated. Slots and specialisation constants
// are those of depthwise_rows.comp.
//
// An invocation goes down four columns, row after row of the image, and adds each to all rows of the
// result that it is a part of. Its neighbours have the fours beside it, so that lanes load what follows
// each other: what is beyond an edge is loaded from within, and left out.
//
// Parameters: as in depthwise_conv2d.comp, but 0 units (four columns of some rows); 2 rows of the result;
// from uvec4 1 on the divisors {fours of a row}, {units down}, {channels}; 2.w rows of a unit.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"
#include "depthwise_weights.glsl"

layout(constant_id = 8) const uint kLead = 0u;

// Fours of the image that four columns need of a line, with any lead.
const uint kFours = (kLead + 3u + TAPS + 3u) / 4u;
const uint kFoursMax = (3u + 3u + TAPS + 3u) / 4u;

void ComputeUnit(uint unit) {
  uvec3 fours = P4(1).xyz;
  uvec4 down = P4(2);
  uvec3 channels = P4(3).xyz;
  uint block = Divide(unit, fours);
  uint column = unit - block * fours.x;
  uint plane = Divide(block, down.xyz);
  uint row = down.w * (block - plane * down.x);
  uint batch = Divide(plane, channels);
  uint channel = plane - batch * channels.x;

  uvec4 strides = P4(4);
  uint image = batch * strides.x + channel * strides.y;
  uint height = P4(kHeight).x;
  uint length = P4(kWidth).x >> 2;
  uint top = row - P4(kHeight).z;  // Before the first row it wraps.
  uint four = column - ((P4(kWidth).z + kLead) >> 2);
  Weights weights = LoadWeights(channel);
  vec4 bias = vec4(kHasBias != 0u ? LOAD(4, kType, channel) : 0.0);

  // sums[y] lacks the lines from tap y on.
  vec4 sums[TAPS];
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) sums[y] = bias;
  uint rows = min(down.w, P(2) - row);
  uint result = (plane * P(2) + row) * fours.x + column;
  uint turns = rows + TAPS - 1u;
  for (uint turn = UNKNOWN_ZERO; turn < turns; ++turn) {
    uint line = top + turn;
    uint at = (image + min(line, height - 1u) * strides.z) >> 2;
    float elements[4u * kFoursMax];
    [[unroll]] for (uint q = 0u; q < kFours; ++q) {
      const bool inside = line < height && four + q < length;  // Before the first four it wraps.
      const vec4 loaded = LoadFours1(kType, min(at + four + q, P(3)));
      const vec4 kept = mix(vec4(0.0), loaded, bvec4(inside));
      [[unroll]] for (uint i = 0u; i < 4u; ++i) elements[4u * q + i] = kept[i];
    }
    [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
      [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
        [[unroll]] for (uint k = 0u; k < 4u; ++k) {
          sums[y][k] = fma(elements[kLead + k + x], weights.of[y][x], sums[y][k]);
        }
      }
    }
    if (turn >= TAPS - 1u) {
      FinishFour(4u * (result + (turn - (TAPS - 1u)) * fours.x), 4u, sums[TAPS - 1u]);
    }
    [[unroll]] for (uint y = 1u; y < TAPS; ++y) sums[TAPS - y] = sums[TAPS - y - 1u];
    sums[0] = bias;
  }
}

void main() {
  GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
}
