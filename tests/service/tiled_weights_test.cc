// Weights that the device keeps by tiles of rows (service/graph/row_tiles.h): every reader sees the
// values that the client gave.
#include <cstdint>
#include <vector>

#include "tests/service/fusion_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::fusion_test {
namespace {

constexpr uint32_t kRows = 64;
constexpr uint32_t kBlocks = 3;
constexpr uint32_t kBlock = 32;

// Different in neighbouring rows, blocks and places.
int ValueAt(uint32_t row, uint32_t block, uint32_t place) {
  return static_cast<int>((5 * row + 3 * block + place + place / 7) % 16);
}

Operand Weights(Net& net) {
  std::vector<long double> values;
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t block = 0; block < kBlocks; ++block) {
      for (uint32_t place = 0; place < kBlock; ++place) {
        values.push_back(ValueAt(row, block, place));
      }
    }
  }
  return net.Constant(OperandDataType::kUint4, {kRows, kBlocks, kBlock}, values);
}

// As floats: outputs are none of 4 bits.
Operand Decoded(Net& net, const Operand& codes) {
  return Must(net.builder.DequantizeLinear(codes, net.Constant(kFloat, {1, 1, 1}, {1}),
                                           net.Constant(OperandDataType::kUint4, {1, 1, 1}, {0})));
}

class TiledWeights : public Fusion {
 protected:
  // Runs it fused and as it stands; each element must be what `want` says of its index.
  void Expect(const Write& write, const std::function<double(size_t)>& want) {
    for (bool fusion : {false, true}) {
      const Net::Ran ran = Run(write, fusion);
      const std::vector<long double> values = ran.outputs.at(0).Values();
      ASSERT_FALSE(values.empty());
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(static_cast<double>(values[i]), want(i))
            << "element " << i << ", fused " << fusion;
      }
    }
  }
};

TEST_F(TiledWeights, OperatorThatReadsAll_SeesItsOrder) {
  Expect(
      [](Net& net) { net.Out(Decoded(net, Weights(net))); },
      [](size_t i) { return ValueAt(i / (kBlocks * kBlock), i / kBlock % kBlocks, i % kBlock); });
}

TEST_F(TiledWeights, LookUp_TakesRows) {
  const std::vector<long double> ids = {63, 0, 9, 32, 17};
  Expect(
      [&](Net& net) {
        Operand rows = net.Integers({5}, ids);
        net.Out(Decoded(net, Must(net.builder.Gather(Weights(net), rows, {.axis = 0}))));
      },
      [&](size_t i) {
        return ValueAt(static_cast<uint32_t>(ids[i / (kBlocks * kBlock)]), i / kBlock % kBlocks,
                       i % kBlock);
      });
}

TEST_F(TiledWeights, LookUpOfBlocks_TakesThem) {
  const std::vector<long double> ids = {2, 1};
  Expect(
      [&](Net& net) {
        Operand blocks = net.Integers({2}, ids);
        net.Out(Decoded(net, Must(net.builder.Gather(Weights(net), blocks, {.axis = 1}))));
      },
      [&](size_t i) {
        return ValueAt(i / (2 * kBlock), static_cast<uint32_t>(ids[i / kBlock % 2]), i % kBlock);
      });
}

TEST_F(TiledWeights, ProductOfWhatIsReadElsewhereToo_SeesTheSame) {
  auto write = [](Net& net) {
    Operand weights = Weights(net);
    Operand scale = net.Constant(kFloat, {kRows, kBlocks, 1}, {1});
    Operand zero = net.Constant(OperandDataType::kUint4, {kRows, kBlocks, 1}, {0});
    Operand blocks = Must(net.builder.DequantizeLinear(weights, scale, zero));
    Operand matrix = Must(net.builder.Reshape(blocks, {kRows, kBlocks * kBlock}));
    Operand x = net.Constant(kFloat, {2, kBlocks * kBlock}, {1});
    Operand doubled = Must(net.builder.Add(x, net.In(kFloat, {1, 1})));
    net.Out(Must(net.builder.Matmul(doubled, Must(net.builder.Transpose(matrix)))));
    net.Out(Decoded(net, Must(net.builder.Slice(weights, {1, 0, 0}, {3, kBlocks, kBlock}))));
  };
  ExpectKernels(Run(write, /*fusion=*/true).kernels, write);
}

// Where an invocation of a GPU computes one row of them, two or four; with their scales by tiles of
// 64 rows, and not.
TEST_F(TiledWeights, ProductsOfManyTurns_AreThoseOfTheirOrder) {
  Sample sample(5);
  for (uint32_t rows : {KernelsOfCoresOrGpus(15, 48), 3u, 1u}) {
    for (uint32_t columns : {192u, 160u}) {
      if (!sample.Takes()) continue;
      ExpectKernels(1, [&](Net& net) {
        Operand x = net.In(kFloat, {rows, 1056});
        net.Out(AddBlockMatmul(net, x, OperandDataType::kUint4, columns, 32));
      });
    }
  }
}

}  // namespace
}  // namespace webnnd::service::fusion_test
