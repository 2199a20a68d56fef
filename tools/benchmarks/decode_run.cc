#include "tools/benchmarks/decode_run.h"

#include <utility>

#include "tools/benchmarks/must.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

// Of a weight in blocks of 32: its code, and its share of a float32 scale and a four-bit zero
// point.
constexpr double kQ4BytesPerWeight = 0.5 + (4 + 0.5) / 32;

std::vector<int32_t> MakePrompt(uint32_t tokens, uint32_t vocabulary_size) {
  std::vector<int32_t> ids;
  for (uint32_t i = 0; i < tokens; ++i) {
    ids.push_back(static_cast<int32_t>((uint64_t{i} * i * 31 + 7) % vocabulary_size));
  }
  return ids;
}

}  // namespace

DecodeRun::DecodeRun(webnn::Connect connect, const generate::Model& model, const DecodeSetup& setup)
    : ml_(std::move(connect)),
      prompt_(MakePrompt(setup.prompt_tokens, model.config.vocabulary_size)) {
  context_ = Must(ml_.Wait(ml_.CreateContext(setup.context)));
  decoder_ = Must(generate::Decoder::Create(ml_, context_, model,
                                            {.prompt_tokens = setup.prompt_tokens,
                                             .positions_max = setup.positions_max,
                                             .weights = setup.weights,
                                             .part_limits = setup.part_limits,
                                             .alias = setup.alias,
                                             .host_cache = setup.host_cache},
                                            [](uint64_t, uint64_t) {}));
}

double DecodeRun::Prefill() {
  double begin = Now();
  Must(decoder_->Prefill(prompt_));
  Must(decoder_->TakeToken());
  return (Now() - begin) * 1e3;
}

std::vector<double> DecodeRun::Steps(int count, double seconds) {
  std::vector<double> milliseconds;
  uint64_t bytes_before = socket_bytes();
  double begin = Now(), last = begin;
  auto can_advance = [&] { return decoder_->position() < decoder_->capacity(); };
  if (!can_advance()) return milliseconds;
  Must(decoder_->Advance());
  bool waits = true;
  while (waits) {
    bool goes_on = static_cast<int>(milliseconds.size()) + 1 < count && last < begin + seconds &&
                   can_advance();
    if (goes_on) Must(decoder_->Advance());
    Must(decoder_->TakeToken());
    double now = Now();
    milliseconds.push_back((now - last) * 1e3);
    last = now;
    waits = goes_on;
  }
  step_bytes_ += socket_bytes() - bytes_before;
  steps_ += milliseconds.size();
  return milliseconds;
}

double DecodeRun::socket_bytes_per_step() const {
  return steps_ == 0 ? 0 : static_cast<double>(step_bytes_) / static_cast<double>(steps_);
}

double LayerMultiplyAdds(const generate::ModelConfig& config) {
  double hidden = config.hidden_size;
  double layer = hidden * (2.0 * config.query_width() + 2.0 * config.key_width()) +
                 3 * hidden * config.intermediate_size;
  return layer * config.layer_count;
}

double HeadMultiplyAdds(const generate::ModelConfig& config) {
  return double{1} * config.hidden_size * config.vocabulary_size;
}

double WeightBytesPerToken(const generate::ModelConfig& config, generate::WeightFormat format) {
  double matrices = LayerMultiplyAdds(config) + HeadMultiplyAdds(config);
  double vectors = config.hidden_size * (2.0 * config.layer_count + 1);
  if (config.projection_biases) {
    vectors += (config.query_width() + 2.0 * config.key_width()) * config.layer_count;
  }
  bool q4 = format == generate::WeightFormat::kQ4;
  return matrices * (q4 ? kQ4BytesPerWeight : sizeof(float)) + vectors * sizeof(float);
}

double CacheBytesPerPosition(const generate::ModelConfig& config) {
  return 2.0 * config.key_width() * sizeof(float) * config.layer_count;
}

}  // namespace webnnd::benchmarks
