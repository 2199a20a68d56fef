#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/limits.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::webidl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<OperandDescriptor> Create(OperandDataType type, std::vector<uint32_t> shape) {
  return OperandDescriptor::Create(type, shape);
}

Result<OperandDescriptor> CreateFrom(OperandDataType type, std::vector<Dimension> dimensions) {
  return OperandDescriptor::Create(type, dimensions);
}

TEST(OperandDescriptor, Default_IsFloat32Scalar) {
  const OperandDescriptor descriptor;
  EXPECT_EQ(descriptor, *Create(OperandDataType::kFloat32, {}));
  EXPECT_EQ(descriptor.rank(), 0u);
  EXPECT_EQ(descriptor.element_count(), 1u);
  EXPECT_EQ(descriptor.byte_length(), 4u);
  EXPECT_EQ(descriptor.ToString(), "float32[]");
}

TEST(OperandDescriptor, Shape_GivesCountAndBytes) {
  const auto descriptor = Create(OperandDataType::kInt64, {2, 3, 5});
  ASSERT_TRUE(descriptor.ok());
  EXPECT_THAT(descriptor->shape(), ElementsAre(2, 3, 5));
  EXPECT_EQ(descriptor->element_count(), 30u);
  EXPECT_EQ(descriptor->byte_length(), 240u);
  EXPECT_EQ(descriptor->ToString(), "int64[2,3,5]");
}

TEST(OperandDescriptor, Bits_FollowTheType) {
  const std::pair<OperandDataType, uint32_t> expected[] = {
      {OperandDataType::kFloat32, 32}, {OperandDataType::kFloat16, 16},
      {OperandDataType::kInt32, 32},   {OperandDataType::kUint32, 32},
      {OperandDataType::kInt64, 64},   {OperandDataType::kUint64, 64},
      {OperandDataType::kInt8, 8},     {OperandDataType::kUint8, 8},
      {OperandDataType::kInt4, 4},     {OperandDataType::kUint4, 4},
  };
  EXPECT_EQ(std::size(expected), kOperandDataTypeCount);
  for (const auto& [type, bits] : expected) {
    EXPECT_EQ(BitsPerElement(type), bits) << ToString(type);
    EXPECT_EQ(Create(type, {16})->byte_length(), bits * 2) << ToString(type);
  }
}

TEST(OperandDescriptor, Int4_PacksWithoutRowPaddingAndRoundsUpOnce) {
  EXPECT_EQ(Create(OperandDataType::kInt4, {})->byte_length(), 1u);
  EXPECT_EQ(Create(OperandDataType::kInt4, {2})->byte_length(), 1u);
  EXPECT_EQ(Create(OperandDataType::kUint4, {3})->byte_length(), 2u);
  EXPECT_EQ(Create(OperandDataType::kUint4, {3, 3})->byte_length(), 5u);
}

TEST(OperandDescriptor, RankAtTheLimit_IsAccepted) {
  EXPECT_TRUE(Create(OperandDataType::kUint8, std::vector<uint32_t>(limits::kRankMax, 2)).ok());
}

TEST(OperandDescriptor, RankBeyondTheLimit_IsRefused) {
  const auto result =
      Create(OperandDataType::kUint8, std::vector<uint32_t>(limits::kRankMax + 1, 1));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kValidation);
  EXPECT_THAT(result.error().message(), HasSubstr("rank (9)"));
}

TEST(OperandDescriptor, ZeroDimension_IsRefused) {
  const auto result = Create(OperandDataType::kFloat32, {2, 0});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kValidation);
  EXPECT_THAT(result.error().message(), HasSubstr("dimension 1 of the shape ([2,0]) is zero"));
}

TEST(OperandDescriptor, BytesAtTheLimit_AreAccepted) {
  const auto bytes = static_cast<uint32_t>(limits::kTensorBytesMax);
  EXPECT_EQ(Create(OperandDataType::kUint8, {bytes})->byte_length(), bytes);
  EXPECT_EQ(Create(OperandDataType::kInt4, {2, bytes})->byte_length(), bytes);
  EXPECT_EQ(Create(OperandDataType::kFloat32, {bytes / 4})->byte_length(), bytes);
}

TEST(OperandDescriptor, BytesBeyondTheLimit_AreRefused) {
  const auto bytes = static_cast<uint32_t>(limits::kTensorBytesMax);
  for (const auto& result : {Create(OperandDataType::kUint8, {bytes + 1}),
                             Create(OperandDataType::kInt4, {2 * bytes + 1}),
                             Create(OperandDataType::kFloat32, {bytes / 4 + 1})}) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().cause(), Cause::kValidation);
    EXPECT_THAT(result.error().message(), HasSubstr("byte length"));
  }
}

TEST(OperandDescriptor, DimensionBeyondTheLimit_IsRefused) {
  EXPECT_FALSE(Create(OperandDataType::kUint8, {limits::kDimensionMax + 1}).ok());
  EXPECT_FALSE(Create(OperandDataType::kUint8, {0xffffffff}).ok());
}

// Products that wrap to something small in 64 bits.
TEST(OperandDescriptor, OverflowingProduct_IsRefused) {
  const uint32_t half = 1u << 16;
  for (OperandDataType type : {OperandDataType::kInt4, OperandDataType::kInt64}) {
    EXPECT_FALSE(Create(type, {half, half, half, half}).ok());
    EXPECT_FALSE(Create(type, {half, half, half, half, 1}).ok());
    EXPECT_FALSE(Create(type, std::vector<uint32_t>(8, limits::kDimensionMax)).ok());
  }
}

TEST(OperandDescriptor, FixedDimensions_EqualTheShape) {
  EXPECT_EQ(*CreateFrom(OperandDataType::kInt8, {2u, 3u}), *Create(OperandDataType::kInt8, {2, 3}));
  EXPECT_FALSE(CreateFrom(OperandDataType::kInt8, {0u}).ok());
}

TEST(OperandDescriptor, DynamicDimensions_AreTheirCapacity) {
  const auto result = CreateFrom(OperandDataType::kInt8, {2u, DynamicDimension{"past", 8, 0}, 3u});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->is_dynamic());
  EXPECT_EQ(result->shape(), (Shape{2, 8, 3}));
  EXPECT_EQ(result->byte_length(), 48u);
  EXPECT_EQ(result->ToString(), "int8[2,past,3]");
  EXPECT_EQ(result->dimensions(), (std::vector<Dimension>{2u, DynamicDimension{"past", 8, 0}, 3u}));
  EXPECT_NE(*result, *Create(OperandDataType::kInt8, {2, 8, 3}));
  EXPECT_EQ(result->AtCapacity(), *Create(OperandDataType::kInt8, {2, 8, 3}));
}

TEST(OperandDescriptor, DynamicDimensionsAtSizes_AreNumbersThatMayBeZero) {
  const auto result = CreateFrom(OperandDataType::kInt8, {2u, DynamicDimension{"past", 8, 0}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->At({{"past", 5}}), *Create(OperandDataType::kInt8, {2, 5}));
  EXPECT_EQ(result->At({{"past", 0}}).byte_length(), 0u);
}

TEST(OperandDescriptor, ResizeWithinBounds_IsTheShape) {
  const auto capacity = CreateFrom(OperandDataType::kInt8, {2u, DynamicDimension{"past", 8, 1}});
  ASSERT_TRUE(capacity.ok());
  EXPECT_EQ(*capacity->Resized(Shape{2, 5}), *Create(OperandDataType::kInt8, {2, 5}));
  EXPECT_EQ(capacity->Resized(Shape{2, 9}).error().message(),
            "dimension 1 of the shape ([2,9]) is not in the range of int8[2,past] (1 to 8)");
  EXPECT_FALSE(capacity->Resized(Shape{2, 0}).ok());
  EXPECT_FALSE(capacity->Resized(Shape{1, 5}).ok());
  EXPECT_THAT(capacity->Resized(Shape{5}).error().message(), HasSubstr("rank (1)"));
}

TEST(OperandDescriptor, DynamicDimensionsThatAreUnnamedUnboundedOrTooLarge_AreRefused) {
  const auto message = [](DynamicDimension dimension) {
    const auto result = CreateFrom(OperandDataType::kFloat32, {2u, std::move(dimension)});
    return result.ok() ? "" : result.error().message();
  };
  EXPECT_THAT(message({"", 8}), HasSubstr("(of at most 8) has no name"));
  EXPECT_THAT(message({"n", 0, 0}), HasSubstr("maxSize (0)"));
  EXPECT_THAT(message({"n", 0x80000000u}), HasSubstr("maxSize (2147483648)"));
  EXPECT_THAT(message({"n", 8, 9}), HasSubstr("minSize (9)"));
  EXPECT_THAT(message({"n", 0x7fffffffu}), HasSubstr("byte length"));
}

TEST(OperandDescriptor, DynamicDimensionsOfPackedTypes_AreNotSupported) {
  const auto result = CreateFrom(OperandDataType::kInt4, {DynamicDimension{"n", 8}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(OperandDescriptor, DimensionsBeyondTheRank_AreRefused) {
  const auto result =
      CreateFrom(OperandDataType::kInt8, std::vector<Dimension>(64, DynamicDimension{"n", 8}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kValidation);
}

TEST(ShapeToString, Shapes_AreReadable) {
  EXPECT_EQ(ShapeToString(std::vector<uint32_t>{}), "[]");
  EXPECT_EQ(ShapeToString(std::vector<uint32_t>{2, 3}), "[2,3]");
}

}  // namespace
}  // namespace webnnd::webidl
