// What depthwise_pixels.comp does by single channels: neighbouring invocations take
// neighbouring channels, of which llvmpipe loads and stores all at once without taking quads apart,
// and registers hold all that four rows need.
//
// A workgroup, which is a subgroup there, takes ROWS rows of the result, column after column, for
// kGroups times as many channels as it has invocations. What those share, UNIFORM names as such. A turn is
// for a column, of which, for each group, all pixels are loaded first: sums do not wait for where pixels
// are. Where channels are a power of two, the lines of one group lie in few sets of the first cache, and
// push each other out before they are used or written; of two groups they lie in twice as many.
#ifndef WEBNND_SHADERS_DEPTHWISE_CHANNELS_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_CHANNELS_GLSL_

#include "depthwise.glsl"
#include "subgroup.glsl"

// Whether all blocks have ROWS rows: what is stored is then the same in each.
layout(constant_id = 9) const uint kWholeRows = 0u;
layout(constant_id = 10) const uint kGroups = 1u;

const uint kAllBits = 0xffffffffu;

float LoadWeight(uint channel, uint y, uint x) {
  uvec3 strides = P4(5).xyz;
  return LOAD(2, kType, channel * strides.x + y * strides.y + x * strides.z);
}

// Adds column s of a turn to all sums that it is a part of.
#define ADD_PIXELS(pixels, s)                                                                     \
  [[unroll]] for (uint y = 0u; y < kLines; ++y) {                                                 \
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {                                                 \
      [[unroll]] for (uint d = 0u; d <= kPending; ++d) {                                          \
        if (y >= i * STEP && y < i * STEP + TAPS && (s) + d * STEP < TAPS) {                      \
          sums.of[d][i] = fma((pixels)[y], channels.weights[y - i * STEP][(s) + d * STEP],        \
                              sums.of[d][i]);                                                     \
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
  uint begin_whole;  // Turns from there on, and before end_whole, see nothing outside of the image, and all
  uint end_whole;    // that they store is there, where there are channels for all invocations.
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
  bool are_lines_inside = true;
  [[unroll]] for (uint y = 0u; y < kLines; ++y) {
    const bool inside = top + y < P4(kHeight).x;
    block.lines[y] = UNIFORM(batch * strides.x + (inside ? (top + y) * strides.z : 0u));
    block.line_masks[y] = UNIFORM(inside ? kAllBits : 0u);
    are_lines_inside = are_lines_inside && inside;
  }
  block.left = column * STEP - P4(kWidth).z;
  block.count = min(across.w, columns - column);
  block.result = ((batch * P(2) + row) * columns + column) * P(1);
  block.rows = min(ROWS, P(2) - row);
  // The image's columns, counted from where the block's windows begin.
  const uint begin = P4(kWidth).z - min(P4(kWidth).z, column * STEP);
  const uint image_end = P4(kWidth).z + P4(kWidth).x;
  const uint end = image_end - min(image_end, column * STEP);
  block.begin_whole = max(kPending, (begin + STEP - 1u) / STEP);
  // A single row may move by another step than STEP: then lines of others, which are not there, are inside.
  const bool is_whole = are_lines_inside && block.rows == ROWS;
  block.end_whole = is_whole ? min(block.count + kPending, end / STEP) : 0u;
  return block;
}

// What a unit knows of its channels.
struct Channels {
  float weights[TAPS][TAPS];
  float bias;
  uint lines[kLines];
  uint results[ROWS];
  uint counts[ROWS];  // Of columns that are stored.
};

struct ChannelSums {
  float of[kPending + 1u][ROWS];
};

void AddColumn(Block block, Channels channels, uint turn, const bool is_whole, inout ChannelSums sums) {
  float pixels[STEP][kLines];
  [[unroll]] for (uint s = 0u; s < STEP; ++s) {
    const uint x = block.left + turn * STEP + s;
    const bool inside = is_whole || x < P4(kWidth).x;
    const uint from = UNIFORM(inside ? x * P4(4).w : 0u);
    const uint mask = inside ? kAllBits : 0u;
    [[unroll]] for (uint y = 0u; y < kLines; ++y) {
      const uvec2 raw = LOAD_RAW(1, kType, channels.lines[y] + from);
      pixels[s][y] = Decode(uvec2(is_whole ? raw.x : raw.x & block.line_masks[y] & mask, 0u), kType);
    }
  }
  [[unroll]] for (uint s = 0u; s < STEP; ++s) {
    ADD_PIXELS(pixels[s], s)
  }
  const uint place = turn - kPending;
  const uint to = UNIFORM(place * P(1));
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    if (is_whole || place < channels.counts[i]) {
      float sum = sums.of[kPending][i];
      if (kHasResidual != 0u) sum += LOAD(5, kType, channels.results[i] + to);
      STORE_ELEMENT(3, kType, channels.results[i] + to, Encode(Activate(sum), kType))
    }
    [[unroll]] for (uint d = 0u; d < kPending; ++d) {
      sums.of[kPending - d][i] = sums.of[kPending - d - 1u][i];
    }
    sums.of[0][i] = channels.bias;
  }
}

// Those from `first` on.
Channels FindChannels(Block block, uint first) {
  const uint lane = gl_SubgroupInvocationID;
  const uint channel = min(first + lane, P(1) - 1u);
  Channels channels;
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) channels.weights[y][x] = LoadWeight(channel, y, x);
  }
  channels.bias = kHasBias != 0u ? LOAD(4, kType, channel) : 0.0;
  [[unroll]] for (uint y = 0u; y < kLines; ++y) {
    channels.lines[y] = UNIFORM(block.lines[y] + first) + lane;
  }
  const uint row_step = P4(5).w * P(1);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    channels.results[i] = UNIFORM(block.result + i * row_step + first) + lane;
    const bool is_there = kWholeRows != 0u || i < block.rows;
    channels.counts[i] = min(UNIFORM(is_there ? block.count : 0u), first + lane < P(1) ? kAllBits : 0u);
  }
  return channels;
}

// Those from `first` on, of a unit.
void ComputeChannels(Block block, uint first) {
  Channels channels[kGroups];
  ChannelSums sums[kGroups];
  [[unroll]] for (uint g = 0u; g < kGroups; ++g) {
    channels[g] = FindChannels(block, first + g * gl_WorkGroupSize.x);
    [[unroll]] for (uint d = 0u; d <= kPending; ++d) {
      [[unroll]] for (uint i = 0u; i < ROWS; ++i) sums[g].of[d][i] = channels[g].bias;
    }
  }
  const uint end = block.count + kPending;
  const bool are_all_there = first + kGroups * gl_WorkGroupSize.x <= P(1);
  const uint end_whole = UNIFORM(are_all_there ? block.end_whole : 0u);
  for (uint turn = UNKNOWN_ZERO; turn < end;) {
    [[unroll]] for (uint g = 0u; g < kGroups; ++g) {
      AddColumn(block, channels[g], UNIFORM(turn), false, sums[g]);
    }
    ++turn;
    for (; turn >= block.begin_whole && turn < end_whole; ++turn) {
      [[unroll]] for (uint g = 0u; g < kGroups; ++g) {
        AddColumn(block, channels[g], UNIFORM(turn), true, sums[g]);
      }
    }
  }
}

void ComputeAllChannels() {
  const uint unit_channels = kGroups * gl_WorkGroupSize.x;
  const uint units_of_block = (P(1) + unit_channels - 1u) / unit_channels;
  const uint units = Divide(P(0), P4(1).xyz) * units_of_block;
  uint unit = StartOfWorkgroup(gl_WorkGroupID.x, units);
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, units);
  // Counted, since a division is one for each invocation.
  uint index = unit / units_of_block;
  uint place = unit - index * units_of_block;
  for (; unit < end; ++index) {
    const Block block = FindBlock(index);
    for (; unit < end && place < units_of_block; ++unit) {
      ComputeChannels(block, UNIFORM(place * unit_channels));
      ++place;
    }
    place = 0u;
  }
}

#endif  // WEBNND_SHADERS_DEPTHWISE_CHANNELS_GLSL_
