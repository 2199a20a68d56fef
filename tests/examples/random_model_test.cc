#include "tools/models/random_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "examples/generate/model.h"
#include "tests/examples/test_models.h"
#include "tools/models/reference_decoder.h"

namespace webnnd::models {
namespace {

using generate::OpenModel;
using generate::StoredType;
using generate::TemporaryFolder;
using generate::TokenizerNeed;

TEST(DoubleToHalf, EveryHalf_ComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float wide = generate::HalfToFloat(half);
    if (std::isnan(wide)) continue;
    ASSERT_EQ(DoubleToHalf(wide), half) << bits;
  }
  EXPECT_TRUE(std::isnan(generate::HalfToFloat(DoubleToHalf(NAN))));
}

TEST(DoubleToHalf, Halves_GoToEven) {
  EXPECT_EQ(DoubleToHalf(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(DoubleToHalf(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(DoubleToHalf(1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(DoubleToHalf(0x1p-25), 0);
  EXPECT_EQ(DoubleToHalf(0x1.8p-24), 2);
  EXPECT_EQ(DoubleToHalf(65519.99), 0x7bff);
  EXPECT_EQ(DoubleToHalf(65520), 0x7c00);
  EXPECT_EQ(DoubleToHalf(-1e300), 0xfc00);
}

RandomModel Small() {
  RandomModel model;
  model.config = SmolLmShape();
  model.config.layer_count = 1;
  model.config.vocabulary_size = 64;
  return model;
}

TEST(WriteRandomModel, SameSeed_GivesTheSameBytes) {
  TemporaryFolder folder;
  auto write = [&](uint64_t seed) {
    RandomModel model = Small();
    model.seed = seed;
    EXPECT_TRUE(WriteRandomModel(folder.path(), model).ok());
    return generate::ReadFile(folder.path() / "model.safetensors");
  };
  std::string first = write(1);
  EXPECT_EQ(write(1), first);
  EXPECT_NE(write(2), first);
}

TEST(WriteRandomModel, Weights_HaveTheirSpread) {
  TemporaryFolder folder;
  for (StoredType type : {StoredType::kFloat32, StoredType::kFloat16, StoredType::kBfloat16}) {
    RandomModel random = Small();
    random.type = type;
    random.config.tied_embeddings = false;
    random.config.projection_biases = true;
    random.config.bos_id.reset();
    ASSERT_TRUE(WriteRandomModel(folder.path(), random).ok());
    auto model = OpenModel(folder.path(), TokenizerNeed::kIfPresent);
    ASSERT_TRUE(model.ok()) << model.error().ToString();
    EXPECT_TRUE(model->config.projection_biases);
    EXPECT_TRUE(model->weights.head.has_value());
    EXPECT_FLOAT_EQ(model->config.norm_epsilon, random.config.norm_epsilon);
    std::vector<float> values(model->weights.layers[0].gate.element_count());
    ASSERT_TRUE(model->weights.layers[0].gate.ReadRows(0, values).ok());
    double sum = 0, squares = 0;
    for (float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    auto count = static_cast<double>(values.size());
    EXPECT_NEAR(sum / count, 0, 1e-4);
    EXPECT_NEAR(squares / count * random.config.hidden_size, 1, 0.01);
  }
}

TEST(WriteRandomModel, NoSuchFolder_IsRefused) {
  EXPECT_FALSE(WriteRandomModel("/no/such/folder", Small()).ok());
  RandomModel model = Small();
  model.config.head_count = 0;
  TemporaryFolder folder;
  EXPECT_FALSE(WriteRandomModel(folder.path(), model).ok());
}

// The reference itself, against known answers that others have computed.
TEST(ReferenceDecoder, TinyTales_GivesTheKnownIds) {
  auto folder = generate::TinyTalesFolder();
  auto model = OpenModel(folder, TokenizerNeed::kRequired);
  ASSERT_TRUE(model.ok());
  auto expected = generate::ReadJson(folder / "expected.json")["cases"][0];
  auto prompt_ids = expected["prompt_ids"].get<std::vector<int32_t>>();
  auto ids = expected["ids"].get<std::vector<int32_t>>();
  auto decoder = ReferenceDecoder::Create(*model, ReferenceFormat::kExact);
  ASSERT_TRUE(decoder.ok());
  auto steps = GenerateGreedily(*decoder, prompt_ids, 40);
  auto first = expected["logits_after_prompt"]["first32"].get<std::vector<double>>();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(steps[0].logits[i], first[i], 1e-4);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].id, ids[prompt_ids.size() + i]) << i;
    EXPECT_GE(steps[i].gap, 0);
  }
}

}  // namespace
}  // namespace webnnd::models
