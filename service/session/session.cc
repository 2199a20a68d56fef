#include "service/session/session.h"

#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <span>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/trace.h"
#include "ipc/codec.h"

namespace webnnd::service {
namespace {

// A round trip of a small graph; two wake-ups of a processor that sleeps.
constexpr uint64_t kLookNs = 100'000;

}  // namespace

Result<std::unique_ptr<Session>> Session::Create(std::unique_ptr<ipc::Channel> channel,
                                                 SessionOptions options) {
  CHECK(!options.devices.empty());
  ASSIGN_OR_RETURN(std::unique_ptr<Outbox> outbox,
                   Outbox::Create(*channel, {.tasks = limits::kTasksInFlightMax,
                                             .dispatches = options.quota.dispatches_in_flight,
                                             .bytes = options.quota.bytes_in_flight}));
  return std::unique_ptr<Session>(
      new Session(std::move(channel), std::move(outbox), std::move(options)));
}

Session::Session(std::unique_ptr<ipc::Channel> channel, std::unique_ptr<Outbox> outbox,
                 SessionOptions options)
    : channel_(std::move(channel)),
      outbox_(std::move(outbox)),
      reader_(*channel_),
      quota_(options.quota),
      device_bytes_(std::make_shared<DeviceQuota>("bytes of device memory", quota_.device_bytes)),
      operators_(std::make_shared<Budget>("operators", quota_.operators)),
      graph_host_bytes_(std::make_shared<Budget>("bytes of described graphs",
                                                 limits::kGraphHostBytesPerSessionMax)),
      timeline_(std::move(options.devices), device_bytes_,
                {.dispatch_limit = std::chrono::milliseconds(quota_.dispatch_ms),
                 .hang_grace = options.hang_grace},
                *outbox_, metrics_, options.has_threads) {}

Session::~Session() = default;

ClientFigures Session::Figures() const {
  return {.contexts = directory_.count(ipc::ObjectType::kContext),
          .tensors = directory_.count(ipc::ObjectType::kTensor),
          .graphs = directory_.count(ipc::ObjectType::kGraph),
          .bindings = directory_.count(ipc::ObjectType::kBinding),
          .device_bytes = device_bytes_->used(),
          .dispatches = metrics_.accepted(),
          .dispatches_failed = metrics_.failed(),
          .dispatches_stopped = metrics_.stopped(),
          .dispatches_in_flight = metrics_.in_flight(),
          .latency_median_us = metrics_.latencies().Quantile(0.5),
          .latency_p95_us = metrics_.latencies().Quantile(0.95)};
}

void Session::Run(const PolledSource& extra) {
  while (Step(extra, /*timeout_ms=*/-1)) {
  }
  channel_->Close();
}

bool Session::Step(const PolledSource& extra, int timeout_ms) {
  // Looked at first: when another thread sends all of it from here on, nobody wakes this one, and
  // then HandleFrames must not have stopped for it.
  bool sends = outbox_->has_pending();
  if (outbox_->ended() || outbox_->broken() || !HandleFrames()) return false;
  timeline_.RunShort();
  timeline_.RunPending();
  bool reads = !outbox_->saturated();
  pollfd polled[] = {
      {outbox_->wake_descriptor(), POLLIN, 0},
      {extra.descriptor, POLLIN, 0},
      // Without events it still tells that the client is gone, where the channel is a socket.
      {channel_->read_descriptor(), static_cast<short>(reads ? POLLIN : 0), 0},
      {sends ? channel_->write_descriptor() : -1, POLLOUT, 0},
  };
  if (Wait(polled, timeout_ms) < 0) {
    if (errno == EINTR) return true;
    LogError("{}", ErrnoError("poll").message());
    return false;
  }
  if (polled[0].revents != 0) outbox_->ClearWake();
  if (polled[1].revents != 0 && !extra.on_readable()) return false;
  if (polled[3].revents != 0) outbox_->Flush();
  if (polled[2].revents != 0 && (!reads || !ReadFromClient())) return false;
  // The same of a channel that has a descriptor for each way.
  return (polled[3].revents & (POLLERR | POLLHUP)) == 0;
}

int Session::Wait(std::span<pollfd> polled, int timeout_ms) {
  if (timeout_ms == 0) return poll(polled.data(), polled.size(), 0);
  const uint64_t begin_ns = MonotonicNs();
  int ready = 0;
  while (looks_ && ready == 0 && MonotonicNs() - begin_ns < kLookNs) {
    ready = poll(polled.data(), polled.size(), 0);
    if (ready == 0) sched_yield();
  }
  if (ready == 0) ready = poll(polled.data(), polled.size(), timeout_ms);
  looks_ = MonotonicNs() - begin_ns < kLookNs;
  return ready;
}

bool Session::ReadFromClient() {
  auto filled = reader_.Fill();
  if (!filled.ok()) {
    Refuse(filled.error());
    return false;
  }
  if (*filled == ipc::ChannelState::kOpen) return true;
  HandleFrames();
  if (reader_.HasPartialFrame()) LogInfo("the client is gone in the middle of a frame");
  return false;
}

bool Session::HandleFrames() {
  while (!outbox_->saturated()) {
    auto next = reader_.Next();
    if (!next.ok()) {
      Refuse(next.error());
      return false;
    }
    if (!next->has_value()) return true;
    if (Outcome outcome = HandleFrame(**next); !outcome.ok()) {
      Refuse(outcome.error());
      return false;
    }
  }
  return true;
}

void Session::Refuse(const BadMessage& reason) {
  LogWarning("the session ends, for a bad message: {}", reason.message);
  outbox_->End(reason.message);
  outbox_->Flush();
}

Session::Outcome Session::HandleFrame(std::span<const std::byte> frame) {
  ASSIGN_OR_RETURN(ipc::ClientMessage message,
                   ipc::DecodeClientMessage(frame, reader_.descriptors()));
  bool is_hello = std::holds_alternative<ipc::Hello>(message);
  if (is_hello != (arenas_ == nullptr)) {
    return MakeBadMessage("the first message, and no other, is Hello");
  }
  return std::visit([this](auto&& alternative) { return On(std::move(alternative)); },
                    std::move(message));
}

Session::Outcome Session::On(ipc::Hello&& message) {
  if (message.schema_hash != ipc::CurrentSchemaHash()) {
    return MakeBadMessage("the client and the service are of different builds (schema hash)");
  }
  auto map = [](const UniqueFd& fd, uint64_t bytes,
                ipc::SharedMapping::Access access) -> Result<ipc::SharedMapping, BadMessage> {
    TRY(ipc::CheckSealedMemfd(fd.get(), bytes));
    auto mapping = ipc::SharedMapping::Map(fd.get(), bytes, access);
    if (!mapping.ok()) return MakeBadMessage("{}", mapping.error().message());
    return std::move(mapping).value();
  };
  auto arenas = std::make_shared<Arenas>();
  ASSIGN_OR_RETURN(arenas->up,
                   map(message.up_arena, message.up_bytes, ipc::SharedMapping::Access::kRead));
  ASSIGN_OR_RETURN(arenas->down, map(message.down_arena, message.down_bytes,
                                     ipc::SharedMapping::Access::kReadWrite));
  arenas_ = std::move(arenas);
  return {};
}

// --- Contexts -----------------------------------------------------------------------------------

std::optional<Error> Session::OverCount(ipc::ObjectType type, std::string_view what,
                                        uint64_t limit) const {
  const uint64_t count = directory_.count(type);
  if (count <= limit) return std::nullopt;
  return QuotaError("the client has more {} ({}) than its limit ({})", what, count, limit);
}

Session::Outcome Session::On(ipc::CreateContext&& message) {
  auto context = std::make_shared<ContextObject>(message.context, message);
  TRY(directory_.Insert(context));
  timeline_.CreateContext(std::move(context),
                          OverCount(ipc::ObjectType::kContext, "contexts", quota_.contexts));
  return {};
}

Session::Outcome Session::On(ipc::DestroyContext&& message) {
  ASSIGN_OR_RETURN(auto context, directory_.Remove<ContextObject>(message.context));
  if (context == nullptr) return {};
  auto objects = directory_.RemoveOf(*context);
  // At once, as where they are destroyed one by one.
  for (const auto& object : objects) {
    if (object->type == ipc::ObjectType::kGraph) {
      static_cast<GraphObject&>(*object).share.operators = {};
    } else if (object->type == ipc::ObjectType::kBuilder) {
      static_cast<BuilderObject&>(*object).share = {};
    }
  }
  timeline_.DestroyContext(std::move(context), std::move(objects));
  return {};
}

// --- Tensors ------------------------------------------------------------------------------------

namespace {

// Fills in the descriptor, or says why it is none.
std::optional<Error> SetDescriptor(TensorObject& tensor, const ipc::WireDescriptor& descriptor) {
  auto checked = webidl::OperandDescriptor::Create(descriptor.data_type, descriptor.dimensions);
  if (!checked.ok()) return std::move(checked).error();
  if (tensor.constant && checked->is_dynamic()) {
    return ValidationError("the shape of the constant ({}) is dynamic", checked->ToString());
  }
  tensor.descriptor = std::move(checked).value();
  tensor.current = tensor.descriptor.AtCapacity();
  return std::nullopt;
}

}  // namespace

Session::Outcome Session::On(ipc::CreateTensor&& message) {
  ASSIGN_OR_RETURN(auto context, directory_.Find<ContextObject>(message.context));
  // Its context is gone, and with it whoever waits for an answer. What names the tensor later finds
  // a context that has no timeline.
  if (context == nullptr)
    context = std::make_shared<ContextObject>(message.context, ipc::CreateContext{});
  auto tensor = std::make_shared<TensorObject>(message.tensor, std::move(context));
  tensor->readable = message.readable;
  tensor->writable = message.writable;
  auto error = SetDescriptor(*tensor, message.descriptor);
  TRY(directory_.Insert(tensor));
  if (!error) error = OverCount(ipc::ObjectType::kTensor, "tensors", quota_.tensors);
  timeline_.CreateTensor(std::move(tensor), std::move(error));
  return {};
}

Session::Outcome Session::On(ipc::CreateConstantTensor&& message) {
  ASSIGN_OR_RETURN(auto context, directory_.Find<ContextObject>(message.context));
  if (context == nullptr)
    context = std::make_shared<ContextObject>(message.context, ipc::CreateContext{});
  ASSIGN_OR_RETURN(PayloadSource data, PayloadSource::Open(arenas_, std::move(message.data)));
  auto tensor = std::make_shared<TensorObject>(message.tensor, std::move(context));
  tensor->constant = true;
  auto error = SetDescriptor(*tensor, message.descriptor);
  TRY(directory_.Insert(tensor));
  if (!error) error = OverCount(ipc::ObjectType::kTensor, "tensors", quota_.tensors);
  timeline_.CreateConstant(std::move(tensor), std::move(error), std::move(data), /*replies=*/true);
  return {};
}

Session::Outcome Session::On(ipc::DestroyTensor&& message) {
  ASSIGN_OR_RETURN(auto tensor, directory_.Remove<TensorObject>(message.tensor));
  if (tensor != nullptr) timeline_.DestroyTensor(std::move(tensor));
  return {};
}

Session::Outcome Session::On(ipc::WriteTensor&& message) {
  ASSIGN_OR_RETURN(auto tensor, directory_.Find<TensorObject>(message.tensor));
  ASSIGN_OR_RETURN(PayloadSource data, PayloadSource::Open(arenas_, std::move(message.data)));
  if (tensor == nullptr) {
    timeline_.Discard(std::move(data));
  } else {
    timeline_.WriteTensor(std::move(tensor), std::move(data));
  }
  return {};
}

Session::Outcome Session::On(ipc::ResizeTensor&& message) {
  ASSIGN_OR_RETURN(auto tensor, directory_.Find<TensorObject>(message.tensor));
  if (tensor != nullptr) timeline_.ResizeTensor(std::move(tensor), std::move(message.shape));
  return {};
}

Session::Outcome Session::On(ipc::ReadTensor&& message) {
  ASSIGN_OR_RETURN(auto tensor, directory_.Find<TensorObject>(message.tensor));
  ASSIGN_OR_RETURN(ReadTarget target, ReadTarget::Open(arenas_, std::move(message.destination)));
  if (tensor == nullptr) {
    outbox_->Send(ipc::TensorRead{message.request, InvalidStateError("the tensor was destroyed")});
  } else {
    timeline_.ReadTensor(std::move(tensor), message.request, std::move(target));
  }
  return {};
}

// --- Graphs -------------------------------------------------------------------------------------

Session::Outcome Session::On(ipc::CreateBuilder&& message) {
  ASSIGN_OR_RETURN(auto context, directory_.Find<ContextObject>(message.context));
  if (directory_.count(ipc::ObjectType::kBuilder) >= limits::kBuildersPerSessionMax) {
    return MakeBadMessage("the session has more builders than the limit ({})",
                          limits::kBuildersPerSessionMax);
  }
  if (context == nullptr)
    context = std::make_shared<ContextObject>(message.context, ipc::CreateContext{});
  return directory_.Insert(std::make_shared<BuilderObject>(message.builder, std::move(context)));
}

Session::Outcome Session::On(ipc::DestroyBuilder&& message) {
  TRY(directory_.Remove<BuilderObject>(message.builder));
  return {};
}

Session::Outcome Session::On(ipc::AddInputs&& message) {
  ASSIGN_OR_RETURN(auto builder, directory_.Find<BuilderObject>(message.builder));
  if (builder == nullptr) return {};
  for (ipc::GraphInput& input : message.inputs) builder->assembler.AddInput(std::move(input));
  Charge(*builder);
  return {};
}

Session::Outcome Session::On(ipc::AddConstant&& message) {
  ASSIGN_OR_RETURN(auto builder, directory_.Find<BuilderObject>(message.builder));
  ASSIGN_OR_RETURN(PayloadSource data, PayloadSource::Open(arenas_, std::move(message.data)));
  if (builder == nullptr || builder->assembler.failed()) {
    timeline_.Discard(std::move(data));
    return {};
  }
  auto constant = std::make_shared<TensorObject>(ipc::Handle{}, builder->context);
  constant->constant = true;
  auto error = SetDescriptor(*constant, message.descriptor);
  if (builder->constants.size() >= limits::kOperandsPerGraphMax) {
    return MakeBadMessage("the graph has more constants than the limit ({})",
                          limits::kOperandsPerGraphMax);
  }
  builder->assembler.AddConstant(message.operand, constant->descriptor,
                                 static_cast<uint32_t>(builder->constants.size()));
  builder->constants.push_back(constant);
  Charge(*builder);
  timeline_.CreateConstant(std::move(constant), std::move(error), std::move(data),
                           /*replies=*/false);
  return {};
}

Session::Outcome Session::On(ipc::AddConstantTensor&& message) {
  ASSIGN_OR_RETURN(auto builder, directory_.Find<BuilderObject>(message.builder));
  ASSIGN_OR_RETURN(auto tensor, directory_.Find<TensorObject>(message.tensor));
  if (builder == nullptr) return {};
  GraphAssembler& assembler = builder->assembler;
  if (tensor == nullptr) {
    assembler.Fail(InvalidStateError("a constant tensor of the graph was destroyed"));
  } else if (!tensor->constant) {
    assembler.Fail(ValidationError("the tensor for the constant ({}) is not a constant tensor",
                                   message.operand));
  } else if (tensor->context != builder->context) {
    assembler.Fail(ValidationError(
        "the constant tensor for the constant ({}) is of another context", message.operand));
  } else if (builder->constants.size() < limits::kOperandsPerGraphMax) {
    assembler.AddConstant(message.operand, tensor->descriptor,
                          static_cast<uint32_t>(builder->constants.size()));
    builder->constants.push_back(std::move(tensor));
    Charge(*builder);
  } else {
    assembler.Fail(QuotaError("the graph has more constants than the limit ({})",
                              limits::kOperandsPerGraphMax));
  }
  return {};
}

Session::Outcome Session::On(ipc::AddOperators&& message) {
  ASSIGN_OR_RETURN(auto builder, directory_.Find<BuilderObject>(message.builder));
  if (builder == nullptr) return {};
  builder->assembler.AddOperators(std::move(message.operators));
  Charge(*builder);
  return {};
}

void Session::Charge(BuilderObject& builder) {
  GraphAssembler& assembler = builder.assembler;
  auto charge = [&]() -> Status {
    TRY(Budget::Extend(operators_, assembler.operator_count(), builder.share.operators));
    const uint64_t constants = builder.constants.size() * sizeof(TensorObject);
    return Budget::Extend(graph_host_bytes_, assembler.host_bytes() + constants,
                          builder.share.host_bytes);
  };
  if (Status status = charge(); !status.ok()) assembler.Fail(std::move(status).error());
  if (!assembler.failed()) return;
  // It collects nothing more, and holds nothing.
  builder.constants.clear();
  builder.share = {};
}

Session::Outcome Session::On(ipc::Build&& message) {
  ASSIGN_OR_RETURN(auto builder, directory_.Remove<BuilderObject>(message.builder));
  // The builder is gone, and its context with it: the graph still gets its handle.
  if (builder == nullptr) {
    auto gone = std::make_shared<ContextObject>(ipc::Handle{}, ipc::CreateContext{});
    builder = std::make_shared<BuilderObject>(message.builder, std::move(gone));
  }
  auto graph = std::make_shared<GraphObject>(message.graph, builder->context);
  TRY(directory_.Insert(graph));
  if (auto refused = OverCount(ipc::ObjectType::kGraph, "graphs", quota_.graphs)) {
    builder->assembler.Fail(*std::move(refused));
    // It takes nothing of the session.
    Charge(*builder);
  }
  graph->share = std::move(builder->share);
  timeline_.Build(std::move(builder), std::move(graph), std::move(message.inputs),
                  std::move(message.outputs));
  return {};
}

Session::Outcome Session::On(ipc::DestroyGraph&& message) {
  ASSIGN_OR_RETURN(auto graph, directory_.Remove<GraphObject>(message.graph));
  if (graph == nullptr) return {};
  // At once, so that the next graph finds room; its memory follows when nothing uses it any more.
  graph->share.operators = {};
  timeline_.DestroyGraph(std::move(graph));
  return {};
}

// --- Dispatches ---------------------------------------------------------------------------------

template <class Message>
Result<std::shared_ptr<BindingObject>, BadMessage> Session::MakeBinding(
    ipc::Handle handle, const Message& message) const {
  ASSIGN_OR_RETURN(auto graph, directory_.Find<GraphObject>(message.graph));
  auto find = [this](const std::vector<ipc::Handle>& handles)
      -> Result<std::vector<std::shared_ptr<TensorObject>>, BadMessage> {
    std::vector<std::shared_ptr<TensorObject>> tensors;
    for (ipc::Handle handle : handles) {
      ASSIGN_OR_RETURN(auto tensor, directory_.Find<TensorObject>(handle));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  };
  ASSIGN_OR_RETURN(auto inputs, find(message.inputs));
  ASSIGN_OR_RETURN(auto outputs, find(message.outputs));
  if (graph == nullptr) return std::shared_ptr<BindingObject>();
  return std::make_shared<BindingObject>(handle, std::move(graph), std::move(inputs),
                                         std::move(outputs));
}

Session::Outcome Session::On(ipc::Dispatch&& message) {
  ASSIGN_OR_RETURN(auto binding, MakeBinding(ipc::Handle{}, message));
  if (binding != nullptr) timeline_.Dispatch(std::move(binding));
  return {};
}

Session::Outcome Session::On(ipc::CreateBinding&& message) {
  ASSIGN_OR_RETURN(auto binding, MakeBinding(message.binding, message));
  // Its graph is gone: what names the binding later finds one that cannot be dispatched.
  std::optional<Error> refused;
  if (binding == nullptr) {
    auto gone = std::make_shared<ContextObject>(ipc::Handle{}, ipc::CreateContext{});
    auto graph = std::make_shared<GraphObject>(ipc::Handle{}, std::move(gone));
    graph->built = true;
    binding = std::make_shared<BindingObject>(message.binding, std::move(graph),
                                              std::vector<std::shared_ptr<TensorObject>>(),
                                              std::vector<std::shared_ptr<TensorObject>>());
    refused = InvalidStateError("the graph was destroyed");
  }
  TRY(directory_.Insert(binding));
  // Refused ones hold their tensors too. A client counts to the limit as well.
  if (directory_.count(ipc::ObjectType::kBinding) >
      quota_.bindings + limits::kBindingsPerSessionMax) {
    return MakeBadMessage("the session has far more bindings than the limit ({})", quota_.bindings);
  }
  if (!refused) refused = OverCount(ipc::ObjectType::kBinding, "bindings", quota_.bindings);
  timeline_.CreateBinding(std::move(binding), std::move(refused));
  return {};
}

Session::Outcome Session::On(ipc::DestroyBinding&& message) {
  ASSIGN_OR_RETURN(auto binding, directory_.Remove<BindingObject>(message.binding));
  if (binding != nullptr) timeline_.DestroyBinding(std::move(binding));
  return {};
}

Session::Outcome Session::On(ipc::DispatchBinding&& message) {
  ASSIGN_OR_RETURN(auto binding, directory_.Find<BindingObject>(message.binding));
  if (binding != nullptr) timeline_.Dispatch(std::move(binding));
  return {};
}

}  // namespace webnnd::service
