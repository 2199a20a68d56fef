#include "examples/generate/generation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <utility>

namespace webnnd::generate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFirstLogitCount = 32;

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
  TextStream stream(model.tokenizer.get());
  auto emit = [&](const std::string& text) {
    if (text.empty()) return;
    out.text += text;
    write(text);
  };
  for (int32_t id : prompt_ids) emit(stream.Push(id));

  Sampler sampler(options.temperature, options.seed);
  Clock::time_point start = Clock::now();
  ASSIGN_OR_RETURN(auto logits, decoder.Prefill(prompt_ids));
  out.first_logits.assign(logits.begin(),
                          logits.begin() + std::min(logits.size(), kFirstLogitCount));
  ASSIGN_OR_RETURN(int32_t id, sampler.Next(logits));
  out.first_token_ms = MillisecondsSince(start);
  out.stop_reason = room < options.new_tokens ? StopReason::kSequenceLimit : StopReason::kTokens;

  uint64_t bytes_before = socket_bytes();
  while (true) {
    out.generated_ids.push_back(id);
    emit(stream.Push(id));
    if (!options.ignore_eos && model.config.IsEos(id)) {
      out.stop_reason = StopReason::kEndOfText;
      break;
    }
    if (out.generated_ids.size() == room) break;
    start = Clock::now();
    ASSIGN_OR_RETURN(logits, decoder.Step(id));
    ASSIGN_OR_RETURN(id, sampler.Next(logits));
    out.step_ms.push_back(MillisecondsSince(start));
  }
  out.step_socket_bytes = socket_bytes() - bytes_before;
  emit(stream.Flush());
  return out;
}

}  // namespace webnnd::generate
