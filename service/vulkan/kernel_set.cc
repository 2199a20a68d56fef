#include "service/vulkan/kernel_set.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/vulkan/memory.h"
#include "service/vulkan/vk_try.h"
#include "shaders/shader_table.h"

namespace webnnd::service {
namespace {

constexpr uint32_t kBindingsMax = 1 + 2 * kBuffersPerCallMax;

}  // namespace

VkDescriptorType KernelSetLayout::TypeOf(uint32_t binding) {
  if (binding == 0) return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
  return binding <= kBuffersPerCallMax ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                       : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
}

Status KernelSetLayout::Initialize() {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < kBindingsMax; ++i) {
    if (Has(i)) bindings.push_back({i, TypeOf(i), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  VkDescriptorSetLayoutCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  info.bindingCount = NarrowCast<uint32_t>(bindings.size());
  info.pBindings = bindings.data();
  VK_TRY(device_.lost(), vkCreateDescriptorSetLayout(device_.get(), &info, nullptr, set_.out()));
  const VkDescriptorSetLayout set = set_.get();
  VkPipelineLayoutCreateInfo pipeline_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  pipeline_info.setLayoutCount = 1;
  pipeline_info.pSetLayouts = &set;
  VK_TRY(device_.lost(),
         vkCreatePipelineLayout(device_.get(), &pipeline_info, nullptr, pipeline_.out()));
  return {};
}

uint32_t KernelSetLayout::Count(VkDescriptorType type) const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < kBindingsMax; ++i) count += Has(i) && TypeOf(i) == type;
  return count;
}

void KernelSetLayout::Write(VkDescriptorSet set, const KernelDescriptors& descriptors) const {
  std::vector<VkWriteDescriptorSet> writes;
  for (uint32_t i = 0; i < kBindingsMax; ++i) {
    if (!Has(i)) continue;
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = TypeOf(i);
    if (i == 0) {
      write.pBufferInfo = &descriptors.parameters;
    } else if (i <= kBuffersPerCallMax) {
      write.pBufferInfo = &descriptors.storage[i - 1];
    } else {
      write.pTexelBufferView = &descriptors.texels[i - 1 - kBuffersPerCallMax];
    }
    writes.push_back(write);
  }
  vkUpdateDescriptorSets(device_.get(), NarrowCast<uint32_t>(writes.size()), writes.data(), 0,
                         nullptr);
}

Result<const KernelSetLayout*> KernelSetLayouts::Get(shaders::ShaderId shader) {
  const uint64_t bindings = shaders::Bindings(shader, device_.profile().variant);
  std::lock_guard lock(mutex_);
  auto [found, is_new] = layouts_.try_emplace(bindings, device_, bindings);
  if (is_new) {
    if (Status made = found->second.Initialize(); !made.ok()) {
      layouts_.erase(found);
      return std::move(made).error();
    }
  }
  return &found->second;
}

bool KernelSetLayouts::has_texels() const {
  return device_.profile().variant == shaders::Variant::kTexelReads;
}

Result<UniqueDescriptorPool> KernelSetLayouts::AllocateSets(
    std::span<const KernelSetLayout* const> layouts, std::span<VkDescriptorSet> sets) const {
  CHECK(layouts.size() == sets.size());
  std::vector<VkDescriptorSetLayout> handles;
  for (const KernelSetLayout* layout : layouts) handles.push_back(layout->set());
  std::vector<VkDescriptorPoolSize> sizes;
  for (VkDescriptorType type :
       {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER}) {
    uint32_t count = 0;
    for (const KernelSetLayout* layout : layouts) count += layout->Count(type);
    if (count > 0) sizes.push_back({type, count});
  }
  const auto count = NarrowCast<uint32_t>(sets.size());
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = count;
  info.poolSizeCount = NarrowCast<uint32_t>(sizes.size());
  info.pPoolSizes = sizes.data();
  UniqueDescriptorPool pool(device_.get());
  VK_TRY(device_.lost(), vkCreateDescriptorPool(device_.get(), &info, nullptr, pool.out()));
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool.get();
  allocate.descriptorSetCount = count;
  allocate.pSetLayouts = handles.data();
  VK_TRY(device_.lost(), vkAllocateDescriptorSets(device_.get(), &allocate, sets.data()));
  return pool;
}

Result<UniqueBufferView> KernelSetLayouts::CreateTexelView(
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
