#include "service/vulkan/commands.h"

#include <utility>

#include "service/vulkan/vk_try.h"

namespace webnnd::service {
namespace {

void RecordBarrier(VkCommandBuffer commands, VkPipelineStageFlags before,
                   VkAccessFlags written_before, VkPipelineStageFlags after,
                   VkAccessFlags accessed_after) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = written_before;
  barrier.dstAccessMask = accessed_after;
  vkCmdPipelineBarrier(commands, before, after, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

constexpr VkPipelineStageFlags kWork =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

}  // namespace

Result<UniqueCommandPool> CreateCommandPool(LogicalDevice& device, VkCommandPoolCreateFlags flags) {
  UniqueCommandPool pool(device.get());
  VkCommandPoolCreateInfo info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.flags = flags;
  info.queueFamilyIndex = device.adapter().queue_family;
  VK_TRY(device.lost(), vkCreateCommandPool(device.get(), &info, nullptr, pool.out()));
  return pool;
}

Result<VkCommandBuffer> AllocateCommandBuffer(LogicalDevice& device, VkCommandPool pool,
                                              VkCommandBufferLevel level) {
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool;
  info.level = level;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VK_TRY(device.lost(), vkAllocateCommandBuffers(device.get(), &info, &commands));
  return commands;
}

Status BeginCommandBuffer(LogicalDevice& device, VkCommandBuffer commands,
                          VkCommandBufferUsageFlags usage) {
  // Secondary ones inherit nothing that compute work knows; primary ones do not look.
  const VkCommandBufferInheritanceInfo inherited{VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = usage;
  info.pInheritanceInfo = &inherited;
  VK_TRY(device.lost(), vkBeginCommandBuffer(commands, &info));
  return {};
}

// Spelled one by one: for VK_ACCESS_MEMORY_..., which stand for any access, some GPUs take twice as
// long.
void RecordFullBarrier(VkCommandBuffer commands) {
  constexpr VkAccessFlags kWritten = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  constexpr VkAccessFlags kRead = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;
  RecordBarrier(commands, kWork, kWritten, kWork, kRead | kWritten);
}

void RecordKernelBarrier(VkCommandBuffer commands) {
  RecordBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

void RecordHostReadBarrier(VkCommandBuffer commands) {
  RecordBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

}  // namespace webnnd::service
