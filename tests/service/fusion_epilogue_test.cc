// What follows a product or a convolution: biases, activations, residuals.
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/service/fusion_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::fusion_test {
namespace {

// A convolution, transposed or not, or a product, by what a test calls it.
struct Head {
  const char* name;
  std::function<Operand(Net&, OperandDataType)> write;
  // A bias of one element for each channel or column.
  Shape bias;
};

std::vector<Head> Heads() {
  using Layout = webidl::InputOperandLayout;
  using FilterLayout = webidl::Conv2dFilterOperandLayout;
  auto conv = [](const Shape& input, const Shape& filter, Layout layout, FilterLayout filters,
                 uint32_t groups) {
    return [=](Net& net, OperandDataType type) {
      return Must(net.builder.Conv2d(net.In(type, input), net.Constant(type, filter),
                                     {.padding = std::vector<uint32_t>{1, 1, 1, 1},
                                      .groups = groups,
                                      .input_layout = layout,
                                      .filter_layout = filters}));
    };
  };
  return {
      {"windows",
       conv({1, 3, 7, 5}, {6, 3, 3, 3}, Layout::kNchw, FilterLayout::kOihw, 1),
       {6, 1, 1}},
      {"windows, channels last",
       conv({2, 5, 7, 4}, {3, 3, 4, 9}, Layout::kNhwc, FilterLayout::kHwio, 1),
       {9}},
      {"depthwise",
       conv({1, 6, 7, 5}, {6, 1, 3, 3}, Layout::kNchw, FilterLayout::kOihw, 6),
       {1, 6, 1, 1}},
      {"depthwise, windows of another kind",
       conv({1, 6, 7, 5}, {6, 1, 3, 2}, Layout::kNchw, FilterLayout::kOihw, 6),
       {1, 6, 1, 1}},
      {"depthwise, channels last",
       conv({1, 5, 6, 8}, {8, 3, 3, 1}, Layout::kNhwc, FilterLayout::kOhwi, 8),
       {1, 1, 8}},
      {"depthwise, many channels last",
       conv({1, 5, 6, 20}, {20, 3, 3, 1}, Layout::kNhwc, FilterLayout::kOhwi, 20),
       {1, 1, 20}},
      {"depthwise, many channels last, windows of another kind",
       conv({1, 5, 6, 20}, {20, 3, 2, 1}, Layout::kNhwc, FilterLayout::kOhwi, 20),
       {1, 1, 20}},
      {"one channel out of many",
       conv({1, 4, 5, 5}, {2, 2, 3, 3}, Layout::kNchw, FilterLayout::kOihw, 2),
       {2, 1, 1}},
      {"few channels out of each group, channels last",
       conv({1, 5, 6, 8}, {4, 3, 3, 4}, Layout::kNhwc, FilterLayout::kOhwi, 2),
       {1, 1, 4}},
      {"pixels",
       [](Net& net, OperandDataType type) {
         return Must(net.builder.Conv2d(net.In(type, {1, 4, 5, 12}),
                                        net.Constant(type, {10, 12, 1, 1}),
                                        {.input_layout = Layout::kNhwc}));
       },
       {10}},
      {"transposed convolution",
       [](Net& net, OperandDataType type) {
         return Must(net.builder.ConvTranspose2d(net.In(type, {1, 3, 4, 5}),
                                                 net.Constant(type, {3, 5, 3, 3}), {}));
       },
       {5, 1, 1}},
      {"product of a row",
       [](Net& net, OperandDataType type) {
         return Must(net.builder.Matmul(net.In(type, {1, 12}), net.Constant(type, {12, 20})));
       },
       {20}},
      {"product of a wide row",
       [](Net& net, OperandDataType type) {
         return Must(net.builder.Matmul(net.In(type, {1, 10}), net.Constant(type, {10, 150})));
       },
       {150}},
      {"product of a column",
       [](Net& net, OperandDataType type) {
         return Must(net.builder.Matmul(net.In(type, {70, 12}), net.Constant(type, {12, 1})));
       },
       {1}},
      {"products",
       [](Net& net, OperandDataType type) {
         return Must(
             net.builder.Matmul(net.In(type, {2, 3, 5, 7}), net.Constant(type, {3, 7, 11})));
       },
       {1, 11}},
      {"gemm",
       [](Net& net, OperandDataType type) {
         return Must(net.builder.Gemm(net.In(type, {9, 6}), net.Constant(type, {7, 9}),
                                      {.alpha = 0.5, .a_transpose = true, .b_transpose = true}));
       },
       {7}},
  };
}

using Follow = std::function<Operand(Net&, const Operand&)>;
std::vector<Follow> Activations() {
  return {
      [](Net& net, const Operand& x) { return Must(net.builder.Relu(x)); },
      [](Net& net, const Operand& x) {
        return Must(net.builder.Clamp(x, {.min_value = -0.25, .max_value = 6.0}));
      },
      [](Net& net, const Operand& x) { return Must(net.builder.Sigmoid(x)); },
      [](Net& net, const Operand& x) { return Must(net.builder.HardSwish(x)); },
      [](Net& net, const Operand& x) { return Must(net.builder.Gelu(x)); },
      [](Net& net, const Operand& x) { return Must(net.builder.LeakyRelu(x, {.alpha = 0.125})); },
      [](Net& net, const Operand& x) {
        return Must(net.builder.Mul(Must(net.builder.Sigmoid(x)), x));
      },
  };
}

TEST_F(Fusion, WhatFollowsAProduct_IsPartOfIt) {
  const std::vector<Follow> activations = Activations();
  const std::vector<Head> heads = Heads();
  const auto count = static_cast<uint32_t>(2 * heads.size());
  for (const uint32_t turn : SampledTurns(count, 2)) {
    // The sample has every head, in one type or the other. The activations take turns, so that each
    // meets several heads.
    const OperandDataType type = turn < heads.size() ? kFloat : kHalf;
    const Head& head = heads[turn % heads.size()];
    SCOPED_TRACE(testing::Message() << head.name << ", " << webidl::ToString(type));
    const Follow& activate = activations[turn % activations.size()];
    ExpectKernels(1, [&](Net& net) {
      Operand y = head.write(net, type);
      y = Must(net.builder.Add(net.Constant(type, head.bias), y));
      y = Must(net.builder.Add(y, net.In(type, y.shape())));
      net.Out(activate(net, y));
    });
  }
}

// And pixels are packed.
TEST_F(Fusion, WhatFollowsAProductOfOddHalves_IsPartOfIt) {
  ExpectKernels(2, [](Net& net) {
    Operand y = Must(net.builder.Conv2d(net.In(kHalf, {1, 96, 15, 15}),
                                        net.Constant(kHalf, {64, 96, 1, 1}), {}));
    y = Must(net.builder.Add(net.Constant(kHalf, {64, 1, 1}), y));
    net.Out(Must(net.builder.Relu(Must(net.builder.Add(y, net.In(kHalf, y.shape()))))));
  });
}

TEST_F(Fusion, EachActivationAlone_IsPartOfTheProductBeforeIt) {
  Sample sample(3);
  for (const Follow& activate : Activations()) {
    if (!sample.Takes()) continue;
    ExpectKernels(1, [&](Net& net) { net.Out(activate(net, Heads().front().write(net, kFloat))); });
  }
}

TEST_F(Fusion, BiasAlone_IsPartOfTheProductBeforeIt) {
  Sample sample(3);
  for (const Head& head : Heads()) {
    if (!sample.Takes()) continue;
    SCOPED_TRACE(head.name);
    ExpectKernels(1, [&](Net& net) {
      Operand y = head.write(net, kFloat);
      net.Out(Must(net.builder.Add(y, net.In(kFloat, head.bias))));
    });
  }
}

TEST_F(Fusion, ProductThatIsAnOutputOrUsedTwice_KeepsItsActivationApart) {
  ExpectUnchanged([](Net& net) {
    Operand y = Heads().front().write(net, kFloat);
    net.Out(y);
    net.Out(Must(net.builder.Relu(y)));
  });
  ExpectUnchanged([](Net& net) {
    Operand y = Heads().front().write(net, kFloat);
    net.Out(Must(net.builder.Softmax(y, 1)));
    net.Out(Must(net.builder.Relu(y)));
  });
}

TEST_F(Fusion, ProductAddedToItself_IsNoResidual) {
  ExpectUnchanged([](Net& net) {
    Operand y = Heads().front().write(net, kFloat);
    net.Out(Must(net.builder.Add(y, y)));
  });
}

TEST_F(Fusion, OneResidualIsAllThatAProductTakes) {
  // The second has to wait for both.
  ExpectKernels(2, [](Net& net) {
    Operand a = Must(net.builder.Matmul(net.In(kFloat, {3, 8}), net.Constant(kFloat, {8, 4})));
    Operand b = Must(net.builder.Matmul(net.In(kFloat, {3, 8}), net.Constant(kFloat, {8, 4})));
    net.Out(Must(net.builder.Relu(Must(net.builder.Add(a, b)))));
  });
}

TEST_F(Fusion, BiasAlongTheWrongAxis_IsNoBias) {
  ExpectUnchanged([](Net& net) {
    Operand y = Must(net.builder.Matmul(net.In(kFloat, {5, 8}), net.Constant(kFloat, {8, 5})));
    net.Out(Must(net.builder.Add(y, net.Constant(kFloat, {5, 1}))));
  });
  ExpectUnchanged([](Net& net) {
    Operand y = Must(
        net.builder.Conv2d(net.In(kFloat, {1, 3, 5, 5}), net.Constant(kFloat, {5, 3, 1, 1}), {}));
    net.Out(Must(net.builder.Add(y, net.Constant(kFloat, {5}))));
  });
}

TEST_F(Fusion, BiasThatMakesTheResultLarger_IsNoBias) {
  ExpectUnchanged([](Net& net) {
    Operand y = Must(net.builder.Matmul(net.In(kFloat, {1, 8}), net.Constant(kFloat, {8, 4})));
    net.Out(Must(net.builder.Add(y, net.In(kFloat, {3, 4}))));
  });
}

}  // namespace
}  // namespace webnnd::service::fusion_test
