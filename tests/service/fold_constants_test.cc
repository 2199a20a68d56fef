#include "service/passes/fold_constants.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/service/fake_evaluator.h"
#include "webidl/operator_table.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;

class GraphMaker {
 public:
  ValueId Input(std::vector<uint32_t> shape) {
    auto index = static_cast<uint32_t>(graph.inputs.size());
    graph.inputs.push_back(
        {"i" + std::to_string(index),
         AddValue(Value::Kind::kInput, shape, OperandDataType::kFloat32, index)});
    return graph.inputs.back().value;
  }
  ValueId Constant(std::vector<uint32_t> shape, uint32_t buffer,
                   OperandDataType type = OperandDataType::kFloat32) {
    auto index = static_cast<uint32_t>(graph.constants.size());
    ValueId value = AddValue(Value::Kind::kConstant, shape, type, index);
    graph.constants.push_back({graph.values[value].descriptor, buffer, nullptr});
    return value;
  }
  std::vector<ValueId> Node(OperatorKind kind, std::vector<ValueId> operands,
                            webidl::OperatorAttributes attributes = webidl::NoAttributes{}) {
    std::vector<const webidl::OperandDescriptor*> descriptors;
    for (ValueId value : operands) descriptors.push_back(&graph.values[value].descriptor);
    auto inferred = webidl::InferOperator(kind, descriptors, attributes, "");
    CHECK(inferred.ok());
    service::Node node{kind, std::move(operands), {}, "", std::move(attributes)};
    for (const webidl::OperandDescriptor& descriptor : *inferred) {
      node.results.push_back(static_cast<ValueId>(graph.values.size()));
      graph.values.push_back(
          {Value::Kind::kResult, descriptor, static_cast<uint32_t>(graph.nodes.size())});
    }
    std::vector<ValueId> results = node.results;
    graph.nodes.push_back(std::move(node));
    return results;
  }
  void Fold() {
    Status status = FoldConstants(graph, evaluator);
    EXPECT_TRUE(status.ok()) << status.error().ToString();
  }
  // The buffer that the value has become; none when it is no constant.
  uint32_t BufferOf(ValueId value) const {
    if (graph.values[value].kind != Value::Kind::kConstant) return 0;
    return graph.constants[graph.values[value].index].buffer;
  }

  Graph graph;
  FakeEvaluator evaluator;

 private:
  ValueId AddValue(Value::Kind kind, const std::vector<uint32_t>& shape, OperandDataType type,
                   uint32_t index) {
    auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
    CHECK(descriptor.ok());
    graph.values.push_back({kind, *descriptor, index});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
};

TEST(FoldConstants, OperatorOnConstants_BecomesOne) {
  GraphMaker maker;
  ValueId a = maker.Constant({4}, 1);
  ValueId b = maker.Constant({4}, 2);
  ValueId sum = maker.Node(OperatorKind::kAdd, {a, b})[0];
  ValueId y = maker.Node(OperatorKind::kMul, {maker.Input({4}), sum})[0];
  maker.graph.outputs.push_back({"y", y});
  maker.Fold();
  EXPECT_EQ(maker.evaluator.asked, (std::vector<std::vector<uint32_t>>{{1, 2}}));
  EXPECT_EQ(maker.BufferOf(sum), 100u);
  ASSERT_EQ(maker.graph.nodes.size(), 1u);
  EXPECT_EQ(maker.graph.nodes[0].kind, OperatorKind::kMul);
  EXPECT_EQ(maker.graph.values[y].index, 0u);
}

TEST(FoldConstants, Chain_IsFoldedWhole) {
  GraphMaker maker;
  ValueId a = maker.Constant({4}, 1);
  ValueId negative = maker.Node(OperatorKind::kNeg, {a})[0];
  ValueId sum = maker.Node(OperatorKind::kAdd, {negative, a})[0];
  maker.graph.outputs.push_back({"y", sum});
  maker.Fold();
  EXPECT_EQ(maker.evaluator.asked, (std::vector<std::vector<uint32_t>>{{1}}));
  const Plan& plan = maker.evaluator.plans.at(0);
  EXPECT_EQ(plan.calls.size() - plan.copy_count, 2u);
  EXPECT_TRUE(maker.graph.nodes.empty());
  EXPECT_EQ(maker.BufferOf(sum), 100u);
}

TEST(FoldConstants, SeveralResultsThatAreNeeded_ComeOfOneRun) {
  GraphMaker maker;
  ValueId a = maker.Constant({4}, 1);
  ValueId negative = maker.Node(OperatorKind::kNeg, {a})[0];
  ValueId unneeded = maker.Node(OperatorKind::kAbs, {negative})[0];
  ValueId sum = maker.Node(OperatorKind::kAdd, {unneeded, a})[0];
  ValueId input = maker.Input({4});
  ValueId y = maker.Node(OperatorKind::kMul, {input, negative})[0];
  ValueId z = maker.Node(OperatorKind::kMul, {y, sum})[0];
  maker.graph.outputs.push_back({"z", z});
  maker.graph.outputs.push_back({"sum", sum});
  maker.Fold();
  EXPECT_EQ(maker.evaluator.asked, (std::vector<std::vector<uint32_t>>{{1}}));
  EXPECT_EQ(maker.BufferOf(negative), 100u);
  EXPECT_EQ(maker.BufferOf(sum), 101u);
  EXPECT_EQ(maker.BufferOf(unneeded), 0u);
  ASSERT_EQ(maker.graph.nodes.size(), 2u);
  EXPECT_EQ(maker.graph.values[y].index, 0u);
  EXPECT_EQ(maker.graph.values[z].index, 1u);
}

TEST(FoldConstants, ReshapeOfWhatWasFolded_SharesItsBytes) {
  GraphMaker maker;
  ValueId a = maker.Constant({4}, 1);
  ValueId negative = maker.Node(OperatorKind::kNeg, {a})[0];
  ValueId square =
      maker.Node(OperatorKind::kReshape, {negative}, webidl::ReshapeAttributes{{2, 2}})[0];
  ValueId absolute = maker.Node(OperatorKind::kAbs, {square})[0];
  maker.graph.outputs = {{"x", negative}, {"y", square}, {"z", absolute}};
  maker.Fold();
  EXPECT_EQ(maker.evaluator.asked, (std::vector<std::vector<uint32_t>>{{1}}));
  EXPECT_EQ(maker.BufferOf(negative), 100u);
  EXPECT_EQ(maker.BufferOf(square), 100u);
  EXPECT_EQ(maker.BufferOf(absolute), 101u);
  EXPECT_EQ(maker.graph.constants[maker.graph.values[square].index].descriptor.shape(),
            (webidl::Shape{2, 2}));
}

TEST(FoldConstants, ReshapeAndIdentity_ShareTheBytes) {
  GraphMaker maker;
  ValueId a = maker.Constant({4}, 7);
  ValueId square = maker.Node(OperatorKind::kReshape, {a}, webidl::ReshapeAttributes{{2, 2}})[0];
  ValueId same = maker.Node(OperatorKind::kIdentity, {square})[0];
  maker.graph.outputs.push_back({"y", same});
  maker.Fold();
  EXPECT_TRUE(maker.evaluator.asked.empty());
  EXPECT_EQ(maker.BufferOf(same), 7u);
  EXPECT_EQ(maker.graph.values[same].descriptor.shape(), (webidl::Shape{2, 2}));
}

TEST(FoldConstants, ResultThatIsLarger_IsLeft) {
  GraphMaker maker;
  ValueId a = maker.Constant({1}, 1);
  ValueId row = maker.Node(OperatorKind::kExpand, {a}, webidl::ExpandAttributes{{64}})[0];
  maker.Fold();
  EXPECT_TRUE(maker.evaluator.asked.empty());
  EXPECT_EQ(maker.BufferOf(row), 0u);
  EXPECT_EQ(maker.graph.nodes.size(), 1u);
}

TEST(FoldConstants, DequantizeLinear_IsLeft) {
  GraphMaker maker;
  // A result no larger than the operands, so that only the operator's kind speaks against it.
  ValueId x = maker.Constant({2}, 1, OperandDataType::kInt8);
  ValueId scale = maker.Constant({2}, 2);
  ValueId zero = maker.Constant({2}, 3, OperandDataType::kInt8);
  maker.Node(OperatorKind::kDequantizeLinear, {x, scale, zero});
  maker.Fold();
  EXPECT_TRUE(maker.evaluator.asked.empty());
  EXPECT_EQ(maker.graph.nodes.size(), 1u);
}

TEST(FoldConstants, OperatorWithAnInput_IsLeft) {
  GraphMaker maker;
  ValueId a = maker.Constant({4}, 1);
  maker.Node(OperatorKind::kAdd, {maker.Input({4}), a});
  maker.Fold();
  EXPECT_TRUE(maker.evaluator.asked.empty());
  EXPECT_EQ(maker.graph.nodes.size(), 1u);
}

TEST(FoldConstants, OperatorWithSeveralResults_IsLeft) {
  GraphMaker maker;
  maker.Node(OperatorKind::kSplit, {maker.Constant({4}, 1)}, webidl::SplitAttributes{2u, 0});
  maker.Fold();
  EXPECT_EQ(maker.graph.nodes.size(), 1u);
}

TEST(FoldConstants, EvaluatorThatFails_FailsTheBuild) {
  GraphMaker maker;
  maker.evaluator.fails = true;
  ValueId y = maker.Node(OperatorKind::kNeg, {maker.Constant({4}, 1)})[0];
  maker.graph.outputs.push_back({"y", y});
  Status status = FoldConstants(maker.graph, maker.evaluator);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().cause(), Cause::kOutOfMemory);
}

TEST(CompileGraph, FoldingTurnedOff_FoldsNothing) {
  GraphMaker maker;
  ValueId y = maker.Node(OperatorKind::kNeg, {maker.Constant({4}, 1)})[0];
  maker.graph.outputs.push_back({"y", y});
  auto compiled = CompileGraph(std::move(maker.graph),
                               {.constant_folding = false, .evaluator = &maker.evaluator});
  ASSERT_TRUE(compiled.ok()) << compiled.error().ToString();
  EXPECT_TRUE(maker.evaluator.asked.empty());
  EXPECT_EQ(compiled->constant_buffers, std::vector<uint32_t>{1});
}

}  // namespace
}  // namespace webnnd::service
