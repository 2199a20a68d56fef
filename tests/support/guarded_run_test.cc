// Guard bands find kernels that leave their tensors: plans that do, one by one.
#include "tests/support/guarded_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "service/passes/kernel_parameters.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

using Bytes = std::vector<std::byte>;

constexpr uint32_t kWords = 64;
constexpr uint64_t kPlanBytes = kWords * 4;

// Copies `count` words from `source` of a buffer to `target` of another (copy_elements.comp).
KernelCall CopyCall(BufferRef from, BufferRef to, uint32_t source, uint32_t target,
                    uint32_t count) {
  to.written = true;
  KernelCall call;
  call.shader = shaders::ShaderId::kCopyElements;
  call.specialization = {/*rank=*/1, /*many runs=*/0};
  call.parameters = {count, 1, source, target, 0, 0, 0, 0, 0, 0, 0, 0};
  const StridedDimension flat{.size = count, .strides = {1}};
  AppendDimensions({&flat, 1}, call.parameters);
  call.buffers = {from, to};
  call.invocations = count;
  call.cost = 8ull * count;
  return call;
}

BufferRef Input() { return {BufferSpace::kInput, 0, 0, kPlanBytes}; }
BufferRef Output() { return {BufferSpace::kOutput, 0, 0, kPlanBytes}; }

Plan PlanOf(std::vector<KernelCall> calls) {
  Plan plan;
  plan.input_bytes = {kPlanBytes};
  plan.output_bytes = {kPlanBytes};
  plan.calls = std::move(calls);
  return plan;
}

// The error, or "".
std::string ErrorOf(Plan plan) {
  Bytes input(kPlanBytes, std::byte{7});
  auto results = RunGuarded(TestDevice(), std::move(plan), {input}, {kPlanBytes * 8});
  if (!results.ok()) return results.error().ToString();
  EXPECT_EQ((*results)[0], input);
  return "";
}

TEST(GuardedRun, KernelThatStaysInside_Passes) {
  EXPECT_EQ(ErrorOf(PlanOf({CopyCall(Input(), Output(), 0, 0, kWords)})), "");
}

TEST(GuardedRun, WordBehindOutput_IsFound) {
  EXPECT_THAT(ErrorOf(PlanOf({CopyCall(Input(), Output(), 0, 0, kWords),
                              CopyCall(Input(), Output(), 0, kWords, 1)})),
              testing::HasSubstr("wrote outside of what it may, in output 0 (at byte 256 of 256)"));
}

TEST(GuardedRun, WriteToInput_IsFound) {
  EXPECT_THAT(ErrorOf(PlanOf({CopyCall(Output(), Input(), 0, 3, 1),
                              CopyCall(Input(), Output(), 0, 0, kWords)})),
              testing::HasSubstr("in input 0 (at byte 12 of 256)"));
}

TEST(GuardedRun, WordBehindIntermediate_IsFound) {
  Plan plan = PlanOf({CopyCall(Input(), {BufferSpace::kArena, 0, 0, kPlanBytes}, 0, kWords, 1),
                      CopyCall(Input(), Output(), 0, 0, kWords)});
  plan.arena_bytes = kPlanBytes + kGuardBytes;
  EXPECT_THAT(ErrorOf(std::move(plan)), testing::HasSubstr("in the arena 0 (at byte 256"));
}

TEST(GuardedRun, CounterThatDoesNotEndAsZero_IsFound) {
  const BufferRef counters{BufferSpace::kCounters, 0, 0, kPlanBytes};
  Plan plan =
      PlanOf({CopyCall(Input(), counters, 0, 2, 1), CopyCall(Input(), Output(), 0, 0, kWords)});
  plan.counter_bytes = kPlanBytes;
  EXPECT_THAT(ErrorOf(plan), testing::HasSubstr("in the counters 0 (at byte 8 of 256)"));
  plan.calls[0] = CopyCall(counters, Output(), 0, 0, 1);
  EXPECT_EQ(ErrorOf(plan), "");
}

TEST(GuardedRun, ReadBehindInput_IsFound) {
  EXPECT_THAT(ErrorOf(PlanOf({CopyCall(Input(), Output(), 1, 0, kWords)})),
              testing::HasSubstr("output 0 depends on what no kernel wrote (at byte 252 of 256)"));
}

TEST(GuardedRun, OutputThatIsNotWritten_IsFound) {
  EXPECT_THAT(ErrorOf(PlanOf({CopyCall(Input(), Output(), 0, 0, kWords - 1)})),
              testing::HasSubstr("output 0 depends on what no kernel wrote (at byte 252 of 256)"));
}

TEST(GuardedRun, ReadOfIntermediateThatIsNotWritten_IsFound) {
  Plan plan = PlanOf({CopyCall({BufferSpace::kArena, 0, 0, kPlanBytes}, Output(), 0, 0, kWords)});
  plan.arena_bytes = kPlanBytes + kGuardBytes;
  EXPECT_THAT(ErrorOf(std::move(plan)), testing::HasSubstr("depends on what no kernel wrote"));
}

// What guard bands cannot find: robust buffer access drops it.
TEST(GuardedRun, IndexBelowZero_IsFoundByGpuAssistedValidation) {
  const char* enabled = std::getenv("VK_LAYER_ENABLES");
  if (enabled == nullptr || std::string_view(enabled).find("GPU_ASSISTED") == std::string::npos) {
    GTEST_SKIP() << "GPU-assisted validation is not enabled (VK_LAYER_ENABLES)";
  }
  const uint64_t messages = Device::ValidationMessageCount();
  EXPECT_EQ(ErrorOf(PlanOf({CopyCall(Input(), Output(), 0, 0, kWords),
                            CopyCall(Input(), Output(), 0, 0u - 3, 1)})),
            "");
  EXPECT_GT(Device::ValidationMessageCount(), messages);
}

}  // namespace
}  // namespace webnnd::service
