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
using webidl::ConvTranspose2dAttributes;
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
  // By 2x2 taps that do not overlap, to as many channels as there are.
  void AddTransposed(ValueId filter, uint32_t channels, uint32_t size) {
    Node node;
    node.kind = OperatorKind::kConvTranspose2d;
    node.attributes = ConvTranspose2dAttributes{.strides = {{2, 2}}};
    node.operands = {Add(Value::Kind::kInput, {1, channels, size, size}), filter, kNoValue};
    node.results = {Add(Value::Kind::kResult, {1, channels, 2 * size, 2 * size})};
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

TEST_F(PackFiltersTest, FilterOfATransposedConvolution_ComesInPanels) {
  const ValueId filter = Add(Value::Kind::kConstant, {50, 50, 2, 2});
  AddTransposed(filter, 50, 32);
  Pack();
  ASSERT_EQ(evaluator_.asked, (std::vector<std::vector<uint32_t>>{{0}}));
  const ValueId packed = graph_.nodes[0].operands[1];
  ASSERT_NE(packed, filter);
  // Taps and channels of the result are rows.
  EXPECT_EQ(graph_.values[packed].descriptor.shape(), (Shape{7, 32 * 56}));
  ASSERT_NE(graph_.values[packed].panels_of, nullptr);
  EXPECT_EQ(graph_.values[packed].panels_of->shape(), (Shape{50, 50, 2, 2}));
  EXPECT_EQ(evaluator_.plans.at(0).calls.at(0).label, "convTranspose2d");
}

TEST_F(PackFiltersTest, WithoutRoom_TheFilterStaysAsItIs) {
  const ValueId filter = Add(Value::Kind::kConstant, {50, 90, 1, 1});
  AddConvolution(filter, 90, 50, 32);
  graph_.outputs.push_back({"image", graph_.nodes[0].results[0]});
  Graph optimized = graph_;
  evaluator_.fails = true;
  ASSERT_FALSE(PackFilters(optimized, evaluator_).ok());
  optimized = graph_;
  const Status status = OptimizeGraph(optimized, {.evaluator = &evaluator_});
  ASSERT_TRUE(status.ok()) << status.error().ToString();
  EXPECT_EQ(optimized.nodes[0].operands[1], filter);
  EXPECT_EQ(optimized.values.size(), graph_.values.size());
  EXPECT_EQ(optimized.constants.size(), graph_.constants.size());
}

TEST_F(PackFiltersTest, WhatIsNoConstantOrNotTall_StaysAsItIs) {
  AddConvolution(Add(Value::Kind::kInput, {50, 90, 1, 1}), 90, 50, 32);
  AddConvolution(Add(Value::Kind::kConstant, {8, 90, 1, 1}), 90, 8, 32);
  AddTransposed(Add(Value::Kind::kInput, {50, 50, 2, 2}), 50, 32);
  AddTransposed(Add(Value::Kind::kConstant, {5, 5, 2, 2}), 5, 32);
  const Graph before = graph_;
  Pack();
  EXPECT_TRUE(evaluator_.asked.empty());
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(graph_.nodes[i].operands, before.nodes[i].operands);
}

TEST_F(PackFiltersTest, FiltersBeyondTheLimit_StayAsTheyAre) {
  // 9 MiB each.
  const ValueId first = Add(Value::Kind::kConstant, {1536, 1536, 1, 1});
  const ValueId second = Add(Value::Kind::kConstant, {1536, 1536, 1, 1});
  const ValueId transposed = Add(Value::Kind::kConstant, {768, 768, 2, 2});
  const ValueId small = Add(Value::Kind::kConstant, {64, 64, 1, 1});
  AddConvolution(first, 1536, 1536, 16);
  AddConvolution(second, 1536, 1536, 16);
  AddTransposed(transposed, 768, 16);
  AddConvolution(small, 64, 64, 64);
  Pack();
  EXPECT_NE(graph_.nodes[0].operands[1], first);
  EXPECT_EQ(graph_.nodes[1].operands[1], second);
  EXPECT_EQ(graph_.nodes[2].operands[1], transposed);
  EXPECT_NE(graph_.nodes[3].operands[1], small);
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

Result<webnn::Operand> Convolve(webnn::GraphBuilder& builder, const webnn::Operand& x,
                                const webnn::Operand& filter, const webnn::Conv2dOptions& options) {
  return builder.Conv2d(x, filter, options);
}
Result<webnn::Operand> Convolve(webnn::GraphBuilder& builder, const webnn::Operand& x,
                                const webnn::Operand& filter,
                                const webnn::ConvTranspose2dOptions& options) {
  return builder.ConvTranspose2d(x, filter, options);
}

class PackedFilters : public ServiceTest {
 protected:
  struct Ran {
    uint32_t kernels = 0;
    std::vector<std::byte> bytes;
  };
  struct How {
    bool folding = true;
    bool constant_filter = true;
  };

  template <class Options>
  Ran Run(OperandDataType type, const Options& options, const Shape& input, const Shape& filter,
          How how) {
    auto context = MakeContext({.constant_folding = how.folding});
    webnn::GraphBuilder builder(context);
    auto x = Must(builder.Input("x", type, input));
    const HostTensor weights = Random(type, filter, 1);
    auto w = how.constant_filter ? Must(builder.Constant(type, filter, weights.bytes))
                                 : Must(builder.Input("w", type, filter));
    auto y = Must(builder.Relu(Must(Convolve(builder, x, w, options))));
    auto graph = Must(ml().Wait(builder.Build({{"y", y}})));
    const HostTensor data = Random(type, input, 2);
    webnn::NamedTensors from = {{"x", MakeTensor(*context, data.descriptor, data.bytes)}};
    if (!how.constant_filter) {
      from.emplace("w", MakeTensor(*context, weights.descriptor, weights.bytes));
    }
    auto to = MakeTensor(*context, y.descriptor());
    CHECK(context->Dispatch(*graph, from, {{"y", to}}).ok());
    return {graph->kernel_count(), Must(ml().Wait(context->ReadTensor(*to)))};
  }

  // The same bits as of a filter that is packed at each dispatch, by one kernel less.
  template <class Options>
  void ExpectSame(OperandDataType type, const Options& options, const Shape& input,
                  const Shape& filter) {
    const Ran packed = Run(type, options, input, filter, {});
    const Ran unfolded = Run(type, options, input, filter, {.folding = false});
    const Ran given = Run(type, options, input, filter, {.constant_filter = false});
    EXPECT_EQ(packed.kernels + 1, unfolded.kernels);
    EXPECT_EQ(packed.kernels + 1, given.kernels);
    EXPECT_TRUE(packed.bytes == unfolded.bytes);
    EXPECT_TRUE(packed.bytes == given.bytes);
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

TEST_F(PackedFilters, OfTransposedConvolutions_GiveTheSameBits) {
  webnn::ConvTranspose2dOptions options;
  options.strides = {{2, 2}};
  options.padding = {{1, 1, 1, 1}};
  ExpectSame(OperandDataType::kFloat32, options, {1, 28, 33, 31}, {28, 19, 4, 4});
  ExpectSame(OperandDataType::kFloat16, options, {1, 32, 24, 24}, {32, 16, 4, 4});
  options.groups = 2;
  ExpectSame(OperandDataType::kFloat32, options, {1, 48, 22, 20}, {48, 24, 3, 3});
  options.groups = 1;
  options.input_layout = webnn::InputOperandLayout::kNhwc;
  options.filter_layout = webnn::ConvTranspose2dFilterOperandLayout::kHwoi;
  ExpectSame(OperandDataType::kFloat32, options, {1, 33, 31, 28}, {4, 4, 19, 28});
}

// Where sizes come with the dispatch, the filter stays as it is.
TEST_F(PackedFilters, OfDynamicGraphs_GiveTheSameBits) {
  constexpr auto kFloat = OperandDataType::kFloat32;
  const webidl::DynamicDimension rows{"rows", 24, 1};
  const HostTensor filter = Random(kFloat, {32, 16, 4, 4}, 1);
  webnn::ConvTranspose2dOptions options;
  options.strides = {{2, 2}};
  auto context = MakeContext();
  webnn::GraphBuilder builder(context);
  auto x = Must(builder.Input("x", kFloat, std::vector<webidl::Dimension>{1u, 32u, rows, 24u}));
  auto weights = Must(builder.Constant(kFloat, filter.descriptor.shape(), filter.bytes));
  auto y = Must(builder.Relu(Must(builder.ConvTranspose2d(x, weights, options))));
  auto graph = Must(ml().Wait(builder.Build({{"y", y}})));
  auto to =
      Must(ml().Wait(context->CreateTensor({.data_type = kFloat,
                                            .shape = webidl::Sizes(y.descriptor().dimensions()),
                                            .readable = true})));
  // Tall products and, at one row, none; and back.
  for (uint32_t height : {24u, 1u, 23u, 24u}) {
    const Shape shape = {1, 32, height, 24};
    const HostTensor data = Random(kFloat, shape, 2);
    auto from = MakeTensor(*context, data.descriptor, data.bytes);
    ASSERT_TRUE(context->Dispatch(*graph, {{"x", from}}, {{"y", to}}).ok());
    const Ran at = Run(kFloat, options, shape, filter.descriptor.shape(), {});
    EXPECT_TRUE(Must(ml().Wait(context->ReadTensor(*to))) == at.bytes) << height;
  }
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
