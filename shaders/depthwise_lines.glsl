// What kernels for depthwise convolutions of images whose columns lie together do on llvmpipe, with
// windows of TAPS by TAPS that move by STEP, 1 or 2: neighbouring invocations take neighbouring columns
// of the result, of which llvmpipe loads and stores all at once, wherever in memory they begin.
//
// A workgroup, which is a subgroup there, goes down some rows of a channel, line after line of the
// image, with some blocks of as many columns as it has invocations, and adds each line to all rows of
// the result that it is a part of. Blocks side by side make lines long enough to be read from end to
// end, and share all that does not depend on columns. A line is loaded once for each tap of a row: that
// costs less than to take it from neighbours, and constants away from the first tap it is checked with
// that (base/drivers_llvm/lane_loads.h). What invocations share, UNIFORM names as such.
//
// Who includes it says whether images mostly have so many lines that a loop of its own pays for those
// inside: kHasWholeTurns; and which specialisation constants have the taps of a row that lie outside of
// the image for some column of the result, and the blocks: MASKED_TAPS_CONSTANT, BLOCKS_CONSTANT. Where
// it takes dilated windows, by a STEP of 1, DILATION_CONSTANT is that along a row, and the one behind it
// that along a column: then rows as far apart are an image of their own, an interleaved one.
#ifndef WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_

#include "depthwise.glsl"
#include "subgroup.glsl"

// A bit for each tap that is left of the image, and from bit 8 on one for each that is right of it.
layout(constant_id = MASKED_TAPS_CONSTANT) const uint kMaskedTaps = 0xffffu;
#ifdef DILATION_CONSTANT
layout(constant_id = DILATION_CONSTANT) const uint kDilation = 1u;
layout(constant_id = DILATION_CONSTANT + 1) const uint kInterleaved = 1u;
#else
const uint kDilation = 1u;
const uint kInterleaved = 1u;
#endif
// Blocks side by side in subgroups of 16, where the first columns alone have taps left of the image, and
// the last TAPS / 2 alone such that are right of it; 1 elsewhere. Sums of so many stay in registers, of
// which vectors of 16 have twice as many as others.
layout(constant_id = BLOCKS_CONSTANT) const uint kBlocksOf16 = 1u;
const uint kBlocksMax = 4u;
const uint kBlocks = kBlocksOf16 == 1u ? 1u : (kSubgroupSize == 16u ? kBlocksOf16 : 2u);
// The last block may have columns beyond the result, or be beyond it as a whole; then the last columns
// are in the one before, and may begin before that.
const uint kBlocksAtEnd = kDilation > 1u ? 3u : TAPS / 2u + 1u;

// Of a turn. Of one block, several, which are all loaded first: sums do not wait for where lines are, and
// are selected by mask once.
const uint kLinesMax = 3u;
const uint kLinesAtOnce = STEP == 2u ? 2u : (kBlocks > 1u ? 1u : (TAPS == 3u ? 3u : 2u));
// Rows of the result that a line is a part of, at most, and where in a turn lines end one.
const uint kRowsOfLine = (TAPS + STEP - 1u) / STEP;
const uint kLastOfWindow = (TAPS - 1u) % STEP;
const uint kRowsMax = 64u;  // Of a unit, so that none loops too long.
const uint kAllBits = 0xffffffffu;

bool IsAtEnd(uint block) { return block + kBlocksAtEnd >= kBlocks; }
// Whether the tap is outside of the image for some column of the block.
bool IsMasked(uint block, uint tap) {
  return (block == 0u && ((kMaskedTaps >> tap) & 1u) != 0u) ||
         (IsAtEnd(block) && ((kMaskedTaps >> (8u + tap)) & 1u) != 0u);
}

// What a workgroup knows of the lines that it goes down.
struct Lines {
  float weights[TAPS][TAPS];
  float bias;
  uint image;  // Where the channel's begins.
  uint before;  // Lines before it.
  uint top;  // Before the first row it wraps.
  uint height;
  uint step;  // From line to line.
  uint place;  // Of the first line's first pixel for the first tap of a row; others follow.
  uint masks[kBlocksMax][TAPS];
  uint rows_of_all;
  uint rows;
  bool is_column[kBlocksMax];
  uint results;  // Where the channel's begin.
  uint result;  // Where the first invocation's first row does.
  uint result_step;  // From row to row.
};

// sums[block][r] is of the row that begins r rows before the next one, and lacks the lines from that on.
struct Sums {
  float of[kBlocksMax][kRowsOfLine];
};

// What a line has for each tap of each block.
struct Pixels {
  float of[kBlocksMax][TAPS];
};

// Where the line may begin before the tensor, `is_before`, what then is left out is the tensor's first pixel.
Pixels LoadLine(Lines lines, uint line, const bool is_whole, const bool is_before) {
  const uint y = lines.top + line;
  const uint at = UNIFORM(lines.place + y * lines.step) + STEP * gl_SubgroupInvocationID;
  const uint mask = is_whole || y < lines.height ? kAllBits : 0u;
  Pixels pixels;
  [[unroll]] for (uint block = 0u; block < kBlocks; ++block) {
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      const uint of_tap = at + (STEP * kSubgroupSize * block + kDilation * x);
      uint pixel = LOAD_RAW(1, kType, is_before ? uint(max(int(of_tap), 0)) : of_tap).x & mask;
      if (IsMasked(block, x)) pixel &= lines.masks[block][x];
      pixels.of[block][x] = Decode(uvec2(pixel, 0u), kType);
    }
  }
  return pixels;
}

// What `count` lines do from `done` on, a multiple of STEP. Where they are whole, all are in the image, and each
// that can ends a row of the result.
void AddLines(Lines lines, uint done, const uint count, const bool are_whole, const bool are_before,
              inout Sums sums) {
  Pixels pixels[kLinesMax];
  [[unroll]] for (uint i = 0u; i < count; ++i) {
    if (kBlocks == 1u) pixels[i] = LoadLine(lines, done + i, are_whole, are_before);
  }
  [[unroll]] for (uint i = 0u; i < count; ++i) {
    if (kBlocks > 1u) pixels[i] = LoadLine(lines, done + i, are_whole, are_before);
    const uint of_step = i % STEP;
    const uint row = done / STEP + i / STEP - (kRowsOfLine - 1u);  // Before the first row it wraps.
    const uint to = lines.result + row * lines.result_step;
    [[unroll]] for (uint block = 0u; block < kBlocks; ++block) {
      [[unroll]] for (uint r = 0u; r < kRowsOfLine; ++r) {
        const uint tap = STEP * r + of_step;
        if (tap >= TAPS) continue;
        // Long sums are of rows of taps, so that rounding errors grow slower than the count.
        float sum = TAPS > 5u ? 0.0 : sums.of[block][r];
        [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
          sum = fma(pixels[i].of[block][x], lines.weights[min(tap, TAPS - 1u)][x], sum);
        }
        sums.of[block][r] = TAPS > 5u ? sums.of[block][r] + sum : sum;
      }
      if (of_step == kLastOfWindow && (!IsAtEnd(block) || lines.is_column[block]) &&
          (are_whole || row < lines.rows)) {
        const uint e = UNIFORM(to + kSubgroupSize * block) + gl_SubgroupInvocationID;
        float sum = sums.of[block][kRowsOfLine - 1u];
        if (kHasResidual != 0u) sum += LOAD(5, kType, e);
        STORE_ELEMENT(3, kType, e, Encode(Activate(sum), kType))
      }
      if (of_step == STEP - 1u) {
        const uint last = kRowsOfLine - 1u;
        [[unroll]] for (uint r = 0u; r < last; ++r) {
          sums.of[block][last - r] = sums.of[block][last - r - 1u];
        }
        sums.of[block][0] = lines.bias;
      }
    }
  }
}

// What all of the result's channel `plane`, of all images, has in common; of interleaved ones, in rows from `first`
// on.
Lines FindLines(uint plane, uint first) {
  uvec3 channels = P4(3).xyz;
  uint batch = Divide(plane, channels);
  uint channel = plane - batch * channels.x;
  Lines lines;
  uvec3 filter_strides = P4(5).xyz;
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      const uint e = channel * filter_strides.x + y * filter_strides.y + x * filter_strides.z;
      lines.weights[y][x] = LOAD(2, kType, UNIFORM(e));
    }
  }
  lines.bias = kHasBias != 0u ? LOAD(4, kType, UNIFORM(channel)) : 0.0;
  uvec4 strides = P4(4);
  const uint above = P4(kHeight).z;
  const uint height = P4(kHeight).x;
  lines.before = (above - min(above, first) + kInterleaved - 1u) / kInterleaved;
  const uint line = lines.before * kInterleaved + first - above;
  lines.height = (height - min(height, line) + kInterleaved - 1u) / kInterleaved;
  lines.image = batch * strides.x + channel * strides.y + line * strides.z;
  lines.step = kInterleaved * strides.z;
  lines.rows_of_all = (P(2) - min(P(2), first) + kInterleaved - 1u) / kInterleaved;
  lines.results = (plane * P(2) + first) * P(1);
  lines.result_step = kInterleaved * P(1);
  return lines;
}

// Rows from `row` on, and columns from `first` to `last`, which is beyond them.
void ComputeLines(Lines lines, uint row, uint first, uint last) {
  const uint lane = gl_SubgroupInvocationID;
  // Before the first row, and the first column, they wrap; what then is loaded, from another row or
  // none, is left out.
  const uint before = lines.before;
  lines.top = STEP * row - before;
  uint left = STEP * first - P4(kWidth).z;
  lines.place = UNIFORM(lines.image + left);
  lines.rows = min(kRowsMax, lines.rows_of_all - min(lines.rows_of_all, row));
  lines.result = UNIFORM(lines.results + row * lines.result_step + first);
  Sums sums;
  [[unroll]] for (uint block = 0u; block < kBlocks; ++block) {
    const uint column = kSubgroupSize * block + lane;
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      lines.masks[block][x] = left + kDilation * x + STEP * column < P4(kWidth).x ? kAllBits : 0u;
    }
    lines.is_column[block] = first + column < last;
    [[unroll]] for (uint r = 0u; r < kRowsOfLine; ++r) sums.of[block][r] = lines.bias;
  }
  // Interleaved images may have a band less.
  const uint end = kInterleaved > 1u && lines.rows == 0u ? 0u : STEP * (lines.rows - 1u) + TAPS;
  // Whole turns lie between those before the image, or the first row, and those behind the last line.
  const uint below = STEP * row;
  const uint begin_whole = max(TAPS - 1u, before - min(before, below));
  const uint inside = min(end, lines.height + before - min(lines.height + before, below));
  const bool is_before = int(lines.place + lines.top * lines.step) < 0;
  const uint end_before = UNIFORM(is_before ? min(end, before + P4(kWidth).z) : 0u);
  uint done = UNKNOWN_ZERO;
  for (; done < end_before; done += STEP) {
    AddLines(lines, UNIFORM(done), STEP, false, true, sums);
  }
  while (done < end) {
    AddLines(lines, UNIFORM(done), kLinesAtOnce, false, false, sums);
    done += kLinesAtOnce;
    for (; kHasWholeTurns && done >= begin_whole && done + kLinesAtOnce <= inside;
         done += kLinesAtOnce) {
      AddLines(lines, UNIFORM(done), kLinesAtOnce, true, false, sums);
    }
  }
}

// Of all channels of all images.
void ComputeAllLines(uint planes) {
  const uint rows = (P(2) + kInterleaved - 1u) / kInterleaved;
  const uint down = (rows + kRowsMax - 1u) / kRowsMax;
  // Of each kBlocks blocks, or one less.
  const uint blocks = (P(1) + kSubgroupSize - 1u) / kSubgroupSize;
  const uint across = (blocks + kBlocks - 1u) / kBlocks;
  const uint of_all = blocks - across * (kBlocks - 1u);
  const uint of_plane = down * across;  // Or of an interleaved one.
  const uint units = planes * kInterleaved * of_plane;
  uint unit = StartOfWorkgroup(gl_WorkGroupID.x, units);
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, units);
  // Counted, since a division is one for each invocation.
  uint plane = unit / of_plane;
  uint band = unit - plane * of_plane;
  uint strip = band % across;
  uint row = kRowsMax * (band / across);
  for (; unit < end; ++plane) {
    const Lines lines = FindLines(plane / kInterleaved, plane % kInterleaved);
    for (; unit < end && row < rows; ++unit) {
      const uint first = kSubgroupSize * (strip * (kBlocks - 1u) + min(strip, of_all));
      const uint next = first + kSubgroupSize * (strip < of_all ? kBlocks : kBlocks - 1u);
      ComputeLines(lines, row, first, min(next, P(1)));
      ++strip;
      const bool is_next_band = strip == across;
      if (is_next_band) strip = 0u;
      if (is_next_band) row += kRowsMax;
    }
    row = 0u;
  }
}

#endif  // WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_
