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

// The row allows one type.
Result<Descriptors> InferLogicalBinary(const OperatorArguments& arguments) {
  ASSIGN_OR_RETURN(Shape shape, BroadcastSlots(arguments, 0, 1));
  return OneResult(OperandDataType::kUint8, shape);
}

Result<Descriptors> InferComparison(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 1, 1));
  return InferLogicalBinary(arguments);
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

constexpr TensorConstraint kAny = Tensor(kAnyType).Requiring(kRequiredTypes);

}  // namespace

OperatorRow FloatUnaryRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes)}, {Tensor(kFloatTypes)}, InferLikeInput};
}

OperatorRow SignedUnaryRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kSignedTypes).Requiring(kRequiredTypes);
  return {kind, {kTensor}, {kTensor}, InferLikeInput};
}

OperatorRow IdentityRow(OperatorKind kind) { return {kind, {kAny}, {kAny}, InferLikeInput}; }

OperatorRow CastRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyOrPackedType).Requiring(kRequiredOrByteTypes);
  return {kind, {kTensor}, {kTensor}, InferCast};
}

OperatorRow BinaryRow(OperatorKind kind) { return {kind, {kAny, kAny}, {kAny}, InferBinary}; }

OperatorRow ComparisonRow(OperatorKind kind) {
  return {kind, {kAny, kAny}, {Tensor(kBooleanType)}, InferComparison};
}

OperatorRow LogicalBinaryRow(OperatorKind kind) {
  return {kind,
          {Tensor(kBooleanType), Tensor(kBooleanType)},
          {Tensor(kBooleanType)},
          InferLogicalBinary};
}

OperatorRow LogicalNotRow(OperatorKind kind) {
  return {kind, {Tensor(kBooleanType)}, {Tensor(kBooleanType)}, InferBooleanUnary};
}

// The draft's table says any type, its algorithm floats only; the algorithm decides.
OperatorRow ClassificationRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes)}, {Tensor(kBooleanType)}, InferBooleanUnary};
}

OperatorRow WhereRow(OperatorKind kind) {
  return {kind, {Tensor(kBooleanType), kAny, kAny}, {kAny}, InferWhere};
}

}  // namespace webnnd::webidl
