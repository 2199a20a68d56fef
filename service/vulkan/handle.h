// DeviceHandle: owns one object of a VkDevice.
#ifndef WEBNND_SERVICE_VULKAN_HANDLE_H_
#define WEBNND_SERVICE_VULKAN_HANDLE_H_

#include <vulkan/vulkan.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace webnnd::service {

// Objects that the handles below own now, of all devices: what tests for leaks read.
inline std::atomic<uint64_t> live_object_count{0};

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
    if (handle_ == VK_NULL_HANDLE) return;
    kDestroy(device_, handle_, nullptr);
    live_object_count.fetch_sub(1, std::memory_order_relaxed);
  }

  // Where vkCreate* writes to; counts what it has written when the call is over.
  class Out {
   public:
    explicit Out(DeviceHandle& owner) : owner_(owner) {}
    ~Out() {
      if (owner_.handle_ == VK_NULL_HANDLE) return;
      live_object_count.fetch_add(1, std::memory_order_relaxed);
    }
    Out(const Out&) = delete;
    Out& operator=(const Out&) = delete;
    operator Handle*() { return &owner_.handle_; }  // NOLINT

   private:
    DeviceHandle& owner_;
  };

  Handle get() const { return handle_; }
  // For one creation, which leaves it empty where it fails.
  Out out() { return Out(*this); }

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
