#include "examples/generate/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "examples/generate/llama_graph.h"

namespace webnnd::generate {
namespace {

using webnn::Dimension;
using webnn::DynamicDimension;
using webnn::OperandDataType;
using webnn::Sizes;

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
                                                         .part_limits = options.part_limits},
                                                        progress));
  TRY(decoder->AllocateTensors());
  TRY(decoder->MakeStages(weights));
  return decoder;
}

Result<TensorPtr> Decoder::CreateTensor(OperandDataType type, const Sizes& shape, bool readable,
                                        bool writable) {
  return ml_.Wait(context_->CreateTensor(
      {.data_type = type, .shape = shape, .readable = readable, .writable = writable}));
}

Result<std::vector<TensorPtr>> Decoder::CreateCaches() {
  const uint32_t heads = config_.key_value_head_count;
  const Dimension rows =
      options_.growing ? Dimension(DynamicDimension{"rows", capacity_, 0}) : Dimension(capacity_);
  const Sizes shape(std::vector<Dimension>{heads, rows, config_.head_dim});
  std::vector<TensorPtr> caches;
  while (caches.size() < 2 * config_.layer_count) {
    ASSIGN_OR_RETURN(auto cache, CreateTensor(OperandDataType::kFloat32, shape, options_.host_cache,
                                              options_.host_cache));
    if (options_.growing) TRY(cache->Resize({heads, 0, config_.head_dim}));
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
    const uint64_t bytes = options_.growing ? 0 : caches_[0][0]->descriptor().byte_length();
    host_caches_.assign(caches_[0].size(), std::vector<std::byte>(bytes));
  }
  if (!options_.growing) {
    ASSIGN_OR_RETURN(position_tensor_, CreateTensor(OperandDataType::kInt32, {1}, false, true));
  }
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

Status Decoder::MakeStages(const DeviceWeights& weights) {
  const uint32_t rows = prefill_plan_.rows;
  // Any prompt will do where sizes are dynamic.
  const uint32_t rows_max = options_.growing ? std::min(kPrefillRowsMax, capacity_) : rows;
  ASSIGN_OR_RETURN(auto prefill, BuildGraph(weights, rows_max, /*is_prefill=*/true));
  auto step = prefill;
  if (!options_.growing) {
    ASSIGN_OR_RETURN(step, BuildGraph(weights, 1, /*is_prefill=*/false));
  }
  ASSIGN_OR_RETURN(prefill_, MakeStage(std::move(prefill), rows, /*is_prefill=*/true));
  ASSIGN_OR_RETURN(step_, MakeStage(std::move(step), 1, /*is_prefill=*/false));
  return {};
}

Result<std::shared_ptr<webnn::Graph>> Decoder::BuildGraph(const DeviceWeights& weights,
                                                          uint32_t rows, bool is_prefill) {
  GraphSpec spec{.rows = rows,
                 .capacity = capacity_,
                 .growing = options_.growing,
                 .logits = !options_.greedy,
                 .next_id = options_.greedy};
  if (options_.greedy && is_prefill) spec.first_logits = options_.first_logits;
  return BuildLlamaGraph(ml_, context_, config_, weights, spec);
}

Result<Decoder::Stage> Decoder::MakeStage(std::shared_ptr<webnn::Graph> graph, uint32_t rows,
                                          bool is_prefill) {
  Stage stage{.rows = rows, .graph = std::move(graph)};
  if (is_prefill) {
    const Dimension ids =
        options_.growing ? Dimension(DynamicDimension{"ids", rows, 1}) : Dimension(rows);
    ASSIGN_OR_RETURN(stage.ids, CreateTensor(OperandDataType::kInt32,
                                             Sizes(std::vector<Dimension>{ids}), false, true));
  }
  if (rows > 1 && !options_.growing) {
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
    if (position_tensor_) inputs.emplace(kPositionInput, position_tensor_);
    if (stage.last_row) inputs.emplace(kLastRowInput, stage.last_row);
    if (options_.greedy) outputs.emplace(kNextIdOutput, tokens_[1 - from]);
    // The one graph of growing caches says them at each step.
    if (first_logits_tensor_ && (stage.ids || options_.growing)) {
      outputs.emplace(kFirstLogitsOutput, first_logits_tensor_);
    }
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
    if (options_.growing) {
      const uint64_t row_bytes = sizeof(float) * config_.head_dim * config_.key_value_head_count;
      host_caches_[i].resize(position_ * row_bytes);
    }
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
  const uint32_t written = options_.growing ? tokens : stage.rows;
  INVALID_IF(written > capacity_ - position_, "the caches are full (position {} of {})", position_,
             capacity_);
  int32_t position = NarrowCast<int32_t>(position_);
  int32_t last_row = NarrowCast<int32_t>(tokens) - 1;
  if (options_.host_cache) TRY(SendCaches());
  if (position_tensor_) TRY(WriteIntegers(*position_tensor_, std::span(&position, 1)));
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
    if (options_.growing) {
      TRY(prefill_.ids->Resize({static_cast<uint32_t>(tokens)}));
    } else {
      padded.resize(prefill_.rows, 0);
    }
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
