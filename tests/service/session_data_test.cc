// Payloads, destinations, poisoning, quotas and back-pressure.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "ipc/shared_memory.h"
#include "service/vulkan/fault.h"
#include "tests/service/session_fixture.h"

namespace webnnd::service {
namespace {

using testing::HasSubstr;

class SessionDataTest : public SessionTest {
 protected:
  // Writes from this file and expects the session to end.
  void ExpectFileEnds(UniqueFd file, uint64_t offset, uint64_t length) {
    Peer other(host());
    other.Open();
    Handle tensor = other.MakeTensor();
    other.Send(ipc::WriteTensor{tensor, ipc::FilePayload{std::move(file), offset, length}});
    ExpectEnds(other, "");
  }
};

// --- Payloads -----------------------------------------------------------------------------------

TEST_F(SessionDataTest, Payloads_ComeByEveryWay) {
  Handle tensor = peer().MakeTensor();
  peer().Send(ipc::WriteTensor{
      tensor, ipc::FilePayload{TemporaryFile(std::vector<float>{9, 1, 2, 3, 4}), 4, 16}});
  EXPECT_EQ(peer().ReadFloats(tensor), (std::vector<float>{1, 2, 3, 4}));
  const std::vector<float> values = {5, 6, 7, 8};
  std::memcpy(peer().client().up().data() + 64, values.data(), 16);
  peer().Send(ipc::WriteTensor{tensor, ipc::ArenaPayload{64, 16, 1}});
  EXPECT_EQ(peer().client().Expect<ipc::Acknowledge>().sequence, 1u);
  auto read = peer().Read(tensor, ipc::ArenaDestination{128, 16});
  EXPECT_EQ(read.length, 16u);
  std::vector<float> got(4);
  std::memcpy(got.data(), peer().client().down().data() + 128, 16);
  EXPECT_EQ(got, values);
}

TEST_F(SessionDataTest, FileThatIsADirectory_Ends) {
  ExpectFileEnds(UniqueFd(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0, 16);
}

TEST_F(SessionDataTest, FileThatIsAPipe_Ends) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd write_end(ends[1]);
  ExpectFileEnds(UniqueFd(ends[0]), 0, 16);
}

TEST_F(SessionDataTest, FileThatIsADevice_Ends) {
  ExpectFileEnds(UniqueFd(open("/dev/zero", O_RDONLY | O_CLOEXEC)), 0, 16);
}

// It may have been cut since its owner looked, so that is an error of the write.
TEST_F(SessionDataTest, FileThatIsTooSmall_PoisonsTheTensor) {
  for (uint64_t offset : {0, 4}) {
    Handle tensor = peer().MakeTensor();
    peer().Send(ipc::WriteTensor{
        tensor, ipc::FilePayload{TemporaryFile(std::vector<float>{1, 2, 3}), offset, 16}});
    EXPECT_THAT(peer().ReadError(tensor).message(), HasSubstr("the file ends"));
  }
}

TEST_F(SessionDataTest, SealedMemfdThatIsTooSmall_Ends) {
  ExpectFileEnds(ipc::CreateSealedMemfd("test", 12).value(), 0, 16);
}

TEST_F(SessionDataTest, FileRangeThatOverflows_Ends) {
  ExpectFileEnds(TemporaryFile(std::vector<float>{1, 2, 3, 4}), ~uint64_t{0} - 7, 16);
  ExpectFileEnds(TemporaryFile(std::vector<float>{1, 2, 3, 4}), uint64_t{1} << 63, 16);
}

TEST_F(SessionDataTest, ArenaRangeOutOfBounds_Ends) {
  const uint64_t arena = ipc::RawClient::kArenaBytes;
  for (auto [offset, length] : std::vector<std::pair<uint64_t, uint64_t>>{
           {arena - 8, 16}, {arena, 16}, {~uint64_t{0} - 7, 16}, {0, arena + 1}}) {
    Peer writer(host());
    writer.Open();
    writer.Send(ipc::WriteTensor{writer.MakeTensor(), ipc::ArenaPayload{offset, length, 1}});
    ExpectEnds(writer, "");
    Peer reader(host());
    reader.Open();
    reader.Send(ipc::ReadTensor{reader.MakeTensor(), 1, ipc::ArenaDestination{offset, length}});
    ExpectEnds(reader, "");
  }
}

TEST_F(SessionDataTest, DestinationThatIsNotSealed_Ends) {
  Handle tensor = peer().MakeTensor();
  UniqueFd fd(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(fd.get(), 4096), 0);
  peer().Send(ipc::ReadTensor{tensor, 1, ipc::FileDestination{std::move(fd), 4096}});
  ExpectEnds(peer(), "seal");
}

TEST_F(SessionDataTest, DestinationThatIsTooSmall_FailsTheRead) {
  Handle tensor = peer().MakeTensor();
  peer().Write(tensor, {1, 2, 3, 4});
  auto read = peer().Read(tensor, ipc::ArenaDestination{0, 8});
  ASSERT_TRUE(read.error.has_value());
  EXPECT_THAT(read.error->message(), HasSubstr("is smaller than the tensor"));
  auto sealed = ipc::CreateSealedMemfd("small", 8);
  ASSERT_TRUE(sealed.ok());
  read = peer().Read(tensor, ipc::FileDestination{std::move(*sealed), 8});
  EXPECT_TRUE(read.error.has_value());
  Handle large = peer().MakeTensor(2 * limits::kInlinePayloadBytesMax / sizeof(float));
  EXPECT_TRUE(peer().Read(large).error.has_value());
  EXPECT_EQ(peer().ReadFloats(tensor), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(SessionDataTest, PayloadsOfDroppedWrites_AreAcknowledged) {
  Handle tensor = peer().MakeTensor();
  peer().Send(ipc::DestroyTensor{tensor});
  peer().Send(ipc::WriteTensor{tensor, ipc::ArenaPayload{0, 16, 1}});
  EXPECT_EQ(peer().client().Expect<ipc::Acknowledge>().sequence, 1u);
}

// --- Tensors ------------------------------------------------------------------------------------

TEST_F(SessionDataTest, NewTensor_IsCleared) {
  Handle old = peer().MakeTensor(1024);
  peer().Write(old, std::vector<float>(1024, 42));
  peer().Send(ipc::DestroyTensor{old});
  EXPECT_EQ(peer().ReadFloats(peer().MakeTensor(1024)), std::vector<float>(1024, 0));
}

TEST_F(SessionDataTest, WriteOfAnotherLength_PoisonsUntilAWholeWrite) {
  Handle tensor = peer().MakeTensor();
  peer().Write(tensor, {1, 2, 3});
  Error error = peer().ReadError(tensor);
  EXPECT_EQ(error.cause(), Cause::kValidation);
  EXPECT_THAT(error.ToString(), HasSubstr("writing the tensor"));
  peer().Write(tensor, {1, 2, 3, 4});
  EXPECT_EQ(peer().ReadFloats(tensor), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(SessionDataTest, PoisonedInput_PoisonsTheOutputs) {
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  peer().Write(a, {1});
  peer().Dispatch(graph, {a, b}, {y});
  Error error = peer().ReadError(y);
  EXPECT_THAT(error.ToString(), HasSubstr("writing the tensor"));
  EXPECT_THAT(error.ToString(), HasSubstr("dispatching the graph"));
  // In the order of the timeline: what was right before stays right.
  peer().Write(a, {1, 2, 3, 4});
  peer().Dispatch(graph, {a, b}, {y});
  EXPECT_EQ(peer().ReadFloats(y), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(SessionDataTest, FlagsOfATensor_AreHeld) {
  Handle secret = peer().NewHandle();
  peer().Send(ipc::CreateTensor{peer().context(), secret, ipc::Floats(4), false, true});
  EXPECT_THAT(peer().ReadError(secret).message(), HasSubstr("not readable"));
  Handle fixed = peer().NewHandle();
  peer().Send(ipc::CreateTensor{peer().context(), fixed, ipc::Floats(4), true, false});
  peer().Write(fixed, {1, 2, 3, 4});
  EXPECT_THAT(peer().ReadError(fixed).message(), HasSubstr("not writable"));
}

TEST_F(SessionDataTest, TensorThatCannotBe_FailsWhatUsesIt) {
  Handle tensor = peer().NewHandle();
  peer().Send(ipc::CreateTensor{peer().context(), tensor,
                                ipc::Describe(webidl::OperandDataType::kFloat32, {0}), true, true});
  peer().Write(tensor, {});
  EXPECT_EQ(peer().ReadError(tensor).cause(), Cause::kValidation);
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  peer().Dispatch(graph, {a, tensor}, {y});
  EXPECT_EQ(peer().ReadError(y).cause(), Cause::kValidation);
}

// --- Quota --------------------------------------------------------------------------------------

class SessionQuotaTest : public SessionTest {
 protected:
  static constexpr uint32_t kLimitFloats = 1 << 18;
  void SetUp() override {
    set_quota({.device_bytes = kLimitFloats * sizeof(float)});
    SessionTest::SetUp();
  }
  std::optional<Error> Create(uint32_t elements, Handle* handle = nullptr) {
    Handle tensor = peer().NewHandle();
    if (handle != nullptr) *handle = tensor;
    peer().Send(ipc::CreateTensor{peer().context(), tensor, ipc::Floats(elements), true, true});
    return peer().client().Expect<ipc::TensorCreated>().error;
  }
};

TEST_F(SessionQuotaTest, TensorsOverTheLimit_AreRefusedUntilOthersGo) {
  Handle first;
  EXPECT_FALSE(Create(kLimitFloats - 100, &first).has_value());
  auto error = Create(1000);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->cause(), Cause::kQuota);
  bystander().ExpectWorks();
  peer().Send(ipc::DestroyTensor{first});
  EXPECT_FALSE(Create(1000).has_value());
}

TEST_F(SessionQuotaTest, ConstantOverTheLimit_FailsTheBuild) {
  EXPECT_FALSE(Create(kLimitFloats - 1000).has_value());
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstant{builder, 3, ipc::Floats(2048), ipc::ArenaPayload{0, 8192, 1}});
  webidl::SliceAttributes slice{{0}, {4}, std::nullopt};
  peer().AddOperators(builder, {{webidl::OperatorKind::kSlice, {3}, {4}, "", slice},
                                Peer::Binary(webidl::OperatorKind::kAdd, 1, 4, 5)});
  auto built = peer().Build(builder, peer().NewHandle(), {1}, {{"y", 5}});
  ASSERT_TRUE(built.error.has_value());
  EXPECT_EQ(built.error->cause(), Cause::kQuota);
}

TEST_F(SessionQuotaTest, IntermediatesOverTheLimit_FailTheBuild) {
  Handle builder = peer().MakeBuilder();
  webidl::ExpandAttributes expand{{kLimitFloats / 4, 4}};
  peer().AddOperators(
      builder, {{webidl::OperatorKind::kExpand, {1}, {3}, "", expand},
                Peer::Binary(webidl::OperatorKind::kAdd, 3, 2, 4),
                {webidl::OperatorKind::kReduceSum, {4}, {5}, "", webidl::ReduceAttributes{}}});
  auto built = peer().Build(builder, peer().NewHandle(), {1, 2}, {{"y", 5}});
  ASSERT_TRUE(built.error.has_value());
  EXPECT_EQ(built.error->cause(), Cause::kQuota);
  peer().ExpectWorks();
}

TEST_F(SessionQuotaTest, BuildThatFailsLate_HoldsNothingOfTheQuota) {
  auto build = [&] {
    Handle builder = peer().MakeBuilder();
    webidl::ExpandAttributes expand{{kLimitFloats / 16, 4}};
    // A kernel that no other test here uses, so that it is compiled now.
    peer().AddOperators(
        builder, {{webidl::OperatorKind::kExpand, {1}, {3}, "", expand},
                  {webidl::OperatorKind::kTan, {3}, {4}, "", webidl::NoAttributes{}},
                  {webidl::OperatorKind::kReduceSum, {4}, {5}, "", webidl::ReduceAttributes{}}});
    return peer().Build(builder, peer().NewHandle(), {1}, {{"y", 5}}).error;
  };
  peer().ExpectWorks();  // Nothing of it is in flight any more.
  InjectFaultAt(1, /*forever=*/true);
  auto error = build();
  ClearFault();
  ASSERT_TRUE(error.has_value()) << "every pipeline was there already";
  EXPECT_EQ(error->cause(), Cause::kOutOfMemory);
  // Its handle lives on, and there is room for one such arena only.
  error = build();
  EXPECT_FALSE(error.has_value()) << error->ToString();
}

TEST_F(SessionQuotaTest, FoldedConstants_CountAsWell) {
  // Each sum is no larger than its operands, so each is folded, and all of them are kept.
  const uint32_t elements = kLimitFloats / 16;
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstant{builder, 3, ipc::Floats(elements),
                               ipc::ArenaPayload{0, elements * sizeof(float), 1}});
  std::vector<webidl::Operator> operators;
  std::vector<ipc::GraphOutput> outputs;
  for (uint32_t i = 0; i < 32; ++i) {
    operators.push_back(Peer::Binary(webidl::OperatorKind::kAdd, 3 + i, 3, 4 + i));
    outputs.push_back({"y" + std::to_string(i), 4 + i});
  }
  peer().AddOperators(builder, std::move(operators));
  auto built = peer().Build(builder, peer().NewHandle(), {}, std::move(outputs));
  ASSERT_TRUE(built.error.has_value());
  EXPECT_EQ(built.error->cause(), Cause::kQuota);
  peer().ExpectWorks();
}

// --- Back-pressure ------------------------------------------------------------------------------

TEST_F(SessionDataTest, ClientThatDoesNotRead_IsNotReadFrom) {
  constexpr uint32_t kFloats = limits::kInlinePayloadBytesMax / sizeof(float);
  constexpr uint64_t kManyReads = 100'000;
  Handle tensor = peer().MakeTensor(kFloats);
  std::vector<float> values(kFloats, 3);
  peer().Write(tensor, values);
  uint64_t sent = 0;
  bool stopped = false;
  while (!stopped && sent < kManyReads) {
    ++sent;
    stopped = !peer().client().SendWithoutReading(
        ipc::ReadTensor{tensor, sent, ipc::InlineDestination{}}, /*quiet_ms=*/2000);
  }
  EXPECT_TRUE(stopped) << "the service takes requests without end";
  // It has answered no more than the outbox and the channel hold.
  EXPECT_LT(sent, 4 * limits::kOutboxBytesMax / limits::kInlinePayloadBytesMax);
  bystander().ExpectWorks();
  // All comes once the client reads, in order.
  for (uint64_t request = 1; request <= sent; ++request) {
    auto read = peer().client().Expect<ipc::TensorRead>();
    ASSERT_EQ(read.request, request);
    ASSERT_FALSE(read.error.has_value());
    ASSERT_EQ(read.bytes.size(), limits::kInlinePayloadBytesMax);
  }
  peer().ExpectWorks();
}

TEST_F(SessionDataTest, ClientThatDoesNotReadAndVanishes_LeavesNothing) {
  Handle tensor = peer().MakeTensor(1024);
  for (uint64_t request = 1; request < 100'000; ++request) {
    if (!peer().client().SendWithoutReading(
            ipc::ReadTensor{tensor, request, ipc::InlineDestination{}}, /*quiet_ms=*/500)) {
      break;
    }
  }
}

// After short waits the session looks for the next message before it sleeps: not for long.
TEST_F(SessionDataTest, ClientThatPauses_CostsNoTime) {
  using std::chrono::milliseconds;
  auto processor_time = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  Handle tensor = peer().MakeTensor();
  peer().Write(tensor, {1, 2, 3, 4});
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(peer().ReadFloats(tensor), (std::vector<float>{1, 2, 3, 4}));
  std::this_thread::sleep_for(milliseconds(50));  // What the driver has begun ends.
  const auto before = processor_time();
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_LT(processor_time() - before, milliseconds(100));
}

}  // namespace
}  // namespace webnnd::service
