#include "tests/conformance/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace webnnd::conformance {
namespace {

using nlohmann::json;
using webidl::OperandDataType;

// The bits of one JSON value as an element.
Result<uint64_t> Encode(OperandDataType type, const json& value) {
  ASSIGN_OR_RETURN(webidl::Number number, ParseNumber(value));
  return EncodeElement(type, number);
}

std::vector<int> Data(OperandDataType type, std::vector<uint32_t> shape, const json& data,
                      Narrowing narrowing = Narrowing::kWrap) {
  auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
  auto bytes = EncodeData(*descriptor, data, narrowing);
  EXPECT_TRUE(bytes.ok()) << bytes.error().ToString();
  std::vector<int> values;
  if (!bytes.ok()) return values;
  for (std::byte byte : *bytes) values.push_back(static_cast<int>(byte));
  return values;
}

TEST(Values, Float32_IsTheNearestFloat) {
  EXPECT_EQ(*Encode(OperandDataType::kFloat32, 1.0), 0x3f800000u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat32, 0.1), 0x3dcccccdu);
  EXPECT_EQ(*Encode(OperandDataType::kFloat32, 3), 0x40400000u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat32, "-0"), 0x80000000u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat32, "Infinity"), 0x7f800000u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat32, "-Infinity"), 0xff800000u);
  EXPECT_TRUE(
      std::isnan(FloatValue(OperandDataType::kFloat32, *Encode(OperandDataType::kFloat32, "NaN"))));
}

TEST(Values, Float16_IsRoundedToTheNearestEven) {
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, 1), 0x3c00u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, -2), 0xc000u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, 1 + 1.0 / 2048), 0x3c00u);  // Halfway.
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, 1 + 3.0 / 2048), 0x3c02u);  // Halfway.
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, 65504), 0x7bffu);
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, 65519.9), 0x7bffu);
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, 65520), 0x7c00u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, std::ldexp(1, -24)), 0x0001u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, std::ldexp(1, -26)), 0x0000u);
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, std::ldexp(2047.6, -25)), 0x0400u);  // A carry.
  EXPECT_EQ(*Encode(OperandDataType::kFloat16, "NaN"), 0x7e00u);
}

TEST(Values, Float16_ComesBackAsItWas) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    double value = FloatValue(OperandDataType::kFloat16, bits);
    if (std::isnan(value)) continue;
    EXPECT_EQ(*EncodeElement(OperandDataType::kFloat16, value), bits);
  }
}

TEST(Values, Integers_AreExact) {
  EXPECT_EQ(*Encode(OperandDataType::kInt64, "-9223372036854775808"), 1ull << 63);
  EXPECT_EQ(*Encode(OperandDataType::kUint64, "18446744073709551615"), ~0ull);
  EXPECT_EQ(*Encode(OperandDataType::kInt32, -1), 0xffffffffu);
  EXPECT_EQ(*Encode(OperandDataType::kInt32, 5.0), 5u);
  EXPECT_EQ(SignedValue(OperandDataType::kInt4, 0x8), -8);
  EXPECT_EQ(ElementToString(OperandDataType::kInt8, 0xff), "-1");
  EXPECT_EQ(ElementToString(OperandDataType::kUint8, 0xff), "255");
}

TEST(Values, WhatATypeDoesNotHold_IsRefused) {
  EXPECT_FALSE(Encode(OperandDataType::kInt8, 128).ok());
  EXPECT_FALSE(Encode(OperandDataType::kUint8, -1).ok());
  EXPECT_FALSE(Encode(OperandDataType::kUint4, 16).ok());
  EXPECT_FALSE(Encode(OperandDataType::kInt32, 0.5).ok());
  EXPECT_FALSE(Encode(OperandDataType::kInt32, "NaN").ok());
  EXPECT_FALSE(Encode(OperandDataType::kInt64, "12x").ok());
  EXPECT_FALSE(Encode(OperandDataType::kFloat32, nullptr).ok());
  EXPECT_FALSE(Encode(OperandDataType::kFloat32, json::array()).ok());
}

TEST(Values, FourBits_PackTheFirstElementLow) {
  EXPECT_EQ(Data(OperandDataType::kUint4, {3}, {1, 2, 15}), (std::vector<int>{0x21, 0x0f}));
  EXPECT_EQ(Data(OperandDataType::kInt4, {2}, {-8, -1}), (std::vector<int>{0xf8}));
  const std::byte bytes[] = {std::byte{0x21}, std::byte{0x0f}};
  EXPECT_EQ(ElementBits(OperandDataType::kUint4, bytes, 1), 2u);
  EXPECT_EQ(ElementBits(OperandDataType::kUint4, bytes, 2), 15u);
}

TEST(Values, FourBits_TakeWhatTheSuiteWritesBeyondThem) {
  EXPECT_EQ(Data(OperandDataType::kInt4, {2}, {10, -15}), (std::vector<int>{0x1a}));
  EXPECT_EQ(Data(OperandDataType::kUint4, {2}, {16, -1}), (std::vector<int>{0xf0}));
  EXPECT_EQ(Data(OperandDataType::kUint4, {2}, {16, -1}, Narrowing::kSaturate),
            (std::vector<int>{0x0f}));
  EXPECT_EQ(Data(OperandDataType::kInt4, {2}, {10, -15}, Narrowing::kSaturate),
            (std::vector<int>{0x87}));
}

TEST(Values, OneValue_FillsTheShape) {
  EXPECT_EQ(Data(OperandDataType::kUint8, {2, 2}, 7), (std::vector<int>{7, 7, 7, 7}));
  EXPECT_EQ(Data(OperandDataType::kUint8, {}, json::array({9})), (std::vector<int>{9}));
}

TEST(Values, OtherNumberOfElements_IsRefused) {
  auto descriptor =
      webidl::OperandDescriptor::Create(OperandDataType::kUint8, std::span<const uint32_t>());
  EXPECT_FALSE(EncodeData(*descriptor, json::array(), Narrowing::kWrap).ok());
  EXPECT_FALSE(EncodeData(*descriptor, json::array({1, 2}), Narrowing::kWrap).ok());
}

}  // namespace
}  // namespace webnnd::conformance
