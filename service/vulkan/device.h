// Device: one Vulkan adapter opened, its queue and its memory. The only room that knows Vulkan.
// These headers show no Vulkan type, so that the rest of the service does not either.
#ifndef WEBNND_SERVICE_VULKAN_DEVICE_H_
#define WEBNND_SERVICE_VULKAN_DEVICE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/compiled_kernel.h"
#include "base/limits.h"
#include "base/result.h"
#include "base/streamed_stores.h"
#include "service/plan/plan.h"

namespace webnnd::service {

// An adapter that the Vulkan loader lists, as `webnnd devices` prints it.
struct AdapterInfo {
  uint32_t index = 0;  // What `--device N` names.
  std::string name;
  std::string driver;
  bool accelerated = false;  // Not a CPU implementation.
  bool low_power = false;    // An integrated GPU.
  // Why it cannot be used ("lacks timelineSemaphore"); empty when it can.
  std::string missing;
};

struct DeviceOptions {
  bool validation = false;                     // Loads VK_LAYER_KHRONOS_validation.
  std::vector<std::string> disabled_features;  // "fp16", ...: pretends that the device lacks them.
  // Bytes of the device's memory that nobody uses, other processes included. Where it is given, the
  // device keeps no more than kShareOfFreeMemory times what it leaves to the others.
  std::function<uint64_t()> free_memory;
  // Told of every kernel that is compiled, on the thread that does so.
  std::function<void(const HashedKernel& kernel)> on_compiled;
  // Called after each step by which a kernel is compiled to be run, on the thread that does so:
  // what a driver touches of its own code in one it hardly needs in the next.
  std::function<void()> after_compiling_step;
  // Told of those that a graph wants and the device has not, before they are compiled, on the
  // thread that does so. It may put them where the driver finds them; it returns early once
  // `cancelled`, if any, is true.
  std::function<void(std::span<const HashedKernel> kernels, const std::atomic<bool>* cancelled)>
      before_compiling;
};

// With n clients that take all they can, each ends up with 3/(3n+1) of the memory, and the next one
// finds 1/(3n+1) of it, however greedy they are.
inline constexpr uint64_t kShareOfFreeMemory = 3;

Result<std::vector<AdapterInfo>> ListAdapters(const DeviceOptions& options);

class DeviceImpl;

// Device memory of one tensor, constant or arena. Freed when the last reference goes: holders keep
// one until the device has finished with it (Timeline does so for what it records).
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint64_t bytes() const = 0;
};

// What a dispatch that has been made before does without; so far.
struct WorkCounts {
  uint64_t descriptor_updates = 0;  // Descriptor sets written.
  uint64_t recordings = 0;          // Command buffers of bindings.
  uint64_t allocations = 0;         // Buffers, but those that transfers pass through.
  friend bool operator==(const WorkCounts&, const WorkCounts&) = default;
};

// Thread-safe.
class Device {
 public:
  // NotSupported when the adapter lacks something that we require.
  static Result<std::shared_ptr<Device>> Open(uint32_t adapter_index, const DeviceOptions& options);
  ~Device();

  const AdapterInfo& adapter() const;
  // Whether DeviceTraits::wide is true of it.
  bool wide() const;
  // DeviceTraits::narrow of them, as far as is known, and streamed_stores.
  bool narrow() const;
  const StreamedStores& streamed_stores() const;
  // The largest tensor. A kernel may be able to bind less of it (limits::kBindingBytesMax).
  uint64_t max_tensor_bytes() const;
  // Runs one pipeline to the end, so that the driver has loaded all that it needs (before seccomp).
  Status WarmUp();
  // Compiles a kernel that another device like this one has compiled, for the driver to cache it,
  // and runs none of it: nobody has checked its constants. ValidationError: there is no such
  // shader.
  Status Compile(const CompiledKernel& kernel);

  // Forgets the kernels of KernelLife::kEvaluation that no executable has, and that none was made
  // with since the call before this one: their intermediate code, which drivers keep, takes a
  // megabyte each. Called once for each graph that is built.
  void DropIdleEvaluationKernels();

  // `bytes` are rounded up to whole words. Contents are undefined: clear or write before use.
  Result<std::shared_ptr<Buffer>> Allocate(uint64_t bytes);

  // Bytes of all buffers that live now, our own (arenas, parameters, staging) included.
  uint64_t bytes_in_use() const;
  WorkCounts work_counts() const;
  // True once a call answered VK_ERROR_DEVICE_LOST, or a kernel does not end.
  bool lost() const;
  // Whether it was lost because a kernel does not end.
  bool hung() const;
  // Messages of the validation layers so far, in this process.
  static uint64_t ValidationMessageCount();

  DeviceImpl& impl() { return *impl_; }

 private:
  explicit Device(std::shared_ptr<DeviceImpl> impl);
  // Shared with all that was made by this device, and so outlives it.
  std::shared_ptr<DeviceImpl> impl_;
};

// How long a device keeps a kernel that no executable has any more.
enum class KernelLife : uint8_t {
  kDevice,      // As the device: graphs are alike, and so are those that follow.
  kEvaluation,  // Until DropIdleEvaluationKernels(): it computes constants, each of them once.
};

// Pipelines, constants, arena and parameters of one plan. Immutable; thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;
  // Compiles every pipeline and warms it with an empty dispatch, so that no dispatch pays for it.
  // `constants` in the plan's order. Where `cancelled` becomes true, it gives up before the next
  // pipeline (InvalidState): together they may take seconds. `arena`: memory for intermediates, at
  // least as much as the plan needs, which executables may share whose dispatches are on one
  // timeline; else it allocates its own.
  static Result<std::shared_ptr<Executable>> Create(std::shared_ptr<Device> device, Plan plan,
                                                    std::vector<std::shared_ptr<Buffer>> constants,
                                                    const std::atomic<bool>* cancelled = nullptr,
                                                    std::shared_ptr<Buffer> arena = nullptr,
                                                    KernelLife life = KernelLife::kDevice);
  // What Create compiles, without the rest.
  static Status WarmUp(Device& device, const Plan& plan, const std::atomic<bool>* cancelled);
  virtual const Plan& plan() const = 0;
  virtual uint64_t device_bytes() const = 0;  // Arena and parameters, without constants.
};

// An executable with the tensors of all its inputs and outputs fixed: descriptor sets and recorded
// command buffers, made once and used again for each dispatch.
class Binding {
 public:
  virtual ~Binding() = default;
  // With `variable` it can run plans that differ from the executable's in sizes alone.
  static Result<std::shared_ptr<Binding>> Create(std::shared_ptr<Executable> executable,
                                                 std::vector<std::shared_ptr<Buffer>> inputs,
                                                 std::vector<std::shared_ptr<Buffer>> outputs,
                                                 bool variable = false);
  enum class Use : uint8_t {
    kReady,      // Dispatches that follow run the plan.
    kBusy,       // Nothing has changed: too many dispatches with other sizes have not ended.
    kOtherPlan,  // Nothing has changed: the plans differ in more than sizes.
  };
  // Records nothing, and does not wait. Only for variable ones.
  virtual Use UsePlan(const std::shared_ptr<const Plan>& plan) = 0;
};

// How an operation of a timeline ends. Settled before the callbacks of what was recorded after it
// run, and never left unsettled. Thread-safe.
class WorkOutcome {
 public:
  WorkOutcome() = default;
  // It reads what `sources` write, and fails where one of them does. They are settled before it:
  // they were recorded before, on the same timeline.
  explicit WorkOutcome(std::vector<std::shared_ptr<const WorkOutcome>> sources)
      : sources_(std::move(sources)) {}

  bool settled() const { return settled_.load(); }
  // Why it failed; nullptr where it did not, or is not settled yet.
  const Error* error() const { return settled() && error_ ? &*error_ : nullptr; }
  // Whether that is its own failure, and not one of what it reads.
  bool failed_itself() const { return settled() && failed_itself_; }

  // Once. `error`: its own failure, if any.
  void Settle(std::optional<Error> error) {
    CHECK(!settled());
    error_ = std::move(error);
    failed_itself_ = error_.has_value();
    for (const auto& source : sources_) {
      CHECK(source->settled());
      if (!error_ && source->error() != nullptr) error_ = *source->error();
    }
    sources_.clear();
    settled_ = true;
  }

 private:
  std::vector<std::shared_ptr<const WorkOutcome>> sources_;  // Empty once settled.
  std::optional<Error> error_;
  bool failed_itself_ = false;
  std::atomic<bool> settled_{false};
};

struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct TimelineOptions {
  // What the device may work on one dispatch. Beyond it the dispatch is stopped where its next
  // submission would begin, and fails (Quota).
  std::chrono::milliseconds dispatch_limit{limits::kDispatchMsMax};
  // A submission that takes so much longer hangs, and loses the device.
  std::chrono::milliseconds hang_grace{limits::kHangMs};
};

// The ordered work of one context: one timeline semaphore. Used by one thread at a time; callbacks
// run on the device's completion thread, in order, and must not block. What is recorded keeps its
// buffers alive until it has run.
//
// What cannot be submitted fails alone: its outcomes are settled with the error, its callbacks are
// told, and the timeline goes on. A lost device fails everything.
class Timeline {
 public:
  virtual ~Timeline() = default;
  static Result<std::unique_ptr<Timeline>> Create(std::shared_ptr<Device> device,
                                                  const TimelineOptions& options = {});

  // Sets all bytes to zero. `outcome`, here and below, may be nullptr; it is left alone where an
  // error is returned.
  virtual Status Clear(std::shared_ptr<Buffer> buffer,
                       std::shared_ptr<WorkOutcome> outcome = nullptr) = 0;
  // Writes the ranges, which do not overlap, with bytes that follow on each other: `fill` is called
  // at once with staging memory for them (possibly in pieces, in order; `offset` counts from the
  // first byte) and fills it. Its error is passed on and nothing is written then.
  using FillFunction = std::function<Status(uint64_t offset, std::span<std::byte> staging)>;
  virtual Status Write(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
                       const FillFunction& fill,
                       std::shared_ptr<WorkOutcome> outcome = nullptr) = 0;
  Status Write(std::shared_ptr<Buffer> buffer, uint64_t offset, uint64_t bytes,
               const FillFunction& fill) {
    const ByteRange range{offset, bytes};
    return Write(std::move(buffer), {&range, 1}, fill);
  }
  // Copies the ranges out; `done` gets their bytes one after the other (valid during the call), or
  // why they could not be copied.
  using ReadFunction = std::function<void(Result<std::span<const std::byte>>)>;
  virtual Status Read(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
                      ReadFunction done) = 0;
  // The first `bytes` bytes.
  Status Read(std::shared_ptr<Buffer> buffer, uint64_t bytes, ReadFunction done) {
    const ByteRange range{0, bytes};
    return Read(std::move(buffer), {&range, 1}, std::move(done));
  }
  virtual Status Dispatch(std::shared_ptr<Binding> binding,
                          std::shared_ptr<WorkOutcome> outcome = nullptr) = 0;
  // Runs `done` on the completion thread after all that was recorded before it (false: what was
  // recorded just before could not be submitted, or the device is lost).
  virtual Status Notify(std::function<void(bool ok)> done) = 0;
  // Submits what has been recorded, as much as the device should have at a time; the rest follows
  // when that is done. Recording never waits for the device, except when staging memory in flight
  // exceeds its bound. Returns what has failed of the timeline's work since the last such call.
  virtual Status Flush() = 0;
  // Flush, then wait until the device has finished everything and the callbacks have run. Returns
  // what Flush would return then.
  virtual Status WaitIdle() = 0;
  // Drops what the device has not begun with: it fails (InvalidState), as all that is recorded
  // from now on.
  virtual void Cancel() = 0;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_VULKAN_DEVICE_H_
