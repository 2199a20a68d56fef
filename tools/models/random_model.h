// Checkpoints with reproducible random weights, in the Hugging Face layout: for speed and memory at
// real size, and for tests of what no small public model has.
#ifndef WEBNND_TOOLS_MODELS_RANDOM_MODEL_H_
#define WEBNND_TOOLS_MODELS_RANDOM_MODEL_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "examples/generate/config.h"
#include "examples/generate/weights.h"

namespace webnnd::models {

struct RandomModel {
  // Llama, or Qwen2 where it has projection_biases.
  generate::ModelConfig config;
  generate::StoredType type = generate::StoredType::kFloat16;
  uint64_t seed = 20261120;
};

// SmolLM-135M: 30 layers, 576 wide, 9 heads over 3, vocabulary 49152, tied.
generate::ModelConfig SmolLmShape();
// Qwen2-0.5B: 24 layers, 896 wide, 14 heads over 2, vocabulary 151936, tied, biases.
generate::ModelConfig Qwen2Shape();

// Writes config.json and model.safetensors into the folder, which exists. Weights come from a hash
// of their tensor's name, their index and the seed, scaled so that activations stay of order 1;
// nothing larger than a megabyte is held. Internal error when a file cannot be written.
Status WriteRandomModel(const std::string& folder, const RandomModel& model);

// IEEE 754 binary64 to binary16, to nearest even.
uint16_t DoubleToHalf(double value);

}  // namespace webnnd::models

#endif  // WEBNND_TOOLS_MODELS_RANDOM_MODEL_H_
