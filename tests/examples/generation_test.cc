#include "examples/generate/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace webnnd::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Id n is the byte n.
class ByteTokenizer : public Tokenizer {
 public:
  std::vector<int32_t> Encode(std::string_view) const override { return {}; }
  std::string Decode(int32_t previous, int32_t id) const override {
    return previous < 0 ? "" : std::string(1, static_cast<char>(id));
  }
  uint32_t vocabulary_size() const override { return 256; }
};

TEST(PlanPrefill, EveryLength_IsCoveredByEqualDispatches) {
  EXPECT_EQ(PlanPrefill(1), (PrefillPlan{1, 1}));
  EXPECT_EQ(PlanPrefill(37), (PrefillPlan{1, 37}));
  EXPECT_EQ(PlanPrefill(256), (PrefillPlan{1, 256}));
  EXPECT_EQ(PlanPrefill(257), (PrefillPlan{2, 129}));
  for (uint32_t tokens = 1; tokens <= 1000; ++tokens) {
    PrefillPlan plan = PlanPrefill(tokens);
    EXPECT_LE(plan.rows, kPrefillRowsMax) << tokens;
    EXPECT_GE(plan.dispatches * plan.rows, tokens);
    // Less than a row of padding for each dispatch, so that the last one is not empty.
    EXPECT_LT(plan.dispatches * plan.rows, tokens + plan.dispatches) << tokens;
    EXPECT_LT((plan.dispatches - 1) * plan.rows, tokens) << tokens;
  }
}

TEST(RoomForTokens, SequenceLimit_CutsTheNumber) {
  ModelConfig config{.vocabulary_size = 10, .positions_max = 8};
  EXPECT_EQ(RoomForTokens(config, std::vector<int32_t>{1, 2, 3}, 4).value(), 4u);
  EXPECT_EQ(RoomForTokens(config, std::vector<int32_t>{1, 2, 3}, 100).value(), 5u);
}

TEST(RoomForTokens, ImpossiblePrompts_AreRefused) {
  ModelConfig config{.vocabulary_size = 10, .positions_max = 3};
  auto error = [&](std::vector<int32_t> ids) {
    auto result = RoomForTokens(config, ids, 1);
    return result.ok() ? "" : result.error().message();
  };
  EXPECT_THAT(error({}), HasSubstr("no tokens"));
  EXPECT_THAT(error({10}), HasSubstr("the prompt id (10) is outside the vocabulary of 10"));
  EXPECT_THAT(error({-1}), HasSubstr("(-1)"));
  EXPECT_THAT(error({1, 2, 3}), HasSubstr("leaves no room"));
}

TEST(TextStream, SplitCharacters_ComeWhole) {
  ByteTokenizer tokenizer;
  TextStream stream(&tokenizer);
  EXPECT_EQ(stream.Push('x'), "");  // Nothing was before it.
  EXPECT_EQ(stream.Push(0xc3), "");
  EXPECT_EQ(stream.Push(0xa9), "\u00e9");
  EXPECT_EQ(stream.Push(0xc3), "");
  EXPECT_EQ(stream.Flush(), "\ufffd");
}

TEST(TextStream, NoTokenizer_GivesNoText) {
  TextStream stream(nullptr);
  EXPECT_EQ(stream.Push(5), "");
  EXPECT_EQ(stream.Flush(), "");
}

TEST(Generation, Median_IsTheMiddle) {
  Generation generation;
  EXPECT_TRUE(std::isnan(generation.median_step_ms()));
  EXPECT_TRUE(std::isnan(generation.tokens_per_second()));
  generation.step_ms = {9, 1, 2};
  EXPECT_EQ(generation.median_step_ms(), 2);
  generation.step_ms = {9, 1, 2, 4};
  EXPECT_EQ(generation.median_step_ms(), 3);
  EXPECT_EQ(generation.tokens_per_second(), 250);
}

}  // namespace
}  // namespace webnnd::generate
