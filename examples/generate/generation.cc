#include "examples/generate/generation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace webnnd::generate {
namespace {

using Clock = std::chrono::steady_clock;

// Where the tokens of a decoder come from that has been fed the prompt.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // The token after the prompt.
  virtual Result<int32_t> First() = 0;
  // Of the logits that it was chosen from. Called after First and before Next.
  virtual Result<std::vector<float>> FirstLogits() = 0;
  // The token after `id`, which came last.
  virtual Result<int32_t> Next(int32_t id) = 0;
};

// Reads the logits at each step and chooses here.
class HostSampling : public TokenSource {
 public:
  HostSampling(Decoder& decoder, const GenerationOptions& options)
      : decoder_(decoder), sampler_(options.temperature, options.seed) {}

  Result<int32_t> First() override {
    ASSIGN_OR_RETURN(auto logits, decoder_.ReadLogits());
    first_logits_.assign(logits.begin(),
                         logits.begin() + std::min<ptrdiff_t>(std::ssize(logits), kFirstLogitsMax));
    return sampler_.Next(logits);
  }
  Result<std::vector<float>> FirstLogits() override { return first_logits_; }
  Result<int32_t> Next(int32_t id) override {
    TRY(decoder_.Feed(id));
    ASSIGN_OR_RETURN(auto logits, decoder_.ReadLogits());
    return sampler_.Next(logits);
  }

 private:
  Decoder& decoder_;
  Sampler sampler_;
  std::vector<float> first_logits_;
};

// The device chooses, and its choice stays there to be fed: while a token travels to this process,
// the next one is being computed. A text that ends early wastes that one step.
class DeviceSampling : public TokenSource {
 public:
  // `tokens`: how many will be asked for, at most.
  DeviceSampling(Decoder& decoder, uint32_t tokens) : decoder_(decoder), to_choose_(tokens) {}

  Result<int32_t> First() override {
    --to_choose_;
    return decoder_.TakeToken();
  }
  Result<std::vector<float>> FirstLogits() override { return decoder_.ReadFirstLogits(); }
  Result<int32_t> Next(int32_t) override {
    for (; ahead_ < kStepsAhead + 1 && to_choose_ > 0; ++ahead_, --to_choose_) {
      TRY(decoder_.Advance());
    }
    --ahead_;
    return decoder_.TakeToken();
  }

 private:
  static constexpr uint32_t kStepsAhead = 1;

  Decoder& decoder_;
  uint32_t to_choose_;  // Steps that have not been begun.
  uint32_t ahead_ = 0;  // Steps begun whose tokens have not been taken.
};

std::unique_ptr<TokenSource> MakeTokenSource(Decoder& decoder, const GenerationOptions& options,
                                             uint32_t tokens) {
  if (options.temperature == 0) return std::make_unique<DeviceSampling>(decoder, tokens);
  return std::make_unique<HostSampling>(decoder, options);
}

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

std::string_view StopReasonName(StopReason reason) {
  constexpr std::array<std::string_view, 3> kNames = {"tokens", "end of text", "sequence limit"};
  return kNames[static_cast<size_t>(reason)];
}

std::string TextStream::Push(int32_t id) {
  if (tokenizer_ == nullptr) return "";
  return characters_.Push(tokenizer_->Decode(std::exchange(previous_, id), id));
}

double Generation::median_step_ms() const {
  if (step_ms.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted = step_ms;
  std::ranges::sort(sorted);
  size_t middle = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Generation::tokens_per_second() const {
  if (step_ms.empty()) return std::numeric_limits<double>::quiet_NaN();
  double total_ms = std::accumulate(step_ms.begin(), step_ms.end(), 0.0);
  return 1000 * static_cast<double>(step_ms.size()) / total_ms;
}

Result<uint32_t> RoomForTokens(const ModelConfig& config, std::span<const int32_t> prompt_ids,
                               uint32_t wanted_tokens) {
  INVALID_IF(prompt_ids.empty(), "the prompt has no tokens ({})", prompt_ids.size());
  for (int32_t id : prompt_ids) {
    INVALID_IF(id < 0 || static_cast<uint32_t>(id) >= config.vocabulary_size,
               "the prompt id ({}) is outside the vocabulary of {}", id, config.vocabulary_size);
  }
  INVALID_IF(prompt_ids.size() >= config.positions_max,
             "the prompt ({} tokens) leaves no room in the model's longest sequence of {}",
             prompt_ids.size(), config.positions_max);
  return std::min(wanted_tokens, config.positions_max - static_cast<uint32_t>(prompt_ids.size()));
}

Result<Generation> Generate(Decoder& decoder, const Model& model,
                            std::span<const int32_t> prompt_ids, const GenerationOptions& options,
                            const std::function<void(std::string_view)>& write,
                            const std::function<uint64_t()>& socket_bytes) {
  ASSIGN_OR_RETURN(uint32_t room, RoomForTokens(model.config, prompt_ids, options.new_tokens));
  Generation out;
  out.stop_reason = room < options.new_tokens ? StopReason::kSequenceLimit : StopReason::kTokens;
  TextStream stream(model.tokenizer.get());
  auto emit = [&](const std::string& text) {
    if (text.empty()) return;
    out.text += text;
    write(text);
  };
  for (int32_t id : prompt_ids) emit(stream.Push(id));

  std::unique_ptr<TokenSource> source = MakeTokenSource(decoder, options, room);
  Clock::time_point start = Clock::now();
  TRY(decoder.Prefill(prompt_ids));
  ASSIGN_OR_RETURN(int32_t id, source->First());
  out.first_token_ms = MillisecondsSince(start);
  ASSIGN_OR_RETURN(out.first_logits, source->FirstLogits());

  uint64_t bytes_before = socket_bytes();
  start = Clock::now();
  while (true) {
    out.generated_ids.push_back(id);
    emit(stream.Push(id));
    if (!options.ignore_eos && model.config.IsEos(id)) {
      out.stop_reason = StopReason::kEndOfText;
      break;
    }
    if (out.generated_ids.size() == room) break;
    ASSIGN_OR_RETURN(id, source->Next(id));
    Clock::time_point now = Clock::now();
    out.step_ms.push_back(std::chrono::duration<double, std::milli>(now - start).count());
    start = now;
  }
  out.step_socket_bytes = socket_bytes() - bytes_before;
  emit(stream.Flush());
  return out;
}

}  // namespace webnnd::generate
