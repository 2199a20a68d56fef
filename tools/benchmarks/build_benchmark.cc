#include "tools/benchmarks/build_benchmark.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/webnn.h"
#include "tools/benchmarks/build_phases.h"
#include "tools/benchmarks/daemon.h"
#include "tools/benchmarks/graph_runner.h"
#include "tools/benchmarks/measured_service.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

using webnn::Operand;

const webnn::Shape kShape = {kChainSize, kChainSize};

// A connection, and so a worker, of its own: no pipeline is there yet.
class Client {
 public:
  explicit Client(const MeasuredService& service) : Client(service.Connect()) {}
  explicit Client(const webnn::Connect& connect)
      : ml_(connect), context_(Must(ml_.Wait(ml_.CreateContext()))) {}

  webnn::ML& ml() { return ml_; }
  webnn::Context& context() { return *context_; }
  const std::shared_ptr<webnn::Context>& shared_context() { return context_; }

 private:
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
};

// --- A long chain -------------------------------------------------------------------------------

struct ChainTimes {
  double calls = 0;    // All methods of the builder.
  double sending = 0;  // Build, until it returns.
  double waiting = 0;  // Until the graph is there.
  double sum() const { return calls + sending + waiting; }
};

ChainTimes BuildChain(Client& client) {
  ChainTimes times;
  double begin = Now();
  webnn::GraphBuilder builder(client.shared_context());
  Operand x = Must(builder.Input("input", webnn::OperandDataType::kFloat32, kShape));
  Operand other = Must(builder.Input("other", webnn::OperandDataType::kFloat32, kShape));
  for (uint32_t i = 0; i < kChainOperators; i += 8) {
    x = Must(builder.Relu(Must(builder.Add(x, other))));
    x = Must(builder.Abs(Must(builder.Mul(x, other))));
    x = Must(builder.Neg(Must(builder.Max(x, other))));
    x = Must(builder.Sqrt(Must(builder.Sub(x, other))));
  }
  times.calls = Now() - begin;
  begin = Now();
  auto future = builder.Build({{"output", x}});
  times.sending = Now() - begin;
  begin = Now();
  Must(client.ml().Wait(future));
  times.waiting = Now() - begin;
  return times;
}

void MeasureChain(const MeasuredService& service, int rounds, Report& report) {
  std::vector<double> figures[5];
  for (int round = 0; round < rounds; ++round) {
    Client client(service);
    figures[4].push_back(BuildChain(client).sum() * 1e3);
    ChainTimes times = BuildChain(client);
    figures[0].push_back(times.calls * 1e3);
    figures[1].push_back(times.sending * 1e3);
    figures[2].push_back(times.waiting * 1e3);
    figures[3].push_back(times.sum() * 1e3);
  }
  report.Add("a chain of 2000 operators, from the first call to the graph", "ms", figures[3]);
  report.Add("  the builder's methods, in the client", "ms", figures[0]);
  report.Add("  Build, until it returns", "ms", figures[1]);
  report.Add("  until the graph is there", "ms", figures[2]);
  report.Add("  the whole with its 8 pipelines still to be compiled", "ms", figures[4]);
}

// --- Dispatches beside a build ------------------------------------------------------------------

// What the big graph consists of: each takes a kernel that no other one takes.
using Step = Result<Operand> (*)(webnn::GraphBuilder&, const Operand&);
constexpr Step kSteps[] = {
    [](auto& g, auto& x) { return g.Ceil(x); },
    [](auto& g, auto& x) { return g.Cos(x); },
    [](auto& g, auto& x) { return g.Elu(x); },
    [](auto& g, auto& x) { return g.Erf(x); },
    [](auto& g, auto& x) { return g.Exp(x); },
    [](auto& g, auto& x) { return g.Floor(x); },
    [](auto& g, auto& x) { return g.Gelu(x); },
    [](auto& g, auto& x) { return g.HardSigmoid(x); },
    [](auto& g, auto& x) { return g.HardSwish(x); },
    [](auto& g, auto& x) { return g.LeakyRelu(x); },
    [](auto& g, auto& x) { return g.Log(x); },
    [](auto& g, auto& x) { return g.Reciprocal(x); },
    [](auto& g, auto& x) { return g.RoundEven(x); },
    [](auto& g, auto& x) { return g.Sigmoid(x); },
    [](auto& g, auto& x) { return g.Sign(x); },
    [](auto& g, auto& x) { return g.Sin(x); },
    [](auto& g, auto& x) { return g.Softplus(x); },
    [](auto& g, auto& x) { return g.Softsign(x); },
    [](auto& g, auto& x) { return g.Tan(x); },
    [](auto& g, auto& x) { return g.Tanh(x); },
    [](auto& g, auto& x) { return g.Pow(x, x); },
    [](auto& g, auto& x) { return g.Div(x, x); },
    [](auto& g, auto& x) { return g.Min(x, x); },
    [](auto& g, auto& x) { return g.Transpose(x); },
    [](auto& g, auto& x) { return g.Softmax(x, 1); },
    [](auto& g, auto& x) { return g.CumulativeSum(x, 0); },
    [](auto& g, auto& x) { return g.Matmul(x, x); },
    [](auto& g, auto& x) { return g.Triangular(x); },
    [](auto& g, auto& x) { return g.Reverse(x); },
};

// Each step has an output of its own: of a chain, several would be one kernel.
webnn::Future<std::shared_ptr<webnn::Graph>> BeginBuild(Client& client,
                                                        std::span<const Step> steps) {
  webnn::GraphBuilder builder(client.shared_context());
  const Operand x = Must(builder.Input("input", webnn::OperandDataType::kFloat32, kShape));
  webnn::NamedOperands outputs;
  for (Step step : steps) {
    outputs.emplace(fmt::format("output {}", outputs.size()), Must(step(builder, x)));
  }
  return builder.Build(outputs);
}

double TimeBuild(Client& client, Step step) {
  double begin = Now();
  Must(client.ml().Wait(BeginBuild(client, {&step, 1})));
  return Now() - begin;
}

// Seconds that the kernel takes longest whose pipeline is made for the first time.
double LongestWarmUp(const MeasuredService& service) {
  Client client(service);
  double longest = 0;
  for (Step step : kSteps) {
    double cold = TimeBuild(client, step);
    longest = std::max(longest, cold - TimeBuild(client, step));
  }
  return longest;
}

// Round trips of a small graph.
class Prober {
 public:
  explicit Prober(Client& client) : client_(client), data_(1024) {
    const webnn::Shape shape = {1024};
    webnn::GraphBuilder builder(client.shared_context());
    auto a = Must(builder.Input("a", webnn::OperandDataType::kFloat32, shape));
    graph_ = Must(client.ml().Wait(builder.Build({{"sum", Must(builder.Add(a, a))}})));
    auto make = [&] {
      return Must(client.ml().Wait(client.context().CreateTensor(
          {webnn::OperandDataType::kFloat32, shape, /*readable=*/true, /*writable=*/true})));
    };
    inputs_ = {{"a", make()}};
    output_ = make();
  }

  // Seconds of a dispatch and the reading of what it wrote.
  double RoundTrip() {
    double begin = Now();
    Must(client_.context().Dispatch(*graph_, inputs_, {{"sum", output_}}));
    auto bytes = std::as_writable_bytes(std::span(data_));
    Must(client_.ml().Wait(client_.context().ReadTensor(*output_, bytes)));
    return Now() - begin;
  }

 private:
  Client& client_;
  std::shared_ptr<webnn::Graph> graph_;
  webnn::NamedTensors inputs_;
  std::shared_ptr<webnn::Tensor> output_;
  std::vector<float> data_;
};

// Counts of what took so long.
class Histogram {
 public:
  void Add(double milliseconds) {
    auto bound = std::upper_bound(std::begin(kBounds), std::end(kBounds), milliseconds);
    ++counts_[static_cast<size_t>(bound - std::begin(kBounds))];
  }
  std::string ToString() const {
    std::string text;
    for (size_t i = 0; i < std::size(counts_); ++i) {
      std::string name = i < std::size(kBounds) ? fmt::format("<{}", kBounds[i])
                                                : fmt::format(">={}", kBounds[i - 1]);
      text += fmt::format("{}{} ms: {}", i == 0 ? "" : ", ", name, counts_[i]);
    }
    return text;
  }

 private:
  static constexpr double kBounds[] = {0.5, 1, 2, 5, 10, 20, 50, 100};
  size_t counts_[std::size(kBounds) + 1] = {};
};

// Beside builds of all kernels, each by a client for which none of them is there.
class Stalls {
 public:
  void Measure(const webnn::Connect& connect, double warm_up_ms) {
    constexpr int kAloneCount = 300;
    Client client(connect);
    Prober prober(client);
    prober.RoundTrip();
    for (int i = 0; i < kAloneCount; ++i) alone_.push_back(prober.RoundTrip() * 1e3);
    const double begin = Now();
    auto built = BeginBuild(client, kSteps);
    double longest_ms = 0;
    while (!built.ready()) {
      const double milliseconds = prober.RoundTrip() * 1e3;
      beside_.push_back(milliseconds);
      histogram_.Add(milliseconds);
      longest_ms = std::max(longest_ms, milliseconds);
    }
    Must(client.ml().Wait(built));
    builds_.push_back((Now() - begin) * 1e3);
    longest_.push_back(longest_ms);
    ratios_.push_back(longest_ms / warm_up_ms);
  }

  void AddTo(Report& report, const std::string& who_compiles) const {
    report.Add("round trip of one add, nothing beside it", "ms", alone_);
    report.Add("  while " + who_compiles + " compiles what 29 operators want", "ms", beside_);
    report.Add("  the build of these kernels", "ms", builds_);
    report.Add("  the longest round trip beside a build", "ms", longest_);
    report.Add("  the same / longest warm-up (1 at most)", "ratio", ratios_);
    report.AddNote("  all round trips beside builds", histogram_.ToString());
  }

 private:
  std::vector<double> alone_;
  std::vector<double> beside_;
  std::vector<double> builds_;
  std::vector<double> longest_;
  std::vector<double> ratios_;
  Histogram histogram_;
};

// With daemons as users start them, but for their cache of kernels, which is empty, another process
// compiles (service/worker/kernel_fetch.h); without a cache the worker itself.
void MeasureStalls(const MeasuredService& service, const Options& options, Report& report) {
  std::vector<double> warm_ups;
  Stalls own;
  Stalls others;
  for (int round = 0; round < std::min(options.rounds, 5); ++round) {
    const double warm_up_ms = LongestWarmUp(service) * 1e3;
    warm_ups.push_back(warm_up_ms);
    own.Measure(service.Connect(), warm_up_ms);
    if (options.in_process) continue;
    const Daemon daemon = Must(Daemon::StartWithKernelCache(BesideThisProgram("webnnd")));
    others.Measure(webnn::Connect::ToSocket(daemon.socket()), warm_up_ms);
  }
  report.Add("longest warm-up of one of 29 operators", "ms", warm_ups);
  if (!options.in_process) others.AddTo(report, "another process");
  own.AddTo(report, options.in_process ? "this process" : "the worker, without a cache,");
}

}  // namespace

Status RunBuild(const Options& options) {
  MeasuredService service(options.in_process);
  Report report;
  report.AddNote("device", Client(service).context().device_name());
  MeasureChain(service, options.rounds, report);
  MeasureBuildPhases(options.rounds, report);
  MeasureStalls(service, options, report);
  report.Print();
  INVALID_IF(!options.json.empty() && !report.WriteJson(options.json),
             "the file ({}) cannot be written", options.json);
  return {};
}

}  // namespace webnnd::benchmarks
