#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "service/vulkan/commands.h"
#include "service/vulkan/timeline_impl.h"
#include "service/vulkan/vk_try.h"

namespace webnnd::service {
namespace {

// Beyond it a barrier is cheaper than the search.
constexpr size_t kTouchedBuffersMax = 32;

}  // namespace

Result<std::unique_ptr<Timeline>> Timeline::Create(std::shared_ptr<Device> device) {
  auto timeline = std::make_unique<TimelineImpl>(device->impl().shared_from_this());
  TRY(timeline->Prepare());
  return std::unique_ptr<Timeline>(std::move(timeline));
}

TimelineImpl::TimelineImpl(std::shared_ptr<DeviceImpl> device)
    : device_(std::move(device)), semaphore_(device_->get()), batches_(1) {}

TimelineImpl::~TimelineImpl() {
  Abandon();
  std::unique_lock lock(mutex_);
  retired_.wait(lock, [this] { return in_flight_ == 0; });
}

Status TimelineImpl::Prepare() {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  VK_TRY(device_->lost(), vkCreateSemaphore(device_->get(), &info, nullptr, semaphore_.out()));
  ASSIGN_OR_RETURN(
      command_pool_,
      CreateCommandPool(device_->logical(), VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT |
                                                VK_COMMAND_POOL_CREATE_TRANSIENT_BIT));
  return {};
}

Status TimelineImpl::CheckUsable() const {
  if (failure_) return *failure_;
  if (device_->logical().is_lost()) {
    return DeviceLostError("the device is lost ({})", device_->logical().adapter().info.name);
  }
  return {};
}

// --- Recording ----------------------------------------------------------------------------------

Status TimelineImpl::Clear(std::shared_ptr<Buffer> buffer) {
  TRY(CheckUsable());
  ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> own, device_->Own(buffer));
  ASSIGN_OR_RETURN(VkCommandBuffer commands, OpenTransient(*own, own->bytes()));
  vkCmdFillBuffer(commands, own->handle(), own->offset(), own->bytes(), 0);
  batch().keep_alive.push_back(std::move(own));
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
                           const FillFunction& fill) {
  TRY(CheckUsable());
  ASSIGN_OR_RETURN(std::shared_ptr<BufferImpl> own, device_->Own(buffer));
  ASSIGN_OR_RETURN(const uint64_t bytes, AddRanges(*own, ranges));
  if (bytes == 0) return {};
  // Nothing recorded touches it yet, so that this write comes before whatever will: no copy.
  if (own->mapped() != nullptr && !own->is_shared_with_device()) {
    uint64_t done = 0;
    for (const ByteRange& range : ranges) {
      TRY(fill(done, {own->mapped() + range.offset, range.bytes}));
      done += range.bytes;
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
      [staging = std::move(staging), bytes, done = std::move(done)](bool ok) {
        if (!ok) {
          done(DeviceLostError("the device does not finish the read ({} bytes)", bytes));
        } else if (staging == nullptr) {
          done(std::span<const std::byte>());
        } else {
          done(std::span<const std::byte>(staging->buffer().mapped(), bytes));
        }
      });
  return {};
}

Status TimelineImpl::Dispatch(std::shared_ptr<Binding> binding) {
  TRY(CheckUsable());
  auto own = std::dynamic_pointer_cast<BindingImpl>(std::move(binding));
  if (own == nullptr || own->device() != device_.get()) {
    return InternalError("the binding is not one of the device ({})",
                         device_->logical().adapter().info.name);
  }
  TRY(CloseTransient());
  // Who waits for what was read before does not wait for this too.
  if (!batch().callbacks.empty()) batches_.emplace_back();
  for (const BindingImpl::Segment& segment : own->segments()) {
    TRY(Reserve(segment.cost));
    batch().commands.push_back(segment.commands);
    batch().cost += segment.cost;
  }
  // Batches end in order: the last one that uses it keeps it for all.
  batch().keep_alive.push_back(own->token());
  batch().keep_alive.push_back(std::move(own));
  return {};
}

Status TimelineImpl::Notify(std::function<void(bool ok)> done) {
  batch().callbacks.push_back(std::move(done));
  // It must be told in any case, and no flush will come through any more.
  if (!CheckUsable().ok()) Abandon();
  return {};
}

Result<std::shared_ptr<StagingLease>> TimelineImpl::TakeStaging(uint64_t bytes) {
  if (!staging_.HasRoom(bytes)) {
    TRY(Flush());
    TRY(staging_.WaitForRoom(bytes, device_->logical()));
  }
  return StagingLease::Take(*device_, staging_, bytes);
}

Result<VkCommandBuffer> TimelineImpl::OpenTransient(BufferImpl& buffer, uint64_t cost) {
  TRY(Reserve(cost));
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
    ASSIGN_OR_RETURN(commands, AllocateCommandBuffer(device_->logical(), command_pool_.get()));
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

Status TimelineImpl::CloseTransient() {
  if (open_ == VK_NULL_HANDLE) return {};
  VkCommandBuffer commands = std::exchange(open_, VK_NULL_HANDLE);
  open_touched_.clear();
  if (std::exchange(open_reads_, false)) RecordHostReadBarrier(commands);
  batch().transient.push_back(commands);
  if (VkResult result = VK_CALL(vkEndCommandBuffer(commands)); result < 0) {
    // What it held was accepted, and cannot be done any more.
    failure_ = VulkanError(device_->lost(), result, "vkEndCommandBuffer");
    Abandon();
    return *failure_;
  }
  batch().commands.push_back(commands);
  return {};
}

Status TimelineImpl::Reserve(uint64_t cost) {
  const uint64_t cost_max = device_->profile().submission_cost;
  if (batch().cost == 0 || batch().cost + cost <= cost_max) return {};
  TRY(CloseTransient());
  batches_.emplace_back();
  return {};
}

// --- Submitting ---------------------------------------------------------------------------------

Status TimelineImpl::Flush() {
  if (Status usable = CheckUsable(); !usable.ok()) {
    Abandon();
    return usable;
  }
  TRY(CloseTransient());
  std::vector<Batch> batches = std::exchange(batches_, std::vector<Batch>(1));
  for (size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].commands.empty() && batches[i].callbacks.empty()) continue;
    Status submitted = SubmitBatch(batches[i]);
    if (submitted.ok()) {
      HandOver(std::move(batches[i]), /*submitted=*/true);
      continue;
    }
    failure_ = std::move(submitted).error();
    for (; i < batches.size(); ++i) HandOver(std::move(batches[i]), /*submitted=*/false);
    return *failure_;
  }
  return {};
}

Status TimelineImpl::SubmitBatch(Batch& batch) {
  // Callbacks alone wait for what was submitted before.
  if (batch.commands.empty()) return {};
  const uint64_t value = value_ + 1;
  const VkSemaphore semaphore = semaphore_.get();
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &value;
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
  submit.commandBufferCount = static_cast<uint32_t>(batch.commands.size());
  submit.pCommandBuffers = batch.commands.data();
  submit.signalSemaphoreCount = 1;
  submit.pSignalSemaphores = &semaphore;
  TRY(device_->logical().Submit(submit, VK_NULL_HANDLE));
  value_ = value;
  return {};
}

void TimelineImpl::HandOver(Batch batch, bool submitted) {
  {
    std::lock_guard lock(mutex_);
    ++in_flight_;
  }
  Completion::Entry entry;
  entry.semaphore = submitted ? semaphore_.get() : VK_NULL_HANDLE;
  entry.value = value_;
  entry.callbacks = std::move(batch.callbacks);
  entry.keep_alive = std::move(batch.keep_alive);
  entry.retired = [this, transient = std::move(batch.transient)] { OnRetired(transient); };
  device_->completion().Push(std::move(entry));
}

void TimelineImpl::Abandon() {
  if (open_ != VK_NULL_HANDLE) {
    // It is never recorded again: nothing is after a failure.
    batch().transient.push_back(std::exchange(open_, VK_NULL_HANDLE));
    open_touched_.clear();
    open_reads_ = false;
  }
  for (Batch& batch : std::exchange(batches_, std::vector<Batch>(1))) {
    if (!batch.empty()) HandOver(std::move(batch), /*submitted=*/false);
  }
}

void TimelineImpl::OnRetired(const std::vector<VkCommandBuffer>& transient) {
  std::lock_guard lock(mutex_);
  idle_.insert(idle_.end(), transient.begin(), transient.end());
  --in_flight_;
  // Under the lock: the timeline may die as soon as it has seen the last entry retire.
  retired_.notify_all();
}

Status TimelineImpl::WaitIdle() {
  Status flushed = Flush();
  {
    std::unique_lock lock(mutex_);
    retired_.wait(lock, [this] { return in_flight_ == 0; });
  }
  TRY(std::move(flushed));
  return CheckUsable();
}

}  // namespace webnnd::service
