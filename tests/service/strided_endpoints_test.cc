#include "service/passes/strided_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace webnnd::service {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

OperandDescriptor Floats(const Shape& shape) {
  auto descriptor = OperandDescriptor::Create(webidl::OperandDataType::kFloat32,
                                              std::span<const uint32_t>(shape));
  CHECK(descriptor.ok());
  return std::move(*descriptor);
}

// A graph made by hand, with the capacities of its tensors.
class Maker {
 public:
  ValueId Input(const Shape& shape, const Shape& capacity) {
    const auto index = static_cast<uint32_t>(graph.inputs.size());
    const ValueId value = Add(Value::Kind::kInput, shape, index);
    graph.inputs.push_back({"i" + std::to_string(index), value});
    options.input_capacities.push_back(capacity);
    return value;
  }
  ValueId Node(service::Node node, const Shape& shape) {
    const ValueId value =
        Add(Value::Kind::kResult, shape, static_cast<uint32_t>(graph.nodes.size()));
    node.results = {value};
    graph.nodes.push_back(std::move(node));
    return value;
  }
  ValueId Neg(ValueId x) { return Node({.kind = OperatorKind::kNeg, .operands = {x}}, shape(x)); }
  ValueId Concat(ValueId a, ValueId b, uint32_t axis) {
    Shape sum = shape(a);
    sum[axis] += shape(b)[axis];
    return Node({.kind = OperatorKind::kConcat,
                 .operands = {a, b},
                 .attributes = webidl::ConcatAttributes{axis}},
                sum);
  }
  void Output(ValueId value, const Shape& capacity) {
    graph.outputs.push_back({"o" + std::to_string(graph.outputs.size()), value});
    options.output_capacities.push_back(capacity);
  }
  Plan MakePlan() {
    auto compiled = PlanGraph(graph, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().ToString();
    return compiled.ok() ? std::move(compiled->plan) : Plan();
  }
  const Shape& shape(ValueId value) const { return graph.values[value].descriptor.shape(); }

  Graph graph;
  PlanOptions options;

 private:
  ValueId Add(Value::Kind kind, const Shape& shape, uint32_t index) {
    graph.values.push_back({kind, Floats(shape), index});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
};

std::vector<std::string> Labels(const Plan& plan) {
  std::vector<std::string> labels;
  for (const KernelCall& call : plan.calls) labels.push_back(call.label);
  return labels;
}

// Bytes that calls with the label read and write.
uint64_t BytesMoved(const Plan& plan, const std::string& label) {
  uint64_t bytes = 0;
  for (const KernelCall& call : plan.calls) bytes += call.label == label ? call.cost : 0;
  return bytes;
}

bool Touches(const KernelCall& call, BufferSpace space, uint32_t index) {
  return std::any_of(call.buffers.begin(), call.buffers.end(), [&](const BufferRef& buffer) {
    return buffer.space == space && buffer.index == index;
  });
}

testing::Matcher<CapacityDimension> Is(uint32_t size, uint32_t stride) {
  return testing::AllOf(testing::Field(&CapacityDimension::size, size),
                        testing::Field(&CapacityDimension::stride, stride));
}

TEST(DimensionsInCapacity, ContiguousOnes_AreJoined) {
  auto dimensions = [](Shape shape, Shape capacity) {
    return DimensionsInCapacity(shape, capacity);
  };
  EXPECT_THAT(dimensions({2, 3, 4}, {2, 3, 4}), ElementsAre(Is(24, 1)));
  EXPECT_THAT(dimensions({2, 3, 4}, {5, 3, 4}), ElementsAre(Is(24, 1)));
  EXPECT_THAT(dimensions({2, 3, 4}, {2, 5, 4}), ElementsAre(Is(2, 20), Is(12, 1)));
  EXPECT_THAT(dimensions({2, 3, 4}, {2, 3, 7}), ElementsAre(Is(6, 7), Is(4, 1)));
  EXPECT_THAT(dimensions({2, 3, 4}, {2, 5, 7}), ElementsAre(Is(2, 35), Is(3, 7), Is(4, 1)));
  // Of one element, wherever they are.
  EXPECT_THAT(dimensions({1, 3, 4}, {6, 5, 4}), ElementsAre(Is(12, 1)));
  EXPECT_THAT(dimensions({2, 3, 1}, {2, 3, 7}), ElementsAre(Is(6, 7)));
  EXPECT_THAT(dimensions({1, 1}, {9, 9}), IsEmpty());
  EXPECT_THAT(dimensions({}, {}), IsEmpty());
}

TEST(LiesPacked, OnlyWithoutGaps) {
  EXPECT_TRUE(LiesPacked(Shape{2, 3}, Shape{2, 3}));
  EXPECT_TRUE(LiesPacked(Shape{2, 3}, Shape{9, 3}));
  EXPECT_TRUE(LiesPacked(Shape{1, 2}, Shape{9, 3}));
  EXPECT_TRUE(LiesPacked(Shape{}, Shape{}));
  EXPECT_FALSE(LiesPacked(Shape{2, 3}, Shape{2, 4}));
  EXPECT_FALSE(LiesPacked(Shape{2, 1}, Shape{2, 4}));
}

TEST(StridedEndpoints, PackedTensors_NeedNoCopies) {
  Maker maker;
  maker.Output(maker.Neg(maker.Input({3, 4}, {9, 4})), {7, 4});
  const Plan plan = maker.MakePlan();
  EXPECT_THAT(Labels(plan), ElementsAre("neg"));
  // Tensors are seen at their capacity, so that any shape has the same descriptors.
  EXPECT_THAT(plan.input_bytes, ElementsAre(9 * 4 * 4));
  EXPECT_THAT(plan.output_bytes, ElementsAre(7 * 4 * 4));
}

TEST(StridedEndpoints, TensorsWithGaps_ArePackedAndUnpacked) {
  Maker maker;
  maker.Output(maker.Neg(maker.Input({3, 4}, {3, 9})), {5, 6});
  const Plan plan = maker.MakePlan();
  EXPECT_THAT(Labels(plan), ElementsAre("pack", "neg", "unpack"));
  EXPECT_EQ(BytesMoved(plan, "pack"), 2 * 12 * 4u);
  EXPECT_EQ(BytesMoved(plan, "unpack"), 2 * 12 * 4u);
}

TEST(StridedEndpoints, TensorThatGrows_GetsTheNewRowsAlone) {
  Maker maker;
  const ValueId past = maker.Input({2, 5, 4}, {2, 9, 4}), rows = maker.Input({2, 1, 4}, {2, 1, 4});
  maker.Output(maker.Concat(past, rows, 1), {2, 9, 4});
  maker.options.aliases = {{0, 0}};
  const Plan plan = maker.MakePlan();
  EXPECT_THAT(Labels(plan), ElementsAre("append"));
  EXPECT_EQ(BytesMoved(plan, "append"), 2 * 8 * 4u);
  EXPECT_FALSE(Touches(plan.calls[0], BufferSpace::kInput, 0));
}

TEST(StridedEndpoints, TensorThatGrowsAndIsRead_IsPackedAfterwards) {
  Maker maker;
  const ValueId past = maker.Input({2, 5, 4}, {2, 9, 4}), rows = maker.Input({2, 1, 4}, {2, 1, 4});
  const ValueId present = maker.Concat(past, rows, 1);
  maker.Output(present, {2, 9, 4});
  maker.Output(maker.Neg(present), {2, 6, 4});
  maker.options.aliases = {{0, 0}};
  EXPECT_THAT(Labels(maker.MakePlan()), ElementsAre("append", "pack", "neg"));
}

// Two tensors that swap roles: what is in use moves once, however much there is room for.
TEST(StridedEndpoints, AnotherTensor_GetsTheRowsInUse) {
  for (uint32_t capacity : {7u, 100u, 1000u}) {
    Maker maker;
    const ValueId past = maker.Input({2, 5, 4}, {2, capacity, 4});
    const ValueId rows = maker.Input({2, 1, 4}, {2, 1, 4});
    maker.Output(maker.Concat(past, rows, 1), {2, capacity, 4});
    const Plan plan = maker.MakePlan();
    EXPECT_THAT(Labels(plan), ElementsAre("append", "append"));
    EXPECT_EQ(BytesMoved(plan, "append"), 2 * (2 * 6 * 4) * 4u) << capacity;
  }
}

TEST(StridedEndpoints, AnotherTensorOfRowsThatOthersRead_IsPackedOnce) {
  Maker maker;
  const ValueId past = maker.Input({2, 5, 4}, {2, 9, 4}), rows = maker.Input({2, 1, 4}, {2, 1, 4});
  maker.Output(maker.Concat(past, rows, 1), {2, 9, 4});
  maker.Output(maker.Neg(past), {2, 5, 4});
  EXPECT_THAT(Labels(maker.MakePlan()), ElementsAre("pack", "append", "append", "neg"));
}

TEST(StridedEndpoints, MoreGapsThanARunHas_TakeACopyEach) {
  Maker maker;
  const ValueId past = maker.Input({3, 2, 5, 4}, {3, 3, 9, 7});
  const ValueId rows = maker.Input({3, 2, 1, 4}, {3, 2, 1, 4});
  maker.Output(maker.Concat(past, rows, 2), {3, 3, 9, 7});
  const Plan plan = maker.MakePlan();
  const std::vector<std::string> labels = Labels(plan);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "append"), 3 * 2 + 3);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "pack"), 1);
}

TEST(StridedEndpoints, TooManyGaps_AreRefused) {
  Maker maker;
  maker.Output(maker.Neg(maker.Input({17, 300, 2, 4}, {17, 300, 2, 4})), {17, 301, 3, 5});
  auto compiled = PlanGraph(maker.graph, maker.options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().cause(), Cause::kNotSupported);
  EXPECT_THAT(compiled.error().message(), HasSubstr("so many separate parts (5100)"));
}

// --- Attention ----------------------------------------------------------------------------------

constexpr uint32_t kHeads = 2, kHeadSize = 8;

// Attention of one row to caches that grow by it; of as many heads as they have, or reshaped to
// fewer of more keys.
void MakeAttention(Maker& maker, uint32_t key_capacity, uint32_t value_capacity,
                   uint32_t key_value_heads = kHeads) {
  const ValueId queries = maker.Input({1, kHeads * kHeadSize}, {1, kHeads * kHeadSize});
  std::vector<ValueId> present;
  for (uint32_t capacity : {key_capacity, value_capacity}) {
    const Shape most = {kHeads, capacity, kHeadSize};
    const ValueId past = maker.Input({kHeads, 5, kHeadSize}, most);
    const ValueId row = maker.Input({kHeads, 1, kHeadSize}, {kHeads, 1, kHeadSize});
    present.push_back(maker.Concat(past, row, 1));
  }
  Attention macro;
  macro.key_value_heads = key_value_heads;
  macro.group = kHeads / key_value_heads;
  macro.head_size = kHeadSize;
  macro.reach = 6;
  Node node{.kind = OperatorKind::kMatmul, .label = "attention", .macro = macro};
  node.operands = {queries, present[0], present[1], kNoValue, kNoValue, kNoValue, kNoValue};
  const ValueId result = maker.Node(std::move(node), {1, kHeads * kHeadSize});
  maker.Output(present[0], {kHeads, key_capacity, kHeadSize});
  maker.Output(present[1], {kHeads, value_capacity, kHeadSize});
  maker.Output(result, {1, kHeads * kHeadSize});
  maker.options.aliases = {{1, 0}, {3, 1}};
}

TEST(StridedEndpoints, Attention_ReadsCachesWhereTheyLie) {
  Maker maker;
  MakeAttention(maker, 20, 20);
  const Plan plan = maker.MakePlan();
  EXPECT_THAT(Labels(plan), ElementsAre("append", "append", "attention"));
  const KernelCall& call = plan.calls[2];
  for (uint32_t output : {0u, 1u}) EXPECT_TRUE(Touches(call, BufferSpace::kOutput, output));
  EXPECT_EQ(call.parameters[2], 6u);    // Keys.
  EXPECT_EQ(call.parameters[15], 20u);  // Capacity.
  EXPECT_EQ(plan.arena_bytes, 0u);
}

TEST(StridedEndpoints, AttentionToCachesOfTwoCapacities_ReadsThemPacked) {
  Maker maker;
  MakeAttention(maker, 20, 24);
  const Plan plan = maker.MakePlan();
  EXPECT_THAT(Labels(plan), ElementsAre("append", "pack", "append", "pack", "attention"));
  EXPECT_EQ(plan.calls.back().parameters[2], 6u);
  EXPECT_EQ(plan.calls.back().parameters[15], 6u);
}

// Where each head lies in its own room, two of them are not one of twice the keys.
TEST(StridedEndpoints, AttentionToCachesReshapedToOtherHeads_ReadsThemPacked) {
  Maker maker;
  MakeAttention(maker, 20, 20, /*key_value_heads=*/1);
  const Plan plan = maker.MakePlan();
  EXPECT_THAT(Labels(plan), ElementsAre("append", "pack", "append", "pack", "attention"));
  EXPECT_EQ(plan.calls.back().parameters[2], 2 * 6u);
  EXPECT_EQ(plan.calls.back().parameters[15], 2 * 6u);
}

TEST(StridedEndpoints, CacheThatOthersReadToo_IsPackedForThem) {
  Maker maker;
  MakeAttention(maker, 20, 20);
  maker.Output(maker.Neg(maker.graph.outputs[0].value), {kHeads, 6, kHeadSize});
  const Plan plan = maker.MakePlan();
  EXPECT_THAT(Labels(plan), ElementsAre("append", "pack", "append", "attention", "neg"));
  EXPECT_EQ(plan.calls[3].parameters[15], 20u);
}

}  // namespace
}  // namespace webnnd::service
