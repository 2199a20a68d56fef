// Adapter: a physical device, what it offers, and how we use a device of its kind.
#ifndef WEBNND_SERVICE_VULKAN_ADAPTER_H_
#define WEBNND_SERVICE_VULKAN_ADAPTER_H_

#include <vulkan/vulkan.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/streamed_stores.h"
#include "service/vulkan/device.h"
#include "service/vulkan/features.h"
#include "service/vulkan/float_controls.h"
#include "service/vulkan/instance.h"
#include "shaders/shader_table.h"

namespace webnnd::service {

// What differs between kinds of devices.
struct DeviceProfile {
  // Which form of each shader. Loads of quads from storage buffers are slow on llvmpipe, which
  // checks each word, and texel fetches fast (39 ns and 5 for 8 quads); GPUs have it the other way
  // round.
  shaders::Variant variant = shaders::Variant::kStorageReads;
  // Tens of thousands of invocations run at once, and fewer leave it idle (DeviceTraits::wide).
  bool wide = false;
  // Of the processor, where it runs kernels and vectors of words are lines of its caches.
  StreamedStores streamed_stores;
  uint32_t local_size = 0;  // Specialisation constant 0 of every shader.
  // Invocations of every subgroup, where no kernel has others; else 0. A specialisation constant of
  // every shader, because llvmpipe does not know early enough that its own is one.
  uint32_t subgroup_size = 0;
  // Whether pipelines have to ask for them.
  bool requires_subgroup_size = false;
  uint32_t workgroups_max = 0;  // Of a call that is given in invocations.
  // Workgroups are added beyond workgroups_max where an invocation would get more KernelCall::cost.
  uint64_t invocation_cost_max = 0;
  uint64_t submission_cost = 0;  // KernelCall::cost that takes about limits::kSubmissionMs.
  FloatControls float_controls;  // What the driver must be told.
  bool unified_memory = false;   // The host may write into tensors directly.
};

struct Adapter {
  AdapterInfo info;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  FeatureChain features;  // Those to enable.
  bool has_robustness2 = false;
  bool has_subgroup_sizes = false;
  uint32_t queue_family = 0;
  VkPhysicalDeviceLimits limits{};
  uint64_t buffer_bytes_max = 0;  // Of one allocation.
  VkPhysicalDeviceMemoryProperties memory{};
  std::function<uint64_t()> free_memory;  // Of DeviceOptions, where the device has no other memory.
  DeviceProfile profile;
};

// Workgroups of a kernel call on llvmpipe, which deals them out to its threads in equal parts
// beforehand, and has a thread for each of `threads` cores, but 16 or 32 at most. Each costs about
// a microsecond: one for each thread, or some where it is not known how many there are.
uint32_t WorkgroupsOfThreads(uint32_t threads);

// All adapters of the loader, in its order; one that lacks something has `info.missing` set.
Result<std::vector<Adapter>> FindAdapters(const Instance& instance, const DeviceOptions& options);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_ADAPTER_H_
