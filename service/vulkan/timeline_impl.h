// TimelineImpl: records the work of one context, submits it in batches, and keeps its order.
#ifndef WEBNND_SERVICE_VULKAN_TIMELINE_IMPL_H_
#define WEBNND_SERVICE_VULKAN_TIMELINE_IMPL_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
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
// command buffers follow. Batches become submissions in their order; those that would give the
// device too much at a time wait, and are submitted as it finishes others. A submission is a
// primary command buffer that executes those, since lavapipe takes back all bindings of all kinds
// of shaders at the end of each primary one.
class TimelineImpl : public Timeline {
 public:
  TimelineImpl(std::shared_ptr<DeviceImpl> device, const TimelineOptions& options);
  // What the device has not begun with is not done, and is told so. Waits for the rest.
  ~TimelineImpl() override;

  Status Prepare();

  Status Clear(std::shared_ptr<Buffer> buffer, std::shared_ptr<WorkOutcome> outcome) override;
  using Timeline::Read;
  using Timeline::Write;
  Status Write(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
               const FillFunction& fill, std::shared_ptr<WorkOutcome> outcome) override;
  Status Read(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
              ReadFunction done) override;
  Status Dispatch(std::shared_ptr<Binding> binding, std::shared_ptr<WorkOutcome> outcome) override;
  Status Notify(std::function<void(bool ok)> done) override;
  Status Flush() override;
  Status WaitIdle() override;
  void Cancel() override;

 private:
  // A dispatch on its way. Guarded by mutex_ once its first batch waits.
  struct Run {
    std::shared_ptr<WorkOutcome> outcome;
    std::chrono::nanoseconds taken{};  // By its submissions so far.
    std::optional<Error> failure;      // Nothing more of it is submitted.
  };
  // `failure`: why what was recorded before has not been done; nullptr where it has.
  using Callback = std::function<void(const Error* failure)>;
  // What becomes one submission.
  struct Batch {
    struct Item {
      VkCommandBuffer commands = VK_NULL_HANDLE;
      uint64_t cost = 0;
      std::shared_ptr<Run> run;  // nullptr: transfers.
    };
    std::vector<Item> items;
    uint64_t cost = 0;
    std::vector<std::shared_ptr<WorkOutcome>> outcomes;  // Of transfers.
    std::vector<std::shared_ptr<Run>> ends;              // Dispatches whose last item is here.
    std::vector<Callback> callbacks;
    std::vector<std::shared_ptr<const void>> keep_alive;
    std::vector<VkCommandBuffer> transient;    // Those of `items` to use again.
    VkCommandBuffer primary = VK_NULL_HANDLE;  // The submission, to be used again.
    std::optional<Error> failure;              // It cannot be submitted.

    bool empty() const {
      return items.empty() && outcomes.empty() && ends.empty() && callbacks.empty() &&
             keep_alive.empty() && transient.empty();
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
  void CloseTransient();
  void Free(VkCommandBuffer commands);
  // Starts a new batch where `cost` more would make this one too long.
  void Reserve(uint64_t cost);

  // Those that follow are called with mutex_ held.
  void SubmitWaiting();
  // Whether the device has enough to do without the batch.
  bool MustWait(const Batch& batch) const;
  Status SubmitBatch(Batch& batch);
  // What executes the items.
  Result<VkCommandBuffer> RecordPrimary(const Batch& batch);
  // Drops what is left of dispatches that have failed, or have taken too long.
  void DropStopped(Batch& batch);
  // Gives the batch to the completion thread. Its failure, if any, is told there.
  void HandOver(Batch batch);

  // Completion thread.
  void OnDone(Batch& batch, bool ok);
  void OnRetired(Batch& batch, std::chrono::nanoseconds taken);
  Error LostError() const;

  std::shared_ptr<DeviceImpl> device_;
  const TimelineOptions options_;
  StagingBudget staging_;
  UniqueSemaphore semaphore_;
  UniqueCommandPool command_pool_;  // Of transient command buffers.

  std::vector<Batch> batches_;  // Being recorded; at least one.
  VkCommandBuffer open_ = VK_NULL_HANDLE;
  bool open_reads_ = false;                      // `open_` writes what the host will read.
  std::vector<const BufferImpl*> open_touched_;  // Since the last barrier of `open_`.

  // Shared with the completion thread.
  std::mutex mutex_;
  std::condition_variable retired_;
  std::deque<Batch> waiting_;       // Recorded, and not yet submitted.
  uint64_t value_ = 0;              // The last value that a submission signals.
  uint64_t cost_in_flight_ = 0;     // Of batches submitted and not yet retired.
  size_t in_flight_ = 0;            // Batches handed over and not yet retired.
  std::optional<Error> cancelled_;  // Why nothing is submitted any more.
  std::optional<Error> failure_;    // The first one that no Flush has returned.
  std::vector<VkCommandBuffer> idle_;
  UniqueCommandPool primary_pool_;
  std::vector<VkCommandBuffer> idle_primaries_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_TIMELINE_IMPL_H_
