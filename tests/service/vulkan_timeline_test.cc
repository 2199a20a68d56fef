#include <atomic>
#include <chrono>
#include <random>

#include "base/limits.h"
#include "service/vulkan/binding_impl.h"
#include "service/vulkan/device_impl.h"
#include "tests/service/vulkan_fixture.h"
#include "tests/support/stall.h"

namespace webnnd::service {
namespace {

std::vector<std::byte> RandomBytes(uint64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  // Words, since tens of megabytes are wanted.
  std::vector<uint32_t> words(count / 4 + 1);
  for (uint32_t& word : words) word = static_cast<uint32_t>(random());
  auto bytes = std::as_bytes(std::span(words)).first(count);
  return {bytes.begin(), bytes.end()};
}

class TimelineTest : public VulkanTest {};

TEST_F(TimelineTest, Clear_ZeroesAllBytes) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(1003);
  ASSERT_TRUE(WriteBytes(*timeline, buffer, 0, RandomBytes(1003, 1)).ok());
  ASSERT_TRUE(timeline->Clear(buffer).ok());
  auto read = ReadBytes(*timeline, buffer, 1004);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, std::vector<std::byte>(1004));
}

TEST_F(TimelineTest, WriteAtOddOffsetAndLength_ChangesOnlyThat) {
  auto timeline = MakeTimeline();
  for (uint64_t length : {1ull, 2ull, 3ull, 5ull, 255ull, 257ull, 4097ull}) {
    for (uint64_t offset : {0ull, 1ull, 3ull, 64ull}) {
      auto buffer = Allocate(8192);
      ASSERT_TRUE(timeline->Clear(buffer).ok());
      std::vector<std::byte> expected(8192);
      auto bytes = RandomBytes(length, static_cast<uint32_t>(length));
      ASSERT_TRUE(WriteBytes(*timeline, buffer, offset, bytes).ok());
      std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<ptrdiff_t>(offset));
      auto read = ReadBytes(*timeline, buffer, 8192);
      ASSERT_TRUE(read.ok()) << read.error().ToString();
      EXPECT_EQ(*read, expected) << length << " at " << offset;
    }
  }
}

TEST_F(TimelineTest, FirstWriteInPieces_KeepsAll) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(1000);
  auto bytes = RandomBytes(1000, 7);
  for (uint64_t at = 0; at < 1000; at += 100) {
    ASSERT_TRUE(WriteBytes(*timeline, buffer, at, std::span(bytes).subspan(at, 100)).ok());
  }
  auto read = ReadBytes(*timeline, buffer, 1000);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, bytes);
}

TEST_F(TimelineTest, LargerThanStaging_GoesThrough) {
  auto timeline = MakeTimeline();
  const uint64_t size = limits::kStagingBytesPerContextMax + (5 << 20) + 3;
  auto buffer = Allocate(size);
  auto other = Allocate(size);
  ASSERT_TRUE(timeline->Clear(buffer).ok());
  ASSERT_TRUE(timeline->Clear(other).ok());
  auto bytes = RandomBytes(size, 3);
  auto more = RandomBytes(size, 4);
  ASSERT_TRUE(WriteBytes(*timeline, buffer, 0, bytes).ok());
  ASSERT_TRUE(WriteBytes(*timeline, other, 0, more).ok());
  auto read = ReadBytes(*timeline, buffer, size);
  auto read_more = ReadBytes(*timeline, other, size);
  ASSERT_TRUE(read.ok() && read_more.ok());
  EXPECT_TRUE(*read == bytes);
  EXPECT_TRUE(*read_more == more);
}

TEST_F(TimelineTest, ManySmallTransfers_KeepTheirOrder) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(64);
  ASSERT_TRUE(timeline->Clear(buffer).ok());
  std::vector<uint32_t> seen;
  for (uint32_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(WriteBytes(*timeline, buffer, i % 13, std::as_bytes(std::span(&i, 1))).ok());
    ASSERT_TRUE(timeline
                    ->Read(buffer, 64,
                           [&seen, i](Result<std::span<const std::byte>> read) {
                             ASSERT_TRUE(read.ok());
                             uint32_t value;
                             std::memcpy(&value, read->data() + i % 13, 4);
                             seen.push_back(value);
                           })
                    .ok());
    if (i % 7 == 0) {
      ASSERT_TRUE(timeline->Flush().ok());
    }
  }
  ASSERT_TRUE(timeline->WaitIdle().ok());
  ASSERT_EQ(seen.size(), 500u);
  for (uint32_t i = 0; i < 500; ++i) EXPECT_EQ(seen[i], i);
}

TEST_F(TimelineTest, FillFails_WritesNothing) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(16);
  ASSERT_TRUE(timeline->Clear(buffer).ok());
  Status status = timeline->Write(buffer, 0, 16, [](uint64_t, std::span<std::byte> staging) {
    std::memset(staging.data(), 1, staging.size());
    return Status(ValidationError("the payload is short (3)"));
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "the payload is short (3)");
  auto read = ReadBytes(*timeline, buffer, 16);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, std::vector<std::byte>(16));
}

TEST_F(TimelineTest, RangeOutsideBuffer_IsRefused) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(16);
  auto bytes = RandomBytes(8, 1);
  EXPECT_FALSE(WriteBytes(*timeline, buffer, 9, bytes).ok());
  EXPECT_FALSE(WriteBytes(*timeline, buffer, UINT64_MAX - 3, bytes).ok());
  EXPECT_FALSE(ReadBytes(*timeline, buffer, 17).ok());
}

TEST_F(TimelineTest, ForeignBuffer_IsRefused) {
  auto other = Device::Open(device_->adapter().index, {});
  ASSERT_TRUE(other.ok());
  auto foreign = (*other)->Allocate(16);
  ASSERT_TRUE(foreign.ok());
  auto timeline = MakeTimeline();
  EXPECT_FALSE(timeline->Clear(*foreign).ok());
  EXPECT_FALSE(timeline->Clear(nullptr).ok());
}

TEST_F(TimelineTest, EmptyTransfers_CompleteInOrder) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(4);
  EXPECT_TRUE(WriteBytes(*timeline, buffer, 4, {}).ok());
  auto read = ReadBytes(*timeline, buffer, 0);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->empty());
}

TEST_F(TimelineTest, NotifyAlone_Runs) {
  auto timeline = MakeTimeline();
  std::promise<bool> done;
  ASSERT_TRUE(timeline->Notify([&](bool ok) { done.set_value(ok); }).ok());
  ASSERT_TRUE(timeline->Flush().ok());
  EXPECT_TRUE(done.get_future().get());
}

TEST_F(TimelineTest, DestroyedUnflushed_TellsItsCallbacks) {
  auto timeline = MakeTimeline();
  auto buffer = Allocate(16);
  ASSERT_TRUE(timeline->Clear(buffer).ok());
  std::vector<bool> told;
  ASSERT_TRUE(timeline->Notify([&](bool ok) { told.push_back(ok); }).ok());
  ASSERT_TRUE(timeline
                  ->Read(buffer, 16,
                         [&](Result<std::span<const std::byte>> read) {
                           EXPECT_EQ(read.error().cause(), Cause::kInvalidState);
                           told.push_back(read.ok());
                         })
                  .ok());
  timeline.reset();
  EXPECT_EQ(told, (std::vector<bool>{false, false}));
}

TEST_F(TimelineTest, BufferDroppedAfterRecording_IsKeptUntilDone) {
  auto timeline = MakeTimeline();
  auto result = Allocate(1 << 20);
  std::weak_ptr<Buffer> watch = result;
  ASSERT_TRUE(timeline->Clear(result).ok());
  std::promise<bool> zero;
  ASSERT_TRUE(timeline
                  ->Read(result, 1 << 20,
                         [&](Result<std::span<const std::byte>> read) {
                           zero.set_value(read.ok() && (*read)[77] == std::byte{0});
                         })
                  .ok());
  result.reset();
  EXPECT_FALSE(watch.expired());
  ASSERT_TRUE(timeline->WaitIdle().ok());
  EXPECT_TRUE(zero.get_future().get());
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(device_->bytes_in_use(), 0u);
}

TEST_F(TimelineTest, ReadBeforeADispatch_DoesNotWaitForIt) {
  constexpr uint32_t kCount = 1 << 22;
  Plan plan = ChainPlan(kCount, 60);
  // As if it were little work, so that its cost alone does not make it a submission of its own.
  for (KernelCall& call : plan.calls) call.cost = 1;
  auto executable = Executable::Create(device_, plan, {});
  ASSERT_TRUE(executable.ok()) << executable.error().ToString();
  auto timeline = MakeTimeline();
  auto input = Allocate(kCount * 4ull);
  auto output = Allocate(kCount * 4ull);
  ASSERT_TRUE(timeline->Clear(input).ok());
  auto binding = Binding::Create(*executable, {input}, {output});
  ASSERT_TRUE(binding.ok()) << binding.error().ToString();
  using Clock = std::chrono::steady_clock;
  Clock::time_point read_at, done_at;
  ASSERT_TRUE(timeline
                  ->Read(input, 4,
                         [&](Result<std::span<const std::byte>> read) {
                           EXPECT_TRUE(read.ok());
                           read_at = Clock::now();
                         })
                  .ok());
  Clock::time_point begin = Clock::now();
  ASSERT_TRUE(timeline->Dispatch(*binding).ok());
  ASSERT_TRUE(timeline->Notify([&](bool) { done_at = Clock::now(); }).ok());
  ASSERT_TRUE(timeline->WaitIdle().ok());
  // Without the dispatch, a read takes a thousandth of it.
  EXPECT_LT(read_at - begin, (done_at - begin) / 2);
}

// However much a client asks for, others wait for little of it: a driver, or a GPU, that takes
// submissions in turn comes to theirs soon.
TEST_F(TimelineTest, FloodOfDispatches_IsGivenToTheDeviceALittleAtATime) {
  constexpr uint32_t kCount = 1000;
  constexpr uint64_t kDispatches = 10;
  DeviceImpl& impl = device_->impl();
  const uint64_t cost_max = impl.profile().submission_cost;
  Plan plan = ChainPlan(kCount, 40);
  for (KernelCall& call : plan.calls) call.cost = cost_max / 3;
  auto executable = Executable::Create(device_, plan, {});
  ASSERT_TRUE(executable.ok()) << executable.error().ToString();
  auto input = Allocate(kCount * 4ull), output = Allocate(kCount * 4ull);
  auto timeline = MakeTimeline();
  ASSERT_TRUE(WriteFloats(*timeline, input, std::vector<float>(kCount, 1.0f)).ok());
  ASSERT_TRUE(timeline->WaitIdle().ok());
  auto binding = Binding::Create(*executable, {input}, {output});
  ASSERT_TRUE(binding.ok()) << binding.error().ToString();
  const auto& segments = static_cast<BindingImpl&>(**binding).segments();
  for (const auto& segment : segments) EXPECT_LE(segment.cost, cost_max);

  Stall stall(*device_);
  const uint64_t before = impl.submissions;
  for (uint64_t i = 0; i < kDispatches; ++i) {
    ASSERT_TRUE(timeline->Dispatch(*binding).ok());
    ASSERT_TRUE(timeline->Flush().ok());
  }
  EXPECT_EQ(impl.submissions - before, uint64_t{limits::kSubmissionsAhead});
  // What the others have is not behind the rest of it.
  auto others = MakeTimeline();
  ASSERT_TRUE(others->Clear(Allocate(16)).ok());
  ASSERT_TRUE(others->Flush().ok());
  EXPECT_EQ(impl.submissions - before, uint64_t{limits::kSubmissionsAhead} + 1);
  stall.Release();
  auto values = ReadFloats(*timeline, output, kCount);
  ASSERT_TRUE(values.ok()) << values.error().ToString();
  EXPECT_EQ(*values, std::vector<float>(kCount, 41.0f));
  // The read is one more.
  EXPECT_EQ(impl.submissions - before, kDispatches * segments.size() + 2);
}

TEST_F(TimelineTest, TwoTimelinesOnTwoThreads_DoNotDisturbEachOther) {
  auto work = [&](uint32_t seed) {
    auto timeline = MakeTimeline();
    for (uint32_t i = 0; i < 50; ++i) {
      auto buffer = Allocate(10000);
      auto bytes = RandomBytes(10000, seed + i);
      ASSERT_TRUE(timeline->Clear(buffer).ok());
      ASSERT_TRUE(WriteBytes(*timeline, buffer, 0, bytes).ok());
      auto read = ReadBytes(*timeline, buffer, 10000);
      ASSERT_TRUE(read.ok());
      ASSERT_TRUE(*read == bytes);
    }
  };
  std::thread other(work, 1000);
  work(2000);
  other.join();
}

}  // namespace
}  // namespace webnnd::service
