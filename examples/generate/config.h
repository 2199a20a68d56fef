// The shape of a Llama or Qwen2 model: config.json of a Hugging Face folder, or a llama2.c header.
#ifndef WEBNND_EXAMPLES_GENERATE_CONFIG_H_
#define WEBNND_EXAMPLES_GENERATE_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace webnnd::generate {

struct ModelConfig {
  uint32_t vocabulary_size = 0;
  uint32_t hidden_size = 0;
  uint32_t intermediate_size = 0;
  uint32_t layer_count = 0;
  uint32_t head_count = 0;            // Query heads.
  uint32_t key_value_head_count = 0;  // A divisor of head_count.
  uint32_t head_dim = 0;
  uint32_t positions_max = 0;  // The longest sequence, prompt and new tokens together.
  float norm_epsilon = 0;
  double rope_theta = 0;
  bool tied_embeddings = false;
  bool projection_biases = false;  // Query, key and value have them (Qwen2).
  // Put in front of a prompt; absent where the model has none.
  std::optional<int32_t> bos_id;
  // Any of them ends the text.
  std::vector<int32_t> eos_ids;

  uint32_t query_width() const { return head_count * head_dim; }
  uint32_t key_width() const { return key_value_head_count * head_dim; }
  bool IsEos(int32_t id) const;
};

// Checks that every number is within its bound and that the heads divide. Both loaders end with it.
Status ValidateConfig(const ModelConfig& config);

// From the text of config.json. Validation error where a member is missing or out of bounds,
// NotSupported for what this program does not compute: architectures other than Llama and Qwen2,
// other activations, scaled RoPE, sliding windows, biases beside those of Qwen2.
Result<ModelConfig> ParseConfig(std::string_view json_text);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_CONFIG_H_
