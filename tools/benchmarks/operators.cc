#include "tools/benchmarks/operators.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/benchmarks/gpu.h"
#include "tools/benchmarks/graph_runner.h"
#include "tools/benchmarks/machine.h"
#include "tools/benchmarks/measured_service.h"
#include "tools/benchmarks/operator_cases.h"
#include "tools/benchmarks/product_cases.h"
#include "tools/benchmarks/shape_cases.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

// A sample is so many dispatches that neither starting nor waiting counts.
constexpr double kSampleSeconds = 0.025;
// A slow operator gets fewer rounds, so that the whole stays a matter of minutes.
constexpr double kOperatorSecondsMax = 4;
constexpr size_t kRoundsMin = 5;

// One sample each per round.
struct Samples {
  std::vector<double> milliseconds;
  std::vector<double> rate;        // Billions of multiply-adds, or GB/s.
  std::vector<double> of_machine;  // `rate` / what the machine did just before.
  std::vector<double> of_copy;     // `rate` / what the copy kernel did just before; empty without.
};

// What operators are held to.
class Yardstick {
 public:
  Yardstick(webnn::ML& ml, const std::shared_ptr<webnn::Context>& context)
      : gpu_(Gpu::Find(context->device_name())) {
    if (gpu_ == nullptr) machine_ = std::make_unique<Machine>();
    double best_seconds = 0;
    for (OperatorCase& candidate : CopyCases()) {
      auto runner = std::make_unique<GraphRunner>(ml, context, candidate.draw);
      int count = runner->CountFor(kSampleSeconds);
      std::vector<double> seconds;
      for (size_t i = 0; i < kRoundsMin; ++i) {
        seconds.push_back(runner->SecondsPerWarmDispatch(count));
      }
      double median = Summarize(seconds).median;
      if (copy_ != nullptr && median >= best_seconds) continue;
      best_seconds = median;
      copy_ = std::move(runner);
      copy_name_ = std::move(candidate.name);
      count_ = count;
    }
  }

  double MachineRate(bool multiply_adds) const {
    if (gpu_ != nullptr) return multiply_adds ? gpu_->MultiplyAdds() : gpu_->StreamBandwidth();
    return multiply_adds ? machine_->MultiplyAdds() : machine_->StreamBandwidth();
  }
  // GB/s of the kernel that moves memory fastest.
  double CopyRate() { return copy_->work() * 1e-9 / copy_->SecondsPerWarmDispatch(count_); }

  // What all of it is held against, `rounds` samples each.
  void AddRates(int rounds, Report& report) {
    auto add = [&](const std::string& name, const char* unit, auto measure) {
      std::vector<double> samples;
      for (int round = 0; round < rounds; ++round) samples.push_back(measure());
      report.Add(name, unit, samples);
    };
    if (gpu_ != nullptr) {
      add("device: reading", "GB/s", [&] { return gpu_->StreamBandwidth(); });
      add("device: float32 multiply-adds", "G/s", [&] { return gpu_->MultiplyAdds(); });
    } else {
      Machine& machine = *machine_;
      add("machine: stream bandwidth, reading", "GB/s", [&] { return machine.StreamBandwidth(); });
      add("machine: copying, read and written", "GB/s", [&] { return machine.CopyBandwidth(); });
      add("machine: gathering words from random rows of 16 MiB", "GB/s",
          [&] { return machine.GatherBandwidth(); });
      add("machine: scattering words to random rows of 16 MiB", "GB/s",
          [&] { return machine.ScatterBandwidth(); });
      add("machine: float32 multiply-adds", "G/s", [&] { return machine.MultiplyAdds(); });
      add("machine: the same by 8, not fused", "G/s",
          [&] { return machine.UnfusedMultiplyAdds(); });
    }
    add("device: " + copy_name_ + ", read and written", "GB/s", [&] { return CopyRate(); });
  }

 private:
  // One of the two.
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<GraphRunner> copy_;
  std::string copy_name_;
  int count_ = 0;
};

Samples Measure(GraphRunner& runner, Yardstick& yardstick, int rounds) {
  Samples samples;
  int count = runner.CountFor(kSampleSeconds);
  double end = Now() + kOperatorSecondsMax;
  for (int round = 0; round < rounds; ++round) {
    if (samples.rate.size() >= kRoundsMin && Now() > end) break;
    double machine = yardstick.MachineRate(runner.counts_multiply_adds());
    double copy = runner.counts_multiply_adds() ? 0 : yardstick.CopyRate();
    double seconds = runner.SecondsPerWarmDispatch(count);
    double rate = runner.work() * 1e-9 / seconds;
    samples.milliseconds.push_back(seconds * 1e3);
    samples.rate.push_back(rate);
    samples.of_machine.push_back(rate / machine);
    if (copy > 0) samples.of_copy.push_back(rate / copy);
  }
  return samples;
}

void PrintHeading() {
  std::printf(
      "| operator | kernels | ms | 5 %% | 95 %% | rate | of the machine (5-95 %%) "
      "| of the copy (5-95 %%) | samples |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
}

std::string Share(const std::vector<double>& samples) {
  if (samples.empty()) return "";
  Summary summary = Summarize(samples);
  return fmt::format("{:.3f} ({:.3f}-{:.3f})", summary.median, summary.low, summary.high);
}

std::string Row(const std::string& name, const GraphRunner& runner, const Samples& samples) {
  Summary ms = Summarize(samples.milliseconds);
  return fmt::format("| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} {} | {} | {} | {} |\n", name,
                     runner.kernel_count(), ms.median, ms.low, ms.high,
                     Summarize(samples.rate).median, runner.counts_multiply_adds() ? "G/s" : "GB/s",
                     Share(samples.of_machine), Share(samples.of_copy), ms.samples);
}

void AddRows(const std::string& name, const GraphRunner& runner, const Samples& samples,
             Report& report) {
  report.Add(name, "ms", samples.milliseconds);
  report.Add(name + ", rate", runner.counts_multiply_adds() ? "G/s" : "GB/s", samples.rate);
  report.Add(name + ", of the machine", "ratio", samples.of_machine);
  if (!samples.of_copy.empty()) report.Add(name + ", of the copy", "ratio", samples.of_copy);
  report.Add(name + ", kernels", "count", {static_cast<double>(runner.kernel_count())});
}

// Measures `cases` and calls `print`(name, runner, samples) with each.
template <typename Print>
Status RunCases(std::vector<OperatorCase> cases, const Options& options, Print print) {
  std::erase_if(cases, [&](const OperatorCase& operator_case) {
    return operator_case.name.find(options.filter) == std::string::npos;
  });
  INVALID_IF(cases.empty(), "no operator's name contains the filter ({})", options.filter);

  if (options.cpu_time) CountProcessorTime();
  // Mesa's own cache does not know of changes to base/drivers_llvm.
  if (options.in_process) setenv("MESA_SHADER_CACHE_DISABLE", "true", /*overwrite=*/0);
  MeasuredService service(options.in_process);
  webnn::ML ml(service.Connect());
  ASSIGN_OR_RETURN(std::shared_ptr<webnn::Context> context, ml.Wait(ml.CreateContext()));
  Yardstick yardstick(ml, context);
  Report report;
  report.AddNote("device", context->device_name());
  yardstick.AddRates(options.rounds, report);
  report.Print();
  std::printf("\n");
  PrintHeading();
  for (const OperatorCase& operator_case : cases) {
    GraphRunner runner(ml, context, operator_case.draw);
    Samples samples = Measure(runner, yardstick, options.rounds);
    print(operator_case.name, runner, samples);
    AddRows(operator_case.name, runner, samples, report);
  }
  INVALID_IF(!options.json.empty() && !report.WriteJson(options.json),
             "the file ({}) cannot be written", options.json);
  return {};
}

}  // namespace

Status RunOperators(const Options& options) {
  return RunCases(OperatorCases(), options,
                  [](const std::string& name, const GraphRunner& runner, const Samples& samples) {
                    std::printf("%s", Row(name, runner, samples).c_str());
                    std::fflush(stdout);
                  });
}

Status RunShapes(const Options& options) {
  std::vector<OperatorCase> cases = ProductCases();
  std::ranges::move(ShapeCases(), std::back_inserter(cases));
  // What multiplies, and what moves.
  std::array<std::vector<std::pair<double, std::string>>, 2> rows;
  TRY(RunCases(std::move(cases), options,
               [&](const std::string& name, const GraphRunner& runner, const Samples& samples) {
                 const bool multiplies = runner.counts_multiply_adds();
                 const auto& shares = multiplies ? samples.of_machine : samples.of_copy;
                 rows[multiplies ? 0 : 1].emplace_back(Summarize(shares).median,
                                                       Row(name, runner, samples));
               }));
  for (auto& part : rows) {
    std::ranges::sort(part);
    for (const auto& [share, row] : part) std::printf("%s", row.c_str());
  }
  return {};
}

}  // namespace webnnd::benchmarks
