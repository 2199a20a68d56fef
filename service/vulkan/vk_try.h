// VK_TRY: every Vulkan call that can fail goes through it. It is also where tests inject failures.
#ifndef WEBNND_SERVICE_VULKAN_VK_TRY_H_
#define WEBNND_SERVICE_VULKAN_VK_TRY_H_

#include <vulkan/vulkan.h>

#include <atomic>
#include <string_view>

#include "base/result.h"
#include "service/vulkan/fault.h"

namespace webnnd::service {

// "VK_ERROR_DEVICE_LOST"; other codes by number.
std::string VkResultName(VkResult result);

// The error of a failed call; `call` is its source text. Sets `*lost` (nullptr: no device yet) when
// the device is lost.
Error VulkanError(std::atomic<bool>* lost, VkResult result, std::string_view call);

}  // namespace webnnd::service

// The VkResult of `call`, or of a fault injected in its place.
#define VK_CALL(call)                                                          \
  ([&]() -> VkResult {                                                         \
    if (::webnnd::fault::Fails(::webnnd::fault::Kind::kVulkan)) [[unlikely]] { \
      return ::webnnd::service::FaultAnswer();                                 \
    }                                                                          \
    return (call);                                                             \
  }())

// Returns the error of `call` from the enclosing function, or goes on. Codes that are no errors
// (VK_TIMEOUT, VK_INCOMPLETE) go on.
#define VK_TRY(lost, call)                                                \
  do {                                                                    \
    if (VkResult vk_result = VK_CALL(call); vk_result < 0) [[unlikely]] { \
      return ::webnnd::service::VulkanError((lost), vk_result, #call);    \
    }                                                                     \
  } while (false)

#endif  // WEBNND_SERVICE_VULKAN_VK_TRY_H_
