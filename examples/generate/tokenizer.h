// Tokenizer: text to token ids and back.
#ifndef WEBNND_EXAMPLES_GENERATE_TOKENIZER_H_
#define WEBNND_EXAMPLES_GENERATE_TOKENIZER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace webnnd::generate {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The ids of `text`, without the id that begins a text (ModelConfig::bos_id). Bytes that are not
  // UTF-8 are encoded as bytes.
  virtual std::vector<int32_t> Encode(std::string_view text) const = 0;
  // The bytes that `id` adds to a text after `previous` (-1 at the beginning). May be part of a
  // UTF-8 sequence; empty for special tokens and for ids outside the vocabulary.
  virtual std::string Decode(int32_t previous, int32_t id) const = 0;
  // One more than the highest id.
  virtual uint32_t vocabulary_size() const = 0;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_TOKENIZER_H_
