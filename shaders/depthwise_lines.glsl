// What kernels for depthwise convolutions of images whose columns lie together do of float32 where
// windows move by one: neighbouring invocations take neighbouring columns, of which llvmpipe loads and
// stores all at once, wherever in memory they begin.
//
// A workgroup, which is a subgroup there, goes down some rows of a channel, line after line of the
// image, with as many columns as it has invocations, and adds each line to all rows of the result that
// it is a part of. A line is loaded once for each tap of a row: that costs less than to take it from
// neighbours. What invocations share, UNIFORM names as such.
#ifndef WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_

#include "depthwise.glsl"
#include "subgroup.glsl"

// Of a turn: sums do not wait for where lines are, and are selected by mask once.
const uint kLinesAtOnce = TAPS == 3u ? 3u : 2u;
const uint kRowsMax = 64u;  // Of a unit, so that none loops too long.
const uint kAllBits = 0xffffffffu;

// Rows from `row` on, and columns from `first` on, of the result's channel `plane` of all images.
void ComputeLines(uint plane, uint row, uint first) {
  const uint lane = gl_SubgroupInvocationID;
  uvec3 channels = P4(3).xyz;
  uint batch = Divide(plane, channels);
  uint channel = plane - batch * channels.x;
  uint columns = P(1);

  uvec3 filter_strides = P4(5).xyz;
  float weights[TAPS][TAPS];
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      const uint e = channel * filter_strides.x + y * filter_strides.y + x * filter_strides.z;
      weights[y][x] = LOAD(2, kType, UNIFORM(e));
    }
  }
  float bias = kHasBias != 0u ? LOAD(4, kType, UNIFORM(channel)) : 0.0;

  uvec4 strides = P4(4);
  const uint height = P4(kHeight).x;
  // Before the first row, and the first column, they wrap; what then is loaded, from another row or
  // none, is left out.
  uint top = row - P4(kHeight).z;
  uint left = first - P4(kWidth).z;
  const uint image = batch * strides.x + channel * strides.y;
  uint places[TAPS];
  uint masks[TAPS];
  [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
    places[x] = UNIFORM(image + left + x) + lane;
    masks[x] = left + x + lane < P4(kWidth).x ? kAllBits : 0u;
  }
  const uint rows = min(kRowsMax, P(2) - row);
  const uint stored = first + lane < columns ? rows : 0u;
  const uint result = UNIFORM((plane * P(2) + row) * columns + first) + lane;

  // sums[y] lacks the lines from tap y on.
  float sums[TAPS];
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) sums[y] = bias;
  const uint end = rows + TAPS - 1u;
  for (uint loop = UNKNOWN_ZERO; loop < end; loop += kLinesAtOnce) {
    const uint done = UNIFORM(loop);
    float pixels[kLinesAtOnce][TAPS];
    [[unroll]] for (uint i = 0u; i < kLinesAtOnce; ++i) {
      const uint y = top + done + i;
      const uint from = UNIFORM(y * strides.z);
      const uint mask = y < height ? kAllBits : 0u;
      [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
        pixels[i][x] = uintBitsToFloat(LOAD_WORD(1, places[x] + from) & masks[x] & mask);
      }
    }
    [[unroll]] for (uint i = 0u; i < kLinesAtOnce; ++i) {
      [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
        [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
          sums[y] = fma(pixels[i][x], weights[y][x], sums[y]);
        }
      }
      const uint at = done + i - (TAPS - 1u);  // Before the first row it wraps.
      const uint to = UNIFORM(at * columns);
      if (at < stored) {
        float sum = sums[TAPS - 1u];
        if (kHasResidual != 0u) sum += uintBitsToFloat(LOAD_WORD(5, result + to));
        STORE_WORD(3, result + to, floatBitsToUint(Activate(sum)));
      }
      [[unroll]] for (uint y = 1u; y < TAPS; ++y) sums[TAPS - y] = sums[TAPS - y - 1u];
      sums[0] = bias;
    }
  }
}

// Of all channels of all images.
void ComputeAllLines(uint planes) {
  const uint down = (P(2) + kRowsMax - 1u) / kRowsMax;
  const uint across = (P(1) + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
  const uint units = planes * down * across;
  uint unit = StartOfWorkgroup(gl_WorkGroupID.x, units);
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, units);
  // Counted, since a division is one for each invocation.
  uint band = unit / across;
  uint block = unit - band * across;
  uint plane = band / down;
  uint row = kRowsMax * (band - plane * down);
  for (; unit < end; ++unit) {
    ComputeLines(plane, row, block * gl_WorkGroupSize.x);
    ++block;
    const bool is_next_band = block == across;
    if (is_next_band) block = 0u;
    if (is_next_band) row += kRowsMax;
    const bool is_next_plane = row >= P(2);
    if (is_next_plane) row = 0u;
    if (is_next_plane) ++plane;
  }
}

#endif  // WEBNND_SHADERS_DEPTHWISE_LINES_GLSL_
