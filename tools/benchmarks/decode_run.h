// One decoder, measured: loading, prefill, and steps as often as one likes.
#ifndef WEBNND_TOOLS_BENCHMARKS_DECODE_RUN_H_
#define WEBNND_TOOLS_BENCHMARKS_DECODE_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/webnn.h"
#include "examples/generate/decoder.h"
#include "examples/generate/model.h"

namespace webnnd::benchmarks {

// What a run turns off or on, and for how long it is.
struct DecodeSetup {
  generate::WeightFormat weights = generate::WeightFormat::kFloat32;
  generate::PartLimits part_limits;
  bool alias = true;
  bool host_cache = false;
  webnn::ContextOptions context;
  uint32_t prompt_tokens = 8;
  uint32_t positions_max = 128;
};

class DecodeRun {
 public:
  // Connects, loads and builds; `model` outlives it.
  DecodeRun(webnn::Connect connect, const generate::Model& model, const DecodeSetup& setup);

  // Milliseconds from the prompt to the first token; the first call of all.
  double Prefill();
  // Milliseconds of each of at most `count` further tokens, as they come, until `seconds` are over
  // or the caches are full. As webnn-generate does it: one step ahead of the host.
  std::vector<double> Steps(int count, double seconds);

  uint32_t kernels_per_step() const { return decoder_->kernels_per_step(); }
  uint32_t capacity() const { return decoder_->capacity(); }
  // Bytes on the socket, both ways, for each token that Steps gave.
  double socket_bytes_per_step() const;
  const std::string& device_name() const { return context_->device_name(); }

 private:
  uint64_t socket_bytes() const { return context_->bytes_sent() + context_->bytes_received(); }

  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  std::unique_ptr<generate::Decoder> decoder_;
  std::vector<int32_t> prompt_;
  uint64_t step_bytes_ = 0;
  uint64_t steps_ = 0;
};

// Multiply-adds that one token takes, embedding and attention apart; the head counts once for each
// row whose logits are wanted.
double LayerMultiplyAdds(const generate::ModelConfig& config);
double HeadMultiplyAdds(const generate::ModelConfig& config);
// Bytes of weights that one token reads: all matrices but the embedding (which the head of a tied
// model is), gains and biases.
double WeightBytesPerToken(const generate::ModelConfig& config, generate::WeightFormat format);
// Bytes of keys and values of one position, in all layers.
double CacheBytesPerPosition(const generate::ModelConfig& config);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_DECODE_RUN_H_
