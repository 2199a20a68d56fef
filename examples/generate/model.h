// A model on disk: configuration, weights and tokenizer, whichever format they are in.
#ifndef WEBNND_EXAMPLES_GENERATE_MODEL_H_
#define WEBNND_EXAMPLES_GENERATE_MODEL_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "examples/generate/config.h"
#include "examples/generate/tokenizer.h"
#include "examples/generate/weights.h"

namespace webnnd::generate {

struct Model {
  ModelConfig config;
  ModelWeights weights;
  std::unique_ptr<Tokenizer> tokenizer;  // nullptr only where it was not required.
};

// A program that is given token ids can do without a tokenizer.
enum class TokenizerNeed : uint8_t { kRequired, kIfPresent };

// `path` is a folder of the Hugging Face layout (config.json, model.safetensors, tokenizer.json), a
// llama2.c checkpoint (*.bin with tok*.bin beside it), or a folder that holds one such checkpoint.
// The weights themselves are not read yet, but that they are all there, with the right shapes, is
// checked.
Result<Model> OpenModel(const std::string& path, TokenizerNeed need);

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_MODEL_H_
