#include "tests/simulation/null_device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/limits.h"

namespace webnnd::service {

class DeviceImpl : public std::enable_shared_from_this<DeviceImpl> {
 public:
  AdapterInfo info;
  uint64_t bytes_in_use = 0;
  std::deque<std::function<void()>> queue;
  NullFlaw flaw = NullFlaw::kNone;
};

namespace {

using Task = std::function<void()>;

class NullBuffer final : public Buffer {
 public:
  NullBuffer(std::shared_ptr<DeviceImpl> device, uint64_t bytes)
      : data(AlignUp<uint64_t>(std::max<uint64_t>(bytes, 1), 4), std::byte{0xab}),
        device_(std::move(device)) {
    device_->bytes_in_use += data.size();
  }
  ~NullBuffer() override { device_->bytes_in_use -= data.size(); }
  uint64_t bytes() const override { return data.size(); }

  std::vector<std::byte> data;

 private:
  std::shared_ptr<DeviceImpl> device_;
};

// A buffer may come inside another that counts it (AllocateWithinQuota): the pointer is the same.
std::shared_ptr<NullBuffer> Own(const std::shared_ptr<Buffer>& buffer) {
  auto own = std::dynamic_pointer_cast<NullBuffer>(buffer);
  CHECK(own != nullptr);
  return own;
}

std::vector<std::shared_ptr<NullBuffer>> OwnAll(const std::vector<std::shared_ptr<Buffer>>& all) {
  std::vector<std::shared_ptr<NullBuffer>> own;
  for (const auto& buffer : all) own.push_back(Own(buffer));
  return own;
}

class NullExecutable final : public Executable {
 public:
  explicit NullExecutable(Plan plan) : plan_(std::move(plan)) {}
  const Plan& plan() const override { return plan_; }
  uint64_t device_bytes() const override { return 0; }

 private:
  Plan plan_;
};

// Those that keep a value which is written over do not count, as where a graph's are counted.
size_t CountKernels(const Plan& plan) { return plan.calls.size() - plan.copy_count; }

class NullBinding final : public Binding {
 public:
  Use UsePlan(const std::shared_ptr<const Plan>& plan) override {
    kernels = CountKernels(*plan);
    return Use::kReady;
  }

  void Run() const {
    std::vector<std::vector<std::byte>> results;
    for (const auto& output : outputs) {
      std::vector<std::byte>& result = results.emplace_back(output->data.size(), std::byte{1});
      for (const auto& input : inputs) {
        for (size_t i = 0; i < std::min(result.size(), input->data.size()); ++i) {
          result[i] = static_cast<std::byte>(static_cast<unsigned>(result[i]) +
                                             static_cast<unsigned>(input->data[i]));
        }
      }
    }
    // Inputs are read before outputs are written: one buffer may be both.
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i]->data = std::move(results[i]);
  }

  std::vector<std::shared_ptr<NullBuffer>> inputs, outputs;
  size_t kernels = 0;
};

class NullTimeline final : public Timeline {
 public:
  NullTimeline(std::shared_ptr<DeviceImpl> device, const TimelineOptions& options)
      : device_(std::move(device)), options_(options) {}
  ~NullTimeline() override { (void)WaitIdle().ok(); }

  Status Clear(std::shared_ptr<Buffer> buffer, std::shared_ptr<WorkOutcome> outcome) override {
    Record([own = Own(buffer)] { std::fill(own->data.begin(), own->data.end(), std::byte{0}); });
    RecordSuccess(std::move(outcome));
    return {};
  }

  Status Write(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
               const FillFunction& fill, std::shared_ptr<WorkOutcome> outcome) override {
    std::vector<ByteRange> kept(ranges.begin(), ranges.end());
    std::vector<std::byte> bytes(SumOf(kept));
    TRY(fill(0, bytes));
    Record([own = Own(buffer), kept = std::move(kept), bytes = std::move(bytes)] {
      const std::byte* from = bytes.data();
      for (const ByteRange& range : kept) {
        CHECK(range.offset + range.bytes <= own->data.size());
        std::memcpy(own->data.data() + range.offset, from, range.bytes);
        from += range.bytes;
      }
    });
    RecordSuccess(std::move(outcome));
    return {};
  }

  Status Read(std::shared_ptr<Buffer> buffer, std::span<const ByteRange> ranges,
              ReadFunction done) override {
    std::vector<ByteRange> kept(ranges.begin(), ranges.end());
    Record([own = Own(buffer), kept = std::move(kept), done = std::move(done)] {
      std::vector<std::byte> bytes;
      for (const ByteRange& range : kept) {
        const std::byte* from = own->data.data() + range.offset;
        bytes.insert(bytes.end(), from, from + range.bytes);
      }
      done(std::span<const std::byte>(bytes));
    });
    return {};
  }

  Status Dispatch(std::shared_ptr<Binding> binding, std::shared_ptr<WorkOutcome> outcome) override {
    auto own = std::dynamic_pointer_cast<NullBinding>(std::move(binding));
    CHECK(own != nullptr);
    const bool is_stopped = std::chrono::milliseconds(own->kernels) > options_.dispatch_limit;
    if (!is_stopped) {
      Record([own = std::move(own)] { own->Run(); });
      RecordSuccess(std::move(outcome));
      return {};
    }
    Record([own = std::move(own), outcome = std::move(outcome), state = state_,
            limit_ms = options_.dispatch_limit.count()] {
      state->failure = QuotaError("the dispatch takes longer than the limit ({} ms)", limit_ms);
      if (outcome != nullptr) outcome->Settle(state->failure);
    });
    return {};
  }

  Status Notify(std::function<void(bool ok)> done) override {
    if (device_->flaw == NullFlaw::kForgetsToNotify) return {};
    Record([done = std::move(done)] { done(true); });
    return {};
  }

  Status Flush() override {
    if (device_->flaw == NullFlaw::kDoesNotSubmit) return {};
    for (Task& task : std::exchange(recorded_, {})) {
      ++state_->in_flight;
      device_->queue.push_back([task = std::move(task), state = state_] {
        task();
        --state->in_flight;
      });
    }
    if (state_->failure) return *std::exchange(state_->failure, std::nullopt);
    return {};
  }

  // Nothing takes time here.
  void Cancel() override {}

  Status WaitIdle() override {
    Status flushed = Flush();
    while (state_->in_flight > 0) {
      CHECK(!device_->queue.empty());
      Task task = std::move(device_->queue.front());
      device_->queue.pop_front();
      task();
    }
    return flushed;
  }

 private:
  static uint64_t SumOf(const std::vector<ByteRange>& ranges) {
    uint64_t sum = 0;
    for (const ByteRange& range : ranges) sum += range.bytes;
    return sum;
  }
  void Record(Task task) { recorded_.push_back(std::move(task)); }
  void RecordSuccess(std::shared_ptr<WorkOutcome> outcome) {
    if (outcome == nullptr) return;
    Record([outcome = std::move(outcome)] { outcome->Settle(std::nullopt); });
  }

  // Outlives the timeline where work of it is on the device.
  struct State {
    size_t in_flight = 0;
    std::optional<Error> failure;  // That no Flush has returned.
  };

  std::shared_ptr<DeviceImpl> device_;
  const TimelineOptions options_;
  std::vector<Task> recorded_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace

Device::Device(std::shared_ptr<DeviceImpl> impl) : impl_(std::move(impl)) {}
Device::~Device() = default;

Result<std::shared_ptr<Device>> Device::Open(uint32_t adapter_index, const DeviceOptions&) {
  auto impl = std::make_shared<DeviceImpl>();
  impl->info = {.index = adapter_index, .name = "null"};
  return std::shared_ptr<Device>(new Device(std::move(impl)));
}

bool Device::wide() const { return false; }
bool Device::narrow() const { return false; }

const StreamedStores& Device::streamed_stores() const {
  static const StreamedStores kNone;
  return kNone;
}

const AdapterInfo& Device::adapter() const { return impl_->info; }
uint64_t Device::max_tensor_bytes() const { return limits::kBindingBytesMax; }
Status Device::WarmUp() { return {}; }
void Device::DropIdleEvaluationKernels() {}
uint64_t Device::bytes_in_use() const { return impl_->bytes_in_use; }
bool Device::lost() const { return false; }
bool Device::hung() const { return false; }
uint64_t Device::ValidationMessageCount() { return 0; }

Result<std::shared_ptr<Buffer>> Device::Allocate(uint64_t bytes) {
  return std::shared_ptr<Buffer>(std::make_shared<NullBuffer>(impl_, bytes));
}

Result<std::shared_ptr<Executable>> Executable::Create(std::shared_ptr<Device>, Plan plan,
                                                       std::vector<std::shared_ptr<Buffer>>,
                                                       const std::atomic<bool>*,
                                                       std::shared_ptr<Buffer>, KernelLife) {
  return std::shared_ptr<Executable>(std::make_shared<NullExecutable>(std::move(plan)));
}

Status Executable::WarmUp(Device&, const Plan&, const std::atomic<bool>*) { return {}; }

Result<std::shared_ptr<Binding>> Binding::Create(std::shared_ptr<Executable> executable,
                                                 std::vector<std::shared_ptr<Buffer>> inputs,
                                                 std::vector<std::shared_ptr<Buffer>> outputs,
                                                 bool) {
  auto binding = std::make_shared<NullBinding>();
  binding->inputs = OwnAll(inputs);
  binding->outputs = OwnAll(outputs);
  binding->kernels = CountKernels(executable->plan());
  return std::shared_ptr<Binding>(std::move(binding));
}

Result<std::unique_ptr<Timeline>> Timeline::Create(std::shared_ptr<Device> device,
                                                   const TimelineOptions& options) {
  return std::unique_ptr<Timeline>(
      std::make_unique<NullTimeline>(device->impl().shared_from_this(), options));
}

void SetFlaw(Device& device, NullFlaw flaw) { device.impl().flaw = flaw; }

size_t RunQueued(Device& device, size_t count) {
  DeviceImpl& impl = device.impl();
  size_t done = 0;
  for (; done < count && !impl.queue.empty(); ++done) {
    Task task = std::move(impl.queue.front());
    impl.queue.pop_front();
    task();
  }
  return done;
}

}  // namespace webnnd::service
