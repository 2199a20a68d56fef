#include "service/passes/convolution.h"

#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using webidl::Shape;

// Where a filter's dimensions are.
struct FilterAxes {
  size_t output;
  size_t input;
  size_t row;
  size_t column;
};

FilterAxes AxesOf(webidl::Conv2dFilterOperandLayout layout) {
  switch (layout) {
    case webidl::Conv2dFilterOperandLayout::kOihw:
      return {.output = 0, .input = 1, .row = 2, .column = 3};
    case webidl::Conv2dFilterOperandLayout::kHwio:
      return {.output = 3, .input = 2, .row = 0, .column = 1};
    case webidl::Conv2dFilterOperandLayout::kOhwi:
      return {.output = 0, .input = 3, .row = 1, .column = 2};
    case webidl::Conv2dFilterOperandLayout::kIhwo:
      return {.output = 3, .input = 0, .row = 1, .column = 2};
  }
  UNREACHABLE();
}

FilterAxes AxesOf(webidl::ConvTranspose2dFilterOperandLayout layout) {
  switch (layout) {
    case webidl::ConvTranspose2dFilterOperandLayout::kIohw:
      return {.output = 1, .input = 0, .row = 2, .column = 3};
    case webidl::ConvTranspose2dFilterOperandLayout::kHwoi:
      return {.output = 2, .input = 3, .row = 0, .column = 1};
    case webidl::ConvTranspose2dFilterOperandLayout::kOhwi:
      return {.output = 0, .input = 3, .row = 1, .column = 2};
  }
  UNREACHABLE();
}

// What attributes and shapes say.
template <typename Attributes>
Convolution ReadConvolution(const Attributes& attributes, const Node& node,
                            const LoweringBuilder& builder) {
  const Value& filter_value = builder.graph().values[node.operands[1]];
  const Shape& filter = filter_value.panels_of != nullptr ? filter_value.panels_of->shape()
                                                          : filter_value.descriptor.shape();
  Image input = ReadImage(builder.descriptor(node.operands[0]).shape(), attributes.input_layout);
  Image output = ReadImage(builder.descriptor(node.results[0]).shape(), attributes.input_layout);
  FilterAxes axes = AxesOf(attributes.filter_layout);
  std::vector<uint32_t> strides = PackedStrides(filter);
  Convolution convolution{.layout = attributes.input_layout,
                          .groups = attributes.groups,
                          .input_channels = input.channel / attributes.groups,
                          .output_channels = output.channel / attributes.groups,
                          .filter_output = strides[axes.output],
                          .filter_input = strides[axes.input],
                          .filter_row = strides[axes.row],
                          .filter_column = strides[axes.column]};
  convolution.height = MakeAxis(0, attributes.padding, attributes.strides, attributes.dilations);
  convolution.width = MakeAxis(1, attributes.padding, attributes.strides, attributes.dilations);
  convolution.height.input = input.row;
  convolution.height.window = filter[axes.row];
  convolution.height.output = output.row;
  convolution.width.input = input.column;
  convolution.width.window = filter[axes.column];
  convolution.width.output = output.column;
  return convolution;
}

}  // namespace

Result<Convolution> MakeConvolution(const Node& node, const LoweringBuilder& builder) {
  const auto* transposed = std::get_if<webidl::ConvTranspose2dAttributes>(&node.attributes);
  Convolution convolution =
      transposed != nullptr
          ? ReadConvolution(*transposed, node, builder)
          : ReadConvolution(std::get<webidl::Conv2dAttributes>(node.attributes), node, builder);
  convolution.transposed = transposed != nullptr;
  Axis& height = convolution.height;
  Axis& width = convolution.width;
  if (convolution.transposed) {
    convolution.filter_group = convolution.input_channels * convolution.filter_input;
    TRY(NormalizeAxis(height, height.input));
    TRY(NormalizeAxis(width, width.input));
  } else {
    convolution.filter_group = convolution.output_channels * convolution.filter_output;
    TRY(NormalizeAxis(height, height.output));
    TRY(NormalizeAxis(width, width.output));
  }
  return convolution;
}

bool IsOneColumn(const Convolution& convolution) {
  const Axis& width = convolution.width;
  return width.input == 1 && width.output == 1 && width.window == 1;
}

Convolution AsOneRow(Convolution convolution) {
  std::swap(convolution.height, convolution.width);
  std::swap(convolution.filter_row, convolution.filter_column);
  return convolution;
}

std::vector<LoweredBuffer> ConvolutionBuffers(const Node& node) {
  const ValueId image = node.operands[0];
  auto or_image = [image](ValueId value) { return value != kNoValue ? value : image; };
  return {{image, false},
          {node.operands[1], false},
          {node.results[0], true},
          {or_image(node.operands[2]), false},
          {or_image(ResidualOf(node)), false}};
}

}  // namespace webnnd::service
