// Depthwise convolutions of images whose columns lie together, in lines of any length (others:
// depthwise_rows.comp), with windows of TAPS by TAPS that move by STEP both ways and are not dilated, but
// for those that go by lines.
// Slots and specialisation constants are those of depthwise_conv2d.comp.
//
// An invocation computes four neighbouring columns of ROWS rows: it loads its weights and each line of
// the image once, where single results would load them again and again.
//
// Parameters: as in depthwise_conv2d.comp, but 0 units (blocks of ROWS rows and four columns); 2 rows
// of the result; 3 the last element of the input divided by 4; and from uvec4 1 on the divisors
// {fours in a line}, {blocks of rows}, {channels}.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"
#include "depthwise_weights.glsl"

// On llvmpipe it goes by lines instead, each wherever it begins.
#if TENSOR_READS == READS_TEXELS
const bool kHasWholeTurns = false;
#define MASKED_TAPS_CONSTANT 8
#define BLOCKS_CONSTANT 9
#define DILATION_CONSTANT 10
#include "depthwise_lines.glsl"
const bool kByLines = true;
#else
const bool kByLines = false;
void ComputeAllLines(uint planes) {}
#endif

// What four columns need of a line.
const uint kLineLength = 3u * STEP + TAPS;

struct Line {
  float of[kLineLength];
};

// From column `first` on of the row that begins at `from`; 0 before the first column, from which it
// wraps, and behind the last one.
Line LoadLine(uint from, uint first, bool inside) {
  int at = int(from + first);
  Line line;
#define FOUR_OF_LINE(q) LoadFours1(kType, uint(clamp((at >> 2) + int(q), 0, int(P(3)))))
  LOAD_RUN(line.of, kLineLength, kLineLength, at, FOUR_OF_LINE)
#undef FOUR_OF_LINE
  uint width = inside ? P4(kWidth).x : 0u;
  [[unroll]] for (uint i = 0u; i < kLineLength; ++i) {
    float element = line.of[i];
    line.of[i] = first + i < width ? element : 0.0;
  }
  return line;
}

vec4 SumOfLine(Line line, float weights[TAPS], vec4 sum) {
  [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
    vec4 four = vec4(line.of[x], line.of[STEP + x], line.of[2u * STEP + x], line.of[3u * STEP + x]);
    sum = fma(four, vec4(weights[x]), sum);
  }
  return sum;
}

void ComputeUnit(uint unit) {
  uvec3 fours = P4(1).xyz;
  uvec3 blocks = P4(2).xyz;
  uvec3 channels = P4(3).xyz;
  uint block = Divide(unit, fours);
  uint column = 4u * (unit - block * fours.x);
  uint plane = Divide(block, blocks);
  uint row = ROWS * (block - plane * blocks.x);
  uint batch = Divide(plane, channels);
  uint channel = plane - batch * channels.x;

  uvec4 strides = P4(4);
  uint image = batch * strides.x + channel * strides.y;
  uint height = P4(kHeight).x;
  Weights weights = LoadWeights(channel);
  vec4 sums[ROWS];
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    sums[i] = vec4(kHasBias != 0u ? LOAD(4, kType, channel) : 0.0);
  }
  uint top = row * STEP - P4(kHeight).z;
  uint left = column * STEP - P4(kWidth).z;
  [[unroll]] for (uint y = 0u; y < (ROWS - 1u) * STEP + TAPS; ++y) {
    bool inside = top + y < height;
    Line line = LoadLine(image + min(top + y, height - 1u) * strides.z, left, inside);
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      if (y >= i * STEP && y < i * STEP + TAPS) {
        sums[i] = SumOfLine(line, weights.of[min(y - i * STEP, TAPS - 1u)], sums[i]);
      }
    }
  }

  uint length = P(1);
  uint count = min(length - column, 4u);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    if (row + i < P(2)) FinishFour((plane * P(2) + row + i) * length + column, count, sums[i]);
  }
}

void main() {
  if (kByLines) {
    ComputeAllLines(Divide(Divide(P(0), P4(1).xyz), P4(2).xyz));
  } else {
    GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
  }
}
