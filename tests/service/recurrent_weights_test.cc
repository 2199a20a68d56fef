#include "service/passes/recurrent_weights.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/service/fake_evaluator.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/service_fixture.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

constexpr auto kFloat = OperandDataType::kFloat32;
constexpr auto kHalf = OperandDataType::kFloat16;

class RecurrentWeightsTest : public testing::Test {
 protected:
  ValueId Add(Value::Kind kind, const Shape& shape, OperandDataType type = kFloat) {
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
  void AddNetwork(OperatorKind kind, ValueId recurrent_weight) {
    Node node;
    node.kind = kind;
    node.operands = {Add(Value::Kind::kInput, {1, 1, 4}), Add(Value::Kind::kInput, {1, 4, 4}),
                     recurrent_weight};
    graph_.nodes.push_back(std::move(node));
  }
  ValueId WeightsOf(size_t node) const { return graph_.nodes[node].operands[2]; }
  const OperandDescriptor& DescriptorOf(size_t node) const {
    return graph_.values[WeightsOf(node)].descriptor;
  }
  void Pack() {
    Status status = PackRecurrentWeights(graph_, evaluator_);
    EXPECT_TRUE(status.ok()) << status.error().ToString();
  }

  Graph graph_;
  FakeEvaluator evaluator_;
};

TEST_F(RecurrentWeightsTest, Constants_ComeByWhatASubgroupMultiplies) {
  AddNetwork(OperatorKind::kLstm, Add(Value::Kind::kConstant, {2, 4 * 48, 48}));
  AddNetwork(OperatorKind::kLstmCell, Add(Value::Kind::kConstant, {4 * 32, 32}));
  AddNetwork(OperatorKind::kGru, Add(Value::Kind::kConstant, {1, 3 * 16, 16}));
  AddNetwork(OperatorKind::kGruCell, Add(Value::Kind::kConstant, {3 * 16, 16}));
  const ValueId first = WeightsOf(0);
  Pack();
  ASSERT_EQ(evaluator_.asked, (std::vector<std::vector<uint32_t>>{{0, 1, 2, 3}}));
  EXPECT_EQ(DescriptorOf(0).shape(), (Shape{2, 3, 48, 64}));
  EXPECT_EQ(DescriptorOf(1).shape(), (Shape{1, 2, 32, 64}));
  EXPECT_EQ(DescriptorOf(2).shape(), (Shape{1, 1, 16, 48}));
  EXPECT_EQ(DescriptorOf(3).shape(), (Shape{1, 1, 16, 48}));
  for (size_t node = 0; node < 4; ++node) {
    EXPECT_TRUE(IsPacked(DescriptorOf(node)));
    const Value& value = graph_.values[WeightsOf(node)];
    EXPECT_EQ(value.kind, Value::Kind::kConstant);
    EXPECT_EQ(graph_.constants[value.index].buffer, 100u + node);
  }
  // Others may still read what they were.
  EXPECT_EQ(graph_.values[first].descriptor.shape(), (Shape{2, 4 * 48, 48}));
  EXPECT_FALSE(IsPacked(graph_.values[first].descriptor));
}

TEST_F(RecurrentWeightsTest, ConstantsOfHalfTheWidth_BecomeFloat32) {
  AddNetwork(OperatorKind::kLstm, Add(Value::Kind::kConstant, {1, 4 * 16, 16}, kHalf));
  Pack();
  EXPECT_EQ(DescriptorOf(0).shape(), (Shape{1, 1, 16, 64}));
  EXPECT_EQ(DescriptorOf(0).data_type(), kFloat);
  EXPECT_EQ(evaluator_.plans.at(0).output_bytes, (std::vector<uint64_t>{4 * 16 * 16 * 4}));
}

TEST_F(RecurrentWeightsTest, ConstantsOfTwoOperators_ArePackedOnce) {
  const ValueId weights = Add(Value::Kind::kConstant, {1, 3 * 16, 16});
  AddNetwork(OperatorKind::kGru, weights);
  AddNetwork(OperatorKind::kGru, weights);
  Pack();
  ASSERT_EQ(evaluator_.asked, (std::vector<std::vector<uint32_t>>{{0}}));
  EXPECT_EQ(WeightsOf(0), WeightsOf(1));
  EXPECT_NE(WeightsOf(0), weights);
}

TEST_F(RecurrentWeightsTest, WhatCannotBePacked_StaysAsItIs) {
  AddNetwork(OperatorKind::kLstm, Add(Value::Kind::kInput, {1, 4 * 16, 16}));
  AddNetwork(OperatorKind::kLstm, Add(Value::Kind::kConstant, {1, 4 * 24, 24}));
  // Another operator's third operand.
  AddNetwork(OperatorKind::kGemm, Add(Value::Kind::kConstant, {1, 4 * 16, 16}));
  const Graph before = graph_;
  Pack();
  EXPECT_TRUE(evaluator_.asked.empty());
  for (size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(graph_.nodes[node].operands, before.nodes[node].operands);
  }
  // Of GPUs, a subgroup sums up what an element takes.
  AddNetwork(OperatorKind::kLstm, Add(Value::Kind::kConstant, {1, 4 * 16, 16}));
  graph_.device.wide = true;
  const ValueId weights = WeightsOf(3);
  Pack();
  EXPECT_EQ(WeightsOf(3), weights);
}

TEST_F(RecurrentWeightsTest, WhatAKernelCannotBindAsFloat32_StaysAsItIs) {
  // 72 MiB, and 144.
  const ValueId weights = Add(Value::Kind::kConstant, {1, 4 * 3072, 3072}, kHalf);
  const auto can_pack = [&](uint32_t hidden) {
    return CanPack({weights, 1, 4, hidden},
                   *OperandDescriptor::Create(kHalf, Shape{1, 4 * hidden, hidden}), graph_.device);
  };
  EXPECT_FALSE(can_pack(3072));
  EXPECT_TRUE(can_pack(2048));
  AddNetwork(OperatorKind::kLstm, weights);
  Pack();
  EXPECT_EQ(WeightsOf(0), weights);
}

TEST_F(RecurrentWeightsTest, ConstantsBeyondTheLimit_StayAsTheyAre) {
  // 36 MiB each, one of them as float16.
  const ValueId first = Add(Value::Kind::kConstant, {1, 4 * 1536, 1536}, kHalf);
  const ValueId second = Add(Value::Kind::kConstant, {1, 4 * 1536, 1536});
  const ValueId small = Add(Value::Kind::kConstant, {1, 4 * 16, 16});
  for (const ValueId weights : {first, second, small}) AddNetwork(OperatorKind::kLstm, weights);
  Pack();
  EXPECT_NE(WeightsOf(0), first);
  EXPECT_EQ(WeightsOf(1), second);
  EXPECT_NE(WeightsOf(2), small);
}

TEST_F(RecurrentWeightsTest, AFailureToCompute_IsTheBuilds) {
  AddNetwork(OperatorKind::kGru, Add(Value::Kind::kConstant, {1, 3 * 16, 16}));
  evaluator_.fails = true;
  EXPECT_FALSE(PackRecurrentWeights(graph_, evaluator_).ok());
}

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  CHECK(result.ok());
  return *std::move(result);
}

class PackedRecurrentWeights : public ServiceTest {
 protected:
  struct Ran {
    uint32_t kernels = 0;
    std::vector<long double> values;
  };
  enum class Weights { kConstant, kConstantAsItIs, kInput };

  // The last hidden state; a cell's where there are no steps.
  Ran Run(OperandDataType type, bool is_lstm, uint32_t steps, Weights recurrent,
          bool is_dynamic = false) {
    constexpr uint32_t kHidden = 32;
    constexpr uint32_t kBatch = 2;
    const uint32_t rows = (is_lstm ? 4 : 3) * kHidden;
    const bool is_cell = steps == 0;
    auto context = MakeContext({.constant_folding = recurrent != Weights::kConstantAsItIs});
    webnn::GraphBuilder builder(context);
    webnn::NamedTensors from;
    const auto direction = steps == 7 ? webnn::RecurrentNetworkDirection::kBoth
                                      : webnn::RecurrentNetworkDirection::kForward;
    const uint32_t directions = steps == 7 ? 2 : 1;
    const auto shape = [&](Shape of_network) {
      if (is_cell) of_network.erase(of_network.begin());
      return of_network;
    };
    const webidl::DynamicDimension batch{"batch", 3, 1};
    const auto make = [&](const char* name, const Shape& of_network, uint32_t seed,
                          bool is_constant) {
      const HostTensor tensor = RandomTensor(type, shape(of_network), seed, -0.25, 0.25);
      if (is_constant) {
        return Must(builder.Constant(type, tensor.descriptor.shape(), tensor.bytes));
      }
      from.emplace(name, MakeTensor(*context, tensor.descriptor, tensor.bytes));
      if (!is_dynamic) return Must(builder.Input(name, type, tensor.descriptor.shape()));
      std::vector<webidl::Dimension> dimensions(tensor.descriptor.shape().begin(),
                                                tensor.descriptor.shape().end());
      dimensions[1] = batch;
      return Must(builder.Input(name, type, dimensions));
    };
    const auto x = make("x", {is_cell ? 1 : steps, kBatch, 7}, 1, /*is_constant=*/false);
    const auto weight = make("weight", {directions, rows, 7}, 2, /*is_constant=*/true);
    const auto recurrent_weight =
        make("recurrent", {directions, rows, kHidden}, 3, recurrent != Weights::kInput);
    const auto hidden = make("hidden", {directions, kBatch, kHidden}, 4, /*is_constant=*/false);
    std::optional<webnn::Operand> last;
    if (is_cell && is_lstm) {
      const auto cell = make("cell", {1, kBatch, kHidden}, 5, /*is_constant=*/false);
      last = Must(builder.LstmCell(x, weight, recurrent_weight, hidden, cell, kHidden))[0];
    } else if (is_cell) {
      last = Must(builder.GruCell(x, weight, recurrent_weight, hidden, kHidden));
    } else if (is_lstm) {
      webnn::LstmOptions options;
      options.direction = direction;
      options.initial_hidden_state = hidden;
      last = Must(builder.Lstm(x, weight, recurrent_weight, steps, kHidden, options))[0];
    } else {
      webnn::GruOptions options;
      options.direction = direction;
      options.initial_hidden_state = hidden;
      last = Must(builder.Gru(x, weight, recurrent_weight, steps, kHidden, options))[0];
    }
    auto graph = Must(ml().Wait(builder.Build({{"last", *last}})));
    const auto descriptor =
        Must(OperandDescriptor::Create(type, shape({directions, kBatch, kHidden})));
    auto to = MakeTensor(*context, descriptor);
    CHECK(context->Dispatch(*graph, from, {{"last", to}}).ok());
    const HostTensor result{descriptor, Must(ml().Wait(context->ReadTensor(*to)))};
    return {graph->kernel_count(), result.Values()};
  }

  static void ExpectNear(OperandDataType type, const Ran& a, const Ran& b) {
    ASSERT_EQ(a.values.size(), b.values.size());
    for (size_t i = 0; i < a.values.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(a.values[i]), static_cast<double>(b.values[i]),
                  type == kHalf ? 1e-3 : 2e-6)
          << i;
    }
  }
};

// Packed once, at each dispatch, and never.
TEST_F(PackedRecurrentWeights, GiveTheSame) {
  if (TestDevice()->wide()) GTEST_SKIP() << "GPUs have them as they are";
  for (const OperandDataType type : {kFloat, kHalf}) {
    // A cast, too, of float16.
    const uint32_t packing = type == kHalf ? 2 : 1;
    for (const bool is_lstm : {false, true}) {
      SCOPED_TRACE(is_lstm ? "lstm" : "gru");
      const Ran once = Run(type, is_lstm, 6, Weights::kConstant);
      const Ran each_time = Run(type, is_lstm, 6, Weights::kConstantAsItIs);
      const Ran input = Run(type, is_lstm, 6, Weights::kInput);
      EXPECT_EQ(once.kernels + packing, each_time.kernels);
      EXPECT_EQ(once.kernels + packing, input.kernels);
      EXPECT_EQ(once.values, each_time.values);
      EXPECT_EQ(once.values, input.values);

      // For few steps it would take longer.
      EXPECT_EQ(Run(type, is_lstm, 5, Weights::kInput).kernels,
                Run(type, is_lstm, 5, Weights::kConstant).kernels);
      // Both directions.
      EXPECT_EQ(Run(type, is_lstm, 7, Weights::kConstant).values,
                Run(type, is_lstm, 7, Weights::kInput).values);

      const Ran cell = Run(type, is_lstm, 0, Weights::kConstant);
      const Ran cell_as_it_is = Run(type, is_lstm, 0, Weights::kInput);
      EXPECT_EQ(cell.kernels, cell_as_it_is.kernels);
      ExpectNear(type, cell, cell_as_it_is);
    }
  }
}

// Where sizes come with the dispatch, constants stay as they are until then.
TEST_F(PackedRecurrentWeights, OfDynamicGraphs_GiveTheSame) {
  for (const OperandDataType type : {kFloat, kHalf}) {
    for (const bool is_lstm : {false, true}) {
      EXPECT_EQ(Run(type, is_lstm, 7, Weights::kConstant, /*is_dynamic=*/true).values,
                Run(type, is_lstm, 7, Weights::kConstant).values);
    }
  }
}

}  // namespace
}  // namespace webnnd::service
