#include "service/passes/pack_block_scales.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/service/fake_evaluator.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

class PackBlockScalesTest : public testing::Test {
 protected:
  ValueId Add(Value::Kind kind, OperandDataType type, const Shape& shape) {
    auto descriptor = OperandDescriptor::Create(type, shape);
    CHECK(descriptor.ok());
    uint32_t index = 0;
    if (kind == Value::Kind::kConstant) {
      index = static_cast<uint32_t>(graph_.constants.size());
      graph_.constants.push_back({*descriptor, index, nullptr});
    }
    graph_.values.push_back({kind, *descriptor, index});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  ValueId Scale(uint32_t rows, Value::Kind kind = Value::Kind::kConstant) {
    return Add(kind, OperandDataType::kFloat32, {rows, kBlocks, 1});
  }
  ValueId ZeroPoint(uint32_t rows) {
    return Add(Value::Kind::kConstant, OperandDataType::kUint4, {rows, kBlocks, 1});
  }
  // A product of a row with weights of `rows` rows.
  Node& AddProduct(uint32_t rows, ValueId scale, ValueId zero_point) {
    Node node;
    node.kind = OperatorKind::kMatmul;
    node.macro = BlockMatmul{};
    node.operands = {Add(Value::Kind::kInput, OperandDataType::kFloat32, {1, kBlocks * kBlock}),
                     Add(Value::Kind::kConstant, OperandDataType::kUint4, {rows, kBlocks, kBlock}),
                     scale, zero_point};
    node.results = {Add(Value::Kind::kResult, OperandDataType::kFloat32, {1, rows})};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back();
  }
  void Pack() {
    Status status = PackBlockScales(graph_, evaluator_);
    EXPECT_TRUE(status.ok()) << status.error().ToString();
  }
  const GraphConstant& Constant(ValueId value) const {
    EXPECT_EQ(graph_.values[value].kind, Value::Kind::kConstant);
    return graph_.constants[graph_.values[value].index];
  }

  static constexpr uint32_t kBlocks = 3;
  static constexpr uint32_t kBlock = 32;
  Graph graph_;
  FakeEvaluator evaluator_;
};

TEST_F(PackBlockScalesTest, ConstantsByBlock_ComeByTilesOfRows) {
  const ValueId scale = Scale(192);
  const ValueId zero_point = ZeroPoint(192);
  AddProduct(192, scale, zero_point);
  Pack();
  const Node& node = graph_.nodes[0];
  const GraphConstant& packed = Constant(node.operands[2]);
  EXPECT_EQ(packed.descriptor.shape(), (Shape{3, kBlocks, 8, 8}));
  EXPECT_EQ(packed.buffer, 100u);
  EXPECT_EQ(graph_.values[node.operands[2]].descriptor.shape(), (Shape{3, kBlocks, 8, 8}));
  EXPECT_EQ(Constant(node.operands[3]).buffer, 101u);
  EXPECT_EQ(Constant(node.operands[3]).descriptor.data_type(), OperandDataType::kUint4);
  // Others, such as a look-up of rows, may still read what it was.
  EXPECT_EQ(Constant(scale).descriptor.shape(), (Shape{192, kBlocks, 1}));
}

TEST_F(PackBlockScalesTest, ConstantsOfTwoProducts_ArePackedOnce) {
  const ValueId scale = Scale(64);
  const ValueId zero_point = ZeroPoint(64);
  AddProduct(64, scale, zero_point);
  AddProduct(64, scale, zero_point);
  Pack();
  ASSERT_EQ(evaluator_.asked.size(), 1u);
  EXPECT_EQ(evaluator_.asked[0].size(), 2u);
  EXPECT_EQ(evaluator_.plans[0].constant_bytes, evaluator_.plans[0].output_bytes);
  EXPECT_EQ(graph_.nodes[0].operands[2], graph_.nodes[1].operands[2]);
}

TEST_F(PackBlockScalesTest, WhatIsNoConstantOrNotByTiles_StaysAsItIs) {
  AddProduct(72, Scale(72), ZeroPoint(72));
  AddProduct(64, Scale(64, Value::Kind::kInput), ZeroPoint(64));
  const Graph before = graph_;
  Pack();
  EXPECT_TRUE(evaluator_.asked.empty());
  for (size_t i : {0u, 1u}) EXPECT_EQ(graph_.nodes[i].operands, before.nodes[i].operands);
}

TEST_F(PackBlockScalesTest, AFailureToCompute_IsTheBuilds) {
  AddProduct(64, Scale(64), ZeroPoint(64));
  evaluator_.fails = true;
  EXPECT_FALSE(PackBlockScales(graph_, evaluator_).ok());
}

}  // namespace
}  // namespace webnnd::service
