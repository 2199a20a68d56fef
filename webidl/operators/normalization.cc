#include "webidl/operators/normalization.h"

#include <vector>

#include "webidl/operators/common.h"
#include "webidl/operators/window.h"

namespace webnnd::webidl {

namespace {

Result<Descriptors> InferBatchNormalization(const OperatorArguments& arguments) {
  const uint32_t axis = Attributes<BatchNormalizationAttributes>(arguments).axis;
  TRY(CheckSameTypes(arguments, 0, 1, 4));
  TRY(CheckAxis(arguments, axis));
  // mean, variance, scale and bias have a value for each feature.
  for (size_t slot = 1; slot <= 4; ++slot) {
    TRY(CheckShape(arguments, slot, {Operand(arguments, 0).shape()[axis]}));
  }
  return InferLikeInput(arguments);
}

Result<Descriptors> InferInstanceNormalization(const OperatorArguments& arguments) {
  const ImageAxes axes =
      GetImageAxes(Attributes<InstanceNormalizationAttributes>(arguments).layout);
  TRY(CheckSameTypes(arguments, 0, 1, 2));
  for (size_t slot = 1; slot <= 2; ++slot) {
    TRY(CheckShape(arguments, slot, {Operand(arguments, 0).shape()[axes.channels]}));
  }
  return InferLikeInput(arguments);
}

// All axes but the first.
std::vector<uint32_t> DefaultLayerAxes(uint32_t rank) {
  std::vector<uint32_t> axes;
  for (uint32_t axis = 1; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Result<Descriptors> InferLayerNormalization(const OperatorArguments& arguments) {
  const auto& attributes = Attributes<LayerNormalizationAttributes>(arguments);
  const OperandDescriptor& input = Operand(arguments, 0);
  TRY(CheckSameTypes(arguments, 0, 1, 2));
  if (attributes.axes) TRY(CheckAxes("axes", *attributes.axes, input.rank()));
  // scale and bias have the dimensions of the axes, in their order.
  std::vector<uint64_t> expected;
  for (uint32_t axis : attributes.axes.value_or(DefaultLayerAxes(input.rank()))) {
    expected.push_back(input.shape()[axis]);
  }
  TRY(CheckShape(arguments, 1, expected));
  TRY(CheckShape(arguments, 2, expected));
  return InferLikeInput(arguments);
}

}  // namespace

OperatorRow BatchNormalizationRow(OperatorKind kind) {
  constexpr TensorConstraint kInput = Tensor(kFloatTypes, 1).RequiringRanks(3, 5);
  constexpr TensorConstraint kFeatures = TensorOfRank(kFloatTypes, 1);
  return {kind,
          {kInput, kFeatures, kFeatures, kFeatures, kFeatures},
          {kInput},
          InferBatchNormalization};
}

OperatorRow InstanceNormalizationRow(OperatorKind kind) {
  constexpr TensorConstraint kChannels = TensorOfRank(kFloatTypes, 1);
  return {kind,
          {TensorOfRank(kFloatTypes, 4), kChannels, kChannels},
          {TensorOfRank(kFloatTypes, 4)},
          InferInstanceNormalization};
}

OperatorRow LayerNormalizationRow(OperatorKind kind) {
  return {kind,
          {Tensor(kFloatTypes), Tensor(kFloatTypes), Tensor(kFloatTypes)},
          {Tensor(kFloatTypes)},
          InferLayerNormalization};
}

}  // namespace webnnd::webidl
