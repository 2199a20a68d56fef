// Normalizations, with the sums before them.
#include <vector>

#include "tests/service/fusion_fixture.h"

namespace webnnd::service::fusion_test {
namespace {

TEST_F(Fusion, RmsNormalization_IsOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (const Shape& shape : {Shape{8}, Shape{3, 10}, Shape{2, 3, 64}, Shape{1, 1, 576}}) {
      SCOPED_TRACE(testing::PrintToString(shape));
      ExpectKernels(1, [&](Net& net) {
        Operand x = net.In(type, shape);
        net.Out(AddNorm(net, x, net.Constant(type, {shape.back()})).result);
      });
    }
  }
}

TEST_F(Fusion, RmsNormalizationOfOddHalves_IsLeftAlone) {
  ExpectUnchanged([](Net& net) {
    net.Out(AddNorm(net, net.In(kHalf, {3, 7}), net.Constant(kHalf, {7})).result);
  });
}

// Rows that an invocation would loop over for too long; as it is, their mean is divided.
TEST_F(Fusion, RmsNormalizationOfVeryLongRows_IsLeftAlone) {
  if (TestDevice()->wide()) GTEST_SKIP() << "GPUs leave no loop";
  constexpr uint32_t kLength = 1921000;
  ExpectUnchanged([](Net& net) {
    net.Out(AddNorm(net, net.In(kFloat, {1, kLength}), net.In(kFloat, {kLength})).result);
  });
}

TEST_F(Fusion, RmsNormalizationWithAGainAtRunTime_IsOneKernel) {
  ExpectKernels(1, [](Net& net) {
    Operand x = net.In(kFloat, {4, 12});
    net.Out(AddNorm(net, x, net.In(kFloat, {1, 12})).result);
  });
}

TEST_F(Fusion, IntermediateThatIsAnOutput_BlocksRmsNormalization) {
  ExpectUnchanged([](Net& net) {
    Norm norm = AddNorm(net, net.In(kFloat, {4, 12}), net.Constant(kFloat, {12}));
    net.Out(norm.mean);
    net.Out(norm.result);
  });
}

TEST_F(Fusion, IntermediateUsedElsewhere_BlocksRmsNormalization) {
  ExpectUnchanged([](Net& net) {
    Norm norm = AddNorm(net, net.In(kFloat, {4, 12}), net.Constant(kFloat, {12}));
    net.Out(Must(net.builder.Mul(norm.result, norm.squares)));
  });
}

// The embedding of tokens, normalised, and as it is for the residual.
TEST_F(Fusion, RmsNormalizationOfRowsOfATable_IsOneKernel) {
  for (bool is_used_elsewhere : {false, true}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      ExpectKernels(1, [&](Net& net) {
        // Negative indices count from the end; beyond it the last row is taken.
        Operand indices = net.Integers({4}, {2, 0, -1, 9});
        Operand x = Must(net.builder.Gather(net.Constant(type, {5, 24}), indices, {.axis = 0}));
        net.Out(AddNorm(net, x, net.Constant(type, {24})).result);
        if (is_used_elsewhere) net.Out(x);
      });
    }
  }
}

TEST_F(Fusion, RmsNormalizationOfColumnsOfATable_IsTwoKernels) {
  ExpectKernels(2, [](Net& net) {
    Operand indices = net.Integers({12}, {2, 0, 1, 3, 3, 2, 0, 1, 0, 1, 2, 3});
    Operand x = Must(net.builder.Gather(net.Constant(kFloat, {5, 24}), indices, {.axis = 1}));
    net.Out(AddNorm(net, x, net.Constant(kFloat, {12})).result);
  });
}

TEST_F(Fusion, GainForEachRow_BlocksRmsNormalization) {
  ExpectUnchanged([](Net& net) {
    net.Out(AddNorm(net, net.In(kFloat, {12, 12}), net.Constant(kFloat, {12, 1})).result);
  });
}

TEST_F(Fusion, ResidualSumUsedAgain_IsWrittenByTheSameKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    // Normalisation, and the second add.
    ExpectKernels(2, [&](Net& net) {
      Operand x = net.In(type, {3, 16});
      Operand sum = Must(net.builder.Add(x, net.In(type, {3, 16})));
      Operand normalized = AddNorm(net, sum, net.Constant(type, {16})).result;
      net.Out(Must(net.builder.Add(sum, normalized)));
    });
  }
}

TEST_F(Fusion, ResidualSumUsedByNobodyElse_IsNotWritten) {
  ExpectKernels(1, [](Net& net) {
    Operand sum = Must(net.builder.Add(net.In(kFloat, {3, 16}), net.In(kFloat, {3, 16})));
    net.Out(AddNorm(net, sum, net.Constant(kFloat, {16})).result);
  });
}

TEST_F(Fusion, ResidualSumWithBias_IsOneKernel) {
  ExpectKernels(1, [](Net& net) {
    Operand sum = Must(net.builder.Add(net.In(kFloat, {2, 3, 16}), net.In(kFloat, {2, 3, 16})));
    Operand biased = Must(net.builder.Add(net.Constant(kFloat, {16}), sum));
    net.Out(AddNorm(net, biased, net.Constant(kFloat, {16})).result);
    net.Out(biased);
  });
}

TEST_F(Fusion, SumThatItsGainDependsOn_IsNotFusedWithIt) {
  // The gain waits for the sum: one kernel cannot make both.
  ExpectUnchanged([](Net& net) {
    Operand sum = Must(net.builder.Add(net.In(kFloat, {1, 16}), net.In(kFloat, {1, 16})));
    Operand gain = Must(net.builder.Neg(sum));
    net.Out(AddNorm(net, sum, gain).result);
  });
}

}  // namespace
}  // namespace webnnd::service::fusion_test
