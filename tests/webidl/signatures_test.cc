#include "webidl/generated/signatures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace webnnd::webidl {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> SlotNames(OperatorKind kind) {
  std::vector<std::string_view> names;
  for (const OperandSlot& slot : GetSignature(kind).slots) names.push_back(slot.name);
  return names;
}

std::vector<std::string_view> ArgumentNames(OperatorKind kind) {
  std::vector<std::string_view> names;
  for (const Argument& argument : GetSignature(kind).arguments) names.push_back(argument.name);
  return names;
}

TEST(Signatures, EveryOperator_IsConsistent) {
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    const OperatorSignature& signature = GetSignature(kind);
    SCOPED_TRACE(OperatorName(kind));
    EXPECT_EQ(signature.kind, kind);
    ASSERT_GE(signature.required_slots, 1u);
    ASSERT_LE(signature.required_slots, signature.slots.size());
    for (size_t slot = 0; slot < signature.slots.size(); ++slot) {
      EXPECT_EQ(signature.slots[slot].optional, slot >= signature.required_slots);
    }
    EXPECT_EQ(signature.arguments.back().kind, ArgumentKind::kOptions);
    // A limit for each slot and for at least one output, none for anything else.
    std::vector<bool> limited(signature.slots.size());
    bool output = false;
    for (const LimitMember& limit : signature.limits) {
      if (limit.role == LimitRole::kOutput) {
        output = true;
      } else {
        ASSERT_LT(limit.index, limited.size());
        EXPECT_EQ(signature.slots[limit.index].name, limit.name);
        limited[limit.index] = true;
      }
    }
    EXPECT_TRUE(output);
    EXPECT_THAT(limited, testing::Each(true));
  }
}

TEST(Signatures, OptionalOperands_FollowTheRequiredOnes) {
  EXPECT_THAT(SlotNames(OperatorKind::kConv2d), ElementsAre("input", "filter", "bias"));
  EXPECT_EQ(GetSignature(OperatorKind::kConv2d).required_slots, 2u);
  EXPECT_THAT(SlotNames(OperatorKind::kLstmCell),
              ElementsAre("input", "weight", "recurrentWeight", "hiddenState", "cellState", "bias",
                          "recurrentBias", "peepholeWeight"));
}

TEST(Signatures, Arguments_KeepTheOrderOfTheDraft) {
  EXPECT_THAT(ArgumentNames(OperatorKind::kSlice),
              ElementsAre("input", "starts", "sizes", "options"));
  EXPECT_EQ(GetSignature(OperatorKind::kSlice).arguments[1].kind, ArgumentKind::kAttribute);
}

TEST(Signatures, Lists_AreMarked) {
  const OperatorSignature& concat = GetSignature(OperatorKind::kConcat);
  EXPECT_TRUE(concat.operand_list);
  EXPECT_FALSE(concat.result_list);
  EXPECT_EQ(concat.arguments[0].kind, ArgumentKind::kOperandList);
  EXPECT_TRUE(GetSignature(OperatorKind::kSplit).result_list);
  EXPECT_FALSE(GetSignature(OperatorKind::kSplit).operand_list);
  EXPECT_TRUE(GetSignature(OperatorKind::kGru).result_list);
}

TEST(Signatures, NumberedOutputs_KeepTheirNumber) {
  const auto limits = GetSignature(OperatorKind::kLstm).limits;
  EXPECT_EQ(limits.back().name, "output2");
  EXPECT_EQ(limits.back().role, LimitRole::kOutput);
  EXPECT_EQ(limits.back().index, 2u);
}

}  // namespace
}  // namespace webnnd::webidl
