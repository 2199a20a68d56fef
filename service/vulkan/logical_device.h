// LogicalDevice: a VkDevice and its one queue.
#ifndef WEBNND_SERVICE_VULKAN_LOGICAL_DEVICE_H_
#define WEBNND_SERVICE_VULKAN_LOGICAL_DEVICE_H_

#include <vulkan/vulkan.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "service/vulkan/adapter.h"
#include "service/vulkan/instance.h"

namespace webnnd::service {

// Thread-safe.
class LogicalDevice {
 public:
  static Result<std::unique_ptr<LogicalDevice>> Create(std::shared_ptr<Instance> instance,
                                                       Adapter adapter);
  // Waits until the device is idle.
  ~LogicalDevice();
  LogicalDevice(const LogicalDevice&) = delete;
  LogicalDevice& operator=(const LogicalDevice&) = delete;

  VkDevice get() const { return device_; }
  const Adapter& adapter() const { return adapter_; }
  const DeviceProfile& profile() const { return adapter_.profile; }

  // What VK_TRY sets. Once set, nothing is submitted any more.
  std::atomic<bool>* lost() { return &lost_; }
  bool is_lost() const { return lost_.load(); }
  // Lost, because a submission does not end.
  void SetHung() {
    hung_ = true;
    lost_ = true;
  }
  bool is_hung() const { return hung_.load(); }

  Status Submit(const VkSubmitInfo& submit, VkFence fence);
  // Waits for all that was submitted, for as long as it takes: what must hold before memory in use
  // is freed. Not a place of injected faults. A lost device answers at once.
  VkResult WaitIdleBeforeRelease();

 private:
  LogicalDevice(std::shared_ptr<Instance> instance, Adapter adapter);

  std::shared_ptr<Instance> instance_;
  Adapter adapter_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex queue_mutex_;  // Builds warm pipelines while timelines submit.
  std::atomic<bool> lost_{false};
  std::atomic<bool> hung_{false};
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_LOGICAL_DEVICE_H_
