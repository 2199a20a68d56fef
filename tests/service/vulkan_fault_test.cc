// Fails every Vulkan call of a whole scenario in turn: each time an error comes back, nothing
// leaks, and the scenario works afterwards.
#include "service/vulkan/fault.h"

#include "service/vulkan/device_impl.h"
#include "tests/service/vulkan_fixture.h"

namespace webnnd::service {
namespace {

constexpr uint32_t kCount = 300;

// Opens a device, or uses `device`; clears, writes, dispatches, reads, and checks what it reads.
Status RunScenario(std::shared_ptr<Device> device) {
  if (device == nullptr) {
    const DeviceOptions options = TestDeviceOptions();
    ASSIGN_OR_RETURN(device, Device::Open(0, options));
    TRY(device->WarmUp());
  }
  ASSIGN_OR_RETURN(auto timeline, Timeline::Create(device));
  ASSIGN_OR_RETURN(auto input, device->Allocate(kCount * 4));
  ASSIGN_OR_RETURN(auto output, device->Allocate(5 << 20));
  TRY(timeline->Clear(input));
  TRY(timeline->Clear(output));
  TRY(WriteFloats(*timeline, input, std::vector<float>(kCount, 4.0f)));
  Plan plan = ChainPlan(kCount, 6);
  for (KernelCall& call : plan.calls) call.cost = device->impl().profile().submission_cost / 2;
  ASSIGN_OR_RETURN(auto executable, Executable::Create(device, std::move(plan), {}));
  ASSIGN_OR_RETURN(auto binding, Binding::Create(executable, {input}, {output}));
  TRY(timeline->Dispatch(binding));
  TRY(timeline->Flush());
  TRY(timeline->Dispatch(binding));
  ASSIGN_OR_RETURN(auto values, ReadFloats(*timeline, output, kCount));
  if (values != std::vector<float>(kCount, 10.0f)) return InternalError("the values are wrong");
  return timeline->WaitIdle();
}

class FaultTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    KeepDriversLoaded();
    messages_before_ = Device::ValidationMessageCount();
  }
  void TearDown() override {
    ClearFault();
    EXPECT_EQ(Device::ValidationMessageCount(), messages_before_);
  }
  uint64_t messages_before_ = 0;
};

TEST_P(FaultTest, EachCallOfAnOpenDevice_FailsCleanly) {
  const bool forever = GetParam();
  const DeviceOptions options = TestDeviceOptions();
  auto device = Device::Open(0, options);
  ASSERT_TRUE(device.ok());
  for (uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 1000u);
    InjectFaultAt(nth, forever);
    Status status = RunScenario(*device);
    const bool reached = CheckedCallCount() >= nth;
    ClearFault();
    // A wait that fails for want of memory is made up for; all else must be told.
    if (!status.ok()) {
      EXPECT_EQ(status.error().cause(), Cause::kOutOfMemory) << nth;
    }
    EXPECT_EQ((*device)->bytes_in_use(), 0u) << nth;
    Status again = RunScenario(*device);
    EXPECT_TRUE(again.ok()) << nth << ": " << again.error().ToString();
    EXPECT_EQ((*device)->bytes_in_use(), 0u) << nth;
    if (!reached) {
      EXPECT_TRUE(status.ok());
      break;
    }
  }
}

TEST_P(FaultTest, EachCallFromTheStart_FailsCleanly) {
  const bool forever = GetParam();
  for (uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 1000u);
    InjectFaultAt(nth, forever);
    Status status = RunScenario(nullptr);
    const bool reached = CheckedCallCount() >= nth;
    ClearFault();
    if (!reached) {
      EXPECT_TRUE(status.ok()) << status.error().ToString();
      break;
    }
  }
}

TEST_P(FaultTest, DeviceLostAtEachCall_LosesTheDevice) {
  const bool forever = GetParam();
  const DeviceOptions options = TestDeviceOptions();
  for (uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 1000u);
    auto device = Device::Open(0, options);
    ASSERT_TRUE(device.ok());
    InjectFaultAt(nth, forever, Fault::kDeviceLost);
    Status status = RunScenario(*device);
    const bool reached = CheckedCallCount() >= nth;
    ClearFault();
    EXPECT_EQ((*device)->bytes_in_use(), 0u) << nth;
    if (!reached) {
      EXPECT_TRUE(status.ok());
      break;
    }
    ASSERT_FALSE(status.ok()) << nth;
    EXPECT_EQ(status.error().cause(), Cause::kDeviceLost) << nth;
    EXPECT_TRUE((*device)->lost()) << nth;
    // It stays so; a new device works.
    Status again = RunScenario(*device);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().cause(), Cause::kDeviceLost);
  }
}

INSTANTIATE_TEST_SUITE_P(OnceAndForever, FaultTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Forever" : "Once"; });

class LostTest : public VulkanTest {};

TEST_F(LostTest, SubmissionFails_FailsAloneAndEveryCallbackIsToldInOrder) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(64);
  ASSERT_TRUE(timeline->Clear(buffer).ok());
  ASSERT_TRUE(timeline->Flush().ok());
  std::vector<int> told;
  auto outcome = std::make_shared<WorkOutcome>();
  ASSERT_TRUE(timeline->Clear(buffer, outcome).ok());
  ASSERT_TRUE(timeline->Notify([&](bool ok) { told.push_back(ok ? 1 : 0); }).ok());
  ASSERT_TRUE(timeline
                  ->Read(buffer, 64,
                         [&](Result<std::span<const std::byte>> read) {
                           told.push_back(read.ok() ? 3 : 2);
                           EXPECT_EQ(read.error().cause(), Cause::kOutOfMemory);
                         })
                  .ok());
  // Not the completion thread's wait for the first submission.
  ASSERT_TRUE(timeline->Notify([&](bool ok) { told.push_back(ok ? 5 : 4); }).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  InjectFaultAt(1, /*forever=*/true);
  Status flushed = timeline->Flush();
  ClearFault();
  EXPECT_FALSE(flushed.ok());
  // The timeline goes on.
  auto later = std::make_shared<WorkOutcome>();
  EXPECT_TRUE(timeline->Clear(buffer, later).ok());
  ASSERT_TRUE(timeline->Notify([&](bool ok) { told.push_back(ok ? 7 : 6); }).ok());
  EXPECT_TRUE(timeline->WaitIdle().ok());
  EXPECT_EQ(told, (std::vector<int>{0, 2, 4, 7}));
  ASSERT_NE(outcome->error(), nullptr);
  EXPECT_EQ(outcome->error()->cause(), Cause::kOutOfMemory);
  EXPECT_EQ(later->error(), nullptr);
  EXPECT_FALSE(device_->lost());
}

TEST_F(LostTest, WorkThatDoesNotEnd_LosesTheDevice) {
  DeviceImpl& impl = device_->impl();
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  UniqueSemaphore semaphore(impl.get());
  ASSERT_EQ(vkCreateSemaphore(impl.get(), &info, nullptr, semaphore.out()), VK_SUCCESS);
  std::promise<bool> first, second;
  std::promise<void> retired;
  auto kept = std::make_shared<int>(1);
  std::weak_ptr<int> watch = kept;
  Completion::Entry entry;
  entry.semaphore = semaphore.get();
  entry.value = 1;
  entry.patience = std::chrono::milliseconds(100);
  entry.callbacks.push_back([&](bool ok) { first.set_value(ok); });
  entry.keep_alive.push_back(std::move(kept));
  impl.completion().Push(std::move(entry));
  Completion::Entry behind;
  behind.callbacks.push_back([&](bool ok) { second.set_value(ok); });
  behind.retired = [&](std::chrono::nanoseconds) { retired.set_value(); };
  impl.completion().Push(std::move(behind));

  EXPECT_FALSE(first.get_future().get());
  EXPECT_FALSE(second.get_future().get());
  EXPECT_TRUE(device_->lost());
  EXPECT_TRUE(device_->hung());
  // The device may still use it.
  EXPECT_FALSE(watch.expired());
  VkSemaphoreSignalInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO};
  signal.semaphore = semaphore.get();
  signal.value = 1;
  ASSERT_EQ(vkSignalSemaphore(impl.get(), &signal), VK_SUCCESS);
  retired.get_future().get();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace webnnd::service
