// Completion: the thread of a device that waits for submissions and runs their callbacks.
#ifndef WEBNND_SERVICE_VULKAN_COMPLETION_H_
#define WEBNND_SERVICE_VULKAN_COMPLETION_H_

#include <vulkan/vulkan.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

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
    // Run last; afterwards nothing of the entry is left.
    std::function<void()> retired;
  };

  explicit Completion(LogicalDevice& device);
  // All entries have retired before.
  ~Completion();

  // Entries are done in the order of Push.
  void Push(Entry entry);
  // How long one entry may take, before the device counts as lost.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

 private:
  void Run();
  void Finish(Entry& entry);
  // Returns when the device has finished with `entry`: whether it did its work.
  bool WaitFor(Entry& entry);
  // Tells all that wait that the device is lost, without releasing anything.
  void FailCallbacks(Entry& current);

  LogicalDevice& device_;
  std::atomic<std::chrono::milliseconds> patience_;
  std::mutex mutex_;
  std::condition_variable pushed_;
  std::deque<Entry> entries_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_COMPLETION_H_
