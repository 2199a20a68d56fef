// webnn-generate: continues a text with a language model, through the WebNN client.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "client/webnn.h"
#include "examples/generate/decoder.h"
#include "examples/generate/generation.h"
#include "examples/generate/in_process.h"
#include "examples/generate/model.h"
#include "examples/generate/options.h"

namespace webnnd::generate {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// Shows how far the weights are: a line that is rewritten on a terminal, one line elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(std::string_view model) : model_(model), terminal_(isatty(STDERR_FILENO)) {}

  void Show(uint64_t done, uint64_t total) {
    if (!terminal_) {
      if (!shown_) fmt::print(stderr, "loading {} ({:.1f} M weights)\n", model_, total / 1e6);
      shown_ = true;
      return;
    }
    int percent = static_cast<int>(100 * done / total);
    if (percent == percent_) return;
    percent_ = percent;
    shown_ = true;
    fmt::print(stderr, "\rloading {}: {:3}% of {:.1f} M weights", model_, percent, total / 1e6);
    // The weights are there; compiling the graphs takes the rest of the wait.
    if (done == total) fmt::print(stderr, ", compiling");
  }
  // Leaves the terminal's line empty for the text.
  void Clear() {
    if (terminal_ && shown_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  std::string model_;
  bool terminal_;
  bool shown_ = false;
  int percent_ = -1;
};

struct Outcome {
  std::vector<int32_t> prompt_ids;
  Generation generation;
  uint32_t kernels_per_token = 0;
};

std::vector<int32_t> PromptIds(const Options& options, const Model& model) {
  if (options.prompt_ids) return *options.prompt_ids;
  std::vector<int32_t> ids;
  if (model.config.bos_id) ids.push_back(*model.config.bos_id);
  for (int32_t id : model.tokenizer->Encode(*options.prompt)) ids.push_back(id);
  return ids;
}

Result<webnn::Connect> ConnectTo(const Options& options, InProcess& in_process) {
  if (options.in_process) return in_process.Start();
  if (!options.socket.empty()) return webnn::Connect::ToSocket(options.socket);
  // A private daemon shares our terminal: its ordinary messages would stand in the text.
  setenv("WEBNND_LOG", "warning", /*overwrite=*/0);
  return webnn::Connect::Spawn();
}

PartLimits MakePartLimits(const Options& options) {
  PartLimits limits;
  // A list of macro-operators may lack the product with quantized weights.
  const bool fuses_all = options.fusion && options.fusions.empty();
  if (!fuses_all) limits.float_bytes_max = kBindableBytes;
  return limits;
}

Result<Outcome> Run(const Options& options, InProcess& in_process) {
  TokenizerNeed need = options.prompt ? TokenizerNeed::kRequired : TokenizerNeed::kIfPresent;
  ASSIGN_OR_RETURN(Model model, OpenModel(options.model, need));
  Outcome outcome;
  outcome.prompt_ids = PromptIds(options, model);
  ASSIGN_OR_RETURN(uint32_t room, RoomForTokens(model.config, outcome.prompt_ids, options.tokens));

  ASSIGN_OR_RETURN(webnn::Connect connect, ConnectTo(options, in_process));
  webnn::ML ml(std::move(connect));
  ASSIGN_OR_RETURN(auto context, ml.Wait(ml.CreateContext({.fusion = options.fusion,
                                                           .binding_cache = options.binding_cache,
                                                           .fusions = options.fusions})));
  uint32_t prompt_tokens = static_cast<uint32_t>(outcome.prompt_ids.size());
  WeightFormat weights = options.quantize ? WeightFormat::kQ4 : WeightFormat::kFloat32;
  uint32_t first_logits = std::min(kFirstLogitsMax, model.config.vocabulary_size);
  ProgressLine progress(options.model);
  ASSIGN_OR_RETURN(
      auto decoder,
      Decoder::Create(ml, context, model,
                      {.prompt_tokens = prompt_tokens,
                       // The last token is not fed.
                       .positions_max = prompt_tokens + room - 1,
                       .weights = weights,
                       .part_limits = MakePartLimits(options),
                       .greedy = options.temperature == 0,
                       .first_logits = options.json ? first_logits : 0,
                       .alias = options.alias && options.binding_cache && !options.host_cache,
                       .host_cache = options.host_cache,
                       .growing = options.growing},
                      [&](uint64_t done, uint64_t total) { progress.Show(done, total); }));
  progress.Clear();

  auto write = [&](std::string_view text) {
    if (options.json) return;
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
  };
  ASSIGN_OR_RETURN(
      outcome.generation,
      Generate(*decoder, model, outcome.prompt_ids,
               {.new_tokens = options.tokens,
                .ignore_eos = options.ignore_eos,
                .temperature = options.temperature,
                .seed = options.seed},
               write, [&] { return context->bytes_sent() + context->bytes_received(); }));
  outcome.kernels_per_token = decoder->kernels_per_step();
  return outcome;
}

// JSON has no NaN: what was not measured is null.
nlohmann::ordered_json NumberOrNull(double value) {
  if (std::isnan(value)) return nullptr;
  return value;
}

void PrintJson(const Outcome& outcome) {
  const Generation& generation = outcome.generation;
  size_t steps = generation.step_ms.size();
  double bytes = static_cast<double>(generation.step_socket_bytes) / static_cast<double>(steps);
  nlohmann::ordered_json json = {
      {"prompt_ids", outcome.prompt_ids},
      {"generated_ids", generation.generated_ids},
      {"first_logits", generation.first_logits},
      {"text", generation.text},
      {"stopped_by", StopReasonName(generation.stop_reason)},
      {"ttft_ms", generation.first_token_ms},
      {"decode_ms_per_token", NumberOrNull(generation.median_step_ms())},
      {"tokens_per_second", NumberOrNull(generation.tokens_per_second())},
      {"kernels_per_token", outcome.kernels_per_token},
      {"socket_bytes_per_token", NumberOrNull(bytes)},
  };
  fmt::print("{}\n", json.dump());
}

void PrintSummary(const Outcome& outcome) {
  const Generation& generation = outcome.generation;
  fmt::print("\n");
  fflush(stdout);
  fmt::print(stderr, "{} tokens, first after {:.1f} ms", generation.generated_ids.size(),
             generation.first_token_ms);
  if (!generation.step_ms.empty()) {
    fmt::print(stderr, ", then {:.1f} tokens/s", generation.tokens_per_second());
  }
  fmt::print(stderr, "\n");
}

int Main(std::span<const std::string_view> arguments) {
  InitLog("webnn-generate");
  auto options = ParseOptions(arguments);
  if (!options.ok()) {
    fmt::print(stderr, "webnn-generate: {}\n", options.error().ToString());
    return kExitUsage;
  }
  if (options->help) {
    fmt::print("{}", HelpText());
    return 0;
  }
  InProcess in_process;
  auto outcome = Run(*options, in_process);
  if (!outcome.ok()) {
    fmt::print(stderr, "webnn-generate: {}\n", outcome.error().ToString());
    return kExitFailure;
  }
  if (options->json) {
    PrintJson(*outcome);
  } else {
    PrintSummary(*outcome);
  }
  if (outcome->generation.stop_reason == StopReason::kSequenceLimit) {
    fmt::print(stderr,
               "webnn-generate: the model's longest sequence is reached after ({}) tokens\n",
               outcome->prompt_ids.size() + outcome->generation.generated_ids.size());
  }
  return 0;
}

}  // namespace
}  // namespace webnnd::generate

int main(int argc, char** argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  return webnnd::generate::Main(arguments);
}
