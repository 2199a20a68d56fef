// Completion: the thread of a device that waits for submissions and runs their callbacks.
#ifndef WEBNND_SERVICE_VULKAN_COMPLETION_H_
#define WEBNND_SERVICE_VULKAN_COMPLETION_H_

#include <vulkan/vulkan.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "service/vulkan/logical_device.h"

namespace webnnd::service {

class Completion {
 public:
  // One submission.
  struct Entry {
    // Done when `semaphore` reaches `value`; at once when empty: it could not be submitted.
    VkSemaphore semaphore = VK_NULL_HANDLE;
    uint64_t value = 0;
    // Run in order with whether the work was done.
    std::vector<std::function<void(bool ok)>> callbacks;
    // Released after the callbacks, and never before the device has let go.
    std::vector<std::shared_ptr<const void>> keep_alive;
    // Run last; afterwards nothing of the entry is left. `taken`: how long the device had it,
    // alone.
    std::function<void(std::chrono::nanoseconds taken)> retired;
    // How long that may be, before the device counts as lost.
    std::chrono::milliseconds patience{limits::kDispatchMsMax + limits::kHangMs};
    std::chrono::steady_clock::time_point pushed{};  // Set by Push.
  };

  explicit Completion(LogicalDevice& device);
  // All entries have retired before.
  ~Completion();

  // Entries are done in the order of Push.
  void Push(Entry entry);

 private:
  void Run();
  void Finish(Entry& entry);
  // Returns when the device has finished with `entry`: whether it did its work.
  bool WaitFor(Entry& entry);
  // Tells all that wait that the device is lost, without releasing anything.
  void FailCallbacks(Entry& current);

  LogicalDevice& device_;
  // Completion thread: when the last entry was done.
  std::chrono::steady_clock::time_point last_done_{};
  std::mutex mutex_;
  std::condition_variable pushed_;
  std::deque<Entry> entries_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_COMPLETION_H_
