#include "webidl/operators/elementwise.h"

#include <optional>

#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

Result<Descriptors> InferCast(const OperatorArguments& arguments) {
  return OneResult(Attributes<CastAttributes>(arguments).data_type, Operand(arguments, 0).shape());
}

Result<Descriptors> InferBinary(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 1, 1));
  ASSIGN_OR_RETURN(Shape shape, BroadcastSlots(arguments, 0, 1));
  return OneResult(Operand(arguments, 0).data_type(), shape);
}

Result<Descriptors> InferBooleanBinary(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 1, 1));
  ASSIGN_OR_RETURN(Shape shape, BroadcastSlots(arguments, 0, 1));
  return OneResult(OperandDataType::kUint8, shape);
}

Result<Descriptors> InferBooleanUnary(const OperatorArguments& arguments) {
  return OneResult(OperandDataType::kUint8, Operand(arguments, 0).shape());
}

Result<Descriptors> InferWhere(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 1, 2, 2));
  ASSIGN_OR_RETURN(Shape values, BroadcastSlots(arguments, 1, 2));
  const Shape& condition = Operand(arguments, 0).shape();
  std::optional<Shape> shape = BroadcastShapes(condition, values);
  INVALID_CHECK(111, !shape,
                "the shape of condition ({}) and that of the values ({}) are not broadcastable",
                ShapeToString(condition), ShapeToString(values));
  return OneResult(Operand(arguments, 1).data_type(), *shape);
}

}  // namespace

OperatorRow FloatUnaryRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes)}, {Tensor(kFloatTypes)}, InferLikeInput};
}

OperatorRow SignedUnaryRow(OperatorKind kind) {
  return {kind, {Tensor(kSignedTypes)}, {Tensor(kSignedTypes)}, InferLikeInput};
}

OperatorRow IdentityRow(OperatorKind kind) {
  return {kind, {Tensor(kAnyType)}, {Tensor(kAnyType)}, InferLikeInput};
}

OperatorRow CastRow(OperatorKind kind) {
  return {kind, {Tensor(kAnyOrPackedType)}, {Tensor(kAnyOrPackedType)}, InferCast};
}

OperatorRow BinaryRow(OperatorKind kind) {
  return {kind, {Tensor(kAnyType), Tensor(kAnyType)}, {Tensor(kAnyType)}, InferBinary};
}

OperatorRow ComparisonRow(OperatorKind kind) {
  return {kind, {Tensor(kAnyType), Tensor(kAnyType)}, {Tensor(kBooleanType)}, InferBooleanBinary};
}

OperatorRow LogicalBinaryRow(OperatorKind kind) {
  return {kind,
          {Tensor(kBooleanType), Tensor(kBooleanType)},
          {Tensor(kBooleanType)},
          InferBooleanBinary};
}

OperatorRow LogicalNotRow(OperatorKind kind) {
  return {kind, {Tensor(kBooleanType)}, {Tensor(kBooleanType)}, InferBooleanUnary};
}

// The draft's table says any type, its algorithm floats only; the algorithm decides.
OperatorRow ClassificationRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes)}, {Tensor(kBooleanType)}, InferBooleanUnary};
}

OperatorRow WhereRow(OperatorKind kind) {
  return {kind,
          {Tensor(kBooleanType), Tensor(kAnyType), Tensor(kAnyType)},
          {Tensor(kAnyType)},
          InferWhere};
}

}  // namespace webnnd::webidl
