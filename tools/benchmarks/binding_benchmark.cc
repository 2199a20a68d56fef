#include "tools/benchmarks/binding_benchmark.h"

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/webnn.h"
#include "service/graph/graph_assembler.h"
#include "service/passes/compile.h"
#include "service/vulkan/device.h"
#include "service/vulkan/open_devices.h"
#include "tools/benchmarks/measured_service.h"
#include "tools/benchmarks/must.h"

namespace webnnd::benchmarks {
namespace {

using webnn::Operand;
using webnn::OperandDataType;

const webnn::Shape kShape = {8, 32};
constexpr int kLinks = 50;
constexpr int kDispatches = 200;
// What is compared takes turns, of a few milliseconds each: lavapipe's threads settle to one rhythm
// or another for seconds, in which a kernel takes half as long again.
constexpr int kTurns = 20;
// Longer ones where each side has threads of its own, which sleep meanwhile.
constexpr int kLongTurns = 4;
constexpr int kPairsPerRound = 5;

// A chain of kernels, each of which waits for the one before, bound once.
class BoundChain {
 public:
  // `tensors_everywhere`: every link has an input and an output of its own; else the chain has two
  // inputs and one output. The kernels are the same.
  BoundChain(webnn::ML& ml, int links, bool tensors_everywhere)
      : ml_(ml), context_(Must(ml_.Wait(ml_.CreateContext()))) {
    webnn::GraphBuilder builder(context_);
    webnn::NamedOperands results;
    Operand x = Input(builder);
    Operand shared = Input(builder);
    for (int i = 0; i < links; ++i) {
      Operand other = tensors_everywhere && i > 0 ? Input(builder) : shared;
      // What sums along rows is fused with nothing.
      x = Must(builder.CumulativeSum(Must(builder.Sub(x, other)), 1));
      bool is_last = i + 1 == links;
      if (tensors_everywhere || is_last) results.emplace("y" + std::to_string(i), x);
    }
    graph_ = Must(ml_.Wait(builder.Build(results)));
    webnn::NamedTensors outputs;
    for (const auto& [name, result] : results) outputs.emplace(name, result_ = MakeTensor());
    tensor_count_ = inputs_.size() + outputs.size();
    binding_ = Must(context_->Bind(*graph_, inputs_, outputs));
    SecondsPerDispatch(kDispatches / 4);
  }

  // Of dispatches that follow each other without waiting.
  double SecondsPerDispatch(int count) {
    double begin = Now();
    for (int i = 0; i < count; ++i) Must(context_->Dispatch(*binding_));
    Read();
    return (Now() - begin) / count;
  }
  double SecondsPerRoundTrip(int count) {
    double begin = Now();
    for (int i = 0; i < count; ++i) {
      Must(context_->Dispatch(*binding_));
      Read();
    }
    return (Now() - begin) / count;
  }
  double BytesPerDispatch(int count) {
    uint64_t before = context_->bytes_sent();
    for (int i = 0; i < count; ++i) Must(context_->Dispatch(*binding_));
    uint64_t after = context_->bytes_sent();
    Read();
    return static_cast<double>(after - before) / count;
  }
  uint32_t kernel_count() const { return graph_->kernel_count(); }
  size_t tensor_count() const { return tensor_count_; }

 private:
  std::shared_ptr<webnn::Tensor> MakeTensor() {
    return Must(ml_.Wait(context_->CreateTensor({OperandDataType::kFloat32, kShape, true, true})));
  }
  Operand Input(webnn::GraphBuilder& builder) {
    std::string name = "x" + std::to_string(inputs_.size());
    inputs_.emplace(name, MakeTensor());
    return Must(builder.Input(name, OperandDataType::kFloat32, kShape));
  }
  void Read() { Must(ml_.Wait(context_->ReadTensor(*result_))); }

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<webnn::Graph> graph_;
  std::shared_ptr<webnn::Binding> binding_;
  webnn::NamedTensors inputs_;
  std::shared_ptr<webnn::Tensor> result_;
  size_t tensor_count_ = 0;
};

// One link of the chain on the executor itself: what the driver takes to submit and to wait, with
// one thread that waits and one that is told.
class BareExecutor {
 public:
  BareExecutor() : device_(Must(service::OpenDevices({}, {})).front()) {
    const ipc::WireDescriptor descriptor{OperandDataType::kFloat32, {kShape.begin(), kShape.end()}};
    service::GraphAssembler assembler;
    assembler.AddInput({1, "x", descriptor});
    assembler.AddInput({2, "other", descriptor});
    std::vector<webidl::Operator> operators = {
        {webidl::OperatorKind::kSub, {1, 2}, {3}, "", webidl::NoAttributes{}},
        {webidl::OperatorKind::kCumulativeSum,
         {3},
         {4},
         "",
         webidl::CumulativeSumAttributes{.axis = 1}}};
    assembler.AddOperators(std::move(operators));
    service::Graph graph = Must(std::move(assembler).Finish({1, 2}, {{"y", 4}}));
    service::CompiledGraph compiled = Must(service::CompileGraph(std::move(graph), {}));
    auto executable = Must(service::Executable::Create(device_, std::move(compiled.plan), {}));
    for (auto& buffer : buffers_) buffer = Must(device_->Allocate(kBytes));
    binding_ =
        Must(service::Binding::Create(executable, {buffers_[0], buffers_[1]}, {buffers_[2]}));
    timeline_ = Must(service::Timeline::Create(device_));
    for (auto& buffer : buffers_) Must(timeline_->Clear(buffer));
    SecondsPerRoundTrip(kDispatches / 4);
  }

  double SecondsPerRoundTrip(int count) {
    double begin = Now();
    for (int i = 0; i < count; ++i) {
      std::promise<void> read;
      Must(timeline_->Dispatch(binding_));
      Must(timeline_->Read(buffers_[2], kBytes,
                           [&](Result<std::span<const std::byte>>) { read.set_value(); }));
      Must(timeline_->Flush());
      read.get_future().get();
    }
    return (Now() - begin) / count;
  }

 private:
  static constexpr uint64_t kBytes = 8 * 32 * sizeof(float);

  std::shared_ptr<service::Device> device_;
  std::shared_ptr<service::Buffer> buffers_[3];
  std::shared_ptr<service::Binding> binding_;
  std::unique_ptr<service::Timeline> timeline_;
};

}  // namespace

void MeasureBindings(int rounds, Report& report) {
  MeasuredService daemon(/*in_process=*/false);
  // Of one worker, whose threads have one rhythm.
  webnn::ML ml(daemon.Connect());
  BoundChain few(ml, kLinks, /*tensors_everywhere=*/false);
  BoundChain many(ml, kLinks, /*tensors_everywhere=*/true);
  if (few.kernel_count() != many.kernel_count()) {
    Must(Status(InternalError("the chains differ: ({}) kernels and {}", few.kernel_count(),
                              many.kernel_count())));
  }
  BoundChain tiny(ml, 1, /*tensors_everywhere=*/false);
  BareExecutor executor;
  std::vector<double> figures[6];
  for (int pair = 0; pair < rounds * kPairsPerRound; ++pair) {
    double with_few = 0, with_many = 0, round_trip = 0, bare = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      with_few += few.SecondsPerDispatch(kDispatches / kTurns) / kTurns;
      with_many += many.SecondsPerDispatch(kDispatches / kTurns) / kTurns;
    }
    for (int turn = 0; turn < kLongTurns; ++turn) {
      round_trip += tiny.SecondsPerRoundTrip(kDispatches / kLongTurns) / kLongTurns;
      bare += executor.SecondsPerRoundTrip(kDispatches / kLongTurns) / kLongTurns;
    }
    figures[0].push_back(with_few * 1e6);
    figures[1].push_back(with_many * 1e6);
    figures[2].push_back(with_many / with_few);
    figures[3].push_back(round_trip * 1e6);
    figures[4].push_back(bare * 1e6);
    figures[5].push_back((round_trip - bare) * 1e6);
  }
  auto count = [](size_t tensors) { return std::to_string(tensors) + " tensors"; };
  report.Add("bound dispatch, " + count(few.tensor_count()), "us", figures[0]);
  report.Add("bound dispatch, " + count(many.tensor_count()) + ", the same kernels", "us",
             figures[1]);
  report.Add("  many / few", "ratio", figures[2]);
  report.Add("bytes on the socket per bound dispatch", "bytes",
             {many.BytesPerDispatch(kDispatches)});
  report.Add("two kernels, bound dispatch and read, through the daemon", "us", figures[3]);
  report.Add("the same on the executor alone: submit, wait, callback", "us", figures[4]);
  report.Add("  the difference", "us", figures[5]);
}

}  // namespace webnnd::benchmarks
