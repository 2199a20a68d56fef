// dequantizeLinear and quantizeLinear against long double loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;

struct Range {
  OperandDataType type;
  long double least;
  long double greatest;
};
constexpr Range kRanges[] = {
    {OperandDataType::kInt4, -8, 7},
    {OperandDataType::kUint4, 0, 15},
    {OperandDataType::kInt8, -128, 127},
    {OperandDataType::kUint8, 0, 255},
    {OperandDataType::kInt32, INT32_MIN, INT32_MAX},
    {OperandDataType::kUint32, 0, UINT32_MAX},
};

size_t CountOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

HostTensor RandomIntegers(const Range& range, const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int64_t> integer(static_cast<int64_t>(range.least),
                                                 static_cast<int64_t>(range.greatest));
  Values values(CountOf(shape));
  for (long double& value : values) value = integer(random);
  return HostTensor::Create(range.type, shape, values);
}

HostTensor RandomFloats(OperandDataType type, const Shape& shape, double least, double greatest,
                        uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(least, greatest);
  Values values(CountOf(shape));
  for (long double& value : values) value = real(random);
  return HostTensor::Create(type, shape, values);
}

// The element of `scale` whose block holds element `index`.
size_t BlockOf(const Shape& shape, const Shape& scale, size_t index) {
  size_t block = 0;
  size_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    block += index % shape[d] / (shape[d] / scale[d]) * stride;
    index /= shape[d];
    stride *= scale[d];
  }
  return block;
}

// Shapes of an operand and of its scale.
const std::pair<Shape, Shape> kShapes[] = {
    {{}, {}},
    {{1}, {1}},
    {{13}, {1}},
    {{3, 5}, {3, 5}},
    {{3, 5}, {3, 1}},
    {{3, 5}, {1, 5}},
    {{6, 64}, {6, 2}},
    {{6, 12}, {2, 3}},
    {{4, 2, 24}, {2, 1, 3}},
    {{2, 3, 1, 2, 2, 1, 3, 4}, {1, 3, 1, 2, 1, 1, 3, 2}},
};

void ExpectDequantizes(const Range& range, OperandDataType float_type, const Shape& shape,
                       const Shape& scale_shape) {
  HostTensor input = RandomIntegers(range, shape, 1);
  HostTensor scale = RandomFloats(float_type, scale_shape, 0.01, 2, 2);
  HostTensor zero_point = RandomIntegers(range, scale_shape, 3);
  SCOPED_TRACE(input.descriptor.ToString() + " by " + scale.descriptor.ToString());
  HostTensor result = RunOne(OperatorKind::kDequantizeLinear, {input, scale, zero_point});
  Values inputs = input.Values();
  Values scales = scale.Values();
  Values zero_points = zero_point.Values();
  Values actual = result.Values();
  ASSERT_EQ(actual.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t block = BlockOf(shape, scale_shape, i);
    long double want = RoundTo(float_type, (inputs[i] - zero_points[block]) * scales[block]);
    ASSERT_LE(UlpDistance(float_type, want, actual[i]), 1)
        << "element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(actual[i]);
  }
}

TEST(LowerDequantizeLinear, EveryTypeAndBlock_MatchesReference) {
  for (const Range& range : kRanges) {
    for (OperandDataType type : {kFloat, kHalf}) {
      for (const auto& [shape, scale] : kShapes) ExpectDequantizes(range, type, shape, scale);
    }
  }
}

TEST(LowerDequantizeLinear, BlocksOfManyElements_MatchReference) {
  ExpectDequantizes(kRanges[0], kFloat, {64, 256}, {64, 8});
  ExpectDequantizes(kRanges[1], kHalf, {64, 256}, {64, 8});
  ExpectDequantizes(kRanges[2], kFloat, {64, 256}, {64, 1});
  ExpectDequantizes(kRanges[3], kFloat, {1000}, {1});
  // Of a quad of the narrower types, of less and of more.
  for (const Range& range : {kRanges[0], kRanges[1], kRanges[2], kRanges[3]}) {
    for (uint32_t block : {4u, 8u, 12u, 16u, 20u, 32u, 48u, 64u}) {
      for (OperandDataType type : {kFloat, kHalf}) {
        ExpectDequantizes(range, type, {6, 3 * block}, {6, 3});
      }
    }
  }
}

// As many quads as some workgroups take at once, and a few more.
TEST(LowerDequantizeLinear, ManyQuads_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (const Range& range : {kRanges[0], kRanges[1], kRanges[2], kRanges[3]}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      ExpectDequantizes(range, type, {8, 1024}, {1, 1});
      ExpectDequantizes(range, type, {7, 1192}, {7, 1});
      ExpectDequantizes(range, type, {3, 3, 480}, {3, 1, 60});
    }
  }
}

TEST(LowerDequantizeLinear, BlocksThatDoNotDivide_AreRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kDequantizeLinear,
                       {RandomIntegers(kRanges[2], {6}, 4), RandomFloats(kFloat, {4}, 1, 2, 5),
                        RandomIntegers(kRanges[2], {4}, 6)},
                       webidl::NoAttributes{})
                   .ok());
}

long double Quantize(long double x, long double scale, long double zero_point, const Range& range) {
  // The quotient is a float, as the draft's emulation has it.
  long double quotient = static_cast<float>(static_cast<float>(x) / static_cast<float>(scale));
  return std::clamp(std::nearbyint(quotient) + zero_point, range.least, range.greatest);
}

void ExpectQuantizes(const Range& range, OperandDataType float_type, const Shape& shape,
                     const Shape& scale_shape) {
  HostTensor input = RandomFloats(float_type, shape, -300, 300, 7);
  HostTensor scale = RandomFloats(float_type, scale_shape, 0.5, 2, 8);
  HostTensor zero_point = RandomIntegers(range, scale_shape, 9);
  SCOPED_TRACE(input.descriptor.ToString() + " to " + zero_point.descriptor.ToString());
  HostTensor result = RunOne(OperatorKind::kQuantizeLinear, {input, scale, zero_point});
  Values inputs = input.Values();
  Values scales = scale.Values();
  Values zero_points = zero_point.Values();
  Values actual = result.Values();
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t block = BlockOf(shape, scale_shape, i);
    ASSERT_LE(std::fabs(Quantize(inputs[i], scales[block], zero_points[block], range) - actual[i]),
              1)
        << "element " << i;
  }
}

TEST(LowerQuantizeLinear, EveryTypeAndBlock_MatchesReference) {
  for (const Range& range : kRanges) {
    for (OperandDataType type : {kFloat, kHalf}) {
      for (const auto& [shape, scale] : kShapes) ExpectQuantizes(range, type, shape, scale);
    }
  }
}

TEST(LowerQuantizeLinear, BlocksOfManyElements_MatchReference) {
  for (const Range& range : kRanges) {
    ExpectQuantizes(range, kFloat, {64, 256}, {64, 8});
    ExpectQuantizes(range, kHalf, {64, 256}, {64, 1});
    ExpectQuantizes(range, kFloat, {3, 48}, {1, 1});
    ExpectQuantizes(range, kHalf, {1000}, {1});
  }
}

TEST(LowerQuantizeLinear, HalvesAndExtremes_RoundEvenAndSaturate) {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
  const Values inputs = {0.5L,  1.5L,   2.5L,      -0.5L,      -1.5L,
                         1e30L, -1e30L, kInfinity, -kInfinity, kNan};
  for (const Range& range : kRanges) {
    SCOPED_TRACE(webidl::ToString(range.type));
    const Values wanted = {3,           5, 5, 3, 1, range.greatest, range.least, range.greatest,
                           range.least, 3};
    for (uint32_t repeats : {1u, 8u}) {  // An odd number, and sixteens.
      Values all_inputs;
      Values all_wanted;
      for (uint32_t i = 0; i < repeats; ++i) {
        all_inputs.insert(all_inputs.end(), inputs.begin(), inputs.end());
        all_wanted.insert(all_wanted.end(), wanted.begin(), wanted.end());
      }
      HostTensor input = HostTensor::Create(kFloat, {10 * repeats}, all_inputs);
      HostTensor result = RunOne(
          OperatorKind::kQuantizeLinear,
          {input, HostTensor::Create(kFloat, {1}, {1}), HostTensor::Create(range.type, {1}, {3})});
      EXPECT_EQ(result.Values(), all_wanted);
    }
  }
}

TEST(LowerQuantizeLinear, ZeroPointOfAnotherShape_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kQuantizeLinear,
                       {RandomFloats(kFloat, {6}, 1, 2, 10), RandomFloats(kFloat, {2}, 1, 2, 11),
                        RandomIntegers(kRanges[2], {3}, 12)},
                       webidl::NoAttributes{})
                   .ok());
}

}  // namespace
}  // namespace webnnd::service
