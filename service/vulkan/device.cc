#include "service/vulkan/device.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "service/vulkan/device_impl.h"

namespace webnnd::service {

DeviceImpl::DeviceImpl(std::unique_ptr<LogicalDevice> logical)
    : logical_(std::move(logical)),
      memory_(*logical_),
      pipelines_(*logical_),
      completion_(*logical_) {}

Result<std::shared_ptr<BufferImpl>> DeviceImpl::Own(const std::shared_ptr<Buffer>& buffer) const {
  auto own = std::dynamic_pointer_cast<BufferImpl>(buffer);
  if (own == nullptr || own->device() != this) {
    return InternalError("the buffer is not one of the device ({})", logical_->adapter().info.name);
  }
  return own;
}

Device::Device(std::shared_ptr<DeviceImpl> impl) : impl_(std::move(impl)) {}

Device::~Device() = default;

Result<std::shared_ptr<Device>> Device::Open(uint32_t adapter_index, const DeviceOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<Instance> instance, Instance::Create(options.validation));
  ASSIGN_OR_RETURN(std::vector<Adapter> adapters, FindAdapters(*instance, options));
  if (adapter_index >= adapters.size()) {
    return NotSupportedError("there is no such adapter ({} of {})", adapter_index, adapters.size());
  }
  Adapter& adapter = adapters[adapter_index];
  if (!adapter.info.missing.empty()) {
    return NotSupportedError("the adapter {} ({})", adapter.info.missing, adapter.info.name);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<LogicalDevice> logical,
                   LogicalDevice::Create(std::move(instance), std::move(adapter)));
  auto impl = std::make_shared<DeviceImpl>(std::move(logical));
  TRY(impl->pipelines().Initialize(impl->memory()));
  impl->pipelines().ReportWith(options);
  return std::shared_ptr<Device>(new Device(std::move(impl)));
}

bool Device::wide() const { return impl_->profile().wide; }

bool Device::narrow() const {
  constexpr uint32_t kNarrow = 4;
  return impl_->profile().subgroup_size == kNarrow;
}

const StreamedStores& Device::streamed_stores() const { return impl_->profile().streamed_stores; }

const AdapterInfo& Device::adapter() const { return impl_->logical().adapter().info; }

uint64_t Device::max_tensor_bytes() const { return limits::kTensorBytesMax; }

Status Device::WarmUp() {
  // Any shader does: with all parameters zero it does nothing.
  TRY(impl_->pipelines().Get(PipelineKey{}, {}, KernelLife::kEvaluation));
  return {};
}

Status Device::Compile(const CompiledKernel& kernel) {
  INVALID_IF(kernel.shader >= shaders::kShaderCount, "there is no such shader ({})", kernel.shader);
  const std::span<const uint32_t> constants = kernel.Constants();
  return impl_->pipelines().Compile(
      {static_cast<shaders::ShaderId>(kernel.shader), {constants.begin(), constants.end()}});
}

void Device::DropIdleEvaluationKernels() { impl_->pipelines().DropIdle(); }

Result<std::shared_ptr<Buffer>> Device::Allocate(uint64_t bytes) {
  ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> buffer, impl_->Allocate(MemoryKind::kTensor, bytes));
  return std::shared_ptr<Buffer>(std::move(buffer));
}

uint64_t Device::bytes_in_use() const { return impl_->memory().bytes_in_use(); }

WorkCounts Device::work_counts() const {
  return {impl_->descriptor_updates, impl_->recordings, impl_->memory().allocation_count()};
}

bool Device::lost() const { return impl_->logical().is_lost(); }

bool Device::hung() const { return impl_->logical().is_hung(); }

uint64_t Device::ValidationMessageCount() { return Instance::ValidationMessageCount(); }

}  // namespace webnnd::service
