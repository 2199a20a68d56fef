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

TEST(PlanPrefill, EveryLength_IsCoveredInOrder) {
  EXPECT_THAT(PlanPrefill(0), ElementsAre());
  EXPECT_THAT(PlanPrefill(1), ElementsAre(PrefillChunk{1, 1}));
  EXPECT_THAT(PlanPrefill(2), ElementsAre(PrefillChunk{16, 2}));
  EXPECT_THAT(PlanPrefill(17), ElementsAre(PrefillChunk{16, 16}, PrefillChunk{1, 1}));
  EXPECT_THAT(PlanPrefill(64), ElementsAre(PrefillChunk{64, 64}));
  EXPECT_THAT(PlanPrefill(150), ElementsAre(PrefillChunk{64, 64}, PrefillChunk{64, 64},
                                            PrefillChunk{16, 16}, PrefillChunk{16, 6}));
}

TEST(PlanPrefill, PaddedRows_FitIntoTheRoundedCapacity) {
  for (uint32_t tokens = 1; tokens <= 300; ++tokens) {
    uint32_t position = 0;
    uint32_t capacity = (tokens + kPaddingRows - 1) / kPaddingRows * kPaddingRows;
    for (const PrefillChunk& chunk : PlanPrefill(tokens)) {
      EXPECT_LE(position + chunk.rows, capacity) << tokens;
      position += chunk.tokens;
    }
    EXPECT_EQ(position, tokens);
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
