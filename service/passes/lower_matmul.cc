#include "service/passes/lower_matmul.h"

#include <span>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/matrix_product.h"

namespace webnnd::service {
namespace {

using webidl::OperandDescriptor;
using webidl::Shape;

std::span<const uint32_t> BatchOf(const Shape& shape) {
  return std::span<const uint32_t>(shape).first(shape.size() - 2);
}

// Strides of a batch of matrices of `matrix` elements each, in the order of `result_batch`.
std::vector<uint32_t> BatchStrides(std::span<const uint32_t> batch,
                                   std::span<const uint32_t> result_batch, uint32_t matrix) {
  std::vector<uint32_t> strides = BroadcastStrides(batch, result_batch);
  for (uint32_t& stride : strides) stride *= matrix;
  return strides;
}

// A batch of matrices a times one b is one taller a times b.
void JoinBatchToRows(Product& product) {
  if (product.batch.size() != 1) return;
  const StridedDimension& batch = product.batch[0];
  if (batch.strides[1] != 0 || batch.strides[0] != product.rows * product.a_strides.row) return;
  product.rows *= batch.size;
  product.batch = {StridedDimension()};
}

}  // namespace

Status LowerMatmul(const Node& node, LoweringBuilder& builder) {
  Product product;
  product.a = node.operands[0];
  product.b = node.operands[1];
  // A row, where an epilogue adds one.
  product.c = node.operands.size() > 2 ? node.operands[2] : kNoValue;
  product.c_strides = {0, 1};
  product.result = node.results[0];
  const Shape& a = builder.descriptor(product.a).shape();
  const Shape& b = builder.descriptor(product.b).shape();
  const Shape& result = builder.descriptor(product.result).shape();
  product.rows = a[a.size() - 2];
  product.columns = b[b.size() - 1];
  product.depth = a[a.size() - 1];
  product.a_strides = {product.depth, 1};
  product.b_strides = {product.columns, 1};
  std::span<const uint32_t> batch = BatchOf(result);
  product.result_strides = {product.columns, 1};
  const std::vector<uint32_t> strides[] = {
      BatchStrides(BatchOf(a), batch, product.rows * product.depth),
      BatchStrides(BatchOf(b), batch, product.depth * product.columns),
      std::vector<uint32_t>(batch.size()),
      BatchStrides(batch, batch, product.rows * product.columns)};
  product.batch = Coalesce(MakeDimensions(batch, strides));
  JoinBatchToRows(product);
  product.residual = ResidualOf(node);
  product.activation = ActivationOf(node);
  return AddProductCall(product, builder);
}

Status LowerGemm(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::GemmAttributes>(node.attributes);
  Product product;
  product.a = node.operands[0];
  product.b = node.operands[1];
  product.c = node.operands[2];
  product.result = node.results[0];
  const Shape& a = builder.descriptor(product.a).shape();
  const Shape& b = builder.descriptor(product.b).shape();
  const Shape& result = builder.descriptor(product.result).shape();
  product.rows = result[0];
  product.columns = result[1];
  product.depth = attributes.a_transpose ? a[0] : a[1];
  product.a_strides = {a[1], 1};
  product.b_strides = {b[1], 1};
  if (attributes.a_transpose) std::swap(product.a_strides.row, product.a_strides.column);
  if (attributes.b_transpose) std::swap(product.b_strides.row, product.b_strides.column);
  if (product.c != kNoValue) {
    std::vector<uint32_t> c = BroadcastStrides(builder.descriptor(product.c).shape(), result);
    product.c_strides = {c[0], c[1]};
  }
  product.result_strides = {product.columns, 1};
  product.alpha = attributes.alpha;
  product.beta = attributes.beta;
  product.batch = {StridedDimension()};
  product.residual = ResidualOf(node);
  product.activation = ActivationOf(node);
  return AddProductCall(product, builder);
}

}  // namespace webnnd::service
