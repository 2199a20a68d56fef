#include "examples/generate/byte_level_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/examples/test_models.h"

namespace webnnd::generate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json TinyTalesTokenizer() { return ReadJson(TinyTalesFolder() / "tokenizer.json"); }

std::string Concatenate(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string text;
  int32_t previous = -1;
  for (int32_t id : ids) {
    text += tokenizer.Decode(previous, id);
    previous = id;
  }
  return text;
}

std::string ErrorOf(const Json& tokenizer) {
  auto result = ByteLevelBpe::Parse(tokenizer.dump());
  return result.ok() ? "" : result.error().ToString();
}

TEST(SplitWords, Gpt2Pattern_SplitsAsTheExpression) {
  EXPECT_THAT(SplitWords("I can't  do 12x!?"),
              ElementsAre("I", " can", "'t", " ", " do", " 12", "x", "!?"));
  EXPECT_THAT(SplitWords("a\n\n b \t"), ElementsAre("a", "\n\n", " b", " \t"));
  EXPECT_THAT(SplitWords("a\tb"), ElementsAre("a", "\t", "b"));
  EXPECT_THAT(SplitWords("'S 'll"), ElementsAre("'", "S", " '", "ll"));
  EXPECT_THAT(SplitWords(""), ElementsAre());
}

TEST(SplitWords, UnicodeText_UsesItsCategories) {
  EXPECT_THAT(SplitWords("na\u00efve caf\u00e9\u2603"),
              ElementsAre("na\u00efve", " caf\u00e9", "\u2603"));
  // An ideographic full stop is no letter; a Devanagari digit is a number.
  EXPECT_THAT(SplitWords("\u65e5\u672c\u3002\u0967\u0968"),
              ElementsAre("\u65e5\u672c", "\u3002", "\u0967\u0968"));
  // A no-break space is white space, but only U+0020 is taken into a word.
  EXPECT_THAT(SplitWords("a\u00a0b"), ElementsAre("a", "\u00a0", "b"));
}

TEST(SplitWords, InvalidBytes_LoseNothing) {
  EXPECT_THAT(SplitWords("a\xff\xfe b"), ElementsAre("a", "\xff\xfe", " b"));
}

TEST(ByteLevelBpe, TinyTalesCases_EncodeAndRoundTrip) {
  auto tokenizer = ByteLevelBpe::Parse(TinyTalesTokenizer().dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().ToString();
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 512u);
  Json expected = ReadJson(TinyTalesFolder() / "expected.json");
  ASSERT_GE(expected["encode_cases"].size(), 6u);
  for (const Json& c : expected["encode_cases"]) {
    auto text = c["text"].get<std::string>();
    auto ids = (*tokenizer)->Encode(text);
    EXPECT_EQ(ids, c["ids"].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(Concatenate(**tokenizer, ids), text);
  }
  for (const Json& c : expected["cases"]) {
    auto ids = c["ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(Concatenate(**tokenizer, ids), c["text"].get<std::string>());
  }
}

TEST(ByteLevelBpe, AddedTokenInText_BecomesItsId) {
  auto tokenizer = ByteLevelBpe::Parse(TinyTalesTokenizer().dump());
  ASSERT_TRUE(tokenizer.ok());
  auto ids = (*tokenizer)->Encode("x<|endoftext|>x");
  EXPECT_THAT(ids, ElementsAre(121, 0, 121));
  EXPECT_EQ(Concatenate(**tokenizer, ids), "xx");
}

TEST(ByteLevelBpe, EveryByte_RoundTrips) {
  auto tokenizer = ByteLevelBpe::Parse(TinyTalesTokenizer().dump());
  ASSERT_TRUE(tokenizer.ok());
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(Concatenate(**tokenizer, (*tokenizer)->Encode(bytes)), bytes);
}

TEST(ByteLevelBpe, MergesAsPairs_AreTheSame) {
  Json json = TinyTalesTokenizer();
  for (Json& merge : json["model"]["merges"]) {
    auto text = merge.get<std::string>();
    size_t space = text.find(' ');
    merge = Json::array({text.substr(0, space), text.substr(space + 1)});
  }
  auto tokenizer = ByteLevelBpe::Parse(json.dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().ToString();
  EXPECT_THAT((*tokenizer)->Encode("Once upon a time"),
              ElementsAre(372, 300, 113, 277, 259, 405, 294));
}

TEST(ByteLevelBpe, AddPrefixSpace_PutsABlankInFront) {
  Json json = TinyTalesTokenizer();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  auto tokenizer = ByteLevelBpe::Parse(json.dump());
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ((*tokenizer)->Encode("the end"), (*tokenizer)->Encode(" the end"));
}

TEST(ByteLevelBpe, DigitsStep_SplitsNumbers) {
  Json json = TinyTalesTokenizer();
  Json byte_level = json["pre_tokenizer"];
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, byte_level}}};
  auto tokenizer = ByteLevelBpe::Parse(json.dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().ToString();
  // The blank is no longer part of the word "12".
  EXPECT_THAT((*tokenizer)->Encode("x 12"), ElementsAre(121, 33, 50, 51));
}

TEST(ByteLevelBpe, IgnoreMerges_TakesWholeWords) {
  Json json = TinyTalesTokenizer();
  json["model"]["merges"] = Json::array();
  auto split = ByteLevelBpe::Parse(json.dump());
  json["model"]["ignore_merges"] = true;
  auto whole = ByteLevelBpe::Parse(json.dump());
  ASSERT_TRUE(split.ok() && whole.ok());
  EXPECT_EQ((*split)->Encode(" lunch").size(), 6u);
  EXPECT_EQ((*whole)->Encode(" lunch").size(), 1u);
}

TEST(ByteLevelBpe, LongWord_MergesInReasonableTime) {
  auto tokenizer = ByteLevelBpe::Parse(TinyTalesTokenizer().dump());
  ASSERT_TRUE(tokenizer.ok());
  std::string word(200'000, 't');
  EXPECT_EQ(Concatenate(**tokenizer, (*tokenizer)->Encode(word)), word);
}

TEST(ByteLevelBpe, Malformed_IsRefusedWithTheReason) {
  EXPECT_FALSE(ByteLevelBpe::Parse("").ok());
  EXPECT_FALSE(ByteLevelBpe::Parse("[]").ok());
  EXPECT_FALSE(ByteLevelBpe::Parse("{}").ok());
  EXPECT_FALSE(ByteLevelBpe::Parse("{\"model\":{\"vocab\":{\"a\":-1}}}").ok());

  Json json = TinyTalesTokenizer();
  json["model"]["vocab"].erase("a");
  EXPECT_THAT(ErrorOf(json), HasSubstr("no piece for byte (0x61)"));

  json = TinyTalesTokenizer();
  json["model"]["vocab"].erase("\u0120lunch");
  EXPECT_THAT(ErrorOf(json), HasSubstr("needs a piece that the vocabulary lacks"));

  json = TinyTalesTokenizer();
  json["model"]["vocab"]["a"] = 1 << 30;
  EXPECT_THAT(ErrorOf(json), HasSubstr("is not a token id (1073741824)"));

  json = TinyTalesTokenizer();
  json["model"]["vocab"]["a"] = json["model"]["vocab"]["b"];
  EXPECT_THAT(ErrorOf(json), HasSubstr("two pieces of tokenizer.json have one id"));

  json = TinyTalesTokenizer();
  json["added_tokens"][0]["content"] = "other";
  json["added_tokens"][0]["id"] = json["model"]["vocab"]["a"];
  EXPECT_THAT(ErrorOf(json), HasSubstr("two pieces of tokenizer.json have one id"));

  json = TinyTalesTokenizer();
  json["model"]["merges"][0] = "single";
  EXPECT_THAT(ErrorOf(json), HasSubstr("is not two pieces"));
}

TEST(ByteLevelBpe, UnsupportedKinds_AreRefusedByName) {
  Json json = TinyTalesTokenizer();
  json["model"]["type"] = "Unigram";
  EXPECT_THAT(ErrorOf(json), HasSubstr("is not BPE (\"Unigram\")"));

  json = TinyTalesTokenizer();
  json["normalizer"] = {{"type", "NFC"}};
  EXPECT_THAT(ErrorOf(json), HasSubstr("normalizer"));

  json = TinyTalesTokenizer();
  json["pre_tokenizer"] = {{"type", "Metaspace"}};
  EXPECT_THAT(ErrorOf(json), HasSubstr("Metaspace"));

  json = TinyTalesTokenizer();
  json["pre_tokenizer"] = nullptr;
  EXPECT_THAT(ErrorOf(json), HasSubstr("pre-tokenizer"));

  json = TinyTalesTokenizer();
  json["pre_tokenizer"]["use_regex"] = false;
  EXPECT_THAT(ErrorOf(json), HasSubstr("pre-tokenizer"));

  json = TinyTalesTokenizer();
  json["model"]["byte_fallback"] = true;
  EXPECT_THAT(ErrorOf(json), HasSubstr("byte_fallback"));
}

}  // namespace
}  // namespace webnnd::generate
