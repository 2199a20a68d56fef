#include "webidl/operators/pool.h"

#include <array>
#include <string_view>
#include <vector>

#include "webidl/operators/common.h"
#include "webidl/operators/window.h"

namespace webnnd::webidl {

namespace {

using WindowCounts = std::array<WindowCount, 2>;  // Of height and width.

constexpr std::array<std::string_view, 2> kOutputExtents = {"the height of the output",
                                                            "the width of the output"};

Result<WindowCounts> CountPoolWindows(const Pool2dAttributes& attributes,
                                      const std::array<uint32_t, 2>& input_size) {
  const std::vector<uint32_t> window_size = attributes.window_dimensions.value_or(
      std::vector<uint32_t>(input_size.begin(), input_size.end()));
  TRY(CheckListSize("windowDimensions", window_size.size(), 2));
  TRY(CheckNoZero("windowDimensions", window_size));
  ASSIGN_OR_RETURN(Window window,
                   MakeWindow(attributes.padding, attributes.strides, attributes.dilations));
  WindowCounts counts;
  for (size_t i = 0; i < 2; ++i) {
    counts[i] = CountWindows(window, i, input_size[i], window_size[i]);
  }
  return counts;
}

// The draft sets padding to zero where outputSizes is given, and demands that outputSizes is less
// than strides. Its conformance tests and browsers do neither: both sizes rounded down, or both
// rounded up, with the padding as given.
Status CheckOutputSizes(const std::vector<uint32_t>& sizes, const WindowCounts& counts) {
  TRY(CheckListSize("outputSizes", sizes.size(), 2));
  const bool floors = sizes[0] == counts[0].floor && sizes[1] == counts[1].floor;
  const bool ceils = sizes[0] == counts[0].ceil && sizes[1] == counts[1].ceil;
  INVALID_CHECK(151, !floors && !ceils,
                "outputSizes ({}) is neither the calculated size rounded down ([{},{}]) nor up "
                "([{},{}])",
                ShapeToString(sizes), counts[0].floor, counts[1].floor, counts[0].ceil,
                counts[1].ceil);
  return {};
}

Result<Descriptors> InferPool2d(const OperatorArguments& arguments) {
  const Pool2dAttributes& attributes = Attributes<Pool2dAttributes>(arguments);
  const OperandDescriptor& input = Operand(arguments, 0);
  const ImageAxes axes = GetImageAxes(attributes.layout);
  Shape shape = input.shape();
  ASSIGN_OR_RETURN(WindowCounts counts,
                   CountPoolWindows(attributes, {shape[axes.height], shape[axes.width]}));
  if (attributes.output_sizes) TRY(CheckOutputSizes(*attributes.output_sizes, counts));
  std::array<uint32_t, 2> size;
  for (size_t i = 0; i < 2; ++i) {
    int64_t extent =
        attributes.output_shape_rounding == RoundingType::kFloor ? counts[i].floor : counts[i].ceil;
    if (attributes.output_sizes) extent = (*attributes.output_sizes)[i];
    ASSIGN_OR_RETURN(size[i], ToDimension(extent, kOutputExtents[i]));
  }
  shape[axes.height] = size[0];
  shape[axes.width] = size[1];
  return OneResult(input.data_type(), shape);
}

}  // namespace

OperatorRow FloatPoolRow(OperatorKind kind) {
  return {kind, {TensorOfRank(kFloatTypes, 4)}, {TensorOfRank(kFloatTypes, 4)}, InferPool2d};
}

OperatorRow MaxPool2dRow(OperatorKind kind) {
  constexpr TensorConstraint kImage = TensorOfRank(kAnyType, 4).Requiring(kFloatTypes);
  return {kind, {kImage}, {kImage}, InferPool2d};
}

}  // namespace webnnd::webidl
