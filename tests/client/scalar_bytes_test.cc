#include "client/scalar_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace webnn {
namespace {

using webnnd::webidl::Number;
using webnnd::webidl::OperandDataType;

template <class T>
T As(const Number& number, OperandDataType type) {
  const std::vector<std::byte> bytes = ScalarBytes(number, type);
  EXPECT_EQ(bytes.size(), sizeof(T));
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

TEST(ScalarBytes, Float32_RoundsAndOverflowsToInfinity) {
  EXPECT_EQ(As<float>(0.1, OperandDataType::kFloat32), 0.1f);
  EXPECT_EQ(As<float>(1e300, OperandDataType::kFloat32), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(As<float>(std::nan(""), OperandDataType::kFloat32)));
  EXPECT_EQ(As<float>(int64_t{16777217}, OperandDataType::kFloat32), 16777216.0f);
}

TEST(ScalarBytes, Float16_HasTheIeeeBits) {
  EXPECT_EQ(As<uint16_t>(1.0, OperandDataType::kFloat16), 0x3c00);
  EXPECT_EQ(As<uint16_t>(-2.0, OperandDataType::kFloat16), 0xc000);
  EXPECT_EQ(As<uint16_t>(65504.0, OperandDataType::kFloat16), 0x7bff);
  EXPECT_EQ(As<uint16_t>(65520.0, OperandDataType::kFloat16), 0x7c00);
  EXPECT_EQ(As<uint16_t>(0x1p-14, OperandDataType::kFloat16), 0x0400);
  EXPECT_EQ(As<uint16_t>(0x1p-24, OperandDataType::kFloat16), 0x0001);
  EXPECT_EQ(As<uint16_t>(-0.0, OperandDataType::kFloat16), 0x8000);
  EXPECT_EQ(As<uint16_t>(0.333251953125, OperandDataType::kFloat16), 0x3555);
  EXPECT_EQ(As<uint16_t>(std::nan(""), OperandDataType::kFloat16), 0x7e00);
}

TEST(ScalarBytes, Integers_KeepTheirBits) {
  EXPECT_EQ(As<int64_t>(std::numeric_limits<int64_t>::min(), OperandDataType::kInt64),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(As<uint64_t>(std::numeric_limits<uint64_t>::max(), OperandDataType::kUint64),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(As<int32_t>(int64_t{-5}, OperandDataType::kInt32), -5);
  EXPECT_EQ(As<uint32_t>(uint64_t{4000000000}, OperandDataType::kUint32), 4000000000u);
  EXPECT_EQ(As<int8_t>(-7.0, OperandDataType::kInt8), -7);
  EXPECT_EQ(As<uint8_t>(200.0, OperandDataType::kUint8), 200);
  EXPECT_EQ(As<int32_t>(std::nan(""), OperandDataType::kInt32), 0);
}

TEST(ScalarBytes, OutOfRange_IsCastAsTheDraftSays) {
  // ConvertToInt of the draft clamps.
  EXPECT_EQ(As<int8_t>(1000.0, OperandDataType::kInt8), 127);
  EXPECT_EQ(As<uint8_t>(int64_t{-1}, OperandDataType::kUint8), 0);
}

TEST(ScalarBytes, FourBits_StandInTheLowHalf) {
  EXPECT_EQ(As<uint8_t>(int64_t{-3}, OperandDataType::kInt4), 0x0d);
  EXPECT_EQ(As<uint8_t>(int64_t{9}, OperandDataType::kUint4), 0x09);
}

}  // namespace
}  // namespace webnn
