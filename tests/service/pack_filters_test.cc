#include "service/passes/pack_filters.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/service/fake_evaluator.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/service_fixture.h"

namespace webnnd::service {
namespace {

using webidl::Conv2dAttributes;
using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

class PackFiltersTest : public testing::Test {
 protected:
  ValueId Add(Value::Kind kind, const Shape& shape) {
    auto descriptor = OperandDescriptor::Create(OperandDataType::kFloat32, shape);
    CHECK(descriptor.ok());
    uint32_t index = 0;
    if (kind == Value::Kind::kConstant) {
      index = static_cast<uint32_t>(graph_.constants.size());
      graph_.constants.push_back({*descriptor, index, nullptr});
    }
    graph_.values.push_back({kind, *descriptor, index});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  // 1x1, of an image of `size` by `size`.
  void AddConvolution(ValueId filter, uint32_t channels, uint32_t filters, uint32_t size) {
    Node node;
    node.kind = OperatorKind::kConv2d;
    node.attributes = Conv2dAttributes{};
    node.operands = {Add(Value::Kind::kInput, {1, channels, size, size}), filter, kNoValue};
    node.results = {Add(Value::Kind::kResult, {1, filters, size, size})};
    graph_.nodes.push_back(std::move(node));
  }
  void Pack() {
    Status status = PackFilters(graph_, evaluator_);
    EXPECT_TRUE(status.ok()) << status.error().ToString();
  }

  Graph graph_;
  FakeEvaluator evaluator_;
};

TEST_F(PackFiltersTest, FilterOfATallProduct_ComesInPanels) {
  const ValueId filter = Add(Value::Kind::kConstant, {50, 90, 1, 1});
  AddConvolution(filter, 90, 50, 32);
  Pack();
  ASSERT_EQ(evaluator_.asked, (std::vector<std::vector<uint32_t>>{{0}}));
  const ValueId packed = graph_.nodes[0].operands[1];
  ASSERT_NE(packed, filter);
  // Whole panels of 32 rows, and whole blocks of 8 channels.
  const Shape panels = {2, 32 * 96};
  const Value& value = graph_.values[packed];
  EXPECT_EQ(value.kind, Value::Kind::kConstant);
  EXPECT_EQ(value.descriptor.shape(), panels);
  ASSERT_NE(value.panels_of, nullptr);
  EXPECT_EQ(value.panels_of->shape(), (Shape{50, 90, 1, 1}));
  EXPECT_EQ(graph_.constants[value.index].buffer, 100u);
  EXPECT_EQ(graph_.constants[value.index].descriptor.shape(), panels);
  EXPECT_EQ(evaluator_.plans.at(0).output_bytes,
            std::vector<uint64_t>{graph_.constants[value.index].descriptor.byte_length()});
  // Others may still read what it was.
  EXPECT_EQ(graph_.values[filter].descriptor.shape(), (Shape{50, 90, 1, 1}));
}

TEST_F(PackFiltersTest, WhatIsNoConstantOrNotTall_StaysAsItIs) {
  AddConvolution(Add(Value::Kind::kInput, {50, 90, 1, 1}), 90, 50, 32);
  AddConvolution(Add(Value::Kind::kConstant, {8, 90, 1, 1}), 90, 8, 32);
  const Graph before = graph_;
  Pack();
  EXPECT_TRUE(evaluator_.asked.empty());
  for (size_t i : {0u, 1u}) EXPECT_EQ(graph_.nodes[i].operands, before.nodes[i].operands);
}

TEST_F(PackFiltersTest, FiltersBeyondTheLimit_StayAsTheyAre) {
  // 9 MiB each.
  const ValueId first = Add(Value::Kind::kConstant, {1536, 1536, 1, 1});
  const ValueId second = Add(Value::Kind::kConstant, {1536, 1536, 1, 1});
  const ValueId small = Add(Value::Kind::kConstant, {64, 64, 1, 1});
  AddConvolution(first, 1536, 1536, 16);
  AddConvolution(second, 1536, 1536, 16);
  AddConvolution(small, 64, 64, 64);
  Pack();
  EXPECT_NE(graph_.nodes[0].operands[1], first);
  EXPECT_EQ(graph_.nodes[1].operands[1], second);
  EXPECT_NE(graph_.nodes[2].operands[1], small);
  ASSERT_EQ(evaluator_.asked.size(), 1u);
  EXPECT_EQ(evaluator_.asked[0].size(), 2u);
}

TEST_F(PackFiltersTest, AFailureToCompute_IsTheBuilds) {
  AddConvolution(Add(Value::Kind::kConstant, {50, 90, 1, 1}), 90, 50, 32);
  evaluator_.fails = true;
  EXPECT_FALSE(PackFilters(graph_, evaluator_).ok());
}

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  CHECK(result.ok());
  return *std::move(result);
}

class PackedFilters : public ServiceTest {
 protected:
  struct Ran {
    uint32_t kernels = 0;
    std::vector<std::byte> bytes;
  };

  Ran Run(OperandDataType type, const webnn::Conv2dOptions& options, const Shape& input,
          const Shape& filter, bool folding) {
    auto context = MakeContext({.constant_folding = folding});
    webnn::GraphBuilder builder(context);
    auto x = Must(builder.Input("x", type, input));
    auto weights = Must(builder.Constant(type, filter, Random(type, filter, 1).bytes));
    auto y = Must(builder.Relu(Must(builder.Conv2d(x, weights, options))));
    auto graph = Must(ml().Wait(builder.Build({{"y", y}})));
    const HostTensor data = Random(type, input, 2);
    auto from = MakeTensor(*context, data.descriptor, data.bytes);
    auto to = MakeTensor(*context, y.descriptor());
    CHECK(context->Dispatch(*graph, {{"x", from}}, {{"y", to}}).ok());
    return {graph->kernel_count(), Must(ml().Wait(context->ReadTensor(*to)))};
  }

  // The same bits as of a filter that is packed at each dispatch, by one kernel less.
  void ExpectSame(OperandDataType type, const webnn::Conv2dOptions& options, const Shape& input,
                  const Shape& filter) {
    const Ran packed = Run(type, options, input, filter, /*folding=*/true);
    const Ran plain = Run(type, options, input, filter, /*folding=*/false);
    EXPECT_EQ(packed.kernels + 1, plain.kernels);
    EXPECT_TRUE(packed.bytes == plain.bytes);
  }

  static HostTensor Random(OperandDataType type, const Shape& shape, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> real(-2, 2);
    size_t count = 1;
    for (uint32_t size : shape) count *= size;
    std::vector<long double> values(count);
    for (long double& value : values) value = real(random);
    return HostTensor::Create(type, shape, values);
  }
};

TEST_F(PackedFilters, GiveTheSameBits) {
  webnn::Conv2dOptions options;
  options.padding = {{1, 1, 1, 1}};
  ExpectSame(OperandDataType::kFloat32, options, {1, 28, 23, 21}, {36, 28, 3, 3});
  ExpectSame(OperandDataType::kFloat16, options, {1, 28, 23, 24}, {36, 28, 3, 3});
  options.groups = 2;
  ExpectSame(OperandDataType::kFloat32, options, {1, 48, 22, 20}, {80, 24, 3, 3});
}

TEST_F(PackedFilters, WherePixelsAreRows_GiveTheSameBits) {
  webnn::Conv2dOptions options;
  options.input_layout = webnn::InputOperandLayout::kNhwc;
  options.filter_layout = webnn::Conv2dFilterOperandLayout::kOhwi;
  // So many pixels that the filter is packed in any case.
  ExpectSame(OperandDataType::kFloat32, options, {1, 28, 28, 96}, {60, 1, 1, 96});
  ExpectSame(OperandDataType::kFloat16, options, {1, 28, 28, 91}, {61, 1, 1, 91});
}

TEST_F(PackedFilters, GraphsOfOneTensor_ShareItsPanels) {
  constexpr auto kFloat = OperandDataType::kFloat32;
  auto context = MakeContext();
  const HostTensor filter = Random(kFloat, {96, 64, 1, 1}, 1);
  auto weights = Must(
      ml().Wait(context->CreateConstantTensor(kFloat, filter.descriptor.shape(), filter.bytes)));
  const HostTensor data = Random(kFloat, {1, 64, 32, 32}, 2);
  auto from = MakeTensor(*context, data.descriptor, data.bytes);
  std::vector<std::shared_ptr<webnn::Graph>> graphs;
  std::vector<uint64_t> allocations;
  std::vector<std::vector<std::byte>> results;
  for (int i = 0; i < 3; ++i) {
    webnn::GraphBuilder builder(context);
    auto x = Must(builder.Input("x", kFloat, data.descriptor.shape()));
    auto y = Must(builder.Conv2d(x, Must(builder.Constant(*weights)), {}));
    const uint64_t before = device().work_counts().allocations;
    graphs.push_back(Must(ml().Wait(builder.Build({{"y", y}}))));
    allocations.push_back(device().work_counts().allocations - before);
    auto to = MakeTensor(*context, y.descriptor());
    CHECK(context->Dispatch(*graphs.back(), {{"x", from}}, {{"y", to}}).ok());
    results.push_back(Must(ml().Wait(context->ReadTensor(*to))));
    // The second holds on to what the first one packed.
    if (i == 1) graphs.erase(graphs.begin());
  }
  EXPECT_LT(allocations[1], allocations[0]);
  EXPECT_EQ(allocations[2], allocations[1]);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace webnnd::service
