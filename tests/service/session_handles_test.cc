// Handles: what a client may name, and when.
#include <functional>

#include "base/limits.h"
#include "tests/service/session_fixture.h"

namespace webnnd::service {
namespace {

using SessionHandlesTest = SessionTest;

TEST_F(SessionHandlesTest, NeverMade_Ends) {
  peer().Write({50, 1}, {1});
  ExpectEnds(peer(), "was never made");
}

// Every place of a message that names an object.
TEST_F(SessionHandlesTest, NeverMadeAnywhere_Ends) {
  const Handle never{50, 1};
  const Handle fresh{60, 1};
  using Sender = std::function<void(Peer&)>;
  const std::vector<Sender> senders = {
      [&](Peer& p) { p.Send(ipc::DestroyContext{never}); },
      [&](Peer& p) {
        p.Send(ipc::CreateTensor{never, fresh, ipc::Floats(1)});
      },
      [&](Peer& p) {
        p.Send(ipc::CreateConstantTensor{never, fresh, ipc::Floats(1), ipc::InlineFloats({1})});
      },
      [&](Peer& p) { p.Send(ipc::DestroyTensor{never}); },
      [&](Peer& p) {
        p.Send(ipc::WriteTensor{never, ipc::InlineFloats({1})});
      },
      [&](Peer& p) {
        p.Send(ipc::ResizeTensor{never, {1}});
      },
      [&](Peer& p) {
        p.Send(ipc::ReadTensor{never, 1, ipc::InlineDestination{}});
      },
      [&](Peer& p) {
        p.Send(ipc::CreateBuilder{never, fresh});
      },
      [&](Peer& p) { p.Send(ipc::DestroyBuilder{never}); },
      [&](Peer& p) {
        p.Send(ipc::AddInputs{never, {{1, "a", ipc::Floats(1)}}});
      },
      [&](Peer& p) {
        p.Send(ipc::AddConstant{never, 1, ipc::Floats(1), ipc::InlineFloats({1})});
      },
      [&](Peer& p) {
        p.Send(ipc::AddConstantTensor{never, 1, p.MakeTensor()});
      },
      [&](Peer& p) {
        p.Send(ipc::AddConstantTensor{p.MakeBuilder(), 3, never});
      },
      [&](Peer& p) {
        p.Send(ipc::AddOperators{never, {}});
      },
      [&](Peer& p) {
        p.Send(ipc::Build{never, fresh, {}, {}});
      },
      [&](Peer& p) { p.Send(ipc::DestroyGraph{never}); },
      [&](Peer& p) {
        p.Send(ipc::Dispatch{never, {}, {}});
      },
      [&](Peer& p) {
        p.Send(ipc::Dispatch{p.MakeAddGraph(), {never}, {}});
      },
      [&](Peer& p) {
        p.Send(ipc::Dispatch{p.MakeAddGraph(), {}, {never}});
      },
      [&](Peer& p) {
        p.Send(ipc::CreateBinding{fresh, never, {}, {}});
      },
      [&](Peer& p) {
        p.Send(ipc::CreateBinding{fresh, p.MakeAddGraph(), {}, {never}});
      },
      [&](Peer& p) { p.Send(ipc::DestroyBinding{never}); },
      [&](Peer& p) { p.Send(ipc::DispatchBinding{never}); },
  };
  for (size_t i = 0; i < senders.size(); ++i) {
    SCOPED_TRACE(i);
    auto stranger = Stranger();
    stranger->Open();
    senders[i](*stranger);
    ExpectEnds(*stranger, "was never made");
  }
}

// Every message that makes an object.
TEST_F(SessionHandlesTest, IndexInUseAnywhere_Ends) {
  using Sender = std::function<void(Peer&)>;
  const std::vector<Sender> senders = {
      [](Peer& p) {
        p.Send(ipc::CreateContext{.context = {p.context().index, 2}});
      },
      [](Peer& p) {
        p.Send(ipc::CreateConstantTensor{
            p.context(), {p.context().index, 2}, ipc::Floats(1), ipc::InlineFloats({1})});
      },
      [](Peer& p) {
        p.Send(ipc::CreateBuilder{p.context(), {p.context().index, 2}});
      },
      [](Peer& p) {
        p.Send(ipc::Build{p.MakeBuilder(), {p.context().index, 2}, {}, {}});
      },
      [](Peer& p) {
        p.Send(ipc::CreateBinding{{p.context().index, 2}, p.MakeAddGraph(), {}, {}});
      },
  };
  for (size_t i = 0; i < senders.size(); ++i) {
    SCOPED_TRACE(i);
    auto stranger = Stranger();
    stranger->Open();
    senders[i](*stranger);
    ExpectEnds(*stranger, "is in use");
  }
}

TEST_F(SessionHandlesTest, GenerationNotYetMade_Ends) {
  Handle tensor = peer().MakeTensor();
  ++tensor.generation;
  peer().Write(tensor, {1, 2, 3, 4});
  ExpectEnds(peer(), "was never made");
}

TEST_F(SessionHandlesTest, None_Ends) {
  peer().Send(ipc::DestroyTensor{{0, 0}});
  ExpectEnds(peer(), "is none");
}

TEST_F(SessionHandlesTest, AnotherType_Ends) {
  peer().Write(peer().context(), {1});
  ExpectEnds(peer(), "is of another type");
}

TEST_F(SessionHandlesTest, AnotherTypeInADispatch_Ends) {
  Handle graph = peer().MakeAddGraph();
  peer().Dispatch(graph, {graph, graph}, {graph});
  ExpectEnds(peer(), "is of another type");
}

TEST_F(SessionHandlesTest, IndexInUse_Ends) {
  Handle tensor = peer().MakeTensor();
  peer().Send(ipc::CreateTensor{peer().context(), {tensor.index, 2}, ipc::Floats(1)});
  ExpectEnds(peer(), "is in use");
}

TEST_F(SessionHandlesTest, SameGenerationAgain_Ends) {
  Handle tensor = peer().MakeTensor();
  peer().Send(ipc::DestroyTensor{tensor});
  peer().Send(ipc::CreateTensor{peer().context(), tensor, ipc::Floats(1)});
  ExpectEnds(peer(), "generation");
}

TEST_F(SessionHandlesTest, IndexOutOfRange_Ends) {
  peer().Send(
      ipc::CreateTensor{peer().context(), {limits::kObjectsPerSessionMax, 1}, ipc::Floats(1)});
  ExpectEnds(peer(), "out of range");
  auto stranger = Stranger();
  stranger->client().Greet();
  stranger->Send(ipc::CreateContext{.context = {0, 1}});
  ExpectEnds(*stranger, "");
}

TEST_F(SessionHandlesTest, Stale_IsDroppedOrFails) {
  Handle tensor = peer().MakeTensor();
  peer().Send(ipc::DestroyTensor{tensor});
  peer().Write(tensor, {1, 2, 3, 4});
  EXPECT_EQ(peer().ReadError(tensor).cause(), Cause::kInvalidState);
  peer().Send(ipc::DestroyTensor{tensor});
  peer().ExpectWorks();
}

TEST_F(SessionHandlesTest, StaleAnywhere_IsDroppedAndItsPayloadsAcknowledged) {
  Handle tensor = peer().MakeTensor();
  Handle builder = peer().MakeBuilder();
  Handle graph = peer().MakeAddGraph();
  Handle binding = peer().NewHandle();
  peer().Send(ipc::CreateBinding{binding, graph, {tensor, tensor}, {tensor}});
  peer().Send(ipc::DestroyBinding{binding});
  peer().Send(ipc::DestroyGraph{graph});
  peer().Send(ipc::DestroyBuilder{builder});
  peer().Send(ipc::DestroyTensor{tensor});
  // All of it once more, and what else may name them.
  peer().Send(ipc::DestroyBinding{binding});
  peer().Send(ipc::DispatchBinding{binding});
  peer().Send(ipc::DestroyGraph{graph});
  peer().Send(ipc::DestroyBuilder{builder});
  peer().Send(ipc::ResizeTensor{tensor, {1}});
  peer().Send(ipc::AddInputs{builder, {{1, "a", ipc::Floats(1)}}});
  peer().Send(ipc::AddOperators{builder, {}});
  peer().Send(ipc::AddConstantTensor{builder, 1, tensor});
  peer().Send(ipc::AddConstant{builder, 1, ipc::Floats(4), ipc::ArenaPayload{0, 16, 1}});
  EXPECT_EQ(peer().client().Expect<ipc::Acknowledge>().sequence, 1u);
  peer().ExpectWorks();
}

TEST_F(SessionHandlesTest, StaleAfterReuse_DoesNotReachTheNewObject) {
  Handle old = peer().MakeTensor();
  peer().Send(ipc::DestroyTensor{old});
  Handle tensor{old.index, old.generation + 1};
  peer().Send(ipc::CreateTensor{peer().context(), tensor, ipc::Floats(4), true, true});
  peer().client().Expect<ipc::TensorCreated>();
  peer().Write(tensor, {1, 2, 3, 4});
  peer().Write(old, {9, 9, 9, 9});
  peer().Send(ipc::DestroyTensor{old});
  EXPECT_EQ(peer().ReadFloats(tensor), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(SessionHandlesTest, IndexReusedForAnotherType_ForgetsTheOldOne) {
  Handle old = peer().MakeTensor();
  peer().Send(ipc::DestroyTensor{old});
  Handle builder{old.index, 7};
  peer().Send(ipc::CreateBuilder{peer().context(), builder});
  peer().Write(old, {1, 2, 3, 4});
  peer().ExpectWorks();
  peer().Write(builder, {1, 2, 3, 4});
  ExpectEnds(peer(), "is of another type");
}

TEST_F(SessionHandlesTest, DestroyedContext_FailsWhatNamesIt) {
  Handle tensor = peer().MakeTensor();
  Handle graph = peer().MakeAddGraph();
  peer().Send(ipc::DestroyContext{peer().context()});
  peer().Write(tensor, {1, 2, 3, 4});
  peer().Dispatch(graph, {tensor, tensor}, {tensor});
  EXPECT_EQ(peer().ReadError(tensor).cause(), Cause::kInvalidState);
  // A new object of it gets its handle, and an error.
  Handle late = peer().NewHandle();
  peer().Send(ipc::CreateTensor{peer().context(), late, ipc::Floats(4), true, true});
  EXPECT_TRUE(peer().client().Expect<ipc::TensorCreated>().error.has_value());
  EXPECT_EQ(peer().ReadError(late).cause(), Cause::kInvalidState);
  Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, {Peer::Binary(webidl::OperatorKind::kAdd, 1, 2, 3)});
  auto built = peer().Build(builder, peer().NewHandle(), {1, 2}, {{"sum", 3}});
  EXPECT_TRUE(built.error.has_value());
  // Another context of the session works.
  Handle second = peer().NewHandle();
  peer().Send(ipc::CreateContext{.context = second});
  EXPECT_FALSE(peer().client().Expect<ipc::ContextCreated>().error.has_value());
}

TEST_F(SessionHandlesTest, DestroyedContext_GivesItsMemoryBack) {
  int64_t before = DeviceBytesMore();
  Handle second = peer().NewHandle();
  peer().Send(ipc::CreateContext{.context = second});
  peer().client().Expect<ipc::ContextCreated>();
  for (int i = 0; i < 4; ++i) {
    peer().Send(ipc::CreateTensor{second, peer().NewHandle(), ipc::Floats(1 << 16), true, true});
    peer().client().Expect<ipc::TensorCreated>();
  }
  EXPECT_GE(DeviceBytesMore(), before + (4 << 18));
  peer().Send(ipc::DestroyContext{second});
  ExpectDeviceBytesReturnTo(before);
}

TEST_F(SessionHandlesTest, TooManyBuilders_Ends) {
  for (uint32_t i = 0; i <= limits::kBuildersPerSessionMax; ++i) {
    peer().Send(ipc::CreateBuilder{peer().context(), peer().NewHandle()});
  }
  ExpectEnds(peer(), "builders");
}

}  // namespace
}  // namespace webnnd::service
