#include "service/vulkan/completion.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {
namespace {

// How often a wait looks whether the device has been lost meanwhile.
constexpr uint64_t kWaitSliceNs = 50'000'000;

void RunCallbacks(std::vector<std::function<void(bool)>>& callbacks, bool ok) {
  for (auto& callback : std::exchange(callbacks, {})) callback(ok);
}

}  // namespace

Completion::Completion(LogicalDevice& device) : device_(device), thread_([this] { Run(); }) {}

Completion::~Completion() {
  // Timelines hold the device until their entries have retired, so this is never our own thread.
  CHECK(std::this_thread::get_id() != thread_.get_id());
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  pushed_.notify_one();
  thread_.join();
}

void Completion::Push(Entry entry) {
  entry.pushed = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  pushed_.notify_one();
}

void Completion::Run() {
  for (;;) {
    Entry entry;
    {
      std::unique_lock lock(mutex_);
      pushed_.wait(lock, [this] { return stopping_ || !entries_.empty(); });
      if (entries_.empty()) return;
      entry = std::move(entries_.front());
      entries_.pop_front();
    }
    Finish(entry);
  }
}

void Completion::Finish(Entry& entry) {
  const bool ok = entry.semaphore != VK_NULL_HANDLE && WaitFor(entry);
  const auto begun = std::max(entry.pushed, last_done_);
  last_done_ = std::chrono::steady_clock::now();
  // First: who is told that a dispatch has ended may count on what it held.
  entry.keep_alive.clear();
  RunCallbacks(entry.callbacks, ok);
  if (entry.retired) std::exchange(entry.retired, nullptr)(last_done_ - begun);
}

bool Completion::WaitFor(Entry& entry) {
  VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &entry.semaphore;
  info.pValues = &entry.value;
  const auto start = std::max(entry.pushed, last_done_);
  for (;;) {
    VkResult result = VK_CALL(vkWaitSemaphores(device_.get(), &info, kWaitSliceNs));
    if (result == VK_SUCCESS) return true;
    if (result == VK_ERROR_DEVICE_LOST) *device_.lost() = true;
    if (result < 0) {
      LogError("waiting for the device fails ({})", VkResultName(result));
      if (device_.is_lost()) FailCallbacks(entry);
      return device_.WaitIdleBeforeRelease() == VK_SUCCESS && !device_.is_lost();
    }
    if (!device_.is_lost() && std::chrono::steady_clock::now() - start > entry.patience) {
      LogError("a kernel does not end in time ({} ms, {})", entry.patience.count(),
               device_.adapter().info.name);
      device_.SetHung();
    }
    // It may still touch what the entry keeps alive: go on waiting, but tell the others now.
    if (device_.is_lost()) FailCallbacks(entry);
  }
}

void Completion::FailCallbacks(Entry& current) {
  RunCallbacks(current.callbacks, false);
  std::vector<std::function<void(bool)>> waiting;
  {
    std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      for (auto& callback : entry.callbacks) waiting.push_back(std::move(callback));
      entry.callbacks.clear();
    }
  }
  RunCallbacks(waiting, false);
}

}  // namespace webnnd::service
