// resample2d against the draft's formulas in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

using webidl::InterpolationMode;
using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Resample2dAttributes;
using webidl::Shape;
using Values = std::vector<long double>;
using List = std::vector<uint32_t>;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kTypes[] = {kFloat, OperandDataType::kFloat16, OperandDataType::kInt8,
                                      OperandDataType::kUint8};

// inputCoordinate of the draft.
long double Coordinate(uint64_t o, uint32_t from, uint32_t to) {
  // One division of exact integers: ties are exact.
  long double x = static_cast<long double>((2 * o + 1) * from) / (2.0L * to) - 0.5L;
  return std::clamp<long double>(x, 0, from - 1);
}

void ExpectResamples(const Resample2dAttributes& attributes, const HostTensor& input) {
  HostTensor result = RunOne(OperatorKind::kResample2d, {input}, attributes);
  const Shape& in = input.descriptor.shape();
  const Shape& out = result.descriptor.shape();
  OperandDataType type = input.descriptor.data_type();
  bool is_integer = type == OperandDataType::kInt8 || type == OperandDataType::kUint8;
  List axes = attributes.axes.value_or(List{2, 3});
  SCOPED_TRACE(input.descriptor.ToString() + " to " + result.descriptor.ToString());
  Values x = input.Values();
  Values actual = result.Values();
  for (size_t e = 0; e < actual.size(); ++e) {
    std::vector<uint64_t> at(4);
    size_t rest = e;
    for (size_t d = 4; d-- > 0; rest /= out[d]) at[d] = rest % out[d];
    long double y = Coordinate(at[axes[0]], in[axes[0]], out[axes[0]]);
    long double z = Coordinate(at[axes[1]], in[axes[1]], out[axes[1]]);
    auto load = [&](long double row, long double column) {
      std::vector<uint64_t> from = at;
      from[axes[0]] = static_cast<uint64_t>(row);
      from[axes[1]] = static_cast<uint64_t>(column);
      return x[((from[0] * in[1] + from[1]) * in[2] + from[2]) * in[3] + from[3]];
    };
    if (attributes.mode == InterpolationMode::kNearestNeighbor) {
      ASSERT_EQ(actual[e], load(std::ceil(y - 0.5L), std::ceil(z - 0.5L))) << "element " << e;
      continue;
    }
    long double ty = y - std::floor(y);
    long double tz = z - std::floor(z);
    long double low =
        load(std::floor(y), std::floor(z)) * (1 - tz) + load(std::floor(y), std::ceil(z)) * tz;
    long double high =
        load(std::ceil(y), std::floor(z)) * (1 - tz) + load(std::ceil(y), std::ceil(z)) * tz;
    long double want = low * (1 - ty) + high * ty;
    if (is_integer) {
      // Ties and what float32 makes of them may fall to either side.
      ASSERT_LE(std::fabs(want - actual[e]), 0.5L + 1e-4L) << "element " << e;
    } else if (std::fabs(want - actual[e]) > 5e-7L) {
      ASSERT_LE(UlpDistance(type, RoundTo(type, want), actual[e]), 1) << "element " << e;
    }
  }
}

TEST(LowerResample2d, RandomSizesAndAxes_MatchReference) {
  std::mt19937 random(1);
  auto pick = [&](uint32_t least, uint32_t greatest) {
    return std::uniform_int_distribution<uint32_t>(least, greatest)(random);
  };
  for (uint32_t turn = 0; turn < 64; ++turn) {
    Resample2dAttributes attributes;
    attributes.mode = static_cast<InterpolationMode>(turn % 2);
    List axes = {0, 1, 2, 3};
    std::shuffle(axes.begin(), axes.end(), random);
    axes.resize(2);
    if (turn % 3 != 0) attributes.axes = axes;
    if (turn % 5 == 0) {
      attributes.scales = std::vector<float>{1.5f, 0.75f};
    } else {
      attributes.sizes = List{pick(1, 13), pick(1, 13)};
    }
    Shape shape = {pick(2, 4), pick(2, 5), pick(2, 9), pick(2, 9)};
    ExpectResamples(attributes, RandomTensor(kTypes[turn / 2 % 4], shape, turn));
  }
}

TEST(LowerResample2d, AbsentSizes_GiveTheInput) {
  HostTensor input = RandomTensor(kFloat, {2, 3, 4, 5}, 1);
  for (auto mode : {InterpolationMode::kNearestNeighbor, InterpolationMode::kLinear}) {
    HostTensor result =
        RunOne(OperatorKind::kResample2d, {input}, Resample2dAttributes{.mode = mode});
    EXPECT_EQ(result.bytes, input.bytes);
  }
}

TEST(LowerResample2d, LargeImages_MatchReference) {
  for (auto mode : {InterpolationMode::kNearestNeighbor, InterpolationMode::kLinear}) {
    Resample2dAttributes attributes{.mode = mode, .sizes = List{301, 200}};
    ExpectResamples(attributes, RandomTensor(kFloat, {1, 3, 100, 150}, 2));
    // Rows long and many enough for a workgroup each.
    ExpectResamples(attributes, RandomTensor(kFloat, {2, 3, 30, 52}, 3));
    attributes.sizes = List{33, 64};
    ExpectResamples(attributes, RandomTensor(kFloat, {2, 1, 50, 64}, 4));
    // Columns that double, and that halve.
    attributes.sizes = List{60, 72};
    ExpectResamples(attributes, RandomTensor(kFloat, {2, 3, 30, 36}, 5));
    ExpectResamples(attributes, RandomTensor(kFloat, {2, 1, 50, 144}, 6));
  }
}

// Rows of whole quads that do not shrink, and some that do.
TEST(LowerResample2d, RowsOfQuads_MatchReference) {
  for (auto mode : {InterpolationMode::kNearestNeighbor, InterpolationMode::kLinear}) {
    for (uint32_t columns : {4u, 8u, 12u, 16u, 20u, 24u, 36u, 100u}) {
      for (uint32_t rows : {3u, 5u, 10u, 13u}) {
        Resample2dAttributes attributes{.mode = mode, .sizes = List{rows, columns}};
        ExpectResamples(attributes, RandomTensor(kFloat, {2, 3, 5, 8}, rows * columns));
      }
    }
    Resample2dAttributes swapped{.mode = mode, .sizes = List{16, 7}, .axes = List{3, 2}};
    ExpectResamples(swapped, RandomTensor(kFloat, {1, 3, 5, 8}, 4));
    Resample2dAttributes outer{.mode = mode, .sizes = List{6, 10}, .axes = List{1, 2}};
    ExpectResamples(outer, RandomTensor(kFloat, {2, 3, 5, 8}, 5));
  }
}

TEST(LowerResample2d, DoubledAndHalvedColumns_MatchReference) {
  for (auto mode : {InterpolationMode::kNearestNeighbor, InterpolationMode::kLinear}) {
    for (uint32_t columns : {4u, 8u, 12u, 32u}) {
      for (uint32_t rows : {2u, 3u, 5u, 9u}) {
        Resample2dAttributes doubled{.mode = mode, .sizes = List{rows, 2 * columns}};
        ExpectResamples(doubled, RandomTensor(kFloat, {2, 3, 5, columns}, rows));
        Resample2dAttributes halved{.mode = mode, .sizes = List{rows, columns}};
        ExpectResamples(halved, RandomTensor(kFloat, {2, 3, 5, 2 * columns}, columns));
      }
    }
  }
}

// So many rows, and so long, that subgroups of llvmpipe take them: whole stretches of columns, with
// both ends of a row among them, and what is left.
TEST(LowerResample2d, ManyRowsOfDoubledAndHalvedColumns_MatchReference) {
  for (auto mode : {InterpolationMode::kNearestNeighbor, InterpolationMode::kLinear}) {
    for (uint32_t columns : {32u, 36u, 52u, 64u, 140u}) {
      for (uint32_t rows : {33u, 66u}) {
        Resample2dAttributes doubled{.mode = mode, .sizes = List{rows, 2 * columns}};
        ExpectResamples(doubled, RandomTensor(kFloat, {1, 2, 33, columns}, rows));
      }
      Resample2dAttributes halved{.mode = mode, .sizes = List{33, 2 * columns}};
      ExpectResamples(halved, RandomTensor(kFloat, {1, 2, 66, 4 * columns}, columns));
    }
  }
}

// As many columns as lanes and more, with channels behind them and without, and more rows than a
// unit of llvmpipe's kernel has, growing and shrinking.
TEST(LowerResample2d, RowsOfManyColumns_MatchReference) {
  const List first = {1, 2};
  const List last = {2, 3};
  const auto expect = [](const Resample2dAttributes& attributes, const Shape& shape,
                         uint32_t seed) {
    for (OperandDataType type : {kFloat, OperandDataType::kFloat16, OperandDataType::kUint8}) {
      ExpectResamples(attributes, RandomTensor(type, shape, seed));
    }
  };
  for (auto mode : {InterpolationMode::kNearestNeighbor, InterpolationMode::kLinear}) {
    for (const List& sizes : {List{71, 37}, List{33, 90}, List{20, 16}, List{7, 71}}) {
      const Resample2dAttributes images{.mode = mode, .sizes = sizes, .axes = last};
      expect(images, {2, 2, 33, 41}, sizes[0]);
      expect(images, {1, 3, 8, 9}, sizes[1]);
      const Resample2dAttributes channels{.mode = mode, .sizes = sizes, .axes = first};
      expect(channels, {2, 35, 9, 3}, sizes[0]);
      expect(channels, {1, 12, 41, 32}, sizes[1]);
    }
  }
}

TEST(LowerResample2d, InfiniteRows_StayOutOfTheirNeighbours) {
  constexpr uint32_t kRows = 70;
  constexpr uint32_t kColumns = 160;
  const long double infinity = std::numeric_limits<long double>::infinity();
  Values values(kRows * kColumns, 1);
  for (uint32_t row = 5; row < kRows; row += 3) {
    std::fill_n(values.begin() + row * kColumns, kColumns, infinity);
  }
  const HostTensor input = HostTensor::Create(kFloat, {1, 1, kRows, kColumns}, values);
  for (uint32_t columns : {kColumns / 2, kColumns * 2, kColumns * 3}) {
    const Resample2dAttributes attributes{.mode = InterpolationMode::kLinear,
                                          .sizes = List{kRows, columns}};
    const Values results = RunOne(OperatorKind::kResample2d, {input}, attributes).Values();
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i], values[i / columns * kColumns]) << "element " << i;
    }
  }
}

// Fractions of more than 32 bits.
TEST(LowerResample2d, LongRows_MatchReference) {
  for (auto mode : {InterpolationMode::kNearestNeighbor, InterpolationMode::kLinear}) {
    Resample2dAttributes attributes{.mode = mode, .sizes = List{1, 70001}};
    ExpectResamples(attributes, RandomTensor(OperandDataType::kUint8, {1, 1, 1, 60000}, 3));
  }
}

TEST(LowerResample2d, InfiniteNeighbour_StaysOutWithoutAShare) {
  long double infinity = std::numeric_limits<long double>::infinity();
  HostTensor input = HostTensor::Create(kFloat, {1, 1, 1, 3}, {1, 2, infinity});
  Resample2dAttributes attributes{.mode = InterpolationMode::kLinear, .sizes = List{1, 3}};
  EXPECT_EQ(RunOne(OperatorKind::kResample2d, {input}, attributes).Values(),
            (Values{1, 2, infinity}));

  input = HostTensor::Create(kFloat, {1, 1, 1, 4}, {1, -infinity, 2, infinity});
  attributes.sizes = List{1, 4};
  EXPECT_EQ(RunOne(OperatorKind::kResample2d, {input}, attributes).Values(),
            (Values{1, -infinity, 2, infinity}));

  attributes.sizes = List{1, 8};
  EXPECT_EQ(RunOne(OperatorKind::kResample2d, {input}, attributes).Values(),
            (Values{1, -infinity, -infinity, -infinity, -infinity, infinity, infinity, infinity}));
}

TEST(LowerResample2d, RepeatedAxes_AreRefused) {
  Resample2dAttributes attributes{.sizes = List{2, 2}, .axes = List{2, 2}};
  EXPECT_FALSE(
      RunNode(OperatorKind::kResample2d, {RandomTensor(kFloat, {1, 1, 2, 2}, 4)}, attributes).ok());
}

}  // namespace
}  // namespace webnnd::service
