#include "tests/simulation/peer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "ipc/codec.h"
#include "ipc/shared_memory.h"

namespace webnnd::service {
namespace {

using ipc::Handle;
using ipc::ObjectType;

// Requests that travel together; now and then more than the service takes in at once.
constexpr uint32_t kRoundsAtOnceMax = 4;
constexpr uint32_t kRoundsInFloodMax = 400;
// It goes over its quotas by so much, and never has more than that of anything.
constexpr size_t kObjectsOver = 3;
constexpr size_t kObjectsMax = 16;
constexpr uint32_t kOperatorsAtOnceMax = 3;
// Names nothing, ever.
constexpr Handle kNever{limits::kObjectsPerSessionMax - 1, 1};

ipc::WireDescriptor Floats(uint32_t count) { return {webidl::OperandDataType::kFloat32, {count}}; }

std::string Names(const Mirror::Causes& causes) {
  if (causes.empty()) return "none";
  std::string names;
  for (Cause cause : causes) {
    names += names.empty() ? "" : " or ";
    names += CauseName(cause);
  }
  return names;
}

// Whether there is enough of it, or already more than there may be.
bool IsFull(size_t count, uint64_t quota) {
  return count >= std::min<uint64_t>(quota + kObjectsOver, kObjectsMax);
}

}  // namespace

Peer::Peer(std::unique_ptr<ipc::Channel> channel, uint64_t seed, int rounds, const Quota& quota)
    : channel_(std::move(channel)),
      reader_(*channel_),
      writer_(*channel_),
      mirror_(quota),
      state_(seed),
      rounds_(rounds),
      elements_(4u << (2 * Draw(3))) {}

// splitmix64: the same on every machine.
uint32_t Peer::Draw(uint32_t bound) {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return static_cast<uint32_t>((z ^ z >> 31) >> 32) % bound;
}

template <class T>
Handle Peer::DrawFrom(const Mirror::Table<T>& table) {
  return Handle::Unpack(std::next(table.begin(), Draw(static_cast<uint32_t>(table.size())))->first);
}

Handle Peer::DrawContext() {
  if (destroyed_context_ && OneIn(8)) return *destroyed_context_;
  return DrawFrom(mirror_.contexts());
}

void Peer::Send(ipc::ClientMessage message) { writer_.Queue(ipc::Encode(std::move(message))); }

void Peer::Turn(bool reads) {
  if (reads) Receive();
  if (ended_) return;
  if (!begun_) Begin();
  if (rests_) {
    // Until all is answered, and a little longer.
    rests_ = waits();
  } else if (awaited_.empty()) {
    const uint32_t at_once = Draw(OneIn(8) ? kRoundsInFloodMax : kRoundsAtOnceMax) + 1;
    for (uint32_t i = 0; i < at_once && rounds_ > 0; ++i) Round();
    if (rounds_ == 0 && !gone_through_ && awaited_.empty()) DestroyAll();
    rests_ = OneIn(2);
  }
  writer_.Flush();
}

// More times than it takes to empty a pipe in memory.
void Peer::Drain() {
  for (int i = 0; i < 32 && !ended_ && !wrong_; ++i) Receive();
}

void Peer::DrainToEnd() {
  deaf_ = true;
  Drain();
}

std::string Peer::WaitsFor() const {
  if (!awaited_.empty()) {
    return fmt::format("{} {}", awaited_.begin()->second.what,
                       Handle::Unpack(awaited_.begin()->first).index);
  }
  if (!reads_.empty()) return fmt::format("read {}", reads_.begin()->first);
  return "nothing";
}

// --- What it does -------------------------------------------------------------------------------

void Peer::Begin() {
  begun_ = true;
  auto arena = [] {
    return std::move(ipc::CreateSealedMemfd("simulated", limits::kArenaBytesMin)).value();
  };
  Send(ipc::Hello{ipc::CurrentSchemaHash(), arena(), limits::kArenaBytesMin, arena(),
                  limits::kArenaBytesMin});
  context_ = MakeContext();
  for (Handle* tensor : {&a_, &b_, &sum_}) *tensor = MakeTensor(context_, elements_);
  const Handle builder = MakeBuilder(context_);
  AddChain(builder, 1);
  graph_ = MakeGraph(builder);
  binding_ = MakeBinding(graph_, {a_, b_}, sum_);
}

void Peer::Round() {
  --rounds_;
  if (OneIn(2)) {
    for (uint32_t changes = 1 + Draw(4); changes > 0; --changes) Change();
  } else {
    Work();
  }
}

void Peer::Work() {
  for (uint32_t writes = Draw(3); writes > 0; --writes) Write(DrawFrom(mirror_.tensors()));
  switch (Draw(6)) {
    case 0:
      Dispatch(graph_, {a_, b_}, sum_);
      break;
    case 1:
      DispatchBinding(binding_);
      break;
    case 2:
      DispatchBinding(DrawFrom(mirror_.bindings()));
      break;
    default: {
      // Rather one that may take too long.
      Handle graph = DrawFrom(mirror_.graphs());
      const Handle other = DrawFrom(mirror_.graphs());
      auto kernels = [&](Handle of) { return mirror_.graphs().at(of.Pack()).kernels; };
      if (kernels(other) > kernels(graph)) graph = other;
      if (auto endpoints = DrawEndpoints(graph, /*for_binding=*/false)) {
        Dispatch(graph, endpoints->inputs, endpoints->output);
      }
    }
  }
  Read(OneIn(2) ? sum_ : DrawFrom(mirror_.tensors()));
  if (destroyed_tensor_ && OneIn(8)) Read(*destroyed_tensor_);
}

void Peer::Change() {
  if (OneIn(12)) return AskTooMuch();
  const uint32_t choice = Draw(6);
  const Quota& quota = mirror_.quota();
  const bool full[] = {IsFull(mirror_.contexts().size(), quota.contexts),
                       IsFull(mirror_.tensors().size(), quota.tensors),
                       IsFull(mirror_.builders().size(), kObjectsOver),
                       IsFull(mirror_.graphs().size(), quota.graphs),
                       IsFull(mirror_.bindings().size(), quota.bindings),
                       false};
  if (full[choice] || OneIn(4)) {
    Shrink(choice);
  } else {
    Grow(choice);
  }
}

void Peer::Grow(uint32_t choice) {
  switch (choice) {
    case 0:
      MakeContext();
      break;
    case 1:
      MakeTensor(DrawContext(), elements_);
      break;
    case 2:
      AddChain(MakeBuilder(DrawContext()), 1 + Draw(kOperatorsAtOnceMax));
      break;
    case 3:
      if (mirror_.builders().empty()) break;
      MakeGraph(DrawFrom(mirror_.builders()));
      break;
    case 4: {
      const Handle graph = DrawFrom(mirror_.graphs());
      if (auto endpoints = DrawEndpoints(graph, /*for_binding=*/true)) {
        MakeBinding(graph, endpoints->inputs, endpoints->output);
      }
      break;
    }
    default:
      if (mirror_.builders().empty()) break;
      AddChain(DrawFrom(mirror_.builders()), 1 + Draw(kOperatorsAtOnceMax));
  }
}

void Peer::Shrink(uint32_t choice) {
  auto destroy = [&](ObjectType type, Handle handle) {
    for (Handle kept : {context_, a_, b_, sum_, graph_, binding_}) {
      if (handle == kept) return;
    }
    Destroy(type, handle);
  };
  switch (choice) {
    case 0:
      return destroy(ObjectType::kContext, DrawFrom(mirror_.contexts()));
    case 1:
      return destroy(ObjectType::kTensor, DrawFrom(mirror_.tensors()));
    case 3:
      return destroy(ObjectType::kGraph, DrawFrom(mirror_.graphs()));
    case 4:
      return destroy(ObjectType::kBinding, DrawFrom(mirror_.bindings()));
    default:
      if (mirror_.builders().empty()) return;
      return destroy(ObjectType::kBuilder, DrawFrom(mirror_.builders()));
  }
}

// And then asks for one thing, so that it knows when that is done.
void Peer::DestroyAll() {
  gone_through_ = true;
  auto destroy_all = [&](ObjectType type, const auto& table) {
    while (!table.empty()) Destroy(type, Handle::Unpack(table.begin()->first));
  };
  // Some things go with their context.
  if (OneIn(2)) {
    destroy_all(ObjectType::kBinding, mirror_.bindings());
    destroy_all(ObjectType::kGraph, mirror_.graphs());
    destroy_all(ObjectType::kTensor, mirror_.tensors());
  }
  destroy_all(ObjectType::kContext, mirror_.contexts());
  // What was made for a context that was gone.
  destroy_all(ObjectType::kTensor, mirror_.tensors());
  destroy_all(ObjectType::kGraph, mirror_.graphs());
  destroy_all(ObjectType::kBuilder, mirror_.builders());
  MakeContext();
}

Load Peer::Flood() {
  const Quota& quota = mirror_.quota();
  const uint64_t bytes = elements_ * sizeof(float);
  // What fails does not stay in flight.
  const bool sound = mirror_.Read(a_).causes.empty() && mirror_.Read(b_).causes.empty();
  const bool dispatches = sound && OneIn(2);
  const bool reads = sound && OneIn(2);
  // So many fill it.
  uint64_t full = std::min<uint64_t>(
      limits::kTasksInFlightMax,
      dispatches ? quota.dispatches_in_flight : (quota.bytes_in_flight + bytes - 1) / bytes);
  // Most of the time, since the largest take long.
  const uint64_t count = full <= 64 || OneIn(8) ? full + Draw(8) : Draw(64) + 1;
  for (uint64_t i = 0; i < count; ++i) {
    if (dispatches) {
      DispatchBinding(binding_);
    } else if (reads) {
      Read(OneIn(2) ? a_ : b_);
    } else {
      Write(OneIn(2) ? a_ : b_);
    }
  }
  writer_.Flush();
  const uint64_t taken = std::min(full, count);
  return {.tasks = taken,
          .dispatches = dispatches ? taken : 0,
          .bytes = dispatches ? 0 : taken * bytes};
}

void Peer::FinishFlood() {
  for (Handle tensor : {a_, b_, sum_}) Read(tensor);
  writer_.Flush();
}

void Peer::Misbehave() {
  if (!begun_) Begin();
  // A handle that was never made.
  Send(ipc::DestroyTensor{kNever});
  writer_.Flush();
}

void Peer::StopInTheMiddle() {
  ipc::Frame frame = ipc::Encode(ipc::CreateContext{.context = {1, 1}});
  (void)channel_->Send(std::span(frame.bytes).first(frame.bytes.size() / 2), {});
  ended_ = true;
}

// --- Messages -----------------------------------------------------------------------------------

Handle Peer::NewHandle() {
  if (free_.empty() || OneIn(2)) return {++last_index_, 1};
  const Handle last = free_.back();
  free_.pop_back();
  return {last.index, last.generation + 1};
}

// Operators are not fused, so that each is a kernel.
Handle Peer::MakeContext() {
  const Handle context = NewHandle();
  Send(ipc::CreateContext{.context = context, .fusion = false});
  awaited_[context.Pack()] = {"context", mirror_.CreateContext(context)};
  return context;
}

Handle Peer::MakeTensor(Handle context, uint32_t elements) {
  const Handle tensor = NewHandle();
  Send(ipc::CreateTensor{context, tensor, Floats(elements), /*readable=*/true, /*writable=*/true});
  awaited_[tensor.Pack()] = {"tensor",
                             mirror_.CreateTensor(context, tensor, elements * sizeof(float))};
  return tensor;
}

void Peer::AskTooMuch() {
  const uint64_t elements = mirror_.quota().device_bytes / sizeof(float) + 1;
  const Handle tensor = MakeTensor(DrawContext(), static_cast<uint32_t>(elements));
  Destroy(ObjectType::kTensor, tensor);
}

Handle Peer::MakeBuilder(Handle context) {
  const Handle builder = NewHandle();
  Send(ipc::CreateBuilder{context, builder});
  mirror_.CreateBuilder(context, builder);
  Send(ipc::AddInputs{builder, {{1, "a", Floats(elements_)}, {2, "b", Floats(elements_)}}});
  chains_[builder.index] = 0;
  return builder;
}

// 3 = 1 + 2, 4 = 3 + 2, ...
void Peer::AddChain(Handle builder, uint32_t count) {
  uint32_t& length = chains_[builder.index];
  std::vector<webidl::Operator> operators;
  for (uint32_t i = 0; i < count; ++i, ++length) {
    operators.push_back({webidl::OperatorKind::kAdd,
                         {length == 0 ? 1 : 2 + length, 2},
                         {3 + length},
                         "",
                         webidl::NoAttributes{}});
  }
  Send(ipc::AddOperators{builder, std::move(operators)});
  mirror_.AddOperators(builder, count);
}

Handle Peer::MakeGraph(Handle builder) {
  const Handle graph = NewHandle();
  Send(ipc::Build{builder, graph, {1, 2}, {{"sum", 2 + chains_[builder.index]}}});
  Awaited& awaited = awaited_[graph.Pack()];
  awaited = {"graph", mirror_.Build(builder, graph, /*input_count=*/2)};
  awaited.kernels = mirror_.graphs().at(graph.Pack()).kernels;
  free_.push_back(builder);
  return graph;
}

Handle Peer::MakeBinding(Handle graph, std::vector<Handle> inputs, Handle output) {
  const Handle binding = NewHandle();
  Send(ipc::CreateBinding{binding, graph, inputs, {output}});
  mirror_.CreateBinding(binding, graph, std::move(inputs), output);
  return binding;
}

void Peer::Destroy(ObjectType type, Handle handle) {
  switch (type) {
    case ObjectType::kContext: {
      // What it had is gone as well, and its handles are free.
      auto free_of = [&](const auto& table) {
        for (const auto& [packed, object] : table) {
          if (object.context == handle) free_.push_back(Handle::Unpack(packed));
        }
      };
      free_of(mirror_.tensors());
      free_of(mirror_.builders());
      free_of(mirror_.graphs());
      free_of(mirror_.bindings());
      Send(ipc::DestroyContext{handle});
      mirror_.DestroyContext(handle);
      destroyed_context_ = handle;
      break;
    }
    case ObjectType::kTensor:
      Send(ipc::DestroyTensor{handle});
      mirror_.DestroyTensor(handle);
      destroyed_tensor_ = handle;
      break;
    case ObjectType::kBuilder:
      Send(ipc::DestroyBuilder{handle});
      mirror_.DestroyBuilder(handle);
      break;
    case ObjectType::kGraph:
      Send(ipc::DestroyGraph{handle});
      mirror_.DestroyGraph(handle);
      break;
    case ObjectType::kBinding:
      Send(ipc::DestroyBinding{handle});
      mirror_.DestroyBinding(handle);
      break;
  }
  free_.push_back(handle);
}

void Peer::Write(Handle tensor) {
  Bytes bytes(elements_ * sizeof(float));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(Draw(256));
  mirror_.WriteTensor(tensor, bytes);
  Send(ipc::WriteTensor{tensor, ipc::InlinePayload{std::move(bytes)}});
}

void Peer::Read(Handle tensor) {
  const uint64_t request = ++last_request_;
  reads_[request] = mirror_.Read(tensor);
  Send(ipc::ReadTensor{tensor, request, ipc::InlineDestination{}});
}

void Peer::Dispatch(Handle graph, const std::vector<Handle>& inputs, Handle output) {
  Send(ipc::Dispatch{graph, inputs, {output}});
  mirror_.Dispatch(graph, inputs, output);
}

void Peer::DispatchBinding(Handle binding) {
  Send(ipc::DispatchBinding{binding});
  mirror_.DispatchBinding(binding);
}

std::optional<Peer::Endpoints> Peer::DrawEndpoints(Handle graph, bool for_binding) {
  const Mirror::Graph& of = mirror_.graphs().at(graph.Pack());
  std::vector<Handle> tensors;
  for (const auto& [packed, tensor] : mirror_.tensors()) {
    if (tensor.context == of.context) tensors.push_back(Handle::Unpack(packed));
  }
  for (size_t i = tensors.size(); i > 1; --i) {
    std::swap(tensors[i - 1], tensors[Draw(static_cast<uint32_t>(i))]);
  }
  const bool in_place = for_binding && OneIn(3);
  if (tensors.size() < of.input_count + (in_place ? 0 : 1)) return std::nullopt;
  Endpoints endpoints;
  endpoints.output = in_place ? tensors.front() : tensors[of.input_count];
  tensors.resize(of.input_count);
  endpoints.inputs = std::move(tensors);
  return endpoints;
}

// --- Answers ------------------------------------------------------------------------------------

void Peer::Receive() {
  auto filled = reader_.Fill();
  if (!filled.ok()) return Fail("what it gets is no frame: " + filled.error().message);
  while (true) {
    auto frame = reader_.Next();
    if (!frame.ok()) return Fail("what it gets is no frame: " + frame.error().message);
    if (!frame->has_value()) break;
    auto message = ipc::DecodeServiceMessage(**frame, reader_.descriptors());
    if (!message.ok()) return Fail("what it gets is no message: " + message.error().message);
    OnMessage(std::move(*message));
  }
  if (*filled == ipc::ChannelState::kClosed) ended_ = true;
}

void Peer::OnMessage(ipc::ServiceMessage message) {
  if (deaf_) return;
  auto error_of = [](const auto& reply) { return reply.error ? &*reply.error : nullptr; };
  if (auto* goodbye = std::get_if<ipc::Goodbye>(&message)) {
    goodbye_ = std::move(goodbye->message);
  } else if (auto* lost = std::get_if<ipc::ContextLost>(&message)) {
    Fail(fmt::format("context {} is lost: {}", lost->context.index, lost->message));
  } else if (auto* context = std::get_if<ipc::ContextCreated>(&message)) {
    Answered(context->context, error_of(*context));
  } else if (auto* tensor = std::get_if<ipc::TensorCreated>(&message)) {
    Answered(tensor->tensor, error_of(*tensor));
  } else if (auto* graph = std::get_if<ipc::GraphBuilt>(&message)) {
    Answered(graph->graph, error_of(*graph), graph->kernel_count);
  } else if (auto* read = std::get_if<ipc::TensorRead>(&message)) {
    OnRead(*read);
  }
}

void Peer::OnRead(const ipc::TensorRead& read) {
  auto found = reads_.find(read.request);
  if (found == reads_.end()) return Fail(fmt::format("read {} is not asked", read.request));
  const Mirror::Content& wanted = found->second;
  if (read.error) {
    if (!wanted.causes.contains(read.error->cause())) {
      Fail(fmt::format("read {} must fail with {}, and does so with {}", read.request,
                       Names(wanted.causes), read.error->ToString()));
    }
  } else if (!wanted.causes.empty()) {
    Fail(
        fmt::format("read {} must fail with {}, and does not", read.request, Names(wanted.causes)));
  } else if (read.bytes != wanted.bytes) {
    Fail(fmt::format("read {} answers wrong bytes", read.request));
  } else {
    // Those that fail need not wait for the device.
    for (auto other = reads_.begin(); other != found; ++other) {
      if (other->second.causes.empty() && other->second.context == wanted.context) {
        Fail(fmt::format("read {} overtakes read {}", read.request, other->first));
      }
    }
  }
  reads_.erase(found);
  ++answers_;
}

void Peer::Answered(Handle handle, const Error* error, uint32_t kernels) {
  auto found = awaited_.find(handle.Pack());
  if (found == awaited_.end()) return Fail(fmt::format("handle {} is not asked", handle.index));
  const Awaited& wanted = found->second;
  const bool right = error != nullptr ? wanted.causes.contains(error->cause())
                                      : wanted.causes.empty() && kernels == wanted.kernels;
  if (!right) {
    Fail(fmt::format("{} {} must fail with {} or have {} kernels; it has {}, error: {}",
                     wanted.what, handle.index, Names(wanted.causes), wanted.kernels, kernels,
                     error != nullptr ? error->ToString() : "none"));
  }
  awaited_.erase(found);
  ++answers_;
}

}  // namespace webnnd::service
