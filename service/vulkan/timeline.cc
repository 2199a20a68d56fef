#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "base/limits.h"
#include "service/vulkan/commands.h"
#include "service/vulkan/timeline_impl.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {
namespace {

// Beyond it a barrier is cheaper than the search.
constexpr size_t kTouchedBuffersMax = 32;

}  // namespace

Result<std::unique_ptr<Timeline>> Timeline::Create(std::shared_ptr<Device> device,
                                                   const TimelineOptions& options) {
  auto timeline = std::make_unique<TimelineImpl>(device->impl().shared_from_this(), options);
  TRY(timeline->Prepare());
  return std::unique_ptr<Timeline>(std::move(timeline));
}

TimelineImpl::TimelineImpl(std::shared_ptr<DeviceImpl> device, const TimelineOptions& options)
    : device_(std::move(device)), options_(options), semaphore_(device_->get()), batches_(1) {}

TimelineImpl::~TimelineImpl() {
  Cancel();
  std::unique_lock lock(mutex_);
  retired_.wait(lock, [this] { return in_flight_ == 0; });
}

Status TimelineImpl::Prepare() {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  VK_TRY(device_->lost(), vkCreateSemaphore(device_->get(), &info, nullptr, semaphore_.out()));
  for (UniqueCommandPool* pool : {&command_pool_, &primary_pool_}) {
    ASSIGN_OR_RETURN(*pool, CreateCommandPool(device_->logical(),
                                              VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT |
                                                  VK_COMMAND_POOL_CREATE_TRANSIENT_BIT));
  }
  return {};
}

Error TimelineImpl::LostError() const {
  return DeviceLostError("the device is lost ({})", device_->logical().adapter().info.name);
}

Status TimelineImpl::CheckUsable() const {
  if (device_->logical().is_lost()) return LostError();
  return {};
}

// --- Recording ----------------------------------------------------------------------------------

Status TimelineImpl::Clear(std::shared_ptr<Buffer> buffer, std::shared_ptr<WorkOutcome> outcome) {
  TRY(CheckUsable());
  ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> own, device_->Own(buffer));
  ASSIGN_OR_RETURN(VkCommandBuffer commands, OpenTransient(*own, own->bytes()));
  vkCmdFillBuffer(commands, own->handle(), own->offset(), own->bytes(), 0);
  batch().keep_alive.push_back(std::move(own));
  if (outcome != nullptr) batch().outcomes.push_back(std::move(outcome));
  return {};
}

Result<uint64_t> TimelineImpl::AddRanges(const BufferImpl& buffer,
                                         std::span<const ByteRange> ranges) {
  uint64_t sum = 0;
  for (const ByteRange& range : ranges) {
    const std::optional<uint64_t> end = CheckedAdd(range.offset, range.bytes);
    if (!end || *end > buffer.bytes()) {
      return InternalError("the range ({} + {}) is not inside the buffer ({} bytes)", range.offset,
                           range.bytes, buffer.bytes());
    }
    sum += range.bytes;
  }
  return sum;
}

Status TimelineImpl::Write(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
                           const FillFunction& fill, std::shared_ptr<WorkOutcome> outcome) {
  TRY(CheckUsable());
  ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> own, device_->Own(buffer));
  ASSIGN_OR_RETURN(const uint64_t bytes, AddRanges(*own, ranges));
  // Nothing recorded touches it yet, so that this write comes before whatever will: no copy.
  if (bytes == 0 || (own->mapped() != nullptr && !own->is_shared_with_device())) {
    uint64_t done = 0;
    for (const ByteRange& range : ranges) {
      if (range.bytes == 0) continue;
      TRY(fill(done, {own->mapped() + range.offset, range.bytes}));
      done += range.bytes;
    }
    if (outcome == nullptr) return {};
    if (bytes == 0) {
      batch().outcomes.push_back(std::move(outcome));
    } else {
      // Nothing was recorded that it could depend on.
      outcome->Settle(std::nullopt);
    }
    return {};
  }
  ASSIGN_OR_RETURN(std::shared_ptr<StagingLease> staging, TakeStaging(bytes));
  TRY(fill(0, {staging->buffer().mapped(), bytes}));
  ASSIGN_OR_RETURN(VkCommandBuffer commands, OpenTransient(*own, bytes));
  std::vector<VkBufferCopy> regions;
  uint64_t done = 0;
  for (const ByteRange& range : ranges) {
    if (range.bytes == 0) continue;
    regions.push_back(
        {staging->buffer().offset() + done, own->offset() + range.offset, range.bytes});
    done += range.bytes;
  }
  vkCmdCopyBuffer(commands, staging->buffer().handle(), own->handle(),
                  static_cast<uint32_t>(regions.size()), regions.data());
  batch().keep_alive.push_back(std::move(own));
  batch().keep_alive.push_back(std::move(staging));
  if (outcome != nullptr) batch().outcomes.push_back(std::move(outcome));
  return {};
}

Status TimelineImpl::Read(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
                          ReadFunction done) {
  TRY(CheckUsable());
  ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> own, device_->Own(buffer));
  ASSIGN_OR_RETURN(const uint64_t bytes, AddRanges(*own, ranges));
  std::shared_ptr<StagingLease> staging;
  if (bytes != 0) {
    ASSIGN_OR_RETURN(staging, TakeStaging(bytes));
    ASSIGN_OR_RETURN(VkCommandBuffer commands, OpenTransient(*own, bytes));
    std::vector<VkBufferCopy> regions;
    uint64_t copied = 0;
    for (const ByteRange& range : ranges) {
      if (range.bytes == 0) continue;
      regions.push_back(
          {own->offset() + range.offset, staging->buffer().offset() + copied, range.bytes});
      copied += range.bytes;
    }
    vkCmdCopyBuffer(commands, own->handle(), staging->buffer().handle(),
                    static_cast<uint32_t>(regions.size()), regions.data());
    open_reads_ = true;
    batch().keep_alive.push_back(std::move(own));
    batch().keep_alive.push_back(staging);
  }
  batch().callbacks.push_back(
      [staging = std::move(staging), bytes, done = std::move(done)](const Error* failure) {
        if (failure != nullptr) {
          done(Error(*failure).AddContext(fmt::format("reading {} bytes", bytes)));
        } else if (staging == nullptr) {
          done(std::span<const std::byte>());
        } else {
          done(std::span<const std::byte>(staging->buffer().mapped(), bytes));
        }
      });
  return {};
}

Status TimelineImpl::Dispatch(std::shared_ptr<Binding> binding,
                              std::shared_ptr<WorkOutcome> outcome) {
  TRY(CheckUsable());
  auto own = std::dynamic_pointer_cast<BindingImpl>(std::move(binding));
  if (own == nullptr || own->device() != device_.get()) {
    return InternalError("the binding is not one of the device ({})",
                         device_->logical().adapter().info.name);
  }
  CloseTransient();
  // Who waits for what was read before does not wait for this too.
  if (!batch().callbacks.empty()) batches_.emplace_back();
  auto run = std::make_shared<Run>(Run{std::move(outcome), {}, std::nullopt});
  for (const BindingImpl::Segment& segment : own->segments()) {
    Reserve(segment.cost);
    batch().items.push_back({segment.commands, segment.cost, run});
    batch().cost += segment.cost;
  }
  batch().ends.push_back(std::move(run));
  // Batches end in order: the last one that uses it keeps it for all.
  batch().keep_alive.push_back(own->token());
  batch().keep_alive.push_back(std::move(own));
  return {};
}

Status TimelineImpl::Notify(std::function<void(bool ok)> done) {
  batch().callbacks.push_back(
      [done = std::move(done)](const Error* failure) { done(failure == nullptr); });
  // It must be told in any case, and no flush may come through any more.
  if (!CheckUsable().ok()) (void)Flush().ok();
  return {};
}

Result<std::shared_ptr<StagingLease>> TimelineImpl::TakeStaging(uint64_t bytes) {
  if (!staging_.HasRoom(bytes)) {
    (void)Flush().ok();  // Whatever has failed is told where it belongs.
    TRY(staging_.WaitForRoom(bytes, device_->logical()));
  }
  return StagingLease::Take(*device_, staging_, bytes);
}

Result<VkCommandBuffer> TimelineImpl::OpenTransient(BufferImpl& buffer, uint64_t cost) {
  Reserve(cost);
  if (open_ == VK_NULL_HANDLE) {
    ASSIGN_OR_RETURN(VkCommandBuffer commands, TakeCommandBuffer());
    RecordFullBarrier(commands);
    open_ = commands;
  } else if (open_touched_.size() >= kTouchedBuffersMax ||
             std::find(open_touched_.begin(), open_touched_.end(), &buffer) !=
                 open_touched_.end()) {
    RecordFullBarrier(open_);
    open_touched_.clear();
  }
  open_touched_.push_back(&buffer);
  buffer.ShareWithDevice();
  batch().cost += cost;
  return open_;
}

Result<VkCommandBuffer> TimelineImpl::TakeCommandBuffer() {
  VkCommandBuffer commands = VK_NULL_HANDLE;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      commands = idle_.back();
      idle_.pop_back();
    }
  }
  if (commands == VK_NULL_HANDLE) {
    ASSIGN_OR_RETURN(commands, AllocateCommandBuffer(device_->logical(), command_pool_.get(),
                                                     VK_COMMAND_BUFFER_LEVEL_SECONDARY));
  }
  Status begun =
      BeginCommandBuffer(device_->logical(), commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  if (!begun.ok()) {
    std::lock_guard lock(mutex_);
    idle_.push_back(commands);
    return std::move(begun).error();
  }
  return commands;
}

// Never submitted, and in no state to be begun again.
void TimelineImpl::Free(VkCommandBuffer commands) {
  vkFreeCommandBuffers(device_->get(), command_pool_.get(), 1, &commands);
}

void TimelineImpl::CloseTransient() {
  if (open_ == VK_NULL_HANDLE) return;
  VkCommandBuffer commands = std::exchange(open_, VK_NULL_HANDLE);
  open_touched_.clear();
  if (std::exchange(open_reads_, false)) RecordHostReadBarrier(commands);
  if (VkResult result = VK_CALL(vkEndCommandBuffer(commands)); result < 0) {
    // What it held was accepted, and cannot be done any more.
    batch().failure = VulkanError(device_->lost(), result, "vkEndCommandBuffer");
    Free(commands);
    return;
  }
  batch().transient.push_back(commands);
  batch().items.push_back({commands, 0, nullptr});
}

void TimelineImpl::Reserve(uint64_t cost) {
  const uint64_t cost_max = device_->profile().submission_cost;
  if (batch().cost == 0 || batch().cost + cost <= cost_max) return;
  CloseTransient();
  batches_.emplace_back();
}

// --- Submitting ---------------------------------------------------------------------------------

Status TimelineImpl::Flush() {
  CloseTransient();
  std::lock_guard lock(mutex_);
  for (Batch& batch : std::exchange(batches_, std::vector<Batch>(1))) {
    if (!batch.empty()) waiting_.push_back(std::move(batch));
  }
  SubmitWaiting();
  TRY(CheckUsable());
  if (failure_) return *std::exchange(failure_, std::nullopt);
  return {};
}

bool TimelineImpl::MustWait(const Batch& batch) const {
  const uint64_t ahead_max = limits::kSubmissionsAhead * device_->profile().submission_cost;
  return !batch.items.empty() && cost_in_flight_ > 0 && batch.cost > 0 &&
         (cost_in_flight_ >= ahead_max || batch.cost > ahead_max - cost_in_flight_) &&
         !cancelled_ && !device_->logical().is_lost();
}

void TimelineImpl::SubmitWaiting() {
  while (!waiting_.empty() && !MustWait(waiting_.front())) {
    Batch next = std::move(waiting_.front());
    waiting_.pop_front();
    if (cancelled_ && !next.failure) next.failure = *cancelled_;
    if (!next.failure) {
      Status submitted = SubmitBatch(next);
      if (!submitted.ok()) next.failure = std::move(submitted).error();
    }
    HandOver(std::move(next));
  }
}

void TimelineImpl::DropStopped(Batch& batch) {
  for (const Batch::Item& item : batch.items) {
    if (item.run == nullptr || item.run->failure || item.run->taken <= options_.dispatch_limit) {
      continue;
    }
    item.run->failure = QuotaError("the dispatch takes longer than the limit ({} ms)",
                                   options_.dispatch_limit.count());
    if (!failure_) failure_ = item.run->failure;
  }
  std::erase_if(batch.items, [&](const Batch::Item& item) {
    const bool stopped = item.run != nullptr && item.run->failure;
    if (stopped) batch.cost -= item.cost;
    return stopped;
  });
}

Status TimelineImpl::SubmitBatch(Batch& batch) {
  DropStopped(batch);
  // Callbacks alone wait for what was submitted before.
  if (batch.items.empty()) return {};
  ASSIGN_OR_RETURN(batch.primary, RecordPrimary(batch));
  const uint64_t value = value_ + 1;
  const VkSemaphore semaphore = semaphore_.get();
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &value;
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &batch.primary;
  submit.signalSemaphoreCount = 1;
  submit.pSignalSemaphores = &semaphore;
  TRY(device_->logical().Submit(submit, VK_NULL_HANDLE));
  ++device_->submissions;
  value_ = value;
  return {};
}

Result<VkCommandBuffer> TimelineImpl::RecordPrimary(const Batch& batch) {
  if (idle_primaries_.empty()) {
    ASSIGN_OR_RETURN(idle_primaries_.emplace_back(),
                     AllocateCommandBuffer(device_->logical(), primary_pool_.get(),
                                           VK_COMMAND_BUFFER_LEVEL_PRIMARY));
  }
  const VkCommandBuffer primary = idle_primaries_.back();
  TRY(BeginCommandBuffer(device_->logical(), primary, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
  idle_primaries_.pop_back();
  std::vector<VkCommandBuffer> commands;
  for (const Batch::Item& item : batch.items) commands.push_back(item.commands);
  vkCmdExecuteCommands(primary, static_cast<uint32_t>(commands.size()), commands.data());
  VkResult result = VK_CALL(vkEndCommandBuffer(primary));
  if (result >= 0) return primary;
  // In no state to be begun again.
  vkFreeCommandBuffers(device_->get(), primary_pool_.get(), 1, &primary);
  return VulkanError(device_->lost(), result, "vkEndCommandBuffer");
}

void TimelineImpl::HandOver(Batch batch) {
  ++in_flight_;
  if (batch.failure) {
    if (!failure_) failure_ = batch.failure;
    // What is left of its dispatches is of no use.
    for (const Batch::Item& item : batch.items) {
      if (item.run != nullptr && !item.run->failure) item.run->failure = batch.failure;
    }
    batch.cost = 0;
  }
  cost_in_flight_ += batch.cost;
  Completion::Entry entry;
  // A batch that failed waits for what was submitted before, so that everything is told in order.
  entry.semaphore = semaphore_.get();
  entry.value = value_;
  entry.keep_alive = std::move(batch.keep_alive);
  entry.patience = options_.dispatch_limit + options_.hang_grace;
  auto shared = std::make_shared<Batch>(std::move(batch));
  entry.callbacks.push_back([this, shared](bool ok) { OnDone(*shared, ok); });
  entry.retired = [this, shared](std::chrono::nanoseconds taken) { OnRetired(*shared, taken); };
  device_->completion().Push(std::move(entry));
}

void TimelineImpl::Cancel() {
  if (open_ != VK_NULL_HANDLE) {
    Free(std::exchange(open_, VK_NULL_HANDLE));
    open_touched_.clear();
    open_reads_ = false;
  }
  {
    std::lock_guard lock(mutex_);
    if (!cancelled_) cancelled_ = InvalidStateError("the timeline has ended");
  }
  (void)Flush().ok();
}

// --- Completion ---------------------------------------------------------------------------------

void TimelineImpl::OnDone(Batch& batch, bool ok) {
  std::optional<Error> failure;
  {
    std::lock_guard lock(mutex_);
    if (!ok) {
      failure = LostError();
      // Those that wait are told as well: a device that hangs may never let go of this batch.
      SubmitWaiting();
    } else {
      failure = batch.failure;
    }
    for (const auto& run : batch.ends) {
      if (!run->failure) run->failure = failure;
    }
  }
  for (const auto& outcome : std::exchange(batch.outcomes, {})) outcome->Settle(failure);
  for (const auto& run : std::exchange(batch.ends, {})) {
    if (run->outcome != nullptr) run->outcome->Settle(run->failure);
  }
  for (Callback& callback : std::exchange(batch.callbacks, {})) {
    callback(failure ? &*failure : nullptr);
  }
}

void TimelineImpl::OnRetired(Batch& batch, std::chrono::nanoseconds taken) {
  std::lock_guard lock(mutex_);
  for (const Batch::Item& item : batch.items) {
    if (item.run == nullptr || batch.cost == 0) continue;
    const double share = static_cast<double>(item.cost) / static_cast<double>(batch.cost);
    item.run->taken +=
        std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(taken.count()) * share));
  }
  idle_.insert(idle_.end(), batch.transient.begin(), batch.transient.end());
  if (batch.primary != VK_NULL_HANDLE) idle_primaries_.push_back(batch.primary);
  cost_in_flight_ -= batch.cost;
  SubmitWaiting();
  --in_flight_;
  // Under the lock: the timeline may die as soon as it has seen the last batch retire.
  retired_.notify_all();
}

Status TimelineImpl::WaitIdle() {
  Status flushed = Flush();
  std::unique_lock lock(mutex_);
  retired_.wait(lock, [this] { return in_flight_ == 0 && waiting_.empty(); });
  TRY(std::move(flushed));
  TRY(CheckUsable());
  if (failure_) return *std::exchange(failure_, std::nullopt);
  return {};
}

}  // namespace webnnd::service
