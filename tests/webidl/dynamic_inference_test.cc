#include "webidl/dynamic_inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "webidl/operator_table.h"

namespace webnnd::webidl {
namespace {

using testing::HasSubstr;

// Operands over past (0 to 96), seq (1 to 32) and tiny (1 to 2).
class DynamicInferenceTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const DynamicDimension& dimension : {past_, seq_, tiny_}) {
      ASSERT_TRUE(names_.Declare(dimension).ok());
    }
  }

  OperandDescriptor Make(std::vector<Dimension> dimensions) {
    auto descriptor = OperandDescriptor::Create(OperandDataType::kFloat32, dimensions, names_);
    EXPECT_TRUE(descriptor.ok()) << descriptor.error().message();
    return *descriptor;
  }

  // "float32[seq,4]", several with spaces between them, or the error.
  std::string Infer(OperatorKind kind, const std::vector<OperandDescriptor>& operands,
                    const OperatorAttributes& attributes) {
    std::vector<const OperandDescriptor*> slots;
    for (const OperandDescriptor& operand : operands) slots.push_back(&operand);
    slots.resize(std::max(slots.size(), GetOperatorRow(kind).slots.size()));
    auto results = InferOperator(kind, slots, attributes, "", LimitSet::kAllowed, names_);
    if (!results.ok()) return results.error().message();
    std::string text;
    for (const OperandDescriptor& result : *results) {
      text += (text.empty() ? "" : " ") + result.ToString();
    }
    return text;
  }
  std::string Infer(OperatorKind kind, const std::vector<OperandDescriptor>& operands) {
    return Infer(kind, operands, DefaultAttributes(kind));
  }

  DynamicDimension past_{"past", 96, 0}, seq_{"seq", 32, 1}, tiny_{"tiny", 2, 1};
  DynamicDimension total_{"past + seq", 128, 1};
  DimensionNames names_;
};

TEST_F(DynamicInferenceTest, Operators_GiveExpressions) {
  EXPECT_EQ(Infer(OperatorKind::kConcat, {Make({past_, 4u}), Make({seq_, 4u})}),
            "float32[past + seq,4]");
  EXPECT_EQ(Infer(OperatorKind::kMatmul, {Make({2u, seq_, 8u}), Make({8u, total_})}),
            "float32[2,seq,past + seq]");
  EXPECT_EQ(Infer(OperatorKind::kAdd, {Make({seq_, 1u}), Make({1u, total_})}),
            "float32[seq,past + seq]");
  EXPECT_EQ(Infer(OperatorKind::kAdd, {Make({seq_, 4u}), Make({4u})}), "float32[seq,4]");
  EXPECT_EQ(Infer(OperatorKind::kTranspose, {Make({seq_, 3u, past_})}), "float32[past,3,seq]");
  EXPECT_EQ(Infer(OperatorKind::kSplit, {Make({6u, seq_})}, SplitAttributes{.splits = 2u}),
            "float32[3,seq] float32[3,seq]");
  EXPECT_EQ(Infer(OperatorKind::kReduceSum, {Make({seq_, 3u})}), "float32[]");
  EXPECT_EQ(Infer(OperatorKind::kPad, {Make({seq_, 3u})},
                  PadAttributes{.beginning_padding = {2, 0}, .ending_padding = {1, 0}}),
            "float32[seq + 3,3]");
}

TEST_F(DynamicInferenceTest, AttributesWithDimensions_GiveExpressions) {
  EXPECT_EQ(Infer(OperatorKind::kReshape, {Make({seq_, 12u})},
                  ReshapeAttributes{.new_shape = Sizes(std::vector<Dimension>{4u, seq_, 3u})}),
            "float32[4,seq,3]");
  EXPECT_EQ(Infer(OperatorKind::kExpand, {Make({1u})},
                  ExpandAttributes{.new_shape = Sizes(std::vector<Dimension>{seq_, total_})}),
            "float32[seq,past + seq]");
  EXPECT_EQ(Infer(OperatorKind::kSlice, {Make({total_, 4u})},
                  SliceAttributes{.starts = Sizes(std::vector<Dimension>{past_, 0u}),
                                  .sizes = Sizes(std::vector<Dimension>{seq_, 4u})}),
            "float32[seq,4]");
}

TEST_F(DynamicInferenceTest, WhatFailsAtSomeSize_SaysAtWhich) {
  EXPECT_EQ(Infer(OperatorKind::kAdd, {Make({seq_}), Make({past_})}),
            "add: the shapes of a ([4]) and b ([2]) are not broadcastable, where past is 2, seq is "
            "4");
  EXPECT_THAT(Infer(OperatorKind::kAdd, {Make({seq_}), Make({3u})}), HasSubstr("where seq is"));
  // Only the greatest sizes are wrong.
  EXPECT_THAT(Infer(OperatorKind::kSlice, {Make({100u})},
                    SliceAttributes{.starts = {0}, .sizes = Sizes(std::vector<Dimension>{total_})}),
              HasSubstr("starts[0] + sizes[0] (128) exceeds the size of input along that axis (100)"
                        ", where past is 96, seq is 32"));
  EXPECT_THAT(
      Infer(OperatorKind::kReshape, {Make({seq_, 12u})}, ReshapeAttributes{.new_shape = {4, 12}}),
      HasSubstr("the element count of newShape (48)"));
}

TEST_F(DynamicInferenceTest, WhatIsNotLinear_IsRefused) {
  // The greater of the two, where one of them is 1.
  const auto other = DynamicDimension{"other", 2, 1};
  ASSERT_TRUE(names_.Declare(other).ok());
  EXPECT_THAT(Infer(OperatorKind::kAdd, {Make({tiny_}), Make({other})}),
              HasSubstr("dimension 0 of the result is not a linear expression"));
  EXPECT_THAT(
      Infer(OperatorKind::kSlice, {Make({seq_})},
            SliceAttributes{
                .starts = {0}, .sizes = Sizes(std::vector<Dimension>{seq_}), .strides = {{2}}}),
      HasSubstr("not a linear expression"));
}

TEST_F(DynamicInferenceTest, RanksThatDependOnSizes_AreRefused) {
  DimensionNames names;
  const Dimension seq = DynamicDimension{"seq", 8, 1};
  auto x = OperandDescriptor::Create(OperandDataType::kFloat32, std::span<const Dimension>(&seq, 1),
                                     names);
  ASSERT_TRUE(x.ok()) << x.error().ToString();
  const OperandDescriptor* operands[] = {&*x};
  for (bool number : {false, true}) {
    const auto infer = [&](std::span<const OperandDescriptor* const> at,
                           const auto&) -> Result<std::vector<OperandDescriptor>> {
      const Shape small = {4}, large = {4, 4};
      const bool is_large = at[0]->shape()[0] > 4;
      auto result =
          OperandDescriptor::Create(OperandDataType::kFloat32,
                                    std::span<const uint32_t>(is_large && !number ? large : small));
      return std::vector<OperandDescriptor>(is_large && number ? 2 : 1, *result);
    };
    auto inferred = InferDynamic(operands, NoAttributes{}, names, infer);
    ASSERT_FALSE(inferred.ok());
    EXPECT_EQ(inferred.error().cause(), Cause::kNotSupported);
    EXPECT_THAT(inferred.error().message(), HasSubstr("rank"));
  }
}

TEST_F(DynamicInferenceTest, AttributesThatNameOthers_AreRefused) {
  EXPECT_THAT(
      Infer(OperatorKind::kExpand, {Make({1u})},
            ExpandAttributes{.new_shape = Sizes(std::vector<Dimension>{DynamicDimension{"n", 4}})}),
      HasSubstr("names a dimension (n) that no input has"));
  EXPECT_THAT(Infer(OperatorKind::kExpand, {Make({1u})},
                    ExpandAttributes{
                        .new_shape = Sizes(std::vector<Dimension>{DynamicDimension{"seq", 4}})}),
              HasSubstr("the dimension (seq) is given as 1 to 4, where elsewhere it is 1 to 32"));
}

TEST_F(DynamicInferenceTest, OperandsThatGiveANameOtherBounds_AreRefused) {
  DimensionNames others;
  auto other = OperandDescriptor::Create(
      OperandDataType::kFloat32, std::vector<Dimension>{DynamicDimension{"seq", 31, 1}}, others);
  EXPECT_EQ(Infer(OperatorKind::kAdd, {Make({seq_}), *other}),
            "add: the dimension (seq) is given as 1 to 31, where elsewhere it is 1 to 32");
}

TEST_F(DynamicInferenceTest, DimensionThatMayBeNegative_IsRefused) {
  LinearExpression expression;
  ASSERT_TRUE(expression.Add("seq", {1, 32}, 2) && expression.AddConstant(-3));
  EXPECT_EQ(OperandDescriptor::Create(OperandDataType::kFloat32, std::vector{expression})
                .error()
                .message(),
            "the dimension (2 * seq - 3) may be negative (-1)");
}

TEST_F(DynamicInferenceTest, TypesAndRanks_AreCheckedAsEver) {
  EXPECT_THAT(Infer(OperatorKind::kMatmul, {Make({seq_}), Make({seq_})}), HasSubstr("the rank of"));
}

TEST_F(DynamicInferenceTest, CapacityBeyondTheLimit_IsRefused) {
  const auto wide = DynamicDimension{"wide", 1u << 20, 1};
  ASSERT_TRUE(names_.Declare(wide).ok());
  EXPECT_THAT(Infer(OperatorKind::kMatmul, {Make({wide, 1u}), Make({1u, wide})}),
              HasSubstr("byte length"));
}

// Every operand whose size was fitted is what inference says at any sizes.
TEST_F(DynamicInferenceTest, FittedExpression_HoldsBetweenTheSamples) {
  const OperandDescriptor a = Make({2u, seq_, 8u}), b = Make({8u, total_});
  const OperandDescriptor* slots[] = {&a, &b};
  auto fitted =
      InferOperator(OperatorKind::kMatmul, slots, NoAttributes{}, "", LimitSet::kAllowed, names_);
  ASSERT_TRUE(fitted.ok());
  for (uint32_t past : {1u, 7u, 50u}) {
    for (uint32_t seq : {1u, 2u, 31u}) {
      const Assignment sizes = {{"past", past}, {"seq", seq}};
      const OperandDescriptor a_at = a.At(sizes), b_at = b.At(sizes);
      const OperandDescriptor* at[] = {&a_at, &b_at};
      EXPECT_EQ((*fitted)[0].At(sizes),
                (*InferOperator(OperatorKind::kMatmul, at, NoAttributes{}, ""))[0]);
    }
  }
}

}  // namespace
}  // namespace webnnd::webidl
