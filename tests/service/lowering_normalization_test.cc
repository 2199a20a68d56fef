// Normalizations against long double loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;
using Axes = std::optional<std::vector<uint32_t>>;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;

std::vector<size_t> IndexOf(size_t element, const Shape& shape) {
  std::vector<size_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = element % shape[d];
    element /= shape[d];
  }
  return index;
}

// The element of a tensor that has the dimensions `axes` of `shape`, in their order.
size_t ElementAlong(const std::vector<size_t>& index, const Shape& shape,
                    const std::vector<uint32_t>& axes) {
  size_t element = 0;
  for (uint32_t axis : axes) element = element * shape[axis] + index[axis];
  return element;
}

void ExpectNear(const Values& expected, const HostTensor& actual) {
  OperandDataType type = actual.descriptor.data_type();
  Values values = actual.Values();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    long double want = RoundTo(type, expected[i]);
    if (std::fabs(want - values[i]) <= (type == kHalf ? 1e-3 : 2e-6)) continue;
    ASSERT_LE(UlpDistance(type, want, values[i]), type == kHalf ? 1 : 16)
        << "element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(values[i]);
  }
}

// Normalizes over `reduced`; scale and bias have the dimensions `affine` of the input.
Values Normalize(const HostTensor& input, const std::vector<uint32_t>& reduced,
                 const std::vector<uint32_t>& affine, const std::optional<HostTensor>& scale,
                 const std::optional<HostTensor>& bias, long double epsilon) {
  const Shape& shape = input.descriptor.shape();
  std::vector<uint32_t> kept;
  for (uint32_t d = 0; d < shape.size(); ++d) {
    if (std::count(reduced.begin(), reduced.end(), d) == 0) kept.push_back(d);
  }
  Values values = input.Values();
  Values sums(values.size());
  Values squares(values.size());
  Values counts(values.size());
  std::vector<size_t> groups(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    groups[i] = ElementAlong(IndexOf(i, shape), shape, kept);
    sums[groups[i]] += values[i];
    counts[groups[i]] += 1;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    long double difference = values[i] - sums[groups[i]] / counts[groups[i]];
    squares[groups[i]] += difference * difference;
  }
  Values scales = scale ? scale->Values() : Values();
  Values biases = bias ? bias->Values() : Values();
  Values result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    size_t g = groups[i];
    size_t a = ElementAlong(IndexOf(i, shape), shape, affine);
    result[i] = (values[i] - sums[g] / counts[g]) / std::sqrt(squares[g] / counts[g] + epsilon);
    if (scale) result[i] *= scales[a];
    if (bias) result[i] += biases[a];
  }
  return result;
}

void ExpectLayerNormalization(const HostTensor& input, const Axes& axes, bool has_scale,
                              bool has_bias, double epsilon = 1e-5) {
  SCOPED_TRACE(input.descriptor.ToString() + " axes " +
               (axes ? ::testing::PrintToString(*axes) : "absent"));
  const Shape& shape = input.descriptor.shape();
  OperandDataType type = input.descriptor.data_type();
  std::vector<uint32_t> all_but_first;
  for (uint32_t d = 1; d < shape.size(); ++d) all_but_first.push_back(d);
  std::vector<uint32_t> reduced = axes.value_or(all_but_first);
  Shape affine_shape;
  for (uint32_t axis : reduced) affine_shape.push_back(shape[axis]);
  std::optional<HostTensor> scale;
  std::optional<HostTensor> bias;
  if (has_scale) scale = RandomTensor(type, affine_shape, 101);
  if (has_bias) bias = RandomTensor(type, affine_shape, 102);
  HostTensor result =
      RunOne(OperatorKind::kLayerNormalization, {input, scale, bias},
             webidl::LayerNormalizationAttributes{.axes = axes, .epsilon = epsilon});
  ExpectNear(Normalize(input, reduced, reduced, scale, bias, epsilon), result);
}

TEST(LowerLayerNormalization, EveryChoiceOfAxes_MatchesReference) {
  HostTensor input = RandomTensor(kFloat, {3, 4, 5, 2}, 1);
  Sample sample(5);
  for (uint32_t chosen = 0; chosen < 16; ++chosen) {
    if (!sample.Takes()) continue;
    std::vector<uint32_t> axes;
    for (uint32_t d = 0; d < 4; ++d) {
      if ((chosen >> d & 1) != 0) axes.push_back(d);
    }
    ExpectLayerNormalization(input, axes, chosen % 2 == 0, chosen % 3 == 0);
  }
  ExpectLayerNormalization(input, std::nullopt, true, true, 0.01);
}

TEST(LowerLayerNormalization, RowsInOnePiece_MatchReference) {
  // Short rows, which are held in registers; rows by fours, which a workgroup normalizes in one
  // kernel; and rows that are neither.
  Sample sample(3);
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t length : {9u, 10u, 18u, 28u, 32u, 68u, 69u, 128u, 197u, 255u, 256u, 257u, 516u}) {
      HostTensor input = RandomTensor(type, {5, length}, length);
      for (bool has_scale : {false, true}) {
        for (bool has_bias : {!has_scale, has_scale}) {
          if (!sample.Takes()) continue;
          ExpectLayerNormalization(input, {{1}}, has_scale, has_bias);
        }
      }
    }
    ExpectLayerNormalization(RandomTensor(type, {3, 4, 5, 8}, 3), {{2, 3}}, true, true);
    ExpectLayerNormalization(RandomTensor(type, {3, 4, 5, 8}, 4), {{3, 2}}, true, true);
  }
}

// So many rows that subgroups of GPUs take them, short enough for any and too long for small ones;
// rows that just fit into a workgroup's registers; and longer ones, which are divided, the last
// part being shorter.
TEST(LowerLayerNormalization, RowsInRegisters_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t length : {36u, 256u, 260u}) {
      ExpectLayerNormalization(RandomTensor(type, {1025, length}, length), {{1}}, true, true);
    }
    ExpectLayerNormalization(RandomTensor(type, {3, 4096}, 9), {{1}}, true, false);
    ExpectLayerNormalization(RandomTensor(type, {3, 4100}, 10), {{1}}, false, true);
    ExpectLayerNormalization(RandomTensor(type, {2, 40004}, 11), {{1}}, true, true);
  }
  ExpectLayerNormalization(RandomTensor(kFloat, {1, 600000}, 12), {{1}}, false, false);
}

TEST(LowerLayerNormalization, AxesOutOfOrder_PermuteScaleAndBias) {
  for (OperandDataType type : {kFloat, kHalf}) {
    HostTensor input = RandomTensor(type, {3, 4, 5, 7}, 2);
    ExpectLayerNormalization(input, {{3, 1}}, true, true);
    ExpectLayerNormalization(input, {{2, 0, 3}}, true, false);
    ExpectLayerNormalization(input, {{3, 2, 1, 0}}, false, true);
  }
}

TEST(LowerLayerNormalization, HalfRowsOfOddLength_MatchReference) {
  ExpectLayerNormalization(RandomTensor(kHalf, {3, 5, 33}, 3), {{2}}, true, true);
  ExpectLayerNormalization(RandomTensor(kHalf, {7}, 4), {{0}}, true, false);
  // So many that they are cast to float32 and back.
  ExpectLayerNormalization(RandomTensor(kHalf, {60, 77}, 5), {{1}}, true, true);
  ExpectLayerNormalization(RandomTensor(kHalf, {20, 11, 21}, 6), std::nullopt, true, false);
}

TEST(LowerLayerNormalization, OneElement_GivesTheBias) {
  ExpectLayerNormalization(RandomTensor(kFloat, {}, 5), std::nullopt, true, true);
  ExpectLayerNormalization(RandomTensor(kHalf, {5}, 6), std::nullopt, false, true);
}

TEST(LowerLayerNormalization, LongRowsFarFromZero_KeepTheirVariance) {
  HostTensor input = RandomTensor(kFloat, {2, 30000}, 7, 100, 101);
  HostTensor result = RunOne(OperatorKind::kLayerNormalization, {input, {}, {}},
                             webidl::LayerNormalizationAttributes{});
  Values want = Normalize(input, {1}, {1}, {}, {}, 1e-5L);
  Values got = result.Values();
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), 1e-4);
  }
  ExpectLayerNormalization(RandomTensor(kFloat, {600, 40, 2}, 8), {{1}}, true, true);
}

TEST(LowerLayerNormalization, RowsOfOtherSizes_HaveTheSameBits) {
  const webidl::LayerNormalizationAttributes along{.axes = {{1}}};
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t length : {10u, 32u, 36u, 64u, 78u, 128u, 200u, 256u, 300u}) {
      const HostTensor input = RandomTensor(type, {70, length}, length);
      const HostTensor one = RunOne(OperatorKind::kLayerNormalization, {input, {}, {}}, along);
      EXPECT_EQ(
          RunWithOtherSizes(OperatorKind::kLayerNormalization, input, along, /*operands=*/3).bytes,
          one.bytes)
          << input.descriptor.ToString();
    }
  }
}

TEST(LowerLayerNormalization, ShortRowsFarFromZero_KeepTheirVariance) {
  for (uint32_t length : {40u, 196u, 256u}) {
    const HostTensor input = RandomTensor(kFloat, {3, length}, length, 1000, 1001);
    const Values got = RunOne(OperatorKind::kLayerNormalization, {input, {}, {}},
                              webidl::LayerNormalizationAttributes{.axes = {{1}}})
                           .Values();
    const Values want = Normalize(input, {1}, {1}, {}, {}, 1e-5L);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), 1e-5) << length;
    }
  }
}

// Elements that lie far from an outlier are as exact as without it, wherever it is in the row.
TEST(LowerLayerNormalization, RowsWithAnOutlier_KeepTheOthers) {
  for (uint32_t length : {32u, 36u, 197u, 512u, 1028u, 6000u}) {
    for (uint32_t place : {0u, 1u, length / 2, length - 1}) {
      for (double spread : {0.0, 1.0}) {
        Values values =
            RandomTensor(kFloat, {3, length}, length, 0.3 - spread, 0.3 + spread).Values();
        values[length + place] = -1e6;  // Between rows without one.
        const HostTensor input = HostTensor::Create(kFloat, {3, length}, values);
        const HostTensor result = RunOne(OperatorKind::kLayerNormalization, {input, {}, {}},
                                         webidl::LayerNormalizationAttributes{.axes = {{1}}});
        const Values want = Normalize(input, {1}, {1}, {}, {}, 1e-5L);
        const Values got = result.Values();
        for (uint32_t i = length; i < 2 * length; ++i) {
          ASSERT_LE(UlpDistance(kFloat, RoundTo(kFloat, want[i]), got[i]), 14)
              << "element " << i - length << " of " << length << ", outlier at " << place
              << ", want " << static_cast<double>(want[i]) << ", got "
              << static_cast<double>(got[i]);
        }
        ExpectNear(want, result);
      }
    }
  }
}

TEST(LowerLayerNormalization, GroupBeyondTheLoops_IsRefused) {
  auto result = RunNode(OperatorKind::kLayerNormalization,
                        {HostTensor::Create(kFloat, {1, 4000000}, {1}), {}, {}},
                        webidl::LayerNormalizationAttributes{});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(LowerInstanceNormalization, BothLayouts_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (int choice = 0; choice < 16; ++choice) {
      bool nhwc = (choice & 1) != 0;
      uint32_t channels = nhwc ? 3 : 1;
      // Odd sizes, and rows and channels by fours.
      const Shape shape = (choice & 8) != 0 ? Shape{2, 3, 6, 8} : Shape{2, 3, 7, 5};
      HostTensor input = RandomTensor(type, shape, 10 + choice);
      std::optional<HostTensor> scale;
      std::optional<HostTensor> bias;
      Shape affine_shape = {input.descriptor.shape()[channels]};
      if ((choice & 2) != 0) scale = RandomTensor(type, affine_shape, 20);
      if ((choice & 4) != 0) bias = RandomTensor(type, affine_shape, 21);
      HostTensor result = RunOne(OperatorKind::kInstanceNormalization, {input, scale, bias},
                                 webidl::InstanceNormalizationAttributes{
                                     .epsilon = 1e-3,
                                     .layout = nhwc ? webidl::InputOperandLayout::kNhwc
                                                    : webidl::InputOperandLayout::kNchw});
      ExpectNear(Normalize(input, {nhwc ? 1u : 2u, nhwc ? 2u : 3u}, {channels}, scale, bias, 1e-3L),
                 result);
    }
  }
}

TEST(LowerInstanceNormalization, LargeImages_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (OperandDataType type : {kFloat, kHalf}) {
    const HostTensor input = RandomTensor(type, {2, 3, 90, 60}, 32);
    const HostTensor scale = RandomTensor(type, {3}, 33);
    const HostTensor bias = RandomTensor(type, {3}, 34);
    const HostTensor result = RunOne(OperatorKind::kInstanceNormalization, {input, scale, bias},
                                     webidl::InstanceNormalizationAttributes{.epsilon = 1e-3});
    ExpectNear(Normalize(input, {2, 3}, {1}, scale, bias, 1e-3L), result);
  }
}

// Columns in llvmpipe's lanes: one vector of them, several, and in turns, with a last one that is
// not whole; rows in one part and in several.
TEST(LowerLayerNormalization, Columns_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t columns : {16u, 33u, 34u, 70u, 162u}) {
      ExpectLayerNormalization(RandomTensor(type, {2, 50, columns}, columns), {{1}},
                               columns % 2 == 0, columns % 3 == 0);
      ExpectLayerNormalization(RandomTensor(type, {2, 213, columns}, columns), {{1}}, true, true);
    }
    ExpectLayerNormalization(RandomTensor(type, {2, 10, 7, 5, 8}, 35), {{1, 2}}, true, true);
    ExpectLayerNormalization(RandomTensor(type, {150, 3, 24}, 36), {{0}}, true, true);
  }
}

TEST(LowerInstanceNormalization, Columns_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t channels : {16u, 35u, 40u, 130u}) {
      // The latter lie far from zero.
      for (const auto& [rows, mean] : {std::pair(5u, 0), std::pair(41u, 0), std::pair(41u, 30)}) {
        const HostTensor input =
            RandomTensor(type, {2, rows, 9, channels}, channels, mean - 1, mean + 1);
        const HostTensor scale = RandomTensor(type, {channels}, 33);
        const HostTensor bias = RandomTensor(type, {channels}, 34);
        const HostTensor result =
            RunOne(OperatorKind::kInstanceNormalization, {input, scale, bias},
                   webidl::InstanceNormalizationAttributes{
                       .epsilon = 1e-3, .layout = webidl::InputOperandLayout::kNhwc});
        const Values want = Normalize(input, {1, 2}, {3}, scale, bias, 1e-3L);
        if (mean == 0 || type == kHalf) {
          ExpectNear(want, result);
          continue;
        }
        const Values got = result.Values();
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), 1e-5) << i;
        }
      }
    }
  }
}

TEST(LowerInstanceNormalization, ScaleOfOtherSize_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kInstanceNormalization,
                       {RandomTensor(kFloat, {2, 3, 4, 5}, 30), RandomTensor(kFloat, {5}, 31), {}},
                       webidl::InstanceNormalizationAttributes{})
                   .ok());
}

TEST(LowerBatchNormalization, EveryAxisAndOption_MatchesReference) {
  Sample sample(5);
  for (OperandDataType type : {kFloat, kHalf}) {
    // Odd sizes, quads that lie in rows, so many that lanes take them in turns, rows in parts, and
    // rows of words that they share.
    const Shape shapes[] = {
        {3, 5, 2, 7}, {3, 4, 2, 8}, {2, 3, 4, 64}, {5, 3, 9, 38}, {3, 2, 7, 11}};
    for (uint32_t choice = 0; choice < 80; ++choice) {
      if (!sample.Takes()) continue;
      uint32_t axis = choice % 4;
      const Shape& shape = shapes[choice / 16];
      HostTensor input = RandomTensor(type, shape, 40 + choice);
      Shape features = {input.descriptor.shape()[axis]};
      HostTensor mean = RandomTensor(type, features, 41);
      HostTensor variance = RandomTensor(type, features, 42, 0.1, 3);
      std::optional<HostTensor> scale;
      std::optional<HostTensor> bias;
      if ((choice & 4) != 0) scale = RandomTensor(type, features, 43);
      if ((choice & 8) != 0) bias = RandomTensor(type, features, 44);
      HostTensor result =
          RunOne(OperatorKind::kBatchNormalization, {input, mean, variance, scale, bias},
                 webidl::BatchNormalizationAttributes{.axis = axis, .epsilon = 1e-3});
      Values want = input.Values();
      for (size_t i = 0; i < want.size(); ++i) {
        size_t f = IndexOf(i, input.descriptor.shape())[axis];
        want[i] = (want[i] - mean.Values()[f]) / std::sqrt(variance.Values()[f] + 1e-3L);
        if (scale) want[i] *= scale->Values()[f];
        if (bias) want[i] += bias->Values()[f];
      }
      ExpectNear(want, result);
    }
  }
}

// All elements have the same operands: whole fours of quads, and a rest.
TEST(LowerBatchNormalization, OneFeature_MatchesReference) {
  for (uint32_t size : {640u, 64u, 70u, 16u, 3u}) {
    HostTensor input = RandomTensor(kFloat, {1, size}, 45);
    HostTensor mean = RandomTensor(kFloat, {1}, 46);
    HostTensor variance = RandomTensor(kFloat, {1}, 47, 0.1, 3);
    HostTensor result = RunOne(OperatorKind::kBatchNormalization,
                               {input, mean, variance, std::nullopt, std::nullopt},
                               webidl::BatchNormalizationAttributes{.axis = 0, .epsilon = 1e-3});
    Values want = input.Values();
    for (long double& value : want) {
      value = (value - mean.Values()[0]) / std::sqrt(variance.Values()[0] + 1e-3L);
    }
    ExpectNear(want, result);
  }
}

TEST(LowerBatchNormalization, MeanOfOtherSize_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kBatchNormalization,
                       {RandomTensor(kFloat, {2, 3}, 50),
                        RandomTensor(kFloat, {2}, 51),
                        RandomTensor(kFloat, {3}, 52),
                        {},
                        {}},
                       webidl::BatchNormalizationAttributes{})
                   .ok());
}

}  // namespace
}  // namespace webnnd::service
