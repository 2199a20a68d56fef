// Pooling against double loops over every tap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/service/image_reference.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"

namespace webnnd::service::image_test {
namespace {

using webidl::OperatorKind;
using webidl::Pool2dAttributes;
using webidl::RoundingType;

Expected Pool(OperatorKind kind, const Pool2dAttributes& attributes, const HostTensor& input,
              const Shape& result) {
  InputOperandLayout layout = attributes.layout;
  Shape in = ToNchw(layout, input.descriptor.shape());
  Shape out = ToNchw(layout, result);
  List window = attributes.window_dimensions.value_or(List{in[2], in[3]});
  List padding = attributes.padding.value_or(List{0, 0, 0, 0});
  List strides = attributes.strides.value_or(List{1, 1});
  List dilations = attributes.dilations.value_or(List{1, 1});
  Values x = input.Values();
  Expected expected{Values(CountOf(out)), Values(CountOf(out))};
  for (int64_t p = 0; p < int64_t{out[0]} * out[1]; ++p) {
    for (int64_t q = 0; q < int64_t{out[2]} * out[3]; ++q) {
      Values taps;
      for (int64_t k = 0; k < int64_t{window[0]} * window[1]; ++k) {
        int64_t y = q / out[3] * strides[0] + k / window[1] * dilations[0] - padding[0];
        int64_t z = q % out[3] * strides[1] + k % window[1] * dilations[1] - padding[2];
        if (y < 0 || z < 0 || y >= in[2] || z >= in[3]) continue;
        taps.push_back(
            x[ImageIndex(input.descriptor.shape(), layout, {p / out[1], p % out[1], y, z})]);
      }
      size_t to = ImageIndex(result, layout, {p / out[1], p % out[1], q / out[3], q % out[3]});
      long double& value = expected.values[to];
      if (kind == OperatorKind::kMaxPool2d) {
        value = -std::numeric_limits<long double>::infinity();
        for (long double tap : taps) value = std::max(value, tap);
        continue;
      }
      for (long double tap : taps) {
        value += kind == OperatorKind::kL2Pool2d ? tap * tap : tap / taps.size();
        expected.magnitudes[to] += std::fabs(tap) / taps.size();
      }
      if (kind == OperatorKind::kL2Pool2d) value = std::sqrt(value);
    }
  }
  return expected;
}

void ExpectPools(OperatorKind kind, const Pool2dAttributes& attributes, OperandDataType type,
                 const Shape& input_shape, uint32_t seed) {
  HostTensor input = RandomTensor(type, ImageShape(attributes.layout, input_shape), seed);
  HostTensor result = RunOne(kind, {input}, attributes);
  SCOPED_TRACE(std::string(webidl::OperatorName(kind)) + " input " + input.descriptor.ToString() +
               " result " + result.descriptor.ToString() + " seed " + std::to_string(seed));
  ExpectNear(Pool(kind, attributes, input, result.descriptor.shape()), result);
}

constexpr OperatorKind kPools[] = {OperatorKind::kAveragePool2d, OperatorKind::kL2Pool2d,
                                   OperatorKind::kMaxPool2d};

TEST(LowerPool2d, RandomOptions_MatchReference) {
  std::mt19937 random(3);
  for (const uint32_t turn : SampledTurns(48, 3)) {
    Pool2dAttributes attributes;
    attributes.layout = static_cast<InputOperandLayout>(turn % 2);
    List window = {Pick(random, 2, 3), Pick(random, 2, 4)};
    attributes.window_dimensions = window;
    attributes.output_shape_rounding = turn % 3 == 0 ? RoundingType::kCeil : RoundingType::kFloor;
    if (turn % 4 != 0)
      attributes.padding =
          List{Pick(random, 0, 1), Pick(random, 0, 1), Pick(random, 0, 1), Pick(random, 0, 1)};
    if (turn % 5 != 0) attributes.strides = List{Pick(random, 1, 2), Pick(random, 1, 2)};
    if (turn % 7 != 0) attributes.dilations = List{Pick(random, 1, 3), Pick(random, 1, 2)};
    Shape input = {Pick(random, 1, 2), Pick(random, 1, 5), Pick(random, 8, 11),
                   Pick(random, 8, 11)};
    ExpectPools(kPools[turn / 2 % 3], attributes, turn % 5 < 2 ? kHalf : kFloat, input, turn);
  }
}

// Lines of whole quads, from which four windows at once are taken: with and without padding, that
// begins and ends anywhere in a quad, results that are whole quads or not, and rows that are long.
TEST(LowerPool2d, FoursOfWindows_MatchReference) {
  std::mt19937 random(7);
  for (const uint32_t turn : SampledTurns(24, 3, /*step=*/5)) {
    Pool2dAttributes attributes;
    attributes.window_dimensions = List{Pick(random, 1, 4), Pick(random, 2, 4)};
    attributes.strides = List{Pick(random, 1, 3), Pick(random, 1, 4)};
    attributes.dilations = List{Pick(random, 1, 2), 1};
    if (turn % 4 != 0) {
      attributes.padding =
          List{Pick(random, 0, 3), Pick(random, 0, 3), Pick(random, 0, 6), Pick(random, 0, 6)};
    }
    const uint32_t columns = 4 * (turn % 2 == 0 ? Pick(random, 2, 9) : Pick(random, 17, 40));
    ExpectPools(kPools[turn % 3], attributes, kFloat,
                {Pick(random, 1, 2), Pick(random, 1, 3), Pick(random, 8, 11), columns}, turn);
  }
  for (OperandDataType type : {OperandDataType::kInt32, OperandDataType::kUint32}) {
    Pool2dAttributes attributes{.window_dimensions = List{2, 3}, .strides = List{2, 2}};
    ExpectPools(OperatorKind::kMaxPool2d, attributes, type, {2, 3, 6, 20}, 90);
    attributes.padding = List{1, 1, 1, 1};
    ExpectPools(OperatorKind::kMaxPool2d, attributes, type, {2, 3, 6, 16}, 91);
    ExpectPools(OperatorKind::kMaxPool2d, attributes, type, {2, 3, 6, 72}, 92);
  }
}

// Rows by words: shorter than a vector of lanes, of parts of one, of three vectors and more, which
// go four at a time; windows that begin and end in the padding, dilated ones, and more taps than
// are unrolled.
TEST(LowerPool2d, RowsByWords_MatchReference) {
  std::mt19937 random(11);
  for (const uint32_t turn : SampledTurns(36, 3, /*step=*/7)) {
    Pool2dAttributes attributes;
    attributes.window_dimensions =
        List{Pick(random, 1, 5), turn % 9 == 0 ? Pick(random, 17, 20) : Pick(random, 2, 6)};
    attributes.strides = List{Pick(random, 1, 3), Pick(random, 1, 2)};
    attributes.dilations = List{Pick(random, 1, 2), Pick(random, 1, 3)};
    if (turn % 4 != 0) {
      attributes.padding =
          List{Pick(random, 0, 4), Pick(random, 0, 4), Pick(random, 0, 9), Pick(random, 0, 9)};
    }
    const uint32_t columns = turn % 3 == 1 ? Pick(random, 20, 33) : Pick(random, 60, 150);
    ExpectPools(kPools[turn % 3], attributes, kFloat,
                {Pick(random, 1, 2), Pick(random, 1, 3), Pick(random, 9, 12), columns}, turn);
  }
  for (OperandDataType type : {OperandDataType::kInt32, OperandDataType::kUint32}) {
    Pool2dAttributes attributes{.window_dimensions = List{3, 3}, .padding = List{1, 1, 1, 1}};
    ExpectPools(OperatorKind::kMaxPool2d, attributes, type, {2, 3, 6, 71}, 93);
  }
}

// Bands of rows, whose windows share lines: of one row and more, the last one shorter, with windows
// of as many taps down as go by bands and more, that see lines above and below the image, or
// nothing else; and where channels lie together, between transposes.
TEST(LowerPool2d, BandsOfRows_MatchReference) {
  std::mt19937 random(13);
  for (const uint32_t turn : SampledTurns(48, 3, /*step=*/7)) {
    const uint32_t down = turn % 8 == 7 ? Pick(random, 12, 17) : Pick(random, 2, 6);
    const uint32_t across = Pick(random, 1, 6);
    Pool2dAttributes attributes;
    attributes.layout = static_cast<InputOperandLayout>(turn / 4 % 2);
    attributes.window_dimensions = List{down, across};
    attributes.strides = List{Pick(random, 1, std::min(down, 5u)), Pick(random, 1, 2)};
    if (turn % 4 != 0) {
      attributes.padding =
          List{Pick(random, 0, turn % 5 == 0 ? 2 * down : down - 1), Pick(random, 0, down - 1),
               Pick(random, 0, across), Pick(random, 0, across)};
    }
    const uint32_t rows = turn % 3 == 0 ? Pick(random, 130, 150) : Pick(random, 18, 40);
    const uint32_t channels =
        attributes.layout == InputOperandLayout::kNhwc ? 7 : Pick(random, 1, 3);
    ExpectPools(kPools[turn % 3], attributes, turn % 11 == 10 ? kHalf : kFloat,
                {Pick(random, 1, 2), channels, rows, Pick(random, 17, 90)}, 200 + turn);
  }
}

// Pixels of whole words, by words: of parts of a vector, of some vectors, and of a part behind
// those; with windows that see little of the image, or nothing.
TEST(LowerPool2d, PixelsByWords_MatchReference) {
  std::mt19937 random(17);
  for (const uint32_t turn : SampledTurns(36, 3, /*step=*/7)) {
    const bool is_half = turn % 2 == 0;
    Pool2dAttributes attributes{.layout = InputOperandLayout::kNhwc};
    attributes.window_dimensions = List{Pick(random, 1, 5), Pick(random, 1, 5)};
    attributes.strides = List{Pick(random, 1, 3), Pick(random, 1, 3)};
    attributes.dilations = List{Pick(random, 1, 2), Pick(random, 1, 2)};
    if (turn % 4 != 0) {
      attributes.padding =
          List{Pick(random, 0, 4), Pick(random, 0, 4), Pick(random, 0, 9), Pick(random, 0, 9)};
    }
    const uint32_t words = turn % 3 == 1 ? Pick(random, 64, 150) : Pick(random, 8, 40);
    ExpectPools(kPools[turn % 3], attributes, is_half ? kHalf : kFloat,
                {Pick(random, 1, 2), is_half ? 2 * words : words, Pick(random, 10, 14),
                 turn % 5 == 0 ? Pick(random, 70, 90) : Pick(random, 10, 14)},
                300 + turn);
  }
  for (OperandDataType type : {OperandDataType::kInt32, OperandDataType::kUint32,
                               OperandDataType::kInt8, OperandDataType::kUint8}) {
    Pool2dAttributes attributes{.window_dimensions = List{3, 2},
                                .padding = List{1, 1, 1, 1},
                                .strides = List{2, 1},
                                .layout = InputOperandLayout::kNhwc};
    ExpectPools(OperatorKind::kMaxPool2d, attributes, type, {2, 68, 6, 9}, 94);
  }
  // More turns than a kernel may take for all of a row, with few lanes.
  const Pool2dAttributes tall{.window_dimensions = List{40, 1},
                              .layout = InputOperandLayout::kNhwc};
  ExpectPools(OperatorKind::kMaxPool2d, tall, kFloat, {1, 31, 103, 145}, 95);
}

// Where one row, or rows of which none has the lanes of a subgroup, take more turns than a kernel
// may.
TEST(LowerPool2d, RowsOfManyTurns_MatchReference) {
  Pool2dAttributes attributes{.window_dimensions = List{1, 25}};
  ExpectPools(OperatorKind::kAveragePool2d, attributes, kFloat, {1, 1, 1, 160000}, 1);
  attributes.window_dimensions = List{1, 32};
  ExpectPools(OperatorKind::kMaxPool2d, attributes, kFloat, {1, 128, 64, 32}, 2);
  attributes = {.window_dimensions = List{2, 1}, .strides = List{2, 1}};
  ExpectPools(OperatorKind::kMaxPool2d, attributes, kFloat, {1, 1024, 256, 1}, 3);
}

TEST(LowerPool2d, ManyTaps_MatchReference) {
  Sample sample(4);
  for (OperatorKind kind : kPools) {
    for (OperandDataType type : {kFloat, kHalf}) {
      for (const List& window : {List{5, 5}, List{3, 9}, List{4, 4}}) {
        if (!sample.Takes()) continue;
        Pool2dAttributes attributes{
            .window_dimensions = window, .padding = List{2, 1, 1, 2}, .strides = List{2, 1}};
        ExpectPools(kind, attributes, type, {2, 3, 11, 12}, window[1]);
      }
    }
  }
}

TEST(LowerPool2d, MaximumOfEveryType_MatchesReference) {
  Sample sample(3);
  const auto expect = [&](OperatorKind kind, const Pool2dAttributes& attributes,
                          OperandDataType type, const Shape& shape, uint32_t seed) {
    if (sample.Takes()) ExpectPools(kind, attributes, type, shape, seed);
  };
  for (OperandDataType type :
       {OperandDataType::kInt32, OperandDataType::kUint32, OperandDataType::kInt64,
        OperandDataType::kUint64, OperandDataType::kInt8, OperandDataType::kUint8}) {
    for (auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
      Pool2dAttributes attributes{
          .window_dimensions = List{3, 2}, .padding = List{1, 1, 0, 1}, .layout = layout};
      expect(OperatorKind::kMaxPool2d, attributes, type, {2, 3, 5, 7}, 20);
      expect(OperatorKind::kMaxPool2d, Pool2dAttributes{.layout = layout}, type, {1, 3, 5, 7}, 21);
    }
  }
}

TEST(LowerPool2d, WholeImages_MatchReference) {
  Sample sample(2);
  const auto expect = [&](OperatorKind kind, const Pool2dAttributes& attributes,
                          OperandDataType type, const Shape& shape, uint32_t seed) {
    if (sample.Takes()) ExpectPools(kind, attributes, type, shape, seed);
  };
  for (OperatorKind kind : kPools) {
    for (auto layout : {InputOperandLayout::kNchw, InputOperandLayout::kNhwc}) {
      Pool2dAttributes attributes{.layout = layout};
      expect(kind, attributes, kFloat, {2, 5, 13, 11}, 22);
      expect(kind, attributes, kHalf, {1, 3, 13, 11}, 23);
      // A window that is larger than the image covers it from its only
      // position.
      attributes.window_dimensions = List{8, 9};
      attributes.padding = List{1, 1, 2, 2};
      expect(kind, attributes, kFloat, {2, 3, 6, 5}, 24);
    }
    expect(kind, Pool2dAttributes{}, kFloat, {1, 1, 600, 500}, 25);
  }
}

TEST(LowerPool2d, NanAndPadding) {
  long double nan = std::numeric_limits<long double>::quiet_NaN();
  HostTensor input = HostTensor::Create(kFloat, {1, 1, 2, 2}, {1, nan, -3, -4});
  Pool2dAttributes attributes{.window_dimensions = List{1, 1}, .padding = List{0, 0, 1, 0}};
  Values values = RunOne(OperatorKind::kMaxPool2d, {input}, attributes).Values();
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(values[0], -std::numeric_limits<long double>::infinity());
  EXPECT_EQ(values[1], 1);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[5], -4);
  values = RunOne(OperatorKind::kAveragePool2d, {input}, attributes).Values();
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[4], -3);
}

TEST(LowerPool2d, WindowBeyondTheLoops_IsRefused) {
  Pool2dAttributes attributes{.window_dimensions = List{999, 1000}};
  auto result =
      RunNode(OperatorKind::kMaxPool2d, {RandomTensor(kFloat, {1, 1, 1000, 1000}, 26)}, attributes);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(LowerPool2d, IntegerAverage_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kAveragePool2d,
                       {RandomTensor(OperandDataType::kInt32, {1, 1, 2, 2}, 27)},
                       Pool2dAttributes{})
                   .ok());
}

}  // namespace
}  // namespace webnnd::service::image_test
