#include "examples/generate/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/examples/test_models.h"

namespace webnnd::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json TinyTalesConfig() { return ReadJson(TinyTalesFolder() / "config.json"); }

Result<ModelConfig> With(const char* key, const Json& value) {
  Json json = TinyTalesConfig();
  json[key] = value;
  return ParseConfig(json.dump());
}

std::string ErrorWith(const char* key, const Json& value) {
  auto result = With(key, value);
  return result.ok() ? "" : result.error().ToString();
}

TEST(ParseConfig, TinyTales_GivesItsShape) {
  auto config = ParseConfig(TinyTalesConfig().dump());
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->vocabulary_size, 512u);
  EXPECT_EQ(config->query_width(), 128u);
  EXPECT_EQ(config->key_width(), 64u);
  EXPECT_EQ(config->positions_max, 512u);
  EXPECT_FLOAT_EQ(config->norm_epsilon, 1e-5f);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_EQ(config->bos_id, 0);
  EXPECT_THAT(config->eos_ids, ElementsAre(0));
}

TEST(ParseConfig, AbsentMembers_TakeTheirDefaults) {
  Json json = TinyTalesConfig();
  for (const char* key : {"head_dim", "num_key_value_heads", "rope_theta", "tie_word_embeddings",
                          "bos_token_id", "eos_token_id", "attention_bias", "mlp_bias"}) {
    json.erase(key);
  }
  json["rope_scaling"] = nullptr;
  auto config = ParseConfig(json.dump());
  ASSERT_TRUE(config.ok()) << config.error().ToString();
  EXPECT_EQ(config->head_dim, 16u);
  EXPECT_EQ(config->key_value_head_count, 8u);
  EXPECT_EQ(config->rope_theta, 10000);
  EXPECT_FALSE(config->tied_embeddings);
  EXPECT_FALSE(config->bos_id.has_value());
  EXPECT_TRUE(config->eos_ids.empty());
}

TEST(ParseConfig, SeveralEosIds_AllEndTheText) {
  auto config = With("eos_token_id", {2, 5});
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->IsEos(2));
  EXPECT_TRUE(config->IsEos(5));
  EXPECT_FALSE(config->IsEos(0));
}

TEST(ParseConfig, RopeParameters_GiveTheBase) {
  auto config = With("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500000.0}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->rope_theta, 500000.0);
}

TEST(ParseConfig, WhatIsNotComputed_IsRefused) {
  EXPECT_THAT(ErrorWith("architectures", {"MistralForCausalLM"}),
              HasSubstr("the architecture is neither LlamaForCausalLM nor Qwen2ForCausalLM "
                        "([\"MistralForCausalLM\"])"));
  EXPECT_THAT(ErrorWith("model_type", "gpt2"), HasSubstr("the model type is neither"));
  EXPECT_THAT(ErrorWith("hidden_act", "gelu"), HasSubstr("hidden_act"));
  EXPECT_THAT(ErrorWith("attention_bias", true), HasSubstr("attention_bias"));
  EXPECT_THAT(ErrorWith("mlp_bias", true), HasSubstr("mlp_bias"));
  EXPECT_THAT(ErrorWith("use_sliding_window", true), HasSubstr("use_sliding_window"));
  EXPECT_THAT(ErrorWith("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}),
              HasSubstr("RoPE scaling"));
  EXPECT_THAT(ErrorWith("rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}),
              HasSubstr("RoPE scaling"));
  EXPECT_THAT(ErrorWith("quantization_config", {{"bits", 4}}), HasSubstr("quantized"));
  EXPECT_EQ(With("attention_bias", true).error().cause(), Cause::kNotSupported);
}

TEST(ParseConfig, Qwen2_HasBiasesAndNoBeginning) {
  Json json = TinyTalesConfig();
  EXPECT_FALSE(ParseConfig(json.dump())->projection_biases);
  json["model_type"] = "qwen2";
  EXPECT_THAT(ParseConfig(json.dump()).error().message(),
              HasSubstr("the model type \"qwen2\" and the architecture differ"));
  json["architectures"] = {"Qwen2ForCausalLM"};
  for (int named = 0; named < 3; ++named) {
    if (named == 1) json.erase("model_type");
    if (named == 2) {
      json.erase("architectures");
      json["model_type"] = "qwen2";
    }
    auto config = ParseConfig(json.dump());
    ASSERT_TRUE(config.ok()) << config.error().ToString();
    EXPECT_TRUE(config->projection_biases);
    EXPECT_FALSE(config->bos_id.has_value());
    EXPECT_THAT(config->eos_ids, ElementsAre(0));
  }
}

TEST(ParseConfig, BadNumbers_AreRefused) {
  EXPECT_THAT(ErrorWith("hidden_size", "wide"), HasSubstr("hidden_size"));
  EXPECT_THAT(ErrorWith("hidden_size", -128), HasSubstr("hidden_size"));
  EXPECT_THAT(ErrorWith("hidden_size", 1ull << 40), HasSubstr("hidden_size"));
  EXPECT_THAT(ErrorWith("num_hidden_layers", 0), HasSubstr("the number of layers (0)"));
  EXPECT_THAT(ErrorWith("num_hidden_layers", 1 << 20), HasSubstr("the number of layers"));
  EXPECT_THAT(ErrorWith("num_attention_heads", 0), HasSubstr("attention heads (0)"));
  EXPECT_THAT(ErrorWith("num_key_value_heads", 3), HasSubstr("key/value heads (3)"));
  EXPECT_THAT(ErrorWith("head_dim", 15), HasSubstr("the head dimension (15) is odd"));
  EXPECT_THAT(ErrorWith("max_position_embeddings", 0), HasSubstr("positions (0)"));
  EXPECT_THAT(ErrorWith("bos_token_id", 512), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(ErrorWith("eos_token_id", {0, 600}), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(ErrorWith("eos_token_id", "x"), HasSubstr("eos_token_id"));
  EXPECT_THAT(ErrorWith("rms_norm_eps", -1), HasSubstr("epsilon"));
  EXPECT_THAT(ErrorWith("rope_theta", 0), HasSubstr("RoPE base"));
}

TEST(ParseConfig, DeeplyNestedValue_IsRefusedAndNotPrinted) {
  // Printing it would recurse half a million times.
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  auto refused = ParseConfig("{\"vocab_size\":" + deep + "}");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("nests values deeper (500001) than 64"));
  // Brackets in a text nest nothing.
  EXPECT_TRUE(With("comment", "\"" + std::string(1000, '[')).ok());
}

TEST(ParseConfig, MissingOrMalformed_IsRefused) {
  EXPECT_FALSE(ParseConfig("").ok());
  EXPECT_FALSE(ParseConfig("{").ok());
  EXPECT_FALSE(ParseConfig("[]").ok());
  Json json = TinyTalesConfig();
  json.erase("vocab_size");
  auto result = ParseConfig(json.dump());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(), "config.json lacks the member (vocab_size)");
  auto nothing = ParseConfig("{}");
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().message(), HasSubstr("architectures"));
}

}  // namespace
}  // namespace webnnd::generate
