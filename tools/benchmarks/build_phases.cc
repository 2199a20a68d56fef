#include "tools/benchmarks/build_phases.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "ipc/codec.h"
#include "ipc/messages.h"
#include "service/graph/graph_assembler.h"
#include "service/passes/compile.h"
#include "service/vulkan/device.h"
#include "service/vulkan/open_devices.h"
#include "tools/benchmarks/must.h"

namespace webnnd::benchmarks {
namespace {

using webidl::OperatorKind;

constexpr uint32_t kInput = 1;
constexpr uint32_t kOther = 2;
constexpr uint32_t kResult = kOther + kChainOperators;

std::vector<webidl::Operator> ChainOperators() {
  constexpr OperatorKind kKinds[] = {OperatorKind::kAdd, OperatorKind::kRelu, OperatorKind::kMul,
                                     OperatorKind::kAbs, OperatorKind::kMax,  OperatorKind::kNeg,
                                     OperatorKind::kSub, OperatorKind::kSqrt};
  std::vector<webidl::Operator> operators;
  for (uint32_t i = 0; i < kChainOperators; ++i) {
    uint32_t previous = i == 0 ? kInput : kOther + i;
    std::vector<uint32_t> operands = {previous};
    if (i % 2 == 0) operands.push_back(kOther);
    operators.push_back({kKinds[i % std::size(kKinds)],
                         std::move(operands),
                         {kOther + 1 + i},
                         "",
                         webidl::NoAttributes{}});
  }
  return operators;
}

std::vector<ipc::Frame> EncodeChain(std::vector<webidl::Operator> operators) {
  std::vector<ipc::Frame> frames;
  ipc::AddOperators message{{1, 1}, {}};
  for (webidl::Operator& op : operators) {
    message.operators.push_back(std::move(op));
    if (message.operators.size() < limits::kOperatorsPerChunk) continue;
    frames.push_back(ipc::Encode(std::exchange(message, {{1, 1}, {}})));
  }
  if (!message.operators.empty()) frames.push_back(ipc::Encode(std::move(message)));
  return frames;
}

std::vector<ipc::AddOperators> DecodeChain(const std::vector<ipc::Frame>& frames) {
  std::vector<ipc::AddOperators> messages;
  std::deque<UniqueFd> descriptors;
  for (const ipc::Frame& frame : frames) {
    auto message = ipc::DecodeClientMessage(frame.bytes, descriptors);
    CHECK(message.ok());
    messages.push_back(std::get<ipc::AddOperators>(std::move(*message)));
  }
  return messages;
}

service::Graph Validate(std::vector<ipc::AddOperators> messages) {
  const std::vector<webidl::Dimension> shape = {kChainSize, kChainSize};
  const ipc::WireDescriptor descriptor{webidl::OperandDataType::kFloat32, shape};
  service::GraphAssembler assembler;
  assembler.AddInput({kInput, "input", descriptor});
  assembler.AddInput({kOther, "other", descriptor});
  for (ipc::AddOperators& message : messages) assembler.AddOperators(std::move(message.operators));
  return Must(std::move(assembler).Finish({kInput, kOther}, {{"output", kResult}}));
}

// Lets one phase after the other go into a row of its own.
class Stopwatch {
 public:
  explicit Stopwatch(std::vector<std::pair<std::string, std::vector<double>>>& rows)
      : rows_(rows), begin_(Now()) {}

  // What happened since the last call, or since the beginning, was `phase`.
  void Lap(const std::string& phase) {
    double now = Now();
    if (lap_ == rows_.size()) rows_.push_back({phase, {}});
    rows_[lap_++].second.push_back((now - begin_) * 1e3);
    begin_ = Now();
  }

 private:
  std::vector<std::pair<std::string, std::vector<double>>>& rows_;
  size_t lap_ = 0;
  double begin_;
};

}  // namespace

void MeasureBuildPhases(int rounds, Report& report) {
  std::shared_ptr<service::Device> device = Must(service::OpenDevices({}, {})).front();
  constexpr uint64_t kBytes = uint64_t{kChainSize} * kChainSize * sizeof(float);
  std::vector<std::shared_ptr<service::Buffer>> inputs = {Must(device->Allocate(kBytes)),
                                                          Must(device->Allocate(kBytes))};
  std::vector<std::shared_ptr<service::Buffer>> outputs = {Must(device->Allocate(kBytes))};
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  uint64_t arena_bytes = 0;
  // The first round compiles the pipelines.
  for (int round = -1; round < rounds; ++round) {
    std::vector<std::pair<std::string, std::vector<double>>> unused;
    std::vector<webidl::Operator> operators = ChainOperators();
    Stopwatch stopwatch(round < 0 ? unused : rows);
    std::vector<ipc::Frame> frames = EncodeChain(std::move(operators));
    stopwatch.Lap("encoding");
    std::vector<ipc::AddOperators> messages = DecodeChain(frames);
    stopwatch.Lap("decoding");
    service::Graph graph = Validate(std::move(messages));
    stopwatch.Lap("validation and inference");
    service::CompiledGraph compiled = Must(service::CompileGraph(std::move(graph), {}));
    stopwatch.Lap("passes and memory plan");
    arena_bytes = compiled.plan.arena_bytes;
    auto executable = Must(service::Executable::Create(device, std::move(compiled.plan), {}));
    stopwatch.Lap("parameters, pipelines looked up");
    auto binding = Must(service::Binding::Create(executable, inputs, outputs));
    stopwatch.Lap("first dispatch: descriptors and recording");
  }
  for (const auto& [phase, samples] : rows) report.Add("  " + phase, "ms", samples);
  report.Add("  arena, in intermediates", "count", {static_cast<double>(arena_bytes) / kBytes});
}

}  // namespace webnnd::benchmarks
