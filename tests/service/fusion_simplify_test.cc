// What is computed once, or not at all.
#include <cstdint>
#include <vector>

#include "service/vulkan/device_impl.h"
#include "tests/service/fusion_fixture.h"

namespace webnnd::service::fusion_test {
namespace {

TEST_F(Fusion, SplitAndConcat_AreOneKernelEach) {
  ExpectKernels(2, [](Net& net) {
    std::vector<Operand> parts =
        Must(net.builder.Split(net.In(kHalf, {3, 9}), std::vector<uint32_t>{2, 3, 4}, {.axis = 1}));
    net.Out(Must(net.builder.Concat({parts[2], parts[0], parts[1]}, 1)));
  });
}

TEST_F(Fusion, EqualOperators_AreComputedOnce) {
  // Two gathers, two softmaxes and two products: one of each, and what joins them.
  ExpectKernels(3, [](Net& net) {
    Operand positions = net.Integers({2}, {1, 3});
    Operand table = net.Constant(kFloat, {5, 4});
    auto part = [&] {
      Operand rows = Must(net.builder.Gather(table, positions, {.axis = 0}));
      return Must(net.builder.Softmax(rows, 1));
    };
    net.Out(Must(net.builder.Matmul(part(), Must(net.builder.Reshape(part(), {4, 2})))));
  });
}

TEST_F(Fusion, EqualConstants_AreOne) {
  // So the products are equal, too; the second output is a copy.
  ExpectKernels(1, [](Net& net) {
    Operand x = net.In(kFloat, {2, 2});
    for (int i = 0; i < 2; ++i) {
      net.Out(Must(net.builder.Matmul(x, net.Constant(kFloat, {2, 2}, {1, 2, 3, 4}))));
    }
  });
}

TEST_F(Fusion, SquaresByPow_AreProducts) {
  for (OperandDataType type : {kFloat, kHalf, OperandDataType::kInt32}) {
    // So both are equal, and the second output is a copy.
    const auto squares = [&](Net& net) {
      Operand x = net.In(type, {3, 4});
      net.Out(Must(net.builder.Mul(x, x)));
      net.Out(Must(net.builder.Pow(x, net.Constant(type, {1}, {2}))));
    };
    ExpectKernels(1, squares, "-elementwiseChain");
  }
}

TEST_F(Fusion, OtherPowers_AreNoProducts) {
  const auto powers = [&](Net& net) {
    Operand x = net.In(kFloat, {1, 2});
    net.Out(Must(net.builder.Mul(x, x)));
    net.Out(Must(net.builder.Pow(x, net.Constant(kFloat, {}, {3}))));
    net.Out(Must(net.builder.Pow(x, net.Constant(kFloat, {2}, {2, 3}))));
    net.Out(Must(net.builder.Pow(x, net.Constant(kFloat, {1, 1, 1}, {2}))));  // Of another rank.
    net.Out(Must(net.builder.Pow(x, net.In(kFloat, {}))));
  };
  ExpectKernels(5, powers, "-elementwiseChain");
}

TEST_F(Fusion, OperatorsThatDiffer_AreNotJoined) {
  ExpectUnchanged([](Net& net) {
    Operand x = net.In(kFloat, {4, 4});
    net.Out(Must(net.builder.Softmax(x, 0)));
    net.Out(Must(net.builder.Softmax(x, 1)));  // In its attributes.
    net.Out(Must(net.builder.ReduceSum(x, {.axes = std::vector<uint32_t>{1}})));
    net.Out(Must(net.builder.ReduceMax(x, {.axes = std::vector<uint32_t>{1}})));
    Operand a = net.Constant(kFloat, {4, 1}, {1, 2, 3, 4});
    Operand b = net.Constant(kFloat, {4, 1}, {1, 2, 3, 5});  // In a constant.
    Operand c = net.Constant(kFloat, {1, 4}, {1, 2, 3, 4});  // In its shape.
    for (const Operand& y : {a, b, c}) net.Out(Must(net.builder.Mul(x, y)));
  });
}

TEST_F(Fusion, OperatorsThatChangeNothing_AreNoKernels) {
  // The softmax; operators between it and the output keep its values.
  ExpectKernels(1, [](Net& net) {
    webnn::GraphBuilder& builder = net.builder;
    Operand x = Must(builder.Softmax(net.In(kFloat, {1, 3, 4}), 2));
    x = Must(builder.Transpose(x, {.permutation = std::vector<uint32_t>{0, 1, 2}}));
    x = Must(builder.Expand(x, {1, 3, 4}));
    x = Must(builder.Slice(x, {0, 0, 0}, {1, 3, 4}));
    x = Must(builder.Cast(x, kFloat));
    x = Must(builder.Pad(x, {0, 0, 0}, {0, 0, 0}));
    x = Must(builder.Tile(x, {1, 1, 1}));
    net.Out(Must(builder.Concat({x}, 1)));
  });
  ExpectUnchanged([](Net& net) {
    webnn::GraphBuilder& builder = net.builder;
    Operand x = Must(builder.Transpose(net.In(kFloat, {3, 3})));
    net.Out(Must(builder.Slice(x, {1, 0}, {2, 3})));
  });
}

TEST_F(Fusion, KernelsOfConstants_GoWhenAGraphNeedsNone) {
  auto count_compiled = [this](const Write& write) {
    const uint64_t before = device().impl().pipelines().compiled_count();
    Run(write, /*fusion=*/true);
    return device().impl().pipelines().compiled_count() - before;
  };
  const Write evaluates = [](Net& net) {
    // An operator of no other test: what compiled it would be counted.
    Operand constant = Must(net.builder.Tan(net.Constant(kHalf, {5})));
    net.Out(Must(net.builder.Softmax(Must(net.builder.Mul(net.In(kHalf, {3, 5}), constant)), 1)));
  };
  const Write evaluates_nothing = [](Net& net) {
    Operand product = Must(net.builder.Mul(net.In(kHalf, {3, 5}), net.Constant(kHalf, {5})));
    net.Out(Must(net.builder.Softmax(product, 1)));
  };
  count_compiled(evaluates_nothing);
  EXPECT_EQ(count_compiled(evaluates), 1u);
  EXPECT_EQ(count_compiled(evaluates), 0u);
  EXPECT_EQ(count_compiled(evaluates_nothing), 0u);
  EXPECT_EQ(count_compiled(evaluates), 1u);
}

}  // namespace
}  // namespace webnnd::service::fusion_test
