#include "fuzz/verdict_client.h"

#include <poll.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "ipc/codec.h"
#include "webidl/operand_descriptor.h"

namespace webnnd::fuzz {
namespace {

using webidl::OperandDescriptor;

void AddConstant(service::GraphAssembler& assembler, uint32_t operand,
                 const ipc::WireDescriptor& descriptor) {
  auto checked = OperandDescriptor::Create(descriptor.data_type, descriptor.dimensions);
  if (!checked.ok()) return assembler.Fail(std::move(checked).error());
  assembler.AddConstant(operand, std::move(*checked), /*buffer=*/0);
}

// The inputs that the outputs reach.
std::vector<uint32_t> ReachedInputs(const SentGraph& graph) {
  std::set<uint32_t> reached;
  for (const ipc::GraphOutput& output : graph.outputs) reached.insert(output.operand);
  for (auto op = graph.operators.rbegin(); op != graph.operators.rend(); ++op) {
    if (std::any_of(op->results.begin(), op->results.end(),
                    [&](uint32_t result) { return reached.contains(result); })) {
      reached.insert(op->operands.begin(), op->operands.end());
    }
  }
  std::vector<uint32_t> inputs;
  for (const ipc::GraphInput& input : graph.inputs) {
    if (reached.contains(input.operand)) inputs.push_back(input.operand);
  }
  return inputs;
}

// One graph, made by calls of the client's builder.
class Replay {
 public:
  Replay(std::shared_ptr<webnn::Context> context, const SentGraph& graph)
      : builder_(std::move(context)), graph_(graph) {}

  // False where a call failed or cannot be made; the verdict says which.
  bool AddAll(Verdict& verdict) {
    // A client counts operands up, which is how the service knows in which order it made them.
    std::vector<const ipc::GraphInput*> inputs;
    for (const ipc::GraphInput& input : graph_.inputs) inputs.push_back(&input);
    std::stable_sort(inputs.begin(), inputs.end(),
                     [](const auto* a, const auto* b) { return a->operand < b->operand; });
    return std::all_of(graph_.constants.begin(), graph_.constants.end(),
                       [&](const SentConstant& constant) { return Add(constant, verdict); }) &&
           std::all_of(inputs.begin(), inputs.end(),
                       [&](const ipc::GraphInput* input) { return Add(*input, verdict); }) &&
           std::all_of(graph_.operators.begin(), graph_.operators.end(),
                       [&](const webidl::Operator& op) { return Add(op, verdict); });
  }

  // nullopt where the outputs cannot be named.
  std::optional<webnn::NamedOperands> Outputs() const {
    webnn::NamedOperands outputs;
    for (const ipc::GraphOutput& output : graph_.outputs) {
      auto operand = operands_.find(output.operand);
      if (operand == operands_.end()) return std::nullopt;
      if (!outputs.emplace(output.name, operand->second).second) return std::nullopt;
    }
    return outputs;
  }

  webnn::GraphBuilder& builder() { return builder_; }

 private:
  bool Add(const SentConstant& constant, Verdict& verdict) {
    webidl::Shape shape;
    for (const webidl::Dimension& dimension : constant.descriptor.dimensions) {
      const auto* size = std::get_if<uint32_t>(&dimension);
      if (size == nullptr) return CannotSay(verdict);
      shape.push_back(*size);
    }
    auto descriptor =
        OperandDescriptor::Create(constant.descriptor.data_type, std::span<const uint32_t>(shape));
    const std::vector<std::byte> zeros(descriptor.ok() ? descriptor->byte_length() : 0);
    return Define(constant.operand, builder_.Constant(constant.descriptor.data_type, shape, zeros),
                  verdict);
  }

  bool Add(const ipc::GraphInput& input, Verdict& verdict) {
    return Define(input.operand,
                  builder_.Input(input.name, input.descriptor.data_type,
                                 std::span<const webidl::Dimension>(input.descriptor.dimensions)),
                  verdict);
  }

  bool Add(const webidl::Operator& op, Verdict& verdict) {
    std::vector<const webnn::Operand*> slots;
    for (uint32_t id : op.operands) {
      auto operand = operands_.find(id);
      if (id != 0 && operand == operands_.end()) return CannotSay(verdict);
      slots.push_back(id == 0 ? nullptr : &operand->second);
    }
    auto results = builder_.AddOperator(op.kind, slots, op.attributes, op.label);
    if (!results.ok()) return Refuse(std::move(results).error(), verdict);
    if (results->size() != op.results.size()) return CannotSay(verdict);
    for (size_t i = 0; i < results->size(); ++i) {
      if (!Define(op.results[i], (*results)[i], verdict)) return false;
    }
    return true;
  }

  bool Define(uint32_t id, Result<webnn::Operand> operand, Verdict& verdict) {
    if (!operand.ok()) return Refuse(std::move(operand).error(), verdict);
    if (id == 0 || id > limits::kOperandsPerGraphMax ||
        !operands_.emplace(id, std::move(*operand)).second) {
      return CannotSay(verdict);
    }
    return true;
  }

  static bool Refuse(Error error, Verdict& verdict) {
    verdict.error = std::move(error);
    return false;
  }
  static bool CannotSay(Verdict& verdict) {
    verdict.inexpressible = true;
    return false;
  }

  webnn::GraphBuilder builder_;
  const SentGraph& graph_;
  std::map<uint32_t, webnn::Operand> operands_;
};

}  // namespace

Result<std::unique_ptr<ipc::Channel>> VerdictService::Connect() {
  ASSIGN_OR_RETURN(auto pair, ipc::MakeMemoryChannelPair());
  channel_ = std::move(pair.second);
  reader_ = std::make_unique<ipc::FrameReader>(*channel_);
  return std::move(pair.first);
}

void VerdictService::Serve() {
  for (;;) {
    ipc::ClientMessage message = Next();
    if (std::visit([this](auto& alternative) { return Take(alternative); }, message)) return;
  }
}

ipc::ClientMessage VerdictService::Next() {
  for (;;) {
    auto frame = reader_->Next();
    CHECK(frame.ok());
    if (frame->has_value()) {
      auto message = ipc::DecodeClientMessage(**frame, reader_->descriptors());
      CHECK(message.ok());
      return std::move(*message);
    }
    pollfd entry{.fd = channel_->read_descriptor(), .events = POLLIN, .revents = 0};
    CHECK(poll(&entry, 1, 10000) == 1);
    auto state = reader_->Fill();
    CHECK(state.ok() && *state == ipc::ChannelState::kOpen);
  }
}

bool VerdictService::Take(ipc::CreateContext& message) {
  // The client's own limit of the device must not hide what the two have in common.
  Send(ipc::ContextCreated{.context = message.context,
                           .error = std::nullopt,
                           .accelerated = false,
                           .device_name = "none",
                           .max_tensor_byte_length = limits::kTensorBytesMax});
  return true;
}

bool VerdictService::Take(ipc::AddInputs& message) {
  for (ipc::GraphInput& input : message.inputs) assembler_.AddInput(std::move(input));
  return false;
}

bool VerdictService::Take(ipc::AddConstant& message) {
  AddConstant(assembler_, message.operand, message.descriptor);
  return false;
}

bool VerdictService::Take(ipc::AddOperators& message) {
  assembler_.AddOperators(std::move(message.operators));
  return false;
}

bool VerdictService::Take(ipc::Build& message) {
  graph_ = std::exchange(assembler_, {}).Finish(message.inputs, message.outputs);
  ipc::GraphBuilt answer{.graph = message.graph, .error = std::nullopt, .kernel_count = 1};
  if (!graph_->ok()) answer.error = graph_->error();
  Send(std::move(answer));
  return true;
}

void VerdictService::Send(ipc::ServiceMessage message) {
  ipc::Frame frame = ipc::Encode(std::move(message));
  // Answers are small, and the client reads each before the next.
  CHECK(channel_->Send(frame.bytes, {}).bytes == frame.bytes.size());
}

VerdictClient::VerdictClient() : ml_(webnn::Connect::InProcess(service_)) {
  auto context = ml_.CreateContext();
  service_.Serve();
  context_ = std::move(ml_.Wait(context)).value();
}

Verdict VerdictClient::Build(const SentGraph& graph) {
  Verdict verdict;
  Replay replay(context_, graph);
  if (!replay.AddAll(verdict)) return verdict;
  auto outputs = replay.Outputs();
  if (!outputs) return Verdict{.inexpressible = true, .error = {}, .graph = {}};
  auto built = replay.builder().Build(*outputs);
  if (built.ready()) {
    CHECK(!built.result().ok());
    verdict.error = built.result().error();
    return verdict;
  }
  service_.Serve();
  const bool accepted = ml_.Wait(built).ok();
  auto understood = service_.TakeGraph();
  CHECK(accepted == understood.ok());
  if (understood.ok()) {
    verdict.graph = std::move(*understood);
  } else {
    verdict.error = std::move(understood).error();
  }
  return verdict;
}

Result<service::Graph> ServiceVerdict(const SentGraph& graph) {
  service::GraphAssembler assembler;
  for (const SentConstant& constant : graph.constants) {
    AddConstant(assembler, constant.operand, constant.descriptor);
  }
  for (const ipc::GraphInput& input : graph.inputs) assembler.AddInput(input);
  assembler.AddOperators(graph.operators);
  return std::move(assembler).Finish(ReachedInputs(graph), graph.outputs);
}

}  // namespace webnnd::fuzz
