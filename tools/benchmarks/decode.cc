#include "tools/benchmarks/decode.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/passes/fusion/fusion_choice.h"
#include "tools/benchmarks/binding_benchmark.h"
#include "tools/benchmarks/daemon.h"
#include "tools/benchmarks/decode_run.h"
#include "tools/benchmarks/graph_runner.h"
#include "tools/benchmarks/machine.h"
#include "tools/benchmarks/measured_service.h"
#include "tools/benchmarks/must.h"
#include "tools/benchmarks/statistics.h"
#include "tools/models/random_model.h"

namespace webnnd::benchmarks {
namespace {

namespace fs = std::filesystem;
using generate::Model;
using generate::ModelConfig;
using generate::WeightFormat;

// Of one rung in one round: enough for a median, and an end to what is slow.
constexpr int kStepsPerRound = 16;
constexpr double kSecondsPerRound = 2;
// Of the daemon and in process: a round takes a quarter of a second, in which one busy neighbour
// makes a difference.
constexpr int kPairsPerRound = 3;
// On the ladder, where each rung loads the model anew.
constexpr int kStepsPerRung = 4;
constexpr double kSecondsPerRung = 1;
constexpr uint32_t kPrefillTokens = 256;
// A prompt gives one number, which is off by a fifth at times: more of them than rounds.
constexpr int kPromptsPerRound = 3;
// Of which a single one is off by a fifth.
constexpr int kFirstTokensPerRound = 6;
constexpr uint32_t kShortContext = 10;
constexpr uint32_t kLongContext = 2000;
constexpr double kMiB = 1 << 20;

// A folder that disappears with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "webnnd-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) Must(Status(ErrnoError("mkdtemp")));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double Median(std::vector<double> samples) { return Summarize(std::move(samples)).median; }

struct Rung {
  std::string name;
  DecodeSetup setup;
};

// Each rung has what those before it have.
std::vector<Rung> MakeLadder(WeightFormat weights) {
  DecodeSetup setup{.weights = weights, .alias = false, .host_cache = true};
  setup.context.fusion = false;
  setup.context.binding_cache = false;
  // Kernels make all of the weights float32.
  setup.part_limits.float_bytes_max = generate::kBindableBytes;
  std::vector<Rung> rungs = {{"decomposed", setup}};
  setup.part_limits = {};
  // In the order of the public case study; then whatever else there is.
  struct Step {
    const char* name;
    std::vector<std::string> macros;
  };
  const Step kSteps[] = {{"+ quantised products (MatMulNBits)", {"blockMatmul"}},
                         {"+ attention (GroupQueryAttention)", {"attention", "keyValueWrite"}},
                         {"+ rotary embedding", {"rotaryEmbedding"}},
                         {"+ normalization", {"rmsNormalization"}}};
  const std::vector<std::string> known = service::FusionChoice::Names();
  setup.context.fusion = true;
  for (const Step& step : kSteps) {
    std::string& names = setup.context.fusions;
    size_t length_before = names.size();
    for (const std::string& macro : step.macros) {
      if (std::find(known.begin(), known.end(), macro) == known.end()) continue;
      names += (names.empty() ? "" : ",") + macro;
    }
    if (names.size() > length_before) rungs.push_back({step.name, setup});
  }
  setup.context.fusions.clear();
  rungs.push_back({"+ all other fusions", setup});
  setup.host_cache = false;
  rungs.push_back({"+ caches on the device", setup});
  setup.context.binding_cache = true;
  rungs.push_back({"+ cached bindings", setup});
  setup.alias = true;
  rungs.push_back({"+ caches updated in place", setup});
  return rungs;
}

DecodeSetup EverythingOn(WeightFormat weights) { return {.weights = weights}; }

const char* FormatName(WeightFormat format) {
  return format == WeightFormat::kQ4 ? "q4" : "float32";
}

// What `command`, a run of webnn-generate, says of its first token.
double FirstTokenMs(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  std::string text;
  char chunk[4096];
  while (output != nullptr && fgets(chunk, sizeof chunk, output.get()) != nullptr) text += chunk;
  const nlohmann::json run = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!run.is_object() || !run.contains("ttft_ms")) {
    Must(Status(InternalError("webnn-generate does not tell of its first token ({})", command)));
  }
  return run["ttft_ms"];
}

// The measures of one model; figures go to the report as they are complete.
class ModelBenchmark {
 public:
  ModelBenchmark(std::string name, const Model& model, int rounds, Report& report)
      : name_(std::move(name)), model_(model), rounds_(rounds), report_(report) {}

  // Milliseconds a token on each rung, and how much faster everything on is, in turns with it: that
  // one stays loaded, for loading and compiling take longer than all that is measured here.
  void Climb(WeightFormat weights) {
    MeasuredService service(/*in_process=*/false);
    std::vector<Rung> rungs = MakeLadder(weights);
    // It takes steps beside each of the others.
    DecodeSetup& top_setup = rungs.back().setup;
    top_setup.positions_max = std::min(
        top_setup.prompt_tokens + static_cast<uint32_t>(rungs.size()) * rounds_ * kStepsPerRung,
        model_.config.positions_max);
    Report::Progress(Label(weights, "the ladder: loading " + rungs.back().name));
    DecodeRun top(service.Connect(), model_, rungs.back().setup);
    top.Prefill();
    std::vector<double> of_top;
    for (const Rung& rung : rungs) {
      if (&rung == &rungs.back()) {
        AddRung(Label(weights, rung.name), top, of_top);
        continue;
      }
      Report::Progress(Label(weights, "the ladder: " + rung.name));
      DecodeRun run(service.Connect(), model_, rung.setup);
      run.Prefill();
      std::vector<double> figures, gain;
      for (int round = 0; round < rounds_; ++round) {
        const std::vector<double> steps = run.Steps(kStepsPerRung, kSecondsPerRung);
        const std::vector<double> top_steps = top.Steps(kStepsPerRung, kSecondsPerRung);
        if (steps.empty() || top_steps.empty()) break;  // The longest sequence.
        figures.push_back(Median(steps));
        of_top.push_back(Median(top_steps));
        gain.push_back(figures.back() / of_top.back());
      }
      if (figures.empty()) continue;
      AddRung(Label(weights, rung.name), run, figures);
      report_.Add("  " + rungs.back().name + " / this, tokens/s", "ratio", gain);
    }
  }

  // Through the daemon against in process, and against the memory of the machine.
  void Compare(WeightFormat weights) {
    MeasuredService daemon(/*in_process=*/false);
    MeasuredService host(/*in_process=*/true);
    DecodeSetup setup = EverythingOn(weights);
    const int pairs = rounds_ * kPairsPerRound;
    setup.positions_max = setup.prompt_tokens + (pairs + 1) * kStepsPerRound;
    Report::Progress(Label(weights, "through the daemon and in process"));
    DecodeRun through_daemon(daemon.Connect(), model_, setup);
    DecodeRun in_process(host.Connect(), model_, setup);
    report_.Add(Label(weights, "the first token, of a prompt of 8, through the daemon"), "ms",
                {through_daemon.Prefill()});
    report_.Add(Label(weights, "the same, in process"), "ms", {in_process.Prefill()});
    const double weight_bytes = WeightBytesPerToken(model_.config, weights);
    std::vector<double> figures[5];
    for (int pair = 0; pair < pairs; ++pair) {
      double bandwidth = machine_.StreamBandwidth();
      double with_daemon = Median(through_daemon.Steps(kStepsPerRound, kSecondsPerRound));
      double inside = Median(in_process.Steps(kStepsPerRound, kSecondsPerRound));
      figures[0].push_back(with_daemon);
      figures[1].push_back(inside);
      figures[2].push_back(inside / with_daemon);
      figures[3].push_back(bandwidth);
      figures[4].push_back(weight_bytes / with_daemon * 1e-6 / bandwidth);
    }
    report_.Add(Label(weights, "a token, through the daemon"), "ms", figures[0]);
    report_.Add(Label(weights, "a token, in process"), "ms", figures[1]);
    report_.Add(Label(weights, "tokens/s, daemon / in process"), "ratio", figures[2]);
    report_.Add("machine: stream bandwidth, reading", "GB/s", figures[3]);
    report_.Add(Label(weights, "bytes of weights a second / stream bandwidth"), "ratio",
                figures[4]);
    report_.Add(Label(weights, "kernels a token"), "count",
                {static_cast<double>(through_daemon.kernels_per_step())});
    report_.Add(Label(weights, "bytes on the socket a token"), "bytes",
                {through_daemon.socket_bytes_per_step()});
  }

  // What a long context costs beyond the keys and values that it reads.
  void CompareContexts(WeightFormat weights) {
    MeasuredService service(/*in_process=*/false);
    DecodeSetup setup = EverythingOn(weights);
    setup.positions_max =
        std::min(kLongContext + (rounds_ + 1) * kStepsPerRound, model_.config.positions_max);
    setup.prompt_tokens = kShortContext;
    Report::Progress(Label(weights, "10 and 2000 tokens of context"));
    DecodeRun brief(service.Connect(), model_, setup);
    setup.prompt_tokens = kLongContext;
    DecodeRun extended(service.Connect(), model_, setup);
    brief.Prefill();
    extended.Prefill();
    const double extra_bytes =
        (kLongContext - kShortContext) * CacheBytesPerPosition(model_.config);
    std::vector<double> figures[3];
    for (int round = 0; round < rounds_; ++round) {
      double bandwidth = machine_.StreamBandwidth();
      std::vector<double> short_steps = brief.Steps(kStepsPerRound / 4, kSecondsPerRound);
      std::vector<double> long_steps = extended.Steps(kStepsPerRound / 4, kSecondsPerRound);
      if (short_steps.empty() || long_steps.empty()) break;  // The model's longest sequence.
      figures[0].push_back(Median(short_steps));
      figures[1].push_back(Median(long_steps));
      double stream_ms = extra_bytes / bandwidth * 1e-6;
      figures[2].push_back((figures[1].back() - figures[0].back()) / stream_ms);
    }
    report_.Add(Label(weights, "a token at 10 tokens of context"), "ms", figures[0]);
    report_.Add(Label(weights, "a token at 2000 tokens of context"), "ms", figures[1]);
    report_.Add(Label(weights, "the difference / streaming the extra cache"), "ratio", figures[2]);
  }

  // What the daemon adds to a prompt of 256 tokens, as who runs webnn-generate on the model in
  // `folder` sees it: each side in processes of its own, which have run nothing before.
  void MeasureFirstToken(WeightFormat weights, const std::string& folder) {
    Report::Progress(Label(weights, "the first token after 256"));
    const std::string command =
        "WEBNND_KERNEL_CACHE= " + GenerateCommand(weights, folder, kPrefillTokens);
    std::vector<double> figures[3];
    for (int round = 0; round < rounds_ * kFirstTokensPerRound; ++round) {
      double milliseconds[2];
      // In turns one goes first.
      for (int i : {round % 2, 1 - round % 2}) {
        milliseconds[i] = FirstTokenMs(command + (i == 0 ? "" : " --in-process"));
      }
      figures[0].push_back(milliseconds[0]);
      figures[1].push_back(milliseconds[1]);
      figures[2].push_back(milliseconds[0] / milliseconds[1]);
    }
    report_.Add(Label(weights, "webnn-generate, 256 tokens to the first"), "ms", figures[0]);
    report_.Add(Label(weights, "the same, --in-process"), "ms", figures[1]);
    report_.Add(Label(weights, "the first token, daemon / in process"), "ratio", figures[2]);
  }

  // The rate of a prompt of 256 tokens.
  void MeasurePrefill(WeightFormat weights) {
    MeasuredService daemon(/*in_process=*/false);
    Report::Progress(Label(weights, "prompts of 256 tokens"));
    webnn::ML ml(daemon.Connect());
    auto context = Must(ml.Wait(ml.CreateContext()));
    GraphRunner product(ml, context, [](GraphSketch& sketch) {
      webnn::Operand a = sketch.Input(webnn::OperandDataType::kFloat32, {1024, 1024});
      webnn::Operand b = sketch.Input(webnn::OperandDataType::kFloat32, {1024, 1024});
      sketch.Output(Must(sketch->Matmul(a, b)));
      sketch.CountMultiplyAdds(1024.0 * 1024 * 1024);
    });
    DecodeSetup setup = EverythingOn(weights);
    setup.prompt_tokens = kPrefillTokens;
    setup.positions_max = kPrefillTokens + 1;
    const double multiply_adds =
        kPrefillTokens * LayerMultiplyAdds(model_.config) + HeadMultiplyAdds(model_.config);
    std::vector<double> figures[3];
    product.SecondsPerDispatch(2);
    for (int round = 0; round < rounds_ * kPromptsPerRound; ++round) {
      double product_rate = product.work() / product.SecondsPerDispatch(4);
      // Each loads the model anew, into a worker of its own.
      const double milliseconds = DecodeRun(daemon.Connect(), model_, setup).Prefill();
      figures[0].push_back(milliseconds);
      figures[1].push_back(multiply_adds / milliseconds * 1e-6);
      figures[2].push_back(multiply_adds / milliseconds * 1e3 / product_rate);
    }
    report_.Add(Label(weights, "256 tokens to the first token"), "ms", figures[0]);
    report_.Add(Label(weights, "prefill, multiply-adds"), "G/s", figures[1]);
    report_.Add(Label(weights, "prefill / matmul 1024"), "ratio", figures[2]);
  }

  // What a run of webnn-generate takes until its first token, of a prompt of 8, and its end: with a
  // worker that compiles all kernels, with one whose kernels the daemon has from the one before,
  // and in process, where the driver has its own cache of the user's. Each in processes of its own.
  void MeasureLoading(WeightFormat weights, const std::string& folder) {
    Report::Progress(Label(weights, "loading"));
    const std::string command = GenerateCommand(weights, folder, 8);
    const auto seconds = [](const std::string& run) {
      const double begin = Now();
      FirstTokenMs(run);
      return Now() - begin;
    };
    seconds(command + " --in-process");
    std::vector<double> figures[5];
    for (int round = 0; round < rounds_; ++round) {
      Daemon daemon = Must(Daemon::StartWithKernelCache(BesideThisProgram("webnnd")));
      const double compiled = seconds(command + " --socket " + daemon.socket());
      if (!daemon.AwaitKernels()) break;
      const double cached = seconds(command + " --socket " + daemon.socket());
      const double inside = seconds(command + " --in-process");
      figures[0].push_back(compiled);
      figures[1].push_back(cached);
      figures[2].push_back(compiled / cached);
      figures[3].push_back(inside);
      figures[4].push_back(cached / inside);
    }
    report_.Add(Label(weights, "webnn-generate to its first token, kernels compiled"), "s",
                figures[0]);
    report_.Add(Label(weights, "the same, kernels cached"), "s", figures[1]);
    report_.Add(Label(weights, "compiled / cached"), "ratio", figures[2]);
    report_.Add(Label(weights, "the same, --in-process, the driver's own cache"), "s", figures[3]);
    report_.Add(Label(weights, "kernels cached, daemon / in process"), "ratio", figures[4]);
  }

  // The worker's peak, loading included.
  void MeasureMemory(WeightFormat weights) {
    Report::Progress(Label(weights, "memory"));
    Daemon daemon = Must(Daemon::StartWithKernelCache(BesideThisProgram("webnnd")));
    // The second finds its kernels cached.
    for (const char* what : {"worker's peak resident memory", "its peak, kernels cached"}) {
      MeasurePeak(weights, what, daemon);
      if (!daemon.AwaitKernels()) break;
    }
  }

 private:
  // Of one token after a prompt of so many.
  std::string GenerateCommand(WeightFormat weights, const std::string& folder,
                              uint32_t prompt_tokens) const {
    std::string ids = "1";
    for (uint32_t i = 1; i < prompt_tokens; ++i) {
      ids += "," + std::to_string((i * i * 31 + 7) % model_.config.vocabulary_size);
    }
    return BesideThisProgram("webnn-generate") + " --model " + folder + " --prompt-ids " + ids +
           " --tokens 1 --ignore-eos --json" +
           (weights == WeightFormat::kQ4 ? " --quantize q4" : "");
  }

  void MeasurePeak(WeightFormat weights, const char* what, const Daemon& daemon) {
    DecodeRun run(webnn::Connect::ToSocket(daemon.socket()), model_, EverythingOn(weights));
    run.Prefill();
    run.Steps(2, kSecondsPerRound);
    double peak = 0;
    for (pid_t worker : daemon.Workers()) {
      peak = std::max(peak, static_cast<double>(ReadMemoryUse(worker).peak_bytes));
    }
    // A head of its own comes on top of what a token reads: the embedding.
    double needed = WeightBytesPerToken(model_.config, weights) +
                    run.capacity() * CacheBytesPerPosition(model_.config) + 64 * kMiB;
    report_.Add(Label(weights, what), "MiB", {peak / kMiB});
    report_.Add(Label(weights, "the same / (weights + caches + 64 MiB)"), "ratio", {peak / needed});
  }

  void AddRung(const std::string& label, const DecodeRun& run, const std::vector<double>& figures) {
    report_.Add(label, "ms", figures);
    report_.AddNote("", std::to_string(run.kernels_per_step()) + " kernels, " +
                            std::to_string(static_cast<uint64_t>(run.socket_bytes_per_step())) +
                            " bytes on the socket a token");
  }

  std::string Label(WeightFormat weights, const std::string& what) const {
    return name_ + ", " + FormatName(weights) + ": " + what;
  }

  const std::string name_;
  const Model& model_;
  const int rounds_;
  Report& report_;
  Machine machine_;
};

Model OpenModel(const std::string& path) {
  return Must(generate::OpenModel(path, generate::TokenizerNeed::kIfPresent));
}

Model MakeModel(const TemporaryFolder& folder, const ModelConfig& config) {
  Must(models::WriteRandomModel(folder.path(), {.config = config}));
  return OpenModel(folder.path());
}

void MeasureTinyTales(int rounds, Report& report) {
  // Beside the sources, from where tools/bench runs.
  Model model = OpenModel("examples/models/tiny-tales");
  ModelBenchmark benchmark("tiny-tales", model, rounds, report);
  benchmark.Climb(WeightFormat::kFloat32);
  benchmark.Compare(WeightFormat::kFloat32);
}

void MeasureSmolLm(int rounds, Report& report) {
  TemporaryFolder folder;
  Model model = MakeModel(folder, models::SmolLmShape());
  ModelBenchmark benchmark("SmolLM shape", model, rounds, report);
  benchmark.Compare(WeightFormat::kFloat32);
  benchmark.Compare(WeightFormat::kQ4);
  benchmark.MeasureMemory(WeightFormat::kFloat32);
  benchmark.MeasureMemory(WeightFormat::kQ4);
  benchmark.MeasureLoading(WeightFormat::kQ4, folder.path());
  benchmark.MeasurePrefill(WeightFormat::kFloat32);
  benchmark.MeasureFirstToken(WeightFormat::kFloat32, folder.path());
  benchmark.CompareContexts(WeightFormat::kFloat32);
  benchmark.Climb(WeightFormat::kQ4);
}

void MeasureQwen2(int rounds, Report& report) {
  TemporaryFolder folder;
  Model model = MakeModel(folder, models::Qwen2Shape());
  ModelBenchmark benchmark("Qwen2 shape", model, rounds, report);
  benchmark.Compare(WeightFormat::kQ4);
  benchmark.MeasureMemory(WeightFormat::kQ4);
  benchmark.Climb(WeightFormat::kQ4);
}

}  // namespace

Status RunDecode(const Options& options) {
  Report report;
  Report::Progress("bound dispatches");
  MeasureBindings(options.rounds, report);
  for (const std::string& model : options.models) {
    if (model == "tiny") MeasureTinyTales(options.rounds, report);
    if (model == "smollm") MeasureSmolLm(options.rounds, report);
    if (model == "qwen2") MeasureQwen2(options.rounds, report);
  }
  report.Print();
  INVALID_IF(!options.json.empty() && !report.WriteJson(options.json),
             "the file ({}) cannot be written", options.json);
  return {};
}

}  // namespace webnnd::benchmarks
