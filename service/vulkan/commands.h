// Commands: what all command buffers have in common, so that barriers are spelled once.
#ifndef WEBNND_SERVICE_VULKAN_COMMANDS_H_
#define WEBNND_SERVICE_VULKAN_COMMANDS_H_

#include <vulkan/vulkan.h>

#include "base/result.h"
#include "service/vulkan/handle.h"
#include "service/vulkan/logical_device.h"

namespace webnnd::service {

Result<UniqueCommandPool> CreateCommandPool(LogicalDevice& device, VkCommandPoolCreateFlags flags);
Result<VkCommandBuffer> AllocateCommandBuffer(LogicalDevice& device, VkCommandPool pool,
                                              VkCommandBufferLevel level);
// One of either level.
Status BeginCommandBuffer(LogicalDevice& device, VkCommandBuffer commands,
                          VkCommandBufferUsageFlags usage);

// All memory access before, of kernels and copies, happens before all after.
void RecordFullBarrier(VkCommandBuffer commands);
// The same between kernels only.
void RecordKernelBarrier(VkCommandBuffer commands);
// What copies wrote can be read by the host once the submission is done.
void RecordHostReadBarrier(VkCommandBuffer commands);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_COMMANDS_H_
