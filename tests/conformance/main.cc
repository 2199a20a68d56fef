// webnn-conformance: runs conformance cases through the public client API, the wire, the service
// and the shaders.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "client/webnn.h"
#include "service/session/in_process.h"
#include "service/vulkan/open_devices.h"
#include "tests/conformance/case.h"
#include "tests/conformance/options.h"
#include "tests/conformance/runner.h"

namespace webnnd::conformance {
namespace {

using nlohmann::json;

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kSkipped:
      break;
  }
  return "skipped";
}

// What the cases gave, and what is said of them at the end.
class Report {
 public:
  explicit Report(std::optional<uint64_t> require) : require_(require) {}

  void Add(const std::string& path, const Case& test, CaseResult result) {
    if (require_ && result.verdict == Verdict::kSkipped) {
      result.verdict = Verdict::kFailed;
      result.message = "a case that must pass is skipped: " + result.message;
    }
    ++counts_[result.verdict];
    if (result.verdict == Verdict::kFailed) {
      std::printf("FAILED %s: %s: %s\n", path.c_str(), test.name.c_str(), result.message.c_str());
    }
    if (result.verdict == Verdict::kSkipped) ++skip_reasons_[result.message];
    json entry = {{"path", path},
                  {"id", test.id},
                  {"file", test.file},
                  {"name", test.name},
                  {"result", VerdictName(result.verdict)}};
    json operators = json::array();
    for (const CaseCall& call : test.calls) operators.push_back(call.name);
    entry["operators"] = std::move(operators);
    if (!result.message.empty()) entry["message"] = result.message;
    if (result.closest) {
      entry["distance"] = result.closest->distance;
      entry["tolerance"] = result.closest->tolerance;
    }
    if (result.kernels) entry["kernels"] = *result.kernels;
    if (test.kernels_at_most) entry["expectedKernelsAtMost"] = *test.kernels_at_most;
    entries_.push_back(std::move(entry));
  }

  void AddFailure(const std::string& subject, const std::string& message) {
    ++counts_[Verdict::kFailed];
    std::printf("FAILED %s: %s\n", subject.c_str(), message.c_str());
    entries_.push_back({{"path", subject}, {"result", "failed"}, {"message", message}});
  }

  // Prints the summary; whether nothing failed.
  bool Finish() {
    const auto passed = static_cast<uint64_t>(counts_[Verdict::kPassed]);
    if (require_ && passed < *require_) {
      AddFailure("--require", fmt::format("{} cases have passed, and not {}", passed, *require_));
    }
    for (const auto& [reason, count] : skip_reasons_) {
      std::printf("skipped %d: %s\n", count, reason.c_str());
    }
    std::printf("%d passed, %d failed, %d skipped\n", counts_[Verdict::kPassed],
                counts_[Verdict::kFailed], counts_[Verdict::kSkipped]);
    return counts_[Verdict::kFailed] == 0;
  }

  bool WriteJson(const std::string& path) {
    std::ofstream file(path);
    json report = {{"passed", counts_[Verdict::kPassed]},
                   {"failed", counts_[Verdict::kFailed]},
                   {"skipped", counts_[Verdict::kSkipped]},
                   {"cases", entries_}};
    // Names come from files: what of them is not UTF-8 is replaced.
    file << report.dump(1, ' ', false, json::error_handler_t::replace) << "\n";
    file.close();
    return file.good();
  }

 private:
  std::optional<uint64_t> require_;
  std::map<Verdict, int> counts_;
  std::map<std::string, int> skip_reasons_;
  json entries_ = json::array();
};

bool Uses(const Case& test, const std::string& op) {
  return op.empty() || std::any_of(test.calls.begin(), test.calls.end(),
                                   [&](const CaseCall& call) { return call.name == op; });
}

void RunFile(const std::string& path, const std::string& op, Runner& runner, Report& report) {
  auto text = ReadFile(path);
  if (!text.ok()) return report.AddFailure(path, text.error().message());
  auto cases = ParseCases(*text);
  if (!cases.ok()) return report.AddFailure(path, cases.error().message());
  for (const LoadedCase& loaded : *cases) {
    if (loaded.error) {
      report.AddFailure(path, loaded.value.name + ": " + OneLine(*loaded.error));
    } else if (Uses(loaded.value, op)) {
      report.Add(path, loaded.value, runner.Run(loaded.value));
    }
  }
}

// The service that the cases run on. With --in-process it lives here.
struct Service {
  std::vector<std::shared_ptr<service::Device>> devices;
  std::unique_ptr<service::InProcessHost> host;
};

Result<webnn::Connect> ConnectTo(const Options& options, Service& service) {
  if (!options.socket_path.empty()) return webnn::Connect::ToSocket(options.socket_path);
  if (!options.in_process) {
    std::vector<std::string> arguments;
    for (const std::string& feature : options.disabled_features) {
      arguments.insert(arguments.end(), {"--disable-feature", feature});
    }
    return webnn::Connect::Spawn("", std::move(arguments));
  }
  ASSIGN_OR_RETURN(service.devices,
                   service::OpenDevices({}, {.validation = options.validation,
                                             .disabled_features = options.disabled_features}));
  service.host =
      std::make_unique<service::InProcessHost>(service::SessionOptions{.devices = service.devices});
  return webnn::Connect::InProcess(*service.host);
}

int Main(int argc, char** argv) {
  auto options = ParseOptions(std::span<const char* const>(argv + 1, argc - 1));
  if (!options.ok()) {
    std::fprintf(stderr, "%s\n%s", options.error().message().c_str(), kUsage);
    return 1;
  }
  std::vector<std::string> files;
  for (const std::string& path : options->cases) {
    auto found = FindCaseFiles(path);
    if (!found.ok()) {
      std::fprintf(stderr, "%s\n", found.error().message().c_str());
      return 1;
    }
    files.insert(files.end(), found->begin(), found->end());
  }
  Service service;
  auto connect = ConnectTo(*options, service);
  if (!connect.ok()) {
    std::fprintf(stderr, "%s\n", connect.error().ToString().c_str());
    return 1;
  }
  Report report(options->require);
  {
    Runner runner(std::move(*connect), {.context = {.fusion = options->fusion,
                                                    .constant_folding = options->constant_folding},
                                        .kernels = options->kernels});
    if (Status started = runner.Start(); !started.ok()) {
      std::fprintf(stderr, "%s\n", started.error().ToString().c_str());
      return 1;
    }
    for (const std::string& file : files) RunFile(file, options->op, runner, report);
  }
  if (options->validation && service::Device::ValidationMessageCount() > 0) {
    report.AddFailure("--validation", fmt::format("the validation layers gave {} messages",
                                                  service::Device::ValidationMessageCount()));
  }
  bool passed = report.Finish();
  if (!options->json_path.empty() && !report.WriteJson(options->json_path)) {
    std::fprintf(stderr, "the report (%s) cannot be written\n", options->json_path.c_str());
    return 1;
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace webnnd::conformance

int main(int argc, char** argv) { return webnnd::conformance::Main(argc, argv); }
