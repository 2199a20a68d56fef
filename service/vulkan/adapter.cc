#include "service/vulkan/adapter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "base/checked_math.h"
#include "base/limits.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {
namespace {

// Rates that splitting assumes, in KernelCall::cost per second. A submission may take several times
// kSubmissionMs where they are wrong; they bound how long others wait, not what is computed.
constexpr uint64_t kCpuCostPerSecond = 4'000'000'000;
constexpr uint64_t kGpuCostPerSecond = 500'000'000'000;

// lavapipe silently leaves a loop after 65535 iterations, counted over all loops of an invocation.
// Kernels take at most some iterations per unit of cost; this leaves room for index arithmetic.
constexpr uint64_t kCpuInvocationCostMax = 8192;

// Vulkan promises that workgroups may be as large (kInvocationsOfGpus of shaders/tensor.glsl).
constexpr uint32_t kGpuLocalSize = 128;

// Which all versions of llvmpipe have where there are as many cores.
constexpr uint32_t kPoolThreads = 16;
// What a workgroup may declare: more than Vulkan promises, and less than any GPU has that is in
// use.
constexpr uint32_t kSharedMemoryMin = 32 << 10;

// `subgroup_size`: of every subgroup, or 0; `features`: what is used of the device.
DeviceProfile MakeProfile(const VkPhysicalDeviceProperties& properties, uint32_t subgroup_size,
                          const FeatureChain& features) {
  DeviceProfile profile;
  const bool cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  if (features.cores) {
    constexpr uint32_t kWordsOfLine = 16;
    if (subgroup_size == kWordsOfLine) profile.streamed_stores = FindStreamedStores();
    profile.variant = shaders::Variant::kTexelReads;
    profile.local_size = subgroup_size;  // Else lanes would idle.
    profile.workgroups_max =
        WorkgroupsOfThreads(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
  } else {
    profile.variant = shaders::Variant::kStorageReads;
    profile.wide = true;
    profile.local_size = kGpuLocalSize;
    profile.workgroups_max = 16384;
  }
  profile.subgroup_size = subgroup_size;
  profile.invocation_cost_max =
      cpu ? kCpuInvocationCostMax : std::numeric_limits<uint64_t>::max() / profile.local_size;
  profile.workgroups_max =
      std::min(profile.workgroups_max, properties.limits.maxComputeWorkGroupCount[0]);
  profile.submission_cost =
      (cpu ? kCpuCostPerSecond : kGpuCostPerSecond) / 1000 * limits::kSubmissionMs;
  profile.unified_memory =
      features.cores || properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  return profile;
}

Result<bool> HasExtension(VkPhysicalDevice physical, const char* name) {
  uint32_t count = 0;
  VK_TRY(nullptr, vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr));
  std::vector<VkExtensionProperties> extensions(count);
  VK_TRY(nullptr,
         vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data()));
  extensions.resize(count);
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const VkExtensionProperties& extension) {
                       return std::strcmp(extension.extensionName, name) == 0;
                     });
}

// That of most GPUs, or the next that there is; 0 where pipelines cannot ask for whole subgroups of
// one size, and on llvmpipe, which has one anyway.
uint32_t SubgroupSizeToAskFor(const FeatureChain& features,
                              const VkPhysicalDeviceSubgroupSizeControlPropertiesEXT& subgroups) {
  constexpr uint32_t kUsualSize = 32;
  const bool can_ask = !features.cores && features.subgroup_sizes.subgroupSizeControl == VK_TRUE &&
                       features.subgroup_sizes.computeFullSubgroups == VK_TRUE &&
                       (subgroups.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  if (!can_ask) return 0;
  const uint32_t size =
      std::clamp(kUsualSize, subgroups.minSubgroupSize, subgroups.maxSubgroupSize);
  const bool fits =
      kGpuLocalSize % size == 0 && kGpuLocalSize / size <= subgroups.maxComputeWorkgroupSubgroups;
  return fits ? size : 0;
}

// A family for compute, if possible not the one that also draws: a compositor uses that.
bool FindQueueFamily(VkPhysicalDevice physical, uint32_t& family) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  bool found = false;
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    bool draws = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
    if (found && draws) continue;
    family = i;
    found = true;
    if (!draws) break;
  }
  return found;
}

Result<Adapter> Inspect(VkPhysicalDevice physical, uint32_t index, const DeviceOptions& options) {
  Adapter adapter;
  adapter.physical = physical;
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical, &properties);
  adapter.info.index = index;
  adapter.info.name = properties.deviceName;
  adapter.info.accelerated = properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU;
  adapter.info.low_power = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  if (properties.apiVersion < VK_API_VERSION_1_2) {
    adapter.info.missing = "lacks Vulkan 1.2";
    return adapter;
  }
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT subgroups{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
  VkPhysicalDeviceVulkan12Properties properties12{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  ASSIGN_OR_RETURN(adapter.has_subgroup_sizes,
                   HasExtension(physical, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME));
  if (adapter.has_subgroup_sizes) properties12.pNext = &subgroups;
  VkPhysicalDeviceVulkan11Properties properties11{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, &properties12};
  VkPhysicalDeviceProperties2 properties2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                          &properties11};
  vkGetPhysicalDeviceProperties2(physical, &properties2);
  adapter.info.driver = fmt::format("{} {}", properties12.driverName, properties12.driverInfo);
  adapter.limits = properties2.properties.limits;
  adapter.buffer_bytes_max = properties11.maxMemoryAllocationSize;
  vkGetPhysicalDeviceMemoryProperties(physical, &adapter.memory);
  ASSIGN_OR_RETURN(adapter.has_robustness2,
                   HasExtension(physical, VK_EXT_ROBUSTNESS_2_EXTENSION_NAME));
  FeatureChain present;
  vkGetPhysicalDeviceFeatures2(physical,
                               present.Link(adapter.has_robustness2, adapter.has_subgroup_sizes));
  const bool is_llvmpipe = properties12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  present.cores = is_llvmpipe;
  // llvmpipe keeps both as it is.
  present.subnormals =
      !is_llvmpipe && properties12.shaderDenormPreserveFloat32 == VK_TRUE &&
      properties12.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  present.float_specials =
      !is_llvmpipe && properties12.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE;
  present.subgroup_shuffle =
      (properties11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0 &&
      (properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  ASSIGN_OR_RETURN(adapter.features, ChooseFeatures(present, options.disabled_features));
  const uint32_t size = SubgroupSizeToAskFor(adapter.features, subgroups);
  adapter.profile = MakeProfile(properties2.properties,
                                size != 0     ? size
                                : is_llvmpipe ? properties11.subgroupSize
                                              : 0,
                                adapter.features);
  adapter.profile.requires_subgroup_size = size != 0;
  adapter.profile.float_controls = {.keeps_subnormals = adapter.features.subnormals == VK_TRUE,
                                    .keeps_specials = adapter.features.float_specials == VK_TRUE};
  if (adapter.profile.unified_memory) adapter.free_memory = options.free_memory;
  std::string missing = MissingFeatures(adapter.features);
  auto lacks = [&](std::string_view what) {
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
  };
  if (!FindQueueFamily(physical, adapter.queue_family)) lacks("a compute queue");
  if (adapter.limits.maxComputeSharedMemorySize < kSharedMemoryMin) lacks("32 KiB shared memory");
  if (!missing.empty()) adapter.info.missing = "lacks " + missing;
  return adapter;
}

}  // namespace

uint32_t WorkgroupsOfThreads(uint32_t threads) {
  return threads <= kPoolThreads ? threads : AlignUp(4 * threads, kPoolThreads);
}

Result<std::vector<Adapter>> FindAdapters(const Instance& instance, const DeviceOptions& options) {
  uint32_t count = 0;
  VK_TRY(nullptr, vkEnumeratePhysicalDevices(instance.get(), &count, nullptr));
  std::vector<VkPhysicalDevice> physical(count);
  VK_TRY(nullptr, vkEnumeratePhysicalDevices(instance.get(), &count, physical.data()));
  std::vector<Adapter> adapters;
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Adapter adapter, Inspect(physical[i], i, options));
    adapters.push_back(std::move(adapter));
  }
  return adapters;
}

Result<std::vector<AdapterInfo>> ListAdapters(const DeviceOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<Instance> instance, Instance::Create(options.validation));
  ASSIGN_OR_RETURN(std::vector<Adapter> adapters, FindAdapters(*instance, options));
  std::vector<AdapterInfo> infos;
  for (Adapter& adapter : adapters) infos.push_back(std::move(adapter.info));
  return infos;
}

}  // namespace webnnd::service
