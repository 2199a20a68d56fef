// Depthwise convolutions of images whose columns lie together in whole fours, as do those of the result,
// with windows of TAPS by TAPS that move by STEP both ways and are not dilated. Slots and
// specialisation constants are those of depthwise_conv2d.comp, and 8: where in a four the first column
// of a window begins whose result is the first of four.
//
// An invocation goes along ROWS rows of the result by four columns: it loads each four of the image once
// and keeps what the next ones need of it.
//
// Parameters: as in depthwise_conv2d.comp, but 0 units (rows and fours of one invocation); 2 rows of the
// result; from uvec4 1 on the divisors {units across}, {units down}, {channels}; and 1.w fours of a unit.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"
#include "depthwise_weights.glsl"

layout(constant_id = 8) const uint kLead = 0u;

// On llvmpipe it goes by lines instead, each wherever it begins.
#if TENSOR_READS == READS_TEXELS
const bool kHasWholeTurns = true;
#define MASKED_TAPS_CONSTANT 9
#define BLOCKS_CONSTANT 10
#include "depthwise_lines.glsl"
const bool kByLines = true;
#else
const bool kByLines = false;
void ComputeAllLines(uint planes) {}
#endif

const uint kLines = (ROWS - 1u) * STEP + TAPS;
// Fours of the image that four columns need of a line, and those of them that the next four need, too.
const uint kFours = (kLead + 3u * STEP + TAPS + 3u) / 4u;
const uint kKept = kFours - STEP;
// With any lead.
const uint kFoursMax = (3u + 3u * STEP + TAPS + 3u) / 4u;

// Where a four of a line lies in it; before the first one it wraps.
uint FourOfLine(uint four) { return four < P4(kWidth).x >> 2 ? four : kNowhere; }

void ComputeUnit(uint unit) {
  uvec4 across = P4(1);
  uvec3 down = P4(2).xyz;
  uvec3 channels = P4(3).xyz;
  uint block = Divide(unit, across.xyz);
  uint first = across.w * (unit - block * across.x);
  uint plane = Divide(block, down);
  uint row = ROWS * (block - plane * down.x);
  uint batch = Divide(plane, channels);
  uint channel = plane - batch * channels.x;

  uvec4 strides = P4(4);
  uint image = batch * strides.x + channel * strides.y;
  uint top = row * STEP - P4(kHeight).z;  // Before the first row it wraps.
  uint lines[kLines];
  [[unroll]] for (uint y = 0u; y < kLines; ++y) {
    bool inside = top + y < P4(kHeight).x;
    lines[y] = inside ? (image + (top + y) * strides.z) >> 2 : kNowhere;
  }
  Weights weights = LoadWeights(channel);
  float bias = kHasBias != 0u ? LOAD(4, kType, channel) : 0.0;

  uint four = first * STEP - ((P4(kWidth).z + kLead) >> 2);
  float elements[kLines][4u * kFoursMax];
  [[unroll]] for (uint q = 0u; q < kKept; ++q) {
    uint from = FourOfLine(four + q);
    [[unroll]] for (uint y = 0u; y < kLines; ++y) {
      vec4 loaded = LoadFoursInside1(kType, lines[y] + from);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) elements[y][4u * (STEP + q) + i] = loaded[i];
    }
  }

  uint length = P(1) >> 2;
  uint end = min(first + across.w, length);
  for (uint at = first + UNKNOWN_ZERO; at < end; ++at) {
    vec4 sums[ROWS];
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) sums[i] = vec4(bias);
    uint from[STEP];
    [[unroll]] for (uint s = 0u; s < STEP; ++s) {
      from[s] = FourOfLine(four + (at - first) * STEP + kKept + s);
    }
    [[unroll]] for (uint y = 0u; y < kLines; ++y) {
      [[unroll]] for (uint e = 0u; e < 4u * kKept; ++e) elements[y][e] = elements[y][e + 4u * STEP];
      [[unroll]] for (uint s = 0u; s < STEP; ++s) {
        vec4 loaded = LoadFoursInside1(kType, lines[y] + from[s]);
        [[unroll]] for (uint i = 0u; i < 4u; ++i) elements[y][4u * (kKept + s) + i] = loaded[i];
      }
      [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
        if (y < i * STEP || y >= i * STEP + TAPS) continue;
        [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
          float weight = weights.of[min(y - i * STEP, TAPS - 1u)][x];
          [[unroll]] for (uint k = 0u; k < 4u; ++k) {
            sums[i][k] = fma(elements[y][kLead + k * STEP + x], weight, sums[i][k]);
          }
        }
      }
    }
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      if (row + i < P(2)) FinishFour(4u * ((plane * P(2) + row + i) * length + at), 4u, sums[i]);
    }
  }
}

void main() {
  if (kByLines) {
    ComputeAllLines(Divide(Divide(P(0), P4(1).xyz), P4(2).xyz));
  } else {
    GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
  }
}
