#include "webidl/operators/conv.h"

#include <array>
#include <string_view>

#include "base/checked_math.h"
#include "webidl/operators/common.h"
#include "webidl/operators/window.h"

namespace webnnd::webidl {

namespace {

// Slots of both operators.
constexpr size_t kInput = 0;
constexpr size_t kFilter = 1;
constexpr size_t kBias = 2;

constexpr std::array<std::string_view, 2> kOutputExtents = {"the height of the output",
                                                            "the width of the output"};

// A filter's dimensions by meaning, whatever its layout.
struct FilterShape {
  uint32_t input_channels;
  uint32_t output_channels;
  std::array<uint32_t, 2> size;  // Height and width.
};

FilterShape ReadFilter(const Shape& shape, Conv2dFilterOperandLayout layout) {
  switch (layout) {
    case Conv2dFilterOperandLayout::kOihw:
      return {shape[1], shape[0], {shape[2], shape[3]}};
    case Conv2dFilterOperandLayout::kHwio:
      return {shape[2], shape[3], {shape[0], shape[1]}};
    case Conv2dFilterOperandLayout::kOhwi:
      return {shape[3], shape[0], {shape[1], shape[2]}};
    case Conv2dFilterOperandLayout::kIhwo:
      return {shape[0], shape[3], {shape[1], shape[2]}};
  }
  UNREACHABLE();
}

FilterShape ReadFilter(const Shape& shape, ConvTranspose2dFilterOperandLayout layout) {
  switch (layout) {
    case ConvTranspose2dFilterOperandLayout::kIohw:
      return {shape[0], shape[1], {shape[2], shape[3]}};
    case ConvTranspose2dFilterOperandLayout::kHwoi:
      return {shape[3], shape[2], {shape[0], shape[1]}};
    case ConvTranspose2dFilterOperandLayout::kOhwi:
      return {shape[3], shape[0], {shape[1], shape[2]}};
  }
  UNREACHABLE();
}

// The input's shape with these channels and this height and width.
Shape OutputShape(const OperatorArguments& arguments, const ImageAxes& axes, uint32_t channels,
                  const std::array<uint32_t, 2>& size) {
  Shape shape = Operand(arguments, kInput).shape();
  shape[axes.channels] = channels;
  shape[axes.height] = size[0];
  shape[axes.width] = size[1];
  return shape;
}

Result<Descriptors> InferConv2d(const OperatorArguments& arguments) {
  const Conv2dAttributes& attributes = Attributes<Conv2dAttributes>(arguments);
  TRY(CheckSameTypes(arguments, kInput, kFilter, kBias));
  ASSIGN_OR_RETURN(Window window,
                   MakeWindow(attributes.padding, attributes.strides, attributes.dilations));
  const uint32_t groups = attributes.groups;
  INVALID_CHECK(131, groups == 0, "groups ({}) is not greater than zero", groups);
  const Shape& input = Operand(arguments, kInput).shape();
  const ImageAxes axes = GetImageAxes(attributes.input_layout);
  const FilterShape filter =
      ReadFilter(Operand(arguments, kFilter).shape(), attributes.filter_layout);
  const uint32_t channels = input[axes.channels];
  INVALID_CHECK(132, channels % groups != 0,
                "groups ({}) does not divide the channels of input ({})", groups, channels);
  INVALID_CHECK(133, channels / groups != filter.input_channels,
                "the input channels of filter ({}) are not those of input in each group ({})",
                filter.input_channels, channels / groups);
  INVALID_CHECK(134, filter.output_channels % groups != 0,
                "groups ({}) does not divide the output channels of filter ({})", groups,
                filter.output_channels);
  TRY(CheckShape(arguments, kBias, {filter.output_channels}));
  const std::array<uint32_t, 2> input_size = {input[axes.height], input[axes.width]};
  std::array<uint32_t, 2> output_size;
  for (size_t i = 0; i < 2; ++i) {
    const WindowCount count = CountWindows(window, i, input_size[i], filter.size[i]);
    ASSIGN_OR_RETURN(output_size[i], ToDimension(count.floor, kOutputExtents[i]));
  }
  return OneResult(Operand(arguments, kInput).data_type(),
                   OutputShape(arguments, axes, filter.output_channels, output_size));
}

// Height (0) or width (1) that a transposed convolution gives before output padding; it may be
// negative. Sums of products that saturate: nothing overflows.
int64_t TransposedSize(const Window& window, size_t spatial, uint32_t input_size,
                       uint32_t filter_size) {
  return SaturatingProduct(int64_t{input_size} - 1, window.strides[spatial]) +
         EffectiveFilterSize(filter_size, window.dilations[spatial]) - window.padding[2 * spatial] -
         window.padding[2 * spatial + 1];
}

Result<std::array<uint32_t, 2>> ReadOutputPadding(const ConvTranspose2dAttributes& attributes,
                                                  const Window& window) {
  std::array<uint32_t, 2> output_padding = {0, 0};
  if (attributes.output_padding) {
    TRY(CheckListSize("outputPadding", attributes.output_padding->size(), 2));
    output_padding = {(*attributes.output_padding)[0], (*attributes.output_padding)[1]};
  }
  if (attributes.output_sizes) {
    TRY(CheckListSize("outputSizes", attributes.output_sizes->size(), 2));
    return output_padding;  // Ignored.
  }
  for (size_t i = 0; i < 2; ++i) {
    INVALID_CHECK(144, output_padding[i] >= window.strides[i],
                  "outputPadding[{}] ({}) is not less than strides[{}] ({})", i, output_padding[i],
                  i, window.strides[i]);
  }
  return output_padding;
}

Result<std::array<uint32_t, 2>> TransposedOutputSize(const ConvTranspose2dAttributes& attributes,
                                                     const Window& window,
                                                     const std::array<uint32_t, 2>& input_size,
                                                     const FilterShape& filter) {
  ASSIGN_OR_RETURN(auto output_padding, ReadOutputPadding(attributes, window));
  std::array<uint32_t, 2> output_size;
  for (size_t i = 0; i < 2; ++i) {
    int64_t size = TransposedSize(window, i, input_size[i], filter.size[i]);
    if (!attributes.output_sizes) {
      size += output_padding[i];
    } else {
      const int64_t wanted = (*attributes.output_sizes)[i];
      INVALID_CHECK(145, wanted < size || wanted >= size + window.strides[i],
                    "outputSizes[{}] ({}) is not between the calculated size ({}) and that plus "
                    "strides[{}] ({})",
                    i, wanted, size, i, window.strides[i]);
      size = wanted;
    }
    ASSIGN_OR_RETURN(output_size[i], ToDimension(size, kOutputExtents[i]));
  }
  return output_size;
}

Result<Descriptors> InferConvTranspose2d(const OperatorArguments& arguments) {
  const ConvTranspose2dAttributes& attributes = Attributes<ConvTranspose2dAttributes>(arguments);
  TRY(CheckSameTypes(arguments, kInput, kFilter, kBias));
  ASSIGN_OR_RETURN(Window window,
                   MakeWindow(attributes.padding, attributes.strides, attributes.dilations));
  INVALID_CHECK(141, attributes.groups == 0, "groups ({}) is not greater than zero",
                attributes.groups);
  const Shape& input = Operand(arguments, kInput).shape();
  const ImageAxes axes = GetImageAxes(attributes.input_layout);
  const FilterShape filter =
      ReadFilter(Operand(arguments, kFilter).shape(), attributes.filter_layout);
  INVALID_CHECK(142, input[axes.channels] != filter.input_channels,
                "the input channels of filter ({}) are not those of input ({})",
                filter.input_channels, input[axes.channels]);
  // The draft does not say so, but a group's share of the input channels is a whole number.
  INVALID_CHECK(143, filter.input_channels % attributes.groups != 0,
                "groups ({}) does not divide the channels of input ({})", attributes.groups,
                filter.input_channels);
  // The draft wants a valid dimension: groups divides the input channels, so that the product is no
  // more than the filter has elements.
  const auto channels = NarrowCast<uint32_t>(uint64_t{filter.output_channels} * attributes.groups);
  TRY(CheckShape(arguments, kBias, {channels}));
  ASSIGN_OR_RETURN(
      auto output_size,
      TransposedOutputSize(attributes, window, {input[axes.height], input[axes.width]}, filter));
  return OneResult(Operand(arguments, kInput).data_type(),
                   OutputShape(arguments, axes, channels, output_size));
}

OperatorRow ConvolutionRow(OperatorKind kind, InferFunction infer) {
  return {
      kind,
      {TensorOfRank(kFloatTypes, 4), TensorOfRank(kFloatTypes, 4), TensorOfRank(kFloatTypes, 1)},
      {TensorOfRank(kFloatTypes, 4)},
      infer};
}

}  // namespace

OperatorRow Conv2dRow(OperatorKind kind) { return ConvolutionRow(kind, InferConv2d); }

OperatorRow ConvTranspose2dRow(OperatorKind kind) {
  return ConvolutionRow(kind, InferConvTranspose2d);
}

}  // namespace webnnd::webidl
