// What a model says, in double precision, straight from its definition: one token at a time, no
// code in common with the graph.
#ifndef WEBNND_TOOLS_MODELS_REFERENCE_DECODER_H_
#define WEBNND_TOOLS_MODELS_REFERENCE_DECODER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "examples/generate/model.h"

namespace webnnd::models {

enum class ReferenceFormat {
  kExact,  // The weights of the file.
  kQ4,     // As webnn-generate --quantize q4 keeps them.
};

class ReferenceDecoder {
 public:
  // Reads all weights.
  static Result<ReferenceDecoder> Create(const generate::Model& model, ReferenceFormat format);
  ReferenceDecoder(ReferenceDecoder&&);
  ~ReferenceDecoder();

  // Feeds one token; the logits of the next.
  std::vector<double> Feed(int32_t id);

 private:
  struct State;
  explicit ReferenceDecoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct GreedyStep {
  int32_t id = 0;
  double gap = 0;  // Between its logit and the second largest.
  std::vector<double> logits;
};

// `count` tokens after the prompt, which is not empty.
std::vector<GreedyStep> GenerateGreedily(ReferenceDecoder& decoder,
                                         std::span<const int32_t> prompt_ids, uint32_t count);

}  // namespace webnnd::models

#endif  // WEBNND_TOOLS_MODELS_REFERENCE_DECODER_H_
