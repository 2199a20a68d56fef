#include "tests/service/fusion_fixture.h"

namespace webnnd::service::fusion_test {

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

Operand Project(Net& net, const Operand& x, uint32_t columns) {
  Operand weights = net.Constant(x.data_type(), {columns, x.shape()[1]});
  return Must(net.builder.Gemm(x, weights, {.b_transpose = true}));
}

Operand AddBias(Net& net, const Operand& x) {
  return Must(net.builder.Add(x, net.Constant(x.data_type(), {x.shape().back()})));
}

}  // namespace webnnd::service::fusion_test
