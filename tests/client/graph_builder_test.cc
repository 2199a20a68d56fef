#include "client/graph_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "base/limits.h"
#include "client/webnn.h"
#include "tests/client/fake_service.h"

namespace webnn::test {
namespace {

namespace limits = webnnd::limits;
using testing::HasSubstr;
using webnnd::UniqueFd;
using webnnd::webidl::Dimension;
using webnnd::webidl::DynamicDimension;
using webnnd::webidl::OperatorKind;

class GraphBuilderTest : public ClientTest {
 protected:
  void SetUp() override {
    context_ = MakeContext();
    builder_ = std::make_unique<GraphBuilder>(context_);
  }
  Operand Input(const std::string& name, uint32_t elements = 4) {
    auto operand = builder_->Input(name, OperandDataType::kFloat32, {elements});
    EXPECT_TRUE(operand.ok());
    return *operand;
  }
  // All messages of a build, up to Build itself.
  struct Sent {
    std::vector<ipc::GraphInput> inputs;
    std::vector<ipc::AddConstant> constants;
    std::vector<webnnd::webidl::Operator> operators;
    std::vector<size_t> chunks;
    ipc::Build build;
  };
  Sent TakeBuild() {
    Sent sent;
    while (auto message = service_.Next(5000)) {
      if (auto* inputs = std::get_if<ipc::AddInputs>(&*message)) {
        for (auto& input : inputs->inputs) sent.inputs.push_back(std::move(input));
      } else if (auto* constant = std::get_if<ipc::AddConstant>(&*message)) {
        sent.constants.push_back(std::move(*constant));
      } else if (auto* operators = std::get_if<ipc::AddOperators>(&*message)) {
        sent.chunks.push_back(operators->operators.size());
        for (auto& op : operators->operators) sent.operators.push_back(std::move(op));
      } else if (auto* build = std::get_if<ipc::Build>(&*message)) {
        sent.build = std::move(*build);
        return sent;
      }
    }
    ADD_FAILURE() << "no Build came";
    return sent;
  }

  std::shared_ptr<Context> context_;
  std::unique_ptr<GraphBuilder> builder_;
};

TEST_F(GraphBuilderTest, Build_SendsTheGraphAndResolves) {
  Operand x = Input("x"), y = Input("y");
  auto sum = builder_->Add(x, y, {.label = "sum"});
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->shape(), Shape{4});
  EXPECT_TRUE(service_.IsQuiet()) << "operators wait for Build";
  auto future = builder_->Build({{"out", *sum}});
  Sent sent = TakeBuild();
  ASSERT_EQ(sent.inputs.size(), 2u);
  ASSERT_EQ(sent.operators.size(), 1u);
  EXPECT_EQ(sent.operators[0].kind, OperatorKind::kAdd);
  EXPECT_EQ(sent.operators[0].label, "sum");
  EXPECT_EQ(sent.operators[0].operands,
            (std::vector<uint32_t>{sent.inputs[0].operand, sent.inputs[1].operand}));
  ASSERT_EQ(sent.build.outputs.size(), 1u);
  EXPECT_EQ(sent.build.outputs[0].name, "out");
  EXPECT_EQ(sent.build.outputs[0].operand, sent.operators[0].results.at(0));
  EXPECT_EQ(sent.build.inputs.size(), 2u);
  service_.Send(ipc::GraphBuilt{sent.build.graph, std::nullopt, 3});
  auto graph = ml_->Wait(future);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->kernel_count(), 3u);
  ASSERT_EQ((*graph)->inputs().size(), 2u);
  EXPECT_EQ((*graph)->inputs()[1].name, "y");
  EXPECT_EQ((*graph)->outputs()[0].descriptor.shape(), Shape{4});
}

TEST_F(GraphBuilderTest, BuildThatTheServiceRefuses_RejectsAndDestroysTheGraph) {
  auto sum = builder_->Add(Input("x"), Input("y"));
  auto future = builder_->Build({{"out", *sum}});
  Sent sent = TakeBuild();
  service_.Send(ipc::GraphBuilt{sent.build.graph, webnnd::NotSupportedError("not today"), 0});
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).cause(), Cause::kNotSupported);
  EXPECT_EQ(service_.Expect<ipc::DestroyGraph>().graph, sent.build.graph);
}

TEST_F(GraphBuilderTest, WhatTheOutputsDoNotReach_IsNotSent) {
  Operand x = Input("x"), y = Input("y"), unused = Input("unused");
  auto used_constant = builder_->Constant(OperandDataType::kFloat32, 2.0);
  auto dead_constant = builder_->Constant(OperandDataType::kFloat32, 3.0);
  auto dead = builder_->Mul(unused, *dead_constant);
  auto live = builder_->Add(x, *used_constant);
  auto dead_after = builder_->Mul(*live, *dead);
  auto out = builder_->Add(*live, y);
  ASSERT_TRUE(dead_after.ok() && out.ok());
  auto future = builder_->Build({{"out", *out}});
  Sent sent = TakeBuild();
  EXPECT_EQ(sent.inputs.size(), 2u);
  EXPECT_EQ(sent.build.inputs.size(), 2u);
  EXPECT_EQ(sent.constants.size(), 1u);
  ASSERT_EQ(sent.operators.size(), 2u);
  EXPECT_EQ(sent.operators[0].kind, OperatorKind::kAdd);
  EXPECT_EQ(sent.operators[1].kind, OperatorKind::kAdd);
}

TEST_F(GraphBuilderTest, LargeGraph_ComesInChunksAndReferencesGoBackwards) {
  Operand x = Input("x");
  for (int i = 0; i < 600; ++i) x = *builder_->Add(x, x);
  auto future = builder_->Build({{"out", x}});
  Sent sent = TakeBuild();
  EXPECT_EQ(sent.chunks, (std::vector<size_t>{256, 256, 88}));
  std::set<uint32_t> known = {sent.inputs[0].operand};
  for (const auto& op : sent.operators) {
    for (uint32_t operand : op.operands) EXPECT_TRUE(known.contains(operand));
    for (uint32_t result : op.results) EXPECT_TRUE(known.insert(result).second);
  }
}

TEST_F(GraphBuilderTest, LongLabels_StayWithinTheFrame) {
  Operand x = Input("x");
  const std::string label(limits::kLabelBytesMax, 'l');
  for (int i = 0; i < 600; ++i) x = *builder_->Add(x, x, {.label = label});
  auto future = builder_->Build({{"out", x}});
  EXPECT_EQ(TakeBuild().operators.size(), 600u);
}

// --- Inputs -------------------------------------------------------------------------------------

TEST_F(GraphBuilderTest, InputThatBreaksARule_IsRefused) {
  Input("x");
  const auto refused = [&](const std::string& name, const Shape& shape) {
    return ErrorOf(builder_->Input(name, OperandDataType::kFloat32, shape)).cause();
  };
  EXPECT_EQ(refused("", {4}), Cause::kValidation);
  EXPECT_EQ(refused("x", {4}), Cause::kValidation);
  EXPECT_EQ(refused("y", {0}), Cause::kValidation);
  EXPECT_EQ(refused("y", Shape(9, 1)), Cause::kValidation);
  EXPECT_EQ(refused("y", {1u << 25}), Cause::kValidation);
  EXPECT_EQ(refused(std::string(limits::kNameBytesMax + 1, 'n'), {4}), Cause::kValidation);
  EXPECT_EQ(refused("\xff\xfe", {4}), Cause::kValidation);
  // A name that was refused is free.
  EXPECT_TRUE(builder_->Input("y", OperandDataType::kFloat32, {4}).ok());
}

// --- Dynamic dimensions -------------------------------------------------------------------------

TEST_F(GraphBuilderTest, DynamicDimensions_FlowThroughOperatorsAndBack) {
  const DynamicDimension past{"past", 96, 0}, seq{"seq", 32, 1};
  auto old = builder_->Input("old", OperandDataType::kFloat32, std::vector<Dimension>{past, 4u});
  auto added = builder_->Input("new", OperandDataType::kFloat32, std::vector<Dimension>{seq, 4u});
  auto whole = builder_->Concat({*old, *added}, 0);
  ASSERT_TRUE(whole.ok());
  const std::vector<Dimension> dimensions = whole->descriptor().dimensions();
  EXPECT_EQ(dimensions, (std::vector<Dimension>{DynamicDimension{"past + seq", 128, 1}, 4u}));
  auto reshaped =
      builder_->Reshape(*whole, webnn::Sizes(std::vector<Dimension>{2u, dimensions[0], 2u}));
  ASSERT_TRUE(reshaped.ok()) << reshaped.error().message();
  EXPECT_EQ(reshaped->descriptor().ToString(), "float32[2,past + seq,2]");
  // A graph's input may have it too.
  auto mask = builder_->Input("mask", OperandDataType::kFloat32,
                              std::vector<Dimension>{seq, dimensions[0]});
  EXPECT_EQ(mask->descriptor().ToString(), "float32[seq,past + seq]");
}

TEST_F(GraphBuilderTest, DynamicDimensionsThatDisagree_AreRefused) {
  const auto refused = [&](const std::string& name, const Dimension& dimension) {
    return ErrorOf(
               builder_->Input(name, OperandDataType::kFloat32, std::vector<Dimension>{dimension}))
        .message();
  };
  ASSERT_TRUE(builder_
                  ->Input("x", OperandDataType::kFloat32,
                          std::vector<Dimension>{DynamicDimension{"seq", 32, 1}})
                  .ok());
  EXPECT_EQ(refused("y", DynamicDimension{"seq", 33, 1}),
            "the dimension (seq) is given as 1 to 33, where elsewhere it is 1 to 32");
  EXPECT_THAT(refused("y", DynamicDimension{"", 33, 1}), HasSubstr("has no name"));
  EXPECT_THAT(refused("y", DynamicDimension{"past + seq", 33, 1}),
              HasSubstr("names a dimension (past) that no input has"));
  // What failed declared nothing.
  EXPECT_EQ(refused("", DynamicDimension{"other", 4, 1}), "an input's name is empty");
  EXPECT_TRUE(builder_
                  ->Input("y", OperandDataType::kFloat32,
                          std::vector<Dimension>{DynamicDimension{"other", 8, 2}})
                  .ok());
}

TEST_F(GraphBuilderTest, DimensionThatNoReachedInputHas_IsRefusedByBuild) {
  auto x = builder_->Input("x", OperandDataType::kFloat32,
                           std::vector<Dimension>{DynamicDimension{"seq", 32, 1}});
  auto one = builder_->Constant(OperandDataType::kFloat32, Shape{1}, Pattern(4));
  auto many = builder_->Expand(*one, webnn::Sizes(x->descriptor().dimensions()));
  ASSERT_TRUE(many.ok()) << many.error().message();
  auto graph = builder_->Build({{"out", *many}});
  EXPECT_EQ(ErrorOf(ml_->Wait(graph)).message(),
            "the dimension (seq) is that of no input of the graph");
}

// --- Constants ----------------------------------------------------------------------------------

TEST_F(GraphBuilderTest, SmallConstants_WaitForBuildAndAreShared) {
  const auto data = Pattern(16);
  auto one = builder_->Constant(OperandDataType::kFloat32, Shape{4}, data);
  auto same = builder_->Constant(OperandDataType::kFloat32, Shape{4}, data);
  auto other_type = builder_->Constant(OperandDataType::kInt32, Shape{4}, data);
  ASSERT_TRUE(one.ok() && same.ok() && other_type.ok());
  EXPECT_TRUE(service_.IsQuiet());
  auto cast = builder_->Cast(*other_type, OperandDataType::kFloat32);
  auto sum = builder_->Add(*builder_->Add(*one, *same), *cast);
  auto future = builder_->Build({{"out", *sum}});
  Sent sent = TakeBuild();
  ASSERT_EQ(sent.constants.size(), 2u);
  EXPECT_EQ(service_.Read(sent.constants[0].data), data);
}

TEST_F(GraphBuilderTest, LargeConstant_IsSentAtOnce) {
  for (uint32_t elements : {1025u, 5u << 20}) {
    const auto data = Pattern(4 * elements);
    auto constant = builder_->Constant(OperandDataType::kFloat32, Shape{elements}, data);
    ASSERT_TRUE(constant.ok());
    if (elements == 1025) service_.Expect<ipc::CreateBuilder>();
    EXPECT_EQ(service_.Read(service_.Expect<ipc::AddConstant>().data), data);
  }
  builder_ = nullptr;
  service_.Expect<ipc::DestroyBuilder>();
}

TEST_F(GraphBuilderTest, ConstantThatBreaksARule_IsRefused) {
  const auto refused = [&](OperandDataType type, const Shape& shape, size_t bytes) {
    return ErrorOf(builder_->Constant(type, shape, Pattern(bytes))).cause();
  };
  EXPECT_EQ(refused(OperandDataType::kFloat32, {4}, 15), Cause::kValidation);
  EXPECT_EQ(refused(OperandDataType::kFloat32, {0}, 0), Cause::kValidation);
  EXPECT_EQ(refused(OperandDataType::kUint4, {5}, 2), Cause::kValidation);
  EXPECT_EQ(refused(OperandDataType::kUint4, {5}, 5), Cause::kValidation);
  EXPECT_TRUE(builder_->Constant(OperandDataType::kUint4, Shape{5}, Pattern(3)).ok());
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(GraphBuilderTest, ScalarConstant_HasTheCastValue) {
  auto scalar = builder_->Constant(OperandDataType::kFloat32, 1.5);
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->shape().empty());
  auto sum = builder_->Add(Input("x"), *scalar);
  auto future = builder_->Build({{"out", *sum}});
  Sent sent = TakeBuild();
  ASSERT_EQ(sent.constants.size(), 1u);
  const auto bytes = service_.Read(sent.constants[0].data);
  float value = 0;
  ASSERT_EQ(bytes.size(), 4u);
  std::memcpy(&value, bytes.data(), 4);
  EXPECT_EQ(value, 1.5f);
}

TEST_F(GraphBuilderTest, ConstantTensor_IsSentAtOnceAndShared) {
  auto tensor = MakeConstantTensor(*context_, 4);
  auto one = builder_->Constant(*tensor);
  auto two = builder_->Constant(*tensor);
  ASSERT_TRUE(one.ok() && two.ok());
  service_.Expect<ipc::CreateBuilder>();
  auto add = service_.Expect<ipc::AddConstantTensor>();
  auto sum = builder_->Add(*one, *two);
  tensor = nullptr;  // The builder holds it until Build.
  EXPECT_TRUE(service_.IsQuiet());
  auto future = builder_->Build({{"out", *sum}});
  Sent sent = TakeBuild();
  EXPECT_EQ(sent.operators[0].operands, (std::vector<uint32_t>{add.operand, add.operand}));
  EXPECT_EQ(service_.Expect<ipc::DestroyTensor>().tensor, add.tensor);
}

TEST_F(GraphBuilderTest, ConstantTensorThatBreaksARule_IsRefused) {
  auto other = MakeContext();
  auto foreign = MakeConstantTensor(*other, 4);
  auto variable = MakeTensor(*context_, Float32(4));
  auto destroyed = MakeConstantTensor(*context_, 4);
  destroyed->Destroy();
  EXPECT_EQ(ErrorOf(builder_->Constant(*foreign)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(builder_->Constant(*variable)).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(builder_->Constant(*destroyed)).cause(), Cause::kValidation);
}

TEST_F(GraphBuilderTest, ConstantFromFile_HandsTheFileOverOnce) {
  std::string path = testing::TempDir() + "weightsXXXXXX";
  UniqueFd file(mkstemp(path.data()));
  unlink(path.c_str());
  const auto bytes = Pattern(64);
  ASSERT_EQ(write(file.get(), bytes.data(), bytes.size()), 64);
  auto one = builder_->ConstantFromFile(OperandDataType::kFloat32, {4}, file.get(), 16);
  auto same = builder_->ConstantFromFile(OperandDataType::kFloat32, {4}, file.get(), 16);
  auto next = builder_->ConstantFromFile(OperandDataType::kFloat32, {4}, file.get(), 32);
  ASSERT_TRUE(one.ok() && same.ok() && next.ok());
  service_.Expect<ipc::CreateBuilder>();
  EXPECT_EQ(service_.Read(service_.Expect<ipc::AddConstant>().data),
            std::vector<std::byte>(bytes.begin() + 16, bytes.begin() + 32));
  EXPECT_EQ(service_.Read(service_.Expect<ipc::AddConstant>().data),
            std::vector<std::byte>(bytes.begin() + 32, bytes.begin() + 48));
  EXPECT_TRUE(service_.IsQuiet());
  EXPECT_EQ(
      ErrorOf(builder_->ConstantFromFile(OperandDataType::kFloat32, {4}, file.get(), 60)).cause(),
      Cause::kValidation);
}

// --- Operators ----------------------------------------------------------------------------------

TEST_F(GraphBuilderTest, OperatorThatBreaksARule_IsRefusedAtOnce) {
  Operand x = Input("x", 4), y = Input("y", 5);
  auto refused = builder_->Add(x, y, {.label = "odd"});
  EXPECT_EQ(ErrorOf(refused).cause(), Cause::kValidation);
  EXPECT_NE(ErrorOf(refused).message().find("odd"), std::string::npos);
  EXPECT_TRUE(builder_->Add(x, x).ok()) << "the builder goes on";
}

TEST_F(GraphBuilderTest, OperandOfAnotherBuilder_IsRefused) {
  Operand x = Input("x");
  GraphBuilder other(context_);
  EXPECT_EQ(ErrorOf(other.Add(x, x)).cause(), Cause::kValidation);
  auto y = other.Input("y", OperandDataType::kFloat32, {4});
  auto sum = other.Add(*y, *y);
  EXPECT_EQ(ErrorOf(builder_->Build({{"out", *sum}})).cause(), Cause::kValidation);
}

TEST_F(GraphBuilderTest, LabelThatIsNotUtf8_IsRefused) {
  Operand x = Input("x");
  EXPECT_EQ(ErrorOf(builder_->Add(x, x, {.label = "\xff"})).cause(), Cause::kValidation);
}

TEST_F(GraphBuilderTest, LabelTooLong_IsCutBetweenCharacters) {
  Operand x = Input("x");
  const std::string fits(limits::kLabelBytesMax - 1, 'l');
  auto sum = builder_->Add(x, x, {.label = fits + "é and more"});
  ASSERT_TRUE(sum.ok());
  auto future = builder_->Build({{"out", *sum}});
  EXPECT_EQ(TakeBuild().operators.at(0).label, fits);
}

TEST_F(GraphBuilderTest, ListsBeyondTheLimit_AreRefused) {
  Operand x = Input("x", 1);
  const std::vector<Operand> many(limits::kOperandsPerOperatorMax + 1, x);
  EXPECT_EQ(ErrorOf(builder_->Concat(many, 0)).cause(), Cause::kValidation);
  Operand wide = Input("wide", 4096);
  EXPECT_EQ(ErrorOf(builder_->Split(wide, uint32_t{2048})).cause(), Cause::kValidation);
  EXPECT_EQ(ErrorOf(builder_->Split(wide, std::vector<uint32_t>(2048, 2))).cause(),
            Cause::kValidation);
  EXPECT_EQ(builder_->Split(wide, uint32_t{1024})->size(), 1024u);
}

// --- Build's rules ------------------------------------------------------------------------------

TEST_F(GraphBuilderTest, BuildThatBreaksARule_IsRefusedAndTheBuilderGoesOn) {
  Operand x = Input("x");
  auto constant = builder_->Constant(OperandDataType::kFloat32, 1.0);
  auto sum = builder_->Add(x, *constant);
  const auto refused = [&](const NamedOperands& outputs) {
    return ErrorOf(builder_->Build(outputs)).cause();
  };
  EXPECT_EQ(refused({}), Cause::kValidation);
  EXPECT_EQ(refused({{"", *sum}}), Cause::kValidation);
  EXPECT_EQ(refused({{"out", x}}), Cause::kValidation);
  EXPECT_EQ(refused({{"out", *constant}}), Cause::kValidation);
  EXPECT_EQ(refused({{"\xff", *sum}}), Cause::kValidation);
  EXPECT_TRUE(service_.IsQuiet());
  auto future = builder_->Build({{"out", *sum}, {"same", *sum}});
  EXPECT_EQ(TakeBuild().build.outputs.size(), 2u);
}

TEST_F(GraphBuilderTest, Built_RefusesEverything) {
  Operand x = Input("x");
  auto sum = builder_->Add(x, x);
  auto tensor = MakeConstantTensor(*context_, 4);
  auto future = builder_->Build({{"out", *sum}});
  TakeBuild();
  EXPECT_EQ(ErrorOf(builder_->Input("y", OperandDataType::kFloat32, Shape{4})).cause(),
            Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(builder_->Constant(OperandDataType::kFloat32, 1.0)).cause(),
            Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(builder_->Constant(OperandDataType::kUint8, Shape{1}, Pattern(1))).cause(),
            Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(builder_->Constant(*tensor)).cause(), Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(builder_->ConstantFromFile(OperandDataType::kUint8, {1}, 0, 0)).cause(),
            Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(builder_->Add(x, x)).cause(), Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(builder_->Build({{"out", *sum}})).cause(), Cause::kInvalidState);
}

TEST_F(GraphBuilderTest, ContextLost_RefusesEverything) {
  Operand x = Input("x");
  auto sum = builder_->Add(x, x);
  context_->Destroy();
  EXPECT_EQ(ErrorOf(builder_->Add(x, x)).cause(), Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(builder_->Build({{"out", *sum}})).cause(), Cause::kInvalidState);
  EXPECT_EQ(ErrorOf(GraphBuilder(context_).Input("y", OperandDataType::kFloat32, Shape{4})).cause(),
            Cause::kInvalidState);
}

TEST_F(GraphBuilderTest, BuilderGoneBeforeTheAnswer_GraphStillComes) {
  auto sum = builder_->Add(Input("x"), Input("y"));
  auto future = builder_->Build({{"out", *sum}});
  builder_ = nullptr;
  Sent sent = TakeBuild();
  EXPECT_TRUE(service_.IsQuiet()) << "Build has consumed the builder";
  service_.Send(ipc::GraphBuilt{sent.build.graph, std::nullopt, 1});
  EXPECT_TRUE(ml_->Wait(future).ok());
}

TEST_F(GraphBuilderTest, TooManyBuilders_AreRefused) {
  auto tensor = MakeConstantTensor(*context_, 4);
  std::vector<std::unique_ptr<GraphBuilder>> builders;
  for (uint32_t i = 0; i < limits::kBuildersPerSessionMax; ++i) {
    builders.push_back(std::make_unique<GraphBuilder>(context_));
    ASSERT_TRUE(builders.back()->Constant(*tensor).ok());
  }
  EXPECT_EQ(ErrorOf(builder_->Constant(*tensor)).cause(), Cause::kQuota);
  builders.pop_back();
  EXPECT_TRUE(builder_->Constant(*tensor).ok());
}

TEST_F(GraphBuilderTest, LostWhileBuilding_Rejects) {
  auto sum = builder_->Add(Input("x"), Input("y"));
  auto future = builder_->Build({{"out", *sum}});
  TakeBuild();
  service_.Close();
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).cause(), Cause::kDeviceLost);
}

// --- Limits -------------------------------------------------------------------------------------

TEST_F(GraphBuilderTest, ResultBeyondTheDevicesLimit_IsRefusedByOperatorAndLabel) {
  Operand x = Input("x", 1);
  const auto elements = static_cast<uint32_t>(kTensorBytesMax / 4);
  EXPECT_TRUE(builder_->Expand(x, {elements}).ok());
  EXPECT_EQ(ErrorOf(builder_->Expand(x, {elements + 1}, {.label = "wide"})).message(),
            "[wide] expand: the bytes (67108868) of float32[16777217] exceed the device's limit "
            "(67108864)");
}

class RestrictedGraphBuilderTest : public GraphBuilderTest {
 protected:
  RestrictedGraphBuilderTest() {
    ml_ = std::make_unique<ML>(webnn::Connect::InProcess(service_),
                               MLOptions{.restrict_to_required_limits = true});
  }
};

TEST_F(RestrictedGraphBuilderTest, SupportLimits_AreWhatTheDraftRequires) {
  const OpSupportLimits& limits = context_->op_support_limits();
  EXPECT_EQ(limits.input.types.ToString(), "float32, float16, int32, int8, uint8");
  EXPECT_EQ(limits.input.rank_max, 5u);
  const auto& abs = limits.operators[static_cast<size_t>(OperatorKind::kAbs)];
  EXPECT_EQ(abs.members[0].limits.types.ToString(), "float32, float16, int32");
}

TEST_F(RestrictedGraphBuilderTest, WhatTheDraftRequires_IsTaken) {
  auto x = builder_->Input("x", OperandDataType::kFloat32, {1, 1, 1, 1, 4});
  ASSERT_TRUE(x.ok());
  EXPECT_TRUE(builder_->Abs(*x).ok());
  EXPECT_TRUE(builder_->Cast(*x, OperandDataType::kInt8).ok());
  EXPECT_TRUE(builder_->Constant(OperandDataType::kInt32, Number{1.0}).ok());
}

TEST_F(RestrictedGraphBuilderTest, WhatTheDraftOnlyAllows_IsRefused) {
  EXPECT_EQ(
      ErrorOf(builder_->Input("x", OperandDataType::kInt64, {4})).message(),
      "the data type (int64) is not one of the supported ones (float32, float16, int32, int8, "
      "uint8)");
  EXPECT_EQ(ErrorOf(builder_->Input("x", OperandDataType::kFloat32, Shape(6, 1))).message(),
            "the rank (6) of the shape is not in the supported range (0 to 5)");
  EXPECT_EQ(ErrorOf(builder_->Constant(OperandDataType::kUint64, Number{1.0})).cause(),
            Cause::kValidation);
  EXPECT_EQ(ErrorOf(builder_->Constant(OperandDataType::kUint32, {1}, Pattern(4))).cause(),
            Cause::kValidation);
  EXPECT_EQ(ErrorOf(context_->CreateTensor({OperandDataType::kInt64, {1}})).cause(),
            Cause::kValidation);
  auto bytes = builder_->Input("bytes", OperandDataType::kInt8, {4});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(ErrorOf(builder_->Abs(*bytes)).message(),
            "abs: the data type of input (int8) is not one of its allowed data types (float32, "
            "float16, int32)");
  EXPECT_EQ(ErrorOf(builder_->Reshape(*bytes, {1, 1, 1, 1, 1, 4})).message(),
            "reshape: the rank of output (6) is not in its allowed range (0 to 5)");
  EXPECT_EQ(ErrorOf(builder_->Cast(*bytes, OperandDataType::kInt64)).message(),
            "cast: the data type of output (int64) is not one of its allowed data types (float32, "
            "float16, int32, int8, uint8)");
}

// --- What the service refuses -------------------------------------------------------------------

TEST_F(GraphBuilderTest, RefusalByTheService_IsAFailedBuildAndNoTypeError) {
  auto sum = builder_->Add(Input("x"), Input("y"));
  auto future = builder_->Build({{"out", *sum}});
  Sent sent = TakeBuild();
  service_.Send(ipc::GraphBuilt{sent.build.graph, webnnd::ValidationError("it is odd"), 0});
  const Error error = ErrorOf(ml_->Wait(future));
  EXPECT_EQ(error.message(), "it is odd");
  EXPECT_EQ(ExceptionName(Method::kBuild, error.cause()), "OperationError");
  // What the builder finds itself stays a TypeError.
  GraphBuilder other(context_);
  EXPECT_EQ(ExceptionName(Method::kBuild, ErrorOf(other.Build({})).cause()), "TypeError");
}

}  // namespace
}  // namespace webnn::test
