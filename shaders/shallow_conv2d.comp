// Convolutions of few channels, whose sums are short: each pixel of the image is loaded once for all
// channels of the result. Slots and specialisation constants 1 to 7 are those of depthwise_conv2d.comp,
// but 5: whether four channels of the filter lie together, step by step, or the steps of each channel.
// 8 channels of the image (in a group), 9 and 10 taps down and across, 11 and 12 steps of the filter down
// and across, 13 whether channels are counted last among the steps of a sum.
//
// An invocation computes four neighbouring columns of ROWS rows, one four of channels after the other.
// Neighbours share the weights: each loads some of them, and tells them to the rest. Channels of the
// result are a multiple of four, and so are its columns where they lie together; taps are not dilated;
// images whose channels come last are of one group.
//
// Parameters: 0 units of a group (blocks of rows and columns of all images); 1, 2 columns and rows
// of the result; 3 the last element of the image divided by 4; from uvec4 1 on the divisors {fours
// in a line}, {blocks of rows}; 12 groups; uvec4 4 {strides of the image: batch, channel, row,
// column}; 5 {fours of the filter: from group to group, from one that an invocation loads to the
// next, from four channels to the next; channels of the result in a group}; from 6 on the height
// and from 9 on the width (window.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroup.glsl"

#include "depthwise.glsl"

layout(constant_id = 8) const uint kChannels = 1u;
layout(constant_id = 9) const uint kTapsDown = 1u;
layout(constant_id = 10) const uint kTapsAcross = 1u;
layout(constant_id = 11) const uint kStepDown = 1u;
layout(constant_id = 12) const uint kStepAcross = 1u;
layout(constant_id = 13) const uint kStepsChannelsLast = 0u;

READ_SLOT_WIDE(4)
DECLARE_LOAD_FOURS(4)

// Steps of a sum.
const uint kSteps = kChannels * kTapsDown * kTapsAcross;

// What lies together of the image: the columns that four of the result need of a row, of one channel or
// of all.
const uint kLength = 3u * kStepAcross + kTapsAcross;
const uint kLines = (ROWS - 1u) * kStepDown + kTapsDown;
const uint kRun = kChannelsLast != 0u ? kLength * kChannels : kLength;
const uint kRuns = kChannelsLast != 0u ? kLines : kLines * kChannels;
const uint kRunMax = 36u;  // kShallowRunMax of service/passes/shallow_convolution.cc.

// Invocations that share weights, of one subgroup, and what each loads of those of four channels.
const uint kSharers = kSubgroupSize >= 16u ? 16u : 8u;
const uint kShares = (kSteps + kSharers - 1u) / kSharers;

// Where the pixel lies in the runs that column `p` and row `r` of the result meet at step k.
uint PlaceOf(uint k, uint r, uint p) {
  const uint tap = kStepsChannelsLast != 0u ? k / kChannels : k % (kTapsDown * kTapsAcross);
  const uint c = kStepsChannelsLast != 0u ? k % kChannels : k / (kTapsDown * kTapsAcross);
  const uint y = r * kStepDown + tap / kTapsAcross;
  const uint x = p * kStepAcross + tap % kTapsAcross;
  return kChannelsLast != 0u ? y * kRun + x * kChannels + c : (c * kLines + y) * kRun + x;
}

void ComputeUnit(uint group, uint unit, bool is_there) {
  uvec3 fours = P4(1).xyz;
  uvec3 blocks = P4(2).xyz;
  uint block = Divide(unit, fours);
  uint column = 4u * (unit - block * fours.x);
  uint batch = Divide(block, blocks);
  uint row = ROWS * (block - batch * blocks.x);

  uvec4 strides = P4(4);
  uint image = batch * strides.x + group * kChannels * strides.y;
  uvec2 size = uvec2(P4(kHeight).x, P4(kWidth).x);
  // Before the first row, and column, they wrap.
  uint top = row * kStepDown - P4(kHeight).z;
  uint left = column * kStepAcross - P4(kWidth).z;
  float pixels[kRuns * kRun];
  [[unroll]] for (uint i = 0u; i < kRuns; ++i) {
    uint channel = i / kLines;
    uint y = top + i % kLines;
    int at = int(image + channel * strides.y + min(y, size.x - 1u) * strides.z + left * strides.w);
    float run[kRunMax];
#define FOUR_OF_IMAGE(q) LoadFours1(kType, uint(clamp((at >> 2) + int(q), 0, int(P(3)))))
    LOAD_RUN(run, kRun, kRunMax, at, FOUR_OF_IMAGE)
#undef FOUR_OF_IMAGE
    uint width = y < size.x ? size.y : 0u;
    [[unroll]] for (uint j = 0u; j < kRun; ++j) {
      uint element = floatBitsToUint(run[j]);
      bool inside = left + (kChannelsLast != 0u ? j / kChannels : j) < width;
      uint bits = inside ? element : 0u;
      // The compiler moves what was done last to a pixel into the loop that uses it: let it be a
      // single instruction.
      pixels[i * kRun + j] = uintBitsToFloat(bits ^ UNKNOWN_ZERO);
    }
  }

  uvec4 filter_strides = P4(5);
  uint channels = filter_strides.w;
  uint columns = P(1);
  uint rows = P(2);
  uint plane = columns * rows;
  uint share = gl_SubgroupInvocationID & (kSharers - 1u);
  uint four_of_filter = group * filter_strides.x;
  uint result = (batch * P(12) + group) * channels * plane;
  result += (row * columns + column) * (kChannelsLast != 0u ? channels : 1u);
  for (uint first = UNKNOWN_ZERO; first < channels; first += 4u) {
    vec4 weights[kShares];
    [[unroll]] for (uint f = 0u; f < kShares; ++f) {
      uint own = min(kSharers * f + share, kSteps - 1u);
      weights[f] = LoadFours2(kType, four_of_filter + own * filter_strides.y);
    }
    vec4 bias = vec4(0.0);
    if (kHasBias != 0u) bias = LoadFours4(kType, (group * channels + first) >> 2);
    vec4 sums[4][ROWS];
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      [[unroll]] for (uint r = 0u; r < ROWS; ++r) sums[c][r] = vec4(bias[c]);
      [[unroll]] for (uint k = 0u; k < kSteps; ++k) {
        // Of the four channels' weights, as they lie.
        const uint word = kFilterByFour != 0u ? 4u * k + c : c * kSteps + k;
        float weight;
        if (SUBGROUP_SIZE >= kSharers) {
          weight = subgroupShuffle(weights[word / (4u * kSharers)][word & 3u],
                                   (word / 4u) & (kSharers - 1u));
        } else {
          weight = LOAD(2, kType, 4u * (four_of_filter + word / 4u * filter_strides.y) + (word & 3u));
        }
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
          [[unroll]] for (uint p = 0u; p < 4u; ++p) {
            sums[c][r][p] = fma(pixels[PlaceOf(k, r, p)], weight, sums[c][r][p]);
          }
        }
      }
      if (kChannelsLast != 0u) continue;
      [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        if (is_there && row + r < rows) {
          FinishFour(result + c * plane + r * columns, 4u, sums[c][r]);
        }
      }
    }
    if (kChannelsLast != 0u) {
      [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        [[unroll]] for (uint p = 0u; p < 4u; ++p) {
          if (is_there && row + r < rows && column + p < columns) {
            FinishFour(result + (r * columns + p) * channels, 4u,
                       vec4(sums[0][r][p], sums[1][r][p], sums[2][r][p], sums[3][r][p]));
          }
        }
      }
    }
    four_of_filter += filter_strides.z;
    result += kChannelsLast != 0u ? 4u : 4u * plane;
  }
}

void main() {
  // Those that share weights are of one group. Beyond its last unit the last one stands in.
  uint tiles = (P(0) + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
  WORKGROUP_STRIDE_LOOP(index, P(12) * tiles) {
    uint group = index / tiles;
    uint unit = (index - group * tiles) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    ComputeUnit(group, min(unit, P(0) - 1u), unit < P(0));
  }
}
