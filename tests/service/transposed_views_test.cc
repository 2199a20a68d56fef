// Products that read and write through transposes, without kernels for those: against the same
// graph whose transposes are outputs, so that they must be there.
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/service/fusion_fixture.h"

namespace webnnd::service::fusion_test {
namespace {

using Permutation = std::vector<uint32_t>;

// The transposes of a graph.
class Transposes {
 public:
  explicit Transposes(Net& net) : net_(net) {}

  Operand operator()(const Operand& x, Permutation permutation) {
    needed_.push_back(Must(net_.builder.Transpose(x, {.permutation = std::move(permutation)})));
    return needed_.back();
  }
  Operand OfProduct(const Operand& product, Permutation permutation) {
    needed_.push_back(product);
    return Must(net_.builder.Transpose(product, {.permutation = std::move(permutation)}));
  }
  // Lets others need what then cannot be a view.
  void Show() {
    for (const Operand& operand : needed_) net_.Out(operand);
  }

 private:
  Net& net_;
  std::vector<Operand> needed_;
};

class TransposedViewsTest : public Fusion {
 protected:
  using WriteWith = std::function<void(Net& net, Transposes& transpose)>;

  // `kernels`: of the graph as it is written, in which `views` transposes need none.
  void ExpectViews(uint32_t kernels, uint32_t views, const WriteWith& write) {
    Net::Ran with_views = RunWith(write, /*shows=*/false);
    Net::Ran with_kernels = RunWith(write, /*shows=*/true);
    EXPECT_EQ(with_views.kernels, kernels);
    EXPECT_EQ(with_kernels.kernels, kernels + views);
    ASSERT_FALSE(with_views.outputs.empty());
    // What is shown follows.
    for (size_t i = 0; i < with_views.outputs.size(); ++i) {
      ExpectNear(with_kernels.outputs[i], with_views.outputs[i]);
    }
  }
  void ExpectNoViews(uint32_t kernels, const WriteWith& write) {
    ExpectViews(kernels, /*views=*/0, write);
  }

 private:
  Net::Ran RunWith(const WriteWith& write, bool shows) {
    Net net(ml(), MakeContext({.fusion = false}));
    Transposes transposes(net);
    write(net, transposes);
    if (shows) transposes.Show();
    return net.Run();
  }
};

TEST_F(TransposedViewsTest, SecondMatrix_IsReadAsItLies) {
  for (uint32_t rows : {1u, 2u, 9u}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      SCOPED_TRACE(rows);
      ExpectViews(1, 1, [&](Net& net, Transposes& transpose) {
        Operand b = transpose(net.In(type, {36, 64}), {1, 0});
        net.Out(Must(net.builder.Matmul(net.In(type, {rows, 64}), b)));
      });
    }
  }
}

TEST_F(TransposedViewsTest, FirstMatrix_IsReadAsItLies) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectViews(1, 1, [&](Net& net, Transposes& transpose) {
      Operand a = transpose(net.In(type, {20, 12}), {1, 0});
      net.Out(Must(net.builder.Matmul(a, net.In(type, {20, 8}))));
    });
  }
}

TEST_F(TransposedViewsTest, ManyRows_ArePackedFromWhereTheyLie) {
  // What packs a, and b where it is worth it, is there either way.
  ExpectViews(2, KernelsOfCoresOrGpus(2, 1), [](Net& net, Transposes& transpose) {
    Operand a = transpose(net.In(kFloat, {100, 92}), {1, 0});
    Operand b = transpose(net.In(kFloat, {320, 100}), {1, 0});
    net.Out(Must(net.builder.Matmul(a, b)));
  });
}

TEST_F(TransposedViewsTest, ReversedByDefault_IsRead) {
  Net net(ml(), MakeContext({.fusion = false}));
  Operand b = Must(net.builder.Transpose(net.In(kFloat, {8, 12})));
  net.Out(Must(net.builder.Matmul(net.In(kFloat, {3, 12}), b)));
  EXPECT_EQ(net.Run().kernels, 1u);
}

TEST_F(TransposedViewsTest, GemmsMatrices_AreReadAsTheyLie) {
  for (bool a_transpose : {false, true}) {
    for (bool b_transpose : {false, true}) {
      ExpectViews(1, 2, [&](Net& net, Transposes& transpose) {
        Operand a = transpose(net.In(kFloat, a_transpose ? Shape{8, 12} : Shape{12, 8}), {1, 0});
        Operand b = transpose(net.In(kFloat, b_transpose ? Shape{12, 16} : Shape{16, 12}), {1, 0});
        net.Out(Must(net.builder.Gemm(
            a, b, {.alpha = 0.5, .a_transpose = a_transpose, .b_transpose = b_transpose})));
      });
    }
  }
}

// Attention as encoders have it: heads between rows go before them, and back.
TEST_F(TransposedViewsTest, Heads_AreReadAndWrittenBetweenRows) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t rows : {1u, 12u, 40u}) {
      SCOPED_TRACE(rows);
      // With one row a transpose changes nothing, and never has a kernel.
      ExpectViews(3, rows == 1 ? 2 : 4, [&](Net& net, Transposes& transpose) {
        Operand q = transpose(net.In(type, {2, rows, 3, 8}), {0, 2, 1, 3});
        Operand k = transpose(net.In(type, {2, 12, 3, 8}), {0, 2, 3, 1});
        Operand v = transpose(net.In(type, {2, 12, 3, 8}), {0, 2, 1, 3});
        Operand weights = Must(net.builder.Softmax(Must(net.builder.Matmul(q, k)), 3));
        net.Out(transpose.OfProduct(Must(net.builder.Matmul(weights, v)), {0, 2, 1, 3}));
      });
    }
  }
}

TEST_F(TransposedViewsTest, BatchesBroadcast) {
  ExpectViews(1, 1, [](Net& net, Transposes& transpose) {
    Operand b = transpose(net.In(kFloat, {8, 3, 12}), {1, 2, 0});
    net.Out(Must(net.builder.Matmul(net.In(kFloat, {2, 1, 5, 12}), b)));
  });
}

// Whose rows are not those of one tall matrix any more.
TEST_F(TransposedViewsTest, ResultsOfABatchTimesOneMatrix_AreWrittenBetweenRows) {
  ExpectViews(1, 1, [](Net& net, Transposes& transpose) {
    Operand product = Must(net.builder.Matmul(net.In(kFloat, {3, 5, 8}), net.In(kFloat, {8, 12})));
    net.Out(Must(net.builder.Reshape(transpose.OfProduct(product, {1, 0, 2}), {5, 36})));
  });
}

TEST_F(TransposedViewsTest, RowsOfAnyLength_AreWrittenBetweenRows) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t columns : {1u, 7u, 8u}) {
      SCOPED_TRACE(columns);
      ExpectViews(1, 1, [&](Net& net, Transposes& transpose) {
        Operand product =
            Must(net.builder.Matmul(net.In(type, {3, 5, 8}), net.In(type, {8, columns})));
        net.Out(
            Must(net.builder.Reshape(transpose.OfProduct(product, {1, 0, 2}), {5, 3 * columns})));
      });
    }
  }
}

// Where both are packed, matrix by matrix, in an order that is not that of either's memory.
TEST_F(TransposedViewsTest, BatchesOfManyRows_ArePackedFromWhereTheyLie) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectViews(KernelsOfCoresOrGpus(3, 1), 3, [&](Net& net, Transposes& transpose) {
      Operand q = transpose(net.In(type, {2, 512, 3, 16}), {0, 2, 1, 3});
      Operand k = transpose(net.In(type, {2, 128, 3, 16}), {0, 2, 3, 1});
      net.Out(transpose.OfProduct(Must(net.builder.Matmul(q, k)), {0, 2, 1, 3}));
    });
  }
}

TEST_F(TransposedViewsTest, OperandThatIsUpdatedInBetween_IsReadAsItWas) {
  ExpectViews(6, 1, [](Net& net, Transposes& transpose) {
    Operand x = Must(net.builder.Softmax(net.In(kFloat, {12, 8}), 1));
    Operand b = transpose(x, {1, 0});
    Operand updated =
        Must(net.builder.ScatterND(x, net.Integers({1, 1}, {3}), net.In(kFloat, {1, 8})));
    net.Out(Must(net.builder.Abs(updated)));
    net.Out(Must(net.builder.Matmul(net.In(kFloat, {3, 8}), b)));
  });
}

TEST_F(TransposedViewsTest, BiasOfAResultBetweenRows_StaysWithIt) {
  Net net(ml(), MakeContext());
  Operand product = Must(net.builder.Matmul(net.In(kFloat, {3, 5, 8}), net.In(kFloat, {8, 12})));
  Operand sum = Must(net.builder.Add(product, net.Constant(kFloat, {12})));
  net.Out(Must(net.builder.Transpose(sum, {.permutation = Permutation{1, 0, 2}})));
  Net plain(ml(), MakeContext({.fusion = false}));
  product = Must(plain.builder.Matmul(plain.In(kFloat, {3, 5, 8}), plain.In(kFloat, {8, 12})));
  sum = Must(plain.builder.Add(product, plain.Constant(kFloat, {12})));
  plain.Out(Must(plain.builder.Transpose(sum, {.permutation = Permutation{1, 0, 2}})));
  Net::Ran fused = net.Run();
  EXPECT_EQ(fused.kernels, 1u);
  ExpectNear(plain.Run().outputs[0], fused.outputs[0]);
}

TEST_F(TransposedViewsTest, EpilogueOfAProduct_StaysWithIt) {
  Net net(ml(), MakeContext());
  Operand b = Must(net.builder.Transpose(net.In(kFloat, {12, 8})));
  Operand sum = Must(net.builder.Add(Must(net.builder.Matmul(net.In(kFloat, {3, 8}), b)),
                                     net.Constant(kFloat, {12})));
  net.Out(Must(net.builder.Relu(sum)));
  EXPECT_EQ(net.Run().kernels, 1u);
}

TEST_F(TransposedViewsTest, ValueThatOthersNeed_HasAKernel) {
  ExpectNoViews(3, [](Net& net, Transposes& transpose) {
    Operand b = transpose(net.In(kFloat, {12, 8}), {1, 0});
    net.Out(Must(net.builder.Matmul(net.In(kFloat, {3, 8}), b)));
    net.Out(Must(net.builder.Abs(b)));
  });
  // As what is added to the products, too.
  ExpectNoViews(2, [](Net& net, Transposes& transpose) {
    Operand square = transpose(net.In(kFloat, {8, 8}), {1, 0});
    net.Out(Must(net.builder.Gemm(square, net.In(kFloat, {8, 8}), {.c = square})));
  });
}

TEST_F(TransposedViewsTest, ResultThatOthersNeed_IsWrittenAsItIs) {
  ExpectNoViews(2, [](Net& net, Transposes& transpose) {
    Operand product = Must(net.builder.Matmul(net.In(kFloat, {3, 5, 8}), net.In(kFloat, {8, 12})));
    net.Out(product);
    net.Out(transpose(product, {1, 0, 2}));
  });
}

TEST_F(TransposedViewsTest, ResultsRows_StayWhole) {
  ExpectNoViews(2, [](Net& net, Transposes& transpose) {
    Operand product = Must(net.builder.Matmul(net.In(kFloat, {5, 8}), net.In(kFloat, {8, 12})));
    net.Out(transpose(product, {1, 0}));
  });
}

TEST_F(TransposedViewsTest, MatrixThatWouldLoadElementByElement_HasAKernel) {
  // Columns of 5 elements; and a matrix whose rows and columns are both far from contiguous.
  ExpectNoViews(2, [](Net& net, Transposes& transpose) {
    Operand b = transpose(net.In(kFloat, {12, 5}), {1, 0});
    net.Out(Must(net.builder.Matmul(net.In(kFloat, {3, 5}), b)));
  });
  ExpectNoViews(2, [](Net& net, Transposes& transpose) {
    Operand b = transpose(net.In(kFloat, {8, 12, 4}), {2, 0, 1});
    net.Out(Must(net.builder.Matmul(net.In(kFloat, {3, 8}), b)));
  });
  // Where neither loads by four, there is nothing to gain from one.
  ExpectViews(1, 1, [](Net& net, Transposes& transpose) {
    Operand b = transpose(net.In(kFloat, {7, 5}), {1, 0});
    net.Out(Must(net.builder.Matmul(net.In(kFloat, {3, 5}), b)));
  });
}

}  // namespace
}  // namespace webnnd::service::fusion_test
