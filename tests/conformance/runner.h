// Runner: runs cases one after another on one context.
#ifndef WEBNND_TESTS_CONFORMANCE_RUNNER_H_
#define WEBNND_TESTS_CONFORMANCE_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/webnn.h"
#include "tests/conformance/case.h"

namespace webnnd::conformance {

enum class Verdict : uint8_t {
  kPassed,
  kFailed,
  // The service refuses it with NotSupported: something that the draft has and we do not, yet.
  kSkipped,
};

// How near to its tolerance an output comes.
struct Closeness {
  double distance = 0;
  double tolerance = 0;
  // 1 at the tolerance; where nothing may differ, nothing is used.
  double ShareUsed() const { return tolerance > 0 ? distance / tolerance : 0; }
};

struct CaseResult {
  Verdict verdict = Verdict::kFailed;
  std::string message;  // Why it failed or was skipped.
  std::optional<uint32_t> kernels;
  std::optional<Closeness> closest;  // Of the output that comes nearest to its tolerance.
};

// The error with what was being done, on one line: a report has one per case.
std::string OneLine(const Error& error);

struct RunnerOptions {
  webnn::ContextOptions context;
  // Fail a case whose graph takes more kernels than its `kernels_at_most`.
  bool kernels = false;
};

class Runner {
 public:
  Runner(webnn::Connect connect, RunnerOptions options)
      : ml_(std::move(connect)), options_(std::move(options)) {}

  // Opens a context, to tell at once whether there is a service. Run does so too, also after a
  // loss.
  Status Start();
  CaseResult Run(const Case& test);

 private:
  Status RunCase(const Case& test, CaseResult& result);
  Result<webnn::NamedTensors> MakeInputs(const Case& test, const webnn::Graph& graph);
  Result<webnn::NamedTensors> MakeOutputs(const webnn::Graph& graph);

  webnn::ML ml_;
  RunnerOptions options_;
  std::shared_ptr<webnn::Context> context_;
};

}  // namespace webnnd::conformance

#endif  // WEBNND_TESTS_CONFORMANCE_RUNNER_H_
