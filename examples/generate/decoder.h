// Runs a decoder on the device: tokens in, tokens or logits out, the key/value caches in between.
#ifndef WEBNND_EXAMPLES_GENERATE_DECODER_H_
#define WEBNND_EXAMPLES_GENERATE_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "client/webnn.h"
#include "examples/generate/device_weights.h"
#include "examples/generate/model.h"

namespace webnnd::generate {

// A prompt in dispatches of one size, so that one graph serves them all. Only the last is padded.
struct PrefillPlan {
  uint32_t dispatches = 0;
  uint32_t rows = 0;  // Of each.

  friend bool operator==(const PrefillPlan&, const PrefillPlan&) = default;
};

// Enough rows to make the reading of weights cheap; more would only take memory.
inline constexpr uint32_t kPrefillRowsMax = 256;
// `tokens` is not 0.
PrefillPlan PlanPrefill(uint32_t tokens);

struct DecoderOptions {
  uint32_t prompt_tokens = 0;  // The graphs are built for a prompt of this length.
  uint32_t positions_max = 0;  // Tokens that will be fed in all.
  WeightFormat weights = WeightFormat::kFloat32;
  PartLimits part_limits;
  // The device chooses the likeliest token and feeds it to itself; else it gives logits.
  bool greedy = true;
  // Greedy: how many of the logits after the prompt can be read.
  uint32_t first_logits = 0;
  // One set of caches, which bindings name as past and as present; else two sets, which swap at
  // each dispatch.
  bool alias = true;
  // Keep the caches in this process and send them at every step; not with `alias`.
  bool host_cache = false;
  // Caches grow by the rows of each dispatch, and one graph serves prompts of any length and steps;
  // else they have a fixed size, and there is a graph for the prompt and one for a step.
  bool growing = false;
};

class Decoder {
 public:
  // Uploads the weights, allocates the caches and builds the graphs, so that nothing is compiled
  // later.
  static Result<std::unique_ptr<Decoder>> Create(webnn::ML& ml,
                                                 std::shared_ptr<webnn::Context> context,
                                                 const Model& model, const DecoderOptions& options,
                                                 const LoadProgress& progress);

  // Feeds the prompt; the first call of all.
  Status Prefill(std::span<const int32_t> ids);

  // Greedy. Feeds the token chosen last, whether or not it has been taken, and chooses another.
  // A Validation error when the caches are full.
  Status Advance();
  // Greedy. The oldest chosen token that has not been taken; waits for it.
  Result<int32_t> TakeToken();
  // Greedy. DecoderOptions::first_logits of them.
  Result<std::vector<float>> ReadFirstLogits();

  // Not greedy. Feeds one token. A Validation error when the caches are full.
  Status Feed(int32_t id);
  // Not greedy. The logits after what was fed last; valid until the next call.
  Result<std::span<const float>> ReadLogits();

  uint32_t position() const { return position_; }
  uint32_t capacity() const { return capacity_; }
  // Kernel calls that one step takes.
  uint32_t kernels_per_step() const { return step_.graph->kernel_count(); }

 private:
  // A graph with its tensors, by which of the two sets is read: what one dispatch writes, the next
  // one reads.
  struct Stage {
    uint32_t rows = 0;
    std::shared_ptr<webnn::Graph> graph;
    TensorPtr ids;       // nullptr where the tokens that circulate are the input.
    TensorPtr last_row;  // nullptr for one row, and where caches grow.
    std::array<webnn::NamedTensors, 2> inputs;
    std::array<webnn::NamedTensors, 2> outputs;
    std::array<std::shared_ptr<webnn::Binding>, 2> bindings;  // Only with `alias`.
  };

  Decoder(webnn::ML& ml, std::shared_ptr<webnn::Context> context, const Model& model,
          const DecoderOptions& options);
  Result<std::vector<TensorPtr>> CreateCaches();
  Status AllocateTensors();
  Status MakeStages(const DeviceWeights& weights);
  Result<std::shared_ptr<webnn::Graph>> BuildGraph(const DeviceWeights& weights, uint32_t rows,
                                                   bool is_prefill);
  Result<Stage> MakeStage(std::shared_ptr<webnn::Graph> graph, uint32_t rows, bool is_prefill);
  void AddTensors(Stage& stage) const;
  Status Dispatch(Stage& stage);
  Result<TensorPtr> CreateTensor(webnn::OperandDataType type, const webnn::Sizes& shape,
                                 bool readable, bool writable);
  Status WriteIntegers(webnn::Tensor& tensor, std::span<const int32_t> values);
  // Dispatches the stage at the current position, for `tokens` tokens that its ids hold.
  Status Run(Stage& stage, uint32_t tokens);
  Status SendCaches();
  Status FetchCaches();

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  const ModelConfig config_;
  const DecoderOptions options_;
  const PrefillPlan prefill_plan_;
  const uint32_t capacity_;
  uint32_t position_ = 0;
  uint32_t read_set_ = 0;  // Of tokens and caches; the other one is written.
  std::array<TensorPtr, 2> tokens_;
  // One tensor per layer and kind: keys of all layers, then values. With `alias` the two sets are
  // the same tensors.
  std::array<std::vector<TensorPtr>, 2> caches_;
  std::vector<std::vector<std::byte>> host_caches_;
  TensorPtr position_tensor_;      // nullptr where caches grow.
  TensorPtr logits_tensor_;        // Not greedy.
  TensorPtr first_logits_tensor_;  // Greedy, where there are any.
  Stage prefill_;
  Stage step_;
  std::deque<webnn::Future<std::vector<std::byte>>> chosen_;  // Greedy: not taken yet.
  std::vector<float> logits_;
};

}  // namespace webnnd::generate

#endif  // WEBNND_EXAMPLES_GENERATE_DECODER_H_
