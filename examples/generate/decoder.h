// Runs a Llama decoder on the device: tokens in, logits out, the key/value caches in between.
#ifndef WEBNND_EXAMPLES_GENERATE_DECODER_H_
#define WEBNND_EXAMPLES_GENERATE_DECODER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "client/webnn.h"
#include "examples/generate/device_weights.h"
#include "examples/generate/model.h"

namespace webnnd::generate {

// Tokens that one dispatch of a graph of `rows` rows takes; rows > tokens is padded.
struct PrefillChunk {
  uint32_t rows;
  uint32_t tokens;

  friend bool operator==(const PrefillChunk&, const PrefillChunk&) = default;
};

// Cuts a prompt into dispatches of a few fixed sizes, as shapes are static. Only the last is
// padded, to kPaddingRows at most.
inline constexpr uint32_t kPaddingRows = 16;
std::vector<PrefillChunk> PlanPrefill(uint32_t tokens);

struct DecoderOptions {
  uint32_t prompt_tokens = 0;  // Graphs are built for a prompt of this length.
  uint32_t positions_max = 0;  // Tokens that will be fed in all.
  bool host_cache = false;     // Keep the caches in this process and send them at every step.
};

class Decoder {
 public:
  // Uploads the weights, allocates the caches and builds the graphs, so that nothing is compiled
  // later.
  static Result<std::unique_ptr<Decoder>> Create(webnn::ML& ml,
                                                 std::shared_ptr<webnn::Context> context,
                                                 const Model& model, const DecoderOptions& options,
                                                 const LoadProgress& progress);

  // Feeds a prompt, which is not empty. The logits after its last token; valid until the next call.
  Result<std::span<const float>> Prefill(std::span<const int32_t> ids);
  // Feeds one token. A Validation error when the caches are full.
  Result<std::span<const float>> Step(int32_t id);

  uint32_t position() const { return position_; }
  uint32_t capacity() const { return capacity_; }
  // Kernel calls that one Step takes.
  uint32_t kernels_per_step() const;

 private:
  // A graph for some number of rows with the tensors of its own inputs, and its bindings for both
  // roles of the caches: what one dispatch writes, the next one reads.
  struct Stage {
    std::shared_ptr<webnn::Graph> graph;
    TensorPtr ids;
    TensorPtr last_row;  // nullptr for one row.
    std::array<webnn::NamedTensors, 2> inputs;
    std::array<webnn::NamedTensors, 2> outputs;
  };

  Decoder(webnn::ML& ml, std::shared_ptr<webnn::Context> context, const Model& model,
          const DecoderOptions& options);
  Status AllocateCaches();
  Status AddStage(const DeviceWeights& weights, uint32_t rows);
  Result<TensorPtr> CreateTensor(webnn::OperandDataType type, const webnn::Shape& shape,
                                 bool readable, bool writable);
  // Dispatches `ids`, padded to the stage's rows, at the current position.
  Status Run(Stage& stage, std::span<const int32_t> ids, uint32_t rows);
  Result<std::span<const float>> ReadLogits();
  Status SendCaches();
  Status FetchCaches();

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  const ModelConfig config_;
  const bool host_cache_;
  const uint32_t prompt_tokens_;
  const uint32_t capacity_;
  uint32_t position_ = 0;
  uint32_t past_ = 0;  // Which of the two sets of caches is the past.
  // Two sets of one tensor per layer and kind: keys of all layers, then values.
  std::array<std::vector<TensorPtr>, 2> caches_;
  std::vector<std::vector<std::byte>> host_caches_;
  TensorPtr position_tensor_;
  TensorPtr logits_tensor_;
  std::map<uint32_t, Stage> stages_;  // By rows.
  std::vector<float> logits_;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_DECODER_H_
