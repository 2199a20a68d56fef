// Convolutions against double loops over every tap.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "service/passes/lower_conv.h"
#include "tests/service/convolution_reference.h"
#include "tests/support/sample.h"

namespace webnnd::service::image_test {
namespace {

TEST(LowerConv2d, RandomOptions_MatchReference) {
  std::mt19937 random(1);
  for (const uint32_t turn : SampledTurns(36, 3)) {
    Conv2dAttributes attributes;
    attributes.input_layout = static_cast<InputOperandLayout>(turn % 2);
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 2 % 4);
    attributes.groups = Pick(random, 1, 3);
    if (turn % 3 != 0)
      attributes.padding =
          List{Pick(random, 0, 3), Pick(random, 0, 3), Pick(random, 0, 3), Pick(random, 0, 3)};
    if (turn % 5 != 0) attributes.strides = List{Pick(random, 1, 3), Pick(random, 1, 3)};
    if (turn % 7 != 0) attributes.dilations = List{Pick(random, 1, 2), Pick(random, 1, 3)};
    uint32_t inputs = Pick(random, 1, turn % 4 == 0 ? 11 : 3);
    uint32_t outputs = Pick(random, 1, 12);
    Shape input = {Pick(random, 1, 2), inputs * attributes.groups, Pick(random, 7, 11),
                   Pick(random, 7, 11)};
    Shape filter = {outputs * attributes.groups, inputs, Pick(random, 1, 3), Pick(random, 1, 3)};
    ExpectConvolves(attributes, turn % 3 == 1 ? kHalf : kFloat, input, filter, turn % 2 == 0,
                    100 * turn);
  }
}

TEST(LowerConv2d, PointwiseOfManyChannels_MatchesReference) {
  for (auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
    Conv2dAttributes attributes{.input_layout = layout};
    ExpectConvolves(attributes, kFloat, {1, 700, 3, 5}, {13, 700, 1, 1}, true, 3);
  }
}

TEST(LowerConv2d, ChannelsByFours_MatchReference) {
  for (uint32_t layout = 0; layout < 4; ++layout) {
    Conv2dAttributes attributes{.padding = List{1, 0, 2, 1},
                                .strides = List{1, 2},
                                .groups = 2,
                                .input_layout = InputOperandLayout::kNhwc,
                                .filter_layout = static_cast<Conv2dFilterOperandLayout>(layout)};
    ExpectConvolves(attributes, kFloat, {2, 24, 7, 9}, {18, 12, 3, 2}, true, 10 + layout);
    ExpectConvolves(attributes, kHalf, {1, 16, 6, 5}, {18, 8, 3, 2}, false, 20 + layout);
  }
}

// Neighbours of the result that lie beside each other in the image, at any
// distance from a multiple of four, and beyond its ends.
TEST(LowerConv2d, RowsByFours_MatchReference) {
  for (uint32_t padding : {0u, 1u, 2u, 5u}) {
    Conv2dAttributes attributes{
        .padding = List{padding, 2, padding, 3},
        .strides = List{2, 1},
        .dilations = List{1, 2},
        .filter_layout = static_cast<Conv2dFilterOperandLayout>(padding % 4)};
    uint32_t width = 13 - padding;  // 12 across in the result.
    ExpectConvolves(attributes, kFloat, {2, 4, 8, width}, {9, 4, 3, 3}, true, 50 + padding);
    ExpectConvolves(attributes, kHalf, {1, 4, 7, width}, {9, 4, 3, 3}, true, 60 + padding);
  }
}

TEST(LowerConv2d, OnePixel_MatchesReference) {
  for (auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
    Conv2dAttributes attributes{.input_layout = layout};
    ExpectConvolves(attributes, kFloat, {3, 20, 1, 1}, {9, 20, 1, 1}, true, 30);
    attributes.groups = 2;
    ExpectConvolves(attributes, kFloat, {1, 20, 1, 1}, {6, 10, 1, 1}, true, 31);
    ExpectConvolves(attributes, kFloat, {1, 20, 1, 1}, {18, 10, 1, 1}, true, 32);
  }
}

// Large enough for the tall kernels: those of few steps, up to 256, and of many.
TEST(LowerConv2d, TallTiles_MatchReference) {
  Sample sample(2);
  for (auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
    Conv2dAttributes attributes{.padding = List{1, 1, 1, 1}, .input_layout = layout};
    const auto expect = [&](OperandDataType type, const Shape& input, const Shape& filter,
                            uint32_t seed) {
      if (sample.Takes()) ExpectConvolves(attributes, type, input, filter, true, seed);
    };
    expect(kFloat, {1, 28, 23, 21}, {36, 28, 3, 3}, 40);
    expect(kFloat, {2, 96, 23, 21}, {50, 96, 1, 1}, 41);
    expect(kHalf, {1, 28, 23, 20}, {36, 28, 3, 3}, 42);
    expect(kFloat, {1, 29, 23, 21}, {36, 29, 3, 3}, 55);
    attributes.groups = 2;
    expect(kFloat, {1, 48, 22, 20}, {80, 24, 3, 3}, 43);
  }
}

// GPUs divide the sums of few pixels, of 32 channels or of 64 at a time, whose windows load one by
// one or by four channels.
TEST(LowerConv2d, FewPixelsOfManySteps_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  Conv2dAttributes attributes{.padding = List{1, 1, 2, 0}, .strides = List{2, 1}};
  ExpectConvolves(attributes, kFloat, {2, 66, 9, 13}, {35, 66, 3, 3}, true, 70);
  ExpectConvolves(attributes, kHalf, {1, 68, 9, 14}, {64, 68, 3, 3}, false, 71);
  attributes.filter_layout = Conv2dFilterOperandLayout::kOhwi;
  attributes.input_layout = InputOperandLayout::kNhwc;
  ExpectConvolves(attributes, kFloat, {2, 68, 9, 13}, {35, 68, 3, 3}, true, 72);
  ExpectConvolves(attributes, kHalf, {1, 68, 9, 14}, {64, 68, 3, 3}, false, 73);
  attributes.groups = 2;
  ExpectConvolves(attributes, kFloat, {1, 96, 12, 13}, {124, 48, 3, 3}, true, 74);
}

// Tall products whose windows lie in lines first: every step of the filter, padding on each side,
// in every layout of the filter, with sums that are no multiple of a block.
TEST(LowerConv2d, WindowsInLines_MatchReference) {
  Conv2dAttributes attributes{.padding = List{3, 2, 3, 2}, .strides = List{2, 2}};
  ExpectConvolves(attributes, kFloat, {1, 3, 64, 64}, {32, 3, 7, 7}, true, 44);
  for (uint32_t layout = 0; layout < 4; ++layout) {
    if (!IsThorough() && layout % 2 == 0) continue;  // Each type, with a bias and without.
    attributes = {.padding = List{1, 0, layout, 3 - layout},
                  .strides = List{1, 2 + layout % 3},
                  .dilations = List{2, 1},
                  .groups = 2,
                  .filter_layout = static_cast<Conv2dFilterOperandLayout>(layout)};
    const uint32_t width = 19 * (*attributes.strides)[1];  // 20 across in the result.
    const OperandDataType type = layout == 1 ? kHalf : kFloat;
    ExpectConvolves(attributes, type, {2, 14, 44, width}, {54, 7, 3, 3}, layout < 2, 45 + layout);
  }
  attributes = {.padding = List{1, 1, 4, 1}};
  if (IsThorough()) {
    ExpectConvolves(attributes, kHalf, {1, 28, 24, 17}, {36, 28, 3, 3}, true, 49);
  }
  ExpectConvolves(attributes, kHalf, {1, 29, 24, 17}, {36, 29, 3, 3}, true, 51);
}

// Steps that only fill up a block, and runs that reach into other rows, must not meet them.
TEST(LowerConv2d, InfinitiesElsewhere_StayWhereTheyAre) {
  for (uint32_t channels : {3u, 5u}) {
    const Shape shape = {2, channels, 128, 128};
    Values pixels(CountOf(shape), 1);
    std::fill(pixels.begin() + pixels.size() / 2, pixels.end(),
              std::numeric_limits<long double>::infinity());
    HostTensor input = HostTensor::Create(kFloat, shape, pixels);
    HostTensor filter = HostTensor::Create(kFloat, {32, channels, 3, 3}, {1});
    Conv2dAttributes attributes{.padding = List{0, 1, 0, 1}, .strides = List{2, 2}};
    Values result =
        RunOne(OperatorKind::kConv2d, {input, filter, std::nullopt}, attributes).Values();
    for (size_t i = 0; i < result.size(); ++i) {
      const bool is_second = i >= result.size() / 2;
      ASSERT_EQ(std::isinf(result[i]), is_second) << "element " << i;
      ASSERT_FALSE(std::isnan(result[i])) << "element " << i;
    }
  }
}

// Short sums, in every layout, of images of any size around the blocks.
TEST(LowerConv2d, ShallowSums_MatchReference) {
  Conv2dAttributes attributes{.padding = List{1, 0, 1, 3}, .strides = List{2, 2}, .groups = 3};
  ExpectConvolves(attributes, kHalf, {1, 6, 24, 29}, {12, 2, 3, 3}, true, 60);
  attributes.filter_layout = Conv2dFilterOperandLayout::kHwio;
  ExpectConvolves(attributes, kFloat, {2, 6, 23, 22}, {24, 2, 3, 3}, false, 61);
  attributes = {.padding = List{0, 2, 5, 1}};
  ExpectConvolves(attributes, kFloat, {2, 1, 17, 18}, {8, 1, 2, 5}, true, 62);
  attributes = {.padding = List{1, 1, 1, 1},
                .strides = List{1, 2},
                .input_layout = InputOperandLayout::kNhwc};
  for (uint32_t layout = 0; layout < 4; ++layout) {
    if (!IsThorough() && layout % 3 == 0) continue;  // Each type, with a bias and without.
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(layout);
    ExpectConvolves(attributes, layout == 2 ? kHalf : kFloat, {2, 3, 13, 26 + layout},
                    {12, 3, 2, 3}, layout % 2 == 0, 63 + layout);
  }
}

// Few channels out of each group (shaders/narrow_conv2d.comp), of rows shorter than a vector of
// lanes and of many vectors, with windows that begin before the tensor, single ones, and more taps
// than are unrolled; and where channels lie together, between transposes.
TEST(LowerConv2d, FewChannels_MatchReference) {
  std::mt19937 random(29);
  for (const uint32_t turn : SampledTurns(60, 3, /*step=*/7)) {
    constexpr uint32_t kDepths[] = {1, 3, 5, 16, 34};
    const uint32_t outputs = 1 + turn % 8;
    const uint32_t groups = turn % 3 == 0 ? 2 : 1;
    const uint32_t depth = kDepths[turn / 3 % 5];
    const bool is_single = turn % 4 == 1;
    const bool is_long = turn % 10 == 3;
    Conv2dAttributes attributes{
        .groups = groups,
        .input_layout = static_cast<InputOperandLayout>(turn / 2 % 2),
        .filter_layout = static_cast<Conv2dFilterOperandLayout>(turn / 4 % 4)};
    const Shape filter = {groups * outputs, depth, is_single ? 1u : Pick(random, 1, 3),
                          is_single ? 1u
                          : is_long ? 35u
                                    : Pick(random, 1, 4)};
    if (!is_single) {
      attributes.strides = List{Pick(random, 1, 3), Pick(random, 1, 2)};
      attributes.dilations = List{Pick(random, 1, 2), Pick(random, 1, 2)};
      if (turn % 5 != 0) {
        attributes.padding =
            List{Pick(random, 0, 3), Pick(random, 0, 3), Pick(random, 0, 9), Pick(random, 0, 9)};
      }
    }
    // Channels that lie together are worth transposes from many pixels on.
    const bool is_last = attributes.input_layout == InputOperandLayout::kNhwc;
    const uint32_t rows = is_last ? Pick(random, 70, 80) : Pick(random, 5, 9);
    const uint32_t columns = is_long || turn % 7 < 3 ? Pick(random, 90, 190) : Pick(random, 12, 40);
    ExpectConvolves(attributes, turn % 6 == 5 ? kHalf : kFloat,
                    {Pick(random, 1, 2), groups * depth, rows, columns}, filter, turn % 2 == 0,
                    5000 + 10 * turn);
  }
}

// What a convolution runs last; images as NCHW, the filter as OIHW by meaning.
template <typename Attributes>
shaders::ShaderId LastKernelOf(const Attributes& attributes, const Shape& input,
                               const Shape& filter, const Shape& result) {
  constexpr bool kTransposed = std::is_same_v<Attributes, ConvTranspose2dAttributes>;
  Graph graph;
  const InputOperandLayout layout = attributes.input_layout;
  for (const Shape& shape :
       {ImageShape(layout, input), FilterShape(OrderOf(attributes.filter_layout), filter),
        ImageShape(layout, result)}) {
    auto descriptor = webidl::OperandDescriptor::Create(kFloat, shape);
    CHECK(descriptor.ok());
    graph.values.push_back({Value::Kind::kInput, *descriptor, 0});
  }
  Node node;
  node.kind = kTransposed ? OperatorKind::kConvTranspose2d : OperatorKind::kConv2d;
  node.attributes = attributes;
  node.operands = {0, 1, kNoValue};
  node.results = {2};
  LoweringBuilder builder(graph);
  Status status = kTransposed ? LowerConvTranspose2d(node, builder) : LowerConv2d(node, builder);
  CHECK(status.ok());
  return builder.calls().back().shader;
}

TEST(LowerConv2d, ShallowKernel_TakesShortSumsOnly) {
  const auto shallow = shaders::ShaderId::kShallowConv2d;
  Conv2dAttributes plain;
  EXPECT_EQ(LastKernelOf(plain, {1, 3, 34, 34}, {32, 3, 3, 3}, {1, 32, 32, 32}), shallow);
  for (uint32_t layout = 0; layout < 8; ++layout) {
    Conv2dAttributes attributes{.strides = List{2, 2},
                                .input_layout = static_cast<InputOperandLayout>(layout / 4)};
    attributes.filter_layout = static_cast<Conv2dFilterOperandLayout>(layout % 4);
    EXPECT_EQ(LastKernelOf(attributes, {1, 3, 33, 33}, {32, 3, 3, 3}, {1, 32, 16, 16}), shallow);
  }
  Conv2dAttributes groups{.groups = 2};
  EXPECT_EQ(LastKernelOf(groups, {1, 4, 34, 34}, {8, 2, 3, 3}, {1, 8, 32, 32}), shallow);
  groups.input_layout = InputOperandLayout::kNhwc;
  EXPECT_NE(LastKernelOf(groups, {1, 4, 34, 34}, {8, 2, 3, 3}, {1, 8, 32, 32}), shallow);
  // Too many steps, too few; channels, or columns, that are no multiple of four; few
  // results.
  EXPECT_NE(LastKernelOf(plain, {1, 5, 34, 34}, {32, 5, 3, 3}, {1, 32, 32, 32}), shallow);
  EXPECT_NE(LastKernelOf(plain, {1, 1, 33, 33}, {32, 1, 2, 2}, {1, 32, 32, 32}), shallow);
  EXPECT_NE(LastKernelOf(plain, {1, 3, 34, 34}, {30, 3, 3, 3}, {1, 30, 32, 32}), shallow);
  EXPECT_NE(LastKernelOf(plain, {1, 3, 34, 33}, {32, 3, 3, 3}, {1, 32, 32, 31}), shallow);
  EXPECT_NE(LastKernelOf(plain, {1, 3, 9, 10}, {32, 3, 3, 3}, {1, 32, 7, 8}), shallow);
  Conv2dAttributes dilated{.dilations = List{1, 2}};
  EXPECT_NE(LastKernelOf(dilated, {1, 3, 34, 36}, {32, 3, 3, 3}, {1, 32, 32, 32}), shallow);
  Conv2dAttributes far{.strides = List{1, 3}};
  EXPECT_NE(LastKernelOf(far, {1, 3, 34, 96}, {32, 3, 3, 3}, {1, 32, 32, 32}), shallow);
}

// Of so many channels, by rows of so many, that an invocation takes nearly all turns that
// lavapipe's loops may have.
TEST(LowerConv2d, FewChannelsOutOfMany_MatchReference) {
  const Conv2dAttributes plain;
  ExpectConvolves(plain, kFloat, {1, 1302, 1, 329}, {1, 1302, 1, 2}, true, 90);
  ExpectConvolves(plain, kFloat, {1, 868, 2, 329}, {1, 868, 2, 2}, true, 91);
  ExpectConvolves(plain, kFloat, {1, 347, 3, 641}, {1, 347, 3, 2}, true, 92);
}

// Which are left to others: of more channels, by three columns, rows of few pixels, channels that
// lie together in images of few pixels.
TEST(LowerConv2d, NarrowKernel_TakesFewChannelsOnly) {
  const auto is_narrow = [](const Conv2dAttributes& attributes, const Shape& input,
                            const Shape& filter, const Shape& result) {
    const shaders::ShaderId shader = LastKernelOf(attributes, input, filter, result);
    return shader == shaders::ShaderId::kNarrowConv2dFew ||
           shader == shaders::ShaderId::kNarrowConv2dMore;
  };
  const Conv2dAttributes plain;
  EXPECT_TRUE(is_narrow(plain, {1, 9, 34, 34}, {4, 9, 3, 3}, {1, 4, 32, 32}));
  EXPECT_TRUE(is_narrow(plain, {1, 9, 34, 34}, {8, 9, 3, 3}, {1, 8, 32, 32}));
  EXPECT_FALSE(is_narrow(plain, {1, 9, 34, 34}, {9, 9, 3, 3}, {1, 9, 32, 32}));
  EXPECT_FALSE(is_narrow(plain, {1, 9, 9, 9}, {8, 9, 3, 3}, {1, 8, 7, 7}));
  EXPECT_TRUE(is_narrow(plain, {1, 9, 9, 9}, {4, 9, 3, 3}, {1, 4, 7, 7}));
  const Conv2dAttributes far{.strides = List{1, 3}};
  EXPECT_FALSE(is_narrow(far, {1, 9, 34, 96}, {4, 9, 3, 3}, {1, 4, 32, 32}));
  // The last kernel of the others is the transpose back.
  const Conv2dAttributes last{.input_layout = InputOperandLayout::kNhwc};
  const auto product = LastKernelOf(last, {1, 9, 33, 34}, {4, 9, 3, 3}, {1, 4, 31, 32});
  EXPECT_NE(LastKernelOf(last, {1, 9, 34, 34}, {4, 9, 3, 3}, {1, 4, 32, 32}), product);
}

// Groups of single pixels, of float16.
TEST(LowerConv2d, PixelsOfGroups_MatchReference) {
  const Conv2dAttributes attributes{.groups = 3, .input_layout = InputOperandLayout::kNhwc};
  ExpectConvolves(attributes, kHalf, {1, 36, 17, 13}, {33, 12, 1, 1}, true, 80);
}

// More elements than the invocations of a CPU device take at once.
TEST(LowerConv2d, ManyPixels_MatchReference) {
  Conv2dAttributes attributes{.padding = List{1, 1, 1, 1}, .strides = List{2, 1}};
  ExpectConvolves(attributes, kFloat, {1, 3, 160, 90}, {9, 3, 3, 3}, true, 4);
  ExpectConvolves(attributes, kHalf, {1, 3, 90, 81}, {9, 3, 3, 3}, true, 5);
}

TEST(LowerConv2d, WindowsInThePadding_GiveTheBias) {
  Conv2dAttributes attributes{.padding = List{4, 4, 4, 4}};
  ExpectConvolves(attributes, kFloat, {1, 1, 2, 2}, {2, 1, 2, 2}, true, 6);
  ExpectConvolves(attributes, kFloat, {1, 1, 2, 2}, {2, 1, 9, 2}, false, 7);
}

TEST(LowerConv2d, HugePadding_IsRefused) {
  Conv2dAttributes attributes{.padding = List{0xffffffff, 0, 0, 0}, .strides = List{0x80000000, 1}};
  auto result = RunNode(
      OperatorKind::kConv2d,
      {RandomTensor(kFloat, {1, 1, 2, 2}, 8), RandomTensor(kFloat, {1, 1, 1, 1}, 9), std::nullopt},
      attributes);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(LowerConv2d, FilterBeyondTheLoops_IsRefused) {
  Conv2dAttributes attributes;
  auto result = RunNode(OperatorKind::kConv2d,
                        {RandomTensor(kFloat, {1, 1, 300, 300}, 8),
                         RandomTensor(kFloat, {1, 1, 290, 290}, 9), std::nullopt},
                        attributes);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(LowerConvTranspose2d, RandomOptions_MatchReference) {
  std::mt19937 random(2);
  Sample sample(5);
  for (uint32_t turn = 0; turn < 36; ++turn) {
    if (!sample.Takes()) continue;
    ConvTranspose2dAttributes attributes;
    attributes.input_layout = static_cast<InputOperandLayout>(turn % 2);
    attributes.filter_layout = static_cast<ConvTranspose2dFilterOperandLayout>(turn / 2 % 3);
    attributes.groups = Pick(random, 1, 3);
    List strides = {Pick(random, 1, 3), Pick(random, 1, 3)};
    List padding = {Pick(random, 0, 2), Pick(random, 0, 2), Pick(random, 0, 2), Pick(random, 0, 2)};
    List dilations = {Pick(random, 1, 3), Pick(random, 1, 2)};
    attributes.strides = strides;
    attributes.dilations = dilations;
    if (turn % 3 != 0) {
      attributes.padding = padding;
    } else {
      padding = {0, 0, 0, 0};
    }
    uint32_t inputs = Pick(random, 1, turn % 4 == 0 ? 11 : 3);
    Shape input = {Pick(random, 1, 2), inputs * attributes.groups, Pick(random, 4, 7),
                   Pick(random, 4, 7)};
    Shape filter = {Pick(random, 1, 6), inputs * attributes.groups, Pick(random, 1, 4),
                    Pick(random, 1, 4)};
    List extra = {Pick(random, 0, strides[0] - 1), Pick(random, 0, strides[1] - 1)};
    if (turn % 4 == 1) attributes.output_padding = extra;
    if (turn % 4 == 2) {
      List sizes(2);
      for (size_t i = 0; i < 2; ++i) {
        sizes[i] = (input[2 + i] - 1) * strides[i] + (filter[2 + i] - 1) * dilations[i] + 1 +
                   extra[i] - padding[2 * i] - padding[2 * i + 1];
      }
      if (sizes[0] > 100 || sizes[1] > 100 || sizes[0] == 0 || sizes[1] == 0) continue;
      attributes.output_sizes = sizes;
    }
    ExpectConvolves(attributes, turn % 3 == 1 ? kHalf : kFloat, input, filter, turn % 2 == 0,
                    100 * turn);
  }
}

// Deep enough to be a product whose results are summed: steps and dilations with and without common
// divisors, so that elements of the result are hit by many taps, by one and by none.
TEST(LowerConvTranspose2d, ManyChannels_MatchReference) {
  std::mt19937 random(12);
  Sample sample(7);
  for (uint32_t turn = 0; turn < 30; ++turn) {
    if (!sample.Takes()) continue;
    ConvTranspose2dAttributes attributes;
    attributes.input_layout = static_cast<InputOperandLayout>(turn % 2);
    attributes.filter_layout = static_cast<ConvTranspose2dFilterOperandLayout>(turn / 2 % 3);
    attributes.groups = turn % 5 == 4 ? 2 : 1;
    const bool divides = turn % 3 == 0;
    attributes.strides = divides ? List{4, 6} : List{Pick(random, 1, 4), Pick(random, 1, 3)};
    attributes.dilations = divides ? List{6, 3} : List{Pick(random, 1, 3), Pick(random, 1, 5)};
    if (turn % 4 != 0) {
      attributes.padding =
          List{Pick(random, 0, 2), Pick(random, 0, 2), Pick(random, 0, 3), Pick(random, 0, 3)};
    }
    // Results whose lines are a multiple of four, and such whose are not.
    Shape input = {Pick(random, 1, 2), 8 * Pick(random, 1, 3) * attributes.groups,
                   Pick(random, 5, 9), turn % 4 == 0 ? 12 : Pick(random, 5, 9)};
    Shape filter = {Pick(random, 5, 9), input[1], Pick(random, 2, 4), Pick(random, 2, 5)};
    ExpectConvolves(attributes, kFloat, input, filter, turn % 2 == 0, 100 * turn);
  }
}

// Groups of few channels, one among them, in both layouts, of float16, too: from some results on,
// those whose channels lie together are transposed.
TEST(LowerConvTranspose2d, GroupsOfFewChannels_MatchReference) {
  Sample sample(2);
  for (uint32_t turn = 0; turn < 8; ++turn) {
    if (!sample.Takes()) continue;
    const uint32_t depth = turn % 4 < 2 ? 1 : 3;
    const uint32_t outputs = turn % 4 == 3 ? 2 : 1;
    const uint32_t groups = 8;
    ConvTranspose2dAttributes attributes{.padding = List{1, 1, 0, 1},
                                         .strides = List{2, turn % 3 + 1},
                                         .groups = groups,
                                         .input_layout = static_cast<InputOperandLayout>(turn % 2)};
    attributes.filter_layout = static_cast<ConvTranspose2dFilterOperandLayout>(turn % 3);
    for (const uint32_t size : {7u, 40u}) {
      ExpectConvolves(attributes, turn < 4 ? kFloat : kHalf, {1, groups * depth, size, 20},
                      {outputs, groups * depth, 4, 3}, turn % 2 == 0, 90 + 10 * turn + size);
    }
  }
}

TEST(LowerConvTranspose2d, ManyHalves_MatchReference) {
  for (auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
    ConvTranspose2dAttributes attributes{
        .padding = List{1, 1, 1, 0}, .strides = List{2, 2}, .input_layout = layout};
    for (uint32_t filters = 0; filters < 3; ++filters) {
      attributes.filter_layout = static_cast<ConvTranspose2dFilterOperandLayout>(filters);
      ExpectConvolves(attributes, kHalf, {1, 32, 17, 18}, {33, 32, 4, 4}, true, 1);
    }
    // Not deep enough for a product of float16 with float32 sums.
    ExpectConvolves(attributes, kHalf, {1, 8, 9, 10}, {12, 8, 4, 4}, true, 2);
  }
}

// Lines of whole quads: taps of any number, at any distance from each other and from the result.
TEST(LowerConvTranspose2d, Strips_MatchReference) {
  std::mt19937 random(13);
  Sample sample(3);
  for (uint32_t step = 1; step <= 4; ++step) {
    for (uint32_t window = 1; window <= 7; ++window) {
      if (!sample.Takes()) continue;
      const uint32_t before = Pick(random, 0, 3);
      ConvTranspose2dAttributes attributes{
          .padding = List{Pick(random, 0, 2), 1, before, (window + 8 - step - before) % 4},
          .strides = List{Pick(random, 1, 3), step},
          .groups = window % 3 == 0 ? 2u : 1u};
      ExpectConvolves(attributes, kFloat, {2, 24 * attributes.groups, 6, 12},
                      {8, 24 * attributes.groups, 3, window}, window % 2 == 0, 10 * step + window);
    }
  }
  ConvTranspose2dAttributes attributes{.padding = List{1, 1, 1, 1}, .strides = List{2, 2}};
  ExpectConvolves(attributes, kHalf, {1, 32, 20, 20}, {40, 32, 4, 4}, true, 1);
}

// Two by two taps that do not overlap, and such that nearly are.
TEST(LowerConvTranspose2d, Blocks_MatchReference) {
  for (uint32_t layout = 0; layout < 3; ++layout) {
    if (!IsThorough() && layout == 2) continue;  // Without a bias and with one.
    ConvTranspose2dAttributes attributes{.strides = List{2, 2}, .groups = 1 + layout % 2};
    attributes.filter_layout = static_cast<ConvTranspose2dFilterOperandLayout>(layout);
    ExpectConvolves(attributes, kFloat, {2, 32, 24, 12}, {61, 32, 2, 2}, layout == 1, 10 + layout);
  }
  ConvTranspose2dAttributes attributes{.strides = List{2, 2}, .groups = 2};
  if (IsThorough()) {
    ExpectConvolves(attributes, kFloat, {2, 70, 24, 20}, {31, 70, 2, 2}, true, 14);
  }
  ExpectConvolves(attributes, kHalf, {1, 64, 25, 20}, {32, 64, 2, 2}, true, 15);
  ExpectConvolves(attributes, kFloat, {1, 64, 25, 22}, {32, 64, 2, 2}, true, 16);
  attributes.output_padding = List{1, 0};
  ExpectConvolves(attributes, kFloat, {1, 64, 25, 20}, {32, 64, 2, 2}, false, 17);
}

TEST(LowerConvTranspose2d, Blocks_NeedNoSecondKernel) {
  const auto sums = shaders::ShaderId::kColumnsToImage;
  const Shape input = {1, 64, 28, 28};
  const Shape filter = {64, 64, 2, 2};
  const Shape result = {1, 64, 56, 56};
  ConvTranspose2dAttributes attributes{.strides = List{2, 2}};
  EXPECT_EQ(LastKernelOf(attributes, input, filter, result), shaders::ShaderId::kMatmulShallowTile);
  // Taps further apart, an image of another width, other layouts.
  attributes.dilations = List{1, 2};
  EXPECT_EQ(LastKernelOf(attributes, input, filter, {1, 64, 56, 57}), sums);
  attributes.dilations.reset();
  EXPECT_EQ(LastKernelOf(attributes, {1, 64, 28, 26}, filter, {1, 64, 56, 52}), sums);
  EXPECT_EQ(LastKernelOf(attributes, input, filter, {1, 64, 57, 56}), sums);
  attributes.filter_layout = ConvTranspose2dFilterOperandLayout::kHwoi;
  EXPECT_EQ(LastKernelOf(attributes, input, filter, result), sums);
  attributes = {.strides = List{2, 2}, .input_layout = InputOperandLayout::kNhwc};
  EXPECT_EQ(LastKernelOf(attributes, input, filter, result), sums);
}

// More taps on an element than the kernel has code for, and a step that it cannot square.
// So many taps for each element that an invocation's loops would be left.
TEST(LowerConvTranspose2d, OfVeryManyTaps_MatchesReference) {
  const ConvTranspose2dAttributes plain;
  ExpectConvolves(plain, kFloat, {1, 1, 16, 1}, {1, 1, 7490, 1}, true, 93);
  ExpectConvolves(plain, kFloat, {1, 8, 16, 1}, {1, 8, 7490, 1}, true, 94);
}

TEST(LowerConvTranspose2d, ManyTapsAndFarSteps_MatchReference) {
  ConvTranspose2dAttributes attributes{.padding = List{3, 3, 2, 2}};
  ExpectConvolves(attributes, kFloat, {1, 16, 9, 11}, {3, 16, 6, 7}, true, 1);
  ExpectConvolves(ConvTranspose2dAttributes{.strides = List{40000, 1}}, kFloat, {1, 64, 2, 1},
                  {3, 64, 5, 5}, true, 2);
}

TEST(LowerConvTranspose2d, OnePixel_SpreadsOverTheFilter) {
  ConvTranspose2dAttributes attributes{.strides = List{1000000000, 1000000000}};
  ExpectConvolves(attributes, kFloat, {1, 2, 1, 1}, {3, 2, 3, 4}, true, 10);
}

}  // namespace
}  // namespace webnnd::service::image_test
