// Files of llama2.c: a "version 0" checkpoint and its tokenizer.
#ifndef WEBNND_EXAMPLES_GENERATE_LLAMA2C_H_
#define WEBNND_EXAMPLES_GENERATE_LLAMA2C_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "examples/generate/config.h"
#include "examples/generate/tokenizer.h"
#include "examples/generate/weights.h"

namespace webnnd::generate {

struct Llama2cCheckpoint {
  ModelConfig config;
  ModelWeights weights;
};

// Seven int32 (dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len), then float32
// tensors back to back. A Validation error when the file's length is not what the header asks for.
// Query and key rows are marked as interleaved.
Result<Llama2cCheckpoint> OpenLlama2cCheckpoint(const std::string& path);

// The pieces with their scores: of all neighbours that form a piece, the two with the highest score
// merge first.
class Llama2cTokenizer : public Tokenizer {
 public:
  // From the bytes of tok*.bin, which do not say how many pieces they hold: a Validation error when
  // they are not exactly `vocabulary_size`, or not pieces of llama2.c.
  static Result<std::unique_ptr<Llama2cTokenizer>> Parse(std::string_view bytes,
                                                         uint32_t vocabulary_size);

  std::vector<int32_t> Encode(std::string_view text) const override;
  std::string Decode(int32_t previous, int32_t id) const override;
  uint32_t vocabulary_size() const override { return static_cast<uint32_t>(pieces_.size()); }

 private:
  struct Piece {
    std::string text;
    float score;
  };

  void EncodeCharacter(std::string_view character, std::vector<int32_t>& ids) const;

  std::vector<Piece> pieces_;
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_LLAMA2C_H_
