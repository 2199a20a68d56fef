// Decoders on the device against the reference in double precision.
#include "examples/generate/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/examples/test_models.h"
#include "tests/support/service_fixture.h"
#include "tools/models/random_model.h"
#include "tools/models/reference_decoder.h"

namespace webnnd::generate {
namespace {

using models::RandomModel;
using models::ReferenceFormat;
using Ids = std::vector<int32_t>;

// Two layers, two heads to a key/value head; every matrix can be quantized.
RandomModel SmallModel() {
  RandomModel model;
  model.config = {.vocabulary_size = 300,
                  .hidden_size = 64,
                  .intermediate_size = 96,
                  .layer_count = 2,
                  .head_count = 4,
                  .key_value_head_count = 2,
                  .head_dim = 16,
                  .positions_max = 512,
                  .norm_epsilon = 1e-5f,
                  .rope_theta = 10000,
                  .tied_embeddings = true};
  return model;
}

RandomModel SmallQwen2() {
  RandomModel model = SmallModel();
  model.config.projection_biases = true;
  model.config.rope_theta = 1e6;
  return model;
}

Ids MakePrompt(size_t length) {
  Ids ids;
  for (size_t i = 0; i < length; ++i) ids.push_back(static_cast<int32_t>((i * i * 7 + 3) % 300));
  return ids;
}

struct Generated {
  Ids ids;
  std::vector<float> first_logits;
};

class DecoderTest : public service::ServiceTest {
 protected:
  // Writes the model and opens it.
  Model Open(const RandomModel& random) {
    EXPECT_TRUE(models::WriteRandomModel(folder_.path(), random).ok());
    auto model = OpenModel(folder_.path(), TokenizerNeed::kIfPresent);
    EXPECT_TRUE(model.ok()) << model.error().ToString();
    return std::move(model).value();
  }

  Generated Generate(const Model& model, const Ids& prompt, uint32_t count, DecoderOptions options,
                     const webnn::ContextOptions& context_options = {}) {
    options.prompt_tokens = static_cast<uint32_t>(prompt.size());
    options.positions_max = options.prompt_tokens + count;
    options.first_logits = 32;
    auto context = MakeContext(context_options);
    auto decoder = Decoder::Create(ml(), context, model, options, [](uint64_t, uint64_t) {});
    EXPECT_TRUE(decoder.ok()) << decoder.error().ToString();
    if (!decoder.ok()) return {};
    EXPECT_TRUE((*decoder)->Prefill(prompt).ok());
    Generated out;
    auto logits = (*decoder)->ReadFirstLogits();
    EXPECT_TRUE(logits.ok());
    if (logits.ok()) out.first_logits = *logits;
    while (out.ids.size() < count) {
      auto id = (*decoder)->TakeToken();
      EXPECT_TRUE(id.ok()) << id.error().ToString();
      if (!id.ok()) break;
      out.ids.push_back(*id);
      EXPECT_TRUE((*decoder)->Advance().ok());
    }
    return out;
  }

  // What the device says must be what the reference says.
  void ExpectReference(const RandomModel& random, const Ids& prompt, uint32_t count,
                       const DecoderOptions& options,
                       const webnn::ContextOptions& context_options = {}) {
    Model model = Open(random);
    auto reference = models::ReferenceDecoder::Create(model, options.weights == WeightFormat::kQ4
                                                                 ? ReferenceFormat::kQ4
                                                                 : ReferenceFormat::kExact);
    ASSERT_TRUE(reference.ok()) << reference.error().ToString();
    auto steps = models::GenerateGreedily(*reference, prompt, count);
    Generated generated = Generate(model, prompt, count, options, context_options);
    ASSERT_EQ(generated.ids.size(), count);
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(generated.first_logits[i], steps[0].logits[i], 1e-4) << i;
    }
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_GT(steps[i].gap, 1e-4) << "choose another seed: step " << i << " is a near tie";
      ASSERT_EQ(generated.ids[i], steps[i].id) << i;
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(DecoderTest, EveryStoredType_GivesTheReferenceIds) {
  for (StoredType type : {StoredType::kFloat32, StoredType::kFloat16, StoredType::kBfloat16}) {
    SCOPED_TRACE(StoredTypeName(type));
    RandomModel model = SmallModel();
    model.type = type;
    ExpectReference(model, MakePrompt(9), 12, {});
  }
}

TEST_F(DecoderTest, Qwen2_GivesTheReferenceIds) {
  ExpectReference(SmallQwen2(), MakePrompt(9), 12, {});
  ExpectReference(SmallQwen2(), MakePrompt(9), 12, {.weights = WeightFormat::kQ4});
}

TEST_F(DecoderTest, HeadOfItsOwn_GivesTheReferenceIds) {
  for (RandomModel model : {SmallModel(), SmallQwen2()}) {
    model.config.tied_embeddings = false;
    ExpectReference(model, MakePrompt(5), 8, {});
    ExpectReference(model, MakePrompt(5), 8, {.weights = WeightFormat::kQ4});
  }
}

TEST_F(DecoderTest, Quantized_GivesTheReferenceIdsWithEverySwitch) {
  const DecoderOptions kQuantized = {.weights = WeightFormat::kQ4};
  ExpectReference(SmallModel(), MakePrompt(9), 12, kQuantized);
  ExpectReference(SmallModel(), MakePrompt(9), 12, kQuantized, {.fusion = false});
  ExpectReference(SmallModel(), MakePrompt(9), 12,
                  {.weights = WeightFormat::kQ4, .alias = false, .host_cache = true},
                  {.binding_cache = false});
  ExpectReference(SmallModel(), MakePrompt(9), 12, {.weights = WeightFormat::kQ4, .alias = false});
}

TEST_F(DecoderTest, OddWidths_StayUnquantized) {
  RandomModel model = SmallModel();
  model.config.intermediate_size = 100;  // The rows of `down`.
  ExpectReference(model, MakePrompt(9), 8, {.weights = WeightFormat::kQ4});
}

TEST_F(DecoderTest, MatricesInParts_GiveTheReferenceIds) {
  constexpr uint64_t kRowBytes = 64 * 4;  // As float32.
  RandomModel model = SmallModel();
  model.config.vocabulary_size = 320;
  RandomModel with_head = model;
  with_head.config.tied_embeddings = false;
  // The embedding in parts of 46 rows; of 128, 128 and 64.
  constexpr PartLimits kOfManyParts = {.float_bytes_max = 50 * kRowBytes};
  constexpr PartLimits kOfThreeParts = {.float_bytes_max = 150 * kRowBytes};
  for (WeightFormat weights : {WeightFormat::kFloat32, WeightFormat::kQ4}) {
    SCOPED_TRACE(weights == WeightFormat::kQ4 ? "q4" : "float32");
    // Parts of 1 row, and of 12.
    ExpectReference(model, MakePrompt(17), 12,
                    {.weights = weights, .part_limits = {.stored_bytes_max = 400}});
    ExpectReference(model, MakePrompt(17), 12, {.weights = weights, .part_limits = kOfManyParts});
    ExpectReference(model, MakePrompt(17), 12, {.weights = weights, .part_limits = kOfThreeParts});
    ExpectReference(with_head, MakePrompt(17), 12,
                    {.weights = weights, .part_limits = kOfThreeParts});
    ExpectReference(model, MakePrompt(17), 4, {.weights = weights, .part_limits = kOfThreeParts},
                    {.fusion = false});
  }
  ExpectReference(model, MakePrompt(17), 6, {.part_limits = kOfThreeParts, .growing = true});
}

TEST_F(DecoderTest, PromptsOfEveryKind_GiveTheReferenceIds) {
  // One token; one dispatch; two, of which the second is padded; two without padding.
  for (size_t length : {1u, 2u, 255u, 257u, 300u}) {
    SCOPED_TRACE(length);
    ExpectReference(SmallModel(), MakePrompt(length), 4, {});
    ExpectReference(SmallModel(), MakePrompt(length), 4, {.alias = false});
  }
}

// One graph for any prompt and for steps; the past grows by what each dispatch adds.
TEST_F(DecoderTest, CachesThatGrow_GiveTheReferenceIds) {
  for (size_t length : {1u, 2u, 300u}) {
    SCOPED_TRACE(length);
    ExpectReference(SmallModel(), MakePrompt(length), 6, {.growing = true});
  }
  ExpectReference(SmallModel(), MakePrompt(9), 12, {.alias = false, .growing = true});
  ExpectReference(SmallQwen2(), MakePrompt(9), 12, {.growing = true});
  ExpectReference(SmallModel(), MakePrompt(9), 6, {.growing = true}, {.fusion = false});
  ExpectReference(SmallModel(), MakePrompt(9), 6,
                  {.alias = false, .host_cache = true, .growing = true}, {.binding_cache = false});
}

// Rows of four-bit weights are not whole bytes that dynamic sizes could count.
TEST_F(DecoderTest, CachesThatGrow_AreNotForQuantizedEmbeddings) {
  Model model = Open(SmallModel());
  auto decoder = Decoder::Create(
      ml(), MakeContext(), model,
      {.prompt_tokens = 3, .positions_max = 32, .weights = WeightFormat::kQ4, .growing = true},
      [](uint64_t, uint64_t) {});
  ASSERT_FALSE(decoder.ok());
  EXPECT_THAT(decoder.error().ToString(),
              testing::HasSubstr("dynamic dimensions of uint4 are not supported"));
}

// Positions and masks of long caches are constants of many bytes, and attention is seen all the
// same.
TEST_F(DecoderTest, LongCaches_TakeNoMoreKernels) {
  RandomModel random = SmallModel();
  random.config.positions_max = 32768;
  const Model model = Open(random);
  auto context = MakeContext();
  auto kernels = [&](uint32_t positions, bool growing) {
    auto decoder = Decoder::Create(
        ml(), context, model, {.prompt_tokens = 3, .positions_max = positions, .growing = growing},
        [](uint64_t, uint64_t) {});
    EXPECT_TRUE(decoder.ok()) << decoder.error().ToString();
    return decoder.ok() ? (*decoder)->kernels_per_step() : 0;
  };
  for (bool growing : {false, true}) {
    SCOPED_TRACE(growing);
    const uint32_t short_ones = kernels(512, growing);
    // Keys are split between workgroups, whose parts one more kernel a layer puts together.
    for (uint32_t positions : {2048u, 32768u}) {
      EXPECT_LE(kernels(positions, growing), short_ones + random.config.layer_count);
    }
  }
}

class FullCachesTest : public DecoderTest, public testing::WithParamInterface<bool> {};

TEST_P(FullCachesTest, AnotherToken_IsRefused) {
  Model model = Open(SmallModel());
  auto context = MakeContext();
  auto decoder = Decoder::Create(ml(), context, model,
                                 {.prompt_tokens = 3, .positions_max = 4, .growing = GetParam()},
                                 [](uint64_t, uint64_t) {});
  ASSERT_TRUE(decoder.ok());
  ASSERT_TRUE((*decoder)->Prefill(MakePrompt(3)).ok());
  while ((*decoder)->position() < (*decoder)->capacity()) {
    ASSERT_TRUE((*decoder)->Advance().ok());
    ASSERT_TRUE((*decoder)->TakeToken().ok());
  }
  Status status = (*decoder)->Advance();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message(), testing::HasSubstr("the caches are full"));
}

INSTANTIATE_TEST_SUITE_P(Growing, FullCachesTest, testing::Bool());

TEST_F(DecoderTest, LogitsForTheHost_AreTheReferences) {
  Model model = Open(SmallModel());
  auto context = MakeContext();
  Ids prompt = MakePrompt(6);
  auto decoder = Decoder::Create(ml(), context, model,
                                 {.prompt_tokens = 6, .positions_max = 8, .greedy = false},
                                 [](uint64_t, uint64_t) {});
  ASSERT_TRUE(decoder.ok());
  auto reference = models::ReferenceDecoder::Create(model, ReferenceFormat::kExact);
  ASSERT_TRUE(reference.ok());
  auto steps = models::GenerateGreedily(*reference, prompt, 2);
  ASSERT_TRUE((*decoder)->Prefill(prompt).ok());
  for (const models::GreedyStep& step : steps) {
    auto logits = (*decoder)->ReadLogits();
    ASSERT_TRUE(logits.ok());
    ASSERT_EQ(logits->size(), step.logits.size());
    for (size_t i = 0; i < logits->size(); ++i) EXPECT_NEAR((*logits)[i], step.logits[i], 1e-4);
    ASSERT_TRUE((*decoder)->Feed(step.id).ok());
  }
}

}  // namespace
}  // namespace webnnd::generate
