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

// All but the last two.
template <class List>
std::span<const uint32_t> BatchOf(const List& dimensions) {
  return std::span<const uint32_t>(dimensions).first(dimensions.size() - 2);
}

MatrixStrides StridesOfMatrix(const StridedView& view) {
  const size_t rank = view.strides.size();
  return {view.strides[rank - 2], view.strides[rank - 1]};
}

// A batch of matrices a times one b is one taller a times b.
void JoinBatchToRows(Product& product) {
  if (product.batch.size() != 1) return;
  const StridedDimension& batch = product.batch[0];
  if (batch.strides[1] != 0 || batch.strides[0] != product.rows * product.a_strides.row ||
      batch.strides[3] != product.rows * product.result_strides.row) {
    return;
  }
  product.rows *= batch.size;
  product.batch = {StridedDimension()};
}

}  // namespace

Status LowerMatmul(const Node& node, LoweringBuilder& builder) {
  const Shape& a = builder.descriptor(node.operands[0]).shape();
  const Shape& b = builder.descriptor(node.operands[1]).shape();
  const Shape& result = builder.descriptor(node.results[0]).shape();
  const StridedView a_view = builder.views().Operand(node.operands[0]);
  const StridedView b_view = builder.views().Operand(node.operands[1]);
  const StridedView result_view = builder.views().Result(node.results[0]);
  Product product;
  product.a = a_view.value;
  product.b = b_view.value;
  // A row, where an epilogue adds one.
  product.c = node.operands.size() > 2 ? node.operands[2] : kNoValue;
  product.c_strides = {0, 1};
  product.result = result_view.value;
  product.rows = a[a.size() - 2];
  product.columns = b[b.size() - 1];
  product.depth = a[a.size() - 1];
  product.a_strides = StridesOfMatrix(a_view);
  product.b_strides = StridesOfMatrix(b_view);
  product.result_strides = StridesOfMatrix(result_view);
  const std::span<const uint32_t> batch = BatchOf(result);
  const std::vector<uint32_t> strides[] = {
      BroadcastStrides(BatchOf(a), BatchOf(a_view.strides), batch),
      BroadcastStrides(BatchOf(b), BatchOf(b_view.strides), batch),
      std::vector<uint32_t>(batch.size()),
      BroadcastStrides(batch, BatchOf(result_view.strides), batch)};
  product.batch = Coalesce(MakeDimensions(batch, strides));
  JoinBatchToRows(product);
  product.residual = ResidualOf(node);
  product.activation = ActivationOf(node);
  return AddProductCall(product, builder);
}

Status LowerGemm(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::GemmAttributes>(node.attributes);
  const Shape& a = builder.descriptor(node.operands[0]).shape();
  const StridedView a_view = builder.views().Operand(node.operands[0]);
  const StridedView b_view = builder.views().Operand(node.operands[1]);
  Product product;
  product.a = a_view.value;
  product.b = b_view.value;
  product.c = node.operands[2];
  product.result = node.results[0];
  const Shape& result = builder.descriptor(product.result).shape();
  product.rows = result[0];
  product.columns = result[1];
  product.depth = attributes.a_transpose ? a[0] : a[1];
  product.a_strides = StridesOfMatrix(a_view);
  product.b_strides = StridesOfMatrix(b_view);
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
