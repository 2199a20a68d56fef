// What the tests of service/vulkan share: a device with validation, and kernels to run on it.
#ifndef WEBNND_TESTS_SERVICE_VULKAN_FIXTURE_H_
#define WEBNND_TESTS_SERVICE_VULKAN_FIXTURE_H_

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/vulkan/device.h"
#include "service/vulkan/instance.h"
#include "tests/support/device_options.h"

namespace webnnd::service {

// Loads the drivers for the rest of the process: each loading takes tens of milliseconds.
inline void KeepDriversLoaded() {
  static const auto* instance =
      new Result<std::shared_ptr<Instance>>(Instance::Create(/*validation=*/false));
  EXPECT_TRUE(instance->ok()) << instance->error().ToString();
}

inline uint32_t FirstUsableAdapter(const DeviceOptions& options) {
  auto adapters = ListAdapters(options);
  EXPECT_TRUE(adapters.ok()) << adapters.error().ToString();
  for (const AdapterInfo& adapter : *adapters) {
    if (adapter.missing.empty()) return adapter.index;
  }
  ADD_FAILURE() << "no adapter can be used";
  return 0;
}

// Every test of this fixture fails on a message of the validation layers.
class VulkanTest : public testing::Test {
 protected:
  void SetUp() override {
    KeepDriversLoaded();
    messages_before_ = Device::ValidationMessageCount();
    const DeviceOptions options = TestDeviceOptions();
    auto device = Device::Open(FirstUsableAdapter(options), options);
    ASSERT_TRUE(device.ok()) << device.error().ToString();
    device_ = std::move(*device);
  }

  void TearDown() override {
    device_.reset();
    EXPECT_EQ(Device::ValidationMessageCount(), messages_before_);
  }

  std::unique_ptr<Timeline> MakeTimeline() {
    auto timeline = Timeline::Create(device_);
    EXPECT_TRUE(timeline.ok()) << timeline.error().ToString();
    return std::move(*timeline);
  }

  std::shared_ptr<Buffer> Allocate(uint64_t bytes) {
    auto buffer = device_->Allocate(bytes);
    EXPECT_TRUE(buffer.ok()) << buffer.error().ToString();
    return std::move(*buffer);
  }

  std::shared_ptr<Device> device_;
  uint64_t messages_before_ = 0;
};

inline Status WriteBytes(Timeline& timeline, std::shared_ptr<Buffer> buffer, uint64_t offset,
                         std::span<const std::byte> bytes) {
  return timeline.Write(std::move(buffer), offset, bytes.size(),
                        [&](uint64_t at, std::span<std::byte> staging) -> Status {
                          std::memcpy(staging.data(), bytes.data() + at, staging.size());
                          return {};
                        });
}

// Writes floats from the start of the buffer.
inline Status WriteFloats(Timeline& timeline, std::shared_ptr<Buffer> buffer,
                          const std::vector<float>& values) {
  return WriteBytes(timeline, std::move(buffer), 0, std::as_bytes(std::span(values)));
}

// Reads the first `bytes` bytes; waits for them.
inline Result<std::vector<std::byte>> ReadBytes(Timeline& timeline, std::shared_ptr<Buffer> buffer,
                                                uint64_t bytes) {
  std::promise<Result<std::vector<std::byte>>> promise;
  TRY(timeline.Read(std::move(buffer), bytes, [&](Result<std::span<const std::byte>> read) {
    if (read.ok()) {
      promise.set_value(std::vector<std::byte>(read->begin(), read->end()));
    } else {
      promise.set_value(std::move(read).error());
    }
  }));
  auto result = promise.get_future();
  // A failed flush has told the callback.
  Status flushed = timeline.Flush();
  auto bytes_or_error = result.get();
  TRY(std::move(flushed));
  return bytes_or_error;
}

inline Result<std::vector<float>> ReadFloats(Timeline& timeline, std::shared_ptr<Buffer> buffer,
                                             size_t count) {
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes,
                   ReadBytes(timeline, std::move(buffer), count * sizeof(float)));
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// A call that computes alpha * x + beta.
inline KernelCall LinearCall(BufferRef source, BufferRef result, uint32_t count, float alpha,
                             float beta) {
  constexpr uint32_t kLinear = 26, kFloat32 = 0;  // shaders/operations.inc, data_types.inc
  result.written = true;
  KernelCall call;
  call.shader = shaders::ShaderId::kUnaryFloat;
  call.specialization = {kLinear, kFloat32, kFloat32};
  call.buffers = {source, result};
  call.parameters = {count, std::bit_cast<uint32_t>(alpha), std::bit_cast<uint32_t>(beta)};
  call.invocations = count;
  call.cost = count * 8ull;
  call.label = "linear";
  return call;
}

// One input and one output of `count` floats: output = input + 1.
inline Plan IncrementPlan(uint32_t count) {
  const uint64_t bytes = count * 4ull;
  Plan plan;
  plan.input_bytes = {bytes};
  plan.output_bytes = {bytes};
  plan.calls = {LinearCall({BufferSpace::kInput, 0, 0, bytes}, {BufferSpace::kOutput, 0, 0, bytes},
                           count, 1.0f, 1.0f)};
  return plan;
}

// The same input plus `steps`, through the arena: calls that each depend on the one before.
inline Plan ChainPlan(uint32_t count, uint32_t steps) {
  const uint64_t bytes = count * 4ull;
  const uint64_t stride = (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  Plan plan;
  plan.input_bytes = {bytes};
  plan.output_bytes = {bytes};
  plan.arena_bytes = 2 * stride;
  BufferRef source{BufferSpace::kInput, 0, 0, bytes};
  for (uint32_t step = 0; step < steps; ++step) {
    BufferRef result{BufferSpace::kArena, 0, step % 2 * stride, bytes};
    if (step + 1 == steps) result = {BufferSpace::kOutput, 0, 0, bytes};
    plan.calls.push_back(LinearCall(source, result, count, 1.0f, 1.0f));
    plan.calls.back().barrier_before = step != 0;
    source = result;
    source.written = false;
  }
  return plan;
}

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SERVICE_VULKAN_FIXTURE_H_
