#include "service/passes/window_product.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/tall_product.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDescriptor;
using webidl::Shape;

// The best way to load windows that the layout allows.
LoadPattern ChooseWindowLoad(const Convolution& convolution, bool channels_last,
                             const Image& strides, uint64_t elements) {
  const Axis& width = convolution.width;
  if (channels_last && strides.channel == 1 && strides.column % 4 == 0 &&
      convolution.input_channels % 4 == 0) {
    return LoadPattern::kFourAlongK;
  }
  if (strides.column == 1 && width.stride == 1 && width.output % 4 == 0 && elements % 4 == 0) {
    return LoadPattern::kFourAcross;
  }
  return LoadPattern::kOne;
}

// The windows of the image as columns of a matrix, see image_columns.glsl.
ImageColumns MakeImageColumns(const Convolution& convolution, const OperandDescriptor& input) {
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  Image strides = ReadImage(PackedStrides(input.shape()), convolution.layout);
  ImageColumns columns;
  columns.channels_last = convolution.filter_input <= convolution.filter_column;
  columns.loads =
      ChooseWindowLoad(convolution, columns.channels_last, strides, input.element_count());
  AppendDivisor(columns.channels_last ? convolution.input_channels : height.window * width.window,
                columns.parameters);
  AppendDivisor(width.window, columns.parameters);
  AppendDivisor(width.output, columns.parameters);
  uint32_t last_four = NarrowCast<uint32_t>(input.element_count() - 1) / 4;
  columns.parameters.insert(columns.parameters.end(),
                            {strides.row, strides.column, strides.channel, last_four, height.input,
                             width.input, height.padding, width.padding, height.stride,
                             width.stride, height.dilation, width.dilation});
  return columns;
}

// A convolution as the product of filter and windows: channels of the result
// are rows, its pixels columns.
Product MakeConvolutionProduct(const Convolution& convolution, const Node& node,
                               const LoweringBuilder& builder) {
  const Shape& input = builder.descriptor(node.operands[0]).shape();
  const Shape& result = builder.descriptor(node.results[0]).shape();
  Image sizes = ReadImage(result, convolution.layout);
  Image input_strides = ReadImage(PackedStrides(input), convolution.layout);
  Image result_strides = ReadImage(PackedStrides(result), convolution.layout);
  Product product;
  product.a = node.operands[1];
  product.b = node.operands[0];
  product.c = node.operands[2];
  product.residual = ResidualOf(node);
  product.activation = ActivationOf(node);
  product.result = node.results[0];
  product.rows = convolution.output_channels;
  product.columns = sizes.row * sizes.column;
  product.depth = convolution.input_channels * convolution.height.window * convolution.width.window;
  // In every layout, channels and taps lie evenly in one order or the other.
  product.a_strides = {convolution.filter_output,
                       std::min(convolution.filter_input, convolution.filter_column)};
  product.c_strides = {1, 0};
  product.result_strides = {result_strides.channel, result_strides.column};
  StridedDimension batch{sizes.batch, {0, input_strides.batch, 0, result_strides.batch}};
  StridedDimension groups{
      convolution.groups,
      {convolution.filter_group, convolution.input_channels * input_strides.channel,
       convolution.output_channels, convolution.output_channels * result_strides.channel}};
  product.batch = Coalesce(std::array{batch, groups});
  if (IsPointwise(convolution.height) && IsPointwise(convolution.width)) {
    product.b_strides = {input_strides.channel, input_strides.column};
  } else {
    product.image = MakeImageColumns(convolution, builder.descriptor(node.operands[0]));
  }
  return product;
}

// What image_lines.comp takes without becoming a long kernel (kTapsMax and kStepMax).
constexpr uint32_t kLineTapsMax = 16;
constexpr uint32_t kLineStepMax = 4;

// Of the image with its padding, as far as windows reach.
uint64_t LineRows(const Axis& height) {
  return uint64_t{height.output - 1} * height.stride +
         uint64_t{height.window - 1} * height.dilation + 1;
}

// Whether the product reads its windows from lines (image_lines.comp): where it would load them one
// by one, or convert each element for each tap. GPUs do so as fast.
bool UsesLines(const Convolution& convolution, const Product& product,
               const LoweringBuilder& builder) {
  constexpr uint64_t kBytesMax = uint64_t{16} << 20;
  const Axis& width = convolution.width;
  const OperandDescriptor& input = builder.descriptor(product.b);
  if (builder.wide() || !product.image || !IsTall(product) ||
      convolution.layout != InputOperandLayout::kNchw ||
      (input.data_type() == webidl::OperandDataType::kFloat32 &&
       product.image->loads == LoadPattern::kFourAcross) ||
      width.output % 4 != 0 || width.dilation != 1 || width.window > kLineTapsMax ||
      width.stride > kLineStepMax) {
    return false;
  }
  const Image sizes = ReadImage(input.shape(), convolution.layout);
  const uint64_t rows = uint64_t{sizes.batch} * sizes.channel * LineRows(convolution.height);
  return rows * width.window * width.output <= kBytesMax / sizeof(float);
}

// Adds the call that makes them, and lets the product read them.
Status AddLines(const Convolution& convolution, Product& product, LoweringBuilder& builder) {
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  const ValueId image = product.b;
  const OperandDescriptor& input = builder.descriptor(image);
  const Image sizes = ReadImage(input.shape(), convolution.layout);
  const auto rows = NarrowCast<uint32_t>(LineRows(height));
  const uint32_t row_stride = width.window * width.output;
  const uint32_t shape[] = {sizes.batch * sizes.channel, rows, width.window, width.output};
  LoweredCall call;
  call.shader = ShaderId::kImageLines;
  call.specialization = {static_cast<uint32_t>(input.data_type()), width.window, width.stride};
  const uint32_t fours = width.output / 4;
  const uint32_t units = shape[0] * rows * fours;
  call.parameters = {units, NarrowCast<uint32_t>(input.element_count() - 1) / 4, height.input,
                     width.input};
  AppendDivisor(fours, call.parameters);
  AppendDivisor(rows, call.parameters);
  call.parameters.insert(call.parameters.end(), {height.padding, width.padding, 0, 0});
  call.invocations = units;
  call.cost = uint64_t{units} * 4 * width.window;
  ASSIGN_OR_RETURN(auto descriptor,
                   OperandDescriptor::Create(webidl::OperandDataType::kFloat32, shape));
  product.b = builder.AddTemporary(std::move(descriptor));
  call.buffers = {{image, false}, {product.b, true}};
  builder.AddCall(std::move(call));

  const uint32_t plane = rows * row_stride;
  for (StridedDimension& dimension : product.batch) {
    dimension.strides[1] = dimension.strides[1] / (height.input * width.input) * plane;
  }
  // Strides of a row, from tap to tap of it, and of a channel.
  const std::array strides = {row_stride, width.output, plane};
  std::copy(strides.begin(), strides.end(), product.image->parameters.begin() + 12);
  product.image->loads = LoadPattern::kLines;
  return {};
}

// A convolution of single pixels whose channels lie together: pixels are rows,
// channels columns.
Product MakePixelProduct(const Convolution& convolution, const Node& node,
                         const LoweringBuilder& builder) {
  Product product = MakeConvolutionProduct(convolution, node, builder);
  std::swap(product.a, product.b);
  product.b_strides = {product.a_strides.column, product.a_strides.row};
  product.rows = product.columns * product.batch[0].size;
  product.columns = convolution.output_channels;
  product.a_strides = {product.depth, 1};
  product.c_strides = {0, 1};
  product.result_strides = {product.columns, 1};
  product.batch = {StridedDimension()};
  return product;
}

// Whether pixels follow each other without gaps, each with all its channels,
// and so do results.
bool IsPixelProduct(const Convolution& convolution) {
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  return convolution.groups == 1 && IsPointwise(height) && IsPointwise(width) &&
         (convolution.layout == InputOperandLayout::kNhwc ||
          uint64_t{height.output} * width.output == 1);
}

}  // namespace

std::optional<FilterProduct> MakeWindowProduct(const Convolution& convolution, const Node& node,
                                               const LoweringBuilder& builder) {
  // A group with one channel out has nothing to share.
  if (convolution.output_channels == 1) return std::nullopt;
  if (IsPixelProduct(convolution)) {
    return FilterProduct{MakePixelProduct(convolution, node, builder), 1};
  }
  return FilterProduct{MakeConvolutionProduct(convolution, node, builder), 0};
}

Status AddWindowProductCalls(const Convolution& convolution, Product product,
                             LoweringBuilder& builder) {
  if (UsesLines(convolution, product, builder)) {
    TRY(AddLines(convolution, product, builder));
  }
  return AddProductCall(product, builder);
}

}  // namespace webnnd::service
