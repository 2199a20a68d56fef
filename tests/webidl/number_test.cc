#include "webidl/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace webnnd::webidl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr uint64_t kUint64Max = std::numeric_limits<uint64_t>::max();

double ToFloat32(Number number) {
  return std::get<double>(CastNumber(number, OperandDataType::kFloat32));
}
double ToFloat16(Number number) {
  return std::get<double>(CastNumber(number, OperandDataType::kFloat16));
}
int64_t ToSigned(Number number, OperandDataType type) {
  return std::get<int64_t>(CastNumber(number, type));
}
uint64_t ToUnsigned(Number number, OperandDataType type) {
  return std::get<uint64_t>(CastNumber(number, type));
}

TEST(CastNumber, ToFloat32_RoundsToNearestEven) {
  EXPECT_EQ(ToFloat32(0.1), 0.1f);
  EXPECT_EQ(ToFloat32(1 + 0x1p-24), 1.0);
  EXPECT_EQ(ToFloat32(1 + 3 * 0x1p-24), 1 + 0x1p-22);
  EXPECT_TRUE(std::signbit(ToFloat32(-0.0)));
  EXPECT_TRUE(std::signbit(ToFloat32(-1e-300)));
  EXPECT_TRUE(std::isnan(ToFloat32(std::nan(""))));
  // Through double, 2^60 + 2^36 + 1 would round twice: first down to a tie, then to even.
  EXPECT_EQ(ToFloat32((int64_t{1} << 60) + (int64_t{1} << 36) + 1), 0x1p60 + 0x1p37);
  EXPECT_EQ(ToFloat32(kUint64Max), 0x1p64);
}

TEST(CastNumber, ToFloat32_OverflowsToInfinity) {
  EXPECT_EQ(ToFloat32(0x1.fffffep127), 0x1.fffffep127);
  EXPECT_EQ(ToFloat32(std::nextafter(0x1.ffffffp127, 0)), 0x1.fffffep127);
  EXPECT_EQ(ToFloat32(0x1.ffffffp127), kInfinity);
  EXPECT_EQ(ToFloat32(-1e300), -kInfinity);
  EXPECT_EQ(ToFloat32(-kInfinity), -kInfinity);
}

TEST(CastNumber, ToFloat16_RoundsToNearestEven) {
  EXPECT_EQ(ToFloat16(1 + 0x1p-11), 1.0);
  EXPECT_EQ(ToFloat16(1 + 3 * 0x1p-11), 1 + 0x1p-9);
  EXPECT_EQ(ToFloat16(2049.0), 2048.0);
  EXPECT_EQ(ToFloat16(int64_t{2051}), 2052.0);
  EXPECT_EQ(ToFloat16(0x1p-24), 0x1p-24);          // The smallest subnormal.
  EXPECT_EQ(ToFloat16(0x1p-25), 0.0);              // Halfway to zero, which is even.
  EXPECT_EQ(ToFloat16(0x1.8p-24), 0x1p-23);        // Halfway between subnormals.
  EXPECT_EQ(ToFloat16(0x1.ff8p-15), 0x1.ff8p-15);  // Subnormal with all its bits.
  EXPECT_TRUE(std::signbit(ToFloat16(-1e-300)));
  EXPECT_TRUE(std::isnan(ToFloat16(std::nan(""))));
}

TEST(CastNumber, ToFloat16_OverflowsToInfinity) {
  EXPECT_EQ(ToFloat16(65504.0), 65504.0);
  EXPECT_EQ(ToFloat16(std::nextafter(65520.0, 0)), 65504.0);
  EXPECT_EQ(ToFloat16(65520.0), kInfinity);
  EXPECT_EQ(ToFloat16(kInt64Min), -kInfinity);
}

TEST(CastNumber, ToSigned_RoundsAndSaturates) {
  EXPECT_EQ(ToSigned(2.5, OperandDataType::kInt32), 2);
  EXPECT_EQ(ToSigned(3.5, OperandDataType::kInt32), 4);
  EXPECT_EQ(ToSigned(-2.5, OperandDataType::kInt32), -2);
  EXPECT_EQ(ToSigned(std::nan(""), OperandDataType::kInt32), 0);
  EXPECT_EQ(ToSigned(kInfinity, OperandDataType::kInt32), 2147483647);
  EXPECT_EQ(ToSigned(-1e10, OperandDataType::kInt32), -2147483648LL);
  EXPECT_EQ(ToSigned(127.4, OperandDataType::kInt8), 127);
  EXPECT_EQ(ToSigned(uint64_t{128}, OperandDataType::kInt8), 127);
  EXPECT_EQ(ToSigned(int64_t{-129}, OperandDataType::kInt8), -128);
  EXPECT_EQ(ToSigned(100.0, OperandDataType::kInt4), 7);
  EXPECT_EQ(ToSigned(int64_t{-100}, OperandDataType::kInt4), -8);
  EXPECT_EQ(ToSigned(0x1p63, OperandDataType::kInt64), kInt64Max);
  EXPECT_EQ(ToSigned(-0x1p63, OperandDataType::kInt64), kInt64Min);
  EXPECT_EQ(ToSigned(kUint64Max, OperandDataType::kInt64), kInt64Max);
  EXPECT_EQ(ToSigned(kInt64Min, OperandDataType::kInt64), kInt64Min);
}

TEST(CastNumber, ToUnsigned_RoundsAndSaturates) {
  EXPECT_EQ(ToUnsigned(-1.0, OperandDataType::kUint8), 0u);
  EXPECT_EQ(ToUnsigned(255.5, OperandDataType::kUint8), 255u);
  EXPECT_EQ(ToUnsigned(1e10, OperandDataType::kUint32), 4294967295u);
  EXPECT_EQ(ToUnsigned(int64_t{3000000000}, OperandDataType::kUint32), 3000000000u);
  EXPECT_EQ(ToUnsigned(int64_t{-1}, OperandDataType::kUint64), 0u);
  EXPECT_EQ(ToUnsigned(0x1p64, OperandDataType::kUint64), kUint64Max);
  EXPECT_EQ(ToUnsigned(kUint64Max, OperandDataType::kUint64), kUint64Max);
  EXPECT_EQ(ToUnsigned(16.0, OperandDataType::kUint4), 15u);
  EXPECT_EQ(ToUnsigned(std::nan(""), OperandDataType::kUint4), 0u);
}

TEST(CastBounds, AbsentAndNan_DoNotBind) {
  for (const std::optional<Number>& none : {std::optional<Number>(), std::optional<Number>(NAN)}) {
    const ClampAttributes clamp{.min_value = none, .max_value = none};
    const ClampBounds real = CastBounds(clamp, OperandDataType::kFloat16);
    EXPECT_EQ(real.least, Number(-kInfinity));
    EXPECT_EQ(real.greatest, Number(kInfinity));
    const ClampBounds integer = CastBounds(clamp, OperandDataType::kInt64);
    EXPECT_EQ(integer.least, Number(kInt64Min));
    EXPECT_EQ(integer.greatest, Number(kInt64Max));
  }
}

TEST(NumberLess, ComparesWithinAType) {
  EXPECT_TRUE(NumberLess(1.0, 2.0));
  EXPECT_FALSE(NumberLess(2.0, 2.0));
  EXPECT_FALSE(NumberLess(std::nan(""), 2.0));
  EXPECT_TRUE(NumberLess(kInt64Min, int64_t{0}));
  EXPECT_TRUE(NumberLess(kUint64Max - 1, kUint64Max));
}

}  // namespace
}  // namespace webnnd::webidl
