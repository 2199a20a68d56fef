// Convolutions of one channel for each, against double loops over every tap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <utility>

#include "tests/service/convolution_reference.h"
#include "tests/support/sample.h"

namespace webnnd::service::image_test {
namespace {

// Of images whose channels lie together, as those of their filter.
Conv2dAttributes ChannelsLast(uint32_t channels, List padding, List strides) {
  return {.padding = std::move(padding),
          .strides = std::move(strides),
          .groups = channels,
          .input_layout = InputOperandLayout::kNhwc,
          .filter_layout = Conv2dFilterOperandLayout::kIhwo};
}

TEST(LowerDepthwise, BothLayouts_MatchReference) {
  for (auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
    Conv2dAttributes attributes{.padding = List{1, 1, 1, 1}, .groups = 9, .input_layout = layout};
    ExpectConvolves(attributes, kFloat, {2, 9, 8, 7}, {9, 1, 3, 3}, true, 1);
    ExpectConvolves(attributes, kHalf, {1, 9, 5, 7}, {9, 1, 3, 3}, false, 2);
  }
}

TEST(LowerDepthwise, ByFours_MatchReference) {
  std::mt19937 random(7);
  for (const uint32_t turn : SampledTurns(32, 4)) {
    Conv2dAttributes attributes;
    attributes.input_layout = static_cast<InputOperandLayout>(turn % 2);
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 2 % 4);
    attributes.groups = 4 * Pick(random, 1, 3);
    if (turn % 3 != 0)
      attributes.padding =
          List{Pick(random, 0, 4), Pick(random, 0, 4), Pick(random, 0, 4), Pick(random, 0, 4)};
    if (turn % 5 != 0) attributes.strides = List{Pick(random, 1, 3), Pick(random, 1, 3)};
    if (turn % 7 != 0) attributes.dilations = List{Pick(random, 1, 2), Pick(random, 1, 3)};
    // Lines that are a multiple of four, and such that are not.
    Shape input = {Pick(random, 1, 2), attributes.groups, Pick(random, 7, 13),
                   turn % 4 == 0 ? 16 : Pick(random, 7, 13)};
    Shape filter = {attributes.groups, 1, Pick(random, 1, 3), Pick(random, 1, 3)};
    ExpectConvolves(attributes, turn % 8 < 4 ? kHalf : kFloat, input, filter, turn % 3 == 0,
                    100 * turn);
  }
}

// Other windows: rows by words, shorter than a vector of lanes, of parts of one, of three vectors
// and more, which go four at a time, and more taps than are unrolled.
TEST(LowerDepthwise, RowsByWords_MatchReference) {
  std::mt19937 random(13);
  for (const uint32_t turn : SampledTurns(32, 4, /*step=*/7)) {
    Conv2dAttributes attributes;
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 4 % 4);
    attributes.groups = Pick(random, 2, 5);
    attributes.strides = List{Pick(random, 1, 3), Pick(random, 1, 2)};
    attributes.dilations = List{Pick(random, 1, 2), Pick(random, 1, 3)};
    if (turn % 3 != 0) {
      attributes.padding =
          List{Pick(random, 0, 3), Pick(random, 0, 3), Pick(random, 0, 9), Pick(random, 0, 9)};
    }
    const uint32_t columns = turn % 3 == 1 ? Pick(random, 24, 33) : Pick(random, 60, 150);
    const uint32_t taps = turn % 9 == 0 ? Pick(random, 17, 20) : Pick(random, 2, 7);
    ExpectConvolves(attributes, kFloat,
                    {Pick(random, 1, 2), attributes.groups, Pick(random, 12, 14), columns},
                    {attributes.groups, 1, Pick(random, 1, 6), taps}, turn % 3 == 0, 100 * turn);
  }
}

// Where one row, or rows of which none has the lanes of a subgroup, take more turns than a kernel
// may.
TEST(LowerDepthwise, RowsOfManyTurns_MatchReference) {
  Conv2dAttributes attributes;
  ExpectConvolves(attributes, kFloat, {1, 1, 1, 2200000}, {1, 1, 1, 2}, true, 1);
  attributes.groups = 256;
  ExpectConvolves(attributes, kFloat, {1, 256, 512, 2}, {256, 1, 1, 1}, false, 2);
  ExpectConvolves(attributes, kFloat, {1, 256, 512, 1}, {256, 1, 1, 1}, false, 3);
}

// Windows of 3 and 5 that move alike both ways, anywhere in lines of any length.
TEST(LowerDepthwise, ByBlocks_MatchReference) {
  std::mt19937 random(11);
  Sample sample(7);
  for (uint32_t turn = 0; turn < 32; ++turn) {
    if (!sample.Takes()) continue;
    const uint32_t window = turn % 2 == 0 ? 3 : 5;
    const uint32_t step = turn % 4 < 2 ? 1 : 2;
    Conv2dAttributes attributes;
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 4 % 4);
    attributes.groups = Pick(random, 2, 5);
    attributes.strides = List{step, step};
    if (turn % 3 != 0) {
      attributes.padding =
          List{Pick(random, 0, 3), Pick(random, 0, 3), Pick(random, 0, 6), Pick(random, 0, 6)};
    }
    Shape input = {Pick(random, 1, 2), attributes.groups, Pick(random, 5, 19),
                   turn % 8 < 4 ? 16 : Pick(random, 5, 19)};
    Shape filter = {attributes.groups, 1, window, window};
    ExpectConvolves(attributes, turn % 5 < 2 ? kHalf : kFloat, input, filter, turn % 3 == 0,
                    100 * turn);
  }
  // The same where channels lie together.
  for (uint32_t turn = 0; turn < 16; ++turn) {
    if (!sample.Takes()) continue;
    const uint32_t step = turn % 2 == 0 ? 1 : 2;
    Conv2dAttributes attributes{.strides = List{step, step},
                                .groups = 4 * Pick(random, 1, 3),
                                .input_layout = InputOperandLayout::kNhwc};
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 4 % 4);
    if (turn % 3 != 0) {
      attributes.padding =
          List{Pick(random, 0, 3), Pick(random, 0, 3), Pick(random, 0, 6), Pick(random, 0, 6)};
    }
    Shape input = {Pick(random, 1, 2), attributes.groups, Pick(random, 3, 13), Pick(random, 3, 13)};
    Shape filter = {attributes.groups, 1, 3, 3};
    ExpectConvolves(attributes, turn % 5 < 2 ? kHalf : kFloat, input, filter, turn % 3 == 0,
                    300 * turn);
  }
  // Blocks that end below the image, one column, and one row that moves by another step.
  ExpectConvolves(Conv2dAttributes{.padding = List{1, 1, 1, 1}, .groups = 2}, kFloat, {1, 2, 1, 1},
                  {2, 1, 3, 3}, true, 1);
  ExpectConvolves(Conv2dAttributes{.strides = List{1, 2}, .groups = 2}, kFloat, {1, 2, 3, 20},
                  {2, 1, 3, 3}, true, 2);
  // In images that have lines for more of them; the next ones are others' to compute.
  for (const uint32_t step : {1u, 2u}) {
    const Conv2dAttributes attributes = ChannelsLast(16, List{0, 0, 0, 0}, List{4 * step, step});
    ExpectConvolves(attributes, kFloat, {64, 16, step == 1 ? 6u : 10u, 8 * step}, {16, 1, 3, 3},
                    true, 3);
  }
}

// Results as large as images, in rows that are no whole fours: with quads in two rows, and in two
// channels or two images, from each place of the window.
TEST(LowerDepthwise, AsLargeAsTheImage_MatchesReference) {
  for (uint32_t turn = 0; turn < 24; ++turn) {
    if (!IsThorough() && turn % 3 != 1) continue;
    const uint32_t window = turn % 2 == 0 ? 3 : 5;
    const uint32_t above = turn % window;
    const uint32_t before = turn / 2 % window;
    Conv2dAttributes attributes{
        .padding = List{above, window - 1 - above, before, window - 1 - before},
        .groups = turn % 4 < 2 ? 4u : 6u,
        .filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 4 % 4)};
    const Shape images[] = {{2, attributes.groups, 14, 14},
                            {2, attributes.groups, 7, 7},
                            {2, attributes.groups, 1, 5},
                            {2, attributes.groups, 3, 6},
                            {1, attributes.groups, 6, 8}};
    ExpectConvolves(attributes, turn % 7 == 4 ? kHalf : kFloat, images[turn % 5],
                    {attributes.groups, 1, window, window}, turn % 3 == 0, 400 + turn);
  }
}

// Kernels that go along rows, or down: from each place in a four, with rows that are left over; in
// lines that are no multiple of four, which other kernels take; in lines that more than one
// subgroup shares; and with more than one unit across, or down.
TEST(LowerDepthwise, AlongRows_MatchReference) {
  for (uint32_t padding = 0; padding < 6; ++padding) {
    for (const uint32_t step : {1u, 2u}) {
      if (!IsThorough() && step == 2 && padding % 3 != 2) continue;
      Conv2dAttributes attributes{.padding = List{2, 1, padding, 6 - padding},
                                  .strides = List{step, step},
                                  .groups = 4,
                                  .filter_layout = static_cast<Conv2dFilterOperandLayout>(step)};
      const uint32_t seed = 10 * padding + step;
      ExpectConvolves(attributes, kFloat, {2, 4, 9, 20}, {4, 1, 3, 3}, true, seed);
      ExpectConvolves(attributes, kHalf, {1, 4, 10, 12}, {4, 1, 3, 3}, false, seed + 100);
      ExpectConvolves(attributes, kFloat, {1, 4, 4, 132}, {4, 1, 3, 3}, true, seed + 150);
      ExpectConvolves(attributes, kFloat, {1, 4, 9, 19}, {4, 1, 3, 3}, true, seed + 200);
    }
  }
  for (const auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
    for (const uint32_t step : {1u, 2u}) {
      Conv2dAttributes attributes{.padding = List{1, 1, 1, 1},
                                  .strides = List{step, step},
                                  .groups = 4,
                                  .input_layout = layout};
      ExpectConvolves(attributes, kFloat, {1, 4, 6, 264 * step}, {4, 1, 3, 3}, true, 300 + step);
      ExpectConvolves(attributes, kHalf, {1, 4, 5, 65 * step}, {4, 1, 3, 3}, false, 310 + step);
      ExpectConvolves(attributes, kFloat, {2, 4, 131 * step, 8}, {4, 1, 3, 3}, true, 320 + step);
    }
  }
}

// Of any number of blocks of columns side by side (depthwise_lines.glsl), in one strip and in more:
// rows that end with a block, before, and behind one, with as many taps outside as blocks may have,
// and more.
TEST(LowerDepthwise, OfAnyWidth_MatchesReference) {
  Sample sample(6);
  for (const uint32_t blocks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 10u, 13u}) {
    for (const uint32_t turn : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
      if (!sample.Takes()) continue;
      const uint32_t window = turn % 2 == 0 ? 3 : 5;
      const uint32_t step = turn % 4 < 2 ? 1 : 2;
      for (const uint32_t width : {16 * blocks - 1, 16 * blocks, 16 * blocks + 1}) {
        const uint32_t behind = turn < 4 ? window / 2 : window - 1;
        Conv2dAttributes attributes{.padding = List{1, window - 2, window / 2, behind},
                                    .strides = List{step, step},
                                    .groups = 3};
        const uint32_t columns = (width - 1) * step + window - window / 2 - behind;
        ExpectConvolves(attributes, kFloat, {1, 3, 6, columns}, {3, 1, window, window}, true,
                        900 + width);
      }
    }
  }
}

// Signals: images of one row, and of one column, which go as such of one row; shorter than a
// window, and with stretches that see nothing outside, with more taps than are unrolled and less.
TEST(LowerDepthwise, OfSignals_MatchesReference) {
  std::mt19937 random(23);
  for (const uint32_t turn : SampledTurns(48, 3, /*step=*/5)) {
    constexpr uint32_t kTaps[] = {1, 3, 4, 7, 31, 40};
    constexpr uint32_t kLengths[] = {1, 30, 140, 400};
    const uint32_t taps = kTaps[turn % 6];
    const uint32_t dilation = turn % 5 == 0 ? Pick(random, 2, 4) : 1;
    const uint32_t stride = turn % 7 == 0 ? 2 : 1;
    const uint32_t reach = (taps - 1) * dilation;
    const uint32_t length = kLengths[turn / 6 % 4] + (turn % 4 == 3 ? reach : 0);
    const uint32_t before = turn % 4 == 3 ? 0 : turn % 4 == 2 ? reach : reach / 2;
    const uint32_t behind = turn % 4 == 3 ? 0 : reach - before;
    const bool is_column = turn % 8 < 4;
    const bool is_last = turn % 3 == 1;
    const uint32_t channels = is_last ? 20 : 6;
    Conv2dAttributes attributes{.groups = channels};
    attributes.padding = is_column ? List{before, behind, 0, 0} : List{0, 0, before, behind};
    attributes.strides = is_column ? List{stride, 1} : List{1, stride};
    attributes.dilations = is_column ? List{dilation, 1} : List{1, dilation};
    if (is_last) attributes.input_layout = InputOperandLayout::kNhwc;
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 2 % 4);
    ExpectConvolves(attributes, turn % 9 == 8 ? kHalf : kFloat,
                    is_column ? Shape{2, channels, length, 1} : Shape{2, channels, 1, length},
                    is_column ? Shape{channels, 1, taps, 1} : Shape{channels, 1, 1, taps},
                    turn % 2 == 0, 4000 + 10 * turn);
  }
}

// As much padding before the image as windows of 7 may have, which with short vectors is more than
// a block.
TEST(LowerDepthwise, OfWindowsFarBeforeTheImage_MatchReference) {
  for (const uint32_t before : {3u, 4u, 5u, 6u}) {
    const Conv2dAttributes attributes{.padding = List{3, 3, before, 3}, .groups = 3};
    ExpectConvolves(attributes, kFloat, {1, 3, 9, 30}, {3, 1, 7, 7}, true, 680 + before);
  }
}

// Windows of 7, and dilated ones, whose rows lie interleaved (depthwise_lines.glsl): in blocks side
// by side and in one, as far outside as these may have it and further, with fewer rows than are
// interleaved and with more than a unit goes down.
TEST(LowerDepthwise, ByInterleavedLines_MatchesReference) {
  std::mt19937 random(19);
  for (const uint32_t turn : SampledTurns(48, 3, /*step=*/5)) {
    constexpr uint32_t kWindows[] = {3, 5, 7};
    const uint32_t window = kWindows[turn % 3];
    const List dilations =
        turn % 6 == 2 ? List{1, 1} : List{Pick(random, 1, 5), Pick(random, 1, 5)};
    const uint32_t rows = (window - 1) * dilations[0] + 1;
    const uint32_t columns = (window - 1) * dilations[1] + 1;
    Conv2dAttributes attributes{
        .dilations = dilations,
        .groups = 3,
        .filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 3 % 4)};
    if (turn % 4 == 1) {
      attributes.padding = List{Pick(random, 0, 2 * rows), Pick(random, 0, 2 * rows),
                                Pick(random, 0, 2 * columns), Pick(random, 0, 2 * columns)};
    } else if (turn % 4 != 0) {
      attributes.padding = List{rows / 2, rows / 2, columns / 2, columns / 2};
    }
    const uint32_t height = turn % 8 == 3 ? 150 : Pick(random, 1, 20);
    const uint32_t width = 16 * Pick(random, 0, 9) + Pick(random, 1, 16);
    // At least what a window needs beside the padding.
    const List padding = attributes.padding.value_or(List{0, 0, 0, 0});
    const uint32_t height_min = rows - std::min(rows - 1, padding[0] + padding[1]);
    const uint32_t width_min = columns - std::min(columns - 1, padding[2] + padding[3]);
    ExpectConvolves(
        attributes, kFloat,
        {Pick(random, 1, 2), 3, std::max(height, height_min), std::max(width, width_min)},
        {3, 1, window, window}, turn % 2 == 0, 3000 + 10 * turn);
  }
}

// Enough channels for a subgroup, and such that the last one has too many invocations for; rows and
// columns that are left over, in one unit across and in more.
TEST(LowerDepthwise, OfManyChannels_MatchesReference) {
  for (uint32_t turn = 0; turn < 16; ++turn) {
    if (!IsThorough() && turn % 3 != 1) continue;
    const uint32_t step = turn % 2 == 0 ? 1 : 2;
    const uint32_t channels[] = {16, 20, 36, 64};
    Conv2dAttributes attributes{
        .padding = List{turn % 3, (turn + 1) % 3, turn / 2 % 3, (turn / 2 + 1) % 3},
        .strides = List{step, step},
        .groups = channels[turn / 2 % 4],
        .input_layout = InputOperandLayout::kNhwc,
        .filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 4 % 4)};
    const Shape images[] = {{2, attributes.groups, 9, 7},
                            {1, attributes.groups, 4, 12},
                            {1, attributes.groups, 3, 65 * step + 3}};
    for (uint32_t i = 0; i < 3; ++i) {
      ExpectConvolves(attributes, kFloat, images[i], {attributes.groups, 1, 3, 3},
                      turn / 2 % 2 == 0, 500 + 10 * turn + i);
    }
  }
}

// Channels whose groups take turns, two and two, several times.
TEST(LowerDepthwise, OfChannelsByPairsOfGroups_MatchesReference) {
  for (const uint32_t step : {1u, 2u}) {
    const Conv2dAttributes attributes = ChannelsLast(96, List{1, 0, 1, 1}, List{step, step});
    ExpectConvolves(attributes, kFloat, {2, 96, 9, 19}, {96, 1, 3, 3}, step == 2, 660 + step);
  }
}

// Windows that see nothing but padding, on all sides.
TEST(LowerDepthwise, OfManyPaddedChannels_MatchesReference) {
  for (const uint32_t step : {1u, 2u}) {
    const Conv2dAttributes attributes = ChannelsLast(32, List{5, 6, 7, 4}, List{step, step});
    ExpectConvolves(attributes, kFloat, {2, 32, 11, 13}, {32, 1, 3, 3}, step == 1, 640 + step);
  }
}

// Windows that have no kernel of their own (shaders/depthwise_any_window.glsl): of one row of taps
// and more, by one row of results and two, dilated and not, with strides that are multiples of the
// dilation, and such that are not; more channels than the last group has invocations for.
TEST(LowerDepthwise, OfManyChannelsAndAnyWindow_MatchesReference) {
  std::mt19937 random(17);
  for (const uint32_t turn : SampledTurns(64, 4, /*step=*/5)) {
    constexpr uint32_t kChannels[] = {16, 20, 36, 64};
    const uint32_t window_rows = Pick(random, 1, 7);
    const uint32_t window_columns = turn % 9 == 0 ? Pick(random, 10, 20) : Pick(random, 1, 7);
    Conv2dAttributes attributes = ChannelsLast(kChannels[turn % 4], List{0, 0, 0, 0}, List{1, 1});
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 4 % 4);
    if (turn % 3 != 0) {
      attributes.padding =
          List{Pick(random, 0, 7), Pick(random, 0, 7), Pick(random, 0, 9), Pick(random, 0, 9)};
    }
    if (turn % 4 != 1) attributes.strides = List{Pick(random, 1, 4), Pick(random, 1, 4)};
    const List dilations =
        turn % 4 != 2 ? List{Pick(random, 1, 3), Pick(random, 1, 3)} : List{1, 1};
    attributes.dilations = dilations;
    const uint32_t rows = (window_rows - 1) * dilations[0] + Pick(random, 1, 9);
    const uint32_t columns = (window_columns - 1) * dilations[1] + Pick(random, 1, 30);
    ExpectConvolves(attributes, kFloat, {Pick(random, 1, 2), attributes.groups, rows, columns},
                    {attributes.groups, 1, window_rows, window_columns}, turn % 2 == 0,
                    2000 + 10 * turn);
  }
}

// The same of windows that all lie within the image, that see little or nothing of it, and as
// MobileNets, ConvNeXt and DeepLab have them.
TEST(LowerDepthwise, OfManyChannelsAndKnownWindows_MatchesReference) {
  struct Case {
    uint32_t window;
    uint32_t stride;
    uint32_t dilation;
    uint32_t padding;
    uint32_t size;
  };
  for (const Case& c :
       {Case{5, 1, 1, 2, 14}, Case{5, 2, 1, 2, 15}, Case{7, 1, 1, 3, 14}, Case{7, 1, 1, 3, 7},
        Case{3, 1, 2, 2, 13}, Case{3, 1, 4, 4, 9}, Case{3, 1, 12, 12, 9}, Case{7, 1, 1, 0, 23},
        Case{5, 1, 1, 9, 3}, Case{4, 4, 1, 0, 20}, Case{2, 6, 1, 0, 20}}) {
    const Conv2dAttributes attributes = {
        .padding = List{c.padding, c.padding, c.padding, c.padding},
        .strides = List{c.stride, c.stride},
        .dilations = List{c.dilation, c.dilation},
        .groups = 48,
        .input_layout = InputOperandLayout::kNhwc,
        .filter_layout = Conv2dFilterOperandLayout::kIhwo};
    ExpectConvolves(attributes, kFloat, {2, 48, c.size, c.size}, {48, 1, c.window, c.window}, true,
                    630 + 10 * c.window + c.dilation);
  }
  // Of two rows one sees nothing: the second, and the first one less than it has lines before that;
  // and the first.
  ExpectConvolves(ChannelsLast(16, List{0, 5, 0, 0}, List{2, 1}), kFloat, {2, 16, 1, 6},
                  {16, 1, 3, 2}, true, 670);
  ExpectConvolves(ChannelsLast(16, List{4, 0, 0, 0}, List{2, 1}), kFloat, {2, 16, 3, 6},
                  {16, 1, 3, 2}, true, 671);
}

// More taps of a row than are unrolled, rows that take more turns than a kernel may, and so many of
// them that one workgroup's are not taken by one.
TEST(LowerDepthwise, OfManyChannelsAndLongRows_MatchesReference) {
  const Conv2dAttributes attributes = ChannelsLast(16, List{0, 0, 0, 0}, List{1, 1});
  ExpectConvolves(attributes, kFloat, {1, 16, 2, 50}, {16, 1, 2, 33}, true, 671);
  ExpectConvolves(attributes, kFloat, {1, 16, 1, 100000}, {16, 1, 1, 2}, true, 672);
  ExpectConvolves(attributes, kFloat, {1, 16, 100000, 1}, {16, 1, 2, 1}, false, 673);
}

// Windows of so many taps that a unit takes nearly all turns that lavapipe's loops may have; and
// columns, and rows, as far apart.
TEST(LowerDepthwise, OfManyChannelsAndLongLoops_MatchReference) {
  ExpectConvolves(ChannelsLast(64, List{0, 0, 0, 0}, List{1, 2}), kFloat, {1, 64, 20000, 2},
                  {64, 1, 20000, 1}, false, 674);
  Conv2dAttributes attributes = ChannelsLast(16, List{0, 0, 0, 0}, List{1, 1});
  attributes.dilations = List{1, 6660};
  ExpectConvolves(attributes, kFloat, {1, 16, 3, 13320}, {16, 1, 2, 2}, false, 675);
  attributes.padding = List{20000, 0, 0, 0};
  attributes.dilations = List{20000, 1};
  ExpectConvolves(attributes, kFloat, {3, 16, 1, 2}, {16, 1, 2, 2}, true, 676);
  attributes = ChannelsLast(64, List{1u << 30, 0, 1, 1}, List{1, 1});
  attributes.dilations = List{1u << 30, 1};
  ExpectConvolves(attributes, kFloat, {1, 64, 1, 4}, {64, 1, 2, 3}, true, 677);
}

// Of so much padding that it and a step are beyond 2^31.
TEST(LowerDepthwise, OfManyChannelsAndFarSteps_MatchReference) {
  Conv2dAttributes attributes =
      ChannelsLast(16, List{0, 0, 2147482648, 0}, List{1, (1u << 27) + 4});
  attributes.dilations = List{1, (1u << 25) + 1};
  ExpectConvolves(attributes, kFloat, {1, 16, 3, 900}, {16, 1, 1, 2}, true, 678);
}

// More than second caches hold: units of fewer columns, the last one narrower.
TEST(LowerDepthwise, OfManyLargeChannels_MatchesReference) {
  for (const uint32_t step : {1u, 2u}) {
    const uint32_t channels = step == 1 ? 1056 : 1048;  // By pairs of groups, and not.
    const Conv2dAttributes attributes = ChannelsLast(channels, List{1, 1, 1, 1}, List{step, step});
    ExpectConvolves(attributes, kFloat, {1, attributes.groups, 16 + step, 40 * step},
                    {attributes.groups, 1, 3, 3}, step == 1, 650 + step);
  }
}

// Windows of all kernels that begin in the padding, before the tensor
// (service/lowering_depthwise_gpu_assisted).
TEST(LowerDepthwise, BeforeTheTensor_MatchesReference) {
  struct Case {
    uint32_t window;
    uint32_t step;
    uint32_t dilation;
    uint32_t size;
  };
  // Blocks of columns and rows, as large as the image, by words.
  for (const Case& c :
       {Case{3, 1, 1, 16}, Case{3, 2, 1, 16}, Case{5, 2, 1, 13}, Case{3, 1, 1, 13},
        Case{5, 1, 1, 13}, Case{7, 1, 1, 20}, Case{3, 1, 2, 20}, Case{7, 2, 1, 20}}) {
    const uint32_t padding = c.window / 2 * c.dilation;
    const Conv2dAttributes attributes{.padding = List{padding, padding, padding, padding},
                                      .strides = List{c.step, c.step},
                                      .dilations = List{c.dilation, c.dilation},
                                      .groups = 2};
    ExpectConvolves(attributes, kFloat, {1, 2, c.size, c.size}, {2, 1, c.window, c.window}, false,
                    660 + c.window);
  }
  // By channels, of which the last group has some of the one before it.
  ExpectConvolves(ChannelsLast(20, List{2, 2, 2, 2}, List{1, 1}), kFloat, {1, 20, 5, 12},
                  {20, 1, 5, 5}, true, 670);
}

// More rows than a unit goes down, and lines before and behind the image of which windows see
// nothing else; of whole fours, which have kernels of their own, and not.
TEST(LowerDepthwise, OfManyRows_MatchesReference) {
  for (const uint32_t window : {3u, 5u}) {
    for (const uint32_t above : {0u, 1u, window, 2 * window + 1}) {
      const Conv2dAttributes attributes{.padding = List{above, 8 - above % 8, 1, window - 2},
                                        .groups = 2};
      for (const uint32_t rows : {2u, 60u, 64u, 150u}) {
        for (const uint32_t columns : {17u, 20u}) {
          ExpectConvolves(attributes, kFloat, {1, 2, rows, columns}, {2, 1, window, window},
                          above == 1, 750 + 10 * above + rows);
        }
      }
    }
  }
}

// More of them than lavapipe's loops may have turns, were there no more workgroups than cores.
TEST(LowerDepthwise, OfManySmallChannels_MatchesReference) {
  const Conv2dAttributes attributes{.padding = List{1, 1, 1, 1}, .groups = 140000};
  ExpectConvolves(attributes, kFloat, {1, 140000, 1, 4}, {140000, 1, 3, 3}, false, 700);
}

// What stands in for pixels outside of an image is none of the result.
TEST(LowerDepthwise, BesideNan_HasNumbersWhereNoWindowSeesIt) {
  constexpr uint32_t kChannels = 16;
  constexpr uint32_t kSize = 6;
  // At both ends, and at the end of a row, behind which the next one begins.
  constexpr std::pair<int64_t, int64_t> kNans[] = {{0, 0}, {2, kSize - 1}, {kSize - 1, kSize - 1}};
  for (const auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
    const Conv2dAttributes attributes{
        .padding = List{1, 1, 1, 1}, .groups = kChannels, .input_layout = layout};
    const Shape image = {1, kChannels, kSize, kSize};
    const Shape shape = ImageShape(layout, image);
    Values pixels = RandomTensor(kFloat, shape, 1).Values();
    for (uint32_t channel = 0; channel < kChannels; ++channel) {
      for (const auto& [y, x] : kNans) {
        pixels[ImageIndex(shape, layout, {0, channel, y, x})] =
            std::numeric_limits<long double>::quiet_NaN();
      }
    }
    const HostTensor input = HostTensor::Create(kFloat, shape, pixels);
    const HostTensor filter = RandomTensor(
        kFloat, FilterShape(OrderOf(attributes.filter_layout), {kChannels, 1, 3, 3}), 2);
    const HostTensor result =
        RunOne(OperatorKind::kConv2d, {input, filter, std::nullopt}, attributes);
    const Values values = result.Values();
    for (uint32_t channel = 0; channel < kChannels; ++channel) {
      for (int64_t y = 0; y < kSize; ++y) {
        for (int64_t x = 0; x < kSize; ++x) {
          const bool sees = std::ranges::any_of(kNans, [&](const auto& nan) {
            return std::abs(nan.first - y) < 2 && std::abs(nan.second - x) < 2;
          });
          const size_t at = ImageIndex(result.descriptor.shape(), layout, {0, channel, y, x});
          EXPECT_EQ(std::isnan(values[at]), sees) << y << ", " << x << " of channel " << channel;
        }
      }
    }
  }
}

}  // namespace
}  // namespace webnnd::service::image_test
