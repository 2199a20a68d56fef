// Graphs: what building and dispatching refuse, and that a refusal harms nothing.
#include <unistd.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "base/limits.h"
#include "tests/service/session_fixture.h"

namespace webnnd::service {
namespace {

using testing::HasSubstr;
using webidl::OperatorKind;

class SessionGraphTest : public SessionTest {
 protected:
  // Builds `operators` on the inputs 1 and 2 and expects an error that contains `text`; the session
  // goes on.
  Error ExpectRefused(std::vector<webidl::Operator> operators, std::vector<uint32_t> inputs,
                      std::vector<ipc::GraphOutput> outputs, const std::string& text) {
    Handle builder = peer().MakeBuilder();
    peer().AddOperators(builder, std::move(operators));
    return ExpectRefused(builder, std::move(inputs), std::move(outputs), text);
  }
  Error ExpectRefused(Handle builder, std::vector<uint32_t> inputs,
                      std::vector<ipc::GraphOutput> outputs, const std::string& text) {
    auto built = peer().Build(builder, peer().NewHandle(), std::move(inputs), std::move(outputs));
    EXPECT_TRUE(built.error.has_value()) << "the graph is built";
    if (!built.error) return InternalError("the graph is built");
    EXPECT_THAT(built.error->message(), HasSubstr(text));
    peer().ExpectWorks();
    return *built.error;
  }
  static webidl::Operator Add(uint32_t a, uint32_t b, uint32_t result) {
    return Peer::Binary(OperatorKind::kAdd, a, b, result);
  }
};

TEST_F(SessionGraphTest, ForwardReference_IsRefused) {
  ExpectRefused({Add(1, 4, 3), Add(1, 2, 4)}, {1, 2}, {{"y", 3}}, "is used before it is defined");
}

TEST_F(SessionGraphTest, ReferenceToItself_IsRefused) {
  ExpectRefused({Add(1, 3, 3)}, {1}, {{"y", 3}}, "is used before it is defined");
}

TEST_F(SessionGraphTest, UnknownOperand_IsRefused) {
  ExpectRefused({Add(1, 99, 3)}, {1}, {{"y", 3}}, "is used before it is defined");
  ExpectRefused({Add(1, 2, 3)}, {1, 2}, {{"y", 77}}, "is used before it is defined");
  ExpectRefused({Add(1, 2, 0xffffffff)}, {1, 2}, {{"y", 0xffffffff}}, "greater than the limit");
}

TEST_F(SessionGraphTest, OperandDefinedTwice_IsRefused) {
  ExpectRefused({Add(1, 2, 3), Add(1, 2, 3)}, {1, 2}, {{"y", 3}}, "is defined twice");
  ExpectRefused({Add(1, 2, 1)}, {1, 2}, {{"y", 1}}, "is defined twice");
}

TEST_F(SessionGraphTest, OperandAbsentWhereItIsRequired_IsRefused) {
  ExpectRefused({Add(1, 0, 3)}, {1}, {{"y", 3}}, "");
  ExpectRefused({{OperatorKind::kAdd, {1}, {3}, "", webidl::NoAttributes{}}}, {1}, {{"y", 3}}, "");
}

TEST_F(SessionGraphTest, OtherNumberOfResults_IsRefused) {
  ExpectRefused({{OperatorKind::kAdd, {1, 2}, {3, 4}, "", webidl::NoAttributes{}}}, {1, 2},
                {{"y", 3}}, "the number of results");
}

TEST_F(SessionGraphTest, MissingInput_IsRefused) {
  ExpectRefused({Add(1, 2, 3)}, {1}, {{"y", 3}}, "is missing from the build's inputs");
}

TEST_F(SessionGraphTest, InputThatNothingReaches_IsRefused) {
  ExpectRefused({Add(1, 1, 3)}, {1, 2}, {{"y", 3}}, "is not reached");
  ExpectRefused({Add(1, 2, 3)}, {1, 2, 2}, {{"y", 3}}, "is named twice");
  ExpectRefused({Add(1, 2, 3)}, {1, 2, 3}, {{"y", 3}}, "is not an input");
}

TEST_F(SessionGraphTest, Outputs_AreChecked) {
  ExpectRefused({Add(1, 2, 3)}, {1, 2}, {}, "no output");
  ExpectRefused({Add(1, 2, 3)}, {1}, {{"y", 1}}, "is not the result of an operator");
  ExpectRefused({Add(1, 2, 3)}, {1, 2}, {{"", 3}}, "name is empty");
  ExpectRefused({Add(1, 2, 3)}, {1, 2}, {{"y", 3}, {"y", 3}}, "is used twice");
}

TEST_F(SessionGraphTest, InputNames_AreChecked) {
  for (const char* name : {"", "a"}) {
    Handle builder = peer().MakeBuilder();
    peer().Send(ipc::AddInputs{builder, {{3, name, ipc::Floats(4)}}});
    peer().AddOperators(builder, {Add(1, 2, 4)});
    ExpectRefused(builder, {1, 2}, {{"y", 4}}, "name");
  }
}

TEST_F(SessionGraphTest, ProductOfDimensionsThatOverflows_IsRefused) {
  const uint32_t large = limits::kDimensionMax;
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddInputs{
      builder,
      {{3, "c", ipc::Describe(webidl::OperandDataType::kFloat32, {large, large, large, large})}}});
  peer().AddOperators(builder, {Add(3, 3, 4)});
  ExpectRefused(builder, {3}, {{"y", 4}}, "");

  Handle tensor = peer().NewHandle();
  peer().Send(ipc::CreateTensor{
      peer().context(), tensor,
      ipc::Describe(webidl::OperandDataType::kInt64, {65536, 65536, 65536, 65536})});
  auto created = peer().client().Expect<ipc::TensorCreated>();
  ASSERT_TRUE(created.error.has_value());
  EXPECT_EQ(created.error->cause(), Cause::kValidation);
}

TEST_F(SessionGraphTest, ResultThatOverflows_IsRefused) {
  webidl::ExpandAttributes expand{{65536, 65536, 4}};
  ExpectRefused({{OperatorKind::kExpand, {1}, {3}, "big", expand}}, {1}, {{"y", 3}}, "");
}

TEST_F(SessionGraphTest, ShapesThatDoNotBroadcast_AreRefusedWithTheLabel) {
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddInputs{builder, {{3, "c", ipc::Floats(3)}}});
  peer().AddOperators(builder, {{OperatorKind::kAdd, {1, 3}, {4}, "mine", webidl::NoAttributes{}}});
  Error error = ExpectRefused(builder, {1, 3}, {{"y", 4}}, "mine");
  EXPECT_EQ(error.cause(), Cause::kValidation);
}

TEST_F(SessionGraphTest, DynamicDimensionThatNoInputHas_IsRefused) {
  Handle builder = peer().MakeBuilder();
  ipc::WireDescriptor dynamic{webidl::OperandDataType::kFloat32,
                              {webidl::DynamicDimension{"past + seq", 16, 1}}};
  peer().Send(ipc::AddInputs{builder, {{3, "x", std::move(dynamic)}}});
  peer().AddOperators(builder, {Add(3, 3, 4)});
  Error error = ExpectRefused(builder, {3}, {{"y", 4}}, "(past)");
  EXPECT_EQ(error.cause(), Cause::kValidation);
}

TEST_F(SessionGraphTest, BuilderThatWasBuilt_TakesNothingMore) {
  Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, {Add(1, 2, 3)});
  EXPECT_FALSE(peer().Build(builder, peer().NewHandle(), {1, 2}, {{"y", 3}}).error.has_value());
  peer().AddOperators(builder, {Add(1, 2, 4)});
  EXPECT_TRUE(peer().Build(builder, peer().NewHandle(), {1, 2}, {{"y", 4}}).error.has_value());
  peer().ExpectWorks();
}

// --- Constants ----------------------------------------------------------------------------------

TEST_F(SessionGraphTest, Constants_AreUsedFromEverywhere) {
  Handle shared = peer().NewHandle();
  peer().Send(ipc::CreateConstantTensor{peer().context(), shared, ipc::Floats(4),
                                        ipc::InlineFloats({1, 2, 3, 4})});
  EXPECT_FALSE(peer().client().Expect<ipc::TensorCreated>().error.has_value());
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstantTensor{builder, 3, shared});
  peer().Send(ipc::AddConstant{builder, 4, ipc::Floats(4), ipc::InlineFloats({5, 5, 5, 5})});
  peer().AddOperators(builder, {Add(3, 4, 5), Add(5, 1, 6)});
  Handle graph = peer().NewHandle();
  peer().Send(ipc::Build{builder, graph, {1}, {{"y", 6}}});
  // From here on the build holds what the tensor named.
  peer().Send(ipc::DestroyTensor{shared});
  auto built = peer().client().Expect<ipc::GraphBuilt>();
  ASSERT_FALSE(built.error.has_value()) << built.error->ToString();
  EXPECT_EQ(built.kernel_count, 1u);  // The sum of constants is folded.
  Handle x = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  peer().Write(x, {100, 100, 100, 100});
  peer().Dispatch(graph, {x}, {y});
  EXPECT_EQ(peer().ReadFloats(y), (std::vector<float>{106, 107, 108, 109}));
}

TEST_F(SessionGraphTest, ConstantTensorDestroyedBefore_IsRefused) {
  Handle shared = peer().NewHandle();
  peer().Send(ipc::CreateConstantTensor{peer().context(), shared, ipc::Floats(4),
                                        ipc::InlineFloats({1, 2, 3, 4})});
  peer().Send(ipc::DestroyTensor{shared});
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstantTensor{builder, 3, shared});
  peer().AddOperators(builder, {Add(1, 3, 4)});
  Error error = ExpectRefused(builder, {1}, {{"y", 4}}, "was destroyed");
  EXPECT_EQ(error.cause(), Cause::kInvalidState);
}

TEST_F(SessionGraphTest, TensorThatIsNoConstant_IsRefused) {
  Handle tensor = peer().MakeTensor();
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstantTensor{builder, 3, tensor});
  peer().AddOperators(builder, {Add(1, 3, 4)});
  ExpectRefused(builder, {1}, {{"y", 4}}, "is not a constant tensor");
}

TEST_F(SessionGraphTest, ConstantTensorOfAnotherContext_IsRefused) {
  Handle second = peer().NewHandle();
  peer().Send(ipc::CreateContext{.context = second});
  Handle shared = peer().NewHandle();
  peer().Send(
      ipc::CreateConstantTensor{second, shared, ipc::Floats(4), ipc::InlineFloats({1, 2, 3, 4})});
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstantTensor{builder, 3, shared});
  peer().AddOperators(builder, {Add(1, 3, 4)});
  ExpectRefused(builder, {1}, {{"y", 4}}, "is of another context");
}

TEST_F(SessionGraphTest, ConstantOfAnotherLength_IsRefused) {
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstant{builder, 3, ipc::Floats(4), ipc::InlineFloats({1, 2, 3})});
  peer().AddOperators(builder, {Add(1, 3, 4)});
  ExpectRefused(builder, {1}, {{"y", 4}}, "byte length");
}

TEST_F(SessionGraphTest, ConstantWhoseFileIsCutAfterwards_IsRefused) {
  UniqueFd file = TemporaryFile({});
  ASSERT_EQ(ftruncate(file.get(), 1 << 20), 0);
  UniqueFd ours(dup(file.get()));
  // A first constant from the whole file keeps the timeline busy; which of them sees the cut file
  // is up to the clock, and neither may do harm.
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstant{builder, 3, ipc::Floats(1 << 18),
                               ipc::FilePayload{std::move(file), 0, 1 << 20}});
  ASSERT_EQ(ftruncate(ours.get(), 0), 0);
  webidl::SliceAttributes slice{{0}, {4}, std::nullopt};
  peer().AddOperators(builder, {{OperatorKind::kSlice, {3}, {4}, "", slice}, Add(1, 4, 5)});
  auto built = peer().Build(builder, peer().NewHandle(), {1}, {{"y", 5}});
  if (built.error) {
    EXPECT_THAT(built.error->ToString(), HasSubstr("constant"));
  }
  peer().ExpectWorks();
}

// Equal constants become one where passes see their values: two operators on them are one then.
class ConstantValuesTest : public SessionGraphTest {
 protected:
  using Values = std::vector<int32_t>;
  // Makes them the constant `operand`.
  using AddValues = std::function<void(Handle builder, uint32_t operand, const Values& values)>;

  static ipc::WireDescriptor Integers(const Values& values) {
    return ipc::Describe(webidl::OperandDataType::kInt32, {static_cast<uint32_t>(values.size())});
  }
  static Values Ramp(size_t count, int32_t last) {
    Values values(count);
    std::iota(values.begin(), values.end(), 0);
    values.back() = last;
    return values;
  }
  // Files are of bytes, whatever they stand for.
  static ipc::Payload InFile(const Values& values) {
    std::vector<float> words(values.size());
    std::memcpy(words.data(), values.data(), values.size() * sizeof(int32_t));
    return ipc::FilePayload{TemporaryFile(words), 0, values.size() * sizeof(int32_t)};
  }
  // Kernels of an operator on each of the constants 3 and 4.
  uint32_t CountKernels(Handle builder, OperatorKind kind, std::vector<uint32_t> inputs,
                        std::vector<uint32_t> first, std::vector<uint32_t> second,
                        const webidl::OperatorAttributes& attributes) {
    peer().AddOperators(builder, {{kind, std::move(first), {7}, "", attributes},
                                  {kind, std::move(second), {8}, "", attributes}});
    Handle graph = peer().NewHandle();
    peer().Send(ipc::Build{builder, graph, std::move(inputs), {{"y", 7}, {"z", 8}}});
    auto built = peer().client().Expect<ipc::GraphBuilt>();
    EXPECT_FALSE(built.error.has_value()) << built.error->ToString();
    peer().Send(ipc::DestroyGraph{graph});
    return built.kernel_count;
  }
  uint32_t CountKernels(const AddValues& add, const Values& values, const Values& others) {
    Handle builder = peer().MakeBuilder();
    add(builder, 3, values);
    add(builder, 4, others);
    return CountKernels(builder, OperatorKind::kGather, {1}, {1, 3}, {1, 4},
                        webidl::GatherAttributes{});
  }
  void ExpectSeen(const AddValues& add, size_t count) {
    EXPECT_EQ(CountKernels(add, Ramp(count, 1), Ramp(count, 2)), 2u);
    EXPECT_EQ(CountKernels(add, Ramp(count, 1), Ramp(count, 1)), 1u);
  }
  void ExpectUnseen(const AddValues& add, size_t count) {
    EXPECT_EQ(CountKernels(add, Ramp(count, 1), Ramp(count, 1)), 2u);
  }

  const AddValues from_file_ = [this](Handle builder, uint32_t operand, const Values& values) {
    peer().Send(ipc::AddConstant{builder, operand, Integers(values), InFile(values)});
  };
  static constexpr size_t kCountMax = limits::kConstantValuesBytesMax / sizeof(int64_t);
};

TEST_F(ConstantValuesTest, AreSeenHoweverTheyCome) {
  ExpectSeen(
      [&](Handle builder, uint32_t operand, const Values& values) {
        std::vector<std::byte> bytes(values.size() * sizeof(int32_t));
        std::memcpy(bytes.data(), values.data(), bytes.size());
        peer().Send(ipc::AddConstant{builder, operand, Integers(values),
                                     ipc::InlinePayload{std::move(bytes)}});
      },
      64);
  uint64_t sequence = 0;
  ExpectSeen(
      [&](Handle builder, uint32_t operand, const Values& values) {
        const uint64_t bytes = values.size() * sizeof(int32_t);
        std::memcpy(peer().client().up().data(), values.data(), bytes);
        peer().Send(ipc::AddConstant{builder, operand, Integers(values),
                                     ipc::ArenaPayload{0, bytes, ++sequence}});
        // From here on the bytes are the client's again.
        EXPECT_EQ(peer().client().Expect<ipc::Acknowledge>().sequence, sequence);
        std::memset(peer().client().up().data(), static_cast<int>(sequence), bytes);
      },
      2048);
  ExpectSeen(from_file_, 2048);
  ExpectSeen(
      [&](Handle builder, uint32_t operand, const Values& values) {
        Handle tensor = peer().NewHandle();
        peer().Send(
            ipc::CreateConstantTensor{peer().context(), tensor, Integers(values), InFile(values)});
        EXPECT_FALSE(peer().client().Expect<ipc::TensorCreated>().error.has_value());
        peer().Send(ipc::AddConstantTensor{builder, operand, tensor});
      },
      2048);
}

TEST_F(ConstantValuesTest, OfLargeConstants_AreNotKept) {
  ExpectSeen(from_file_, kCountMax);
  ExpectUnseen(from_file_, kCountMax + 1);
}

// Weights are many.
TEST_F(ConstantValuesTest, OfFloats_AreKeptWhereTheyAreFew) {
  auto kernels = [&](uint32_t rows) {
    Handle builder = peer().MakeBuilder();
    const std::vector<float> values(rows * 4, 0.5f);
    for (uint32_t operand : {3u, 4u}) {
      peer().Send(ipc::AddConstant{
          builder, operand, ipc::Describe(webidl::OperandDataType::kFloat32, {rows, 4}),
          ipc::FilePayload{TemporaryFile(values), 0, values.size() * sizeof(float)}});
    }
    return CountKernels(builder, OperatorKind::kPrelu, {1}, {1, 3}, {1, 4}, webidl::NoAttributes{});
  };
  const uint32_t rows_max = limits::kInlinePayloadBytesMax / (4 * sizeof(float));
  const uint32_t seen = kernels(rows_max);
  EXPECT_EQ(kernels(rows_max + 1), seen * 2);
}

TEST_F(ConstantValuesTest, OverWhatASessionKeeps_AreDoneWithout) {
  const Values values = Ramp(kCountMax, 1);
  std::vector<Handle> tensors;
  for (uint64_t bytes = 0; bytes < limits::kConstantValuesBytesPerSessionMax;
       bytes += values.size() * sizeof(int32_t)) {
    tensors.push_back(peer().NewHandle());
    peer().Send(ipc::CreateConstantTensor{peer().context(), tensors.back(), Integers(values),
                                          InFile(values)});
    EXPECT_FALSE(peer().client().Expect<ipc::TensorCreated>().error.has_value());
  }
  ExpectUnseen(from_file_, 2048);
  for (Handle tensor : tensors) peer().Send(ipc::DestroyTensor{tensor});
  ExpectSeen(from_file_, 2048);
}

// --- Dispatch -----------------------------------------------------------------------------------

TEST_F(SessionGraphTest, GraphThatFailed_PoisonsWhatItWouldHaveWritten) {
  Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, {Add(1, 2, 3)});
  Handle graph = peer().NewHandle();
  // Nobody waits for the answer: the dispatch crosses it.
  peer().Send(ipc::Build{builder, graph, {1}, {{"y", 3}}});
  Handle a = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  peer().Dispatch(graph, {a}, {y});
  Error error = peer().ReadError(y);
  EXPECT_EQ(error.cause(), Cause::kValidation);
  EXPECT_THAT(error.ToString(), HasSubstr("dispatching the graph"));
  EXPECT_EQ(peer().ReadFloats(a), (std::vector<float>{0, 0, 0, 0}));
}

TEST_F(SessionGraphTest, DispatchThatDoesNotFit_PoisonsItsOutputs) {
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle other = peer().MakeTensor(8);
  std::vector<float> ones = {1, 1, 1, 1};
  for (auto [inputs, outputs] : std::vector<std::pair<std::vector<Handle>, std::vector<Handle>>>{
           {{a}, {b}}, {{a, other}, {b}}, {{a, a}, {b}}, {{a, b}, {b}}, {{a, other}, {b, other}}}) {
    peer().Write(b, ones);
    peer().Dispatch(graph, inputs, outputs);
    EXPECT_EQ(peer().ReadError(b).cause(), Cause::kValidation);
  }
  peer().Write(b, ones);
  EXPECT_EQ(peer().ReadFloats(b), ones);
}

TEST_F(SessionGraphTest, DispatchOfWhatCannotBeBound_PoisonsItsOutputs) {
  Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, {Add(1, 2, 3), Peer::Binary(OperatorKind::kSub, 1, 2, 4)});
  Handle graph = peer().NewHandle();
  auto built = peer().Build(builder, graph, {1, 2}, {{"sum", 3}, {"difference", 4}});
  ASSERT_FALSE(built.error.has_value()) << built.error->ToString();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  Handle z = peer().MakeTensor();
  Handle destroyed = peer().MakeTensor();
  peer().Send(ipc::DestroyTensor{destroyed});
  Handle constant = peer().NewHandle();
  peer().Send(ipc::CreateConstantTensor{peer().context(), constant, ipc::Floats(4),
                                        ipc::InlineFloats({1, 2, 3, 4})});
  EXPECT_FALSE(peer().client().Expect<ipc::TensorCreated>().error.has_value());

  auto error_of = [&](std::vector<Handle> inputs, std::vector<Handle> outputs) {
    peer().Write(y, {1, 1, 1, 1});
    Handle binding = peer().NewHandle();
    peer().Send(ipc::CreateBinding{binding, graph, std::move(inputs), std::move(outputs)});
    peer().Send(ipc::DispatchBinding{binding});
    return peer().ReadError(y).message();
  };
  EXPECT_THAT(error_of({a, destroyed}, {y, z}), HasSubstr("was destroyed"));
  EXPECT_THAT(error_of({a, b}, {y, destroyed}), HasSubstr("was destroyed"));
  EXPECT_THAT(error_of({constant, b}, {y, z}), HasSubstr("is constant"));
  EXPECT_THAT(error_of({a, a}, {y, z}), HasSubstr("two inputs"));
  EXPECT_THAT(error_of({a, b}, {y, y}), HasSubstr("two outputs"));
}

TEST_F(SessionGraphTest, ConstantTensorOfDynamicShape_IsRefused) {
  Handle constant = peer().NewHandle();
  peer().Send(ipc::CreateConstantTensor{
      peer().context(),
      constant,
      {webidl::OperandDataType::kFloat32, {webidl::DynamicDimension{"n", 4, 1}}},
      ipc::InlineFloats({1, 2, 3, 4})});
  auto created = peer().client().Expect<ipc::TensorCreated>();
  ASSERT_TRUE(created.error.has_value());
  EXPECT_THAT(created.error->message(), HasSubstr("is dynamic"));
  peer().ExpectWorks();
}

TEST_F(SessionGraphTest, ConstantsOfABuilderThatFailed_AreAcknowledged) {
  Handle builder = peer().MakeBuilder();
  peer().Send(ipc::AddConstantTensor{builder, 3, peer().MakeTensor()});  // It is no constant.
  peer().Send(ipc::AddConstant{builder, 4, ipc::Floats(4), ipc::ArenaPayload{0, 16, 1}});
  EXPECT_EQ(peer().client().Expect<ipc::Acknowledge>().sequence, 1u);
  ExpectRefused(builder, {1, 2}, {{"y", 1}}, "is not a constant tensor");
}

TEST_F(SessionGraphTest, TensorOfAnotherContext_PoisonsTheOutput) {
  Handle graph = peer().MakeAddGraph();
  Handle second = peer().NewHandle();
  peer().Send(ipc::CreateContext{.context = second});
  Handle foreign = peer().NewHandle();
  peer().Send(ipc::CreateTensor{second, foreign, ipc::Floats(4), true, true});
  peer().client().Expect<ipc::TensorCreated>();
  Handle a = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  peer().Dispatch(graph, {a, foreign}, {y});
  EXPECT_THAT(peer().ReadError(y).message(), HasSubstr("another context"));
}

TEST_F(SessionGraphTest, DestroyedGraph_DropsTheDispatch) {
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  peer().Write(y, {7, 7, 7, 7});
  peer().Send(ipc::DestroyGraph{graph});
  peer().Dispatch(graph, {a, b}, {y});
  EXPECT_EQ(peer().ReadFloats(y), (std::vector<float>{7, 7, 7, 7}));
}

TEST_F(SessionGraphTest, MoreKernelsThanTheLimit_AreRefused) {
  // A concat takes a kernel for every seven operands, so that few operators are enough. What it
  // makes is cut to the size of the next one's operands.
  constexpr uint32_t kOperands = limits::kOperandsPerOperatorMax;
  constexpr uint32_t kConcats = limits::kKernelsPerGraphMax / (kOperands / 7) + 1;
  Handle builder = peer().MakeBuilder();
  const webidl::SliceAttributes cut_attributes{.starts = webidl::Sizes{1},
                                               .sizes = webidl::Sizes{4}};
  uint32_t value = 1;
  for (uint32_t i = 0; i < kConcats; ++i) {
    const uint32_t joined = 3 + 2 * i;
    const uint32_t cut = joined + 1;
    std::vector<uint32_t> operands(kOperands, std::exchange(value, cut));
    peer().AddOperators(
        builder,
        {{OperatorKind::kConcat, std::move(operands), {joined}, "", webidl::ConcatAttributes{0}},
         {OperatorKind::kSlice, {joined}, {cut}, "", cut_attributes}});
  }
  Error error = ExpectRefused(builder, {1}, {{"y", value}}, "more kernels");
  EXPECT_EQ(error.cause(), Cause::kQuota);
}

TEST_F(SessionGraphTest, ObjectsDestroyedInFlight_LetTheWorkFinish) {
  int64_t before = DeviceBytesMore();
  for (int round = 0; round < 10; ++round) {
    Handle graph = peer().MakeAddGraph();
    Handle a = peer().MakeTensor();
    Handle b = peer().MakeTensor();
    Handle y = peer().MakeTensor();
    peer().Write(a, {1, 2, 3, 4});
    for (int i = 0; i < 20; ++i) peer().Dispatch(graph, {a, b}, {y});
    peer().Send(ipc::ReadTensor{y, 900, ipc::InlineDestination{}});
    peer().Dispatch(graph, {y, b}, {a});
    for (Handle tensor : {a, b, y}) peer().Send(ipc::DestroyTensor{tensor});
    peer().Send(ipc::DestroyGraph{graph});
    auto read = peer().client().Expect<ipc::TensorRead>();
    EXPECT_FALSE(read.error.has_value());
    EXPECT_EQ(ipc::ToFloats(read.bytes), (std::vector<float>{1, 2, 3, 4}));
  }
  ExpectDeviceBytesReturnTo(before);
}

TEST_F(SessionGraphTest, ContextDestroyedInFlight_LeavesNothing) {
  int64_t before = DeviceBytesMore();
  Handle first = peer().context();
  Handle graph = peer().MakeAddGraph();
  Handle a = peer().MakeTensor();
  Handle b = peer().MakeTensor();
  Handle y = peer().MakeTensor();
  for (int i = 0; i < 50; ++i) peer().Dispatch(graph, {a, b}, {y});
  Handle builder = peer().MakeBuilder();
  peer().AddOperators(builder, {Add(1, 2, 3)});
  peer().Send(ipc::Build{builder, peer().NewHandle(), {1, 2}, {{"y", 3}}});
  peer().Send(ipc::DestroyContext{first});
  peer().client().Expect<ipc::GraphBuilt>();
  ExpectDeviceBytesReturnTo(before);
}

}  // namespace
}  // namespace webnnd::service
