// Products of quantised blocks, products of one row together, and what is part of them.
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/service/fusion_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::fusion_test {
namespace {

TEST_F(Fusion, MatmulOfQuantisedBlocks_IsOneKernel) {
  Sample sample(5);
  for (OperandDataType weights : {OperandDataType::kInt4, OperandDataType::kUint4,
                                  OperandDataType::kInt8, OperandDataType::kUint8}) {
    for (OperandDataType type : {kFloat, kHalf}) {
      struct Case {
        uint32_t rows;
        uint32_t columns;
        uint32_t block;
      };
      for (const Case& test : {Case{1, 5, 8}, Case{1, 64, 32}, Case{6, 5, 16}, Case{6, 64, 32}}) {
        if (!sample.Takes()) continue;
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
      net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 32, 32));
      net.Out(AddBias(net, AddBlockMatmul(net, x, OperandDataType::kUint4, 9, 32)));
    });
  }
}

TEST_F(Fusion, ProductsOfUnlikeBlocks_AreNotGrouped) {
  ExpectKernels(3, [&](Net& net) {
    Operand x = net.In(kFloat, {1, 128});
    net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 32, 32));
    net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 32, 64));
    net.Out(AddBlockMatmul(net, x, OperandDataType::kInt4, 32, 32));
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
        const uint32_t columns = rows == 1 ? 96 : 40;  // By tiles of rows, and not.
        Operand gate = AddBlockMatmul(net, x, OperandDataType::kUint4, columns, 32);
        net.Out(Gate(net, gate, AddBlockMatmul(net, x, OperandDataType::kUint4, columns, 32)));
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

// Each of two groups would wait for the other: one of them stays apart.
TEST_F(Fusion, GroupsThatAddEachOthersProducts_DoNotWaitForThemselves) {
  const auto write = [](Net& net) {
    const auto project = [&](const Operand& x, const std::optional<Operand>& c) {
      Operand weights = net.Constant(kFloat, {64, 64});
      return Must(net.builder.Gemm(x, weights, {.c = c, .b_transpose = true}));
    };
    Operand x = net.In(kFloat, {1, 64});
    Operand y = net.In(kFloat, {1, 64});
    Operand p2 = project(x, std::nullopt);
    Operand s1 = project(y, std::nullopt);
    Operand p1 = project(x, s1);
    Operand s2 = project(y, p2);
    net.Out(p1);
    net.Out(s2);
  };
  ExpectKernels(3, write);
}

TEST_F(Fusion, NormalizedSumsThatScaleEachOther_DoNotWaitForThemselves) {
  const auto write = [](Net& net) {
    const auto sum = [&] {
      return Must(net.builder.Add(net.In(kFloat, {1, 64}), net.In(kFloat, {1, 64})));
    };
    Operand a = sum(), b = sum();
    net.Out(AddNorm(net, a, b).result);
    net.Out(AddNorm(net, b, a).result);
  };
  ExpectKernels(Run(write, /*fusion=*/true).kernels, write);
}

TEST_F(Fusion, SumOfTwoProductsByBlock_IsNoBiasOfEither) {
  for (const char* fusions : {"", "-epilogue"}) {
    ExpectKernels(
        2,
        [](Net& net) {
          Operand x = net.In(kFloat, {1, 64});
          Operand a = AddBlockMatmul(net, x, OperandDataType::kUint4, 70, 32);
          Operand b = AddBlockMatmul(net, x, OperandDataType::kUint4, 70, 32);
          net.Out(Must(net.builder.Add(a, b)));
        },
        fusions);
  }
}

TEST_F(Fusion, NormalizedRow_IsPartOfItsProducts) {
  Sample sample(3);
  const auto expect_one_kernel = [&](const auto& write) {
    if (sample.Takes()) ExpectKernels(1, write);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    for (size_t products : {1, 2, 3}) {
      expect_one_kernel([&](Net& net) {
        Operand x = Normalize(net, net.In(type, {1, 64}));
        for (size_t i = 0; i < products; ++i) net.Out(AddBias(net, Project(net, x, 16)));
      });
      expect_one_kernel([&](Net& net) {
        Operand x = Normalize(net, net.In(type, {1, 1, 96}));
        for (size_t i = 0; i < products; ++i) {
          net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, 70, 32));
        }
      });
    }
    expect_one_kernel([&](Net& net) {
      Operand x = Normalize(net, net.In(type, {1, 64}));
      net.Out(Gate(net, Project(net, x, 40), Project(net, x, 40)));
    });
    expect_one_kernel([&](Net& net) {
      Operand x = Normalize(net, net.In(type, {1, 1, 64}));
      net.Out(Project(net, Must(net.builder.Reshape(x, {1, 64})), 40));
    });
  }
}

TEST_F(Fusion, FewNormalizedRows_ArePartOfTheirProductsByBlock) {
  const auto multiply = [](Net& net, const Operand& x) {
    return AddBlockMatmul(net, x, OperandDataType::kUint4, 70, 64);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    for (size_t products : {1, 3}) {
      ExpectKernels(1, [&](Net& net) {
        Operand x = Normalize(net, net.In(type, {1, 3, 192}));
        for (size_t i = 0; i < products; ++i) net.Out(multiply(net, x));
      });
    }
    ExpectKernels(1, [&](Net& net) {
      Operand x = Normalize(net, net.In(type, {5, 64}));
      net.Out(Gate(net, multiply(net, x), multiply(net, x)));
    });
  }
  const uint32_t few = KernelsOfCoresOrGpus(15, 55);
  ExpectKernels(1, [&](Net& net) {
    net.Out(multiply(net, Normalize(net, net.In(kFloat, {few, 64}))));
  });
  ExpectKernels(2, [&](Net& net) {
    net.Out(multiply(net, Normalize(net, net.In(kFloat, {few + 1, 64}))));
  });
}

// Packed rows, and the product, which unpacks weights that come by tiles while it goes over them;
// GPUs unpack them before.
TEST_F(Fusion, SomeRowsTimesQuantisedBlocks_AreATallProductOfTheirWeights) {
  struct Case {
    uint32_t rows, columns, depth, block;
    OperandDataType type = kFloat;
    OperandDataType weights = OperandDataType::kUint4;
    uint32_t kernels_of_gpus = 1;
  };
  for (const Case& test : {Case{16, 256, 416, 32}, Case{17, 512, 160, 32, kHalf},
                           Case{33, 320, 128, 128, kFloat, OperandDataType::kInt4},
                           Case{55, 192, 192, 64, kHalf, OperandDataType::kInt4},
                           Case{96, 128, 96, 32, kFloat, OperandDataType::kUint4, 2}}) {
    SCOPED_TRACE(testing::Message() << test.rows << " x " << test.columns << " x " << test.depth);
    const uint32_t kernels = KernelsOfCoresOrGpus(2, test.kernels_of_gpus);
    const auto multiply = [&](Net& net, const Operand& x) {
      return AddBlockMatmul(net, x, test.weights, test.columns, test.block);
    };
    ExpectKernels(kernels, [&](Net& net) {
      net.Out(multiply(net, net.In(test.type, {test.rows, test.depth})));
    });
  }
  const auto multiply = [](Net& net, const Operand& x) {
    return AddBlockMatmul(net, x, OperandDataType::kUint4, 256, 32);
  };
  // What is added, in each row the same or not, and what gates.
  ExpectKernels(KernelsOfCoresOrGpus(2, 1), [&](Net& net) {
    net.Out(AddBias(net, multiply(net, net.In(kHalf, {40, 256}))));
  });
  ExpectKernels(KernelsOfCoresOrGpus(4, 2), [&](Net& net) {
    Operand product = multiply(net, net.In(kFloat, {40, 256}));
    Operand sum = Must(net.builder.Add(net.In(kFloat, {40, 256}), product));
    net.Out(AddBlockMatmul(net, Normalize(net, sum), OperandDataType::kUint4, 64, 32));
  });
  ExpectKernels(KernelsOfCoresOrGpus(5, 1), [&](Net& net) {
    Operand x = net.In(kFloat, {40, 256});
    net.Out(Gate(net, multiply(net, x), multiply(net, x)));
  });
  // Too few rows, too few products.
  ExpectKernels(1, [&](Net& net) {
    net.Out(AddBlockMatmul(net, net.In(kFloat, {15, 512}), OperandDataType::kUint4, 256, 32));
  });
  ExpectKernels(1, [&](Net& net) {
    net.Out(AddBlockMatmul(net, net.In(kFloat, {16, 512}), OperandDataType::kUint4, 64, 32));
  });
}

// Unpacked weights, packed rows, the product; GPUs load few rows as they lie.
TEST_F(Fusion, ManyRowsTimesQuantisedBlocks_AreATallProductOfUnpackedWeights) {
  const auto expect_kernels = [&](uint32_t kernels, OperandDataType type, uint32_t rows,
                                  uint32_t columns, OperandDataType weights, uint32_t block) {
    SCOPED_TRACE(testing::Message() << webidl::ToString(type) << ", " << webidl::ToString(weights)
                                    << ", M " << rows << ", N " << columns << ", block " << block);
    ExpectKernels(kernels, [&](Net& net) {
      net.Out(AddBlockMatmul(net, net.In(type, {rows, 256}), weights, columns, block));
    });
  };
  const uint32_t all = KernelsOfCoresOrGpus(3, 2);
  const uint32_t few = KernelsOfCoresOrGpus(15, 55);
  // Scales by tiles and not; weights by tiles and not; columns that fill no panel.
  expect_kernels(all, kFloat, 136, 256, OperandDataType::kInt4, 32);
  expect_kernels(all, kFloat, 64, 288, OperandDataType::kUint4, 64);
  expect_kernels(all, kHalf, 70, 301, OperandDataType::kInt4, 128);
  // Few rows, few products.
  expect_kernels(1, kFloat, few, 512, OperandDataType::kInt4, 32);
  expect_kernels(1, kFloat, 56, 64, OperandDataType::kInt4, 32);
}

// Panels of all would take more than a product may have beside it.
TEST_F(Fusion, ManyRowsTimesALargeMatrixOfBlocks_AreSeveralProducts) {
  const auto multiply = [](Net& net, const Operand& x) {
    return AddBlockMatmul(net, x, OperandDataType::kUint4, 2001, 32);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectKernels(KernelsOfCoresOrGpus(5, 4), [&](Net& net) {
      net.Out(AddBias(net, multiply(net, net.In(type, {56, 1056}))));
    });
  }
  ExpectKernels(KernelsOfCoresOrGpus(11, 9), [&](Net& net) {
    Operand x = net.In(kFloat, {56, 1056});
    net.Out(Gate(net, multiply(net, x), multiply(net, x)));
  });
}

TEST_F(Fusion, ProductsByBlockOfWhichOneIsSmall_StayOneKernel) {
  ExpectKernels(1, [&](Net& net) {
    Operand x = net.In(kFloat, {64, 256});
    for (uint32_t columns : {320, 32}) {
      net.Out(AddBlockMatmul(net, x, OperandDataType::kInt4, columns, 32));
    }
  });
}

// A row of the sum is two of the product, which adds as many rows.
TEST_F(Fusion, ManyRowsTimesBlocks_AddWhatIsNormalizedInLongerRows) {
  ExpectKernels(KernelsOfCoresOrGpus(6, 3), [&](Net& net) {
    Operand product =
        AddBlockMatmul(net, net.In(kFloat, {80, 256}), OperandDataType::kUint4, 288, 32);
    Operand longer = Must(net.builder.Reshape(product, {40, 576}));
    Operand sum = Must(net.builder.Add(net.In(kFloat, {40, 576}), longer));
    net.Out(AddBlockMatmul(net, Normalize(net, sum), OperandDataType::kUint4, 64, 32));
  });
}

TEST_F(Fusion, ProductsByBlockThatShareManyRows_UnpackTheirWeightsEach) {
  const auto multiply = [](Net& net, const Operand& x) {
    return AddBlockMatmul(net, x, OperandDataType::kUint4, 320, 32);
  };
  ExpectKernels(KernelsOfCoresOrGpus(6, 4), [&](Net& net) {
    Operand x = net.In(kFloat, {136, 256});
    net.Out(AddBias(net, multiply(net, x)));
    net.Out(multiply(net, x));
  });
  ExpectKernels(KernelsOfCoresOrGpus(7, 5), [&](Net& net) {
    Operand x = net.In(kFloat, {136, 256});
    net.Out(Gate(net, multiply(net, x), multiply(net, x)));
  });
}

TEST_F(Fusion, NormalizedRowsThatCannotBePartOfAProduct_StayApart) {
  // Several rows, not by block.
  ExpectKernels(2, [](Net& net) {
    net.Out(Project(net, Normalize(net, net.In(kFloat, {3, 64})), 16));
  });
  // Somebody else wants them.
  ExpectKernels(2, [](Net& net) {
    Operand x = Normalize(net, net.In(kFloat, {1, 64}));
    net.Out(x);
    net.Out(Project(net, x, 16));
  });
  // The product adds them, or they are its weights.
  ExpectKernels(2, [](Net& net) {
    Operand product = AddBlockMatmul(net, net.In(kFloat, {4, 64}), OperandDataType::kUint4, 64, 32);
    net.Out(Must(net.builder.Add(product, Normalize(net, net.In(kFloat, {1, 64})))));
  });
  ExpectKernels(2, [](Net& net) {
    Operand product = Project(net, net.In(kFloat, {1, 64}), 64);
    net.Out(Must(net.builder.Add(product, Normalize(net, net.In(kFloat, {1, 64})))));
  });
  ExpectKernels(2, [](Net& net) {
    Operand weights = Normalize(net, net.In(kFloat, {1, 64}));
    net.Out(Must(net.builder.Gemm(net.In(kFloat, {1, 64}), weights, {.b_transpose = true})));
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
        // Squares of several rows of float16 would be beyond it, one after the other.
        const uint32_t rows = by_block && type == kFloat ? 4 : 1;
        ExpectKernels(2, [&](Net& net) {
          auto multiply = [&](const Operand& x) {
            return by_block ? AddBlockMatmul(net, x, OperandDataType::kInt4, 96, 32)
                            : Project(net, x, 96);
          };
          Operand product = multiply(net.In(type, {rows, 64}));
          Operand sum = Must(net.builder.Add(net.In(type, {rows, 96}), product));
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

}  // namespace
}  // namespace webnnd::service::fusion_test
