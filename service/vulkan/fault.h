// Faults of Vulkan calls: those that stand in VK_TRY or VK_CALL. base/fault.h in Vulkan's terms.
#ifndef WEBNND_SERVICE_VULKAN_FAULT_H_
#define WEBNND_SERVICE_VULKAN_FAULT_H_

#include <vulkan/vulkan.h>

#include <cstdint>

#include "base/fault.h"

namespace webnnd::service {

enum class Fault : uint8_t { kOutOfMemory, kDeviceLost };

// From now on counts checked calls of this process, and fails call `nth_call` (from 1), and with
// `forever` all later ones. The call that fails is not made. 0 counts only.
inline void InjectFaultAt(uint64_t nth_call, bool forever, Fault fault = Fault::kOutOfMemory) {
  const VkResult answer =
      fault == Fault::kDeviceLost ? VK_ERROR_DEVICE_LOST : VK_ERROR_OUT_OF_DEVICE_MEMORY;
  fault::Inject({.nth = nth_call,
                 .forever = forever,
                 .kinds = fault::Only(fault::Kind::kVulkan),
                 .answer = answer});
}
// Ends counting and failing.
inline void ClearFault() { fault::Clear(); }
// Calls counted since InjectFaultAt.
inline uint64_t CheckedCallCount() { return fault::CallCount(); }

// What a call answers that is to fail.
inline VkResult FaultAnswer() {
  const int answer = fault::Answer(fault::Kind::kVulkan);
  return answer < 0 ? static_cast<VkResult>(answer) : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_FAULT_H_
