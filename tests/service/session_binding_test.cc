// Bindings: what dispatching them does, what is refused, and that tensors may be input and output.
#include "base/limits.h"
#include "tests/service/session_fixture.h"

namespace webnnd::service {
namespace {

using testing::HasSubstr;
using webidl::OperatorKind;
using Floats = std::vector<float>;

class SessionBindingTest : public SessionTest {
 protected:
  Handle Bind(Handle graph, std::vector<Handle> inputs, std::vector<Handle> outputs) {
    Handle binding = peer().NewHandle();
    peer().Send(ipc::CreateBinding{binding, graph, std::move(inputs), std::move(outputs)});
    return binding;
  }
  void Dispatch(Handle binding) { peer().Send(ipc::DispatchBinding{binding}); }
  Handle Tensor(Floats values) {
    Handle tensor = peer().MakeTensor();
    peer().Write(tensor, values);
    return tensor;
  }
};

TEST_F(SessionBindingTest, Binding_RunsTheGraph) {
  Handle graph = peer().MakeAddGraph();
  Handle a = Tensor({1, 2, 3, 4});
  Handle b = Tensor({10, 20, 30, 40});
  Handle sum = peer().MakeTensor();
  Handle binding = Bind(graph, {a, b}, {sum});
  Dispatch(binding);
  EXPECT_EQ(peer().ReadFloats(sum), (Floats{11, 22, 33, 44}));
  peer().Write(a, {0, 0, 0, 1});
  Dispatch(binding);
  EXPECT_EQ(peer().ReadFloats(sum), (Floats{10, 20, 30, 41}));
  peer().Send(ipc::DestroyBinding{binding});
  // It crossed the client's own message: dropped.
  Dispatch(binding);
  EXPECT_EQ(peer().ReadFloats(sum), (Floats{10, 20, 30, 41}));
}

TEST_F(SessionBindingTest, TensorThatIsInputAndOutput_AccumulatesInOrder) {
  Handle graph = peer().MakeAddGraph();
  Handle a = Tensor({1, 2, 3, 4});
  Handle b = Tensor({10, 20, 30, 40});
  Handle into_first = Bind(graph, {a, b}, {a});
  Handle into_second = Bind(graph, {a, b}, {b});
  for (int i = 0; i < 3; ++i) Dispatch(into_first);
  EXPECT_EQ(peer().ReadFloats(a), (Floats{31, 62, 93, 124}));
  EXPECT_EQ(peer().ReadFloats(b), (Floats{10, 20, 30, 40}));
  Dispatch(into_second);
  EXPECT_EQ(peer().ReadFloats(b), (Floats{41, 82, 123, 164}));
  EXPECT_EQ(peer().ReadFloats(a), (Floats{31, 62, 93, 124}));
}

TEST_F(SessionBindingTest, TensorsThatSwap_GetTheOldValues) {
  // x = a - b, y = a + b
  Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, {Peer::Binary(OperatorKind::kSub, 1, 2, 3),
                                Peer::Binary(OperatorKind::kAdd, 1, 2, 4)});
  Handle graph = peer().NewHandle();
  ASSERT_FALSE(peer().Build(builder, graph, {1, 2}, {{"x", 3}, {"y", 4}}).error);
  for (bool crossed : {false, true}) {
    Handle a = Tensor({5, 6, 7, 8});
    Handle b = Tensor({1, 2, 3, 4});
    Dispatch(Bind(graph, {a, b}, crossed ? std::vector{b, a} : std::vector{a, b}));
    EXPECT_EQ(peer().ReadFloats(crossed ? b : a), (Floats{4, 4, 4, 4}));
    EXPECT_EQ(peer().ReadFloats(crossed ? a : b), (Floats{6, 8, 10, 12}));
  }
}

TEST_F(SessionBindingTest, ScatterIntoItsOwnInput_ChangesOnlyTheRows) {
  Handle builder = peer().NewHandle();
  peer().Send(ipc::CreateBuilder{peer().context(), builder});
  const auto type = webidl::OperandDataType::kInt32;
  peer().Send(ipc::AddInputs{builder,
                             {{1, "past", ipc::Floats(4)},
                              {2, "at", ipc::Describe(type, {1, 1})},
                              {3, "row", ipc::Floats(1)}}});
  peer().AddOperators(builder,
                      {{OperatorKind::kScatterND, {1, 2, 3}, {4}, "", webidl::NoAttributes{}}});
  Handle graph = peer().NewHandle();
  auto built = peer().Build(builder, graph, {1, 2, 3}, {{"present", 4}});
  ASSERT_FALSE(built.error) << built.error->ToString();
  Handle cache = Tensor({1, 2, 3, 4});
  Handle at = peer().NewHandle();
  peer().Send(ipc::CreateTensor{peer().context(), at, ipc::Describe(type, {1, 1}), true, true});
  peer().client().Expect<ipc::TensorCreated>();
  Handle row = peer().MakeTensor(1);
  Handle binding = Bind(graph, {cache, at, row}, {cache});
  for (int32_t i : {2, 0}) {
    auto bytes = std::as_bytes(std::span(&i, 1));
    peer().Send(ipc::WriteTensor{at, ipc::InlinePayload{{bytes.begin(), bytes.end()}}});
    peer().Write(row, {static_cast<float>(10 + i)});
    Dispatch(binding);
  }
  EXPECT_EQ(peer().ReadFloats(cache), (Floats{10, 2, 12, 4}));
}

TEST_F(SessionBindingTest, BindingBeforeItsGraphIsBuilt_Waits) {
  Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, {Peer::Binary(OperatorKind::kAdd, 1, 2, 3)});
  Handle graph = peer().NewHandle();
  Handle a = peer().MakeTensor();
  peer().Send(ipc::Build{builder, graph, {1, 2}, {{"y", 3}}});
  Dispatch(Bind(graph, {a, a}, {a}));
  // The graph has two inputs, and no tensor may be both.
  peer().client().Expect<ipc::GraphBuilt>();
  EXPECT_THAT(peer().ReadError(a).message(), HasSubstr("two inputs"));
}

TEST_F(SessionBindingTest, BindingThatDoesNotFit_PoisonsItsOutputs) {
  Handle graph = peer().MakeAddGraph();
  Handle a = Tensor({1, 1, 1, 1});
  Handle y = peer().MakeTensor();
  Handle large = peer().MakeTensor(8);
  using Handles = std::vector<Handle>;
  for (const auto& [inputs, outputs] : std::vector<std::pair<Handles, Handles>>{
           {{a}, {y}}, {{a, large}, {y}}, {{a, large}, {large, y}}, {{a, a}, {y}}}) {
    peer().Write(y, {1, 1, 1, 1});
    Dispatch(Bind(graph, inputs, outputs));
    EXPECT_EQ(peer().ReadError(y).cause(), Cause::kValidation);
  }
}

TEST_F(SessionBindingTest, DestroyedTensorOrGraph_InvalidatesTheBinding) {
  int64_t before = DeviceBytesMore();
  Handle graph = peer().MakeAddGraph();
  Handle a = Tensor({1, 1, 1, 1});
  Handle b = Tensor({2, 2, 2, 2});
  Handle y = peer().MakeTensor();
  Handle first = Bind(graph, {a, b}, {y});
  Handle second = Bind(graph, {a, a}, {y});
  Handle third = Bind(graph, {y, a}, {y});
  Dispatch(first);
  peer().Send(ipc::DestroyTensor{b});
  EXPECT_EQ(peer().ReadFloats(y), (Floats{3, 3, 3, 3}));
  Dispatch(first);
  EXPECT_EQ(peer().ReadError(y).cause(), Cause::kInvalidState);
  peer().Write(y, {1, 1, 1, 1});
  Dispatch(third);
  EXPECT_EQ(peer().ReadFloats(y), (Floats{2, 2, 2, 2}));
  peer().Send(ipc::DestroyGraph{graph});
  Dispatch(third);
  EXPECT_EQ(peer().ReadError(y).cause(), Cause::kInvalidState);
  // One that is made afterwards fails in the same way, and names nothing of another type.
  peer().Write(y, {1, 1, 1, 1});
  Dispatch(Bind(graph, {y, a}, {y}));
  EXPECT_EQ(peer().ReadFloats(y), (Floats{1, 1, 1, 1}));
  for (Handle binding : {first, second, third}) peer().Send(ipc::DestroyBinding{binding});
  for (Handle tensor : {a, y}) peer().Send(ipc::DestroyTensor{tensor});
  ExpectDeviceBytesReturnTo(before);
}

TEST_F(SessionBindingTest, PoisonedInput_PoisonsTheOutput) {
  Handle graph = peer().MakeAddGraph();
  Handle a = Tensor({1, 1, 1, 1});
  Handle b = Tensor({2, 2, 2, 2});
  Handle y = peer().MakeTensor();
  Handle binding = Bind(graph, {a, b}, {y});
  peer().Send(ipc::WriteTensor{a, ipc::InlinePayload{std::vector<std::byte>(3)}});
  Dispatch(binding);
  EXPECT_THAT(peer().ReadError(y).ToString(), HasSubstr("writing the tensor"));
  peer().Write(a, {5, 5, 5, 5});
  Dispatch(binding);
  EXPECT_EQ(peer().ReadFloats(y), (Floats{7, 7, 7, 7}));
}

TEST_F(SessionBindingTest, ContextThatGoes_FreesWhatIsBound) {
  int64_t before = DeviceBytesMore();
  Handle graph = peer().MakeAddGraph();
  Handle a = Tensor({1, 1, 1, 1});
  Handle b = Tensor({2, 2, 2, 2});
  Handle binding = Bind(graph, {a, b}, {a});
  for (int i = 0; i < 20; ++i) Dispatch(binding);
  peer().Send(ipc::DestroyContext{peer().context()});
  ExpectDeviceBytesReturnTo(before);
}

TEST_F(SessionBindingTest, MoreBindingsThanTheLimit_FailAndHarmNothing) {
  Handle graph = peer().MakeAddGraph();
  Handle a = Tensor({1, 1, 1, 1});
  Handle b = Tensor({2, 2, 2, 2});
  Handle y = peer().MakeTensor();
  std::vector<Handle> bindings;
  for (uint32_t i = 0; i <= limits::kBindingsPerSessionMax; ++i) {
    bindings.push_back(Bind(graph, {a, b}, {y}));
  }
  Dispatch(bindings.front());
  EXPECT_EQ(peer().ReadFloats(y), (Floats{3, 3, 3, 3}));
  Dispatch(bindings.back());
  EXPECT_EQ(peer().ReadError(y).cause(), Cause::kQuota);
  for (Handle binding : bindings) peer().Send(ipc::DestroyBinding{binding});
  Dispatch(Bind(graph, {a, b}, {y}));
  EXPECT_EQ(peer().ReadFloats(y), (Floats{3, 3, 3, 3}));
}

TEST_F(SessionBindingTest, HandleOfAnotherType_EndsTheSession) {
  Handle graph = peer().MakeAddGraph();
  Dispatch(graph);
  ExpectEnds(peer(), "of another type");
  auto stranger = Stranger();
  stranger->Open();
  stranger->Send(ipc::DispatchBinding{{77, 1}});
  ExpectEnds(*stranger, "was never made");
}

}  // namespace
}  // namespace webnnd::service
