#include "examples/generate/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/examples/test_models.h"

namespace webnnd::generate {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// A copy of tiny-tales that a test may break.
class BrokenFolder : public ::testing::Test {
 protected:
  BrokenFolder() {
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
      fs::copy_file(TinyTalesFolder() / name, path() / name);
    }
  }
  fs::path path() const { return folder_.path(); }
  std::string ErrorOf(TokenizerNeed need = TokenizerNeed::kRequired) const {
    auto result = OpenModel(path(), need);
    return result.ok() ? "" : result.error().ToString();
  }
  void SetConfig(const char* key, const Json& value) {
    Json json = ReadJson(path() / "config.json");
    json[key] = value;
    WriteFile(path() / "config.json", json.dump());
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(BrokenFolder, WholeCopy_Opens) {
  auto model = OpenModel(path(), TokenizerNeed::kRequired);
  ASSERT_TRUE(model.ok()) << model.error().ToString();
  EXPECT_EQ(model->weights.layers.size(), 4u);
  EXPECT_EQ(model->weights.element_count(), 803968u);
  EXPECT_FALSE(model->weights.head.has_value());
}

TEST_F(BrokenFolder, MissingFile_IsNamed) {
  fs::remove(path() / "model.safetensors");
  EXPECT_THAT(ErrorOf(), HasSubstr("model.safetensors) cannot be opened"));
}

TEST_F(BrokenFolder, MissingConfig_IsNamed) {
  fs::remove(path() / "config.json");
  EXPECT_THAT(ErrorOf(), HasSubstr("config.json) cannot be opened"));
}

TEST_F(BrokenFolder, MissingTokenizer_IsNamedWhereItIsNeeded) {
  fs::remove(path() / "tokenizer.json");
  EXPECT_THAT(ErrorOf(), HasSubstr("tokenizer.json) cannot be opened"));
  EXPECT_EQ(ErrorOf(TokenizerNeed::kIfPresent), "");
}

TEST_F(BrokenFolder, SplitWeights_AreRefused) {
  fs::rename(path() / "model.safetensors", path() / "model.safetensors.index.json");
  EXPECT_THAT(ErrorOf(), HasSubstr("split over several files"));
}

TEST_F(BrokenFolder, OtherShape_IsNamed) {
  SetConfig("intermediate_size", 353);
  EXPECT_THAT(ErrorOf(), HasSubstr("the shape of tensor (model.layers.0.mlp.gate_proj.weight) is "
                                   "([352,128]) where the configuration asks for [353,128]"));
}

TEST_F(BrokenFolder, MoreLayersThanWeights_AreNamed) {
  SetConfig("num_hidden_layers", 5);
  EXPECT_THAT(ErrorOf(),
              HasSubstr("the tensor (model.layers.4.input_layernorm.weight) is missing"));
}

TEST_F(BrokenFolder, UntiedWithoutHead_IsNamed) {
  SetConfig("tie_word_embeddings", false);
  EXPECT_THAT(ErrorOf(), HasSubstr("the tensor (lm_head.weight) is missing"));
}

TEST_F(BrokenFolder, TruncatedWeights_AreRefused) {
  fs::resize_file(path() / "model.safetensors", 1'000'000);
  EXPECT_THAT(ErrorOf(), HasSubstr("truncated"));
}

TEST_F(BrokenFolder, LargerTokenizer_DoesNotMatch) {
  Json json = ReadJson(path() / "tokenizer.json");
  json["added_tokens"].push_back({{"id", 512}, {"content", "<extra>"}, {"special", true}});
  WriteFile(path() / "tokenizer.json", json.dump());
  EXPECT_THAT(ErrorOf(), HasSubstr("the tokenizer does not match the model: it has 513 tokens and "
                                   "the model's vocabulary (512)"));
}

TEST_F(BrokenFolder, SmallerTokenizer_DoesNotMatch) {
  Json json = ReadJson(path() / "tokenizer.json");
  Json& vocabulary = json["model"]["vocab"];
  for (auto entry = vocabulary.begin(); entry != vocabulary.end();) {
    entry = entry.value() >= 400 ? vocabulary.erase(entry) : std::next(entry);
  }
  Json merges = Json::array();
  for (const Json& merge : json["model"]["merges"]) {
    auto text = merge.get<std::string>();
    text.erase(text.find(' '), 1);
    if (vocabulary.contains(text)) merges.push_back(merge);
  }
  json["model"]["merges"] = merges;
  WriteFile(path() / "tokenizer.json", json.dump());
  EXPECT_THAT(ErrorOf(), HasSubstr("does not match the model: it has 400 tokens"));
}

TEST(OpenModel, NoSuchPath_IsNamed) {
  auto result = OpenModel("/no/such/model", TokenizerNeed::kRequired);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message(), "the model (/no/such/model) does not exist");
}

TEST(OpenModel, Stories260K_OpensAsFileAndAsFolder) {
  auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "SKIPPED: ../shared is not there, so stories260K is not tested";
  auto folder = *shared / "models/stories260K";
  for (const fs::path& path : {folder, folder / "stories260K.bin"}) {
    auto model = OpenModel(path, TokenizerNeed::kRequired);
    ASSERT_TRUE(model.ok()) << model.error().ToString();
    EXPECT_EQ(model->config.layer_count, 5u);
    EXPECT_EQ(model->config.head_dim, 8u);
    EXPECT_TRUE(CheckShapes(model->config, model->weights).ok());
    ASSERT_NE(model->tokenizer, nullptr);
  }
}

TEST(OpenModel, CheckpointWithoutTokenizer_IsRefusedWhereItIsNeeded) {
  auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "SKIPPED: ../shared is not there, so stories260K is not tested";
  TemporaryFolder folder;
  fs::copy_file(*shared / "models/stories260K/stories260K.bin", folder.path() / "s.bin");
  auto required = OpenModel(folder.path() / "s.bin", TokenizerNeed::kRequired);
  ASSERT_FALSE(required.ok());
  EXPECT_THAT(required.error().message(), HasSubstr("no tok*.bin lies beside it"));
  EXPECT_TRUE(OpenModel(folder.path() / "s.bin", TokenizerNeed::kIfPresent).ok());
}

}  // namespace
}  // namespace webnnd::generate
