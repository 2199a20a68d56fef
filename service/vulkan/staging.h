// Staging: mapped memory through which a context's transfers pass, within a budget.
#ifndef WEBNND_SERVICE_VULKAN_STAGING_H_
#define WEBNND_SERVICE_VULKAN_STAGING_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/result.h"
#include "service/vulkan/device_impl.h"

namespace webnnd::service {

// Bytes of staging memory in flight of one timeline. Budgets are not shared between timelines: one
// thread serves several, and would wait for itself.
class StagingBudget {
 public:
  bool HasRoom(uint64_t bytes);
  // Returns once HasRoom, or DeviceLost when that cannot come true any more.
  Status WaitForRoom(uint64_t bytes, LogicalDevice& device);
  void Take(uint64_t bytes);
  void Return(uint64_t bytes);

 private:
  bool HasRoomLocked(uint64_t bytes) const;

  std::mutex mutex_;
  std::condition_variable returned_;
  uint64_t bytes_in_flight_ = 0;
};

// A buffer of staging memory; gives its bytes back to the budget when it dies.
class StagingLease {
 public:
  static Result<std::shared_ptr<StagingLease>> Take(DeviceImpl& device, StagingBudget& budget,
                                                    uint64_t bytes);
  StagingLease(StagingBudget& budget, std::shared_ptr<BufferImpl> buffer)
      : budget_(budget), buffer_(std::move(buffer)) {
    budget_.Take(buffer_->bytes());
  }
  ~StagingLease() {
    const uint64_t bytes = buffer_->bytes();
    buffer_.reset();
    budget_.Return(bytes);
  }
  StagingLease(const StagingLease&) = delete;
  StagingLease& operator=(const StagingLease&) = delete;

  const BufferImpl& buffer() const { return *buffer_; }

 private:
  StagingBudget& budget_;
  std::shared_ptr<BufferImpl> buffer_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_STAGING_H_
