// where and cast, whose results are exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/service/elementwise_fixture.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service::elementwise_test {
namespace {

void ExpectChoice(OperandDataType type, const webidl::Shape& condition_shape,
                  const webidl::Shape& a_shape, const webidl::Shape& b_shape) {
  SCOPED_TRACE(Name(type) + webidl::ShapeToString(condition_shape) +
               webidl::ShapeToString(a_shape) + webidl::ShapeToString(b_shape));
  HostTensor condition = Counting(OperandDataType::kUint8, condition_shape, 0);
  Values conditions = condition.Values();
  for (size_t i = 0; i < conditions.size(); ++i) conditions[i] = i * i % 7 % 3 * 128 % 255;
  condition = HostTensor::Create(OperandDataType::kUint8, condition_shape, conditions);
  const HostTensor a = Counting(type, a_shape, 1);
  const HostTensor b = Counting(type, b_shape, 40);
  const HostTensor result = RunOne(OperatorKind::kWhere, {condition, a, b});
  const webidl::Shape& shape = result.descriptor.shape();
  const Values a_values = a.Values();
  const Values b_values = b.Values();
  Values expected;
  for (size_t i = 0; i < result.descriptor.element_count(); ++i) {
    const bool chosen = conditions[BroadcastIndex(condition_shape, shape, i)] != 0;
    expected.push_back(chosen ? a_values[BroadcastIndex(a_shape, shape, i)]
                              : b_values[BroadcastIndex(b_shape, shape, i)]);
  }
  ExpectClose(expected, result, 0);
}

TEST(Where, AllTypes_ChooseWithBroadcasting) {
  for (OperandDataType type : {OperandDataType::kFloat32, OperandDataType::kFloat16,
                               OperandDataType::kUint64, OperandDataType::kInt8}) {
    for (uint32_t width : {5u, 16u}) ExpectChoice(type, {3, 1, width}, {2, width}, {1});
  }
}

// Rows that quads do not lie in (STORE_ROWS_BY_WORDS of shaders/by_words.glsl).
TEST(Where, RowsByWords_ChooseWithBroadcasting) {
  for (OperandDataType type :
       {OperandDataType::kFloat32, OperandDataType::kFloat16, OperandDataType::kInt8}) {
    for (uint32_t width : {67u, 74u, 129u, 333u}) {
      ExpectChoice(type, {3, 1, width}, {2, width}, {1});
      ExpectChoice(type, {2, 1}, {3, 2, width}, {width});
      ExpectChoice(type, {width}, {}, {3, 2, width});
      ExpectChoice(type, {3, 2, width}, {3, 1, width}, {2, 1});
    }
  }
}

// What the draft says where it says something, else our choice: saturate, NaN is 0.
long double CastReference(OperandDataType from, OperandDataType to, long double value) {
  if (IsFloat(to)) return value;
  if (!IsFloat(from)) return Wrap(to, static_cast<__int128>(value));
  if (std::isnan(value)) return 0;
  Values samples = Samples(to);
  long double least = *std::min_element(samples.begin(), samples.end());
  long double greatest = *std::max_element(samples.begin(), samples.end());
  return std::fmin(std::fmax(std::trunc(value), least), greatest);
}

std::vector<OperandDataType> CastTypes() {
  std::vector<OperandDataType> types(std::begin(kAllTypes), std::end(kAllTypes));
  types.push_back(OperandDataType::kInt4);
  types.push_back(OperandDataType::kUint4);
  return types;
}

TEST(Cast, AllPairsOfTypes_MatchTheDraft) {
  const std::vector<OperandDataType> types = CastTypes();
  Sample sample(3);
  for (OperandDataType from : types) {
    for (OperandDataType to : types) {
      if (!sample.Takes()) continue;
      SCOPED_TRACE(Name(from) + " to " + Name(to));
      HostTensor operand = Vector(from, Samples(from));
      Values expected;
      for (long double value : operand.Values()) {
        expected.push_back(RoundTo(to, CastReference(from, to, value)));
      }
      ExpectClose(expected, RunOne(OperatorKind::kCast, {operand}, webidl::CastAttributes{to}), 0);
    }
  }
}

// Quads of the result have elements of several quads of the operand, or of a part of one.
TEST(Cast, AnyLength_KeepsElementsInPlace) {
  const std::vector<OperandDataType> types = CastTypes();
  Sample sample(5);
  for (OperandDataType from : types) {
    for (OperandDataType to : types) {
      for (uint32_t length : {1, 3, 8, 15, 16, 31, 33, 67, 129}) {
        if (!sample.Takes()) continue;
        SCOPED_TRACE(Name(from) + " to " + Name(to) + " of " + std::to_string(length));
        Values values;
        for (uint32_t i = 0; i < length; ++i) values.push_back((i * 5 + i / 8) % 8);
        const HostTensor operand = Vector(from, values);
        EXPECT_EQ(RunOne(OperatorKind::kCast, {operand}, webidl::CastAttributes{to}).Values(),
                  values);
      }
    }
  }
}

TEST(Cast, FloatToHalf_RoundsToNearestEven) {
  Values values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(std::ldexp(1.0L + i / 16384.0L, i % 42 - 26) * (i % 2 == 0 ? 1 : -1));
  }
  for (long double value : {65519.99L, 65520.0L, 2.98e-8L, 2.9802322387695312e-8L, 1.0004882813L}) {
    values.push_back(value);
  }
  HostTensor operand = Vector(OperandDataType::kFloat32, values);
  ExpectClose(
      operand.Values(),
      RunOne(OperatorKind::kCast, {operand}, webidl::CastAttributes{OperandDataType::kFloat16}), 0);
}

}  // namespace
}  // namespace webnnd::service::elementwise_test
