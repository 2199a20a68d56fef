// Attention, and what only looks like it. ../shared/fusion has how frameworks write it.
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/service/fusion_fixture.h"

namespace webnnd::service::fusion_test {
namespace {

constexpr uint32_t kKeys = 8;
constexpr uint32_t kHeadSize = 64;

// softmax(0.125 * queries * keys^T + mask), of one row of four heads, of which two share keys: [4,
// 1, keys].
Operand AddProbabilities(Net& net, const Operand& keys) {
  webnn::GraphBuilder& builder = net.builder;
  Operand queries = net.In(kFloat, {2, 2, kHeadSize});
  Operand products = Must(builder.Matmul(
      queries, Must(builder.Transpose(keys, {.permutation = std::vector<uint32_t>{0, 2, 1}}))));
  Operand by_row = Must(builder.Reshape(products, {4, 1, kKeys}));
  Operand scaled = Must(builder.Mul(by_row, net.Constant(kFloat, {}, {0.125L})));
  std::vector<long double> indices(kKeys);
  std::iota(indices.begin(), indices.end(), 0);
  constexpr OperandDataType kInteger = OperandDataType::kInt32;
  Operand position =
      Must(builder.Add(net.In(kInteger, {1, 1}), net.Constant(kInteger, {1, 1}, {8})));
  Operand visible =
      Must(builder.LesserOrEqual(net.Constant(kInteger, {1, kKeys}, indices), position));
  Operand mask = Must(
      builder.Where(visible, net.Constant(kFloat, {}, {0}), net.Constant(kFloat, {}, {-1e30L})));
  return Must(builder.Softmax(Must(builder.Add(scaled, mask)), 2));
}

TEST_F(Fusion, AttentionOfOneRow_IsOneKernel) {
  ExpectKernels(1, [](Net& net) {
    Operand keys = net.In(kFloat, {2, kKeys, kHeadSize});
    Operand probabilities = Must(net.builder.Reshape(AddProbabilities(net, keys), {2, 2, kKeys}));
    net.Out(Must(net.builder.Matmul(probabilities, net.In(kFloat, {2, kKeys, kHeadSize}))));
  });
}

// Head h of each pair goes with values h, not pair i with values i.
TEST_F(Fusion, ProbabilitiesOfOtherHeadsThanTheValues_AreNoAttention) {
  const auto write = [](Net& net) {
    Operand keys = net.In(kFloat, {2, kKeys, kHeadSize});
    Operand probabilities =
        Must(net.builder.Reshape(AddProbabilities(net, keys), {2, 2, 1, kKeys}));
    net.Out(Must(net.builder.Matmul(probabilities, net.In(kFloat, {2, kKeys, kHeadSize}))));
  };
  ExpectKernels(Run(write, /*fusion=*/true).kernels, write);
}

// Attention of [rows, heads, size] that sees what `visible` of [rows, keys] says, with the heads of
// rows put back to where they were.
Operand AddAttention(Net& net, const Operand& queries, const Operand& keys, const Operand& values,
                     const Operand& visible) {
  webnn::GraphBuilder& builder = net.builder;
  const webnn::TransposeOptions heads_first{.permutation = std::vector<uint32_t>{1, 0, 2}};
  Operand keys_last =
      Must(builder.Transpose(keys, {.permutation = std::vector<uint32_t>{0, 2, 1}}));
  Operand products = Must(builder.Matmul(Must(builder.Transpose(queries, heads_first)), keys_last));
  Operand scaled = Must(builder.Mul(products, net.Constant(kFloat, {}, {0.125L})));
  Operand mask = Must(
      builder.Where(visible, net.Constant(kFloat, {}, {0}), net.Constant(kFloat, {}, {-1e30L})));
  Operand weights = Must(builder.Softmax(Must(builder.Add(scaled, mask)), 2));
  return Must(builder.Transpose(Must(builder.Matmul(weights, values)), heads_first));
}

// A mask by integers of a type, [1, keys] against [rows, 1] and what is added to each.
void WriteAttentionOfSums(Net& net, OperandDataType type) {
  constexpr uint32_t kRows = 3;
  webnn::GraphBuilder& builder = net.builder;
  std::vector<long double> indices(kKeys);
  std::iota(indices.begin(), indices.end(), 0);
  Operand key = net.Constant(type, {1, kKeys}, indices);
  Operand row = net.Constant(type, {kRows, 1}, {250, 251, 252});
  Operand last =
      Must(builder.Add(row, net.Constant(type, {1, kKeys}, std::vector<long double>(kKeys, 10))));
  net.Out(AddAttention(net, net.In(kFloat, {kRows, 2, kHeadSize}),
                       net.In(kFloat, {2, kKeys, kHeadSize}), net.In(kFloat, {2, kKeys, kHeadSize}),
                       Must(builder.LesserOrEqual(key, last))));
}

TEST_F(Fusion, AttentionMaskedBySums_IsOneKernel) {
  ExpectKernels(1, [](Net& net) { WriteAttentionOfSums(net, OperandDataType::kInt32); });
}

// Queries that are scattered are no part of the write of keys and values that meets them: two that
// go to the same places are a write of their own.
TEST_F(Fusion, QueriesThatAreScattered_AreNeitherKeysNorValues) {
  constexpr OperandDataType kInteger = OperandDataType::kInt32;
  ExpectKernels(4, [](Net& net) {
    webnn::GraphBuilder& builder = net.builder;
    const auto write = [&](uint32_t rows, const Operand& places) {
      Operand past = net.In(kFloat, {2, rows, kHeadSize});
      return Must(builder.ScatterND(past, places, net.In(kFloat, {1, 2, kHeadSize})));
    };
    Operand only_row = net.Constant(kInteger, {1, 2, 2}, {0, 0, 1, 0});
    Operand queries = write(1, only_row);
    Operand other_queries = write(1, only_row);
    Operand last_row = net.Constant(kInteger, {1, 2, 2}, {0, kKeys - 1, 1, kKeys - 1});
    Operand keys = write(kKeys, last_row);
    Operand values = write(kKeys, last_row);
    Operand key = net.Constant(kInteger, {1, kKeys}, {0, 1, 2, 3, 4, 5, 6, 7});
    Operand visible = Must(builder.LesserOrEqual(key, net.In(kInteger, {1, 1})));
    for (const Operand& heads : {queries, other_queries}) {
      Operand by_row = Must(builder.Reshape(heads, {1, 2, kHeadSize}));
      net.Out(AddAttention(net, by_row, keys, values, visible));
    }
  });
}

// Sums of 32 bits wrap around; those of what was widened before do not, and nor does "or equal".
TEST_F(Fusion, PositionsAtTheEndOfTheirType_AreWhatSumsMakeOfThem) {
  constexpr uint32_t kRows = 3;
  for (OperandDataType type : {OperandDataType::kInt32, OperandDataType::kInt64}) {
    for (long double start : {0x7fffffffp0L, 0x7ffffffep0L, -0x80000000p0L, 5.0L}) {
      SCOPED_TRACE(start);
      const auto add_start = [&](Net& net, const Shape& shape, const auto& offsets) {
        Operand first = net.Integers({1}, {start}, OperandDataType::kInt32);
        if (type != OperandDataType::kInt32) first = Must(net.builder.Cast(first, type));
        return Must(net.builder.Add(first, net.Constant(type, shape, offsets)));
      };
      using Values = std::vector<long double>;
      ExpectKernels(1, [&](Net& net) {
        Values indices(kKeys);
        std::iota(indices.begin(), indices.end(), 0);
        Operand last = add_start(net, {kRows, 1}, Values{0, 1, 2});
        Operand key = net.Constant(type, {1, kKeys}, indices);
        Operand queries = net.In(kFloat, {kRows, 2, kHeadSize});
        Operand keys = net.In(kFloat, {2, kKeys, kHeadSize});
        Operand values = net.In(kFloat, {2, kKeys, kHeadSize});
        Operand visible = Must(net.builder.LesserOrEqual(key, last));
        net.Out(AddAttention(net, queries, keys, values, visible));
      });
      ExpectKernels(1, [&](Net& net) {
        Operand head = net.Constant(type, {kRows, 2, 1}, {0, 1, 0, 1, 0, 1});
        Operand row = add_start(net, {kRows, 2, 1}, Values{0, 0, 1, 1, 2, 2});
        Operand places = Must(net.builder.Concat({head, row}, 2));
        for (int i = 0; i < 2; ++i) {
          Operand past = net.In(kFloat, {2, kKeys, kHeadSize});
          Operand rows = net.In(kFloat, {kRows, 2, kHeadSize});
          net.Out(Must(net.builder.ScatterND(past, places, rows)));
        }
      });
    }
  }
}

// Of several rows an invocation goes over all keys; where it would loop too long, nothing is fused.
TEST_F(Fusion, AttentionOfManyKeys_SeesThemAll) {
  constexpr OperandDataType kInteger = OperandDataType::kInt32;
  constexpr uint32_t kSize = 4;
  constexpr uint32_t kInner = 256;
  const auto steps = [](uint32_t count, uint32_t step) {
    std::vector<long double> values(count);
    for (uint32_t i = 0; i < count; ++i) values[i] = i * step;
    return values;
  };
  const uint32_t outer_max = TestDevice()->narrow() ? 116 : 140;
  for (const uint32_t rows : {1u, 3u}) {
    for (const uint32_t outer : {116u, 128u, 140u, 200u, 1500u}) {
      // What is not fused has products of no more.
      if (outer == 1500 && (rows != 1 || TestDevice()->narrow())) continue;
      const uint32_t keys = outer * kInner;
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(keys) + " keys");
      const bool is_fused = TestDevice()->wide() || rows == 1 || outer <= outer_max;
      const uint32_t kernels = rows == 1 ? 2 : 1;
      ExpectKernels(is_fused ? kernels : 8, [&](Net& net) {
        webnn::GraphBuilder& builder = net.builder;
        // More than the elements of a constant that passes look at.
        Operand places = Must(builder.Add(net.Constant(kInteger, {outer, 1}, steps(outer, kInner)),
                                          net.Constant(kInteger, {1, kInner}, steps(kInner, 1))));
        Operand last = Must(builder.Add(net.Integers({1}, {keys - 4.0L}, kInteger),
                                        net.Constant(kInteger, {rows, 1}, steps(rows, 1))));
        Operand visible =
            Must(builder.LesserOrEqual(Must(builder.Reshape(places, {1, keys})), last));
        Operand values = net.In(kFloat, {1, keys, kSize});
        net.Out(AddAttention(net, net.In(kFloat, {rows, 1, kSize}),
                             net.In(kFloat, {1, keys, kSize}), values, visible));
      });
    }
  }
}

// A window bounds what an invocation goes over.
TEST_F(Fusion, AttentionOfManyKeysThroughAWindow_IsOneKernel) {
  constexpr OperandDataType kInteger = OperandDataType::kInt32;
  constexpr uint32_t kSize = 4;
  constexpr uint32_t kInner = 256;
  constexpr uint32_t kOuter = 200;
  constexpr uint32_t kMany = kInner * kOuter;
  ExpectKernels(1, [&](Net& net) {
    webnn::GraphBuilder& builder = net.builder;
    std::vector<long double> inner(kInner);
    std::iota(inner.begin(), inner.end(), 0);
    std::vector<long double> outer(kOuter);
    for (uint32_t i = 0; i < kOuter; ++i) outer[i] = i * kInner;
    Operand places =
        Must(builder.Reshape(Must(builder.Add(net.Constant(kInteger, {kOuter, 1}, outer),
                                              net.Constant(kInteger, {1, kInner}, inner))),
                             {1, kMany}));
    Operand last = Must(builder.Add(net.Integers({1}, {kMany - 4.0L}, kInteger),
                                    net.Constant(kInteger, {3, 1}, {0, 1, 2})));
    Operand visible = Must(builder.LesserOrEqual(places, last));
    webnn::CumulativeSumOptions beyond{.exclusive = true, .reversed = true};
    Operand count = Must(builder.CumulativeSum(Must(builder.Cast(visible, kInteger)), 1, beyond));
    Operand near = Must(builder.Lesser(count, net.Constant(kInteger, {}, {300})));
    net.Out(AddAttention(net, net.In(kFloat, {3, 1, kSize}), net.In(kFloat, {1, kMany, kSize}),
                         net.In(kFloat, {1, kMany, kSize}),
                         Must(builder.LogicalAnd(visible, near))));
  });
}

// 250 + 10 is 4: the first row sees five keys, and not all.
TEST_F(Fusion, SumsOfBytesThatWrapAround_AreMasksAsTheyAre) {
  const auto write = [](Net& net) { WriteAttentionOfSums(net, OperandDataType::kUint8); };
  ExpectKernels(Run(write, /*fusion=*/true).kernels, write);
}

}  // namespace
}  // namespace webnnd::service::fusion_test
