#include "examples/generate/decoder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "examples/generate/llama_graph.h"

namespace webnnd::generate {
namespace {

using webnn::OperandDataType;

constexpr uint32_t kBulkRows = 64;

}  // namespace

std::vector<PrefillChunk> PlanPrefill(uint32_t tokens) {
  std::vector<PrefillChunk> chunks;
  while (tokens > 0) {
    PrefillChunk chunk = {1, 1};
    if (tokens >= kBulkRows) {
      chunk = {kBulkRows, kBulkRows};
    } else if (tokens > 1) {
      chunk = {kPaddingRows, std::min(tokens, kPaddingRows)};
    }
    chunks.push_back(chunk);
    tokens -= chunk.tokens;
  }
  return chunks;
}

Decoder::Decoder(webnn::ML& ml, std::shared_ptr<webnn::Context> context, const Model& model,
                 const DecoderOptions& options)
    : ml_(ml),
      context_(std::move(context)),
      config_(model.config),
      host_cache_(options.host_cache),
      prompt_tokens_(options.prompt_tokens),
      // Room for the padding of the prompt's last chunk.
      capacity_(AlignUp(options.positions_max, kPaddingRows)) {}

Result<std::unique_ptr<Decoder>> Decoder::Create(webnn::ML& ml,
                                                 std::shared_ptr<webnn::Context> context,
                                                 const Model& model, const DecoderOptions& options,
                                                 const LoadProgress& progress) {
  CHECK(options.prompt_tokens > 0 && options.prompt_tokens <= options.positions_max);
  std::unique_ptr<Decoder> decoder(new Decoder(ml, context, model, options));
  ASSIGN_OR_RETURN(DeviceWeights weights,
                   UploadWeights(ml, *context, model, decoder->capacity_, progress));
  TRY(decoder->AllocateCaches());
  TRY(decoder->AddStage(weights, 1));
  for (const PrefillChunk& chunk : PlanPrefill(options.prompt_tokens)) {
    if (!decoder->stages_.contains(chunk.rows)) TRY(decoder->AddStage(weights, chunk.rows));
  }
  return decoder;
}

Result<TensorPtr> Decoder::CreateTensor(OperandDataType type, const webnn::Shape& shape,
                                        bool readable, bool writable) {
  return ml_.Wait(context_->CreateTensor(
      {.data_type = type, .shape = shape, .readable = readable, .writable = writable}));
}

Status Decoder::AllocateCaches() {
  const webnn::Shape shape = {config_.key_value_head_count, capacity_, config_.head_dim};
  for (std::vector<TensorPtr>& set : caches_) {
    for (uint32_t i = 0; i < 2 * config_.layer_count; ++i) {
      ASSIGN_OR_RETURN(auto cache,
                       CreateTensor(OperandDataType::kFloat32, shape, host_cache_, host_cache_));
      set.push_back(std::move(cache));
    }
  }
  if (host_cache_) {
    host_caches_.assign(caches_[0].size(),
                        std::vector<std::byte>(caches_[0][0]->descriptor().byte_length()));
  }
  ASSIGN_OR_RETURN(position_tensor_, CreateTensor(OperandDataType::kInt32, {1}, false, true));
  ASSIGN_OR_RETURN(logits_tensor_, CreateTensor(OperandDataType::kFloat32,
                                                {1, config_.vocabulary_size}, true, false));
  logits_.resize(config_.vocabulary_size);
  return {};
}

Status Decoder::AddStage(const DeviceWeights& weights, uint32_t rows) {
  Stage stage;
  ASSIGN_OR_RETURN(stage.graph,
                   BuildLlamaGraph(ml_, context_, config_, weights, {rows, capacity_}));
  ASSIGN_OR_RETURN(stage.ids, CreateTensor(OperandDataType::kInt32, {rows}, false, true));
  if (rows > 1) {
    ASSIGN_OR_RETURN(stage.last_row, CreateTensor(OperandDataType::kInt32, {1}, false, true));
  }
  for (uint32_t past : {0u, 1u}) {
    webnn::NamedTensors& inputs = stage.inputs[past];
    webnn::NamedTensors& outputs = stage.outputs[past];
    inputs.emplace(kIdsInput, stage.ids);
    inputs.emplace(kPositionInput, position_tensor_);
    if (stage.last_row) inputs.emplace(kLastRowInput, stage.last_row);
    outputs.emplace(kLogitsOutput, logits_tensor_);
    for (uint32_t layer = 0; layer < config_.layer_count; ++layer) {
      uint32_t value = config_.layer_count + layer;
      inputs.emplace(PastKeyName(layer), caches_[past][layer]);
      inputs.emplace(PastValueName(layer), caches_[past][value]);
      outputs.emplace(PresentKeyName(layer), caches_[1 - past][layer]);
      outputs.emplace(PresentValueName(layer), caches_[1 - past][value]);
    }
  }
  stages_.emplace(rows, std::move(stage));
  return {};
}

uint32_t Decoder::kernels_per_step() const { return stages_.at(1).graph->kernel_count(); }

Status Decoder::SendCaches() {
  for (size_t i = 0; i < host_caches_.size(); ++i) {
    TRY(context_->WriteTensor(*caches_[past_][i], host_caches_[i]));
  }
  return {};
}

Status Decoder::FetchCaches() {
  std::vector<webnn::Future<void>> reads;
  for (size_t i = 0; i < host_caches_.size(); ++i) {
    reads.push_back(context_->ReadTensor(*caches_[past_][i], std::span(host_caches_[i])));
  }
  // All are waited for even when one fails: the reads write into our buffers.
  Status first_failure;
  for (webnn::Future<void>& read : reads) {
    Status status = ml_.Wait(read);
    if (first_failure.ok()) first_failure = std::move(status);
  }
  return first_failure;
}

Status Decoder::Run(Stage& stage, std::span<const int32_t> ids, uint32_t rows) {
  CHECK(!ids.empty() && ids.size() <= rows);
  INVALID_IF(rows > capacity_ - position_, "the caches are full (position {} of {})", position_,
             capacity_);
  std::vector<int32_t> padded(ids.begin(), ids.end());
  padded.resize(rows, 0);
  int32_t position = NarrowCast<int32_t>(position_);
  int32_t last_row = NarrowCast<int32_t>(ids.size()) - 1;
  if (host_cache_) TRY(SendCaches());
  TRY(context_->WriteTensor(*stage.ids, std::as_bytes(std::span(padded))));
  TRY(context_->WriteTensor(*position_tensor_, std::as_bytes(std::span(&position, 1))));
  if (stage.last_row) {
    TRY(context_->WriteTensor(*stage.last_row, std::as_bytes(std::span(&last_row, 1))));
  }
  TRY(context_->Dispatch(*stage.graph, stage.inputs[past_], stage.outputs[past_]));
  past_ = 1 - past_;
  position_ += static_cast<uint32_t>(ids.size());
  if (host_cache_) TRY(FetchCaches());
  return {};
}

Result<std::span<const float>> Decoder::ReadLogits() {
  TRY(ml_.Wait(context_->ReadTensor(*logits_tensor_, std::as_writable_bytes(std::span(logits_)))));
  return std::span<const float>(logits_);
}

Result<std::span<const float>> Decoder::Prefill(std::span<const int32_t> ids) {
  CHECK(!ids.empty());
  // A longer prompt would need graphs that have not been built.
  CHECK(ids.size() == prompt_tokens_ && position_ == 0);
  for (const PrefillChunk& chunk : PlanPrefill(static_cast<uint32_t>(ids.size()))) {
    TRY(Run(stages_.at(chunk.rows), ids.first(chunk.tokens), chunk.rows));
    ids = ids.subspan(chunk.tokens);
  }
  return ReadLogits();
}

Result<std::span<const float>> Decoder::Step(int32_t id) {
  TRY(Run(stages_.at(1), std::span(&id, 1), 1));
  return ReadLogits();
}

}  // namespace webnnd::generate
