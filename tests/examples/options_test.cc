#include "examples/generate/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace webnnd::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Options> Parse(std::initializer_list<std::string_view> arguments) {
  return ParseOptions(std::span(arguments.begin(), arguments.size()));
}

std::string ErrorOf(std::initializer_list<std::string_view> arguments) {
  auto result = Parse(arguments);
  return result.ok() ? "" : result.error().ToString();
}

TEST(ParseOptions, OnlyTheRequired_TakesDefaults) {
  auto options = Parse({"--model", "m", "--prompt", ""});
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_EQ(options->model, "m");
  EXPECT_EQ(options->prompt, "");
  EXPECT_EQ(options->tokens, 128u);
  EXPECT_EQ(options->temperature, 0);
  EXPECT_TRUE(options->fusion);
  EXPECT_TRUE(options->binding_cache);
  EXPECT_TRUE(options->alias);
  EXPECT_FALSE(options->json || options->ignore_eos || options->in_process || options->host_cache ||
               options->quantize || options->growing);
}

TEST(ParseOptions, EverySwitch_IsTaken) {
  auto options = Parse({"--model",       "m",
                        "--prompt-ids",  "0,12,3",
                        "--tokens",      "7",
                        "--temperature", "0.5",
                        "--seed",        "18446744073709551615",
                        "--json",        "--ignore-eos",
                        "--no-fusion",   "--no-binding-cache",
                        "--no-alias",    "--host-kv",
                        "--socket",      "/s",
                        "--quantize",    "q4",
                        "--fusions",     "a,b",
                        "--dynamic"});
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_THAT(*options->prompt_ids, ElementsAre(0, 12, 3));
  EXPECT_EQ(options->tokens, 7u);
  EXPECT_EQ(options->temperature, 0.5);
  EXPECT_EQ(options->seed, UINT64_MAX);
  EXPECT_TRUE(options->json && options->ignore_eos && options->host_cache && options->quantize);
  EXPECT_TRUE(options->growing);
  EXPECT_FALSE(options->fusion || options->binding_cache || options->alias);
  EXPECT_EQ(options->socket, "/s");
  EXPECT_EQ(options->fusions, "a,b");
}

TEST(ParseOptions, Help_NeedsNothingElse) {
  auto options = Parse({"--help"});
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->help);
  EXPECT_THAT(HelpText(), HasSubstr("--prompt-ids"));
}

TEST(ParseOptions, WhatMakesNoSense_IsRefused) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("(--model) is missing"));
  EXPECT_THAT(ErrorOf({"--model", "m"}), HasSubstr("exactly one of --prompt and --prompt-ids"));
  EXPECT_THAT(ErrorOf({"--model", "m", "--prompt", "x", "--prompt-ids", "1"}),
              HasSubstr("both given"));
  EXPECT_THAT(ErrorOf({"--model"}), HasSubstr("lacks its value"));
  EXPECT_THAT(ErrorOf({"--modle", "m"}), HasSubstr("(--modle) is unknown"));
  EXPECT_THAT(ErrorOf({"--model", "m", "--prompt", "x", "--in-process", "--socket", "/s"}),
              HasSubstr("exclude each other"));
}

TEST(ParseOptions, BadNumbers_AreRefused) {
  for (std::string_view tokens : {"0", "-1", "x", "", "5x", "99999999999", "1048577"}) {
    EXPECT_THAT(ErrorOf({"--tokens", tokens}), HasSubstr("--tokens")) << tokens;
  }
  for (std::string_view temperature : {"-0.1", "nan", "inf", "hot", ""}) {
    EXPECT_THAT(ErrorOf({"--temperature", temperature}), HasSubstr("--temperature")) << temperature;
  }
  EXPECT_THAT(ErrorOf({"--seed", "-1"}), HasSubstr("--seed"));
  EXPECT_THAT(ErrorOf({"--quantize", "q5"}), HasSubstr("--quantize (q5) is not q4"));
  for (std::string_view ids : {"", "1,", ",1", "1,,2", "1,x", "-1", "1 2"}) {
    EXPECT_THAT(ErrorOf({"--prompt-ids", ids}), HasSubstr("--prompt-ids")) << ids;
  }
}

}  // namespace
}  // namespace webnnd::generate
