#include <algorithm>
#include <functional>
#include <thread>

#include "service/vulkan/binding_impl.h"
#include "service/vulkan/device_impl.h"
#include "tests/service/vulkan_fixture.h"

namespace webnnd::service {
namespace {

class DispatchTest : public VulkanTest {
 protected:
  std::shared_ptr<Executable> MakeExecutable(Plan plan) {
    auto executable = Executable::Create(device_, std::move(plan), {});
    EXPECT_TRUE(executable.ok()) << executable.error().ToString();
    return std::move(*executable);
  }
  std::shared_ptr<Binding> Bind(std::shared_ptr<Executable> executable,
                                std::shared_ptr<Buffer> input, std::shared_ptr<Buffer> output) {
    auto binding = Binding::Create(std::move(executable), {std::move(input)}, {std::move(output)});
    EXPECT_TRUE(binding.ok()) << binding.error().ToString();
    return std::move(*binding);
  }
};

TEST_F(DispatchTest, WriteDispatchRead_AreOrdered) {
  auto timeline = MakeTimeline();
  auto input = Allocate(400), output = Allocate(400);
  ASSERT_TRUE(timeline->Clear(input).ok());
  auto binding = Bind(MakeExecutable(IncrementPlan(100)), input, output);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(WriteFloats(*timeline, input, std::vector<float>(100, 2.0f * i)).ok());
    ASSERT_TRUE(timeline->Dispatch(binding).ok());
    // Must not be seen by the dispatch before it.
    ASSERT_TRUE(WriteFloats(*timeline, input, std::vector<float>(100, -1.0f)).ok());
    auto values = ReadFloats(*timeline, output, 100);
    ASSERT_TRUE(values.ok()) << values.error().ToString();
    EXPECT_EQ(*values, std::vector<float>(100, 2.0f * i + 1.0f));
  }
}

TEST_F(DispatchTest, CancelledExecutable_IsRefused) {
  std::atomic<bool> cancelled = false;
  EXPECT_TRUE(Executable::Create(device_, IncrementPlan(100), {}, &cancelled).ok());
  cancelled = true;
  auto executable = Executable::Create(device_, IncrementPlan(100), {}, &cancelled);
  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.error().cause(), Cause::kInvalidState);
}

TEST_F(DispatchTest, ThousandInPlaceDispatches_ArePipelinedInOrder) {
  auto timeline = MakeTimeline();
  auto tensor = Allocate(4096);
  ASSERT_TRUE(timeline->Clear(tensor).ok());
  auto binding = Bind(MakeExecutable(IncrementPlan(1024)), tensor, tensor);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(timeline->Dispatch(binding).ok());
    if (i % 10 == 0) {
      ASSERT_TRUE(timeline->Flush().ok());
    }
  }
  auto values = ReadFloats(*timeline, tensor, 1024);
  ASSERT_TRUE(values.ok()) << values.error().ToString();
  EXPECT_EQ(*values, std::vector<float>(1024, 1000.0f));
}

// lavapipe would leave the loop after 65535 turns (base/drivers_llvm/loop_limits.h).
TEST_F(DispatchTest, LoopsOfManyTurns_ReachTheirEnd) {
#if !defined(__x86_64__) || defined(WEBNND_SANITIZERS)
  GTEST_SKIP() << "lavapipe's LLVM is as it is";
#endif
  constexpr uint32_t kTurns = 100'000;
  constexpr uint32_t kWordsPerTurn = 16;  // shaders/yardstick.comp
  std::vector<float> values(kTurns * kWordsPerTurn);
  values.back() = 3;
  KernelCall call;
  call.shader = shaders::ShaderId::kYardstick;
  call.specialization = {/*kReads=*/1};
  call.buffers = {{.space = BufferSpace::kInput, .bytes = values.size() * sizeof(float)},
                  {.space = BufferSpace::kOutput, .bytes = sizeof(float), .written = true}};
  call.parameters = {kTurns, /*invocations=*/1};
  call.workgroups = 1;
  Plan plan;
  plan.input_bytes = {values.size() * sizeof(float)};
  plan.output_bytes = {sizeof(float)};
  plan.calls = {call};
  auto timeline = MakeTimeline();
  auto input = Allocate(plan.input_bytes[0]), output = Allocate(plan.output_bytes[0]);
  ASSERT_TRUE(WriteFloats(*timeline, input, values).ok());
  auto binding = Bind(MakeExecutable(std::move(plan)), input, output);
  ASSERT_TRUE(timeline->Dispatch(binding).ok());
  auto last = ReadFloats(*timeline, output, 1);
  ASSERT_TRUE(last.ok()) << last.error().ToString();
  EXPECT_EQ(*last, std::vector<float>({3}));
}

TEST_F(DispatchTest, ChainThroughArena_HonoursBarriers) {
  auto timeline = MakeTimeline();
  auto input = Allocate(40000), output = Allocate(40000);
  ASSERT_TRUE(WriteFloats(*timeline, input, std::vector<float>(10000, 0.5f)).ok());
  auto executable = MakeExecutable(ChainPlan(10000, 300));
  EXPECT_GE(executable->device_bytes(), executable->plan().arena_bytes);
  auto binding = Bind(executable, input, output);
  ASSERT_TRUE(timeline->Dispatch(binding).ok());
  auto values = ReadFloats(*timeline, output, 10000);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, std::vector<float>(10000, 300.5f));
}

TEST_F(DispatchTest, ExpensivePlan_IsSplitAndStaysRight) {
  Plan plan = ChainPlan(1000, 40);
  for (KernelCall& call : plan.calls) {
    call.cost = device_->impl().profile().submission_cost / 3;
  }
  auto timeline = MakeTimeline();
  auto input = Allocate(4000), output = Allocate(4000);
  ASSERT_TRUE(WriteFloats(*timeline, input, std::vector<float>(1000, 1.0f)).ok());
  auto binding = Bind(MakeExecutable(std::move(plan)), input, output);
  EXPECT_EQ(static_cast<BindingImpl&>(*binding).segments().size(), 14u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(timeline->Dispatch(binding).ok());
  auto values = ReadFloats(*timeline, output, 1000);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, std::vector<float>(1000, 41.0f));
}

TEST_F(DispatchTest, ConstantAndEmptyCalls_Run) {
  Plan plan;
  plan.constant_bytes = {40};
  plan.output_bytes = {40, 0};
  plan.calls = {
      LinearCall({BufferSpace::kConstant, 0, 0, 0}, {BufferSpace::kOutput, 1, 0, 0}, 0, 1, 1),
      LinearCall({BufferSpace::kConstant, 0, 0, 40}, {BufferSpace::kOutput, 0, 0, 40}, 10, 2, 0)};
  auto timeline = MakeTimeline();
  auto constant = Allocate(40), output = Allocate(40), empty = Allocate(0);
  ASSERT_TRUE(WriteFloats(*timeline, constant, std::vector<float>(10, 3.0f)).ok());
  auto executable = Executable::Create(device_, plan, {constant});
  ASSERT_TRUE(executable.ok()) << executable.error().ToString();
  auto binding = Binding::Create(*executable, {}, {output, empty});
  ASSERT_TRUE(binding.ok()) << binding.error().ToString();
  ASSERT_TRUE(timeline->Dispatch(*binding).ok());
  auto values = ReadFloats(*timeline, output, 10);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, std::vector<float>(10, 6.0f));
}

TEST_F(DispatchTest, Counters_AreZeroAtFirstAndKeepWhatKernelsLeave) {
  Plan plan;
  plan.counter_bytes = 40;
  plan.output_bytes = {40};
  const BufferRef counters{BufferSpace::kCounters, 0, 0, 40};
  plan.calls = {LinearCall(counters, {BufferSpace::kOutput, 0, 0, 40}, 10, 1, 1),
                LinearCall({BufferSpace::kOutput, 0, 0, 40}, counters, 10, 1, 1)};
  plan.calls[1].barrier_before = true;
  auto timeline = MakeTimeline();
  auto output = Allocate(40);
  auto executable = Executable::Create(device_, plan, {});
  ASSERT_TRUE(executable.ok()) << executable.error().ToString();
  EXPECT_GE((*executable)->device_bytes(), 40u);
  auto binding = Binding::Create(*executable, {}, {output});
  ASSERT_TRUE(binding.ok()) << binding.error().ToString();
  for (float expected : {1.0f, 3.0f}) {
    ASSERT_TRUE(timeline->Dispatch(*binding).ok());
    auto values = ReadFloats(*timeline, output, 10);
    ASSERT_TRUE(values.ok());
    EXPECT_EQ(*values, std::vector<float>(10, expected));
  }
}

TEST_F(DispatchTest, PlanWithoutCalls_Dispatches) {
  auto timeline = MakeTimeline();
  auto executable = Executable::Create(device_, Plan{}, {});
  ASSERT_TRUE(executable.ok());
  auto binding = Binding::Create(*executable, {}, {});
  ASSERT_TRUE(binding.ok());
  EXPECT_TRUE(timeline->Dispatch(*binding).ok());
  EXPECT_TRUE(timeline->WaitIdle().ok());
}

TEST_F(DispatchTest, EverythingReleasedAfterDispatch_IsKeptUntilDone) {
  auto timeline = MakeTimeline();
  auto tensor = Allocate(4096);
  ASSERT_TRUE(timeline->Clear(tensor).ok());
  auto binding = Bind(MakeExecutable(ChainPlan(1024, 50)), tensor, tensor);
  std::weak_ptr<Binding> watch = binding;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(timeline->Dispatch(binding).ok());
  binding.reset();
  EXPECT_FALSE(watch.expired());
  auto values = ReadFloats(*timeline, tensor, 1024);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, std::vector<float>(1024, 500.0f));
  tensor.reset();
  // The device goes first; the timeline keeps what it needs.
  auto device = std::weak_ptr<DeviceImpl>(device_->impl().weak_from_this());
  device_.reset();
  ASSERT_TRUE(timeline->WaitIdle().ok());
  EXPECT_TRUE(watch.expired());
  timeline.reset();
  EXPECT_TRUE(device.expired());
}

TEST_F(DispatchTest, BuildBesideDispatches_DisturbsNeither) {
  auto timeline = MakeTimeline();
  auto tensor = Allocate(4096);
  ASSERT_TRUE(timeline->Clear(tensor).ok());
  auto binding = Bind(MakeExecutable(IncrementPlan(1024)), tensor, tensor);
  std::thread build([&] {
    for (uint32_t operation = 6; operation < 26; ++operation) {
      Plan plan = IncrementPlan(64);
      plan.calls[0].specialization[0] = operation;
      auto executable = Executable::Create(device_, std::move(plan), {});
      EXPECT_TRUE(executable.ok());
    }
  });
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(timeline->Dispatch(binding).ok());
    ASSERT_TRUE(timeline->Flush().ok());
  }
  auto values = ReadFloats(*timeline, tensor, 1024);
  build.join();
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, std::vector<float>(1024, 300.0f));
}

// --- Bindings whose sizes vary ------------------------------------------------------------------

class VariableBindingTest : public DispatchTest {
 protected:
  using Use = Binding::Use;
  static constexpr uint32_t kCapacity = 100;

  void SetUp() override {
    DispatchTest::SetUp();
    timeline_ = MakeTimeline();
    input_ = Allocate(4 * kCapacity);
    output_ = Allocate(4 * kCapacity);
    ASSERT_TRUE(WriteFloats(*timeline_, input_, std::vector<float>(kCapacity, 2.0f)).ok());
    ASSERT_TRUE(timeline_->Clear(output_).ok());
    auto binding = Binding::Create(MakeExecutable(IncrementPlan(kCapacity)), {input_}, {output_},
                                   /*variable=*/true);
    ASSERT_TRUE(binding.ok()) << binding.error().ToString();
    binding_ = *binding;
  }
  void TearDown() override {
    binding_ = nullptr;
    input_ = output_ = nullptr;
    timeline_ = nullptr;
    DispatchTest::TearDown();
  }

  // Of the first `count` elements.
  static std::shared_ptr<Plan> PlanFor(uint32_t count) {
    auto plan = std::make_shared<Plan>(IncrementPlan(kCapacity));
    plan->calls[0].parameters[0] = plan->calls[0].invocations = count;
    return plan;
  }

  std::unique_ptr<Timeline> timeline_;
  std::shared_ptr<Buffer> input_, output_;
  std::shared_ptr<Binding> binding_;
};

TEST_F(VariableBindingTest, OtherSizes_RunWithoutRecording) {
  const WorkCounts before = device_->work_counts();
  for (uint32_t count : {7u, 50u, 0u, 100u}) {
    ASSERT_TRUE(timeline_->Clear(output_).ok());
    ASSERT_EQ(binding_->UsePlan(PlanFor(count)), Use::kReady);
    ASSERT_TRUE(timeline_->Dispatch(binding_).ok());
    auto values = ReadFloats(*timeline_, output_, kCapacity);
    ASSERT_TRUE(values.ok());
    std::vector<float> expected(kCapacity, 0.0f);
    std::fill_n(expected.begin(), count, 3.0f);
    EXPECT_EQ(*values, expected) << count;
  }
  EXPECT_EQ(device_->work_counts(), before);
}

TEST_F(VariableBindingTest, DispatchesThatHaveNotEnded_KeepTheirSizes) {
  const auto first = PlanFor(10), second = PlanFor(20), third = PlanFor(30);
  for (const auto& plan : {first, second}) {
    ASSERT_EQ(binding_->UsePlan(plan), Use::kReady);
    ASSERT_TRUE(timeline_->Dispatch(binding_).ok());
  }
  EXPECT_EQ(binding_->UsePlan(third), Use::kBusy);
  // What a slot holds already may run again at any time.
  EXPECT_EQ(binding_->UsePlan(first), Use::kReady);
  EXPECT_EQ(binding_->UsePlan(second), Use::kReady);
  auto values = ReadFloats(*timeline_, output_, kCapacity);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(std::count(values->begin(), values->end(), 3.0f), 20);
  // Who has read what a dispatch wrote knows that its slot is free.
  EXPECT_EQ(binding_->UsePlan(third), Use::kReady);
  ASSERT_TRUE(timeline_->Dispatch(binding_).ok());
  values = ReadFloats(*timeline_, output_, kCapacity);
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(std::count(values->begin(), values->end(), 3.0f), 30);
}

TEST_F(VariableBindingTest, PlansThatDifferInMore_AreOthers) {
  const auto refused = [&](const std::function<void(Plan&)>& change) {
    auto plan = PlanFor(10);
    change(*plan);
    return binding_->UsePlan(plan) == Use::kOtherPlan;
  };
  EXPECT_FALSE(refused([](Plan&) {}));
  EXPECT_TRUE(refused([](Plan& plan) { ++plan.calls[0].specialization[0]; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.calls[0].shader = shaders::ShaderId::kCopyElements; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.calls[0].buffers[0].bytes -= 4; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.calls[0].barrier_before = true; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.calls.push_back(plan.calls[0]); }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.calls.clear(); }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.arena_bytes = 256; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.counter_bytes = 256; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.input_bytes[0] += 4; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.output_bytes[0] += 4; }));
  EXPECT_TRUE(refused([](Plan& plan) { plan.constant_bytes = {4}; }));
  // More than there is room for, and more work than its submissions were cut for.
  EXPECT_TRUE(refused([](Plan& plan) { plan.calls[0].parameters.resize(65); }));
  EXPECT_FALSE(refused([](Plan& plan) { plan.calls[0].parameters.resize(64); }));
  const uint64_t cost_max = device_->impl().profile().submission_cost;
  EXPECT_FALSE(refused([&](Plan& plan) { plan.calls[0].cost = cost_max; }));
  EXPECT_TRUE(refused([&](Plan& plan) { plan.calls[0].cost = cost_max + 1; }));
}

// --- Wrong plans --------------------------------------------------------------------------------

TEST_F(DispatchTest, RangeOutsideBuffer_IsRefused) {
  const Plan good = IncrementPlan(100);
  auto expect_refused = [&](const Plan& plan) {
    auto executable = Executable::Create(device_, plan, {});
    ASSERT_FALSE(executable.ok());
    EXPECT_EQ(executable.error().cause(), Cause::kInternal);
  };
  Plan plan = good;
  plan.calls[0].buffers[0].bytes += 4;
  expect_refused(plan);
  plan = good;
  plan.calls[0].buffers[1].offset = 256;
  expect_refused(plan);
  plan = good;
  plan.calls[0].buffers[0].offset = UINT64_MAX - 255;
  expect_refused(plan);
  plan = good;
  plan.calls[0].buffers[1].index = 1;
  expect_refused(plan);
  plan = good;
  for (BufferSpace space : {BufferSpace::kArena, BufferSpace::kCounters}) {
    plan.calls[0].buffers[1].space = space;
    expect_refused(plan);
  }
  plan = good;
  plan.calls[0].parameters.resize(kParametersPerCallMax + 1);
  expect_refused(plan);
  plan = good;
  plan.constant_bytes = {4};
  expect_refused(plan);
}

TEST_F(DispatchTest, TensorTooSmall_IsRefused) {
  auto executable = MakeExecutable(IncrementPlan(100));
  EXPECT_FALSE(Binding::Create(executable, {Allocate(396)}, {Allocate(400)}).ok());
  EXPECT_FALSE(Binding::Create(executable, {Allocate(400)}, {Allocate(396)}).ok());
  EXPECT_FALSE(Binding::Create(executable, {Allocate(400)}, {}).ok());
  EXPECT_TRUE(Binding::Create(executable, {Allocate(400)}, {Allocate(400)}).ok());
}

}  // namespace
}  // namespace webnnd::service
