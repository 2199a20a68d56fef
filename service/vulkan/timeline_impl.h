// TimelineImpl: records the work of one context, submits it in batches, and keeps its order.
#ifndef WEBNND_SERVICE_VULKAN_TIMELINE_IMPL_H_
#define WEBNND_SERVICE_VULKAN_TIMELINE_IMPL_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "service/vulkan/binding_impl.h"
#include "service/vulkan/device_impl.h"
#include "service/vulkan/staging.h"

namespace webnnd::service {

// Commands of transfers go into a transient command buffer, which ends where a binding's own
// command buffers follow. A failed submission leaves the tensors in no known state: from then on
// everything fails with its error.
class TimelineImpl : public Timeline {
 public:
  explicit TimelineImpl(std::shared_ptr<DeviceImpl> device);
  // What has not been flushed is not done, and its callbacks are told so. Waits for the rest.
  ~TimelineImpl() override;

  Status Prepare();

  Status Clear(std::shared_ptr<Buffer> buffer) override;
  using Timeline::Read;
  using Timeline::Write;
  Status Write(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
               const FillFunction& fill) override;
  Status Read(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
              ReadFunction done) override;
  Status Dispatch(std::shared_ptr<Binding> binding) override;
  Status Notify(std::function<void(bool ok)> done) override;
  Status Flush() override;
  Status WaitIdle() override;

 private:
  // What becomes one submission.
  struct Batch {
    std::vector<VkCommandBuffer> commands;
    uint64_t cost = 0;
    std::vector<std::function<void(bool)>> callbacks;
    std::vector<std::shared_ptr<const void>> keep_alive;
    std::vector<VkCommandBuffer> transient;  // Those of `commands` to use again.

    bool empty() const {
      return commands.empty() && callbacks.empty() && keep_alive.empty() && transient.empty();
    }
  };

  Batch& batch() { return batches_.back(); }
  Status CheckUsable() const;
  // The bytes of all ranges together, each of which is inside the buffer.
  static Result<uint64_t> AddRanges(const BufferImpl& buffer, std::span<const ByteRange> ranges);
  Result<std::shared_ptr<StagingLease>> TakeStaging(uint64_t bytes);
  // The transient command buffer, open, with a barrier behind what touched `buffer` before.
  Result<VkCommandBuffer> OpenTransient(BufferImpl& buffer, uint64_t cost);
  Result<VkCommandBuffer> TakeCommandBuffer();
  Status CloseTransient();
  // Starts a new batch where `cost` more would make this one too long.
  Status Reserve(uint64_t cost);
  Status SubmitBatch(Batch& batch);
  // `submitted`: whether the semaphore's value_ stands for it.
  void HandOver(Batch batch, bool submitted);
  // Drops what has been recorded, telling its callbacks.
  void Abandon();
  void OnRetired(const std::vector<VkCommandBuffer>& transient);

  std::shared_ptr<DeviceImpl> device_;
  StagingBudget staging_;
  UniqueSemaphore semaphore_;
  UniqueCommandPool command_pool_;
  uint64_t value_ = 0;  // The last value that a submission signals.
  std::optional<Error> failure_;

  std::vector<Batch> batches_;  // At least one.
  VkCommandBuffer open_ = VK_NULL_HANDLE;
  bool open_reads_ = false;                      // `open_` writes what the host will read.
  std::vector<const BufferImpl*> open_touched_;  // Since the last barrier of `open_`.

  // Shared with the completion thread.
  std::mutex mutex_;
  std::condition_variable retired_;
  uint64_t in_flight_ = 0;
  std::vector<VkCommandBuffer> idle_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_TIMELINE_IMPL_H_
