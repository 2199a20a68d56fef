#include "client/context.h"

#include <utility>

#include "client/context_impl.h"

namespace webnn {

Context::Context(std::shared_ptr<ContextImpl> impl) : impl_(std::move(impl)) {}
Context::~Context() = default;

Future<std::shared_ptr<Tensor>> Context::CreateTensor(const TensorDescriptor& descriptor) {
  return impl_->CreateTensor(descriptor);
}

Future<std::shared_ptr<Tensor>> Context::CreateConstantTensor(OperandDataType data_type,
                                                              const Shape& shape,
                                                              std::span<const std::byte> data) {
  return impl_->CreateConstantTensor(data_type, shape, data);
}

Future<std::shared_ptr<Tensor>> Context::CreateConstantTensorFromFile(OperandDataType data_type,
                                                                      const Shape& shape,
                                                                      int descriptor,
                                                                      uint64_t offset) {
  return impl_->CreateConstantTensorFromFile(data_type, shape, descriptor, offset);
}

Result<void> Context::WriteTensor(Tensor& tensor, std::span<const std::byte> data) {
  return impl_->WriteTensor(tensor, data);
}

Future<std::vector<std::byte>> Context::ReadTensor(const Tensor& tensor) {
  return impl_->ReadTensor(tensor);
}

Future<void> Context::ReadTensor(const Tensor& tensor, std::span<std::byte> destination) {
  return impl_->ReadTensor(tensor, destination);
}

Result<void> Context::CheckReadTensor(const Tensor& tensor, size_t destination_bytes) const {
  return impl_->CheckReadInto(tensor, destination_bytes);
}

Result<void> Context::Dispatch(Graph& graph, const NamedTensors& inputs,
                               const NamedTensors& outputs) {
  return impl_->Dispatch(graph, inputs, outputs);
}

Result<std::shared_ptr<Binding>> Context::Bind(Graph& graph, const NamedTensors& inputs,
                                               const NamedTensors& outputs) {
  return impl_->Bind(graph, inputs, outputs);
}

Result<void> Context::Dispatch(Binding& binding) { return impl_->Dispatch(binding); }

const OpSupportLimits& Context::op_support_limits() const { return impl_->op_support_limits(); }
bool Context::accelerated() const { return impl_->accelerated(); }
const std::string& Context::device_name() const { return impl_->device_name(); }
Future<ContextLostInfo> Context::lost() const { return impl_->lost(); }
bool Context::is_lost() const { return impl_->is_lost(); }
Result<void> Context::CheckLive() const { return impl_->CheckLive(); }

void Context::Destroy() { impl_->Lose("the context was destroyed", Cause::kInvalidState); }

uint64_t Context::bytes_sent() const { return impl_->connection().bytes_sent(); }
uint64_t Context::bytes_received() const { return impl_->connection().bytes_received(); }

// --- What a context owns ------------------------------------------------------------------------

Tensor::Tensor(std::shared_ptr<ContextImpl> context, uint64_t handle, OperandDescriptor descriptor,
               bool readable, bool writable, bool constant)
    : context_(std::move(context)),
      handle_(handle),
      descriptor_(std::move(descriptor)),
      current_(descriptor_.AtCapacity()),
      readable_(readable),
      writable_(writable),
      constant_(constant) {
  context_->AddTensor(this);
}

Result<void> Tensor::Resize(const Shape& shape) { return context_->ResizeTensor(*this, shape); }

Tensor::~Tensor() { Destroy(); }

void Tensor::Destroy() {
  if (std::exchange(destroyed_, true)) return;
  context_->RemoveTensor(this);
  context_->DestroyTensor(*this);
}

Graph::Graph(std::shared_ptr<ContextImpl> context, uint64_t handle, std::vector<Endpoint> inputs,
             std::vector<Endpoint> outputs, uint32_t kernel_count)
    : context_(std::move(context)),
      handle_(handle),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      kernel_count_(kernel_count) {
  context_->AddGraph(this);
}

Graph::~Graph() { Destroy(); }

void Graph::Destroy() {
  if (std::exchange(destroyed_, true)) return;
  context_->RemoveGraph(this);
  context_->DestroyGraph(*this);
}

Binding::Binding(std::shared_ptr<ContextImpl> context, uint64_t handle,
                 std::shared_ptr<Graph> graph, std::vector<std::shared_ptr<Tensor>> tensors)
    : context_(std::move(context)),
      handle_(handle),
      graph_(std::move(graph)),
      tensors_(std::move(tensors)) {
  context_->AddBinding(this);
}

Binding::~Binding() { Destroy(); }

void Binding::Destroy() {
  if (std::exchange(destroyed_, true)) return;
  context_->RemoveBinding(this);
  context_->DestroyBinding(webnnd::ipc::Handle::Unpack(handle_));
}

}  // namespace webnn
