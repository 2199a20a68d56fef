#include "webidl/operators/gather_scatter.h"

#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

Result<Descriptors> InferGather(const OperatorArguments& arguments) {
  const uint32_t axis = Attributes<GatherAttributes>(arguments).axis;
  TRY(CheckAxis(arguments, axis));
  const Shape& input = Operand(arguments, 0).shape();
  const Shape& indices = Operand(arguments, 1).shape();
  Shape shape(input.begin(), input.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), input.begin() + axis + 1, input.end());
  return OneResult(Operand(arguments, 0).data_type(), shape);
}

// The element forms: indices have the input's shape but along the axis.
Status CheckElementIndices(const OperatorArguments& arguments, uint32_t axis) {
  TRY(CheckAxis(arguments, axis));
  TRY(CheckSameRank(arguments, 0, 1));
  const Shape& input = Operand(arguments, 0).shape();
  const Shape& indices = Operand(arguments, 1).shape();
  for (uint32_t other = 0; other < input.size(); ++other) {
    INVALID_CHECK(181, other != axis && indices[other] != input[other],
                  "the shape of indices ({}) differs from that of input ({}) beside the axis ({})",
                  ShapeToString(indices), ShapeToString(input), axis);
  }
  return {};
}

Result<Descriptors> InferGatherElements(const OperatorArguments& arguments) {
  TRY(CheckElementIndices(arguments, Attributes<GatherAttributes>(arguments).axis));
  return OneResult(Operand(arguments, 0).data_type(), Operand(arguments, 1).shape());
}

Result<Descriptors> InferScatterElements(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 2, 2));
  TRY(CheckElementIndices(arguments, Attributes<ScatterAttributes>(arguments).axis));
  const Shape& indices = Operand(arguments, 1).shape();
  const Shape& updates = Operand(arguments, 2).shape();
  INVALID_CHECK(182, updates != indices, "the shape of updates ({}) is not that of indices ({})",
                ShapeToString(updates), ShapeToString(indices));
  return InferLikeInput(arguments);
}

// What the ND forms address: a slice of `input` for each coordinate in the last dimension of
// `indices`.
Result<Shape> SlicesShape(const OperatorArguments& arguments) {
  const Shape& input = Operand(arguments, 0).shape();
  const Shape& indices = Operand(arguments, 1).shape();
  const uint32_t coordinate_size = indices.back();
  INVALID_CHECK(183, coordinate_size > input.size(),
                "the last dimension of indices ({}) exceeds the rank of input ({})",
                coordinate_size, input.size());
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), input.begin() + coordinate_size, input.end());
  return shape;
}

Result<Descriptors> InferGatherND(const OperatorArguments& arguments) {
  ASSIGN_OR_RETURN(Shape shape, SlicesShape(arguments));
  return OneResult(Operand(arguments, 0).data_type(), shape);
}

Result<Descriptors> InferScatterND(const OperatorArguments& arguments) {
  TRY(CheckSameTypes(arguments, 0, 2, 2));
  ASSIGN_OR_RETURN(Shape expected, SlicesShape(arguments));
  const Shape& updates = Operand(arguments, 2).shape();
  INVALID_CHECK(184, updates != expected, "the shape of updates ({}) is not the expected one ({})",
                ShapeToString(updates), ShapeToString(expected));
  return InferLikeInput(arguments);
}

constexpr DataTypeSet kRequiredIndexTypes = {OperandDataType::kInt32};
constexpr TensorConstraint kElements = Tensor(kAnyType, 1).Requiring(kRequiredTypes);
constexpr TensorConstraint kIndices = Tensor(kIndexTypes, 1).Requiring(kRequiredIndexTypes);

}  // namespace

// The draft's table wants outputs of rank 1 or more, but its algorithm and its tests make a scalar
// from scalar indices.
OperatorRow GatherRow(OperatorKind kind) {
  return {kind,
          {Tensor(kAnyOrPackedType, 1).Requiring(kRequiredOrByteTypes),
           Tensor(kIndexTypes).Requiring(kRequiredIndexTypes)},
          {Tensor(kAnyOrPackedType).Requiring(kRequiredOrByteTypes).RequiringRanks(1, 5)},
          InferGather};
}

OperatorRow GatherElementsRow(OperatorKind kind) {
  return {kind, {kElements, kIndices}, {kElements}, InferGatherElements};
}

OperatorRow GatherNDRow(OperatorKind kind) {
  return {kind,
          {Tensor(kAnyType, 1).Requiring(kRequiredOrByteTypes), kIndices},
          {Tensor(kAnyType).Requiring(kRequiredOrByteTypes)},
          InferGatherND};
}

OperatorRow ScatterElementsRow(OperatorKind kind) {
  return {kind, {kElements, kIndices, kElements}, {kElements}, InferScatterElements};
}

OperatorRow ScatterNDRow(OperatorKind kind) {
  return {kind,
          {kElements, kIndices, Tensor(kAnyType).Requiring(kRequiredTypes)},
          {kElements},
          InferScatterND};
}

}  // namespace webnnd::webidl
