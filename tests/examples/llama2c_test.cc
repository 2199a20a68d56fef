#include "examples/generate/llama2c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "tests/examples/test_models.h"

namespace webnnd::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

template <class T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// dim 4, hidden 6, 2 layers, 2 heads of 2 (1 key/value head), 259 tokens, 8 positions. Every float
// is its index in the file.
std::string SmallCheckpoint(int32_t vocabulary_size = 259) {
  std::string bytes;
  for (int32_t field : {4, 6, 2, 2, 1, vocabulary_size, 8}) Append(bytes, field);
  size_t floats =
      259 * 4 + 2 * 4 + 2 * 16 + 2 * 8 + 2 * 8 + 2 * 16 + 2 * 4 + 3 * 2 * 24 + 4 + 8 * 2;
  if (vocabulary_size < 0) floats += 259 * 4;
  for (size_t i = 0; i < floats; ++i) Append(bytes, static_cast<float>(i));
  return bytes;
}

// The 259 pieces that every vocabulary has, then `more`.
std::string SmallTokenizer(const std::vector<std::pair<std::string, float>>& more = {}) {
  std::string bytes;
  Append(bytes, int32_t{7});
  auto piece = [&](const std::string& text, float score) {
    Append(bytes, score);
    Append(bytes, static_cast<int32_t>(text.size()));
    bytes += text;
  };
  for (const char* text : {"<unk>", "\n<s>\n", "\n</s>\n"}) piece(text, 0);
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    snprintf(text, sizeof(text), "<0x%02X>", byte);
    piece(text, 0);
  }
  for (const auto& [text, score] : more) piece(text, score);
  return bytes;
}

std::string ErrorOf(const std::string& checkpoint) {
  TemporaryFolder folder;
  WriteFile(folder.path() / "m.bin", checkpoint);
  auto result = OpenLlama2cCheckpoint(folder.path() / "m.bin");
  return result.ok() ? "" : result.error().ToString();
}

TEST(OpenLlama2cCheckpoint, SmallFile_LaysTensorsOut) {
  TemporaryFolder folder;
  WriteFile(folder.path() / "m.bin", SmallCheckpoint());
  auto checkpoint = OpenLlama2cCheckpoint(folder.path() / "m.bin");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().ToString();
  EXPECT_EQ(checkpoint->config.vocabulary_size, 259u);
  EXPECT_EQ(checkpoint->config.head_dim, 2u);
  EXPECT_TRUE(checkpoint->config.tied_embeddings);
  EXPECT_FALSE(checkpoint->weights.head.has_value());
  ASSERT_TRUE(CheckShapes(checkpoint->config, checkpoint->weights).ok());

  std::vector<float> down(24);  // w2 of layer 1: after w1, and between w1 and w3.
  ASSERT_TRUE(checkpoint->weights.layers[1].down.ReadRows(0, down).ok());
  size_t before = 259 * 4 + 2 * 4 + 2 * 16 + 2 * 8 + 2 * 8 + 2 * 16 + 2 * 4 + 2 * 24 + 24;
  EXPECT_EQ(down.front(), static_cast<float>(before));
  EXPECT_EQ(down.back(), static_cast<float>(before + 23));
}

TEST(OpenLlama2cCheckpoint, QueryRows_AreReorderedPerHead) {
  TemporaryFolder folder;
  // Heads of 4, so that there is something to reorder: dim 4, 1 head.
  std::string bytes;
  for (int32_t field : {4, 1, 1, 1, 1, 259, 1}) Append(bytes, field);
  size_t floats = 259 * 4 + 4 + 3 * 16 + 16 + 4 + 3 * 4 + 4 + 4;
  for (size_t i = 0; i < floats; ++i) Append(bytes, static_cast<float>(i));
  WriteFile(folder.path() / "m.bin", bytes);
  auto checkpoint = OpenLlama2cCheckpoint(folder.path() / "m.bin");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().ToString();
  std::vector<float> query(16);
  ASSERT_TRUE(checkpoint->weights.layers[0].query.ReadRows(0, query).ok());
  float base = 259 * 4 + 4;
  // Rows 0, 2, 1, 3 of the file.
  EXPECT_THAT(query, ElementsAre(base + 0, base + 1, base + 2, base + 3, base + 8, base + 9,
                                 base + 10, base + 11, base + 4, base + 5, base + 6, base + 7,
                                 base + 12, base + 13, base + 14, base + 15));
}

TEST(OpenLlama2cCheckpoint, NegativeVocabulary_HasAHeadOfItsOwn) {
  TemporaryFolder folder;
  WriteFile(folder.path() / "m.bin", SmallCheckpoint(-259));
  auto checkpoint = OpenLlama2cCheckpoint(folder.path() / "m.bin");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().ToString();
  EXPECT_FALSE(checkpoint->config.tied_embeddings);
  std::vector<float> head(259 * 4);
  ASSERT_TRUE(checkpoint->weights.head->ReadRows(0, head).ok());
  std::string bytes = SmallCheckpoint(-259);
  float last;
  memcpy(&last, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(head.back(), last);
}

TEST(OpenLlama2cCheckpoint, WrongLength_IsRefused) {
  std::string bytes = SmallCheckpoint();
  EXPECT_THAT(ErrorOf(bytes.substr(0, bytes.size() - 1)), HasSubstr("where its header asks for"));
  EXPECT_THAT(ErrorOf(bytes + "x"), HasSubstr("where its header asks for"));
  EXPECT_THAT(ErrorOf(bytes.substr(0, 20)), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("truncated"));
}

TEST(OpenLlama2cCheckpoint, BadHeader_IsRefused) {
  std::string bytes = SmallCheckpoint();
  auto with = [&](int field, int32_t value) {
    std::string changed = bytes;
    memcpy(changed.data() + 4 * field, &value, 4);
    return ErrorOf(changed);
  };
  EXPECT_THAT(with(0, -4), HasSubstr("not that of a llama2.c checkpoint"));
  EXPECT_THAT(with(3, 0), HasSubstr("not that of a llama2.c checkpoint"));
  EXPECT_THAT(with(3, 3), HasSubstr("not a multiple of the number of heads (3)"));
  EXPECT_THAT(with(4, 3), HasSubstr("not a multiple of the number of key/value heads (3)"));
  EXPECT_THAT(with(2, 1 << 30), HasSubstr("the number of layers (1073741824)"));
  EXPECT_THAT(with(5, INT32_MIN), HasSubstr("not that of a llama2.c checkpoint"));
  EXPECT_THAT(with(0, 0x616b3432), HasSubstr("later version"));
}

TEST(Llama2cTokenizer, BestScore_MergesFirst) {
  auto tokenizer = Llama2cTokenizer::Parse(
      SmallTokenizer({{" ", -9}, {"a", -9}, {"b", -9}, {"ab", -2}, {"aa", -1}, {" a", -3}}), 265);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().ToString();
  EXPECT_THAT((*tokenizer)->Encode("ab"), ElementsAre(259, 262));
  EXPECT_THAT((*tokenizer)->Encode("aab"), ElementsAre(259, 263, 261));
  EXPECT_THAT((*tokenizer)->Encode("\xff"), ElementsAre(259, 255 + 3));
  EXPECT_THAT((*tokenizer)->Encode(""), ElementsAre());
}

TEST(Llama2cTokenizer, BlankAfterBos_IsDropped) {
  auto tokenizer = Llama2cTokenizer::Parse(SmallTokenizer({{" a", -1}}), 260);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ((*tokenizer)->Decode(1, 259), "a");
  EXPECT_EQ((*tokenizer)->Decode(5, 259), " a");
  EXPECT_EQ((*tokenizer)->Decode(-1, 1), "");
  EXPECT_EQ((*tokenizer)->Decode(5, 0x41 + 3), "A");
  EXPECT_EQ((*tokenizer)->Decode(5, 100000), "");
}

TEST(Llama2cTokenizer, OtherVocabulary_DoesNotMatch) {
  std::string bytes = SmallTokenizer({{"a", -1}});
  auto fewer = Llama2cTokenizer::Parse(bytes, 300);
  ASSERT_FALSE(fewer.ok());
  EXPECT_THAT(fewer.error().message(), HasSubstr("does not match the model"));
  auto more = Llama2cTokenizer::Parse(bytes, 259);
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.error().message(), HasSubstr("does not match the model"));
}

TEST(Llama2cTokenizer, Malformed_IsRefused) {
  EXPECT_FALSE(Llama2cTokenizer::Parse("", 259).ok());
  std::string bytes = SmallTokenizer();
  int32_t length = 1 << 30;
  memcpy(bytes.data() + 8, &length, 4);
  auto huge = Llama2cTokenizer::Parse(bytes, 259);
  ASSERT_FALSE(huge.ok());
  EXPECT_THAT(huge.error().message(), HasSubstr("malformed"));
  bytes = SmallTokenizer();
  bytes.resize(bytes.size() - 1);
  auto truncated = Llama2cTokenizer::Parse(bytes, 259);
  ASSERT_FALSE(truncated.ok());
  EXPECT_THAT(truncated.error().message(), HasSubstr("truncated"));
}

TEST(Llama2cTokenizer, Stories260K_EncodesAndDecodes) {
  auto shared = SharedFolder();
  if (!shared) GTEST_SKIP() << "SKIPPED: ../shared is not there, so stories260K is not tested";
  auto folder = *shared / "models/stories260K";
  auto tokenizer = Llama2cTokenizer::Parse(ReadFile(folder / "tok512.bin"), 512);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().ToString();
  Json expected = ReadJson(folder / "expected.json");
  for (const Json& c : expected["encode_cases"]) {
    auto text = c["text"].get<std::string>();
    std::vector<int32_t> ids = {1};
    for (int32_t id : (*tokenizer)->Encode(text)) ids.push_back(id);
    EXPECT_EQ(ids, c["ids"].get<std::vector<int32_t>>()) << text;
  }
  for (const Json& c : expected["cases"]) {
    std::string text;
    int32_t previous = -1;
    for (int32_t id : c["ids"].get<std::vector<int32_t>>()) {
      text += (*tokenizer)->Decode(previous, id);
      previous = id;
    }
    EXPECT_EQ(text, c["text"].get<std::string>());
  }
}

}  // namespace
}  // namespace webnnd::generate
