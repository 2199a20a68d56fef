#include "webidl/operators/reduce.h"

#include <limits>
#include <vector>

#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

constexpr DataTypeSet kArgMinMaxOutputTypes = {OperandDataType::kInt32, OperandDataType::kInt64};

Result<Descriptors> InferReduction(const OperatorArguments& arguments) {
  const ReduceAttributes& attributes = Attributes<ReduceAttributes>(arguments);
  const OperandDescriptor& input = Operand(arguments, 0);
  ASSIGN_OR_RETURN(Shape shape,
                   ReducedShape(input.shape(), attributes.axes, attributes.keep_dimensions));
  return OneResult(input.data_type(), shape);
}

Result<Descriptors> InferArgMinMax(const OperatorArguments& arguments) {
  const ArgMinMaxAttributes& attributes = Attributes<ArgMinMaxAttributes>(arguments);
  TRY(CheckAxis(arguments, attributes.axis));
  INVALID_CHECK(161, !kArgMinMaxOutputTypes.Contains(attributes.output_data_type),
                "outputDataType ({}) is not one of the allowed data types ({})",
                ToString(attributes.output_data_type), kArgMinMaxOutputTypes.ToString());
  // The draft also asks that the dimension fits the output's type: no dimension of ours does not.
  static_assert(limits::kDimensionMax <= std::numeric_limits<int32_t>::max());
  ASSIGN_OR_RETURN(Shape shape,
                   ReducedShape(Operand(arguments, 0).shape(), std::vector{attributes.axis},
                                attributes.keep_dimensions));
  return OneResult(attributes.output_data_type, shape);
}

Result<Descriptors> InferCumulativeSum(const OperatorArguments& arguments) {
  TRY(CheckAxis(arguments, Attributes<CumulativeSumAttributes>(arguments).axis));
  return InferLikeInput(arguments);
}

}  // namespace

OperatorRow AccumulatingReductionRow(OperatorKind kind) {
  return {kind, {Tensor(kAccumulatingTypes)}, {Tensor(kAccumulatingTypes)}, InferReduction};
}

OperatorRow FloatReductionRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes)}, {Tensor(kFloatTypes)}, InferReduction};
}

OperatorRow ExtremumReductionRow(OperatorKind kind) {
  return {kind, {Tensor(kAnyType)}, {Tensor(kAnyType)}, InferReduction};
}

OperatorRow ArgMinMaxRow(OperatorKind kind) {
  return {kind, {Tensor(kAnyType, 1)}, {Tensor(kArgMinMaxOutputTypes)}, InferArgMinMax};
}

OperatorRow CumulativeSumRow(OperatorKind kind) {
  return {
      kind, {Tensor(kAccumulatingTypes, 1)}, {Tensor(kAccumulatingTypes, 1)}, InferCumulativeSum};
}

}  // namespace webnnd::webidl
