// What kernels for depthwise convolutions of images whose columns lie together do of float32, with
// windows of TAPS by TAPS that move by STEP, 1 or 2: neighbouring invocations take neighbouring columns
// of the result, of which llvmpipe loads and stores all at once, wherever in memory they begin.
//
// A workgroup, which is a subgroup there, goes down some rows of a channel, line after line of the
// image, with as many columns as it has invocations, and adds each line to all rows of the result that
// it is a part of. A line is loaded once for each tap of a row: that costs less than to take it from
// neighbours, and constants away from the first tap it is checked with that
// (base/drivers_llvm/lane_loads.h). What invocations share, UNIFORM names as such.
//
// Who includes it says whether images mostly have so many lines that a loop of its own pays for those
// inside: kHasWholeTurns; and which specialisation constant has a bit for each tap of a row that lies
// outside of the image for some column of the result: MASKED_TAPS_CONSTANT.
#ifndef WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_

#include "depthwise.glsl"
#include "subgroup.glsl"

layout(constant_id = MASKED_TAPS_CONSTANT) const uint kMaskedTaps = 0xffu;

// Of a turn: sums do not wait for where lines are, and are selected by mask once.
const uint kLinesAtOnce = TAPS == 3u && STEP == 1u ? 3u : 2u;
// Rows of the result that a line is a part of, at most, and where in a turn lines end one.
const uint kRowsOfLine = (TAPS + STEP - 1u) / STEP;
const uint kLastOfWindow = (TAPS - 1u) % STEP;
const uint kRowsMax = 64u;  // Of a unit, so that none loops too long.
const uint kAllBits = 0xffffffffu;

// What a workgroup knows of the lines that it goes down.
struct Lines {
  float weights[TAPS][TAPS];
  float bias;
  uint plane;
  uint image;  // Where the channel's begins.
  uint top;  // Before the first row it wraps.
  uint height;
  uint step;  // From line to line.
  uint place;  // Of the first line's first pixel for the first tap of a row; others follow.
  uint masks[TAPS];
  uint columns;
  uint rows;
  bool is_column;
  uint result;
};

// What lines do from `done` on, a multiple of STEP: sums[r] is of the row that begins r rows before the
// next one, and lacks the lines of these. Where they are whole, all are in the image, and each that can
// ends a row of the result.
void AddLines(Lines lines, uint done, const bool are_whole, inout float sums[kRowsOfLine]) {
  float pixels[kLinesAtOnce][TAPS];
  [[unroll]] for (uint i = 0u; i < kLinesAtOnce; ++i) {
    const uint y = lines.top + done + i;
    const uint at = UNIFORM(lines.place + y * lines.step) + STEP * gl_SubgroupInvocationID;
    const uint mask = are_whole || y < lines.height ? kAllBits : 0u;
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      uint pixel = LOAD_WORD(1, at + x) & mask;
      if (((kMaskedTaps >> x) & 1u) != 0u) pixel &= lines.masks[x];
      pixels[i][x] = uintBitsToFloat(pixel);
    }
  }
  [[unroll]] for (uint i = 0u; i < kLinesAtOnce; ++i) {
    const uint of_step = i % STEP;
    [[unroll]] for (uint r = 0u; r < kRowsOfLine; ++r) {
      const uint y = STEP * r + of_step;
      if (y >= TAPS) continue;
      [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
        sums[r] = fma(pixels[i][x], lines.weights[min(y, TAPS - 1u)][x], sums[r]);
      }
    }
    if (of_step == kLastOfWindow) {
      const uint at = done / STEP + i / STEP - (kRowsOfLine - 1u);  // Before the first row it wraps.
      const uint to = UNIFORM(at * lines.columns);
      if (lines.is_column && (are_whole || at < lines.rows)) {
        float sum = sums[kRowsOfLine - 1u];
        if (kHasResidual != 0u) sum += uintBitsToFloat(LOAD_WORD(5, lines.result + to));
        STORE_WORD(3, lines.result + to, floatBitsToUint(Activate(sum)));
      }
    }
    if (of_step == STEP - 1u) {
      const uint last = kRowsOfLine - 1u;
      [[unroll]] for (uint r = 0u; r < last; ++r) sums[last - r] = sums[last - r - 1u];
      sums[0] = lines.bias;
    }
  }
}

// What all of the result's channel `plane`, of all images, has in common.
Lines FindLines(uint plane) {
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
  lines.image = batch * strides.x + channel * strides.y;
  lines.plane = plane;
  lines.step = strides.z;
  lines.height = P4(kHeight).x;
  lines.columns = P(1);
  return lines;
}

// Rows from `row` on, and columns from `first` on.
void ComputeLines(Lines lines, uint row, uint first) {
  const uint lane = gl_SubgroupInvocationID;
  // Before the first row, and the first column, they wrap; what then is loaded, from another row or
  // none, is left out.
  const uint before = P4(kHeight).z;
  lines.top = STEP * row - before;
  uint left = STEP * first - P4(kWidth).z;
  lines.place = UNIFORM(lines.image + left);
  [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
    lines.masks[x] = left + x + STEP * lane < P4(kWidth).x ? kAllBits : 0u;
  }
  lines.rows = min(kRowsMax, P(2) - row);
  lines.is_column = first + lane < lines.columns;
  lines.result = UNIFORM((lines.plane * P(2) + row) * lines.columns + first) + lane;

  float sums[kRowsOfLine];
  [[unroll]] for (uint r = 0u; r < kRowsOfLine; ++r) sums[r] = lines.bias;
  const uint end = STEP * (lines.rows - 1u) + TAPS;
  // Whole turns lie between those before the image, or the first row, and those behind the last line.
  const uint below = STEP * row;
  const uint begin_whole = max(TAPS - 1u, before - min(before, below));
  const uint inside = min(end, lines.height + before - min(lines.height + before, below));
  const uint end_whole = inside / kLinesAtOnce * kLinesAtOnce;
  for (uint done = UNKNOWN_ZERO; done < end;) {
    AddLines(lines, UNIFORM(done), false, sums);
    done += kLinesAtOnce;
    for (; kHasWholeTurns && done >= begin_whole && done < end_whole; done += kLinesAtOnce) {
      AddLines(lines, UNIFORM(done), true, sums);
    }
  }
}

// Of all channels of all images.
void ComputeAllLines(uint planes) {
  const uint down = (P(2) + kRowsMax - 1u) / kRowsMax;
  const uint across = (P(1) + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
  const uint of_plane = down * across;
  const uint units = planes * of_plane;
  uint unit = StartOfWorkgroup(gl_WorkGroupID.x, units);
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, units);
  // Counted, since a division is one for each invocation.
  uint plane = unit / of_plane;
  uint band = unit - plane * of_plane;
  uint block = band % across;
  uint row = kRowsMax * (band / across);
  for (; unit < end; ++plane) {
    const Lines lines = FindLines(plane);
    for (; unit < end && row < P(2); ++unit) {
      ComputeLines(lines, row, block * gl_WorkGroupSize.x);
      ++block;
      const bool is_next_band = block == across;
      if (is_next_band) block = 0u;
      if (is_next_band) row += kRowsMax;
    }
    row = 0u;
  }
}

#endif  // WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_
