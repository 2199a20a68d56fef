#include "service/vulkan/features.h"

#include <algorithm>

namespace webnnd::service {
namespace {

#define FEATURE(member) [](FeatureChain& chain) -> VkBool32& { return chain.member; }

constexpr FeatureRow kFeatures[] = {
    {"timelineSemaphore", "one ordered timeline per context", true,
     FEATURE(vulkan12.timelineSemaphore)},
    {"shaderInt64", "int64 and uint64 tensors", true, FEATURE(core.features.shaderInt64)},
    {"storageBuffer8BitAccess", "int8, uint8 and packed int4 tensors", true,
     FEATURE(vulkan12.storageBuffer8BitAccess)},
    {"storageBuffer16BitAccess", "float16 tensors", true,
     FEATURE(vulkan11.storageBuffer16BitAccess)},
    {"subgroup-shuffle", "matrix products share what invocations load", true,
     FEATURE(subgroup_shuffle)},
    {"robustBufferAccess", "second line of defence behind the shaders' own bounds", true,
     FEATURE(core.features.robustBufferAccess)},
    {"robustBufferAccess2", "the same, exact to the byte", false,
     FEATURE(robustness2.robustBufferAccess2)},
    {"subgroupSizeControl", "subgroups of a size that kernels know", false,
     FEATURE(subgroup_sizes.subgroupSizeControl)},
    {"computeFullSubgroups", "the same, none of them in part", false,
     FEATURE(subgroup_sizes.computeFullSubgroups)},
    {"fp16", "float16 arithmetic; emulated through float32 without", false,
     FEATURE(vulkan12.shaderFloat16)},
    {"int16", "16-bit arithmetic", false, FEATURE(core.features.shaderInt16)},
    {"cores", "kernels for llvmpipe on a processor's cores; those for GPUs without", false,
     FEATURE(cores)},
    {"subnormals", "subnormal float32 numbers; taken for 0 without, as the driver likes", false,
     FEATURE(subnormals)},
    {"float-specials", "NaN and -0 where drivers would simplify", false, FEATURE(float_specials)},
    {"int8", "8-bit arithmetic", false, FEATURE(vulkan12.shaderInt8)},
};

#undef FEATURE

}  // namespace

FeatureChain::FeatureChain()
    : core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2},
      vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES},
      vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
      robustness2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT},
      subgroup_sizes{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT} {}

FeatureChain::FeatureChain(const FeatureChain& other) { *this = other; }

FeatureChain& FeatureChain::operator=(const FeatureChain& other) {
  core = other.core;
  vulkan11 = other.vulkan11;
  vulkan12 = other.vulkan12;
  robustness2 = other.robustness2;
  subgroup_sizes = other.subgroup_sizes;
  cores = other.cores;
  subnormals = other.subnormals;
  float_specials = other.float_specials;
  subgroup_shuffle = other.subgroup_shuffle;
  // A copy must not point into what it was copied from.
  core.pNext = vulkan11.pNext = vulkan12.pNext = robustness2.pNext = subgroup_sizes.pNext = nullptr;
  return *this;
}

VkPhysicalDeviceFeatures2* FeatureChain::Link(bool with_robustness2, bool with_subgroup_sizes) {
  core.pNext = &vulkan11;
  vulkan11.pNext = &vulkan12;
  void* last = nullptr;
  if (with_robustness2) {
    robustness2.pNext = last;
    last = &robustness2;
  }
  if (with_subgroup_sizes) {
    subgroup_sizes.pNext = last;
    last = &subgroup_sizes;
  }
  vulkan12.pNext = last;
  return &core;
}

std::span<const FeatureRow> FeatureTable() { return kFeatures; }

Result<FeatureChain> ChooseFeatures(const FeatureChain& present,
                                    const std::vector<std::string>& disabled) {
  for (const std::string& name : disabled) {
    bool known = std::any_of(std::begin(kFeatures), std::end(kFeatures),
                             [&](const FeatureRow& row) { return name == row.name; });
    INVALID_IF(!known, "the feature to disable is not known ({})", name);
  }
  FeatureChain source = present;
  FeatureChain enabled;
  for (const FeatureRow& row : kFeatures) {
    bool is_disabled = std::find(disabled.begin(), disabled.end(), row.name) != disabled.end();
    row.field(enabled) = is_disabled ? VK_FALSE : row.field(source);
  }
  return enabled;
}

std::string MissingFeatures(const FeatureChain& enabled) {
  FeatureChain chain = enabled;
  std::string missing;
  for (const FeatureRow& row : kFeatures) {
    if (!row.required || row.field(chain)) continue;
    missing += missing.empty() ? row.name : std::string(", ") + row.name;
  }
  return missing;
}

}  // namespace webnnd::service
