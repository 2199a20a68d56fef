#include "tools/benchmarks/dispatch.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "client/webnn.h"
#include "tools/benchmarks/daemon.h"
#include "tools/benchmarks/machine.h"
#include "tools/benchmarks/measured_service.h"
#include "tools/benchmarks/must.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

// One client with a graph of one `add`, ready to dispatch.
class OneOperator {
 public:
  explicit OneOperator(webnn::Connect connect, uint32_t elements = 1024)
      : ml_(std::move(connect)), result_(elements) {
    context_ = Must(ml_.Wait(ml_.CreateContext()));
    webnn::GraphBuilder builder(context_);
    webnn::Shape shape = {elements};
    auto a = Must(builder.Input("a", webnn::OperandDataType::kFloat32, shape));
    auto b = Must(builder.Input("b", webnn::OperandDataType::kFloat32, shape));
    auto sum = Must(builder.Add(a, b));
    graph_ = Must(ml_.Wait(builder.Build({{"sum", sum}})));
    auto make = [&](bool readable, bool writable) {
      return Must(ml_.Wait(
          context_->CreateTensor({webnn::OperandDataType::kFloat32, shape, readable, writable})));
    };
    inputs_ = {{"a", make(false, true)}, {"b", make(false, true)}};
    output_ = make(true, false);
    std::vector<float> ones(elements, 1.0f);
    for (auto& [name, tensor] : inputs_) {
      Must(context_->WriteTensor(*tensor, std::as_bytes(std::span(ones))));
    }
  }

  void Dispatch() { Must(context_->Dispatch(*graph_, inputs_, {{"sum", output_}})); }
  void Read() {
    Must(ml_.Wait(context_->ReadTensor(*output_, std::as_writable_bytes(std::span(result_)))));
    if (result_[0] != 2.0f) Must(Result<void>(InternalError("the sum ({}) is wrong", result_[0])));
  }
  uint64_t bytes_sent() const { return context_->bytes_sent(); }
  const std::string& device_name() const { return context_->device_name(); }

 private:
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<webnn::Graph> graph_;
  webnn::NamedTensors inputs_;
  std::shared_ptr<webnn::Tensor> output_;
  std::vector<float> result_;
};

double TimeRoundTrips(OneOperator& client, int count) {
  double begin = Now();
  for (int i = 0; i < count; ++i) {
    client.Dispatch();
    client.Read();
  }
  return (Now() - begin) / count;
}

double TimePipelined(OneOperator& client, int count) {
  double begin = Now();
  for (int i = 0; i < count; ++i) client.Dispatch();
  client.Read();
  return count / (Now() - begin);
}

void CompareDispatch(OneOperator& daemon, OneOperator& in_process, int rounds, Report& report) {
  constexpr int kRoundTrips = 200;
  constexpr int kPipelined = 2000;
  TimeRoundTrips(daemon, kRoundTrips);
  TimeRoundTrips(in_process, kRoundTrips);
  std::vector<double> figures[6];
  for (int round = 0; round < rounds; ++round) {
    double through_daemon = TimeRoundTrips(daemon, kRoundTrips);
    double inside = TimeRoundTrips(in_process, kRoundTrips);
    figures[0].push_back(through_daemon * 1e6);
    figures[1].push_back(inside * 1e6);
    figures[2].push_back(through_daemon / inside);
    double rate_through_daemon = TimePipelined(daemon, kPipelined);
    double rate_inside = TimePipelined(in_process, kPipelined);
    figures[3].push_back(rate_through_daemon);
    figures[4].push_back(rate_inside);
    figures[5].push_back(rate_through_daemon / rate_inside);
  }
  report.Add("one add, dispatch and read, through the daemon", "us", figures[0]);
  report.Add("one add, dispatch and read, in process", "us", figures[1]);
  report.Add("  daemon / in process (1 is best)", "ratio", figures[2]);
  report.Add("one add, pipelined dispatches, through the daemon", "1/s", figures[3]);
  report.Add("one add, pipelined dispatches, in process", "1/s", figures[4]);
  report.Add("  daemon / in process (1 is best)", "ratio", figures[5]);

  uint64_t before = daemon.bytes_sent();
  for (int i = 0; i < 100; ++i) daemon.Dispatch();
  report.Add("bytes on the socket per plain dispatch (3 tensors)", "bytes",
             {static_cast<double>(daemon.bytes_sent() - before) / 100});
  daemon.Read();
}

// Seconds from connecting to the first result, context, build and tensors included.
double TimeFirstResult(const std::string& socket) {
  double begin = Now();
  OneOperator client(webnn::Connect::ToSocket(socket));
  client.Dispatch();
  client.Read();
  return Now() - begin;
}

double TimeContext(const std::string& socket) {
  double begin = Now();
  webnn::ML ml(webnn::Connect::ToSocket(socket));
  Must(ml.Wait(ml.CreateContext()));
  return Now() - begin;
}

void MeasureStart(const std::string& program, int rounds, Report& report) {
  Daemon warm = Must(Daemon::Start(program, {}));
  Daemon cold = Must(Daemon::Start(program, {"--no-warm-spare"}));
  std::vector<double> figures[5];
  for (int round = 0; round < rounds; ++round) {
    // Time for the spare to become ready; the worker of the round before has gone meanwhile.
    usleep(700'000);
    double with_spare = TimeFirstResult(warm.socket());
    double without = TimeFirstResult(cold.socket());
    usleep(700'000);
    double context_warm = TimeContext(warm.socket());
    double context_cold = TimeContext(cold.socket());
    figures[0].push_back(with_spare * 1e3);
    figures[1].push_back(without * 1e3);
    figures[2].push_back(without / with_spare);
    figures[3].push_back(context_warm * 1e3);
    figures[4].push_back((context_cold - context_warm) * 1e3);
  }
  report.Add("connect to first result, warm spare", "ms", figures[0]);
  report.Add("connect to first result, no spare", "ms", figures[1]);
  report.Add("  no spare / warm spare", "ratio", figures[2]);
  report.Add("connect to context, warm spare", "ms", figures[3]);
  report.Add("worker start-up (context without spare, less with one)", "ms", figures[4]);
}

void MeasureMemory(const std::string& program, Report& report) {
  Daemon daemon = Must(Daemon::Start(program, {"--no-warm-spare"}));
  OneOperator client(webnn::Connect::ToSocket(daemon.socket()));
  client.Dispatch();
  client.Read();
  auto add = [&](const char* name, pid_t pid) {
    MemoryUse use = ReadMemoryUse(pid);
    report.Add(std::string("memory, resident, ") + name, "MiB",
               {static_cast<double>(use.resident_bytes) / (1 << 20)});
    if (use.proportional_bytes != 0) {
      report.Add(std::string("memory, proportional share, ") + name, "MiB",
                 {static_cast<double>(use.proportional_bytes) / (1 << 20)});
    }
  };
  add("broker", daemon.broker());
  for (pid_t worker : daemon.Workers()) add("worker with one graph", worker);
}

void MeasureMachine(int rounds, Report& report) {
  Machine machine;
  std::vector<double> figures[2];
  for (int round = 0; round < rounds; ++round) {
    figures[0].push_back(machine.StreamBandwidth());
    figures[1].push_back(machine.MultiplyAdds());
  }
  report.Add("machine: stream bandwidth, reading", "GB/s", figures[0]);
  report.Add("machine: float32 multiply-adds", "G/s", figures[1]);
}

}  // namespace

Status RunDispatch(const Options& options) {
  Report report;
  MeasureMachine(options.rounds, report);
  {
    MeasuredService daemon(/*in_process=*/false);
    MeasuredService host(/*in_process=*/true);
    OneOperator through_daemon(daemon.Connect());
    OneOperator in_process(host.Connect());
    report.AddNote("device", through_daemon.device_name());
    CompareDispatch(through_daemon, in_process, options.rounds, report);
  }
  std::string program = BesideThisProgram("webnnd");
  MeasureStart(program, options.rounds, report);
  MeasureMemory(program, report);
  report.Print();
  INVALID_IF(!options.json.empty() && !report.WriteJson(options.json),
             "the file ({}) cannot be written", options.json);
  return {};
}

}  // namespace webnnd::benchmarks
