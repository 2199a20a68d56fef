#include "examples/generate/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "examples/generate/llama_graph.h"

namespace webnnd::generate {
namespace {

using webnn::OperandDataType;

// Kernels like rows of a round length.
constexpr uint32_t kCapacityAlignment = 16;

uint32_t CapacityFor(uint32_t positions, const PrefillPlan& plan) {
  return AlignUp(std::max(positions, plan.dispatches * plan.rows), kCapacityAlignment);
}

}  // namespace

PrefillPlan PlanPrefill(uint32_t tokens) {
  CHECK(tokens > 0);
  uint32_t dispatches = (tokens - 1) / kPrefillRowsMax + 1;
  return {dispatches, (tokens - 1) / dispatches + 1};
}

Decoder::Decoder(webnn::ML& ml, std::shared_ptr<webnn::Context> context, const Model& model,
                 const DecoderOptions& options)
    : ml_(ml),
      context_(std::move(context)),
      config_(model.config),
      options_(options),
      prefill_plan_(PlanPrefill(options.prompt_tokens)),
      capacity_(CapacityFor(options.positions_max, prefill_plan_)) {}

Result<std::unique_ptr<Decoder>> Decoder::Create(webnn::ML& ml,
                                                 std::shared_ptr<webnn::Context> context,
                                                 const Model& model, const DecoderOptions& options,
                                                 const LoadProgress& progress) {
  CHECK(options.prompt_tokens > 0 && options.prompt_tokens <= options.positions_max);
  CHECK(!options.alias || !options.host_cache);
  std::unique_ptr<Decoder> decoder(new Decoder(ml, context, model, options));
  ASSIGN_OR_RETURN(DeviceWeights weights, UploadWeights(ml, *context, model,
                                                        {.format = options.weights,
                                                         .positions = decoder->capacity_,
                                                         .part_bytes_max = options.part_bytes_max},
                                                        progress));
  TRY(decoder->AllocateTensors());
  ASSIGN_OR_RETURN(decoder->prefill_,
                   decoder->MakeStage(weights, decoder->prefill_plan_.rows, /*is_prefill=*/true));
  ASSIGN_OR_RETURN(decoder->step_, decoder->MakeStage(weights, 1, /*is_prefill=*/false));
  return decoder;
}

Result<TensorPtr> Decoder::CreateTensor(OperandDataType type, const webnn::Shape& shape,
                                        bool readable, bool writable) {
  return ml_.Wait(context_->CreateTensor(
      {.data_type = type, .shape = shape, .readable = readable, .writable = writable}));
}

Result<std::vector<TensorPtr>> Decoder::CreateCaches() {
  const webnn::Shape shape = {config_.key_value_head_count, capacity_, config_.head_dim};
  std::vector<TensorPtr> caches;
  while (caches.size() < 2 * config_.layer_count) {
    ASSIGN_OR_RETURN(auto cache, CreateTensor(OperandDataType::kFloat32, shape, options_.host_cache,
                                              options_.host_cache));
    caches.push_back(std::move(cache));
  }
  return caches;
}

Status Decoder::AllocateTensors() {
  ASSIGN_OR_RETURN(caches_[0], CreateCaches());
  caches_[1] = caches_[0];
  if (!options_.alias) {
    ASSIGN_OR_RETURN(caches_[1], CreateCaches());
  }
  for (TensorPtr& token : tokens_) {
    ASSIGN_OR_RETURN(token, CreateTensor(OperandDataType::kInt32, {1}, true, true));
  }
  if (options_.host_cache) {
    host_caches_.assign(caches_[0].size(),
                        std::vector<std::byte>(caches_[0][0]->descriptor().byte_length()));
  }
  ASSIGN_OR_RETURN(position_tensor_, CreateTensor(OperandDataType::kInt32, {1}, false, true));
  if (!options_.greedy) {
    ASSIGN_OR_RETURN(logits_tensor_, CreateTensor(OperandDataType::kFloat32,
                                                  {1, config_.vocabulary_size}, true, false));
    logits_.resize(config_.vocabulary_size);
  } else if (options_.first_logits > 0) {
    ASSIGN_OR_RETURN(first_logits_tensor_, CreateTensor(OperandDataType::kFloat32,
                                                        {1, options_.first_logits}, true, false));
  }
  return {};
}

Result<Decoder::Stage> Decoder::MakeStage(const DeviceWeights& weights, uint32_t rows,
                                          bool is_prefill) {
  Stage stage{.rows = rows};
  GraphSpec spec{
      .rows = rows, .capacity = capacity_, .logits = !options_.greedy, .next_id = options_.greedy};
  if (options_.greedy && is_prefill) spec.first_logits = options_.first_logits;
  ASSIGN_OR_RETURN(stage.graph, BuildLlamaGraph(ml_, context_, config_, weights, spec));
  if (is_prefill) {
    ASSIGN_OR_RETURN(stage.ids, CreateTensor(OperandDataType::kInt32, {rows}, false, true));
  }
  if (rows > 1) {
    ASSIGN_OR_RETURN(stage.last_row, CreateTensor(OperandDataType::kInt32, {1}, false, true));
  }
  AddTensors(stage);
  if (!options_.alias) return stage;
  for (uint32_t from : {0u, 1u}) {
    ASSIGN_OR_RETURN(stage.bindings[from],
                     context_->Bind(*stage.graph, stage.inputs[from], stage.outputs[from]));
  }
  return stage;
}

void Decoder::AddTensors(Stage& stage) const {
  for (uint32_t from : {0u, 1u}) {
    webnn::NamedTensors& inputs = stage.inputs[from];
    webnn::NamedTensors& outputs = stage.outputs[from];
    inputs.emplace(kIdsInput, stage.ids ? stage.ids : tokens_[from]);
    inputs.emplace(kPositionInput, position_tensor_);
    if (stage.last_row) inputs.emplace(kLastRowInput, stage.last_row);
    if (options_.greedy) outputs.emplace(kNextIdOutput, tokens_[1 - from]);
    if (stage.ids && first_logits_tensor_)
      outputs.emplace(kFirstLogitsOutput, first_logits_tensor_);
    if (logits_tensor_) outputs.emplace(kLogitsOutput, logits_tensor_);
    for (uint32_t layer = 0; layer < config_.layer_count; ++layer) {
      uint32_t value = config_.layer_count + layer;
      inputs.emplace(PastKeyName(layer), caches_[from][layer]);
      inputs.emplace(PastValueName(layer), caches_[from][value]);
      outputs.emplace(PresentKeyName(layer), caches_[1 - from][layer]);
      outputs.emplace(PresentValueName(layer), caches_[1 - from][value]);
    }
  }
}

Status Decoder::SendCaches() {
  for (size_t i = 0; i < host_caches_.size(); ++i) {
    TRY(context_->WriteTensor(*caches_[read_set_][i], host_caches_[i]));
  }
  return {};
}

Status Decoder::FetchCaches() {
  std::vector<webnn::Future<void>> reads;
  for (size_t i = 0; i < host_caches_.size(); ++i) {
    reads.push_back(context_->ReadTensor(*caches_[read_set_][i], std::span(host_caches_[i])));
  }
  // All are waited for even when one fails: the reads write into our buffers.
  Status first_failure;
  for (webnn::Future<void>& read : reads) {
    Status status = ml_.Wait(read);
    if (first_failure.ok()) first_failure = std::move(status);
  }
  return first_failure;
}

Status Decoder::WriteIntegers(webnn::Tensor& tensor, std::span<const int32_t> values) {
  return context_->WriteTensor(tensor, std::as_bytes(values));
}

Status Decoder::Dispatch(Stage& stage) {
  if (options_.alias) return context_->Dispatch(*stage.bindings[read_set_]);
  return context_->Dispatch(*stage.graph, stage.inputs[read_set_], stage.outputs[read_set_]);
}

Status Decoder::Run(Stage& stage, uint32_t tokens) {
  CHECK(tokens > 0 && tokens <= stage.rows);
  INVALID_IF(stage.rows > capacity_ - position_, "the caches are full (position {} of {})",
             position_, capacity_);
  int32_t position = NarrowCast<int32_t>(position_);
  int32_t last_row = NarrowCast<int32_t>(tokens) - 1;
  if (options_.host_cache) TRY(SendCaches());
  TRY(WriteIntegers(*position_tensor_, std::span(&position, 1)));
  if (stage.last_row) TRY(WriteIntegers(*stage.last_row, std::span(&last_row, 1)));
  TRY(Dispatch(stage));
  read_set_ = 1 - read_set_;
  position_ += tokens;
  if (options_.host_cache) TRY(FetchCaches());
  return {};
}

Status Decoder::Prefill(std::span<const int32_t> ids) {
  // A longer prompt would need a graph that has not been built.
  CHECK(ids.size() == options_.prompt_tokens && position_ == 0);
  while (!ids.empty()) {
    size_t tokens = std::min<size_t>(ids.size(), prefill_.rows);
    std::vector<int32_t> padded(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(tokens));
    padded.resize(prefill_.rows, 0);
    TRY(WriteIntegers(*prefill_.ids, padded));
    TRY(Run(prefill_, static_cast<uint32_t>(tokens)));
    ids = ids.subspan(tokens);
  }
  if (options_.greedy) chosen_.push_back(context_->ReadTensor(*tokens_[read_set_]));
  return {};
}

Status Decoder::Advance() {
  CHECK(options_.greedy && position_ > 0);
  TRY(Run(step_, 1));
  chosen_.push_back(context_->ReadTensor(*tokens_[read_set_]));
  return {};
}

Result<int32_t> Decoder::TakeToken() {
  CHECK(!chosen_.empty());
  webnn::Future<std::vector<std::byte>> read = std::move(chosen_.front());
  chosen_.pop_front();
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ml_.Wait(read));
  int32_t id = -1;
  CHECK(bytes.size() == sizeof(id));
  std::memcpy(&id, bytes.data(), sizeof(id));
  // The service is not ours to trust: the id indexes tables of the tokenizer.
  if (id < 0 || static_cast<uint32_t>(id) >= config_.vocabulary_size) {
    return InternalError("the device chooses a token ({}) outside the vocabulary of {}", id,
                         config_.vocabulary_size);
  }
  return id;
}

Result<std::vector<float>> Decoder::ReadFirstLogits() {
  std::vector<float> logits(options_.first_logits);
  if (first_logits_tensor_ == nullptr) return logits;
  TRY(ml_.Wait(
      context_->ReadTensor(*first_logits_tensor_, std::as_writable_bytes(std::span(logits)))));
  return logits;
}

Status Decoder::Feed(int32_t id) {
  CHECK(!options_.greedy && position_ > 0);
  TRY(WriteIntegers(*tokens_[read_set_], std::span(&id, 1)));
  return Run(step_, 1);
}

Result<std::span<const float>> Decoder::ReadLogits() {
  CHECK(!options_.greedy);
  TRY(ml_.Wait(context_->ReadTensor(*logits_tensor_, std::as_writable_bytes(std::span(logits_)))));
  return std::span<const float>(logits_);
}

}  // namespace webnnd::generate
