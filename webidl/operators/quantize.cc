#include "webidl/operators/quantize.h"

#include <span>

#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

// Slots of both operators.
constexpr size_t kInput = 0;
constexpr size_t kScale = 1;
constexpr size_t kZeroPoint = 2;

// Scale and zero point have one shape, each element of which covers a block of the input. Today's
// draft wants them of the input's rank; its conformance tests and older clients leave leading
// dimensions out, which then are 1. What the draft accepts means the same.
Status CheckBlocks(const OperatorArguments& arguments) {
  const Shape& input = Operand(arguments, kInput).shape();
  const Shape& scale = Operand(arguments, kScale).shape();
  const Shape& zero_point = Operand(arguments, kZeroPoint).shape();
  INVALID_CHECK(171, scale != zero_point, "the shape of zeroPoint ({}) is not that of scale ({})",
                ShapeToString(zero_point), ShapeToString(scale));
  INVALID_CHECK(172, scale.size() > input.size(),
                "the rank of scale ({}) exceeds that of input ({})", scale.size(), input.size());
  INVALID_CHECK(173, !BroadcastsInBlocks(scale, std::span(input).last(scale.size())),
                "the shape of scale ({}) is not blockwise broadcastable to that of input ({})",
                ShapeToString(scale), ShapeToString(input));
  return {};
}

Result<Descriptors> InferDequantizeLinear(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, kInput, kZeroPoint, kZeroPoint));
  TRY(CheckBlocks(arguments));
  return OneResult(Operand(arguments, kScale).data_type(), Operand(arguments, kInput).shape());
}

Result<Descriptors> InferQuantizeLinear(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, kInput, kScale, kScale));
  TRY(CheckBlocks(arguments));
  return OneResult(Operand(arguments, kZeroPoint).data_type(), Operand(arguments, kInput).shape());
}

constexpr DataTypeSet kByteTypes = {OperandDataType::kUint8, OperandDataType::kInt8};
constexpr TensorConstraint kQuantized = Tensor(kQuantizedTypes).Requiring(kByteTypes);

}  // namespace

OperatorRow DequantizeLinearRow(OperatorKind kind) {
  return {kind,
          {kQuantized, Tensor(kFloatTypes),
           kQuantized.Requiring(kByteTypes | DataTypeSet{OperandDataType::kInt32})},
          {Tensor(kFloatTypes)},
          InferDequantizeLinear};
}

OperatorRow QuantizeLinearRow(OperatorKind kind) {
  return {kind,
          {Tensor(kFloatTypes), Tensor(kFloatTypes), kQuantized},
          {kQuantized},
          InferQuantizeLinear};
}

}  // namespace webnnd::webidl
