#include "service/vulkan/fault.h"

namespace webnnd::service {
namespace {

std::atomic<uint64_t> calls{0};
std::atomic<uint64_t> first_failing{0};
std::atomic<bool> fails_forever{false};
std::atomic<VkResult> answer{VK_ERROR_OUT_OF_DEVICE_MEMORY};

}  // namespace

namespace internal {

std::atomic<bool> fault_armed{false};

VkResult TakeFault() {
  uint64_t call = calls.fetch_add(1) + 1;
  uint64_t nth = first_failing.load();
  bool fails = nth != 0 && (fails_forever.load() ? call >= nth : call == nth);
  return fails ? answer.load() : VK_SUCCESS;
}

}  // namespace internal

void InjectFaultAt(uint64_t nth_call, bool forever, Fault fault) {
  calls = 0;
  first_failing = nth_call;
  fails_forever = forever;
  answer = fault == Fault::kDeviceLost ? VK_ERROR_DEVICE_LOST : VK_ERROR_OUT_OF_DEVICE_MEMORY;
  internal::fault_armed = true;
}

void ClearFault() { internal::fault_armed = false; }

uint64_t CheckedCallCount() { return calls.load(); }

}  // namespace webnnd::service
