// Byte-level BPE from a Hugging Face tokenizer.json, as GPT-2 introduced it.
#ifndef WEBNND_EXAMPLES_GENERATE_BYTE_LEVEL_BPE_H_
#define WEBNND_EXAMPLES_GENERATE_BYTE_LEVEL_BPE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "examples/generate/merge.h"
#include "examples/generate/tokenizer.h"

namespace webnnd::generate {

// The words of GPT-2's pattern, in order and without loss:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::vector<std::string_view> SplitWords(std::string_view text);

class ByteLevelBpe : public Tokenizer {
 public:
  // From the text of tokenizer.json. Validation error where it is malformed (a merge of unknown
  // pieces, a byte without a piece), NotSupported for normalizers, and pre-tokenizers other than
  // ByteLevel with GPT-2's pattern, alone or after Digits.
  static Result<std::unique_ptr<ByteLevelBpe>> Parse(std::string_view json_text);

  std::vector<int32_t> Encode(std::string_view text) const override;
  std::string Decode(int32_t previous, int32_t id) const override;
  uint32_t vocabulary_size() const override { return static_cast<uint32_t>(pieces_.size()); }

 private:
  struct Parser;

  struct AddedToken {
    std::string content;
    int32_t id;
  };
  enum class Digits : uint8_t { kWithWords, kGrouped, kSingle };

  void EncodeSection(std::string_view text, std::vector<int32_t>& ids) const;
  void EncodeWords(std::string_view text, std::vector<int32_t>& ids) const;
  void EncodeWord(std::string_view word, std::vector<int32_t>& ids) const;

  std::vector<std::string> pieces_;  // By id: the bytes; empty for special tokens.
  std::array<int32_t, 256> byte_ids_{};
  std::unordered_map<uint64_t, Merge> merges_;            // By (left id << 32 | right id).
  std::unordered_map<std::string, int32_t> whole_words_;  // Only with ignore_merges.
  std::vector<AddedToken> added_tokens_;                  // Found in the text before it is split.
  bool add_prefix_space_ = false;
  Digits digits_ = Digits::kWithWords;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_BYTE_LEVEL_BPE_H_
