#include "webidl/operators/shape.h"

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked_math.h"
#include "webidl/operators/common.h"

namespace webnnd::webidl {

namespace {

// "valid tensor count" of the draft, bounded as an operator's operands are.
Status CheckTensorCount(std::string_view name, size_t count) {
  INVALID_CHECK(CheckOf(201, name), count == 0 || count > limits::kOperandsPerOperatorMax,
                "the number of tensors in {} ({}) is not in the range 1 to {}", name, count,
                limits::kOperandsPerOperatorMax);
  return {};
}

Result<Descriptors> InferConcat(const OperatorArguments& arguments) {
  TRY(CheckTensorCount("inputs", arguments.operands.size()));
  const uint32_t axis = Attributes<ConcatAttributes>(arguments).axis;
  TRY(CheckAxis(arguments, axis));
  const OperandDescriptor& first = Operand(arguments, 0);
  // kOperandsPerOperatorMax sizes of 32 bits each fit easily.
  int64_t size = first.shape()[axis];
  for (size_t i = 1; i < arguments.operands.size(); ++i) {
    const OperandDescriptor& input = Operand(arguments, i);
    INVALID_CHECK(202, input.data_type() != first.data_type(),
                  "the data type of inputs[{}] ({}) is not that of inputs[0] ({})", i,
                  ToString(input.data_type()), ToString(first.data_type()));
    INVALID_CHECK(203, input.rank() != first.rank(),
                  "the rank of inputs[{}] ({}) is not that of inputs[0] ({})", i, input.rank(),
                  first.rank());
    for (uint32_t other = 0; other < first.rank(); ++other) {
      INVALID_CHECK(
          204, other != axis && input.shape()[other] != first.shape()[other],
          "the shape of inputs[{}] ({}) differs from that of inputs[0] ({}) beside the axis "
          "({})",
          i, ShapeToString(input.shape()), ShapeToString(first.shape()), axis);
    }
    size += input.shape()[axis];
  }
  Shape shape = first.shape();
  ASSIGN_OR_RETURN(shape[axis], ToDimension(size, "the sum of the sizes along the axis"));
  return OneResult(first.data_type(), shape);
}

Result<Descriptors> InferExpand(const OperatorArguments& arguments) {
  const Shape& new_shape = Attributes<ExpandAttributes>(arguments).new_shape;
  const OperandDescriptor& input = Operand(arguments, 0);
  // Before anything prints it: a hostile list may be long.
  INVALID_CHECK(205, new_shape.size() > limits::kRankMax,
                "the size of newShape ({}) exceeds the maximum ({})", new_shape.size(),
                limits::kRankMax);
  INVALID_CHECK(206, !BroadcastsTo(input.shape(), new_shape),
                "the shape of input ({}) is not broadcastable to newShape ({})",
                ShapeToString(input.shape()), ShapeToString(new_shape));
  return OneResult(input.data_type(), new_shape);
}

Result<Descriptors> InferPad(const OperatorArguments& arguments) {
  const PadAttributes& attributes = Attributes<PadAttributes>(arguments);
  const std::vector<uint32_t>& beginning = attributes.beginning_padding;
  const std::vector<uint32_t>& ending = attributes.ending_padding;
  const OperandDescriptor& input = Operand(arguments, 0);
  TRY(CheckListSize("beginningPadding", beginning.size(), input.rank()));
  TRY(CheckListSize("endingPadding", ending.size(), input.rank()));
  Shape shape;
  for (uint32_t axis = 0; axis < input.rank(); ++axis) {
    const uint32_t dimension = input.shape()[axis];
    if (attributes.mode == PaddingMode::kReflection) {
      // A reflection reaches as far as the input does, without its edge.
      INVALID_CHECK(207, beginning[axis] >= dimension,
                    "beginningPadding[{}] ({}) is not less than the dimension it reflects ({})",
                    axis, beginning[axis], dimension);
      INVALID_CHECK(208, ending[axis] >= dimension,
                    "endingPadding[{}] ({}) is not less than the dimension it reflects ({})", axis,
                    ending[axis], dimension);
    }
    if (attributes.mode == PaddingMode::kSymmetric) {
      // Our extension: the mirror repeats the edge, and so reaches one element further.
      INVALID_CHECK(215, beginning[axis] > dimension,
                    "beginningPadding[{}] ({}) is greater than the dimension it mirrors ({})", axis,
                    beginning[axis], dimension);
      INVALID_CHECK(216, ending[axis] > dimension,
                    "endingPadding[{}] ({}) is greater than the dimension it mirrors ({})", axis,
                    ending[axis], dimension);
    }
    const int64_t padded = int64_t{dimension} + beginning[axis] + ending[axis];
    ASSIGN_OR_RETURN(uint32_t size, ToDimension(padded, "padded dimension", axis));
    shape.push_back(size);
  }
  return OneResult(input.data_type(), shape);
}

// Dimension `axis` scaled, rounded down. An image of a byte each has 2^29 elements at most, and a
// float 24 bits: their product is exact in a double.
Result<uint32_t> ScaledDimension(const Shape& shape, uint32_t axis, float scale) {
  static_assert(limits::kTensorBytesMax <= 1ull << 29);
  const double scaled = std::floor(double{scale} * shape[axis]);
  INVALID_CHECK(
      209, !(scaled >= 1 && scaled <= limits::kDimensionMax),
      "dimension {} of input ({}) times its scale ({}) is not a valid dimension (1 to {})", axis,
      shape[axis], scale, limits::kDimensionMax);
  return static_cast<uint32_t>(scaled);
}

Status CheckResample2dAttributes(const Resample2dAttributes& attributes, uint32_t rank) {
  if (attributes.scales) {
    TRY(CheckListSize("scales", attributes.scales->size(), 2));
    for (size_t i = 0; i < 2; ++i) {
      const float scale = (*attributes.scales)[i];
      INVALID_CHECK(210, !(scale > 0), "scales[{}] ({}) is not greater than zero", i, scale);
    }
  }
  if (attributes.sizes) {
    TRY(CheckListSize("sizes", attributes.sizes->size(), 2));
    TRY(CheckNoZero("sizes", *attributes.sizes));
  }
  if (attributes.axes) {
    // The draft's algorithm does not say so, but scales and sizes have two items.
    TRY(CheckListSize("axes", attributes.axes->size(), 2));
    TRY(CheckAxes("axes", *attributes.axes, rank));
  }
  return {};
}

// Where both are given, sizes win over scales.
Result<Descriptors> InferResample2d(const OperatorArguments& arguments) {
  const Resample2dAttributes& attributes = Attributes<Resample2dAttributes>(arguments);
  const OperandDescriptor& input = Operand(arguments, 0);
  TRY(CheckResample2dAttributes(attributes, input.rank()));
  const std::vector<uint32_t> axes = attributes.axes.value_or(std::vector<uint32_t>{2, 3});
  Shape shape = input.shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (attributes.sizes) {
      shape[axes[i]] = (*attributes.sizes)[i];
    } else if (attributes.scales) {
      ASSIGN_OR_RETURN(shape[axes[i]], ScaledDimension(shape, axes[i], (*attributes.scales)[i]));
    }
  }
  return OneResult(input.data_type(), shape);
}

Result<Descriptors> InferReverse(const OperatorArguments& arguments) {
  const auto& axes = Attributes<ReverseAttributes>(arguments).axes;
  if (axes) TRY(CheckAxes("axes", *axes, Operand(arguments, 0).rank()));
  return InferLikeInput(arguments);
}

Result<Descriptors> InferTile(const OperatorArguments& arguments) {
  const std::vector<uint32_t>& repetitions = Attributes<TileAttributes>(arguments).repetitions;
  const OperandDescriptor& input = Operand(arguments, 0);
  TRY(CheckListSize("repetitions", repetitions.size(), input.rank()));
  TRY(CheckNoZero("repetitions", repetitions));
  Shape shape;
  for (uint32_t axis = 0; axis < input.rank(); ++axis) {
    // 31 and 32 bits: the product fits.
    const int64_t tiled = int64_t{input.shape()[axis]} * repetitions[axis];
    ASSIGN_OR_RETURN(uint32_t size, ToDimension(tiled, "tiled dimension", axis));
    shape.push_back(size);
  }
  return OneResult(input.data_type(), shape);
}

Result<Descriptors> InferReshape(const OperatorArguments& arguments) {
  const Shape& new_shape = Attributes<ReshapeAttributes>(arguments).new_shape;
  const OperandDescriptor& input = Operand(arguments, 0);
  ASSIGN_OR_RETURN(OperandDescriptor output,
                   OperandDescriptor::Create(input.data_type(), new_shape));
  INVALID_CHECK(211, output.element_count() != input.element_count(),
                "the element count of newShape ({}) is not that of input ({})",
                output.element_count(), input.element_count());
  return Descriptors{std::move(output)};
}

Result<Descriptors> InferSlice(const OperatorArguments& arguments) {
  const SliceAttributes& attributes = Attributes<SliceAttributes>(arguments);
  const OperandDescriptor& input = Operand(arguments, 0);
  TRY(CheckListSize("starts", attributes.starts.size(), input.rank()));
  TRY(CheckListSize("sizes", attributes.sizes.size(), input.rank()));
  TRY(CheckNoZero("sizes", attributes.sizes));
  if (attributes.strides) {
    TRY(CheckListSize("strides", attributes.strides->size(), input.rank()));
    TRY(CheckNoZero("strides", *attributes.strides));
  }
  Shape shape;
  for (uint32_t axis = 0; axis < input.rank(); ++axis) {
    const uint32_t size = attributes.sizes[axis];
    const uint64_t end = uint64_t{attributes.starts[axis]} + size;
    INVALID_CHECK(212, end > input.shape()[axis],
                  "starts[{}] + sizes[{}] ({}) exceeds the size of input along that axis ({})",
                  axis, axis, end, input.shape()[axis]);
    shape.push_back(DivideRoundingUp(size, attributes.strides ? (*attributes.strides)[axis] : 1u));
  }
  return OneResult(input.data_type(), shape);
}

// The sizes of the results along the axis.
Result<std::vector<uint32_t>> SplitSizes(const SplitAttributes& attributes, uint32_t dimension) {
  if (const uint32_t* count = std::get_if<uint32_t>(&attributes.splits)) {
    TRY(CheckTensorCount("splits", *count));
    INVALID_CHECK(213, dimension % *count != 0,
                  "splits ({}) does not divide the size of input along the axis ({})", *count,
                  dimension);
    return std::vector<uint32_t>(*count, dimension / *count);
  }
  const auto& sizes = std::get<std::vector<uint32_t>>(attributes.splits);
  TRY(CheckTensorCount("splits", sizes.size()));
  TRY(CheckNoZero("splits", sizes));
  uint64_t sum = 0;  // kOperandsPerOperatorMax sizes of 32 bits each fit easily.
  for (uint32_t size : sizes) sum += size;
  INVALID_CHECK(214, sum != dimension,
                "the sum of splits ({}) is not the size of input along the axis ({})", sum,
                dimension);
  return sizes;
}

Result<Descriptors> InferSplit(const OperatorArguments& arguments) {
  const SplitAttributes& attributes = Attributes<SplitAttributes>(arguments);
  TRY(CheckAxis(arguments, attributes.axis));
  const OperandDescriptor& input = Operand(arguments, 0);
  Shape shape = input.shape();
  ASSIGN_OR_RETURN(std::vector<uint32_t> sizes, SplitSizes(attributes, shape[attributes.axis]));
  Descriptors results;
  results.reserve(sizes.size());
  for (uint32_t size : sizes) {
    shape[attributes.axis] = size;
    ASSIGN_OR_RETURN(OperandDescriptor result, OperandDescriptor::Create(input.data_type(), shape));
    results.push_back(std::move(result));
  }
  return results;
}

Result<Descriptors> InferTranspose(const OperatorArguments& arguments) {
  const auto& permutation = Attributes<TransposeAttributes>(arguments).permutation;
  const OperandDescriptor& input = Operand(arguments, 0);
  Shape shape;
  if (!permutation) {
    shape.assign(input.shape().rbegin(), input.shape().rend());
    return OneResult(input.data_type(), shape);
  }
  TRY(CheckListSize("permutation", permutation->size(), input.rank()));
  TRY(CheckAxes("permutation", *permutation, input.rank()));
  for (uint32_t axis : *permutation) shape.push_back(input.shape()[axis]);
  return OneResult(input.data_type(), shape);
}

constexpr TensorConstraint kAny = Tensor(kAnyType).Requiring(kRequiredTypes);
constexpr TensorConstraint kAnyOrPacked = Tensor(kAnyOrPackedType).Requiring(kRequiredOrByteTypes);

}  // namespace

OperatorRow ConcatRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyOrPackedType, 1).Requiring(kRequiredTypes);
  return {kind, {kTensor}, {kTensor}, InferConcat};
}

OperatorRow ExpandRow(OperatorKind kind) { return {kind, {kAny}, {kAny}, InferExpand}; }

OperatorRow PadRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyType).Requiring(kFloatTypes);
  return {kind, {kTensor}, {kTensor}, InferPad};
}

OperatorRow Resample2dRow(OperatorKind kind) {
  constexpr DataTypeSet kTypes =
      kFloatTypes | DataTypeSet{OperandDataType::kUint8, OperandDataType::kInt8};
  constexpr TensorConstraint kImage = TensorOfRank(kTypes, 4).Requiring(kFloatTypes);
  return {kind, {kImage}, {kImage}, InferResample2d};
}

OperatorRow ReverseRow(OperatorKind kind) { return {kind, {kAny}, {kAny}, InferReverse}; }

OperatorRow TileRow(OperatorKind kind) { return {kind, {kAny}, {kAny}, InferTile}; }

OperatorRow TriangularRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyType, 2).Requiring(kFloatTypes);
  return {kind, {kTensor}, {kTensor}, InferLikeInput};
}

OperatorRow ReshapeRow(OperatorKind kind) {
  return {kind, {kAnyOrPacked}, {kAnyOrPacked}, InferReshape};
}

OperatorRow SliceRow(OperatorKind kind) {
  return {kind, {kAnyOrPacked}, {kAnyOrPacked}, InferSlice};
}

OperatorRow SplitRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyType, 1).Requiring(kRequiredTypes);
  return {kind, {kTensor}, {kTensor}, InferSplit};
}

OperatorRow TransposeRow(OperatorKind kind) {
  constexpr TensorConstraint kTensor = Tensor(kAnyOrPackedType).Requiring(kRequiredTypes);
  return {kind, {kTensor}, {kTensor}, InferTranspose};
}

}  // namespace webnnd::webidl
