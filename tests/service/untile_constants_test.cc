#include "service/passes/untile_constants.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/service/fake_evaluator.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

class UntileConstantsTest : public testing::Test {
 protected:
  ValueId Add(Value::Kind kind, OperandDataType type, const Shape& shape, uint32_t index = 0) {
    graph_.values.push_back({kind, *OperandDescriptor::Create(type, shape), index});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  ValueId AddConstant(OperandDataType type, const Shape& shape, uint32_t tiled_loads = 0) {
    const auto index = static_cast<uint32_t>(graph_.constants.size());
    graph_.constants.push_back(
        {*OperandDescriptor::Create(type, shape), index, nullptr, tiled_loads});
    return Add(Value::Kind::kConstant, type, shape, index);
  }
  ValueId AddWeights(const Shape& shape = {64, 3, 32}) {
    return AddConstant(OperandDataType::kUint4, shape, 3);
  }
  ValueId AddResult(OperandDataType type, const Shape& shape) {
    return Add(Value::Kind::kResult, type, shape, static_cast<uint32_t>(graph_.nodes.size()));
  }
  // Nodes, by their indices.
  size_t AddProduct(ValueId weights) {
    Node node;
    node.kind = OperatorKind::kMatmul;
    node.macro = BlockMatmul{};
    node.operands = {Add(Value::Kind::kInput, OperandDataType::kFloat32, {1, 96}), weights,
                     AddConstant(OperandDataType::kFloat32, {64, 3, 1}),
                     AddConstant(OperandDataType::kUint4, {64, 3, 1})};
    node.results = {AddResult(OperandDataType::kFloat32, {1, 64})};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }
  size_t AddGather(ValueId table, uint32_t axis) {
    Node node;
    node.kind = OperatorKind::kGather;
    node.operands = {table, AddConstant(OperandDataType::kInt32, {2})};
    Shape shape = graph_.values[table].descriptor.shape();
    shape[axis] = 2;
    node.results = {AddResult(OperandDataType::kUint4, shape)};
    node.attributes = webidl::GatherAttributes{.axis = axis};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }
  size_t AddIdentity(ValueId value) {
    Node node;
    node.kind = OperatorKind::kIdentity;
    node.operands = {value};
    node.results = {AddResult(OperandDataType::kUint4, graph_.values[value].descriptor.shape())};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }
  void Untile(ConstantEvaluator* evaluator) {
    Status status = UntileConstants(graph_, evaluator);
    EXPECT_TRUE(status.ok()) << status.error().ToString();
  }
  const GraphConstant& Constant(ValueId value) const {
    EXPECT_EQ(graph_.values[value].kind, Value::Kind::kConstant);
    return graph_.constants[graph_.values[value].index];
  }

  Graph graph_;
  FakeEvaluator evaluator_;
};

TEST_F(UntileConstantsTest, ProductsAndLookUps_ReadTiles) {
  const ValueId weights = AddWeights();
  AddProduct(weights);
  AddGather(weights, 0);
  Untile(&evaluator_);
  Untile(nullptr);
  EXPECT_TRUE(evaluator_.asked.empty());
  ASSERT_EQ(graph_.nodes.size(), 2u);
  EXPECT_EQ(graph_.nodes[0].operands[1], weights);
  EXPECT_EQ(graph_.nodes[1].operands[0], weights);
}

TEST_F(UntileConstantsTest, OtherReaders_ShareWhatIsPutInOrderOnce) {
  const ValueId weights = AddWeights();
  AddProduct(weights);
  AddGather(weights, 1);
  AddIdentity(weights);
  graph_.outputs.push_back({"weights", weights});
  Untile(&evaluator_);
  ASSERT_EQ(evaluator_.asked.size(), 1u);
  EXPECT_EQ(evaluator_.asked[0], std::vector<uint32_t>{0});
  EXPECT_EQ(graph_.nodes[0].operands[1], weights);
  const ValueId untiled = graph_.nodes[1].operands[0];
  EXPECT_NE(untiled, weights);
  EXPECT_EQ(graph_.nodes[2].operands[0], untiled);
  EXPECT_EQ(graph_.outputs[0].value, untiled);
  EXPECT_EQ(Constant(untiled).buffer, 100u);
  EXPECT_EQ(Constant(untiled).tiled_loads, 0u);
  EXPECT_EQ(Constant(untiled).descriptor.shape(), (Shape{64, 3, 32}));
}

TEST_F(UntileConstantsTest, RowsOfAnotherLength_AreNoRowsOfTiles) {
  // As a reshape of [64, 3, 32] that was folded.
  AddGather(AddWeights({192, 1, 32}), 0);
  AddGather(AddWeights({32, 6, 32}), 0);
  Untile(&evaluator_);
  ASSERT_EQ(evaluator_.asked.size(), 1u);
  EXPECT_EQ(evaluator_.asked[0].size(), 2u);
}

TEST_F(UntileConstantsTest, WithoutAnEvaluator_EachRunPutsItInOrder) {
  const ValueId weights = AddWeights();
  AddIdentity(weights);
  AddIdentity(weights);
  Untile(nullptr);
  ASSERT_EQ(graph_.nodes.size(), 4u);
  EXPECT_EQ(graph_.nodes[0].kind, OperatorKind::kTranspose);
  const ValueId by_tiles = graph_.nodes[0].operands[0];
  EXPECT_EQ(Constant(by_tiles).buffer, Constant(weights).buffer);
  EXPECT_EQ(Constant(by_tiles).tiled_loads, 0u);
  EXPECT_EQ(Constant(by_tiles).descriptor.shape(), (Shape{2, 3, 32, 32}));
  EXPECT_EQ(graph_.nodes[1].kind, OperatorKind::kReshape);
  for (size_t i : {2u, 3u}) {
    EXPECT_EQ(graph_.nodes[i].operands[0], graph_.nodes[1].results[0]);
    EXPECT_EQ(graph_.values[graph_.nodes[i].results[0]].index, i);
  }
}

TEST_F(UntileConstantsTest, AFailureToCompute_IsTheBuilds) {
  AddIdentity(AddWeights());
  evaluator_.fails = true;
  EXPECT_FALSE(UntileConstants(graph_, &evaluator_).ok());
}

}  // namespace
}  // namespace webnnd::service
