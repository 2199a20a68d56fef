// Chains of element-wise operators.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/service/fusion_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::fusion_test {
namespace {

Operand Scalar(Net& net, OperandDataType type, long double value) {
  return net.Constant(type, {}, {value});
}

TEST_F(Fusion, SiluOfAGateTimesAnotherValue_IsOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{1, 2, 24}}) {
      ExpectKernels(1, [&](Net& net) {
        Operand gate = net.In(type, shape);
        Operand silu = Must(net.builder.Mul(gate, Must(net.builder.Sigmoid(gate))));
        net.Out(Must(net.builder.Mul(silu, net.In(type, shape))));
      });
    }
  }
}

TEST_F(Fusion, DecomposedActivations_AreOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectKernels(1, [&](Net& net) {  // GELU
      webnn::GraphBuilder& builder = net.builder;
      Operand x = net.In(type, {3, 10});
      Operand erf = Must(builder.Erf(Must(builder.Div(x, Scalar(net, type, std::sqrt(2.0L))))));
      Operand sum = Must(builder.Add(erf, Scalar(net, type, 1)));
      net.Out(Must(builder.Mul(Must(builder.Mul(x, sum)), Scalar(net, type, 0.5))));
    });
    ExpectKernels(1, [&](Net& net) {  // hardSwish
      webnn::GraphBuilder& builder = net.builder;
      Operand x = net.In(type, {3, 10});
      Operand sum = Must(builder.Add(x, Scalar(net, type, 3)));
      Operand clamped = Must(builder.Clamp(sum, {.min_value = 0.0, .max_value = 6.0}));
      net.Out(Must(builder.Mul(x, Must(builder.Div(clamped, Scalar(net, type, 6))))));
    });
  }
}

TEST_F(Fusion, ChainOfBroadcastOperands_IsOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (const Shape& shape : {Shape{4, 12}, Shape{5, 7}, Shape{5, 77}, Shape{7, 194}}) {
      ExpectKernels(1, [&](Net& net) {
        webnn::GraphBuilder& builder = net.builder;
        Operand x = Must(builder.Mul(net.In(type, shape), net.In(type, {shape[1]})));
        x = Must(builder.Sub(net.In(type, {shape[0], 1}), x));
        net.Out(Must(builder.Max(x, net.In(type, {}))));
      });
    }
  }
}

TEST_F(Fusion, ComparisonAndChoice_AreOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectKernels(1, [&](Net& net) {
      webnn::GraphBuilder& builder = net.builder;
      Operand x = net.In(type, {3, 9});
      Operand integers = Must(builder.Cast(net.In(OperandDataType::kInt32, {3, 9}), type));
      Operand greater = Must(builder.Greater(x, integers));
      Operand nan = Must(builder.LogicalOr(greater, Must(builder.IsNaN(x))));
      net.Out(Must(builder.Where(nan, Must(builder.Neg(x)), Scalar(net, type, -1))));
    });
  }
  // The result may be truth as well.
  ExpectKernels(1, [](Net& net) {
    Operand x = Must(net.builder.Abs(net.In(kHalf, {3, 9})));
    net.Out(Must(net.builder.LogicalNot(Must(net.builder.Lesser(x, net.In(kHalf, {9}))))));
  });
}

TEST_F(Fusion, CastOfEachIntegerType_BeginsAChain) {
  for (OperandDataType type :
       {OperandDataType::kInt32, OperandDataType::kUint32, OperandDataType::kInt64,
        OperandDataType::kUint64, OperandDataType::kInt8, OperandDataType::kUint8}) {
    SCOPED_TRACE(webidl::ToString(type));
    ExpectKernels(1, [&](Net& net) {
      Operand x = Must(net.builder.Cast(net.In(type, {21}), kFloat));
      net.Out(Must(net.builder.Mul(x, Scalar(net, kFloat, 0.5))));
    });
  }
}

TEST_F(Fusion, MoreThanAKernelTakes_IsSeveralChains) {
  ExpectKernels(2, [](Net& net) {  // Nine steps.
    Operand x = net.In(kFloat, {10});
    for (int i = 0; i < 9; ++i) x = Must(net.builder.Tanh(x));
    net.Out(x);
  });
  ExpectKernels(2, [](Net& net) {  // Five operands.
    Operand x = net.In(kFloat, {10});
    for (int i = 0; i < 4; ++i) x = Must(net.builder.Add(x, net.In(kFloat, {10})));
    net.Out(x);
  });
}

TEST_F(Fusion, IntermediateThatIsNeededElsewhere_EndsAChain) {
  auto write = [](bool is_output) {
    return [=](Net& net) {
      Operand x = Must(net.builder.Exp(net.In(kFloat, {10})));
      net.Out(is_output ? x : Must(net.builder.ReduceSum(x)));
      net.Out(Must(net.builder.Sqrt(Must(net.builder.Abs(Must(net.builder.Neg(x)))))));
    };
  };
  ExpectKernels(2, write(true));
  ExpectKernels(3, write(false));
}

TEST_F(Fusion, IntermediateThatIsBroadcast_IsComputedOnce) {
  ExpectKernels(2, [](Net& net) {
    Operand rows = Must(net.builder.Sqrt(Must(net.builder.Abs(net.In(kFloat, {4, 1})))));
    net.Out(Must(net.builder.Neg(Must(net.builder.Mul(net.In(kFloat, {4, 6}), rows)))));
  });
}

TEST_F(Fusion, ArithmeticOfIntegers_IsNoChain) {
  const auto write = [](Net& net) {
    Operand x = net.In(OperandDataType::kInt32, {10});
    net.Out(Must(net.builder.Abs(Must(net.builder.Add(x, x)))));
  };
  ExpectKernels(2, write);
}

// Graphs of random element-wise operators, each on what came before it.
class RandomNet {
 public:
  explicit RandomNet(uint32_t seed) : random_(seed) {}

  void Write(Net& net) {
    const OperandDataType type = Pick(2) == 0 ? kFloat : kHalf;
    const Shape shape = {Pick(4) + 1, Pick(12) + 1};
    const Shape shapes[] = {shape, {shape[1]}, {shape[0], 1}, {}, {1, shape[1]}};
    std::vector<Operand> values = {net.In(type, shape)};
    for (uint32_t i = 0; i < 3; ++i) values.push_back(net.In(type, shapes[Pick(5)]));
    for (uint32_t i = 0; i < 14; ++i) values.push_back(AddOperator(net, values, type));
    net.Out(values[values.size() - 1 - Pick(10)]);
    // A dispatch takes no input that the outputs do not need.
    for (uint32_t i = 0; i < 4; ++i)
      values.back() = Must(net.builder.Max(values.back(), values[i]));
    net.Out(values.back());
  }

 private:
  uint32_t Pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }

  Operand AddOperator(Net& net, const std::vector<Operand>& values, OperandDataType type) {
    webnn::GraphBuilder& builder = net.builder;
    // Mostly of late ones, so that there are chains.
    const uint32_t late = std::min<uint32_t>(3, static_cast<uint32_t>(values.size()));
    const Operand& a = values[values.size() - 1 - Pick(late)];
    const Operand& b = values[Pick(static_cast<uint32_t>(values.size()))];
    switch (Pick(14)) {
      case 0:
        return Must(builder.Add(a, b));
      case 1:
        return Must(builder.Mul(a, b));
      case 2:
        return Must(builder.Div(a, b));
      case 3:
        return Must(builder.Min(a, b));
      case 4:
        return Must(builder.Sub(Scalar(net, type, 0.75), a));
      case 5:
        return Must(builder.Sigmoid(a));
      case 6:
        return Must(builder.Tanh(a));
      case 7:
        return Must(builder.Linear(a, {.alpha = 0.5, .beta = -0.125}));
      case 8:
        return Must(builder.Clamp(a, {.min_value = -1.3, .max_value = 1.7}));
      case 9:
        return Must(builder.Where(Must(builder.LesserOrEqual(a, b)), a, Scalar(net, type, 0.3)));
      case 10:
        return Must(builder.Exp(Must(builder.Sin(a))));
      case 11:
        return Must(builder.Cast(Must(builder.Cast(a, kFloat)), type));
      case 12:
        return Must(builder.Pow(Must(builder.Abs(a)), Scalar(net, type, 1.5)));
      default:
        return Must(builder.Prelu(a, b));
    }
  }

  std::mt19937 random_;
};

TEST_F(Fusion, RandomChains_GiveTheSameBits) {
  uint32_t fewer = 0;
  const uint32_t seeds = SampleOf(6, 3);
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    auto write = [&](Net& net) { RandomNet(seed).Write(net); };
    Net::Ran plain = Run(write, /*fusion=*/false);
    Net::Ran fused = Run(write, /*fusion=*/true);
    EXPECT_LE(fused.kernels, plain.kernels);
    fewer += plain.kernels - fused.kernels;
    for (size_t i = 0; i < plain.outputs.size(); ++i) {
      const std::vector<long double> wanted = plain.outputs[i].Values();
      const std::vector<long double> got = fused.outputs[i].Values();
      for (size_t e = 0; e < wanted.size(); ++e) {
        ASSERT_EQ(UlpDistance(plain.outputs[i].descriptor.data_type(), wanted[e], got[e]), 0)
            << "output " << i << ", element " << e << ": " << wanted[e] << ", " << got[e];
      }
    }
  }
  EXPECT_GT(6 * fewer, 25 * seeds);
}

// Kernels bind 128 MiB at once: what is larger is computed in pieces, operator by operator.
TEST_F(Fusion, ResultThatNoKernelBinds_EndsAChain) {
  const auto count_kernels = [&](uint32_t elements, bool fusion) {
    Net net(ml(), MakeContext({.fusion = fusion}));
    Operand x = Must(net.builder.Input("x", kHalf, {elements}));
    Operand y = Must(net.builder.Cast(Must(net.builder.Relu(x)), kFloat));
    return Must(ml().Wait(net.builder.Build({{"y", y}})))->kernel_count();
  };
  EXPECT_EQ(count_kernels(1u << 20, /*fusion=*/true), 1u);
  EXPECT_EQ(count_kernels(40'000'000, /*fusion=*/true),
            count_kernels(40'000'000, /*fusion=*/false));
}

}  // namespace
}  // namespace webnnd::service::fusion_test
