#include "tests/conformance/compare.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace webnnd::conformance {
namespace {

using webidl::OperandDataType;
using Metric = Tolerance::Metric;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

uint64_t Bits(float value) { return std::bit_cast<uint32_t>(value); }
double Float32(Metric metric, float a, float b) {
  return Distance(OperandDataType::kFloat32, metric, Bits(a), Bits(b));
}

TEST(Distance, Float32Ulp_CountsOnOneLineThroughZero) {
  EXPECT_EQ(Float32(Metric::kUlp, 1, 1), 0);
  EXPECT_EQ(Float32(Metric::kUlp, 1, std::nextafterf(1, 2)), 1);
  EXPECT_EQ(Float32(Metric::kUlp, 0.0f, -0.0f), 0);
  float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(Float32(Metric::kUlp, smallest, -smallest), 2);
  EXPECT_EQ(Float32(Metric::kUlp, std::numeric_limits<float>::max(), kInfinity), 1);
}

TEST(Distance, NaN_MatchesOnlyNaN) {
  for (Metric metric : {Metric::kUlp, Metric::kAtol}) {
    EXPECT_EQ(Float32(metric, kNan, -kNan), 0);
    EXPECT_EQ(Float32(metric, kNan, 1), kInfinity);
    EXPECT_EQ(Float32(metric, 1, kNan), kInfinity);
    EXPECT_EQ(Distance(OperandDataType::kFloat16, metric, 0x7e01, 0x7e00), 0);
    EXPECT_EQ(Distance(OperandDataType::kFloat16, metric, 0x7c00, 0x7e00), kInfinity);
    // Expected by the suite, 0x7c00 stands for NaN too.
    EXPECT_EQ(Distance(OperandDataType::kFloat16, metric, 0x7e00, 0x7c00), 0);
    EXPECT_EQ(Distance(OperandDataType::kFloat16, metric, 0x7e00, 0xfc00), kInfinity);
    EXPECT_EQ(Distance(OperandDataType::kFloat16, metric, 0x7c00, 0x7c00), 0);
  }
}

TEST(Distance, Atol_IsTheAbsoluteDifference) {
  EXPECT_EQ(Float32(Metric::kAtol, 1.5f, -1), 2.5);
  EXPECT_EQ(Float32(Metric::kAtol, kInfinity, kInfinity), 0);
  EXPECT_EQ(Float32(Metric::kAtol, kInfinity, -kInfinity), kInfinity);
  EXPECT_EQ(Float32(Metric::kAtol, kInfinity, 1), kInfinity);
  EXPECT_EQ(Distance(OperandDataType::kFloat16, Metric::kAtol, 0x3c00, 0x4000), 1);  // 1 and 2
}

TEST(Distance, Float16Ulp_IsOfTheRawBits) {
  EXPECT_EQ(Distance(OperandDataType::kFloat16, Metric::kUlp, 0x3c00, 0x3c02), 2);
  EXPECT_EQ(Distance(OperandDataType::kFloat16, Metric::kUlp, 0x0001, 0x8001), 0x8000);
  EXPECT_EQ(Distance(OperandDataType::kFloat16, Metric::kUlp, 0x0000, 0x8000), 0);
}

TEST(Distance, Integers_AreSubtractedByTheirSign) {
  EXPECT_EQ(Distance(OperandDataType::kInt8, Metric::kUlp, 0xff, 0x01), 2);
  EXPECT_EQ(Distance(OperandDataType::kUint8, Metric::kUlp, 0xff, 0x01), 254);
  EXPECT_EQ(Distance(OperandDataType::kInt4, Metric::kUlp, 0xf, 0x1), 2);
  EXPECT_EQ(Distance(OperandDataType::kUint4, Metric::kAtol, 0xf, 0x1), 14);
  EXPECT_EQ(Distance(OperandDataType::kInt64, Metric::kUlp, 1ull << 63, (1ull << 63) - 1),
            std::ldexp(1.0, 64));
  EXPECT_EQ(Distance(OperandDataType::kUint64, Metric::kUlp, ~0ull, ~0ull - 1), 1);
}

class CompareTest : public testing::Test {
 protected:
  static std::vector<std::byte> Bytes(const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  static Result<double> CompareFloats(const std::vector<float>& actual,
                                      const std::vector<float>& expected,
                                      const Tolerance& tolerance) {
    const uint32_t shape[] = {static_cast<uint32_t>(expected.size())};
    auto descriptor =
        webidl::OperandDescriptor::Create(OperandDataType::kFloat32, std::span(shape));
    return Compare(*descriptor, Bytes(actual), Bytes(expected), tolerance);
  }
};

TEST_F(CompareTest, WithinTolerance_Passes) {
  auto distance = CompareFloats({1, 2.5f, 3.25f}, {1, 2, 3}, {Metric::kAtol, 0.5});
  ASSERT_TRUE(distance.ok());
  EXPECT_EQ(*distance, 0.5);  // The greatest, not the last.
  EXPECT_TRUE(CompareFloats({1, std::nextafterf(2, 3)}, {1, 2}, {Metric::kUlp, 1}).ok());
  EXPECT_TRUE(CompareFloats({kNan}, {kNan}, {Metric::kUlp, 0}).ok());
}

TEST_F(CompareTest, BeyondTolerance_NamesTheFirstElementAndCountsAll) {
  auto status = CompareFloats({1, 3, 4}, {1, 2, 2}, {Metric::kAtol, 0.5});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(),
            "element (1) is 3 and not 2: 1 (absolute) apart, at most 0.5; 2 of 3 elements are "
            "wrong");
}

TEST_F(CompareTest, LastElement_IsCompared) {
  std::vector<float> expected(5000, 1);
  std::vector<float> actual = expected;
  actual.back() = 2;
  EXPECT_FALSE(CompareFloats(actual, expected, {Metric::kUlp, 4}).ok());
}

TEST_F(CompareTest, OtherLength_Fails) {
  EXPECT_FALSE(CompareFloats({1}, {1, 2}, {Metric::kUlp, 0}).ok());
}

}  // namespace
}  // namespace webnnd::conformance
