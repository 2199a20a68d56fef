// KernelSetLayout: the descriptors through which every kernel sees its parameters and tensors.
#ifndef WEBNND_SERVICE_VULKAN_KERNEL_SET_H_
#define WEBNND_SERVICE_VULKAN_KERNEL_SET_H_

#include <vulkan/vulkan.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "service/plan/plan.h"
#include "service/vulkan/handle.h"
#include "service/vulkan/logical_device.h"

namespace webnnd::service {

// Bytes of the uniform buffer that a kernel call sees.
inline constexpr uint32_t kParameterBytesPerCall = kParametersPerCallMax * sizeof(uint32_t);

// What one kernel call sees: a slot (tensor.glsl) that the kernel does not have holds a dummy.
struct KernelDescriptors {
  VkDescriptorBufferInfo parameters{};
  std::array<VkDescriptorBufferInfo, kBuffersPerCallMax> storage{};
  std::array<VkBufferView, kBuffersPerCallMax> texels{};  // Only for shaders that read texels.
};

// One layout serves all pipelines of a device: binding 0 has the parameters, with a dynamic offset;
// bindings 1 to kBuffersPerCallMax the slots as storage buffers; and those that follow, where
// shaders read texels, the slots as uniform texel buffers.
class KernelSetLayout {
 public:
  explicit KernelSetLayout(LogicalDevice& device) : device_(device), layout_(device.get()) {}

  // Called once, before anything else.
  Status Initialize();

  VkDescriptorSetLayout get() const { return layout_.get(); }
  bool has_texels() const { return has_texels_; }

  // `sets.size()` sets, and the pool that holds them.
  Result<UniqueDescriptorPool> AllocateSets(std::span<VkDescriptorSet> sets) const;
  void Write(VkDescriptorSet set, const KernelDescriptors& descriptors) const;

  // The view that reads `bytes` from a multiple of kBufferAlignment on.
  Result<UniqueBufferView> CreateTexelView(const VkDescriptorBufferInfo& buffer) const;

 private:
  LogicalDevice& device_;
  UniqueDescriptorSetLayout layout_;
  bool has_texels_ = false;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_KERNEL_SET_H_
