#include "service/vulkan/staging.h"

#include <chrono>

#include "base/limits.h"

namespace webnnd::service {

bool StagingBudget::HasRoomLocked(uint64_t bytes) const {
  return bytes_in_flight_ == 0 || (bytes <= limits::kStagingBytesPerContextMax &&
                                   bytes_in_flight_ <= limits::kStagingBytesPerContextMax - bytes);
}

bool StagingBudget::HasRoom(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  return HasRoomLocked(bytes);
}

Status StagingBudget::WaitForRoom(uint64_t bytes, LogicalDevice& device) {
  std::unique_lock lock(mutex_);
  while (!HasRoomLocked(bytes)) {
    // A device that hangs never returns its bytes.
    if (device.is_lost()) return DeviceLostError("the device is lost ({} bytes wait)", bytes);
    returned_.wait_for(lock, std::chrono::milliseconds(50));
  }
  return {};
}

void StagingBudget::Take(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  bytes_in_flight_ += bytes;
}

void StagingBudget::Return(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  bytes_in_flight_ -= bytes;
  // Under the lock: the timeline may die as soon as it has seen the last bytes return.
  returned_.notify_all();
}

Result<std::shared_ptr<StagingLease>> StagingLease::Take(DeviceImpl& device, StagingBudget& budget,
                                                         uint64_t bytes) {
  ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> buffer,
                   device.Allocate(MemoryKind::kStaging, bytes));
  return std::make_shared<StagingLease>(budget, std::move(buffer));
}

}  // namespace webnnd::service
