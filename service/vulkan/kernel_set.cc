#include "service/vulkan/kernel_set.h"

#include <iterator>

#include "base/checked_math.h"
#include "service/vulkan/memory.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {

Status KernelSetLayout::Initialize() {
  has_texels_ = device_.profile().variant == shaders::Variant::kTexelReads;
  std::array<VkDescriptorSetLayoutBinding, 1 + 2 * kBuffersPerCallMax> bindings{};
  const uint32_t count = 1 + (has_texels_ ? 2 : 1) * kBuffersPerCallMax;
  for (uint32_t i = 0; i < count; ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC
                                 : i <= kBuffersPerCallMax
                                     ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                     : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  info.bindingCount = count;
  info.pBindings = bindings.data();
  VK_TRY(device_.lost(), vkCreateDescriptorSetLayout(device_.get(), &info, nullptr, layout_.out()));
  return {};
}

Result<UniqueDescriptorPool> KernelSetLayout::AllocateSets(std::span<VkDescriptorSet> sets) const {
  const auto count = NarrowCast<uint32_t>(sets.size());
  const VkDescriptorPoolSize sizes[] = {
      {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, count},
      {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * kBuffersPerCallMax},
      {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, count * kBuffersPerCallMax}};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = count;
  info.poolSizeCount = has_texels_ ? std::size(sizes) : std::size(sizes) - 1;
  info.pPoolSizes = sizes;
  UniqueDescriptorPool pool(device_.get());
  VK_TRY(device_.lost(), vkCreateDescriptorPool(device_.get(), &info, nullptr, pool.out()));
  const std::vector<VkDescriptorSetLayout> layouts(count, layout_.get());
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool.get();
  allocate.descriptorSetCount = count;
  allocate.pSetLayouts = layouts.data();
  VK_TRY(device_.lost(), vkAllocateDescriptorSets(device_.get(), &allocate, sets.data()));
  return pool;
}

void KernelSetLayout::Write(VkDescriptorSet set, const KernelDescriptors& descriptors) const {
  std::array<VkWriteDescriptorSet, 3> writes{};
  for (VkWriteDescriptorSet& write : writes) {
    write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
  }
  writes[0].dstBinding = 0;
  writes[0].descriptorCount = 1;
  writes[0].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
  writes[0].pBufferInfo = &descriptors.parameters;
  // These run over into the bindings that follow, which are of the same type.
  writes[1].dstBinding = 1;
  writes[1].descriptorCount = kBuffersPerCallMax;
  writes[1].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  writes[1].pBufferInfo = descriptors.storage.data();
  writes[2].dstBinding = 1 + kBuffersPerCallMax;
  writes[2].descriptorCount = kBuffersPerCallMax;
  writes[2].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
  writes[2].pTexelBufferView = descriptors.texels.data();
  vkUpdateDescriptorSets(device_.get(), has_texels_ ? 3 : 2, writes.data(), 0, nullptr);
}

Result<UniqueBufferView> KernelSetLayout::CreateTexelView(
    const VkDescriptorBufferInfo& buffer) const {
  VkBufferViewCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
  info.buffer = buffer.buffer;
  info.format = VK_FORMAT_R32G32B32A32_UINT;
  info.offset = buffer.offset;
  info.range = TexelViewBytes(buffer.range);
  UniqueBufferView view(device_.get());
  VK_TRY(device_.lost(), vkCreateBufferView(device_.get(), &info, nullptr, view.out()));
  return view;
}

}  // namespace webnnd::service
