// Depthwise convolutions of images whose channels lie together, with windows of TAPS by TAPS that move
// by STEP both ways and are not dilated. Slots and specialisation constants are those of
// depthwise_conv2d.comp up to 7; 8 says whether there are enough channels for a subgroup, 9
// then whether all units have ROWS rows, and 10 how many groups of channels take turns.
//
// An invocation goes along ROWS rows of the result, column after column, for four neighbouring channels:
// it loads each pixel of the image once and adds it to all sums that it is a part of, where single
// results would load it again and again.
//
// Parameters: as in depthwise_conv2d.comp, but 0 units (rows, columns and four channels of one
// invocation); 2 rows of the result; from uvec4 1 on the divisors {fours of channels}, {units across},
// {units down}; 2.w columns of a unit, and 5.w of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"

layout(constant_id = 8) const uint kManyChannels = 0u;

// Columns of the result whose sums are begun before that of another one is complete.
const uint kPending = (TAPS - 1u) / STEP;
const uint kLines = (ROWS - 1u) * STEP + TAPS;

// On llvmpipe many channels go one by one instead.
#if TENSOR_READS == READS_TEXELS
#include "depthwise_channels.glsl"
const bool kByChannels = kManyChannels != 0u;
#else
const bool kByChannels = false;
void ComputeAllChannels() {}
#endif

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
  uvec4 across = P4(2);
  uvec3 down = P4(3).xyz;
  uint block = Divide(unit, fours);
  uint channel = 4u * (unit - block * fours.x);
  uint line = Divide(block, across.xyz);
  uint column = across.w * (block - line * across.x);
  uint batch = Divide(line, down);
  uint row = ROWS * (line - batch * down.x);

  uvec4 strides = P4(4);
  uint image = batch * strides.x + channel * strides.y;
  uvec2 size = uvec2(P4(kHeight).x, P4(kWidth).x);
  // Before the first row, and the first column, they wrap.
  uint top = row * STEP - P4(kHeight).z;
  uint left = column * STEP - P4(kWidth).z;
  uint lines[kLines];
  [[unroll]] for (uint y = 0u; y < kLines; ++y) {
    lines[y] = top + y < size.x ? (image + (top + y) * strides.z) >> 2 : kNowhere;
  }
  Weights weights = LoadWeights(channel);
  vec4 bias = LoadBias(channel);
  vec4 sums[kPending + 1u][ROWS];
  [[unroll]] for (uint d = 0u; d <= kPending; ++d) {
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) sums[d][i] = bias;
  }

  uint columns = P4(5).w;
  uint rows = P(2);
  uint pixel = P(1);  // Elements of one.
  uint result = ((batch * rows + row) * columns + column) * pixel + channel;
  uint result_step = columns * pixel;
  uint turns = min(across.w, columns - column) + kPending;
  for (uint turn = UNKNOWN_ZERO; turn < turns; ++turn) {
    [[unroll]] for (uint s = 0u; s < STEP; ++s) {
      uint x = left + turn * STEP + s;
      uint from = x < size.y ? (x * strides.w) >> 2 : kNowhere;
      vec4 pixels[kLines];
      [[unroll]] for (uint y = 0u; y < kLines; ++y) {
        pixels[y] = LoadFoursInside1(kType, lines[y] + from);
      }
      // Channel by channel, so that what one takes stays in registers.
      [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        [[unroll]] for (uint y = 0u; y < kLines; ++y) {
          [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
            [[unroll]] for (uint d = 0u; d <= kPending; ++d) {
              if (y >= i * STEP && y < i * STEP + TAPS && s + d * STEP < TAPS) {
                float weight =
                    weights.of[min(y - i * STEP, TAPS - 1u)][min(s + d * STEP, TAPS - 1u)][k];
                sums[d][i][k] = fma(pixels[y][k], weight, sums[d][i][k]);
              }
            }
          }
        }
      }
    }
    uint finished = result + (turn - kPending) * pixel;
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      if (turn >= kPending && row + i < rows) {
        FinishFour(finished + i * result_step, 4u, sums[kPending][i]);
      }
      [[unroll]] for (uint d = 0u; d < kPending; ++d) {
        sums[kPending - d][i] = sums[kPending - d - 1u][i];
      }
      sums[0][i] = bias;
    }
  }
}

void main() {
  if (kByChannels) {
    ComputeAllChannels();
  } else {
    GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
  }
}
