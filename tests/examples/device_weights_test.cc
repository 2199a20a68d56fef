// How matrices are cut into parts.
#include "examples/generate/device_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "tests/examples/test_models.h"
#include "tests/support/service_fixture.h"
#include "tools/models/random_model.h"

namespace webnnd::generate {
namespace {

using testing::ElementsAre;

TEST(RowsPerPart, Matrices_AreCutIntoAsFewPartsAsFit) {
  EXPECT_EQ(RowsPerPart(49152, 58254), 49152u);
  // Qwen2-0.5B's embedding in 2 parts of 512 MiB at most, and in 5 of 128.
  EXPECT_EQ(RowsPerPart(151936, (512 << 20) / (896 * 4)), 75968u);
  EXPECT_EQ(RowsPerPart(151936, (128 << 20) / (896 * 4)), 30400u);
}

TEST(RowsPerPart, Parts_AreMultiplesOf64WhereThereIsRoom) {
  EXPECT_EQ(RowsPerPart(320, 319), 192u);
  EXPECT_EQ(RowsPerPart(320, 191), 128u);  // 3 parts of 107 would do.
  EXPECT_EQ(RowsPerPart(320, 64), 64u);
  EXPECT_EQ(RowsPerPart(320, 63), 54u);
  EXPECT_EQ(RowsPerPart(320, 1), 1u);
}

TEST(RowsPerPart, NoPart_IsLargerThanItMayBe) {
  for (uint32_t rows = 1; rows <= 400; ++rows) {
    for (uint32_t rows_max = 1; rows_max <= 450; ++rows_max) {
      const uint32_t part = RowsPerPart(rows, rows_max);
      ASSERT_GT(part, 0u) << rows << " " << rows_max;
      ASSERT_LE(std::min(part, rows), rows_max) << rows << " " << rows_max;
    }
  }
}

std::vector<uint32_t> RowsOf(const DeviceMatrix& matrix) {
  std::vector<uint32_t> rows;
  for (const MatrixPart& part : matrix.parts) rows.push_back(part.rows);
  return rows;
}

class UploadTest : public service::ServiceTest {
 protected:
  // Tied, with 320 rows of 64.
  Model MakeModel() {
    models::RandomModel random;
    random.config = {.vocabulary_size = 320,
                     .hidden_size = 64,
                     .intermediate_size = 64,
                     .layer_count = 1,
                     .head_count = 1,
                     .key_value_head_count = 1,
                     .head_dim = 64,
                     .positions_max = 16,
                     .norm_epsilon = 1e-5f,
                     .rope_theta = 10000,
                     .tied_embeddings = true};
    EXPECT_TRUE(models::WriteRandomModel(folder_.path(), random).ok());
    auto model = OpenModel(folder_.path(), TokenizerNeed::kIfPresent);
    EXPECT_TRUE(model.ok()) << model.error().ToString();
    return std::move(model).value();
  }

  // Its embedding, which is its head too.
  DeviceMatrix Upload(const Model& model, WeightFormat format, const PartLimits& limits,
                      const webnn::MLOptions& ml_options = {}) {
    webnn::ML ml(webnn::Connect::InProcess(host()), ml_options);
    auto context = ml.Wait(ml.CreateContext());
    EXPECT_TRUE(context.ok()) << context.error().ToString();
    auto weights = UploadWeights(ml, **context, model,
                                 {.format = format, .positions = 16, .part_limits = limits},
                                 [](uint64_t, uint64_t) {});
    EXPECT_TRUE(weights.ok()) << weights.error().ToString();
    if (!weights.ok()) return {};
    EXPECT_EQ(RowsOf(weights->head), RowsOf(weights->embedding));
    return weights->embedding;
  }

  TemporaryFolder folder_;
};

TEST_F(UploadTest, QuantizedParts_AreLimitedAsFloat32) {
  constexpr PartLimits kLimits = {.float_bytes_max = 191 * 64 * 4};
  const Model model = MakeModel();
  for (WeightFormat format : {WeightFormat::kFloat32, WeightFormat::kQ4}) {
    const DeviceMatrix matrix = Upload(model, format, kLimits);
    ASSERT_THAT(RowsOf(matrix), ElementsAre(128u, 128u, 64u));
    EXPECT_EQ(matrix.parts[0].quantized(), format == WeightFormat::kQ4);
  }
}

TEST_F(UploadTest, StoredParts_AreLimitedAsTheyAre) {
  constexpr PartLimits kLimits = {.stored_bytes_max = 191 * 64 / 2};
  const Model model = MakeModel();
  EXPECT_THAT(RowsOf(Upload(model, WeightFormat::kQ4, kLimits)), ElementsAre(128u, 128u, 64u));
  EXPECT_EQ(RowsOf(Upload(model, WeightFormat::kFloat32, kLimits)).size(), 14u);
  EXPECT_THAT(RowsOf(Upload(model, WeightFormat::kQ4, {})), ElementsAre(320u));
}

// One block of rows above what a tensor may have.
TEST_F(UploadTest, NoPart_IsLargerThanATensorOfTheContext) {
  constexpr uint32_t kRows = 64 * 8193;
  const std::filesystem::path path = folder_.path() / "zeros";
  WriteFile(path, "");
  std::filesystem::resize_file(path, uint64_t{kRows} * 64 * 4);
  auto file = ReadOnlyFile::Open(path);
  ASSERT_TRUE(file.ok());
  Model model = MakeModel();
  model.weights.embedding = {.name = "zeros", .file = *file, .shape = {kRows, 64}};
  constexpr PartLimits kNoLimits = {.stored_bytes_max = UINT64_MAX};
  EXPECT_THAT(RowsOf(Upload(model, WeightFormat::kFloat32, kNoLimits)), ElementsAre(kRows));
  EXPECT_THAT(RowsOf(Upload(model, WeightFormat::kFloat32, kNoLimits,
                            {.restrict_to_required_limits = true})),
              ElementsAre(64 * 4097u, 64 * 4096u));
}

}  // namespace
}  // namespace webnnd::generate
