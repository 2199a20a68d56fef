// Depthwise convolutions of images whose channels lie together, with windows of TAPS by TAPS that move
// by STEP both ways and are not dilated. Slots and specialisation constants are those of
// depthwise_conv2d.comp.
//
// An invocation computes four neighbouring channels of ROWS by COLUMNS pixels: it loads its weights and
// each pixel of the image once, where single results would load them again and again.
//
// Parameters: as in depthwise_conv2d.comp, but 0 units (blocks of pixels and four channels); 2 rows of
// the result; from uvec4 1 on the divisors {fours of channels}, {blocks across}, {blocks down}; and 5.w
// columns of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"

struct Weights {
  vec4 of[TAPS][TAPS];
};

Weights LoadWeights(uint channel) {
  uvec3 strides = P4(5).xyz;
  Weights weights;
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      uint e = channel * strides.x + y * strides.y + x * strides.z;
      if (kFilterByFour != 0u) {
        weights.of[y][x] = LoadFours2(kType, e >> 2);
      } else {
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
          weights.of[y][x][i] = LOAD(2, kType, e + i * strides.x);
        }
      }
    }
  }
  return weights;
}

vec4 LoadBias(uint channel) {
  vec4 bias = vec4(0.0);
  if (kHasBias != 0u) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) bias[i] = LOAD(4, kType, channel + i);
  }
  return bias;
}

void ComputeUnit(uint unit) {
  uvec3 fours = P4(1).xyz;
  uvec3 across = P4(2).xyz;
  uvec3 down = P4(3).xyz;
  uint block = Divide(unit, fours);
  uint channel = 4u * (unit - block * fours.x);
  uint line = Divide(block, across);
  uint column = COLUMNS * (block - line * across.x);
  uint batch = Divide(line, down);
  uint row = ROWS * (line - batch * down.x);

  uvec4 strides = P4(4);
  uint image = batch * strides.x + channel * strides.y;
  uvec2 size = uvec2(P4(kHeight).x, P4(kWidth).x);
  uint top = row * STEP - P4(kHeight).z;
  uint left = column * STEP - P4(kWidth).z;
  Weights weights = LoadWeights(channel);
  vec4 bias = LoadBias(channel);
  vec4 sums[ROWS][COLUMNS];
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) sums[i][j] = bias;
  }
  [[unroll]] for (uint y = 0u; y < (ROWS - 1u) * STEP + TAPS; ++y) {
    // Before the first row, and the first column, it wraps.
    bool row_is_inside = top + y < size.x;
    uint from = image + min(top + y, size.x - 1u) * strides.z;
    [[unroll]] for (uint x = 0u; x < (COLUMNS - 1u) * STEP + TAPS; ++x) {
      bool column_is_inside = left + x < size.y;
      bool is_inside = row_is_inside && column_is_inside;
      vec4 loaded = LoadFours1(kType, (from + min(left + x, size.y - 1u) * strides.w) >> 2);
      vec4 pixel = mix(vec4(0.0), loaded, bvec4(is_inside));
      [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
          if (y >= i * STEP && y < i * STEP + TAPS && x >= j * STEP && x < j * STEP + TAPS) {
            vec4 weight = weights.of[min(y - i * STEP, TAPS - 1u)][min(x - j * STEP, TAPS - 1u)];
            sums[i][j] = fma(pixel, weight, sums[i][j]);
          }
        }
      }
    }
  }

  uint columns = P4(5).w;
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      if (row + i < P(2) && column + j < columns) {
        uint pixel = (batch * P(2) + row + i) * columns + column + j;
        FinishFour(pixel * P(1) + channel, 4u, sums[i][j]);
      }
    }
  }
}

void main() {
  GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
}
