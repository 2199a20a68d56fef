// What depthwise_conv2d.comp does on llvmpipe where channels come last: neighbouring invocations
// take neighbouring channels, of which all are loaded and stored at once.
//
// A workgroup, which is one subgroup, takes kRowsAtOnce rows of the result, or a part of them where they
// are long, for as many channels as it has invocations, and of those kColumnsAtOnce columns at a time.
// They lie so far apart that what is under the taps of one is under those of another, however dilated
// windows are: a pixel is loaded once for all of them. What invocations share, UNIFORM names as such.
#ifndef WEBNND_SHADERS_DEPTHWISE_ANY_WINDOW_GLSL_
#define WEBNND_SHADERS_DEPTHWISE_ANY_WINDOW_GLSL_

#include "depthwise.glsl"
#include "subgroup.glsl"

layout(constant_id = 8) const uint kTapsOfRow = 1u;
layout(constant_id = 9) const uint kColumnsAtOnce = 0u;  // 0: others compute it.
// From one of these columns to the next, in steps from tap to tap. In columns it is P4(3).w.
layout(constant_id = 10) const uint kTapsApart = 1u;
layout(constant_id = 11) const uint kRowsAtOnce = 1u;  // P4(2).w rows apart.

// kColumnsMax, kTapsMax and kTapsApartMax of service/passes/depthwise_convolution.cc.
const uint kColumnsMax = 8u;
const uint kTapsMax = 32u;
const uint kTapsApartMax = 4u;
const uint kPlacesMax = (kColumnsMax - 1u) * kTapsApartMax + kTapsMax;
const uint kRowsMax = 2u;

// Pixels of a line that the columns have under their taps, with those between them.
const uint kPlaces = (kColumnsAtOnce - 1u) * kTapsApart + kTapsOfRow;

const uint kAllBits = 0xffffffffu;

// Distances, in elements but where it says otherwise, found once: parameters are looked up by each invocation.
struct Steps {
  uint line;  // From a row of taps to the next.
  uint column;  // From tap to tap, in pixels.
  uint tap;  // The same.
  uint width;  // Of the image, in pixels.
  uint taps_line;
  uint taps_column;
  uint taps_channel;
  uint second;  // From the first row's lines to the second one's, in steps from a row of taps to the next.
};

// Rows of the result, for a group of channels.
struct ChannelRows {
  uint image;  // Where the batch's begins, for the first channel.
  uint line;  // The same of the line under the first tap of the first row; before the first one it wraps.
  uint filter_from;
  uint result;
  uint has_second;  // 1, or 0.
  // Lines for the first row alone, for both, and for the second one alone: from the first of these on
  // to before the next.
  uvec4 lines;
  float bias;
  bool stores;  // This invocation's channel is no other group's.
};

struct Sums {
  float of[kRowsMax][kColumnsMax];
};

// What the columns see of line `y`, counted from rows.line on: the first one's first tap is in column `left` of the
// image, which before the first one wraps, and at `first` in line 0. Where they are whole, they see nothing outside
// of the image.
void AddLine(Steps steps, ChannelRows rows, uint y, uint left, uint first, const bool are_whole,
             const uint begin_row, const uint end_row, inout Sums sums) {
  const uint lane = gl_SubgroupInvocationID;
  float weights[kRowsMax][kTapsMax];
  [[unroll]] for (uint r = begin_row; r < end_row; ++r) {
    const uint taps = rows.filter_from + (y - r * steps.second) * steps.taps_line;
    [[unroll]] for (uint kx = 0u; kx < kTapsMax; ++kx) {
      if (kx >= kTapsOfRow) break;
      const uint from = UNIFORM(taps + kx * steps.taps_column);
      const uint own = kFilterByFour != 0u ? lane : lane * steps.taps_channel;
      weights[r][kx] = LOAD(2, kType, from + own);
    }
  }
  const uint line = first + y * steps.line;
  [[unroll]] for (uint place = 0u; place < kPlacesMax; ++place) {
    if (place >= kPlaces) break;
    if (place % kTapsApart >= kTapsOfRow) continue;
    const bool is_inside = are_whole || left + place * steps.column < steps.width;
    uint bits = LOAD_RAW(1, kType, UNIFORM(is_inside ? line + place * steps.tap : rows.image) + lane).x;
    if (!are_whole) bits &= UNIFORM(is_inside ? kAllBits : 0u);
    const float pixel = Decode(uvec2(bits, 0u), kType);
    [[unroll]] for (uint r = begin_row; r < end_row; ++r) {
      [[unroll]] for (uint j = 0u; j < kColumnsAtOnce; ++j) {
        const uint kx = place - j * kTapsApart;
        if (kx < kTapsOfRow) {
          sums.of[r][j] = fma(pixel, weights[r][min(kx, kTapsMax - 1u)], sums.of[r][j]);
        }
      }
    }
  }
}

// `column`, and others behind it. Where they are whole, all are in the rows, too.
void ComputeColumns(Steps steps, ChannelRows rows, uint column, const bool are_whole) {
  Sums sums;
  [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) {
    [[unroll]] for (uint j = 0u; j < kColumnsAtOnce; ++j) sums.of[r][j] = rows.bias;
  }
  const uint left = UNIFORM(WindowStart(kWidth, column));
  const uint first = UNIFORM(rows.line + left * P4(4).w);
  for (uint y = rows.lines.x; y < rows.lines.y; ++y) {
    AddLine(steps, rows, UNIFORM(y), left, first, are_whole, 0u, 1u, sums);
  }
  if (kRowsAtOnce > 1u) {
    for (uint y = rows.lines.y; y < rows.lines.z; ++y) {
      AddLine(steps, rows, UNIFORM(y), left, first, are_whole, 0u, 2u, sums);
    }
    for (uint y = rows.lines.z; y < rows.lines.w; ++y) {
      AddLine(steps, rows, UNIFORM(y), left, first, are_whole, 1u, 2u, sums);
    }
  }
  const uint columns = UNIFORM(P4(5).w);
  const uint apart = UNIFORM(P4(3).w);
  const uint to_column = UNIFORM(P(1));
  const uint to_row = UNIFORM(P4(2).w * columns * to_column);
  [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) {
    [[unroll]] for (uint j = 0u; j < kColumnsAtOnce; ++j) {
      const uint own = column + j * apart;
      if (rows.stores && r <= rows.has_second && (are_whole || own < columns)) {
        const uint to = UNIFORM(rows.result + r * to_row + own * to_column) + gl_SubgroupInvocationID;
        float sum = sums.of[r][j];
        if (kHasResidual != 0u) sum += LOAD(5, kType, to);
        STORE_ELEMENT(3, kType, to, Encode(Activate(sum), kType))
      }
    }
  }
}

// Row `row` of the batch's result, and the one P4(2).w behind it.
ChannelRows FindChannelRows(Steps steps, uint batch, uint row, uint group) {
  // The last group has channels of the one before it, too, lest it reach beyond them.
  const uint own = group * kSubgroupSize;
  const uint first = UNIFORM(min(own, P(1) - kSubgroupSize));
  const uint channel = first + gl_SubgroupInvocationID;
  const bool has_second = kRowsAtOnce > 1u && row + P4(2).w < P(2);
  uvec2 of_first = TapsInside(kHeight, row);
  uvec2 of_second = TapsInside(kHeight, row + P4(2).w) + steps.second;
  // One that has none has them where the other one's end, or begin. The second one's begin among the first one's.
  if (!has_second || of_second.x >= of_second.y) of_second = of_first.yy;
  if (of_first.x >= of_first.y) of_first = of_second.xx;
  ChannelRows rows;
  rows.image = UNIFORM(batch * P4(4).x + first);
  rows.line = UNIFORM(rows.image + WindowStart(kHeight, row) * P4(4).z);
  rows.filter_from = UNIFORM(first * P4(5).x);
  rows.result = UNIFORM(((batch * P(2) + row) * P4(5).w) * P(1) + first);
  rows.has_second = has_second ? 1u : 0u;
  rows.lines = uvec4(UNIFORM(of_first.x), UNIFORM(max(of_first.x, of_second.x)), UNIFORM(of_first.y),
                     UNIFORM(of_second.y));
  rows.bias = kHasBias != 0u ? LOAD(4, kType, channel) : 0.0;
  rows.stores = channel >= own;
  return rows;
}

Steps FindSteps() {
  const uvec4 pixels = P4(4);
  const uvec3 taps = P4(5).xyz;
  const uint dilation = WINDOW_DILATION(kWidth);
  Steps steps;
  steps.line = UNIFORM(WINDOW_DILATION(kHeight) * pixels.z);
  steps.column = UNIFORM(dilation);
  steps.tap = UNIFORM(dilation * pixels.w);
  steps.width = UNIFORM(P4(kWidth).x);
  steps.taps_line = UNIFORM(taps.y);
  steps.taps_column = UNIFORM(taps.z);
  steps.taps_channel = UNIFORM(taps.x);
  steps.second = UNIFORM(Divide(P4(2).w * WINDOW_STRIDE(kHeight), P4(kHeight + 1u).xyz));
  return steps;
}

// Columns that are the first of whole ones: from .x on to before .y.
uvec2 WholeColumns() {
  const uint padding = P4(kWidth).z;
  const uint end = P4(kWidth).x + padding;
  const uvec3 stride = P4(kWidth + 2u).xyz;
  const uint extent = (kPlaces - 1u) * WINDOW_DILATION(kWidth) + 1u;
  const uint behind = (kColumnsAtOnce - 1u) * P4(3).w;
  const uint inside = extent <= end ? Divide(end - extent, stride) + 1u : 0u;
  const uint in_row = P4(5).w - min(P4(5).w, behind);
  const uint begin = padding > 0u ? Divide(padding - 1u, stride) + 1u : 0u;
  return uvec2(UNIFORM(begin), UNIFORM(min(inside, in_row)));
}

void ComputeByChannels() {
  const Steps steps = FindSteps();
  const uvec2 whole = WholeColumns();
  const uint columns = P4(5).w;
  const uint apart = P4(3).w;
  const uint turn = kColumnsAtOnce * apart;
  // Rows are taken from blocks, each row with the one rows_apart behind it.
  const uint rows_apart = P4(2).w;
  const uint rows_of_block = kRowsAtOnce * rows_apart;
  const uint down = (P(2) + rows_of_block - 1u) / rows_of_block * rows_apart;
  const uint batches = Divide(Divide(Divide(P(0), P4(1).xyz), P4(2).xyz), P4(3).xyz);
  const uint part = P4(1).w * turn;  // P4(1).w turns.
  const uint parts = (columns + part - 1u) / part;
  const uint groups = (P(1) + kSubgroupSize - 1u) / kSubgroupSize;
  const uint units = groups * parts * batches * down;
  uint unit = StartOfWorkgroup(gl_WorkGroupID.x, units);
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, units);
  // Counted, since a division is one for each invocation.
  uint part_of_line = unit / groups;
  uint group = unit - part_of_line * groups;
  const uint line = part_of_line / parts;
  part_of_line -= line * parts;
  uint batch = line / down;
  uint place = line - batch * down;
  uint in_block = place % rows_apart;
  uint row = place / rows_apart * rows_of_block + in_block;
  for (; unit < end; ++unit) {
    const ChannelRows rows = FindChannelRows(steps, batch, row, group);
    const uint begin = part_of_line * part;
    const uint end_of_part = row < P(2) ? min(columns, begin + part) : 0u;
    for (uint first = begin + UNKNOWN_ZERO; first < min(begin + apart, end_of_part); ++first) {
      for (uint column = first; column < end_of_part;) {
        ComputeColumns(steps, rows, column, false);
        column += turn;
        for (; column >= whole.x && column < min(whole.y, end_of_part); column += turn) {
          ComputeColumns(steps, rows, column, true);
        }
      }
    }
    ++group;
    const bool is_next_part = group == groups;
    if (is_next_part) group = 0u;
    if (is_next_part) ++part_of_line;
    const bool is_next_line = part_of_line == parts;
    if (is_next_line) part_of_line = 0u;
    if (is_next_line) ++place;
    if (is_next_line) ++row;
    if (is_next_line) ++in_block;
    const bool is_next_block = in_block == rows_apart;
    if (is_next_block) in_block = 0u;
    if (is_next_block) row += rows_of_block - rows_apart;
    const bool is_next_image = place == down;
    if (is_next_image) place = 0u;
    if (is_next_image) row = 0u;
    if (is_next_image) ++batch;
  }
}

#endif  // WEBNND_SHADERS_DEPTHWISE_ANY_WINDOW_GLSL_
