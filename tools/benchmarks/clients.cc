#include "tools/benchmarks/clients.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/webnn.h"
#include "tools/benchmarks/graph_runner.h"
#include "tools/benchmarks/measured_service.h"
#include "tools/benchmarks/must.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

constexpr int kClients = 8;
// Of the device's capacity, where clients pause between their dispatches.
constexpr double kLightLoad = 0.25;
constexpr double kPhaseSeconds = 2;
// A product of matrices of so many rows: some milliseconds on one core.
constexpr uint32_t kRows = 384;

// A connection, a context and a graph of its own.
class Client {
 public:
  explicit Client(const MeasuredService& service)
      : ml_(service.Connect()),
        context_(Must(ml_.Wait(ml_.CreateContext()))),
        runner_(ml_, context_, [](GraphSketch& sketch) {
          auto a = sketch.Input(webnn::OperandDataType::kFloat32, {kRows, kRows}, 0);
          auto b = sketch.Input(webnn::OperandDataType::kFloat32, {kRows, kRows}, 0);
          sketch.Output(Must(sketch->Matmul(a, b)));
        }) {
    runner_.SecondsPerDispatch(2);
  }

  // Seconds from a dispatch to its result.
  double Latency() { return runner_.SecondsPerDispatch(1); }
  GraphRunner& runner() { return runner_; }
  webnn::ML& ml() { return ml_; }
  const std::shared_ptr<webnn::Context>& context() { return context_; }

 private:
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  GraphRunner runner_;
};

void Pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// Latencies of a client that dispatches every `interval` seconds, or at once where that is over.
std::vector<double> Measure(Client& client, double interval) {
  std::vector<double> latencies;
  const double end = Now() + kPhaseSeconds;
  for (double next = Now(); Now() < end; next += interval) {
    if (next > Now()) Pause(next - Now());
    latencies.push_back(client.Latency());
  }
  return latencies;
}

double Median(const std::vector<double>& samples) { return Summarize(samples).median; }

// The median of each of the clients, all at work at once. They start out of step.
std::vector<double> MeasureTogether(std::vector<std::unique_ptr<Client>>& clients,
                                    double interval) {
  std::vector<double> medians(clients.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients.size(); ++i) {
    threads.emplace_back([&, i] {
      Pause(interval * static_cast<double>(i) / static_cast<double>(clients.size()));
      medians[i] = Median(Measure(*clients[i], interval));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return medians;
}

// --- Hostile clients ----------------------------------------------------------------------------
// Each does what it does until `stop`; errors, such as a full queue, do not stop it.

using Hostile = std::function<void(Client& client, const std::atomic<bool>& stop)>;

void FloodWithDispatches(Client& client, const std::atomic<bool>& stop) {
  webnn::ML& ml = client.ml();
  while (!stop) {
    client.runner().SecondsPerDispatch(32);
    ml.ProcessEvents();
  }
}

void BuildInALoop(Client& client, const std::atomic<bool>& stop) {
  for (uint32_t i = 0; !stop; ++i) {
    webnn::GraphBuilder builder(client.context());
    webnn::Operand value =
        Must(builder.Input("x", webnn::OperandDataType::kFloat32, webnn::Shape{64 + i % 64, 64}));
    for (int layer = 0; layer < 200; ++layer) {
      value = Must(layer % 2 == 0 ? builder.Softmax(value, 1) : builder.Tanh(value));
    }
    (void)client.ml().Wait(builder.Build({{"y", value}})).ok();
  }
}

void WriteInALoop(Client& client, const std::atomic<bool>& stop) {
  const std::vector<std::byte> bytes(4 << 20);
  auto tensor = Must(client.ml().Wait(client.context()->CreateTensor(
      {webnn::OperandDataType::kUint8, {4 << 20}, /*readable=*/true, /*writable=*/true})));
  std::array<std::byte, 4 << 10> nothing;
  auto small = Must(client.ml().Wait(client.context()->CreateTensor(
      {webnn::OperandDataType::kUint8, {4 << 10}, /*readable=*/true, /*writable=*/true})));
  while (!stop) {
    for (int i = 0; i < 4; ++i) (void)client.context()->WriteTensor(*tensor, bytes).ok();
    (void)client.ml().Wait(client.context()->ReadTensor(*small, nothing)).ok();
  }
}

void ReadWithoutTaking(Client& client, const std::atomic<bool>& stop) {
  auto tensor = Must(client.ml().Wait(client.context()->CreateTensor(
      {webnn::OperandDataType::kUint8, {1 << 20}, /*readable=*/true, /*writable=*/true})));
  while (!stop) {
    // What has come is never taken.
    for (int i = 0; i < 64; ++i) (void)client.context()->ReadTensor(*tensor);
    Pause(0.01);
  }
}

struct HostileCase {
  const char* name;
  Hostile run;
};

const std::vector<HostileCase>& HostileCases() {
  static const auto* cases = new std::vector<HostileCase>{
      {"floods with dispatches", FloodWithDispatches},
      {"builds in a loop", BuildInALoop},
      {"writes in a loop", WriteInALoop},
      {"does not take its answers", ReadWithoutTaking},
  };
  return *cases;
}

double MeasureBeside(const MeasuredService& service, Client& good, const HostileCase& hostile) {
  std::atomic<bool> stop{false};
  std::atomic<bool> begun{false};
  std::thread thread([&] {
    Client client(service);
    begun = true;
    hostile.run(client, stop);
  });
  while (!begun) Pause(0.001);
  Pause(0.2);
  const double median = Median(Measure(good, 0));
  stop = true;
  thread.join();
  return median;
}

struct Samples {
  std::vector<double> alone, together, light;
  std::vector<std::vector<double>> beside;
};

}  // namespace

Status RunClients(const Options& options) {
  MeasuredService service(options.in_process);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(std::make_unique<Client>(service));
  Samples samples;
  samples.beside.resize(HostileCases().size());
  std::vector<double> together_worst, light_worst;
  std::vector<double> together_ratio, light_ratio;
  std::vector<std::vector<double>> beside_ratio(HostileCases().size());
  for (int round = 0; round < options.rounds; ++round) {
    std::fprintf(stderr, "clients: round %d of %d\n", round + 1, options.rounds);
    const double alone = Median(Measure(*clients[0], 0));
    samples.alone.push_back(1e3 * alone);
    const std::vector<double> together = MeasureTogether(clients, 0);
    samples.together.push_back(1e3 * Median(together));
    together_worst.push_back(1e3 * *std::max_element(together.begin(), together.end()));
    together_ratio.push_back(*std::max_element(together.begin(), together.end()) /
                             (kClients * alone));
    const std::vector<double> light = MeasureTogether(clients, kClients * alone / kLightLoad);
    samples.light.push_back(1e3 * Median(light));
    light_worst.push_back(1e3 * *std::max_element(light.begin(), light.end()));
    light_ratio.push_back(*std::max_element(light.begin(), light.end()) / alone);
    for (size_t i = 0; i < HostileCases().size(); ++i) {
      const double beside = MeasureBeside(service, *clients[0], HostileCases()[i]);
      samples.beside[i].push_back(1e3 * beside);
      beside_ratio[i].push_back(beside / alone);
    }
  }
  Report report;
  report.Add("alone", "ms", samples.alone);
  report.Add("8 equal clients", "ms", samples.together);
  report.Add("  the slowest of them", "ms", together_worst);
  report.Add("  the same / (8 x alone), at most 1.25", "x", together_ratio);
  report.Add("8 clients, a quarter of the capacity", "ms", samples.light);
  report.Add("  the slowest of them", "ms", light_worst);
  report.Add("  the same / alone, at most 2", "x", light_ratio);
  for (size_t i = 0; i < HostileCases().size(); ++i) {
    const std::string name = HostileCases()[i].name;
    report.Add("beside one that " + name, "ms", samples.beside[i]);
    report.Add("  the same / alone, at most 2", "x", beside_ratio[i]);
  }
  report.Print();
  if (!options.json.empty() && !report.WriteJson(options.json)) {
    return ValidationError("the file cannot be written ({})", options.json);
  }
  return {};
}

}  // namespace webnnd::benchmarks
