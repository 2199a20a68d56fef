#include "client/context_impl.h"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ipc/shared_memory.h"

namespace webnn {
namespace {

namespace ipc = webnnd::ipc;
using webnnd::DeviceLostError;
using webnnd::InvalidStateError;
using webnnd::UniqueFd;
using webnnd::ValidationError;
using webnnd::webidl::Assignment;
using webnnd::webidl::BoundEndpoint;
using webnnd::webidl::Dimension;

// Descriptors that fit the device, however they came about.
Result<OperandDescriptor> MakeDescriptor(OperandDataType data_type, const Shape& shape) {
  return OperandDescriptor::Create(data_type, std::span<const uint32_t>(shape));
}

}  // namespace

ipc::WireDescriptor ToWire(const OperandDescriptor& descriptor) {
  return {descriptor.data_type(), descriptor.dimensions()};
}

Error AsCallersError(const Error& answer) {
  if (answer.cause() != Cause::kValidation) return answer;
  Error error(Cause::kInternal, answer.message());
  for (const std::string& doing : answer.context()) error.AddContext(doing);
  return error.AddContext("the service checked again what the client had accepted");
}

Result<UniqueFd> DuplicateFile(int descriptor, uint64_t offset, uint64_t length) {
  UniqueFd copy(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy) {
    if (errno == EMFILE) return webnnd::OutOfMemoryError("the process has no descriptor left");
    return ValidationError("the descriptor ({}) is not open", descriptor);
  }
  // What the service would end the session for is the caller's mistake here.
  if (auto range = ipc::CheckFileRange(copy.get(), offset, length); !range.ok()) {
    return ValidationError("{}", range.error().message);
  }
  return copy;
}

ContextImpl::ContextImpl(std::shared_ptr<Session> session, std::shared_ptr<EventQueue> events,
                         ipc::Handle handle, const ContextOptions& options, LimitSet limits)
    : session_(std::move(session)),
      events_(std::move(events)),
      handle_(handle),
      caches_bindings_(options.binding_cache),
      limit_set_(limits) {}

ContextImpl::~ContextImpl() {
  // Tensors, graphs and pending calls hold the context, so that none is left here.
  session_->RemoveContext(this);
  if (lost_) return;
  // Nobody can use it any more; but somebody may still wait for `lost`.
  events_->Post([lost = lost_future_]() mutable {
    lost.Resolve(ContextLostInfo{"the last reference to the context is gone"});
  });
  for (ipc::Handle binding : binding_cache_.Clear()) DestroyBinding(binding);
  if (!session_->ended()) connection().Send(ipc::DestroyContext{handle_});
  session_->ReleaseHandle(handle_);
}

void ContextImpl::Begin(const ipc::ContextCreated& message) {
  accelerated_ = message.accelerated;
  device_name_ = message.device_name;
  op_support_limits_ =
      webnnd::webidl::MakeOpSupportLimits(message.max_tensor_byte_length, limit_set_);
}

void ContextImpl::Lose(const std::string& reason, Cause aborted) {
  if (std::exchange(lost_, true)) return;
  lost_reason_ = reason;
  events_->Post([lost = lost_future_, reason]() mutable { lost.Resolve(ContextLostInfo{reason}); });
  for (auto& reject :
       TakePending(Error(aborted, fmt::format("the context is lost ({})", reason)))) {
    events_->Post(std::move(reject));
  }
  // Destroying removes from the sets.
  for (Binding* binding : std::set<Binding*>(bindings_)) binding->Destroy();
  for (ipc::Handle binding : binding_cache_.Clear()) DestroyBinding(binding);
  for (Graph* graph : std::set<Graph*>(graphs_)) graph->Destroy();
  for (Tensor* tensor : std::set<Tensor*>(tensors_)) tensor->Destroy();
  if (!session_->ended()) connection().Send(ipc::DestroyContext{handle_});
  session_->ReleaseHandle(handle_);
  session_->RemoveContext(this);
}

// All that is pending, as tasks that reject in the order of the calls.
std::vector<std::function<void()>> ContextImpl::TakePending(const Error& error) {
  std::map<uint64_t, std::function<void()>> ordered;
  for (auto& [handle, pending] : std::exchange(pending_tensors_, {})) {
    ordered.emplace(pending.order, [pending = std::move(pending), error]() mutable {
      pending.future.Resolve(error);
    });
  }
  for (auto& [handle, pending] : std::exchange(pending_graphs_, {})) {
    ordered.emplace(pending.order, [pending = std::move(pending), error]() mutable {
      pending.future.Resolve(error);
    });
  }
  for (auto& [request, pending] : std::exchange(pending_reads_, {})) {
    ordered.emplace(pending.order,
                    [pending = std::move(pending), error]() mutable { pending.Reject(error); });
  }
  std::vector<std::function<void()>> tasks;
  for (auto& [order, task] : ordered) tasks.push_back(std::move(task));
  return tasks;
}

// --- Checks -------------------------------------------------------------------------------------

Result<void> ContextImpl::CheckLive() const {
  if (lost_) return InvalidStateError("the context is lost ({})", lost_reason_);
  return {};
}

Result<OperandDescriptor> ContextImpl::CheckDescriptor(Result<OperandDescriptor> descriptor) const {
  ASSIGN_OR_RETURN(OperandDescriptor checked, std::move(descriptor));
  INVALID_IF(checked.byte_length() > op_support_limits_.max_tensor_byte_length,
             "the bytes ({}) of {} exceed the device's limit ({})", checked.byte_length(),
             checked.ToString(), op_support_limits_.max_tensor_byte_length);
  // Inputs, constants and outputs have the same limits.
  const webnnd::webidl::TensorConstraint& limits = op_support_limits_.input;
  INVALID_IF(!limits.types.Contains(checked.data_type()),
             "the data type ({}) is not one of the supported ones ({})",
             webnnd::webidl::ToString(checked.data_type()), limits.types.ToString());
  INVALID_IF(checked.rank() < limits.rank_min || checked.rank() > limits.rank_max,
             "the rank ({}) of the shape is not in the supported range ({} to {})", checked.rank(),
             limits.rank_min, limits.rank_max);
  return checked;
}

std::string ContextImpl::TensorGone() const {
  return lost_ ? fmt::format("the tensor's context is lost ({})", lost_reason_)
               : "the tensor is destroyed";
}

// --- Tensors ------------------------------------------------------------------------------------

// A tensor whose creation is sent next: from here on its destructor tells the service.
std::shared_ptr<Tensor> ContextImpl::NewTensor(ipc::Handle handle, OperandDescriptor descriptor,
                                               bool readable, bool writable, bool constant) {
  return std::make_shared<Tensor>(shared_from_this(), handle.Pack(), std::move(descriptor),
                                  readable, writable, constant);
}

Future<std::shared_ptr<Tensor>> ContextImpl::Await(std::shared_ptr<Tensor> tensor) {
  Future<std::shared_ptr<Tensor>> future;
  const uint64_t handle = tensor->handle_;
  pending_tensors_.emplace(handle, PendingTensor{next_order_++, std::move(tensor), future});
  return future;
}

Result<std::shared_ptr<Tensor>> ContextImpl::SendCreateTensor(const TensorDescriptor& asked) {
  TRY(CheckLive());
  ASSIGN_OR_RETURN(OperandDescriptor descriptor,
                   CheckDescriptor(OperandDescriptor::Create(
                       asked.data_type, std::span<const Dimension>(asked.shape.dimensions()))));
  TRY(connection().CheckRoom());
  ASSIGN_OR_RETURN(const ipc::Handle handle, session_->AllocateHandle());
  std::shared_ptr<Tensor> tensor =
      NewTensor(handle, std::move(descriptor), asked.readable, asked.writable, false);
  connection().Send(ipc::CreateTensor{.context = handle_,
                                      .tensor = handle,
                                      .descriptor = ToWire(tensor->descriptor()),
                                      .readable = asked.readable,
                                      .writable = asked.writable});
  return tensor;
}

Future<std::shared_ptr<Tensor>> ContextImpl::CreateTensor(const TensorDescriptor& descriptor) {
  auto tensor = SendCreateTensor(descriptor);
  if (!tensor.ok()) return Future<std::shared_ptr<Tensor>>::Ready(std::move(tensor).error());
  return Await(std::move(*tensor));
}

Result<OperandDescriptor> ContextImpl::CheckConstant(OperandDataType data_type,
                                                     const Shape& shape) {
  TRY(CheckLive());
  ASSIGN_OR_RETURN(OperandDescriptor descriptor, CheckDescriptor(MakeDescriptor(data_type, shape)));
  TRY(connection().CheckRoom());
  return descriptor;
}

std::shared_ptr<Tensor> ContextImpl::SendCreateConstant(ipc::Handle handle,
                                                        OperandDescriptor descriptor,
                                                        ipc::Payload payload) {
  std::shared_ptr<Tensor> tensor = NewTensor(handle, std::move(descriptor), false, false, true);
  connection().Send(ipc::CreateConstantTensor{.context = handle_,
                                              .tensor = handle,
                                              .descriptor = ToWire(tensor->descriptor()),
                                              .data = std::move(payload)});
  return tensor;
}

Future<std::shared_ptr<Tensor>> ContextImpl::CreateConstantTensor(OperandDataType data_type,
                                                                  const Shape& shape,
                                                                  std::span<const std::byte> data) {
  const auto send = [&]() -> Result<std::shared_ptr<Tensor>> {
    ASSIGN_OR_RETURN(OperandDescriptor descriptor, CheckConstant(data_type, shape));
    INVALID_IF(data.size() != descriptor.byte_length(),
               "the bytes ({}) of the data are not those of {} ({})", data.size(),
               descriptor.ToString(), descriptor.byte_length());
    ASSIGN_OR_RETURN(const ipc::Handle handle, session_->AllocateHandle());
    auto payload = connection().Stage(data);
    if (!payload.ok()) {
      session_->ReleaseHandle(handle);
      return std::move(payload).error();
    }
    return SendCreateConstant(handle, std::move(descriptor), std::move(*payload));
  };
  auto tensor = send();
  if (!tensor.ok()) return Future<std::shared_ptr<Tensor>>::Ready(std::move(tensor).error());
  return Await(std::move(*tensor));
}

Future<std::shared_ptr<Tensor>> ContextImpl::CreateConstantTensorFromFile(OperandDataType data_type,
                                                                          const Shape& shape,
                                                                          int file,
                                                                          uint64_t offset) {
  const auto send = [&]() -> Result<std::shared_ptr<Tensor>> {
    ASSIGN_OR_RETURN(OperandDescriptor descriptor, CheckConstant(data_type, shape));
    ASSIGN_OR_RETURN(UniqueFd copy, DuplicateFile(file, offset, descriptor.byte_length()));
    ASSIGN_OR_RETURN(const ipc::Handle handle, session_->AllocateHandle());
    ipc::FilePayload payload{std::move(copy), offset, descriptor.byte_length()};
    return SendCreateConstant(handle, std::move(descriptor), std::move(payload));
  };
  auto tensor = send();
  if (!tensor.ok()) return Future<std::shared_ptr<Tensor>>::Ready(std::move(tensor).error());
  return Await(std::move(*tensor));
}

bool ContextImpl::OnTensorCreated(const ipc::TensorCreated& message) {
  const auto entry = pending_tensors_.find(message.tensor.Pack());
  if (entry == pending_tensors_.end()) return false;
  PendingTensor pending = std::move(entry->second);
  pending_tensors_.erase(entry);
  if (message.error) {
    pending.future.Resolve(AsCallersError(*message.error));
  } else {
    pending.future.Resolve(std::move(pending.tensor));
  }
  return true;
}

void ContextImpl::DestroyTensor(Tensor& tensor) {
  const Error destroyed = InvalidStateError("the tensor is destroyed");
  for (auto read = pending_reads_.begin(); read != pending_reads_.end();) {
    if (read->second.tensor.get() != &tensor) {
      ++read;
      continue;
    }
    events_->Post(
        [pending = std::move(read->second), destroyed]() mutable { pending.Reject(destroyed); });
    read = pending_reads_.erase(read);
  }
  for (Binding* binding : bindings_) {
    for (const auto& bound : binding->tensors_) binding->lacks_tensor_ |= bound.get() == &tensor;
  }
  for (ipc::Handle binding : binding_cache_.Erase(tensor.handle_)) DestroyBinding(binding);
  // Destroying is never refused: there are no more of these than objects.
  const ipc::Handle handle = ipc::Handle::Unpack(tensor.handle_);
  if (!session_->ended()) connection().Send(ipc::DestroyTensor{handle});
  session_->ReleaseHandle(handle);
}

Result<void> ContextImpl::WriteTensor(Tensor& tensor, std::span<const std::byte> data) {
  INVALID_IF(tensor.context_.get() != this, "the tensor is of another context");
  INVALID_IF(tensor.destroyed_, "{}", TensorGone());
  INVALID_IF(!tensor.writable_, "the tensor is not writable");
  INVALID_IF(data.size() != tensor.byte_length(),
             "the bytes ({}) of the data are not those of {} ({})", data.size(),
             tensor.current_.ToString(), tensor.byte_length());
  TRY(connection().CheckRoom());
  // A dispatch that failed there left the shape as it was; here it has gone ahead.
  if (tensor.descriptor_.is_dynamic()) SendShape(tensor);
  ASSIGN_OR_RETURN(ipc::Payload payload, connection().Stage(data));
  connection().Send(
      ipc::WriteTensor{.tensor = ipc::Handle::Unpack(tensor.handle_), .data = std::move(payload)});
  return {};
}

Result<void> ContextImpl::ResizeTensor(Tensor& tensor, const Shape& shape) {
  INVALID_IF(tensor.destroyed_, "{}", TensorGone());
  ASSIGN_OR_RETURN(OperandDescriptor resized, tensor.descriptor_.Resized(shape));
  TRY(connection().CheckRoom());
  tensor.current_ = std::move(resized);
  SendShape(tensor);
  return {};
}

void ContextImpl::SendShape(const Tensor& tensor) {
  connection().Send(ipc::ResizeTensor{.tensor = ipc::Handle::Unpack(tensor.handle_),
                                      .shape = tensor.current_.shape()});
}

// --- Reads --------------------------------------------------------------------------------------

void ContextImpl::PendingRead::Reject(Error error) {
  if (auto* future = std::get_if<Future<std::vector<std::byte>>>(&receiver)) {
    future->Resolve(std::move(error));
  } else {
    std::get<ReadIntoBuffer>(receiver).future.Resolve(std::move(error));
  }
}

void ContextImpl::PendingRead::Resolve(std::span<const std::byte> bytes) {
  if (auto* future = std::get_if<Future<std::vector<std::byte>>>(&receiver)) {
    future->Resolve(std::vector<std::byte>(bytes.begin(), bytes.end()));
    return;
  }
  auto& buffer = std::get<ReadIntoBuffer>(receiver);
  std::memcpy(buffer.destination.data(), bytes.data(), bytes.size());
  buffer.future.Resolve(Result<void>());
}

Result<void> ContextImpl::CheckRead(const Tensor& tensor) const {
  INVALID_IF(tensor.context_.get() != this, "the tensor is of another context");
  INVALID_IF(tensor.destroyed_, "{}", TensorGone());
  INVALID_IF(!tensor.readable_, "the tensor is not readable");
  return {};
}

Result<void> ContextImpl::CheckReadInto(const Tensor& tensor, size_t destination_bytes) const {
  TRY(CheckRead(tensor));
  INVALID_IF(destination_bytes != tensor.byte_length(),
             "the bytes ({}) of the buffer are not those of {} ({})", destination_bytes,
             tensor.current_.ToString(), tensor.byte_length());
  return {};
}

Result<uint64_t> ContextImpl::SendRead(const Tensor& tensor) {
  TRY(connection().CheckRoom());
  ASSIGN_OR_RETURN(Connection::Read read, connection().ReserveRead(tensor.byte_length()));
  const uint64_t request = session_->AddRead(std::move(read.target));
  connection().Send(ipc::ReadTensor{.tensor = ipc::Handle::Unpack(tensor.handle_),
                                    .request = request,
                                    .destination = std::move(read.destination)});
  return request;
}

Future<std::vector<std::byte>> ContextImpl::ReadTensor(const Tensor& tensor) {
  using Bytes = Future<std::vector<std::byte>>;
  if (auto check = CheckRead(tensor); !check.ok()) return Bytes::Ready(std::move(check).error());
  auto request = SendRead(tensor);
  if (!request.ok()) return Bytes::Ready(std::move(request).error());
  Bytes future;
  pending_reads_.emplace(*request, PendingRead{next_order_++, tensor.shared_from_this(), future});
  return future;
}

Future<void> ContextImpl::ReadTensor(const Tensor& tensor, std::span<std::byte> destination) {
  const auto send = [&]() -> Result<uint64_t> {
    TRY(CheckReadInto(tensor, destination.size()));
    return SendRead(tensor);
  };
  auto request = send();
  if (!request.ok()) return Future<void>::Ready(std::move(request).error());
  Future<void> future;
  pending_reads_.emplace(*request, PendingRead{next_order_++, tensor.shared_from_this(),
                                               ReadIntoBuffer{destination, future}});
  return future;
}

bool ContextImpl::OnTensorRead(const ipc::TensorRead& message, std::span<const std::byte> bytes) {
  const auto entry = pending_reads_.find(message.request);
  if (entry == pending_reads_.end()) return false;
  PendingRead pending = std::move(entry->second);
  pending_reads_.erase(entry);
  if (message.error) {
    pending.Reject(AsCallersError(*message.error));
  } else {
    pending.Resolve(bytes);
  }
  return true;
}

// --- Graphs -------------------------------------------------------------------------------------

Future<std::shared_ptr<Graph>> ContextImpl::Build(ipc::Build message,
                                                  std::vector<Graph::Endpoint> inputs,
                                                  std::vector<Graph::Endpoint> outputs) {
  const uint64_t handle = message.graph.Pack();
  auto graph =
      std::make_shared<Graph>(shared_from_this(), handle, std::move(inputs), std::move(outputs), 0);
  connection().Queue(std::move(message));
  connection().Flush();
  // Weights were uploaded before, which fill the arena once; the service needs the memory now.
  connection().DiscardPagesOnceIdle();
  Future<std::shared_ptr<Graph>> future;
  pending_graphs_.emplace(handle, PendingGraph{next_order_++, std::move(graph), future});
  return future;
}

bool ContextImpl::OnGraphBuilt(const ipc::GraphBuilt& message) {
  const auto entry = pending_graphs_.find(message.graph.Pack());
  if (entry == pending_graphs_.end()) return false;
  PendingGraph pending = std::move(entry->second);
  pending_graphs_.erase(entry);
  if (message.error) {
    pending.future.Resolve(AsCallersError(*message.error));
    return true;
  }
  pending.graph->kernel_count_ = message.kernel_count;
  pending.future.Resolve(std::move(pending.graph));
  return true;
}

void ContextImpl::DestroyBinding(ipc::Handle binding) {
  if (!session_->ended()) connection().Send(ipc::DestroyBinding{binding});
  session_->ReleaseBinding(binding);
}

void ContextImpl::DestroyGraph(Graph& graph) {
  for (ipc::Handle binding : binding_cache_.Erase(graph.handle_)) DestroyBinding(binding);
  const ipc::Handle handle = ipc::Handle::Unpack(graph.handle_);
  if (!session_->ended()) connection().Send(ipc::DestroyGraph{handle});
  session_->ReleaseHandle(handle);
}

namespace {

bool HasDuplicate(std::vector<const Tensor*> tensors) {
  std::sort(tensors.begin(), tensors.end());
  return std::adjacent_find(tensors.begin(), tensors.end()) != tensors.end();
}

std::vector<const Tensor*> Pointers(const NamedTensors& tensors) {
  std::vector<const Tensor*> pointers;
  pointers.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) pointers.push_back(tensor.get());
  return pointers;
}

// A tensor that is an input and an output must be able to be both.
Result<void> CheckAliases(const Graph& graph, const NamedTensors& inputs,
                          const NamedTensors& outputs) {
  std::map<const Tensor*, const Graph::Endpoint*> input_of;
  auto endpoint = graph.inputs().begin();
  // Names that do not match are told later.
  for (const auto& [name, tensor] : inputs) {
    if (endpoint->name != name) return {};
    input_of[tensor.get()] = &*endpoint++;
  }
  endpoint = graph.outputs().begin();
  for (const auto& [name, tensor] : outputs) {
    const Graph::Endpoint& output = *endpoint++;
    const auto found = input_of.find(tensor.get());
    if (found == input_of.end()) continue;
    const Graph::Endpoint& input = *found->second;
    // Dynamic shapes are compared when they are known.
    const bool is_dynamic = input.descriptor.is_dynamic() || output.descriptor.is_dynamic();
    const bool is_alike = is_dynamic
                              ? input.descriptor.data_type() == output.descriptor.data_type() &&
                                    input.descriptor.rank() == output.descriptor.rank()
                              : input.descriptor == output.descriptor;
    INVALID_IF(!is_alike,
               "one tensor is given as the input \"{}\" ({}) and as the output \"{}\" ({}), which "
               "are not alike",
               input.name, input.descriptor.ToString(), output.name, output.descriptor.ToString());
  }
  return {};
}

}  // namespace

Result<void> ContextImpl::CheckTensors(const NamedTensors& inputs,
                                       const NamedTensors& outputs) const {
  for (const NamedTensors* tensors : {&inputs, &outputs}) {
    for (const auto& [name, tensor] : *tensors) {
      INVALID_IF(tensor == nullptr, "the tensor named \"{}\" is absent", name);
      INVALID_IF(tensor->context_.get() != this, "a tensor is of another context");
      INVALID_IF(tensor->destroyed_, "{}", TensorGone());
    }
    INVALID_IF(HasDuplicate(Pointers(*tensors)), "one tensor is given twice");
  }
  return {};
}

// The handles in the graph's order. What the tensors' shapes are is checked by CheckBindable, and
// at each dispatch.
Result<std::vector<ipc::Handle>> ContextImpl::CheckEndpoints(
    const char* what, const std::vector<Graph::Endpoint>& endpoints,
    const NamedTensors& tensors) const {
  INVALID_IF(tensors.size() != endpoints.size(),
             "the tensors given ({}) are not the graph's {}s ({})", tensors.size(), what,
             endpoints.size());
  std::vector<ipc::Handle> handles;
  handles.reserve(endpoints.size());
  // Both are sorted by name, so that they run side by side.
  auto endpoint = endpoints.begin();
  for (const auto& [name, tensor] : tensors) {
    INVALID_IF(tensor->constant_, "the tensor of {} \"{}\" is constant", what, name);
    INVALID_IF(endpoint->name != name, "the graph has no {} of this name (\"{}\"), or lacks \"{}\"",
               what, name, endpoint->name);
    TRY(webnnd::webidl::CheckBindable(what, name, endpoint->descriptor, tensor->descriptor_));
    handles.push_back(ipc::Handle::Unpack(tensor->handle_));
    ++endpoint;
  }
  return handles;
}

Result<void> ContextImpl::CheckGraph(const Graph& graph) const {
  INVALID_IF(graph.context_.get() != this, "the graph is of another context");
  TRY(CheckLive());
  if (graph.destroyed_) return InvalidStateError("the graph is destroyed");
  return {};
}

Result<void> ContextImpl::ApplyShapes(const Graph& graph, std::span<Tensor* const> inputs,
                                      std::span<Tensor* const> outputs) {
  const auto pair = [](const std::vector<Graph::Endpoint>& endpoints,
                       std::span<Tensor* const> tensors) {
    std::vector<BoundEndpoint> pairs;
    for (size_t i = 0; i < tensors.size(); ++i) {
      pairs.push_back({&endpoints[i].name, &endpoints[i].descriptor, &tensors[i]->descriptor_,
                       &tensors[i]->current_.shape()});
    }
    return pairs;
  };
  ASSIGN_OR_RETURN(const Assignment sizes,
                   webnnd::webidl::CheckInputs(pair(graph.inputs_, inputs)));
  ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                   webnnd::webidl::CheckOutputs(pair(graph.outputs_, outputs), sizes));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]->descriptor_.is_dynamic()) continue;
    ASSIGN_OR_RETURN(outputs[i]->current_, outputs[i]->descriptor_.Resized(shapes[i]));
  }
  return {};
}

namespace {

bool IsDynamic(const Graph& graph, std::span<Tensor* const> tensors) {
  const auto is_dynamic = [](const Graph::Endpoint& endpoint) {
    return endpoint.descriptor.is_dynamic();
  };
  return std::any_of(graph.inputs().begin(), graph.inputs().end(), is_dynamic) ||
         std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* tensor) { return tensor->descriptor().is_dynamic(); });
}

// The tensors of the inputs, then of the outputs.
std::vector<Tensor*> InOrder(const NamedTensors& inputs, const NamedTensors& outputs) {
  std::vector<Tensor*> tensors;
  tensors.reserve(inputs.size() + outputs.size());
  for (const auto& [name, tensor] : inputs) tensors.push_back(tensor.get());
  for (const auto& [name, tensor] : outputs) tensors.push_back(tensor.get());
  return tensors;
}

}  // namespace

Result<void> ContextImpl::Dispatch(Graph& graph, const NamedTensors& inputs,
                                   const NamedTensors& outputs) {
  TRY(CheckGraph(graph));
  TRY(CheckTensors(inputs, outputs));
  std::vector<const Tensor*> all = Pointers(inputs);
  for (const Tensor* output : Pointers(outputs)) all.push_back(output);
  INVALID_IF(HasDuplicate(std::move(all)),
             "one tensor is given twice: only a binding may have it as input and as output");
  ipc::Dispatch message{.graph = ipc::Handle::Unpack(graph.handle_), .inputs = {}, .outputs = {}};
  ASSIGN_OR_RETURN(message.inputs, CheckEndpoints("input", graph.inputs_, inputs));
  ASSIGN_OR_RETURN(message.outputs, CheckEndpoints("output", graph.outputs_, outputs));
  TRY(connection().CheckRoom());
  const std::vector<Tensor*> tensors = InOrder(inputs, outputs);
  if (IsDynamic(graph, tensors)) {
    const std::span<Tensor* const> all(tensors);
    TRY(ApplyShapes(graph, all.first(inputs.size()), all.subspan(inputs.size())));
  }
  if (!caches_bindings_) {
    connection().Send(std::move(message));
    return {};
  }
  ASSIGN_OR_RETURN(const ipc::Handle binding, FindBinding(message));
  connection().Send(ipc::DispatchBinding{binding});
  return {};
}

Result<ipc::Handle> ContextImpl::FindBinding(const ipc::Dispatch& dispatch) {
  BindingCache::Key key = {dispatch.graph.Pack()};
  for (const ipc::Handle tensor : dispatch.inputs) key.push_back(tensor.Pack());
  for (const ipc::Handle tensor : dispatch.outputs) key.push_back(tensor.Pack());
  if (const auto found = binding_cache_.Find(key)) return *found;
  ASSIGN_OR_RETURN(const ipc::Handle binding, session_->AllocateBinding());
  connection().Queue(
      ipc::CreateBinding{binding, dispatch.graph, dispatch.inputs, dispatch.outputs});
  if (const auto dropped = binding_cache_.Insert(std::move(key), binding)) DestroyBinding(*dropped);
  return binding;
}

Result<std::shared_ptr<Binding>> ContextImpl::Bind(Graph& graph, const NamedTensors& inputs,
                                                   const NamedTensors& outputs) {
  TRY(CheckGraph(graph));
  TRY(CheckTensors(inputs, outputs));
  if (inputs.size() == graph.inputs_.size() && outputs.size() == graph.outputs_.size()) {
    TRY(CheckAliases(graph, inputs, outputs));
  }
  ipc::CreateBinding message{.binding = {}, .graph = ipc::Handle::Unpack(graph.handle_)};
  ASSIGN_OR_RETURN(message.inputs, CheckEndpoints("input", graph.inputs_, inputs));
  ASSIGN_OR_RETURN(message.outputs, CheckEndpoints("output", graph.outputs_, outputs));
  TRY(connection().CheckRoom());
  ASSIGN_OR_RETURN(message.binding, session_->AllocateBinding());
  std::vector<std::shared_ptr<Tensor>> tensors;
  for (const auto& [name, tensor] : inputs) tensors.push_back(tensor);
  for (const auto& [name, tensor] : outputs) tensors.push_back(tensor);
  auto binding = std::make_shared<Binding>(shared_from_this(), message.binding.Pack(),
                                           graph.shared_from_this(), std::move(tensors));
  binding->is_dynamic_ = IsDynamic(graph, InOrder(inputs, outputs));
  connection().Send(std::move(message));
  return binding;
}

Result<void> ContextImpl::Dispatch(Binding& binding) {
  INVALID_IF(binding.context_.get() != this, "the binding is of another context");
  TRY(CheckLive());
  if (binding.destroyed_) return InvalidStateError("the binding is destroyed");
  if (binding.graph_->destroyed_) return InvalidStateError("the graph is destroyed");
  INVALID_IF(binding.lacks_tensor_, "a tensor of the binding is destroyed");
  TRY(connection().CheckRoom());
  if (binding.is_dynamic_) {
    std::vector<Tensor*> tensors;
    for (const auto& tensor : binding.tensors_) tensors.push_back(tensor.get());
    const std::span<Tensor* const> all(tensors);
    const size_t input_count = binding.graph_->inputs_.size();
    TRY(ApplyShapes(*binding.graph_, all.first(input_count), all.subspan(input_count)));
  }
  connection().Send(ipc::DispatchBinding{ipc::Handle::Unpack(binding.handle_)});
  return {};
}

}  // namespace webnn
