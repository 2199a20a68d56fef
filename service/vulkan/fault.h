// Fault injection: makes the n-th checked Vulkan call fail, so that tests walk every error path.
#ifndef WEBNND_SERVICE_VULKAN_FAULT_H_
#define WEBNND_SERVICE_VULKAN_FAULT_H_

#include <vulkan/vulkan.h>

#include <atomic>
#include <cstdint>

namespace webnnd::service {

enum class Fault : uint8_t { kOutOfMemory, kDeviceLost };

// From now on counts checked calls of this process, and fails call `nth_call` (from 1), and with
// `forever` all later ones. The call that fails is not made. 0 counts only.
void InjectFaultAt(uint64_t nth_call, bool forever, Fault fault = Fault::kOutOfMemory);
// Ends counting and failing.
void ClearFault();
// Calls counted since InjectFaultAt.
uint64_t CheckedCallCount();

namespace internal {
extern std::atomic<bool> fault_armed;
// Counts a call: what it answers instead of being made, or VK_SUCCESS.
VkResult TakeFault();
}  // namespace internal

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_FAULT_H_
