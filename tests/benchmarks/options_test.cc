#include "tools/benchmarks/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace webnnd::benchmarks {
namespace {

using testing::HasSubstr;

Result<Options> Parse(std::vector<const char*> words) { return ParseOptions(words); }

std::string MessageOf(std::vector<const char*> words) {
  auto options = Parse(std::move(words));
  return options.ok() ? "" : options.error().message();
}

TEST(BenchmarkOptions, NoWords_MeasureDispatch) {
  auto options = Parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->command, Command::kDispatch);
  EXPECT_EQ(options->rounds, 15);
  EXPECT_EQ(options->json, "");
  EXPECT_FALSE(options->in_process);
}

TEST(BenchmarkOptions, EachOption_IsTaken) {
  auto options = Parse(
      {"operators", "--json", "f.json", "--filter", "conv2d 3x3", "--rounds", "7", "--in-process"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->command, Command::kOperators);
  EXPECT_EQ(options->json, "f.json");
  EXPECT_EQ(options->filter, "conv2d 3x3");
  EXPECT_EQ(options->rounds, 7);
  EXPECT_TRUE(options->in_process);
}

TEST(BenchmarkOptions, AValueMayLookLikeACommand) {
  auto options = Parse({"operators", "--filter", "operators"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->filter, "operators");
  options = Parse({"shapes", "--filter", "softmax"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->command, Command::kShapes);
  EXPECT_EQ(options->filter, "softmax");
}

TEST(BenchmarkOptions, CpuTime_IsForOperatorsInProcess) {
  auto options = Parse({"operators", "--in-process", "--cpu-time"});
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->cpu_time);
  EXPECT_TRUE(Parse({"shapes", "--in-process", "--cpu-time"})->cpu_time);
  EXPECT_THAT(MessageOf({"operators", "--cpu-time"}), HasSubstr("with --in-process"));
  EXPECT_THAT(MessageOf({"mobilenet", "--in-process", "--cpu-time"}), HasSubstr("for operators"));
}

TEST(BenchmarkOptions, Clients_TakeFewRounds) {
  auto options = Parse({"clients", "--json", "f.json"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->command, Command::kClients);
  EXPECT_EQ(options->rounds, kDecodeRoundsDefault);
  EXPECT_THAT(MessageOf({"clients", "--models", "tiny"}), HasSubstr("for decode alone"));
}

TEST(BenchmarkOptions, MobileNet_MayRunInProcess) {
  auto options = Parse({"mobilenet", "--in-process"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->command, Command::kMobileNet);
  EXPECT_TRUE(options->in_process);
}

TEST(BenchmarkOptions, Decode_TakesModels) {
  auto options = Parse({"decode"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rounds, kDecodeRoundsDefault);
  EXPECT_EQ(options->models, (std::vector<std::string>{"tiny", "smollm", "qwen2"}));
  options = Parse({"decode", "--models", "qwen2,tiny", "--rounds", "2"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rounds, 2);
  EXPECT_EQ(options->models, (std::vector<std::string>{"qwen2", "tiny"}));
  EXPECT_THAT(MessageOf({"decode", "--models", "gpt"}), HasSubstr("the model (gpt)"));
  EXPECT_THAT(MessageOf({"decode", "--models", "tiny,"}), HasSubstr("the model ()"));
  EXPECT_THAT(MessageOf({"operators", "--models", "tiny"}), HasSubstr("for decode alone"));
  EXPECT_THAT(MessageOf({"decode", "--in-process"}), HasSubstr("--in-process"));
}

TEST(BenchmarkOptions, Help_IsACommand) {
  auto options = Parse({"--help"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->command, Command::kHelp);
}

TEST(BenchmarkOptions, UnknownWords_AreRefused) {
  EXPECT_THAT(MessageOf({"operator"}), HasSubstr("(operator) is not an option"));
  EXPECT_THAT(MessageOf({"--fast"}), HasSubstr("(--fast) is not an option"));
  EXPECT_THAT(MessageOf({"--json", "f", "operators"}), HasSubstr("is not the first word"));
}

TEST(BenchmarkOptions, OptionWithoutItsValue_IsRefused) {
  EXPECT_THAT(MessageOf({"--json"}), HasSubstr("(--json) has no value"));
  EXPECT_THAT(MessageOf({"operators", "--filter"}), HasSubstr("(--filter) has no value"));
}

TEST(BenchmarkOptions, Rounds_AreAPositiveNumberWithinTheLimit) {
  EXPECT_EQ(MessageOf({"--rounds", "1"}), "");
  EXPECT_EQ(MessageOf({"--rounds", "10000"}), "");
  for (const char* wrong : {"0", "-1", "10001", "3x", "", "99999999999999"}) {
    EXPECT_THAT(MessageOf({"--rounds", wrong}), HasSubstr("number of rounds")) << wrong;
  }
}

TEST(BenchmarkOptions, OptionsOfAnotherCommand_AreRefused) {
  EXPECT_THAT(MessageOf({"--filter", "conv"}), HasSubstr("--filter"));
  EXPECT_THAT(MessageOf({"mobilenet", "--filter", "conv"}), HasSubstr("--filter"));
  EXPECT_THAT(MessageOf({"--in-process"}), HasSubstr("--in-process"));
}

}  // namespace
}  // namespace webnnd::benchmarks
