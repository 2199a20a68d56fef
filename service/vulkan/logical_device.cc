#include "service/vulkan/logical_device.h"

#include <utility>
#include <vector>

#include "service/vulkan/vk_try.h"

namespace webnnd::service {

LogicalDevice::LogicalDevice(std::shared_ptr<Instance> instance, Adapter adapter)
    : instance_(std::move(instance)), adapter_(std::move(adapter)) {}

Result<std::unique_ptr<LogicalDevice>> LogicalDevice::Create(std::shared_ptr<Instance> instance,
                                                             Adapter adapter) {
  std::unique_ptr<LogicalDevice> device(new LogicalDevice(std::move(instance), std::move(adapter)));
  Adapter& own = device->adapter_;
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = own.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  std::vector<const char*> extensions;
  if (own.has_robustness2) extensions.push_back(VK_EXT_ROBUSTNESS_2_EXTENSION_NAME);
  if (own.has_subgroup_sizes) extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = own.features.Link(own.has_robustness2, own.has_subgroup_sizes);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VK_TRY(nullptr, vkCreateDevice(own.physical, &info, nullptr, &device->device_));
  vkGetDeviceQueue(device->device_, own.queue_family, 0, &device->queue_);
  return device;
}

LogicalDevice::~LogicalDevice() {
  if (device_ == VK_NULL_HANDLE) return;
  vkDeviceWaitIdle(device_);
  vkDestroyDevice(device_, nullptr);
}

Status LogicalDevice::Submit(const VkSubmitInfo& submit, VkFence fence) {
  std::lock_guard lock(queue_mutex_);
  if (is_lost()) return DeviceLostError("the device is lost ({})", adapter_.info.name);
  VK_TRY(lost(), vkQueueSubmit(queue_, 1, &submit, fence));
  return {};
}

VkResult LogicalDevice::WaitIdleBeforeRelease() {
  std::lock_guard lock(queue_mutex_);
  return vkQueueWaitIdle(queue_);
}

}  // namespace webnnd::service
