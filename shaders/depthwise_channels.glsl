// What depthwise_pixels.comp does of float32, by single channels: neighbouring invocations take
// neighbouring channels, of which llvmpipe loads and stores all at once without taking quads apart,
// and registers hold all that four rows need.
//
// A workgroup, which is a subgroup there, takes ROWS rows of the result, column after column, for as
// many channels as it has invocations. What those share, UNIFORM names as such. Of each turn the pixels
// for kColumns columns are loaded first: sums do not wait for where pixels are.
#ifndef WEBNND_SHADERS_DEPTHWISE_CHANNELS_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_CHANNELS_GLSL_

#include "depthwise.glsl"
#include "subgroup.glsl"

// Whether all blocks have ROWS rows: what is stored is then the same in each.
layout(constant_id = 9) const uint kWholeRows = 0u;

const uint kColumns = STEP == 1u ? 2u : 1u;
const uint kAllBits = 0xffffffffu;

float LoadWeight(uint channel, uint y, uint x) {
  uvec3 strides = P4(5).xyz;
  return LOAD(2, kType, channel * strides.x + y * strides.y + x * strides.z);
}

// Adds column s of the next `STEP` ones to all sums that it is a part of.
#define ADD_PIXELS(pixels, s)                                                                     \
  [[unroll]] for (uint y = 0u; y < kLines; ++y) {                                                 \
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {                                                 \
      [[unroll]] for (uint d = 0u; d <= kPending; ++d) {                                          \
        if (y >= i * STEP && y < i * STEP + TAPS && (s) + d * STEP < TAPS) {                      \
          sums[d][i] = fma((pixels)[y], weights[y - i * STEP][(s) + d * STEP], sums[d][i]);       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }

// The rows and columns that units have in common, one for each group of channels.
struct Block {
  uint lines[kLines];  // Where each begins, for channel 0.
  uint line_masks[kLines];
  uint left;  // Before the first column it wraps.
  uint count;  // Of columns.
  uint result;  // Where the first row's begins, for channel 0.
  uint rows;
};

Block FindBlock(uint index) {
  const uvec4 across = P4(2);
  const uvec3 down = P4(3).xyz;
  const uint line = Divide(index, across.xyz);
  const uint column = across.w * (index - line * across.x);
  const uint batch = Divide(line, down);
  const uint row = ROWS * (line - batch * down.x);
  const uvec4 strides = P4(4);
  const uint columns = P4(5).w;
  Block block;
  const uint top = row * STEP - P4(kHeight).z;  // Before the first row it wraps.
  [[unroll]] for (uint y = 0u; y < kLines; ++y) {
    const bool inside = top + y < P4(kHeight).x;
    block.lines[y] = UNIFORM(batch * strides.x + (inside ? (top + y) * strides.z : 0u));
    block.line_masks[y] = UNIFORM(inside ? kAllBits : 0u);
  }
  block.left = column * STEP - P4(kWidth).z;
  block.count = min(across.w, columns - column);
  block.result = ((batch * P(2) + row) * columns + column) * P(1);
  block.rows = min(ROWS, P(2) - row);
  return block;
}

// Channels from `first` on.
void ComputeChannels(Block block, uint first) {
  const uint lane = gl_SubgroupInvocationID;
  const uint channels = P(1);
  const uint channel = min(first + lane, channels - 1u);
  const uint pixel_step = P4(4).w;
  const uint width = P4(kWidth).x;
  float weights[TAPS][TAPS];
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) weights[y][x] = LoadWeight(channel, y, x);
  }
  float bias = kHasBias != 0u ? LOAD(4, kType, channel) : 0.0;
  float sums[kPending + 1u][ROWS];
  [[unroll]] for (uint d = 0u; d <= kPending; ++d) {
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) sums[d][i] = bias;
  }

  uint lines[kLines];
  [[unroll]] for (uint y = 0u; y < kLines; ++y) lines[y] = UNIFORM(block.lines[y] + first) + lane;
  uint results[ROWS];
  uint counts[ROWS];  // Of columns that are stored.
  const uint row_step = P4(5).w * channels;
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    results[i] = UNIFORM(block.result + i * row_step + first) + lane;
    const bool is_there = kWholeRows != 0u || i < block.rows;
    counts[i] = min(UNIFORM(is_there ? block.count : 0u), first + lane < channels ? kAllBits : 0u);
  }
  const uint end = block.count + kPending;
  for (uint loop = UNKNOWN_ZERO; loop < end; loop += kColumns) {
    const uint turn = UNIFORM(loop);
    float pixels[kColumns * STEP][kLines];
    [[unroll]] for (uint s = 0u; s < kColumns * STEP; ++s) {
      uint x = block.left + turn * STEP + s;
      const bool inside = x < width;
      const uint from = UNIFORM(inside ? x * pixel_step : 0u);
      const uint mask = inside ? kAllBits : 0u;
      [[unroll]] for (uint y = 0u; y < kLines; ++y) {
        pixels[s][y] = uintBitsToFloat(LOAD_WORD(1, lines[y] + from) & block.line_masks[y] & mask);
      }
    }
    [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
      [[unroll]] for (uint s = 0u; s < STEP; ++s) {
        ADD_PIXELS(pixels[c * STEP + s], s)
      }
      const uint place = turn + c - kPending;
      const uint to = UNIFORM(place * channels);
      [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
        if (place < counts[i]) {
          float sum = sums[kPending][i];
          if (kHasResidual != 0u) sum += uintBitsToFloat(LOAD_WORD(5, results[i] + to));
          STORE_WORD(3, results[i] + to, floatBitsToUint(Activate(sum)));
        }
        [[unroll]] for (uint d = 0u; d < kPending; ++d) {
          sums[kPending - d][i] = sums[kPending - d - 1u][i];
        }
        sums[0][i] = bias;
      }
    }
  }
}

void ComputeAllChannels() {
  const uint groups = (P(1) + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
  const uint units = Divide(P(0), P4(1).xyz) * groups;
  uint unit = StartOfWorkgroup(gl_WorkGroupID.x, units);
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, units);
  // Counted, since a division is one for each invocation.
  uint index = unit / groups;
  uint group = unit - index * groups;
  for (; unit < end; ++index) {
    const Block block = FindBlock(index);
    for (; unit < end && group < groups; ++unit) {
      ComputeChannels(block, UNIFORM(group * gl_WorkGroupSize.x));
      ++group;
    }
    group = 0u;
  }
}

#endif  // WEBNND_SHADERS_DEPTHWISE_CHANNELS_GLSL_
