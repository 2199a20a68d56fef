#include "webidl/operators/reduce.h"

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

constexpr DataTypeSet kArgMinMaxOutputTypes = {OperandDataType::kInt32, OperandDataType::kInt64};

Result<Descriptors> InferReduction(const OperatorArguments& arguments) {
  const ReduceAttributes& attributes = Attributes<ReduceAttributes>(arguments);
  const OperandDescriptor& input = Operand(arguments, 0);
  std::vector<uint32_t> axes(input.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (attributes.axes) {
    TRY(CheckAxes("axes", *attributes.axes, input.rank()));
    axes = *attributes.axes;
  }
  return OneResult(input.data_type(),
                   ReducedShape(input.shape(), axes, attributes.keep_dimensions));
}

Result<Descriptors> InferArgMinMax(const OperatorArguments& arguments) {
  const ArgMinMaxAttributes& attributes = Attributes<ArgMinMaxAttributes>(arguments);
  TRY(CheckAxis(arguments, attributes.axis));
  INVALID_CHECK(161, !kArgMinMaxOutputTypes.Contains(attributes.output_data_type),
                "outputDataType ({}) is not one of the allowed data types ({})",
                ToString(attributes.output_data_type), kArgMinMaxOutputTypes.ToString());
  // The draft also asks that the dimension fits the output's type: no dimension of ours does not.
  static_assert(limits::kDimensionMax <= std::numeric_limits<int32_t>::max());
  return OneResult(attributes.output_data_type,
                   ReducedShape(Operand(arguments, 0).shape(), std::array{attributes.axis},
                                attributes.keep_dimensions));
}

Result<Descriptors> InferCumulativeSum(const OperatorArguments& arguments) {
  TRY(CheckAxis(arguments, Attributes<CumulativeSumAttributes>(arguments).axis));
  return InferLikeInput(arguments);
}

}  // namespace

OperatorRow AccumulatingReductionRow(OperatorKind kind) {
  // The draft's table for reduceProduct requires less than those of the others.
  const TensorConstraint tensor =
      Tensor(kAccumulatingTypes)
          .Requiring(kind == OperatorKind::kReduceProduct ? kFloatTypes : kRequiredTypes);
  return {kind, {tensor}, {tensor}, InferReduction};
}

OperatorRow FloatReductionRow(OperatorKind kind) {
  return {kind, {Tensor(kFloatTypes)}, {Tensor(kFloatTypes)}, InferReduction};
}

OperatorRow ExtremumReductionRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyType).Requiring(kRequiredTypes);
  return {kind, {kTensor}, {kTensor}, InferReduction};
}

OperatorRow ArgMinMaxRow(OperatorKind kind) {
  return {kind,
          {Tensor(kAnyType, 1).Requiring(kRequiredTypes)},
          {Tensor(kArgMinMaxOutputTypes).Requiring({OperandDataType::kInt32})},
          InferArgMinMax};
}

OperatorRow CumulativeSumRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAccumulatingTypes, 1).Requiring(kRequiredTypes);
  return {kind, {kTensor}, {kTensor}, InferCumulativeSum};
}

}  // namespace webnnd::webidl
