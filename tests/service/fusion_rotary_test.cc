// Rotary embeddings.
#include <vector>

#include "tests/service/fusion_fixture.h"

namespace webnnd::service::fusion_test {
namespace {

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

}  // namespace
}  // namespace webnnd::service::fusion_test
