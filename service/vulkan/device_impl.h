// DeviceImpl: what a Device is made of. Everything that uses it holds a reference.
#ifndef WEBNND_SERVICE_VULKAN_DEVICE_IMPL_H_
#define WEBNND_SERVICE_VULKAN_DEVICE_IMPL_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "service/vulkan/completion.h"
#include "service/vulkan/device.h"
#include "service/vulkan/logical_device.h"
#include "service/vulkan/memory.h"
#include "service/vulkan/pipeline_cache.h"

namespace webnnd::service {

class DeviceImpl : public std::enable_shared_from_this<DeviceImpl> {
 public:
  explicit DeviceImpl(std::unique_ptr<LogicalDevice> logical);

  LogicalDevice& logical() { return *logical_; }
  VkDevice get() const { return logical_->get(); }
  std::atomic<bool>* lost() { return logical_->lost(); }
  const DeviceProfile& profile() const { return logical_->profile(); }
  Memory& memory() { return memory_; }
  PipelineCache& pipelines() { return pipelines_; }
  Completion& completion() { return completion_; }

  Result<std::shared_ptr<BufferImpl>> Allocate(MemoryKind kind, uint64_t bytes) {
    return memory_.Allocate(shared_from_this(), kind, bytes);
  }
  // `buffer` as ours; Internal error for nullptr or a buffer of another device.
  Result<std::shared_ptr<BufferImpl>> Own(const std::shared_ptr<Buffer>& buffer) const;

  // Of bindings (WorkCounts).
  std::atomic<uint64_t> descriptor_updates{0};
  std::atomic<uint64_t> recordings{0};
  // Of timelines.
  std::atomic<uint64_t> submissions{0};

 private:
  // Members die from the last to the first: threads, then objects, then the device.
  std::unique_ptr<LogicalDevice> logical_;
  Memory memory_;
  PipelineCache pipelines_;
  Completion completion_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_DEVICE_IMPL_H_
