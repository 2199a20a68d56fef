#include "service/graph/graph_assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace webnnd::service {
namespace {

using testing::HasSubstr;
using webidl::OperatorKind;

ipc::WireDescriptor Floats(uint32_t count) { return {webidl::OperandDataType::kFloat32, {count}}; }

webidl::Operator Binary(OperatorKind kind, uint32_t a, uint32_t b, uint32_t result) {
  return {kind, {a, b}, {result}, "", webidl::NoAttributes{}};
}

webidl::OperandDescriptor Descriptor(uint32_t count) {
  return *webidl::OperandDescriptor::Create(webidl::OperandDataType::kFloat32,
                                            std::span<const uint32_t>(&count, 1));
}

TEST(GraphAssembler, NameThatNoReachedInputHas_IsRefused) {
  GraphAssembler assembler;
  const auto input = [](uint32_t operand, const char* name, const char* dimension) {
    return ipc::GraphInput{
        operand,
        name,
        {webidl::OperandDataType::kFloat32, {webidl::DynamicDimension{dimension, 8, 1}}}};
  };
  assembler.AddInput(input(1, "x", "seq"));
  assembler.AddInput(input(2, "unused", "other"));
  webidl::SliceAttributes slice;
  slice.starts = webidl::Sizes(std::vector<webidl::Dimension>{uint32_t{0}});
  slice.sizes =
      webidl::Sizes(std::vector<webidl::Dimension>{webidl::DynamicDimension{"other", 8, 1}});
  assembler.AddConstant(3, Descriptor(8), /*buffer=*/0);
  assembler.AddOperators({{OperatorKind::kSlice, {3}, {4}, "", slice},
                          {OperatorKind::kReduceSum, {4}, {5}, "", webidl::ReduceAttributes{}},
                          Binary(OperatorKind::kAdd, 1, 5, 6)});
  auto graph = std::move(assembler).Finish({1}, {{"y", 6}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message(), "the dimension (other) is that of no input of the graph");
}

TEST(GraphAssembler, ConstantOfDynamicShape_IsRefused) {
  GraphAssembler assembler;
  const webidl::Dimension dimension = webidl::DynamicDimension{"seq", 8, 1};
  auto descriptor = webidl::OperandDescriptor::Create(
      webidl::OperandDataType::kFloat32, std::span<const webidl::Dimension>(&dimension, 1));
  ASSERT_TRUE(descriptor.ok()) << descriptor.error().ToString();
  assembler.AddConstant(1, *descriptor, /*buffer=*/0);
  assembler.AddOperators({{OperatorKind::kRelu, {1}, {2}, "", webidl::NoAttributes{}}});
  auto graph = std::move(assembler).Finish({}, {{"y", 2}});
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().message(), HasSubstr("is dynamic"));
}

TEST(GraphAssembler, Graph_IsWhatTheOutputsReach) {
  GraphAssembler assembler;
  assembler.AddInput({1, "a", Floats(4)});
  assembler.AddInput({2, "unused", Floats(4)});
  assembler.AddInput({3, "b", Floats(1)});
  assembler.AddConstant(4, Descriptor(4), /*buffer=*/0);
  assembler.AddOperators({Binary(OperatorKind::kAdd, 1, 3, 5), Binary(OperatorKind::kMul, 2, 2, 6),
                          Binary(OperatorKind::kSub, 5, 4, 7)});
  auto graph = std::move(assembler).Finish({3, 1}, {{"y", 7}});
  ASSERT_TRUE(graph.ok()) << graph.error().ToString();
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0].kind, OperatorKind::kAdd);
  EXPECT_EQ(graph->nodes[1].kind, OperatorKind::kSub);
  // Inputs stand in the order of the build.
  ASSERT_EQ(graph->inputs.size(), 2u);
  EXPECT_EQ(graph->inputs[0].name, "b");
  EXPECT_EQ(graph->inputs[1].name, "a");
  for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(graph->values[graph->inputs[i].value].index, i);
  const Value& result = graph->values[graph->outputs[0].value];
  EXPECT_EQ(result.kind, Value::Kind::kResult);
  EXPECT_EQ(result.index, 1u);
  EXPECT_EQ(result.descriptor, Descriptor(4));
}

TEST(GraphAssembler, FirstError_IsKept) {
  GraphAssembler assembler;
  assembler.AddInput({1, "a", Floats(4)});
  assembler.Fail(ValidationError("the first"));
  assembler.Fail(ValidationError("the second"));
  assembler.AddOperators({Binary(OperatorKind::kAdd, 1, 1, 2)});
  auto graph = std::move(assembler).Finish({1}, {{"y", 2}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message(), "the first");
}

TEST(GraphAssembler, InputThatIsNoTensor_IsNamed) {
  GraphAssembler assembler;
  assembler.AddInput({1, "mine", Floats(0)});
  assembler.AddOperators({Binary(OperatorKind::kAdd, 1, 1, 2)});
  auto graph = std::move(assembler).Finish({1}, {{"y", 2}});
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().ToString(), HasSubstr("mine"));
}

TEST(GraphAssembler, OperandsThatAreNone_AreRefused) {
  auto message = [](std::vector<uint32_t> inputs, uint32_t constant) {
    GraphAssembler assembler;
    assembler.AddInput({1, "a", Floats(4)});
    assembler.AddConstant(constant, Descriptor(4), 0);
    assembler.AddOperators({Binary(OperatorKind::kAdd, 1, 2, 3)});
    auto graph = std::move(assembler).Finish(inputs, {{"y", 3}});
    return graph.ok() ? "it is built" : graph.error().message();
  };
  EXPECT_EQ(message({1}, 2), "it is built");
  EXPECT_THAT(message({1, 9}, 2), HasSubstr("the operand (9) is used before it is defined"));
  EXPECT_THAT(message({1, 2}, 2), HasSubstr("the operand (2) is not an input"));
  EXPECT_THAT(message({1}, 1), HasSubstr("the operand (1) is defined twice"));
  EXPECT_THAT(message({1}, 0), HasSubstr("the operand id (0) is reserved"));
}

TEST(GraphAssembler, TooManyOutputs_AreRefused) {
  GraphAssembler assembler;
  assembler.AddInput({1, "a", Floats(4)});
  assembler.AddOperators({Binary(OperatorKind::kAdd, 1, 1, 2)});
  std::vector<ipc::GraphOutput> outputs;
  for (uint32_t i = 0; i <= limits::kGraphEndpointsMax; ++i) {
    outputs.push_back({"y" + std::to_string(i), 2});
  }
  auto graph = std::move(assembler).Finish({1}, outputs);
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().message(), HasSubstr("the number of outputs (1025)"));
}

TEST(GraphAssembler, AbsentOptionalOperand_StaysAbsent) {
  GraphAssembler assembler;
  const std::vector<webidl::Dimension> square = {2u, 2u};
  assembler.AddInput({1, "a", {webidl::OperandDataType::kFloat32, square}});
  assembler.AddOperators({{OperatorKind::kGemm, {1, 1, 0}, {2}, "", webidl::GemmAttributes{}}});
  auto graph = std::move(assembler).Finish({1}, {{"y", 2}});
  ASSERT_TRUE(graph.ok()) << graph.error().ToString();
  ASSERT_EQ(graph->nodes[0].operands.size(), 3u);
  EXPECT_EQ(graph->nodes[0].operands[2], kNoValue);
}

TEST(GraphAssembler, SplitOfWhichOneResultIsUsed_KeepsAll) {
  GraphAssembler assembler;
  assembler.AddInput({1, "a", Floats(4)});
  assembler.AddOperators({{OperatorKind::kSplit, {1}, {2, 3}, "", webidl::SplitAttributes{2u, 0}}});
  auto graph = std::move(assembler).Finish({1}, {{"y", 3}});
  ASSERT_TRUE(graph.ok()) << graph.error().ToString();
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].results.size(), 2u);
  EXPECT_EQ(graph->outputs[0].value, graph->nodes[0].results[1]);
}

TEST(GraphAssembler, TooManyInputs_AreRefused) {
  GraphAssembler assembler;
  for (uint32_t i = 0; i <= limits::kGraphEndpointsMax; ++i) {
    assembler.AddInput({i + 1, "input" + std::to_string(i), Floats(1)});
  }
  auto graph = std::move(assembler).Finish({}, {{"y", 1}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().cause(), Cause::kQuota);
}

TEST(GraphAssembler, TooManyOperators_AreRefused) {
  GraphAssembler assembler;
  assembler.AddInput({1, "a", Floats(1)});
  for (uint32_t i = 0; i <= limits::kOperatorsPerGraphMax; i += 1024) {
    assembler.AddOperators(
        std::vector<webidl::Operator>(1024, Binary(OperatorKind::kAdd, 1, 1, 2)));
  }
  auto graph = std::move(assembler).Finish({1}, {{"y", 2}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().cause(), Cause::kQuota);
}

TEST(GraphAssembler, LongDescriptions_AreRefused) {
  GraphAssembler assembler;
  assembler.AddInput({1, "a", Floats(1)});
  webidl::Operator concat{OperatorKind::kConcat,
                          std::vector<uint32_t>(limits::kOperandsPerOperatorMax, 1),
                          {2},
                          std::string(limits::kLabelBytesMax, 'x'),
                          webidl::ConcatAttributes{0}};
  for (uint64_t bytes = 0; bytes <= limits::kGraphHostBytesMax; bytes += 64 * 4096) {
    EXPECT_FALSE(assembler.failed());
    assembler.AddOperators(std::vector<webidl::Operator>(64, concat));
    if (assembler.failed()) break;
  }
  auto graph = std::move(assembler).Finish({1}, {{"y", 2}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().cause(), Cause::kQuota);
}

TEST(GraphAssembler, TooManyResults_AreRefused) {
  GraphAssembler assembler;
  webidl::Operator split{OperatorKind::kSplit,
                         {1},
                         std::vector<uint32_t>(1024, 2),
                         "",
                         webidl::SplitAttributes{1024u, 0}};
  for (uint32_t i = 0; i <= limits::kOperandsPerGraphMax; i += 1024) {
    assembler.AddOperators({split});
  }
  auto graph = std::move(assembler).Finish({}, {{"y", 2}});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().cause(), Cause::kQuota);
}

}  // namespace
}  // namespace webnnd::service
