#include "webidl/operators/matmul.h"

#include <optional>
#include <span>
#include <utility>

#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

Result<Descriptors> InferGemm(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 1, 2));
  const GemmAttributes& attributes = Attributes<GemmAttributes>(arguments);
  Shape a = Operand(arguments, 0).shape();
  Shape b = Operand(arguments, 1).shape();
  if (attributes.a_transpose) std::swap(a[0], a[1]);
  if (attributes.b_transpose) std::swap(b[0], b[1]);
  INVALID_CHECK(121, a[1] != b[0], "the columns of a ({}) are not the rows of b ({})", a[1], b[0]);
  const Shape output = {a[0], b[1]};
  const OperandDescriptor* c = OptionalOperand(arguments, 2);
  INVALID_CHECK(122, c != nullptr && !BroadcastsTo(c->shape(), output),
                "the shape of c ({}) is not broadcastable to that of the output ({})",
                ShapeToString(c->shape()), ShapeToString(output));
  return OneResult(Operand(arguments, 0).data_type(), output);
}

Result<Descriptors> InferMatmul(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 1, 1));
  const std::span<const uint32_t> a = Operand(arguments, 0).shape();
  const std::span<const uint32_t> b = Operand(arguments, 1).shape();
  const uint32_t columns_a = a[a.size() - 1];
  const uint32_t rows_b = b[b.size() - 2];
  INVALID_CHECK(123, columns_a != rows_b, "the columns of a ({}) are not the rows of b ({})",
                columns_a, rows_b);
  const std::span<const uint32_t> batch_a = a.first(a.size() - 2);
  const std::span<const uint32_t> batch_b = b.first(b.size() - 2);
  std::optional<Shape> output = BroadcastShapes(batch_a, batch_b);
  INVALID_CHECK(124, !output, "the batch dimensions of a ({}) and b ({}) are not broadcastable",
                ShapeToString(batch_a), ShapeToString(batch_b));
  output->push_back(a[a.size() - 2]);
  output->push_back(b[b.size() - 1]);
  return OneResult(Operand(arguments, 0).data_type(), *output);
}

}  // namespace

OperatorRow GemmRow(OperatorKind kind) {
  return {kind,
          {TensorOfRank(kFloatTypes, 2), TensorOfRank(kFloatTypes, 2), Tensor(kFloatTypes, 0, 2)},
          {TensorOfRank(kFloatTypes, 2)},
          InferGemm};
}

OperatorRow MatmulRow(OperatorKind kind) {
  return {kind,
          {Tensor(kFloatTypes, 2), Tensor(kFloatTypes, 2)},
          {Tensor(kFloatTypes, 2)},
          InferMatmul};
}

}  // namespace webnnd::webidl
