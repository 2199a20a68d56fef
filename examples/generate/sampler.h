// Chooses the next token from logits.
#ifndef WEBNND_EXAMPLES_GENERATE_SAMPLER_H_
#define WEBNND_EXAMPLES_GENERATE_SAMPLER_H_

#include <cstdint>
#include <span>

#include "base/result.h"

namespace webnnd::generate {

class Sampler {
 public:
  // Temperature 0 is greedy. The same seed gives the same choices on every machine.
  Sampler(double temperature, uint64_t seed) : temperature_(temperature), state_(seed) {}

  // Greedy: the index of the largest logit, the lowest among equals. Else an index drawn with
  // probability softmax(logits / temperature). Internal error when a logit is NaN or all are
  // -infinity: nothing sensible can follow.
  Result<int32_t> Next(std::span<const float> logits);

 private:
  // Uniform in [0, 1).
  double NextUniform();

  double temperature_;
  uint64_t state_;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_SAMPLER_H_
