// The table of device features that we require or use, with the reason of each.
#ifndef WEBNND_SERVICE_VULKAN_FEATURES_H_
#define WEBNND_SERVICE_VULKAN_FEATURES_H_

#include <vulkan/vulkan.h>

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace webnnd::service {

// The features of a device: a chain of Vulkan's structures, and what we derive from properties.
struct FeatureChain {
  FeatureChain();
  FeatureChain(const FeatureChain& other);
  FeatureChain& operator=(const FeatureChain& other);

  // The head of the chain. Only devices of VK_EXT_robustness2, and of VK_EXT_subgroup_size_control,
  // may be asked with them.
  VkPhysicalDeviceFeatures2* Link(bool with_robustness2, bool with_subgroup_sizes);

  VkPhysicalDeviceFeatures2 core;
  VkPhysicalDeviceVulkan11Features vulkan11;
  VkPhysicalDeviceVulkan12Features vulkan12;
  VkPhysicalDeviceRobustness2FeaturesEXT robustness2;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroup_sizes;
  // Not Vulkan's: whether the driver is llvmpipe, which runs kernels on a processor's cores and
  // reads quads of texel buffers faster than of storage buffers.
  VkBool32 cores = VK_FALSE;
  // Whether drivers can be told to keep them (float_controls.h).
  VkBool32 subnormals = VK_FALSE;
  VkBool32 float_specials = VK_FALSE;
  VkBool32 subgroup_shuffle = VK_FALSE;
};

struct FeatureRow {
  const char* name;    // Vulkan's, or for optional ones the name that --disable-feature takes.
  const char* reason;  // What we need it for.
  bool required;
  VkBool32& (*field)(FeatureChain& chain);
};

std::span<const FeatureRow> FeatureTable();

// The features to enable: those of the table that `present` has and `disabled` does not name.
// Validation error when `disabled` names one that the table does not know.
Result<FeatureChain> ChooseFeatures(const FeatureChain& present,
                                    const std::vector<std::string>& disabled);
// Names of the required features that `enabled` lacks, separated by commas.
std::string MissingFeatures(const FeatureChain& enabled);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_FEATURES_H_
