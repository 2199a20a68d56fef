#include "examples/generate/byte_level_bpe.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "examples/generate/json.h"
#include "examples/generate/unicode.h"
#include "examples/generate/utf8.h"

namespace webnnd::generate {
namespace {

using Json = nlohmann::json;

// The largest vocabularies have a quarter of a million entries.
constexpr uint32_t kIdMax = (1 << 20) - 1;
constexpr size_t kAddedTokensMax = 4096;

constexpr std::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// A character of the text that is being split.
struct Character {
  CharacterClass character_class;
  size_t length;
};

Character CharacterAt(std::string_view text, size_t at) {
  CodePoint point = DecodeUtf8(text.substr(at));
  return {ClassOf(point.value), point.length};
}

// The end of the run of characters of class `wanted` that begins at `at`.
size_t RunEnd(std::string_view text, size_t at, CharacterClass wanted) {
  while (at < text.size()) {
    Character character = CharacterAt(text, at);
    if (character.character_class != wanted) break;
    at += character.length;
  }
  return at;
}

// The end of the run of white space that begins at `at`, without its last character where a word
// follows: that one belongs to the word.
size_t SpaceEnd(std::string_view text, size_t at) {
  size_t last = at;
  size_t end = at;
  while (end < text.size()) {
    Character character = CharacterAt(text, end);
    if (character.character_class != CharacterClass::kSpace) break;
    last = end;
    end += character.length;
  }
  return end < text.size() && last > at ? last : end;
}

size_t WordEnd(std::string_view text, size_t at) {
  for (std::string_view contraction : kContractions) {
    if (text.substr(at).starts_with(contraction)) return at + contraction.size();
  }
  size_t start = at;
  if (text[at] == ' ' && at + 1 < text.size() &&
      CharacterAt(text, at + 1).character_class != CharacterClass::kSpace) {
    start = at + 1;
  }
  CharacterClass character_class = CharacterAt(text, start).character_class;
  if (character_class == CharacterClass::kSpace) return SpaceEnd(text, at);
  return RunEnd(text, start, character_class);
}

// GPT-2's printable stand-ins for bytes: those that print stand for themselves, the others for the
// code points from U+0100 on.
struct ByteAlphabet {
  std::array<uint32_t, 256> code_point_of_byte;
  std::unordered_map<uint32_t, uint8_t> byte_of_code_point;

  ByteAlphabet() {
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool prints =
          (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      code_point_of_byte[byte] = prints ? byte : next++;
      byte_of_code_point[code_point_of_byte[byte]] = static_cast<uint8_t>(byte);
    }
  }
};

// The bytes that a piece of the vocabulary stands for; nullopt when it has a character that stands
// for none.
std::optional<std::string> PieceBytes(const ByteAlphabet& alphabet, std::string_view piece) {
  std::string bytes;
  while (!piece.empty()) {
    CodePoint point = DecodeUtf8(piece);
    auto found = alphabet.byte_of_code_point.find(point.value);
    if (found == alphabet.byte_of_code_point.end()) return std::nullopt;
    bytes.push_back(static_cast<char>(found->second));
    piece.remove_prefix(point.length);
  }
  return bytes;
}

bool IsAbsent(const Json& object, const char* key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null();
}

bool FlagOr(const Json& object, const char* key, bool fallback) {
  auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

bool IsId(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= kIdMax;
}

bool HasType(const Json& object, std::string_view type) {
  return object.is_object() && object.contains("type") && object["type"] == type;
}

}  // namespace

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = WordEnd(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// Fills a tokenizer from the members of tokenizer.json.
struct ByteLevelBpe::Parser {
  ByteLevelBpe& out;
  ByteAlphabet alphabet = {};
  std::unordered_map<std::string, int32_t> ids = {};    // By piece as it is written.
  std::unordered_map<int32_t, std::string> named = {};  // The other way, with added tokens.

  Status ParseVocabulary(const Json& model) {
    INVALID_IF(!model.contains("vocab") || !model["vocab"].is_object() || model["vocab"].empty(),
               "the model of tokenizer.json lacks its vocab ({})", "model.vocab");
    for (const auto& [piece, id] : model["vocab"].items()) {
      INVALID_IF(!IsId(id), "the id of piece {} is not a token id ({})", piece, id.dump());
      // Two pieces with one id could not both be decoded.
      INVALID_IF(!named.emplace(id.get<int32_t>(), piece).second,
                 "two pieces of tokenizer.json have one id ({})", id.get<int32_t>());
      AddPiece(id.get<int32_t>(), PieceBytes(alphabet, piece).value_or(piece));
      ids.emplace(piece, id.get<int32_t>());
    }
    for (uint32_t byte = 0; byte < 256; ++byte) {
      auto found = ids.find(EncodeUtf8(alphabet.code_point_of_byte[byte]));
      INVALID_IF(found == ids.end(),
                 "the vocabulary of tokenizer.json has no piece for byte ({:#04x})", byte);
      out.byte_ids_[byte] = found->second;
    }
    return {};
  }

  void AddPiece(int32_t id, std::string bytes) {
    auto index = static_cast<size_t>(id);
    if (index >= out.pieces_.size()) out.pieces_.resize(index + 1);
    out.pieces_[index] = std::move(bytes);
  }

  Status ParseMerges(const Json& model) {
    INVALID_IF(!model.contains("merges") || !model["merges"].is_array(),
               "the model of tokenizer.json lacks its merges ({})", "model.merges");
    double rank = 0;
    for (const Json& merge : model["merges"]) {
      std::string left, right;
      if (merge.is_string()) {  // "left right"; older files.
        const auto& text = merge.get_ref<const std::string&>();
        size_t space = text.find(' ');
        INVALID_IF(space == std::string::npos, "the merge ({}) is not two pieces", text);
        left = text.substr(0, space);
        right = text.substr(space + 1);
      } else {  // ["left", "right"]
        INVALID_IF(!merge.is_array() || merge.size() != 2 || !merge[0].is_string() ||
                       !merge[1].is_string(),
                   "the merge ({}) is not two pieces", merge.dump());
        left = merge[0].get<std::string>();
        right = merge[1].get<std::string>();
      }
      auto left_id = ids.find(left);
      auto right_id = ids.find(right);
      auto merged_id = ids.find(left + right);
      INVALID_IF(left_id == ids.end() || right_id == ids.end() || merged_id == ids.end(),
                 "the merge ({} {}) needs a piece that the vocabulary lacks", left, right);
      out.merges_.emplace(PairKey(left_id->second, right_id->second),
                          Merge{rank, merged_id->second});
      rank += 1;
    }
    return {};
  }

  Status ParseModel(const Json& json) {
    INVALID_IF(IsAbsent(json, "model") || !json["model"].is_object(),
               "tokenizer.json lacks the member ({})", "model");
    const Json& model = json["model"];
    if (!IsAbsent(model, "type") && model["type"] != "BPE") {
      return NotSupportedError("the model of tokenizer.json is not BPE ({})", model["type"].dump());
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!IsAbsent(model, key) && model[key] != "") {
        return NotSupportedError("the member {} of tokenizer.json is not supported ({})", key,
                                 model[key].dump());
      }
    }
    if (FlagOr(model, "byte_fallback", false)) {
      return NotSupportedError("the member {} of tokenizer.json is not supported (true)",
                               "byte_fallback");
    }
    TRY(ParseVocabulary(model));
    TRY(ParseMerges(model));
    if (FlagOr(model, "ignore_merges", false)) {
      for (const auto& [piece, id] : ids) {
        if (auto bytes = PieceBytes(alphabet, piece)) out.whole_words_.emplace(*bytes, id);
      }
    }
    return {};
  }

  Status ParseAddedTokens(const Json& json) {
    if (IsAbsent(json, "added_tokens")) return {};
    const Json& tokens = json["added_tokens"];
    INVALID_IF(!tokens.is_array() || tokens.size() > kAddedTokensMax,
               "the added_tokens of tokenizer.json are not a list of at most ({})",
               kAddedTokensMax);
    for (const Json& token : tokens) {
      INVALID_IF(!token.is_object() || !token.contains("id") || !IsId(token["id"]) ||
                     !token.contains("content") || !token["content"].is_string() ||
                     token["content"].get_ref<const std::string&>().empty(),
                 "an added token lacks its id or content ({})", token.dump());
      for (const char* key : {"single_word", "lstrip", "rstrip"}) {
        if (FlagOr(token, key, false)) {
          return NotSupportedError("the flag {} of an added token is not supported ({})", key,
                                   token.dump());
        }
      }
      AddedToken added{token["content"].get<std::string>(), token["id"].get<int32_t>()};
      // The vocabulary may have it as well, as the same piece.
      INVALID_IF(named.emplace(added.id, added.content).first->second != added.content,
                 "two pieces of tokenizer.json have one id ({})", added.id);
      // Special tokens steer the model and are no text.
      AddPiece(added.id, FlagOr(token, "special", false) ? "" : added.content);
      out.added_tokens_.push_back(std::move(added));
    }
    return {};
  }

  Status ParseByteLevel(const Json& step) {
    out.add_prefix_space_ = FlagOr(step, "add_prefix_space", true);
    if (!FlagOr(step, "use_regex", true)) {
      return NotSupportedError("the pre-tokenizer of tokenizer.json is not supported ({})",
                               step.dump());
    }
    return {};
  }

  Status ParsePreTokenizer(const Json& json) {
    if (!IsAbsent(json, "normalizer")) {
      return NotSupportedError("the normalizer of tokenizer.json is not supported ({})",
                               json["normalizer"].dump());
    }
    const Json none = nullptr;
    const Json& step = json.contains("pre_tokenizer") ? json["pre_tokenizer"] : none;
    if (HasType(step, "ByteLevel")) return ParseByteLevel(step);
    if (HasType(step, "Sequence") && step.contains("pretokenizers") &&
        step["pretokenizers"].is_array() && step["pretokenizers"].size() == 2) {
      const Json& first = step["pretokenizers"][0];
      const Json& second = step["pretokenizers"][1];
      if (HasType(first, "Digits") && HasType(second, "ByteLevel")) {
        out.digits_ =
            FlagOr(first, "individual_digits", false) ? Digits::kSingle : Digits::kGrouped;
        return ParseByteLevel(second);
      }
    }
    return NotSupportedError("the pre-tokenizer of tokenizer.json is not supported ({})",
                             step.dump());
  }
};

Result<std::unique_ptr<ByteLevelBpe>> ByteLevelBpe::Parse(std::string_view json_text) {
  ASSIGN_OR_RETURN(Json json, ParseJsonObject("tokenizer.json", json_text));
  auto tokenizer = std::make_unique<ByteLevelBpe>();
  Parser parser{*tokenizer};
  TRY(parser.ParseModel(json));
  TRY(parser.ParseAddedTokens(json));
  TRY(parser.ParsePreTokenizer(json));
  return tokenizer;
}

std::vector<int32_t> ByteLevelBpe::Encode(std::string_view text) const {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    // The added token that begins first; of several there, the longest.
    size_t first = text.size();
    const AddedToken* token = nullptr;
    for (const AddedToken& candidate : added_tokens_) {
      size_t at = text.find(candidate.content);
      if (at < first ||
          (token != nullptr && at == first && candidate.content.size() > token->content.size())) {
        first = at;
        token = &candidate;
      }
    }
    EncodeSection(text.substr(0, first), ids);
    text.remove_prefix(first);
    if (token != nullptr) {
      ids.push_back(token->id);
      text.remove_prefix(token->content.size());
    }
  }
  return ids;
}

void ByteLevelBpe::EncodeSection(std::string_view text, std::vector<int32_t>& ids) const {
  if (digits_ == Digits::kWithWords) return EncodeWords(text, ids);
  while (!text.empty()) {
    Character first = CharacterAt(text, 0);
    bool is_number = first.character_class == CharacterClass::kNumber;
    size_t end = first.length;
    while (end < text.size() && !(is_number && digits_ == Digits::kSingle)) {
      Character next = CharacterAt(text, end);
      if ((next.character_class == CharacterClass::kNumber) != is_number) break;
      end += next.length;
    }
    EncodeWords(text.substr(0, end), ids);
    text.remove_prefix(end);
  }
}

void ByteLevelBpe::EncodeWords(std::string_view text, std::vector<int32_t>& ids) const {
  std::string prefixed;
  if (add_prefix_space_ && !text.empty() && text.front() != ' ') {
    prefixed = " " + std::string(text);
    text = prefixed;
  }
  for (std::string_view word : SplitWords(text)) EncodeWord(word, ids);
}

void ByteLevelBpe::EncodeWord(std::string_view word, std::vector<int32_t>& ids) const {
  if (auto whole = whole_words_.find(std::string(word)); whole != whole_words_.end()) {
    ids.push_back(whole->second);
    return;
  }
  std::vector<int32_t> symbols;
  for (char byte : word) symbols.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
  auto merged = MergePairs(symbols, [this](int32_t left, int32_t right) -> std::optional<Merge> {
    auto found = merges_.find(PairKey(left, right));
    if (found == merges_.end()) return std::nullopt;
    return found->second;
  });
  ids.insert(ids.end(), merged.begin(), merged.end());
}

std::string ByteLevelBpe::Decode(int32_t /*previous*/, int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= pieces_.size()) return "";
  return pieces_[static_cast<size_t>(id)];
}

}  // namespace webnnd::generate
