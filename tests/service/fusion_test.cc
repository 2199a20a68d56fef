// Fusion: what a framework decomposed runs as one kernel, with the results of the operators that
// the client asked for; and what looks similar is left alone. ../shared/fusion holds the exact
// graphs of web frameworks (ctest: conformance/fusion); here is what must hold without it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/support/kernel_runner.h"
#include "tests/support/service_fixture.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::Shape;
using webnn::Operand;

constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
  CHECK(result.ok());
  return *std::move(result);
}

// A graph that a test writes down, with its inputs' data.
class Net {
 public:
  Net(webnn::ML& ml, std::shared_ptr<webnn::Context> context)
      : builder(context), ml_(ml), context_(std::move(context)), random_(1) {}

  Operand In(OperandDataType type, const Shape& shape) {
    HostTensor data = Random(type, shape);
    std::string name = "input" + std::to_string(inputs_.size());
    inputs_.emplace(name, Upload(data));
    return Must(builder.Input(name, type, shape));
  }
  Operand Integers(const Shape& shape, const std::vector<long double>& values) {
    HostTensor data = HostTensor::Create(OperandDataType::kInt64, shape, values);
    std::string name = "input" + std::to_string(inputs_.size());
    inputs_.emplace(name, Upload(data));
    return Must(builder.Input(name, OperandDataType::kInt64, shape));
  }
  Operand Constant(OperandDataType type, const Shape& shape) {
    HostTensor data = Random(type, shape);
    return Must(builder.Constant(type, shape, data.bytes));
  }
  Operand Constant(OperandDataType type, const Shape& shape,
                   const std::vector<long double>& values) {
    return Must(builder.Constant(type, shape, HostTensor::Create(type, shape, values).bytes));
  }
  void Out(const Operand& operand) {
    outputs_.emplace("output" + std::to_string(outputs_.size()), operand);
  }

  struct Ran {
    uint32_t kernels = 0;
    std::vector<HostTensor> outputs;
  };
  Ran Run() {
    auto graph = Must(ml_.Wait(builder.Build(outputs_)));
    webnn::NamedTensors tensors;
    for (const auto& [name, operand] : outputs_) {
      tensors.emplace(
          name,
          Must(ml_.Wait(context_->CreateTensor(
              {.data_type = operand.data_type(), .shape = operand.shape(), .readable = true}))));
    }
    CHECK(context_->Dispatch(*graph, inputs_, tensors).ok());
    Ran ran{graph->kernel_count(), {}};
    for (const auto& [name, operand] : outputs_) {
      ran.outputs.push_back(
          {operand.descriptor(), Must(ml_.Wait(context_->ReadTensor(*tensors.at(name))))});
    }
    return ran;
  }

  webnn::GraphBuilder builder;

 private:
  HostTensor Random(OperandDataType type, const Shape& shape) {
    size_t count = 1;
    for (uint32_t extent : shape) count *= extent;
    const bool is_float = type == kFloat || type == kHalf;
    std::uniform_real_distribution<double> real(-2, 2);
    std::uniform_int_distribution<int> integer(0, 15);
    std::vector<long double> values(count);
    for (long double& value : values) value = is_float ? real(random_) : integer(random_) - 8;
    return HostTensor::Create(type, shape, values);
  }
  std::shared_ptr<webnn::Tensor> Upload(const HostTensor& data) {
    auto tensor = Must(ml_.Wait(context_->CreateTensor({.data_type = data.descriptor.data_type(),
                                                        .shape = data.descriptor.shape(),
                                                        .writable = true})));
    CHECK(context_->WriteTensor(*tensor, data.bytes).ok());
    return tensor;
  }

  webnn::ML& ml_;
  std::shared_ptr<webnn::Context> context_;
  std::mt19937 random_;
  webnn::NamedTensors inputs_;
  webnn::NamedOperands outputs_;
};

class Fusion : public ServiceTest {
 protected:
  using Write = std::function<void(Net&)>;

  Net::Ran Run(const Write& write, bool fusion, const std::string& fusions = "") {
    Net net(ml(), MakeContext({.fusion = fusion, .fusions = fusions}));
    write(net);
    return net.Run();
  }

  // Runs the graph as it stands and fused: as many kernels as said, and the same results.
  void ExpectKernels(uint32_t kernels, const Write& write, const std::string& fusions = "") {
    Net::Ran plain = Run(write, /*fusion=*/false);
    Net::Ran fused = Run(write, /*fusion=*/true, fusions);
    EXPECT_EQ(fused.kernels, kernels) << "of " << plain.kernels;
    ASSERT_EQ(fused.outputs.size(), plain.outputs.size());
    for (size_t i = 0; i < plain.outputs.size(); ++i) {
      ExpectNear(plain.outputs[i], fused.outputs[i]);
    }
  }
  // No macro operator is found but chains, which any element-wise operators make.
  void ExpectUnchanged(const Write& write) {
    ExpectKernels(Run(write, /*fusion=*/false).kernels, write, "-elementwiseChain");
    ExpectKernels(Run(write, /*fusion=*/true, "elementwiseChain").kernels, write);
  }

 private:
  // Operators round after each step in their own type: relative to the greatest value.
  static void ExpectNear(const HostTensor& want, const HostTensor& got) {
    std::vector<long double> wanted = want.Values();
    std::vector<long double> values = got.Values();
    ASSERT_EQ(wanted.size(), values.size());
    long double greatest = 1;
    for (long double value : wanted) greatest = std::max(greatest, std::fabs(value));
    const long double tolerance =
        greatest * (want.descriptor.data_type() == kHalf ? 0x1p-8L : 0x1p-19L);
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_LE(std::fabs(wanted[i] - values[i]), tolerance) << "element " << i;
    }
  }
};

// SimplifiedLayerNormalization, as ONNX Runtime Web writes it.
struct Norm {
  Operand squares;
  Operand mean;
  Operand result;
};
Norm AddNorm(Net& net, const Operand& x, const Operand& gain) {
  webnn::GraphBuilder& builder = net.builder;
  Operand two = net.Constant(x.data_type(), {}, {2});
  Operand epsilon = net.Constant(x.data_type(), {}, {0.001L});
  const auto axis = static_cast<uint32_t>(x.shape().size() - 1);
  Operand squares = Must(builder.Pow(x, two));
  Operand mean =
      Must(builder.ReduceMean(squares, {.axes = std::vector{axis}, .keep_dimensions = true}));
  Operand root = Must(builder.Sqrt(Must(builder.Add(mean, epsilon))));
  return {squares, mean, Must(builder.Mul(gain, Must(builder.Div(x, root))))};
}

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

// MatMulNBits, as ONNX Runtime Web writes it.
Operand AddBlockMatmul(Net& net, const Operand& x, OperandDataType weight_type, uint32_t columns,
                       uint32_t block) {
  webnn::GraphBuilder& builder = net.builder;
  const uint32_t depth = x.shape().back();
  const uint32_t blocks = depth / block;
  Operand weights = net.Constant(weight_type, {columns, blocks, block});
  Operand scale = net.Constant(x.data_type(), {columns * blocks});
  Operand scales = Must(builder.Reshape(scale, {columns, blocks, 1}));
  Operand zero_point = net.Constant(weight_type, {columns, blocks, 1});
  Operand dequantized = Must(builder.DequantizeLinear(weights, scales, zero_point));
  Operand matrix = Must(builder.Reshape(dequantized, {columns, depth}));
  return Must(builder.Matmul(x, Must(builder.Transpose(matrix))));
}

TEST_F(Fusion, MatmulOfQuantisedBlocks_IsOneKernel) {
  for (OperandDataType weights : {OperandDataType::kInt4, OperandDataType::kUint4,
                                  OperandDataType::kInt8, OperandDataType::kUint8}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      struct Case {
        uint32_t rows;
        uint32_t columns;
        uint32_t block;
      };
      for (const Case& test : {Case{1, 5, 8}, Case{1, 64, 32}, Case{6, 5, 16}, Case{6, 64, 32}}) {
        SCOPED_TRACE(testing::Message()
                     << webidl::ToString(weights) << ", " << webidl::ToString(type) << ", M "
                     << test.rows << ", N " << test.columns << ", block " << test.block);
        ExpectKernels(1, [&](Net& net) {
          Operand x = net.In(type, {test.rows, 96});
          net.Out(AddBlockMatmul(net, x, weights, test.columns, test.block));
        });
      }
    }
  }
}

TEST_F(Fusion, MatmulOfBlocksThatAreNoMultipleOfEight_IsLeftAlone) {
  ExpectUnchanged([](Net& net) {
    net.Out(AddBlockMatmul(net, net.In(kFloat, {2, 24}), OperandDataType::kInt8, 5, 12));
  });
}

// x times the transpose of constant weights, as checkpoints store them.
Operand Project(Net& net, const Operand& x, uint32_t columns) {
  Operand weights = net.Constant(x.data_type(), {columns, x.shape()[1]});
  return Must(net.builder.Gemm(x, weights, {.b_transpose = true}));
}

Operand AddBias(Net& net, const Operand& x) {
  return Must(net.builder.Add(x, net.Constant(x.data_type(), {x.shape().back()})));
}

TEST_F(Fusion, ProductsOfOneRow_AreOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectKernels(1, [&](Net& net) {
      Operand x = net.In(type, {1, 64});
      net.Out(AddBias(net, Project(net, x, 48)));
      net.Out(Project(net, x, 16));
      net.Out(AddBias(net, Project(net, x, 16)));
    });
  }
}

TEST_F(Fusion, ProductOfOneRowWithResidual_IsOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectKernels(1, [&](Net& net) {
      Operand product = Project(net, net.In(type, {1, 64}), 48);
      net.Out(Must(net.builder.Add(net.In(type, {1, 48}), product)));
    });
    ExpectKernels(1, [&](Net& net) {
      Operand product = AddBias(net, Project(net, net.In(type, {1, 64}), 48));
      net.Out(Must(net.builder.Add(product, net.In(type, {1, 48}))));
    });
  }
}

TEST_F(Fusion, ProductsOfMoreThanAKernelTakes_AreSeveralKernels) {
  ExpectKernels(2, [&](Net& net) {
    Operand x = net.In(kFloat, {1, 64});
    for (uint32_t columns : {8u, 5u, 7u, 64u, 3u}) net.Out(Project(net, x, columns));
  });
}

TEST_F(Fusion, ProductsOfReshapesOfARow_AreOneKernel) {
  ExpectKernels(1, [&](Net& net) {
    Operand x = net.In(kFloat, {64});
    for (uint32_t columns : {8u, 16u}) {
      net.Out(Project(net, Must(net.builder.Reshape(x, {1, 64})), columns));
    }
  });
}

TEST_F(Fusion, ProductThatAnotherWaitsFor_IsNotGroupedWithIt) {
  ExpectKernels(2, [&](Net& net) {
    Operand x = net.In(kFloat, {1, 64});
    Operand first = Project(net, x, 16);
    net.Out(Must(net.builder.Add(Project(net, x, 16), first)));
  });
}

TEST_F(Fusion, ProductsOfOtherRows_AreNotGrouped) {
  ExpectUnchanged([&](Net& net) {
    net.Out(Project(net, net.In(kFloat, {1, 64}), 16));
    net.Out(Project(net, net.In(kFloat, {1, 64}), 16));
  });
}

TEST_F(Fusion, ProductsOfBlocksThatShareRows_AreOneKernel) {
  for (uint32_t rows : {1u, 3u}) {
    ExpectKernels(1, [&](Net& net) {
      Operand x = net.In(kFloat, {rows, 96});
      net.Out(AddBias(net, AddBlockMatmul(net, x, OperandDataType::kUint4, 70, 32)));
      net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 8, 32));
      net.Out(AddBias(net, AddBlockMatmul(net, x, OperandDataType::kUint4, 9, 32)));
    });
  }
}

TEST_F(Fusion, ProductsOfUnlikeBlocks_AreNotGrouped) {
  ExpectKernels(3, [&](Net& net) {
    Operand x = net.In(kFloat, {1, 128});
    net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 8, 32));
    net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 8, 64));
    net.Out(AddBlockMatmul(net, x, OperandDataType::kInt4, 8, 32));
  });
}

Operand Gate(Net& net, const Operand& gate, const Operand& up) {
  Operand sigmoid = Must(net.builder.Sigmoid(gate));
  return Must(net.builder.Mul(Must(net.builder.Mul(gate, sigmoid)), up));
}

TEST_F(Fusion, GatedProducts_AreOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectKernels(1, [&](Net& net) {
      Operand x = net.In(type, {1, 64});
      net.Out(Gate(net, Project(net, x, 40), Project(net, x, 40)));
    });
    for (uint32_t rows : {1u, 3u}) {
      ExpectKernels(1, [&](Net& net) {
        Operand x = net.In(type, {rows, 96});
        Operand gate = AddBlockMatmul(net, x, OperandDataType::kUint4, 40, 32);
        net.Out(Gate(net, gate, AddBlockMatmul(net, x, OperandDataType::kUint4, 40, 32)));
      });
    }
  }
}

TEST_F(Fusion, GateThatIsAnOutput_IsNotHidden) {
  auto write = [](Net& net, bool is_output) {
    Operand x = net.In(kFloat, {1, 64});
    Operand gate = Project(net, x, 40);
    if (is_output) net.Out(gate);
    net.Out(Gate(net, gate, Project(net, x, 40)));
  };
  const uint32_t hidden = Run([&](Net& net) { write(net, false); }, /*fusion=*/true).kernels;
  auto with_output = [&](Net& net) { write(net, true); };
  const uint32_t kernels = Run(with_output, /*fusion=*/true).kernels;
  EXPECT_GT(kernels, hidden);
  ExpectKernels(kernels, with_output);
}

TEST_F(Fusion, GateOfItself_IsNotGated) {
  // silu(y) * y is not silu(y) * z.
  auto write = [](Net& net) {
    Operand gate = Project(net, net.In(kFloat, {1, 64}), 40);
    net.Out(Gate(net, gate, gate));
  };
  ExpectKernels(Run(write, /*fusion=*/true).kernels, write);
}

Operand Normalize(Net& net, const Operand& x) {
  return AddNorm(net, x, net.Constant(x.data_type(), {x.shape().back()})).result;
}

TEST_F(Fusion, NormalizedRow_IsPartOfItsProducts) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (size_t products : {1, 2, 3}) {
      ExpectKernels(1, [&](Net& net) {
        Operand x = Normalize(net, net.In(type, {1, 64}));
        for (size_t i = 0; i < products; ++i) net.Out(AddBias(net, Project(net, x, 16)));
      });
      ExpectKernels(1, [&](Net& net) {
        Operand x = Normalize(net, net.In(type, {1, 1, 96}));
        for (size_t i = 0; i < products; ++i) {
          net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 70, 32));
        }
      });
    }
    ExpectKernels(1, [&](Net& net) {
      Operand x = Normalize(net, net.In(type, {1, 64}));
      net.Out(Gate(net, Project(net, x, 40), Project(net, x, 40)));
    });
    ExpectKernels(1, [&](Net& net) {
      Operand x = Normalize(net, net.In(type, {1, 1, 64}));
      net.Out(Project(net, Must(net.builder.Reshape(x, {1, 64})), 40));
    });
  }
}

TEST_F(Fusion, NormalizedRowsThatCannotBePartOfAProduct_StayApart) {
  // Several rows.
  ExpectKernels(2, [](Net& net) {
    net.Out(Project(net, Normalize(net, net.In(kFloat, {3, 64})), 16));
  });
  // Somebody else wants them.
  ExpectKernels(2, [](Net& net) {
    Operand x = Normalize(net, net.In(kFloat, {1, 64}));
    net.Out(x);
    net.Out(Project(net, x, 16));
  });
  // One row for the normalisation, two for the product.
  ExpectKernels(2, [](Net& net) {
    Operand x = Normalize(net, net.In(kFloat, {1, 64}));
    net.Out(Project(net, Must(net.builder.Reshape(x, {2, 32})), 16));
  });
  // No slot is left.
  ExpectKernels(2, [](Net& net) {
    Operand x = Normalize(net, net.In(kFloat, {1, 96}));
    for (size_t i = 0; i < 3; ++i) {
      net.Out(AddBias(net, AddBlockMatmul(net, x, OperandDataType::kUint4, 70, 32)));
    }
  });
}

TEST_F(Fusion, NormalizedSumOfAProduct_IsAddedByTheProduct) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (bool by_block : {false, true}) {
      for (bool is_used_elsewhere : {false, true}) {
        ExpectKernels(2, [&](Net& net) {
          auto multiply = [&](const Operand& x) {
            return by_block ? AddBlockMatmul(net, x, OperandDataType::kInt4, 96, 32)
                            : Project(net, x, 96);
          };
          Operand product = multiply(net.In(type, {1, 64}));
          Operand sum = Must(net.builder.Add(net.In(type, {1, 96}), product));
          net.Out(multiply(Normalize(net, sum)));
          if (is_used_elsewhere) net.Out(sum);
        });
      }
    }
  }
}

TEST_F(Fusion, ProductThatCannotAdd_LeavesTheSumToTheNormalization) {
  // It is wanted for itself.
  ExpectKernels(3, [](Net& net) {
    Operand product = Project(net, net.In(kFloat, {1, 64}), 64);
    net.Out(product);
    Operand sum = Must(net.builder.Add(net.In(kFloat, {1, 64}), product));
    net.Out(Project(net, Normalize(net, sum), 16));
  });
  // It adds a bias already.
  ExpectKernels(3, [](Net& net) {
    Operand product = AddBias(net, Project(net, net.In(kFloat, {1, 64}), 64));
    Operand sum = Must(net.builder.Add(net.In(kFloat, {1, 64}), product));
    net.Out(Project(net, Normalize(net, sum), 16));
  });
}

// RotaryEmbedding of [1, rows, heads * size], as ONNX Runtime Web writes it.
Operand AddRotary(Net& net, const Operand& x, uint32_t heads, const Operand& positions,
                  const std::vector<long double>& sign, bool interleaved) {
  webnn::GraphBuilder& builder = net.builder;
  const uint32_t rows = x.shape()[1];
  const uint32_t half = x.shape()[2] / heads / 2;
  const uint32_t axis = interleaved ? 4 : 3;
  const Shape pairs = interleaved ? Shape{1, rows, heads, half, 2} : Shape{1, rows, heads, 2, half};
  const Shape angles = interleaved ? Shape{1, rows, 1, half, 1} : Shape{1, rows, 1, 1, half};
  Operand halves = Must(builder.Reshape(x, pairs));
  std::vector<Operand> parts = Must(builder.Split(halves, 2u, {.axis = axis}));
  Operand swapped = Must(builder.Concat({parts[1], parts[0]}, axis));
  auto table = [&] {
    Operand rows_of_table =
        Must(builder.Gather(net.Constant(x.data_type(), {20, half}), positions, {.axis = 0}));
    return Must(builder.Reshape(rows_of_table, angles));
  };
  Operand straight = Must(builder.Mul(halves, table()));
  Operand signs = net.Constant(x.data_type(), interleaved ? Shape{2} : Shape{2, 1}, sign);
  Operand turned = Must(builder.Mul(Must(builder.Mul(swapped, table())), signs));
  Operand sum = Must(builder.Add(straight, turned));
  return Must(builder.Reshape(sum, x.shape()));
}

TEST_F(Fusion, RotaryEmbedding_IsOneKernel) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (bool interleaved : {false, true}) {
      ExpectKernels(1, [&](Net& net) {
        // Negative positions count from the end, and what is out of range is clamped.
        Operand positions = net.Integers({1, 3}, {7, -2, 100});
        net.Out(AddRotary(net, net.In(type, {1, 3, 24}), 2, positions, {-1, 1}, interleaved));
      });
    }
  }
}

TEST_F(Fusion, RotationTheOtherWay_IsNoRotaryEmbedding) {
  ExpectUnchanged([](Net& net) {
    Operand positions = net.Integers({1, 3}, {7, 0, 1});
    net.Out(AddRotary(net, net.In(kFloat, {1, 3, 24}), 2, positions, {1, -1}, false));
  });
}

TEST_F(Fusion, RotaryEmbeddingAtConsecutivePositions_ReadsTheFirst) {
  ExpectKernels(1, [](Net& net) {
    Operand first = net.Integers({1, 1}, {5});
    Operand count = net.Constant(OperandDataType::kInt64, {1, 4}, {0, 1, 2, 3});
    Operand positions = Must(net.builder.Add(first, count));
    net.Out(AddRotary(net, net.In(kFloat, {1, 4, 24}), 2, positions, {-1, 1}, false));
  });
}

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
      {"depthwise, channels last",
       conv({1, 5, 6, 8}, {8, 3, 3, 1}, Layout::kNhwc, FilterLayout::kOhwi, 8),
       {1, 1, 8}},
      {"one channel out of many",
       conv({1, 4, 5, 5}, {2, 2, 3, 3}, Layout::kNchw, FilterLayout::kOihw, 2),
       {2, 1, 1}},
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
  size_t turn = 0;
  for (OperandDataType type : {kFloat, kHalf}) {
    for (const Head& head : Heads()) {
      SCOPED_TRACE(testing::Message() << head.name << ", " << webidl::ToString(type));
      // The activations take turns, so that each meets several heads.
      const Follow& activate = activations[turn++ % activations.size()];
      ExpectKernels(1, [&](Net& net) {
        Operand y = head.write(net, type);
        y = Must(net.builder.Add(net.Constant(type, head.bias), y));
        y = Must(net.builder.Add(y, net.In(type, y.shape())));
        net.Out(activate(net, y));
      });
    }
  }
}

TEST_F(Fusion, EachActivationAlone_IsPartOfTheProductBeforeIt) {
  for (const Follow& activate : Activations()) {
    ExpectKernels(1, [&](Net& net) { net.Out(activate(net, Heads().front().write(net, kFloat))); });
  }
}

TEST_F(Fusion, BiasAlone_IsPartOfTheProductBeforeIt) {
  for (const Head& head : Heads()) {
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
  for (const Shape& shape : {Shape{4, 12}, Shape{5, 7}}) {
    ExpectKernels(1, [&](Net& net) {
      webnn::GraphBuilder& builder = net.builder;
      Operand x = Must(builder.Mul(net.In(kFloat, shape), net.In(kFloat, {shape[1]})));
      x = Must(builder.Sub(net.In(kFloat, {shape[0], 1}), x));
      net.Out(Must(builder.Max(x, net.In(kFloat, {}))));
    });
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
  for (uint32_t seed = 1; seed <= 6; ++seed) {
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
  EXPECT_GT(fewer, 25u);
}

}  // namespace
}  // namespace webnnd::service
