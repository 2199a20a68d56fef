#include "examples/generate/matrix_graph.h"

#include <optional>
#include <vector>

namespace webnnd::generate {
namespace {

using webnn::Dimension;
using webnn::GraphBuilder;
using webnn::Operand;
using webnn::OperandDataType;
using webnn::Sizes;

// The operators are those that web frameworks emit for block-quantised weights, in their order, so
// that a service which knows the pattern reads the codes in one kernel.
Result<Operand> ProjectQuantized(GraphBuilder& builder, const Operand& x, const MatrixPart& part,
                                 uint32_t columns) {
  ASSIGN_OR_RETURN(Operand values, builder.Constant(*part.values));
  ASSIGN_OR_RETURN(Operand scales, builder.Constant(*part.scales));
  ASSIGN_OR_RETURN(Operand zero_points, builder.Constant(*part.zero_points));
  ASSIGN_OR_RETURN(Operand blocks, builder.DequantizeLinear(values, scales, zero_points));
  ASSIGN_OR_RETURN(Operand matrix, builder.Reshape(blocks, {part.rows, columns}));
  ASSIGN_OR_RETURN(Operand transposed,
                   builder.Transpose(matrix, {.permutation = std::vector<uint32_t>{1, 0}}));
  return builder.Matmul(x, transposed);
}

Result<Operand> ProjectPart(GraphBuilder& builder, const Operand& x, const MatrixPart& part,
                            uint32_t columns) {
  if (part.quantized()) return ProjectQuantized(builder, x, part, columns);
  ASSIGN_OR_RETURN(Operand constant, builder.Constant(*part.values));
  return builder.Gemm(x, constant, {.b_transpose = true});
}

// `ids` are within the part.
Result<Operand> LookUpInPart(GraphBuilder& builder, const Operand& ids, const MatrixPart& part,
                             uint32_t columns) {
  auto gather = [&](const TensorPtr& tensor) -> Result<Operand> {
    ASSIGN_OR_RETURN(Operand constant, builder.Constant(*tensor));
    return builder.Gather(constant, ids, {.axis = 0});
  };
  ASSIGN_OR_RETURN(Operand values, gather(part.values));
  if (!part.quantized()) return values;
  ASSIGN_OR_RETURN(Operand scales, gather(part.scales));
  ASSIGN_OR_RETURN(Operand zero_points, gather(part.zero_points));
  ASSIGN_OR_RETURN(Operand blocks, builder.DequantizeLinear(values, scales, zero_points));
  return builder.Reshape(blocks, {ids.shape()[0], columns});
}

Result<Operand> Int32Scalar(GraphBuilder& builder, uint32_t value) {
  return builder.Constant(OperandDataType::kInt32, static_cast<int64_t>(value));
}

}  // namespace

Result<Operand> Project(GraphBuilder& builder, const Operand& x, const DeviceMatrix& weights,
                        const TensorPtr& bias) {
  std::vector<Operand> products;
  for (const MatrixPart& part : weights.parts) {
    ASSIGN_OR_RETURN(Operand product, ProjectPart(builder, x, part, weights.columns));
    products.push_back(std::move(product));
  }
  Operand result = products[0];
  if (products.size() > 1) {
    ASSIGN_OR_RETURN(result, builder.Concat(products, 1));
  }
  if (bias == nullptr) return result;
  ASSIGN_OR_RETURN(Operand addend, builder.Constant(*bias));
  return builder.Add(result, addend);
}

// Every part is asked for each id, brought into its range; the last part that begins at or before
// the id has the answer.
Result<Operand> LookUpRows(GraphBuilder& builder, const Operand& ids, const DeviceMatrix& weights) {
  if (weights.parts.size() == 1) {
    return LookUpInPart(builder, ids, weights.parts[0], weights.columns);
  }
  std::optional<Operand> result;
  uint32_t first = 0;
  for (const MatrixPart& part : weights.parts) {
    ASSIGN_OR_RETURN(Operand start, Int32Scalar(builder, first));
    ASSIGN_OR_RETURN(Operand shifted, builder.Sub(ids, start));
    ASSIGN_OR_RETURN(Operand within,
                     builder.Clamp(shifted, {.min_value = int64_t{0},
                                             .max_value = static_cast<int64_t>(part.rows) - 1}));
    ASSIGN_OR_RETURN(Operand rows, LookUpInPart(builder, within, part, weights.columns));
    if (result) {
      ASSIGN_OR_RETURN(Operand reached, builder.GreaterOrEqual(ids, start));
      const Sizes column(std::vector<Dimension>{ids.descriptor().dimensions()[0], 1u});
      ASSIGN_OR_RETURN(Operand by_row, builder.Reshape(reached, column));
      ASSIGN_OR_RETURN(rows, builder.Where(by_row, rows, *result));
    }
    result = std::move(rows);
    first += part.rows;
  }
  return *result;
}

}  // namespace webnnd::generate
