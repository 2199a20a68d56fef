// DeviceHandle: owns one object of a VkDevice.
#ifndef WEBNND_SERVICE_VULKAN_HANDLE_H_
#define WEBNND_SERVICE_VULKAN_HANDLE_H_

#include <vulkan/vulkan.h>

#include <utility>

namespace webnnd::service {

// `out()` is what vkCreate* writes to; a failed creation leaves it empty.
template <class Handle, auto kDestroy>
class DeviceHandle {
 public:
  explicit DeviceHandle(VkDevice device = VK_NULL_HANDLE) : device_(device) {}
  DeviceHandle(DeviceHandle&& other) noexcept
      : device_(other.device_),
        handle_(std::exchange(other.handle_, static_cast<Handle>(VK_NULL_HANDLE))) {}
  DeviceHandle& operator=(DeviceHandle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DeviceHandle() {
    if (handle_ != VK_NULL_HANDLE) kDestroy(device_, handle_, nullptr);
  }

  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }

 private:
  VkDevice device_;
  Handle handle_ = VK_NULL_HANDLE;
};

using UniqueBuffer = DeviceHandle<VkBuffer, vkDestroyBuffer>;
using UniqueBufferView = DeviceHandle<VkBufferView, vkDestroyBufferView>;
using UniqueMemory = DeviceHandle<VkDeviceMemory, vkFreeMemory>;
using UniqueSemaphore = DeviceHandle<VkSemaphore, vkDestroySemaphore>;
using UniqueFence = DeviceHandle<VkFence, vkDestroyFence>;
using UniqueCommandPool = DeviceHandle<VkCommandPool, vkDestroyCommandPool>;
using UniqueDescriptorPool = DeviceHandle<VkDescriptorPool, vkDestroyDescriptorPool>;
using UniqueDescriptorSetLayout = DeviceHandle<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout>;
using UniquePipelineLayout = DeviceHandle<VkPipelineLayout, vkDestroyPipelineLayout>;
using UniqueShaderModule = DeviceHandle<VkShaderModule, vkDestroyShaderModule>;
using UniquePipeline = DeviceHandle<VkPipeline, vkDestroyPipeline>;

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_HANDLE_H_
