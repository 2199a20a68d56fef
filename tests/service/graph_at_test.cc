#include "service/passes/graph_at.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "service/graph/graph_assembler.h"

namespace webnnd::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using webidl::Dimension;
using webidl::DynamicDimension;
using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

const DynamicDimension kPast{"past", 40, 0};
const DynamicDimension kSeq{"seq", 20, 1};
constexpr auto kFloat = OperandDataType::kFloat32;

webidl::Operator Unary(OperatorKind kind, uint32_t x, uint32_t y) {
  return {kind, {x}, {y}, "", webidl::NoAttributes{}};
}

// Inputs 1, 2, ... of these dimensions, then operators.
Graph Assemble(const std::vector<std::vector<Dimension>>& inputs,
               std::vector<webidl::Operator> operators, uint32_t output) {
  GraphAssembler assembler;
  std::vector<uint32_t> ids;
  for (const auto& dimensions : inputs) {
    ids.push_back(static_cast<uint32_t>(ids.size() + 1));
    assembler.AddInput({ids.back(), "x" + std::to_string(ids.back()), {kFloat, dimensions}});
  }
  assembler.AddOperators(std::move(operators));
  auto graph = std::move(assembler).Finish(ids, {{"y", output}});
  EXPECT_TRUE(graph.ok()) << graph.error().ToString();
  return std::move(*graph);
}

// relu(concat(neg(past), new)), of rows of four.
Graph GrowingGraph() {
  return Assemble({{kPast, 4u}, {kSeq, 4u}},
                  {Unary(OperatorKind::kNeg, 1, 3),
                   {OperatorKind::kConcat, {3, 2}, {4}, "", webidl::ConcatAttributes{0}},
                   Unary(OperatorKind::kRelu, 4, 5)},
                  5);
}

const Value& ResultOf(const Graph& graph) { return graph.values[graph.outputs[0].value]; }

std::vector<OperatorKind> Kinds(const Graph& graph) {
  std::vector<OperatorKind> kinds;
  for (const Node& node : graph.nodes) kinds.push_back(node.kind);
  return kinds;
}

TEST(GraphAt, Sizes_GiveAStaticGraph) {
  const Graph graph = GrowingGraph();
  EXPECT_TRUE(IsDynamic(graph));
  auto at = GraphAt(graph, {{"past", 3}, {"seq", 2}});
  ASSERT_TRUE(at.ok()) << at.error().ToString();
  EXPECT_FALSE(IsDynamic(*at));
  EXPECT_TRUE(at->reserves);
  EXPECT_EQ(ResultOf(*at).descriptor.shape(), (Shape{5, 4}));
  EXPECT_EQ(at->values[at->inputs[0].value].descriptor.shape(), (Shape{3, 4}));
  for (const Value& value : at->values) EXPECT_FALSE(value.descriptor.is_dynamic());
  EXPECT_THAT(Kinds(*at),
              ElementsAre(OperatorKind::kNeg, OperatorKind::kConcat, OperatorKind::kRelu));
  // Each result says which node makes it.
  for (size_t i = 0; i < at->nodes.size(); ++i) {
    EXPECT_EQ(at->values[at->nodes[i].results[0]].index, i);
  }
}

TEST(GraphAt, AttributesThatAreDynamic_GetNumbers) {
  webidl::SliceAttributes slice;
  slice.starts = webidl::Sizes(std::vector<Dimension>{DynamicDimension{"seq - 1", 19, 0}, 0u});
  slice.sizes = webidl::Sizes(std::vector<Dimension>{1u, 4u});
  const Graph graph = Assemble({{kSeq, 4u}}, {{OperatorKind::kSlice, {1}, {2}, "", slice}}, 2);
  auto at = GraphAt(graph, {{"seq", 7}});
  ASSERT_TRUE(at.ok()) << at.error().ToString();
  const auto& attributes = std::get<webidl::SliceAttributes>(at->nodes[0].attributes);
  EXPECT_EQ(attributes.starts, (webidl::Sizes{6, 0}));
}

TEST(GraphAt, NothingToWorkOn_IsLeftOut) {
  auto at = GraphAt(GrowingGraph(), {{"past", 0}, {"seq", 2}});
  ASSERT_TRUE(at.ok()) << at.error().ToString();
  EXPECT_THAT(Kinds(*at), ElementsAre(OperatorKind::kConcat, OperatorKind::kRelu));
  EXPECT_EQ(at->nodes[0].operands.size(), 1u);
  EXPECT_EQ(ResultOf(*at).descriptor.shape(), (Shape{2, 4}));
}

TEST(GraphAt, ScatterOfNothing_KeepsItsInput) {
  const Graph graph = Assemble(
      {{8u, 4u}, {kPast, 4u}, {kPast, 4u}},
      {{OperatorKind::kCast, {2}, {4}, "", webidl::CastAttributes{OperandDataType::kInt32}},
       {OperatorKind::kScatterElements, {1, 4, 3}, {5}, "", webidl::ScatterAttributes{0}}},
      5);
  auto some = GraphAt(graph, {{"past", 2}});
  ASSERT_TRUE(some.ok()) << some.error().ToString();
  EXPECT_THAT(Kinds(*some), ElementsAre(OperatorKind::kCast, OperatorKind::kScatterElements));
  auto none = GraphAt(graph, {{"past", 0}});
  ASSERT_TRUE(none.ok()) << none.error().ToString();
  EXPECT_THAT(Kinds(*none), ElementsAre(OperatorKind::kIdentity));
  EXPECT_THAT(none->nodes[0].operands, ElementsAre(graph.inputs[0].value));
}

TEST(GraphAt, SomethingMadeOfNothing_IsRefused) {
  const Graph graph = Assemble(
      {{kPast, 4u}}, {{OperatorKind::kReduceSum, {1}, {2}, "", webidl::ReduceAttributes{}}}, 2);
  EXPECT_TRUE(GraphAt(graph, {{"past", 1}}).ok());
  auto at = GraphAt(graph, {{"past", 0}});
  ASSERT_FALSE(at.ok());
  EXPECT_EQ(at.error().cause(), Cause::kNotSupported);
  EXPECT_THAT(at.error().ToString(), HasSubstr("reduceSum of an operand without elements"));
  EXPECT_THAT(at.error().ToString(), HasSubstr("(past is 0)"));
}

TEST(GraphAt, ResultThatIsNotWhatBuildFound_IsRefused) {
  Graph graph =
      Assemble({{kPast, kSeq}},
               {{OperatorKind::kTranspose, {1}, {2}, "", webidl::TransposeAttributes{}}}, 2);
  // As if it were linear by all samples, and something else in between.
  graph.values[graph.outputs[0].value].descriptor = graph.values[graph.inputs[0].value].descriptor;
  EXPECT_TRUE(GraphAt(graph, {{"past", 5}, {"seq", 5}}).ok());
  auto at = GraphAt(graph, {{"past", 5}, {"seq", 6}});
  ASSERT_FALSE(at.ok());
  EXPECT_EQ(at.error().cause(), Cause::kNotSupported);
  EXPECT_THAT(at.error().message(),
              HasSubstr("float32[6,5], where float32[5,6] follows from the dimensions"));
}

TEST(GraphAt, RoomForAll_IsTheSameForAllSizesButTheSmallest) {
  const Graph graph = GrowingGraph();
  auto reserved = [&](uint32_t past, uint32_t seq, Room room) {
    auto at = GraphAt(graph, {{"past", past}, {"seq", seq}}, room);
    EXPECT_TRUE(at.ok()) << at.error().ToString();
    return ResultOf(*at).reserved_bytes;
  };
  constexpr uint64_t kRowBytes = 16;
  EXPECT_EQ(reserved(2, 2, Room::kAll), 60 * kRowBytes);
  EXPECT_EQ(reserved(40, 20, Room::kAll), 60 * kRowBytes);
  EXPECT_EQ(reserved(30, 1, Room::kAll), 41 * kRowBytes);
  EXPECT_EQ(reserved(0, 7, Room::kAll), 20 * kRowBytes);
  EXPECT_EQ(reserved(11, 1, Room::kSteps), 13 * kRowBytes);
  EXPECT_EQ(reserved(12, 1, Room::kSteps), 13 * kRowBytes);
  EXPECT_EQ(reserved(13, 1, Room::kSteps), 15 * kRowBytes);
  // Not beyond the greatest.
  EXPECT_EQ(reserved(40, 19, Room::kSteps), 60 * kRowBytes);
}

TEST(RoundUpToStep, HasFourStepsToEachDoubling) {
  std::vector<uint64_t> steps;
  for (uint64_t size = 1; size <= 40; ++size) {
    const uint64_t step = RoundUpToStep(size);
    EXPECT_GE(step, size);
    EXPECT_EQ(RoundUpToStep(step), step);
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40));
}

}  // namespace
}  // namespace webnnd::service
