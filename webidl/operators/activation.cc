#include "webidl/operators/activation.h"
#include "webidl/number.h"
#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

Result<Descriptors> InferSoftmax(const OperatorArguments& arguments) {
  TRY(CheckAxis(arguments, Attributes<SoftmaxAttributes>(arguments).axis));
  return InferLikeInput(arguments);
}

// The draft swaps the defaults (Infinity for a missing minimum); an absent bound does not bind.
Result<Descriptors> InferClamp(const OperatorArguments& arguments) {
  const ClampBounds bounds =
      CastBounds(Attributes<ClampAttributes>(arguments), Operand(arguments, 0).data_type());
  INVALID_CHECK(101, NumberLess(bounds.greatest, bounds.least),
                "minValue ({}) is greater than maxValue ({})", NumberToString(bounds.least),
                NumberToString(bounds.greatest));
  return InferLikeInput(arguments);
}

Result<Descriptors> InferPrelu(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 1, 1));
  ASSIGN_OR_RETURN(Shape shape, BroadcastSlots(arguments, 1, 0));
  return OneResult(Operand(arguments, 0).data_type(), shape);
}

}  // namespace

OperatorRow ActivationRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes)}, {Tensor(kFloatTypes)}, InferLikeInput};
}

OperatorRow ReluRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kSignedTypes).Requiring(kFloatTypes);
  return {kind, {kTensor}, {kTensor}, InferLikeInput};
}

OperatorRow SoftmaxRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes, 1)}, {Tensor(kFloatTypes, 1)}, InferSoftmax};
}

OperatorRow ClampRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyType).Requiring(kFloatTypes);
  return {kind, {kTensor}, {kTensor}, InferClamp};
}

OperatorRow PreluRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kSignedTypes).Requiring(kFloatTypes);
  return {kind, {kTensor, kTensor}, {kTensor}, InferPrelu};
}

}  // namespace webnnd::webidl
