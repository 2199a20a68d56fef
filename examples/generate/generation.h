// The loop of text generation: prefill, sample, step, until enough.
#ifndef WEBNND_EXAMPLES_GENERATE_GENERATION_H_
#define WEBNND_EXAMPLES_GENERATE_GENERATION_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "examples/generate/decoder.h"
#include "examples/generate/model.h"
#include "examples/generate/sampler.h"
#include "examples/generate/utf8.h"

namespace webnnd::generate {

enum class StopReason : uint8_t {
  kTokens,         // As many as asked for.
  kEndOfText,      // The model ended the text.
  kSequenceLimit,  // The model takes no longer sequences.
};

std::string_view StopReasonName(StopReason reason);

// Turns ids into text as they come, whole characters only.
class TextStream {
 public:
  // `tokenizer` may be nullptr: then the text stays empty.
  explicit TextStream(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}
  std::string Push(int32_t id);
  std::string Flush() { return characters_.Flush(); }

 private:
  const Tokenizer* tokenizer_;
  int32_t previous_ = -1;
  Utf8Stream characters_;
};

// Logits after the prompt that are reported.
inline constexpr uint32_t kFirstLogitsMax = 32;

struct GenerationOptions {
  uint32_t new_tokens = 0;
  bool ignore_eos = false;
  double temperature = 0;  // 0: `decoder` must be greedy. Else it must not be.
  uint64_t seed = 0;
};

struct Generation {
  std::vector<int32_t> generated_ids;
  std::vector<float> first_logits;  // The first kFirstLogitsMax after the prompt.
  std::string text;                 // Prompt and continuation.
  StopReason stop_reason = StopReason::kTokens;
  double first_token_ms = 0;       // From the prompt's ids to the first new id.
  std::vector<double> step_ms;     // Between one token and the next, for each further token.
  uint64_t step_socket_bytes = 0;  // Sent and received during all steps.

  double median_step_ms() const;     // NaN without steps.
  double tokens_per_second() const;  // Of the steps; NaN without.
};

// How many new tokens fit behind the prompt; a Validation error when the prompt is empty, has ids
// outside the vocabulary, or leaves no room at all.
Result<uint32_t> RoomForTokens(const ModelConfig& config, std::span<const int32_t> prompt_ids,
                               uint32_t wanted_tokens);

// Feeds the prompt and generates; `decoder` must have been created for them. `write` gets the text,
// prompt included, as it comes; `socket_bytes` counts the bytes of the connection so far.
Result<Generation> Generate(Decoder& decoder, const Model& model,
                            std::span<const int32_t> prompt_ids, const GenerationOptions& options,
                            const std::function<void(std::string_view)>& write,
                            const std::function<uint64_t()>& socket_bytes);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_GENERATION_H_
