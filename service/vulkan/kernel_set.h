// KernelSetLayout: the descriptors through which kernels see their parameters and tensors.
#ifndef WEBNND_SERVICE_VULKAN_KERNEL_SET_H_
#define WEBNND_SERVICE_VULKAN_KERNEL_SET_H_

#include <vulkan/vulkan.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "base/result.h"
#include "service/plan/plan.h"
#include "service/vulkan/handle.h"
#include "service/vulkan/logical_device.h"
#include "shaders/shader_id.h"

namespace webnnd::service {

// Bytes of the uniform buffer that a kernel call sees.
inline constexpr uint32_t kParameterBytesPerCall = kParametersPerCallMax * sizeof(uint32_t);

// What one kernel call sees: a slot (tensor.glsl) that the kernel does not have holds a dummy.
struct KernelDescriptors {
  VkDescriptorBufferInfo parameters{};
  std::array<VkDescriptorBufferInfo, kBuffersPerCallMax> storage{};
  std::array<VkBufferView, kBuffersPerCallMax> texels{};  // Only for shaders that read texels.
};

// Of shaders that use the same bindings: 0 has the parameters, with a dynamic offset; 1 to
// kBuffersPerCallMax are the slots as storage buffers, and those that follow the slots as uniform
// texel buffers. No others: lavapipe goes through all bindings of a layout at each kernel call.
class KernelSetLayout {
 public:
  // Bit i: shaders use binding i.
  KernelSetLayout(LogicalDevice& device, uint64_t bindings)
      : device_(device), bindings_(bindings | 1), set_(device.get()), pipeline_(device.get()) {}

  // Called once, before anything else.
  Status Initialize();

  VkDescriptorSetLayout set() const { return set_.get(); }
  VkPipelineLayout pipeline() const { return pipeline_.get(); }
  // Whether shaders read slot `index` + 1 as texels.
  bool HasTexels(size_t index) const { return Has(1 + kBuffersPerCallMax + index); }
  // How many bindings are of a type.
  uint32_t Count(VkDescriptorType type) const;

  void Write(VkDescriptorSet set, const KernelDescriptors& descriptors) const;

 private:
  bool Has(size_t binding) const { return ((bindings_ >> binding) & 1) != 0; }
  static VkDescriptorType TypeOf(uint32_t binding);

  LogicalDevice& device_;
  uint64_t bindings_;
  UniqueDescriptorSetLayout set_;
  UniquePipelineLayout pipeline_;
};

// Those of a device. Thread-safe.
class KernelSetLayouts {
 public:
  explicit KernelSetLayouts(LogicalDevice& device) : device_(device) {}

  // It lives as long as this.
  Result<const KernelSetLayout*> Get(shaders::ShaderId shader);

  // Whether any shader reads texels.
  bool has_texels() const;

  // Sets of these layouts, one each, and the pool that holds them.
  Result<UniqueDescriptorPool> AllocateSets(std::span<const KernelSetLayout* const> layouts,
                                            std::span<VkDescriptorSet> sets) const;

  // The view that reads `bytes` from a multiple of kBufferAlignment on.
  Result<UniqueBufferView> CreateTexelView(const VkDescriptorBufferInfo& buffer) const;

 private:
  LogicalDevice& device_;
  std::mutex mutex_;
  std::map<uint64_t, KernelSetLayout> layouts_;  // By their bindings.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_KERNEL_SET_H_
