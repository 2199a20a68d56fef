// What one client may have, each quota on its own; and what becomes of work that fails on the way.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/limits.h"
#include "ipc/shared_memory.h"
#include "service/vulkan/fault.h"
#include "tests/service/session_fixture.h"
#include "tests/support/device_options.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"
#include "tests/support/stall.h"

namespace webnnd::service {
namespace {

using testing::HasSubstr;
using webidl::OperatorKind;

class QuotaTest : public SessionTest {
 protected:
  explicit QuotaTest(const Quota& quota) : quota_(quota) {}
  void SetUp() override {
    set_quota(quota_);
    SessionTest::SetUp();
  }

  std::optional<Error> CreateContext(Handle context) {
    peer().Send(ipc::CreateContext{.context = context});
    return peer().client().Expect<ipc::ContextCreated>().error;
  }
  std::optional<Error> CreateTensor(Handle tensor, uint32_t elements = 4) {
    peer().Send(ipc::CreateTensor{peer().context(), tensor, ipc::Floats(elements), true, true});
    return peer().client().Expect<ipc::TensorCreated>().error;
  }
  // A chain of `count` operators.
  std::optional<Error> BuildChain(Handle graph, uint32_t count) {
    Handle builder = peer().MakeBuilder();
    std::vector<webidl::Operator> operators;
    for (uint32_t i = 0; i < count; ++i) {
      operators.push_back(Peer::Binary(OperatorKind::kAdd, i == 0 ? 1 : 2 + i, 2, 3 + i));
    }
    peer().AddOperators(builder, std::move(operators));
    return peer().Build(builder, graph, {1, 2}, {{"y", 2 + count}}).error;
  }
  static void ExpectQuota(const std::optional<Error>& error, const std::string& text) {
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->cause(), Cause::kQuota);
    EXPECT_THAT(error->message(), HasSubstr(text));
  }

 private:
  Quota quota_;
};

// --- Counts -------------------------------------------------------------------------------------

class CountQuotaTest : public QuotaTest {
 protected:
  CountQuotaTest()
      : QuotaTest({.contexts = 2, .tensors = 4, .graphs = 2, .bindings = 2, .operators = 10}) {}
};

TEST_F(CountQuotaTest, ContextsOverIt_AreRefusedUntilOthersGo) {
  Handle second = peer().NewHandle();
  EXPECT_FALSE(CreateContext(second).has_value());
  Handle third = peer().NewHandle();
  ExpectQuota(CreateContext(third), "contexts (3)");
  // What is made on it inherits the error.
  peer().Send(ipc::CreateTensor{third, peer().NewHandle(), ipc::Floats(4), true, true});
  ExpectQuota(peer().client().Expect<ipc::TensorCreated>().error, "contexts");
  peer().ExpectWorks();
  peer().Send(ipc::DestroyContext{second});
  peer().Send(ipc::DestroyContext{third});
  EXPECT_FALSE(CreateContext(peer().NewHandle()).has_value());
}

TEST_F(CountQuotaTest, TensorsOverIt_AreRefusedUntilOthersGo) {
  Handle first = peer().NewHandle();
  EXPECT_FALSE(CreateTensor(first).has_value());
  for (int i = 1; i < 4; ++i) EXPECT_FALSE(CreateTensor(peer().NewHandle()).has_value());
  Handle refused = peer().NewHandle();
  ExpectQuota(CreateTensor(refused), "tensors (5)");
  EXPECT_EQ(peer().ReadError(refused).cause(), Cause::kQuota);
  EXPECT_EQ(peer().ReadFloats(first), std::vector<float>(4, 0));
  peer().Send(ipc::DestroyTensor{first});
  peer().Send(ipc::DestroyTensor{refused});
  EXPECT_FALSE(CreateTensor(peer().NewHandle()).has_value());
}

TEST_F(CountQuotaTest, GraphsOverIt_AreRefusedUntilOthersGo) {
  Handle first = peer().NewHandle();
  EXPECT_FALSE(BuildChain(first, 1).has_value());
  EXPECT_FALSE(BuildChain(peer().NewHandle(), 1).has_value());
  Handle refused = peer().NewHandle();
  ExpectQuota(BuildChain(refused, 1), "graphs (3)");
  peer().Send(ipc::DestroyGraph{first});
  peer().Send(ipc::DestroyGraph{refused});
  EXPECT_FALSE(BuildChain(peer().NewHandle(), 1).has_value());
}

TEST_F(CountQuotaTest, BindingsOverIt_PoisonWhatTheyWouldWrite) {
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  std::vector<Handle> bindings;
  for (int i = 0; i < 3; ++i) {
    bindings.push_back(peer().NewHandle());
    peer().Send(ipc::CreateBinding{bindings.back(), graph, {a, b}, {y}});
  }
  peer().Write(a, {1, 2, 3, 4});
  peer().Send(ipc::DispatchBinding{bindings[1]});
  EXPECT_EQ(peer().ReadFloats(y), (std::vector<float>{1, 2, 3, 4}));
  peer().Send(ipc::DispatchBinding{bindings[2]});
  EXPECT_THAT(peer().ReadError(y).message(), HasSubstr("bindings (3)"));
  for (Handle binding : bindings) peer().Send(ipc::DestroyBinding{binding});
  Handle again = peer().NewHandle();
  peer().Send(ipc::CreateBinding{again, graph, {a, b}, {y}});
  peer().Send(ipc::DispatchBinding{again});
  EXPECT_EQ(peer().ReadFloats(y), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(CountQuotaTest, Operators_CountOverAllGraphsThatLive) {
  ExpectQuota(BuildChain(peer().NewHandle(), 11), "operators");
  Handle graph = peer().NewHandle();
  EXPECT_FALSE(BuildChain(graph, 8).has_value());
  Handle refused = peer().NewHandle();
  // Two graphs are there already.
  peer().Send(ipc::DestroyGraph{graph});
  EXPECT_FALSE(BuildChain(refused, 10).has_value());
}

TEST_F(CountQuotaTest, OperatorsOfBuilders_CountAsWell) {
  Handle described = peer().MakeBuilder();
  std::vector<webidl::Operator> operators;
  for (uint32_t i = 0; i < 8; ++i) {
    operators.push_back(Peer::Binary(OperatorKind::kAdd, 1, 2, 3 + i));
  }
  peer().AddOperators(described, std::move(operators));
  Handle refused = peer().NewHandle();
  ExpectQuota(BuildChain(refused, 3), "operators");
  EXPECT_FALSE(BuildChain(peer().NewHandle(), 2).has_value());
  peer().Send(ipc::DestroyBuilder{described});
  peer().Send(ipc::DestroyGraph{refused});
  EXPECT_FALSE(BuildChain(peer().NewHandle(), 8).has_value());
}

TEST_F(CountQuotaTest, OperatorsOfADestroyedContext_CountNoMoreAtOnce) {
  const Handle context = peer().NewHandle();
  EXPECT_FALSE(CreateContext(context).has_value());
  const Handle tensor = peer().NewHandle();
  peer().Send(ipc::CreateTensor{context, tensor, ipc::Floats(4), true, true});
  EXPECT_FALSE(peer().client().Expect<ipc::TensorCreated>().error.has_value());
  const Handle gone = peer().MakeTensor();
  peer().Send(ipc::DestroyTensor{gone});
  const Handle described = peer().NewHandle();
  peer().Send(ipc::CreateBuilder{context, described});
  std::vector<webidl::Operator> operators;
  for (uint32_t i = 0; i < 8; ++i) {
    operators.push_back(Peer::Binary(OperatorKind::kAdd, 1, 2, 3 + i));
  }
  peer().AddOperators(described, operators);
  // While the context still waits for its work.
  Stall stall(device());
  peer().Send(ipc::ReadTensor{tensor, 1000, ipc::InlineDestination{}});
  peer().Send(ipc::DestroyContext{context});
  const Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, operators);
  // Answered at once, and so all before has been taken.
  EXPECT_EQ(peer().ReadError(gone).cause(), Cause::kInvalidState);
  stall.Release();
  EXPECT_FALSE(peer().client().Expect<ipc::TensorRead>().error.has_value());
  EXPECT_FALSE(peer().Build(builder, peer().NewHandle(), {1, 2}, {{"y", 10}}).error.has_value());
}

TEST_F(CountQuotaTest, GraphOverIt_TakesNoOperators) {
  const Handle first = peer().NewHandle();
  const Handle second = peer().NewHandle();
  EXPECT_FALSE(BuildChain(first, 1).has_value());
  EXPECT_FALSE(BuildChain(second, 1).has_value());
  ExpectQuota(BuildChain(peer().NewHandle(), 8), "graphs (3)");
  peer().Send(ipc::DestroyGraph{first});
  peer().Send(ipc::DestroyGraph{second});
  EXPECT_FALSE(BuildChain(peer().NewHandle(), 8).has_value());
}

// --- Device memory ------------------------------------------------------------------------------

constexpr uint64_t kFewBytes = 1 << 20;

class MemoryQuotaTest : public QuotaTest {
 protected:
  MemoryQuotaTest() : QuotaTest({.device_bytes = kFewBytes}) {}
};

TEST_F(MemoryQuotaTest, FloodOfTensors_TakesNoMoreThanTheQuota) {
  const int64_t before = DeviceBytesMore();
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    refused += CreateTensor(peer().NewHandle(), 2048).has_value() ? 1 : 0;
  }
  EXPECT_EQ(refused, 600 - static_cast<int>(kFewBytes / 8192));
  EXPECT_LE(DeviceBytesMore() - before, static_cast<int64_t>(kFewBytes));
  bystander().ExpectWorks();
}

TEST_F(MemoryQuotaTest, FloodOfBindings_TakesNoMoreThanTheQuota) {
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  std::vector<Handle> bindings;
  for (uint64_t i = 0; i < kFewBytes / limits::kBindingBytesPerKernel; ++i) {
    bindings.push_back(peer().NewHandle());
    peer().Send(ipc::CreateBinding{bindings.back(), graph, {a, b}, {y}});
  }
  peer().Send(ipc::DispatchBinding{bindings.back()});
  EXPECT_EQ(peer().ReadError(y).cause(), Cause::kQuota);
  for (Handle binding : bindings) peer().Send(ipc::DestroyBinding{binding});
  peer().ExpectWorks();
}

// --- In flight ----------------------------------------------------------------------------------

constexpr int kQuietMs = 300;
constexpr uint32_t kPayloadBytes = 256 << 10;

class InFlightQuotaTest : public QuotaTest {
 protected:
  InFlightQuotaTest()
      : QuotaTest({.bytes_in_flight = 2 * kPayloadBytes, .dispatches_in_flight = 4}) {}

  // The payload has been taken from the client once it is acknowledged.
  void WriteThroughTheArena(Handle tensor, uint64_t sequence) {
    peer().Send(ipc::WriteTensor{tensor, ipc::ArenaPayload{0, kPayloadBytes, sequence}});
  }
  uint64_t LastAcknowledged() {
    uint64_t last = 0;
    while (peer().client().Arrives(kQuietMs)) {
      last = peer().client().Expect<ipc::Acknowledge>().sequence;
    }
    return last;
  }
};

TEST_F(InFlightQuotaTest, BytesOverIt_Wait) {
  Handle tensor = peer().MakeTensor(kPayloadBytes / sizeof(float));
  peer().ExpectWorks();  // Nothing else is in flight.
  Stall stall(device());
  for (uint64_t sequence = 1; sequence <= 6; ++sequence) WriteThroughTheArena(tensor, sequence);
  EXPECT_EQ(LastAcknowledged(), 2u);
  stall.Release();
  EXPECT_EQ(LastAcknowledged(), 6u);
  peer().ExpectWorks();
}

TEST_F(InFlightQuotaTest, DispatchesOverIt_Wait) {
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  Handle tensor = peer().MakeTensor(kPayloadBytes / sizeof(float));
  for (int dispatches : {3, 4}) {
    peer().ExpectWorks();
    Stall stall(device());
    for (int i = 0; i < dispatches; ++i) peer().Dispatch(graph, {a, b}, {y});
    WriteThroughTheArena(tensor, dispatches);
    EXPECT_EQ(LastAcknowledged(), dispatches == 3 ? 3u : 0u) << dispatches;
    stall.Release();
    if (dispatches == 4) {
      EXPECT_EQ(LastAcknowledged(), 4u);
    }
  }
}

TEST_F(InFlightQuotaTest, FloodOfFiles_LeavesNoDescriptorBehind) {
  auto descriptors = [] {
    int count = 0;
    DIR* directory = opendir("/proc/self/fd");
    while (directory != nullptr && readdir(directory) != nullptr) ++count;
    closedir(directory);
    return count;
  };
  Handle tensor = peer().MakeTensor(1 << 10);
  UniqueFd file = TemporaryFile(std::vector<float>(1 << 10, 1.0f));
  peer().ExpectWorks();
  const int before = descriptors();
  Stall stall(device());
  for (int i = 0; i < 700; ++i) {
    if (!peer().client().SendWithoutReading(
            ipc::WriteTensor{tensor, ipc::FilePayload{file.Duplicate(), 0, 4096}}, 200)) {
      break;
    }
  }
  stall.Release();
  peer().client().Close();
  for (int i = 0; i < 1000 && descriptors() > before + 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LE(descriptors(), before + 1);
}

// --- Time ---------------------------------------------------------------------------------------

constexpr uint32_t kRows = 512;

// y = a * a * a ..., `count` products of matrices, each of some milliseconds.
Handle MakeLongGraph(Peer& peer, uint32_t count) {
  Handle builder = peer.NewHandle();
  peer.Send(ipc::CreateBuilder{peer.context(), builder});
  peer.Send(ipc::AddInputs{
      builder, {{1, "a", ipc::Describe(webidl::OperandDataType::kFloat32, {kRows, kRows})}}});
  std::vector<webidl::Operator> operators;
  for (uint32_t i = 0; i < count; ++i) {
    operators.push_back(Peer::Binary(OperatorKind::kMatmul, i == 0 ? 1 : 1 + i, 1, 2 + i));
  }
  peer.AddOperators(builder, std::move(operators));
  Handle graph = peer.NewHandle();
  auto built = peer.Build(builder, graph, {1}, {{"y", 1 + count}});
  EXPECT_FALSE(built.error.has_value()) << built.error->ToString();
  return graph;
}

Handle MakeMatrix(Peer& peer) {
  Handle tensor = peer.NewHandle();
  peer.Send(ipc::CreateTensor{peer.context(), tensor,
                              ipc::Describe(webidl::OperandDataType::kFloat32, {kRows, kRows}),
                              true, true});
  EXPECT_FALSE(peer.client().Expect<ipc::TensorCreated>().error.has_value());
  return tensor;
}

class TimeQuotaTest : public QuotaTest {
 protected:
  TimeQuotaTest() : QuotaTest({.dispatch_ms = 20}) {}

  ipc::TensorRead ReadMatrix(Handle tensor) {
    return peer().Read(tensor, ipc::ArenaDestination{0, kRows * kRows * sizeof(float)});
  }
};

TEST_F(TimeQuotaTest, DispatchThatTakesTooLong_FailsAlone) {
  Handle graph = MakeLongGraph(peer(), 40);
  Handle a = MakeMatrix(peer());
  Handle y = MakeMatrix(peer());
  Handle z = MakeMatrix(peer());
  Handle other = peer().MakeTensor();
  peer().Write(other, {1, 2, 3, 4});
  peer().Dispatch(graph, {a}, {y});
  // On its way before the first has failed, and dependent on it.
  peer().Dispatch(graph, {y}, {z});
  auto read = ReadMatrix(y);
  ASSERT_TRUE(read.error.has_value()) << "the device is too fast, or nothing is stopped";
  EXPECT_EQ(read.error->cause(), Cause::kQuota);
  EXPECT_THAT(read.error->ToString(), HasSubstr("takes longer than the limit (20 ms)"));
  read = ReadMatrix(z);
  ASSERT_TRUE(read.error.has_value());
  EXPECT_THAT(read.error->message(), HasSubstr("takes longer"));
  // Later ones know at once.
  peer().Dispatch(graph, {y}, {z});
  EXPECT_TRUE(ReadMatrix(z).error.has_value());
  // Everything else goes on, in the same context.
  EXPECT_EQ(peer().ReadFloats(other), (std::vector<float>{1, 2, 3, 4}));
  peer().ExpectWorks();
  // Writing it whole heals it.
  peer().Send(ipc::WriteTensor{y, ipc::ArenaPayload{0, kRows * kRows * sizeof(float), 1}});
  EXPECT_FALSE(ReadMatrix(y).error.has_value());
}

TEST_F(TimeQuotaTest, ShortDispatches_AreNotStoppedHoweverMany) {
  Handle graph = MakeLongGraph(peer(), 1);
  Handle a = MakeMatrix(peer());
  Handle y = MakeMatrix(peer());
  // Each may take a while where others use the machine, so only that none is stopped for the rest.
  for (uint32_t i = 0; i < SampleOf(40, 5); ++i) peer().Dispatch(graph, {a}, {y});
  EXPECT_FALSE(ReadMatrix(y).error.has_value());
}

using VanishTest = SessionTest;

TEST_F(VanishTest, ClientThatVanishes_DoesNotKeepTheDeviceBusy) {
  auto other = std::make_unique<Peer>(host());
  other->Open();
  Handle graph = MakeLongGraph(*other, 40);
  Handle a = MakeMatrix(*other);
  Handle y = MakeMatrix(*other);
  // More than a minute of work.
  for (int i = 0; i < 200; ++i) other->Dispatch(graph, {a}, {y});
  bystander().ExpectWorks();
  other.reset();
  const int64_t rest = DeviceBytesMore();
  const auto begin = std::chrono::steady_clock::now();
  while (DeviceBytesMore() == rest &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(DeviceBytesMore(), rest) << "the session goes on without its client";
}

// Sessions at the other ends of real sockets.
class SocketHost : public ipc::InProcessService {
 public:
  SocketHost(std::shared_ptr<Device> device, const Quota& quota)
      : device_(std::move(device)), quota_(quota) {}
  ~SocketHost() override {
    for (std::thread& thread : threads_) thread.join();
  }
  Result<std::unique_ptr<ipc::Channel>> Connect() override {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return ErrnoError("pair");
    UniqueFd ours(pair[0]), theirs(pair[1]);
    ASSIGN_OR_RETURN(auto channel, ipc::MakeSocketChannel(std::move(theirs)));
    ASSIGN_OR_RETURN(auto session,
                     Session::Create(std::move(channel), {.devices = {device_}, .quota = quota_}));
    threads_.emplace_back([this, session = std::move(session)]() mutable {
      session->Run();
      session.reset();
      ++ended_;
    });
    return ipc::MakeSocketChannel(std::move(ours));
  }
  int ended() const { return ended_; }

 private:
  std::shared_ptr<Device> device_;
  const Quota quota_;
  std::atomic<int> ended_{0};
  std::vector<std::thread> threads_;
};

TEST(Vanish, ClientThatVanishesWhileItHasToWait_IsNoticed) {
  SocketHost host(TestDevice(), {.dispatches_in_flight = 100});
  Peer peer(host);
  peer.Open();
  Handle graph = MakeLongGraph(peer, 40);
  Handle a = MakeMatrix(peer);
  Handle y = MakeMatrix(peer);
  // More than half a minute of work, and more to come that is not read.
  for (int i = 0; i < 120; ++i) peer.Dispatch(graph, {a}, {y});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(host.ended(), 0);
  peer.client().Close();
  const auto begin = std::chrono::steady_clock::now();
  while (host.ended() == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(host.ended(), 1) << "the session goes on without its client";
}

// A device of its own, since it is lost.
TEST(HungKernel, CostsTheSessionAndSaysSo) {
  auto opened = Device::Open(TestDevice()->adapter().index, TestDeviceOptions());
  ASSERT_TRUE(opened.ok());
  std::shared_ptr<Device> device = *opened;
  InProcessHost host({.devices = {device},
                      .quota = {.dispatch_ms = 100},
                      .hang_grace = std::chrono::milliseconds(100)});
  Peer peer(host);
  peer.Open();
  peer.ExpectWorks();
  {
    Stall stall(*device);
    peer.Send(ipc::ReadTensor{peer.MakeTensor(), 1, ipc::InlineDestination{}});
    EXPECT_THAT(peer.client().ExpectGoodbye(), HasSubstr("timeout"));
    EXPECT_TRUE(device->hung());
  }
  peer.client().Close();
}

// --- Failures on the way ------------------------------------------------------------------------

class FailureTest : public SessionTest {
 protected:
  // Fails the n-th Vulkan call of `work` for n = 1, 2, ... until it is through; each time the
  // session has to go on.
  void ForEachFault(const std::function<void()>& work) {
    for (uint64_t nth = 1;; ++nth) {
      ASSERT_LT(nth, 100u);
      // What is still being done belongs to the last round.
      peer().ReadFloats(calm_);
      InjectFaultAt(nth, /*forever=*/false);
      work();
      const bool reached = CheckedCallCount() >= nth;
      ClearFault();
      peer().ExpectWorks();
      ASSERT_FALSE(device().lost());
      if (!reached) break;
    }
  }
  static void ExpectOutOfMemory(const std::optional<Error>& error) {
    if (error) {
      EXPECT_EQ(error->cause(), Cause::kOutOfMemory) << error->ToString();
    }
  }
  void SetUp() override {
    SessionTest::SetUp();
    calm_ = peer().MakeTensor();
  }
  Handle calm_;
};

TEST_F(FailureTest, OutOfMemoryWhereATensorIsMade_FailsItAlone) {
  ForEachFault([&] {
    Handle tensor = peer().NewHandle();
    peer().Send(ipc::CreateTensor{peer().context(), tensor, ipc::Floats(4 << 20), true, true});
    ExpectOutOfMemory(peer().client().Expect<ipc::TensorCreated>().error);
    // Clearing it may fail later: then it must not show what was there.
    auto read = peer().Read(
        tensor, ipc::FileDestination{ipc::CreateSealedMemfd("read", 16 << 20).value(), 16 << 20});
    ExpectOutOfMemory(read.error);
    peer().Send(ipc::DestroyTensor{tensor});
  });
}

TEST_F(FailureTest, OutOfMemoryInAWrite_PoisonsTheTensorAlone) {
  Handle tensor = peer().MakeTensor(kPayloadBytes / sizeof(float));
  Handle other = peer().MakeTensor();
  peer().Write(other, {1, 2, 3, 4});
  ForEachFault([&] {
    peer().Send(ipc::WriteTensor{tensor, ipc::ArenaPayload{0, kPayloadBytes, 1}});
    ExpectOutOfMemory(peer().Read(tensor, ipc::ArenaDestination{0, kPayloadBytes}).error);
  });
  EXPECT_EQ(peer().ReadFloats(other), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(FailureTest, OutOfMemoryInADispatch_PoisonsWhatDependsOnIt) {
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  Handle z = peer().MakeTensor();
  peer().Write(a, {1, 2, 3, 4});
  int failed = 0;
  ForEachFault([&] {
    peer().Dispatch(graph, {a, calm_}, {y});
    peer().Dispatch(graph, {y, calm_}, {z});
    auto first = peer().Read(y);
    auto second = peer().Read(z);
    ExpectOutOfMemory(first.error);
    ExpectOutOfMemory(second.error);
    for (const auto* read : {&first, &second}) {
      if (read->error) {
        ++failed;
      } else {
        EXPECT_EQ(ipc::ToFloats(read->bytes), (std::vector<float>{1, 2, 3, 4}));
      }
    }
  });
  EXPECT_GT(failed, 0);
  EXPECT_EQ(peer().ReadFloats(a), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(FailureTest, OutOfMemoryInABuild_FailsItAlone) {
  ForEachFault([&] {
    Handle builder = peer().MakeBuilder();
    peer().Send(ipc::AddConstant{builder, 3, ipc::Floats(4), ipc::InlineFloats({1, 2, 3, 4})});
    peer().AddOperators(builder, {Peer::Binary(OperatorKind::kAdd, 3, 3, 4),
                                  Peer::Binary(OperatorKind::kMul, 1, 4, 5)});
    Handle graph = peer().NewHandle();
    ExpectOutOfMemory(peer().Build(builder, graph, {1}, {{"y", 5}}).error);
    peer().Send(ipc::DestroyGraph{graph});
  });
}

}  // namespace
}  // namespace webnnd::service
