#include "service/passes/lower_window.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_reduce.h"
#include "service/passes/matrix_product.h"
#include "service/passes/tall_product.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

// Values of specialisation constant 1 of pool2d.comp.
enum class PoolOperation : uint32_t {
#define POOL_OPERATION(name, value) k##name = value,
#include "shaders/operations.inc"
#undef POOL_OPERATION
};

using List = std::optional<std::vector<uint32_t>>;

// An image's sizes, or its strides in elements, by meaning.
struct Image {
  uint32_t batch;
  uint32_t channel;
  uint32_t row;
  uint32_t column;
};

Image ReadImage(const std::vector<uint32_t>& list, InputOperandLayout layout) {
  if (layout == InputOperandLayout::kNchw) return {list[0], list[1], list[2], list[3]};
  return {list[0], list[3], list[1], list[2]};
}

// One spatial dimension: what window.glsl reads.
struct Axis {
  uint32_t input = 1;
  uint32_t window = 1;
  uint32_t output = 1;
  uint32_t padding = 0;  // Before the image; what is behind shows in the size of the output.
  uint32_t dilation = 1;
  uint32_t stride = 1;
};

// Along height (0) or width (1).
Axis MakeAxis(size_t spatial, const List& padding, const List& strides, const List& dilations) {
  Axis axis;
  if (padding) axis.padding = (*padding)[2 * spatial];
  if (strides) axis.stride = (*strides)[spatial];
  if (dilations) axis.dilation = (*dilations)[spatial];
  return axis;
}

// Checks that positions, counted from the start of the padding, are below 2^31,
// as Divide of shaders/tensor.glsl needs. `moves` positions of the window are
// stride apart.
Status NormalizeAxis(Axis& axis, uint32_t moves) {
  // What never counts may be anything.
  if (axis.window == 1) axis.dilation = 1;
  if (moves == 1) axis.stride = 1;
  uint64_t window = uint64_t{axis.window - 1} * axis.dilation;
  uint64_t last = uint64_t{moves - 1} * axis.stride;
  uint64_t extent = uint64_t{std::max(axis.input, axis.output)} + axis.padding;
  constexpr uint64_t kPositionMax = INT32_MAX;
  if (window > kPositionMax || last > kPositionMax || window + last > kPositionMax ||
      extent > kPositionMax) {
    return NotSupportedError("the padded image ({}) is longer than a kernel can index",
                             std::max({window + last, extent}));
  }
  return {};
}

void AppendAxis(const Axis& axis, std::vector<uint32_t>& parameters) {
  parameters.insert(parameters.end(), {axis.input, axis.window, axis.padding, 0});
  AppendDivisor(axis.dilation, parameters);
  AppendDivisor(axis.stride, parameters);
}

// Taps that may lie within the image at once.
uint64_t TapsMax(const Axis& axis, bool transposed) {
  uint64_t reach = transposed ? uint64_t{axis.input - 1} * axis.stride + 1 : axis.input;
  return std::min<uint64_t>(axis.window, DivideRoundingUp<uint64_t>(reach, axis.dilation));
}

// Iterations over `count` things by a plain loop where they are few, else by
// LONG_LOOP.
uint64_t LoopsOver(uint64_t count) {
  return count < kLongLoopUnroll ? count : DivideRoundingUp<uint64_t>(count, kLongLoopUnroll);
}

// What convolutions and their transposed form have in common.
struct Convolution {
  bool transposed = false;
  InputOperandLayout layout{};
  uint32_t groups = 1;
  uint32_t input_channels = 0;   // Of a group.
  uint32_t output_channels = 0;  // Of a group.
  Axis height;
  Axis width;
  // Strides of the filter.
  uint32_t filter_group = 0;
  uint32_t filter_output = 0;
  uint32_t filter_input = 0;
  uint32_t filter_row = 0;
  uint32_t filter_column = 0;
};

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

// Blocks of channels of every pixel; strides as conv2d.comp reads them.
std::vector<StridedDimension> MakeUnits(const Convolution& convolution, const Shape& input,
                                        const Shape& result, uint32_t block) {
  Image output = ReadImage(result, convolution.layout);
  Image input_strides = ReadImage(PackedStrides(input), convolution.layout);
  Image output_strides = ReadImage(PackedStrides(result), convolution.layout);
  StridedDimension batch{output.batch, {0, input_strides.batch, 0, output_strides.batch}};
  StridedDimension group{
      convolution.groups,
      {0, convolution.input_channels * input_strides.channel, convolution.output_channels,
       convolution.output_channels * output_strides.channel}};
  StridedDimension blocks{DivideRoundingUp(convolution.output_channels, block),
                          {0, 0, block, block * output_strides.channel}};
  StridedDimension pixel{output.row * output.column, {1, 0, 0, output_strides.column}};
  if (convolution.layout == InputOperandLayout::kNchw) {
    return Coalesce(std::array{batch, group, blocks, pixel});
  }
  return Coalesce(std::array{batch, pixel, group, blocks});
}

bool IsPointwise(const Axis& axis) {
  return axis.window == 1 && axis.padding == 0 && axis.output == axis.input;
}

// The best way to load windows that the layout allows.
Load ChooseWindowLoad(const Convolution& convolution, bool channels_last, const Image& strides,
                      uint64_t elements) {
  const Axis& width = convolution.width;
  if (channels_last && strides.channel == 1 && strides.column % 4 == 0 &&
      convolution.input_channels % 4 == 0) {
    return Load::kFourAlongK;
  }
  if (strides.column == 1 && width.stride == 1 && width.output % 4 == 0 && elements % 4 == 0) {
    return Load::kFourAcross;
  }
  return Load::kOne;
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
// by one, or convert each element for each tap.
bool UsesLines(const Convolution& convolution, const Product& product,
               const OperandDescriptor& input) {
  constexpr uint64_t kBytesMax = uint64_t{16} << 20;
  const Axis& width = convolution.width;
  if (!product.image || !IsTall(product) || convolution.layout != InputOperandLayout::kNchw ||
      (input.data_type() == webidl::OperandDataType::kFloat32 &&
       product.image->loads == Load::kFourAcross) ||
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
  product.image->loads = Load::kLines;
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

Status AddConvolutionCall(const Convolution& convolution, const Node& node,
                          LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  bool has_bias = node.operands[2] != kNoValue;
  const ValueId residual = ResidualOf(node);
  const std::optional<Activation> activation = ActivationOf(node);
  // CHANNELS of shaders/table.txt; a depthwise group has one.
  constexpr uint32_t kBlock = 4;
  uint32_t block = convolution.output_channels == 1 ? 1 : kBlock;
  Image input_strides = ReadImage(PackedStrides(input.shape()), convolution.layout);
  Image output_strides = ReadImage(PackedStrides(result.shape()), convolution.layout);
  auto units = MakeUnits(convolution, input.shape(), result.shape(), block);
  const uint64_t unit_count = ElementsOf(units);

  uint64_t rows = TapsMax(convolution.height, convolution.transposed);
  uint64_t columns = TapsMax(convolution.width, convolution.transposed);
  bool is_shallow = convolution.input_channels < kLongLoopUnroll;
  uint64_t loops = rows * (1 + columns * (1 + LoopsOver(convolution.input_channels)));
  if (loops > kInvocationIterationsMax) {
    return NotSupportedError(
        "the filter ({} by {} taps of {} channels) is "
        "larger than a kernel loops over",
        rows, columns, convolution.input_channels);
  }

  LoweredCall call;
  call.shader = block == 1 ? ShaderId::kConv2dChannel : ShaderId::kConv2dChannels;
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         convolution.transposed,
                         has_bias,
                         RankConstant(units),
                         is_shallow,
                         residual != kNoValue,
                         ActivationConstant(activation)};
  // The module declares all slots, so something must be bound there.
  call.buffers = {{node.operands[0], false},
                  {node.operands[1], false},
                  {node.results[0], true},
                  {has_bias ? node.operands[2] : node.operands[0], false},
                  {residual != kNoValue ? residual : node.operands[0], false}};
  call.parameters = {NarrowCast<uint32_t>(unit_count), static_cast<uint32_t>(units.size()),
                     convolution.input_channels, 0};
  AppendDivisor(convolution.output_channels, call.parameters);
  AppendDivisor(convolution.width.output, call.parameters);
  call.parameters.insert(
      call.parameters.end(),
      {input_strides.channel, input_strides.row, input_strides.column, 0, convolution.filter_group,
       convolution.filter_output, convolution.filter_input, convolution.filter_row,
       convolution.filter_column, output_strides.channel, 0, 0});
  AppendAxis(convolution.height, call.parameters);
  AppendAxis(convolution.width, call.parameters);
  AppendDimensions(units, call.parameters);
  AppendActivation(activation, call.parameters);
  call.invocations = unit_count;
  call.cost = unit_count * std::max(loops, rows * columns * convolution.input_channels * block);
  builder.AddCall(std::move(call));
  return {};
}

// Whether depthwise_conv2d.comp can: a channel in, a channel out, in lines that
// it takes by fours.
bool IsDepthwise(const Convolution& convolution) {
  return convolution.input_channels == 1 && convolution.output_channels == 1 &&
         (convolution.layout == InputOperandLayout::kNchw || convolution.groups % 4 == 0);
}

// What an invocation of a kernel for depthwise convolutions computes, ROWS and COLUMNS of
// shaders/table.txt: of planes, rows by fours of columns.
struct DepthwiseBlock {
  ShaderId shader;
  uint32_t rows;
  uint32_t columns;
};

// The module of depthwise_block.comp or depthwise_pixels.comp for the convolution, if there is one.
std::optional<DepthwiseBlock> FindDepthwiseBlock(const Convolution& convolution) {
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  if (height.window != width.window || height.dilation != 1 || width.dilation != 1) {
    return std::nullopt;
  }
  // A window that does not move along an axis may have any step there (NormalizeAxis).
  const uint32_t step = std::max(height.stride, width.stride);
  if ((height.stride != step && height.output != 1) ||
      (width.stride != step && width.output != 1)) {
    return std::nullopt;
  }
  using Block = DepthwiseBlock;
  if (convolution.layout == InputOperandLayout::kNhwc) {
    if (width.window == 3 && step == 1) return Block{ShaderId::kDepthwisePixels3, 7, 4};
    if (width.window == 3 && step == 2) return Block{ShaderId::kDepthwisePixels3Step2, 4, 4};
    return std::nullopt;
  }
  if (width.window == 3 && step == 1) return Block{ShaderId::kDepthwiseBlock3, 7, 4};
  if (width.window == 3 && step == 2) return Block{ShaderId::kDepthwiseBlock3Step2, 7, 4};
  if (width.window == 5 && step == 1) return Block{ShaderId::kDepthwiseBlock5, 7, 4};
  if (width.window == 5 && step == 2) return Block{ShaderId::kDepthwiseBlock5Step2, 7, 4};
  return std::nullopt;
}

Status AddDepthwiseCall(const Convolution& convolution, const Node& node,
                        LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const Image output = ReadImage(result.shape(), convolution.layout);
  const Image strides = ReadImage(PackedStrides(input.shape()), convolution.layout);
  const bool has_bias = node.operands[2] != kNoValue;
  const ValueId residual = ResidualOf(node);
  const std::optional<Activation> activation = ActivationOf(node);
  const bool channels_last = convolution.layout == InputOperandLayout::kNhwc;
  const uint64_t rows = TapsMax(convolution.height, /*transposed=*/false);
  const uint64_t columns = convolution.width.window;
  const uint64_t loops = rows * (1 + columns);
  if (loops > kInvocationIterationsMax) {
    return NotSupportedError("the filter ({} by {} taps) is larger than a kernel loops over", rows,
                             columns);
  }
  const uint32_t line = channels_last ? output.channel : output.column;
  const uint32_t fours = DivideRoundingUp<uint32_t>(line, 4);
  const std::optional<DepthwiseBlock> block = FindDepthwiseBlock(convolution);
  // Blocks of pixels down the image and, where channels come last, across.
  const uint32_t down = DivideRoundingUp<uint32_t>(output.row, block ? block->rows : 1);
  const uint32_t across = DivideRoundingUp<uint32_t>(output.column, block ? block->columns : 1);
  const uint64_t images =
      channels_last ? uint64_t{output.batch} * across : uint64_t{output.batch} * output.channel;
  const uint64_t units = images * down * fours;

  const uint32_t taps_of_row = convolution.width.window;
  const bool taps_together = convolution.filter_column == 1 &&
                             convolution.filter_row == taps_of_row &&
                             convolution.filter_group == taps_of_row * convolution.height.window;

  LoweredCall call;
  call.shader = block ? block->shader : ShaderId::kDepthwiseConv2d;
  // Taps lie a multiple of four apart where channels are what lies together.
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         channels_last,
                         has_bias,
                         line % 4 == 0,
                         channels_last ? convolution.filter_group == 1 : taps_together,
                         residual != kNoValue,
                         ActivationConstant(activation)};
  // The module declares all slots, so something must be bound there.
  call.buffers = {{node.operands[0], false},
                  {node.operands[1], false},
                  {node.results[0], true},
                  {has_bias ? node.operands[2] : node.operands[0], false},
                  {residual != kNoValue ? residual : node.operands[0], false}};
  call.parameters = {NarrowCast<uint32_t>(units), line, output.row,
                     NarrowCast<uint32_t>(input.element_count() - 1) / 4};
  AppendDivisor(fours, call.parameters);
  AppendDivisor(channels_last ? across : down, call.parameters);
  AppendDivisor(channels_last ? down : output.channel, call.parameters);
  call.parameters.insert(
      call.parameters.end(),
      {strides.batch, strides.channel, strides.row, strides.column, convolution.filter_group,
       convolution.filter_row, convolution.filter_column, output.column});
  AppendAxis(convolution.height, call.parameters);
  AppendAxis(convolution.width, call.parameters);
  AppendActivation(activation, call.parameters);
  call.invocations = units;
  const uint32_t results = !block ? 4 : block->rows * block->columns * (channels_last ? 4 : 1);
  call.cost = units * std::max(loops, results * rows * columns);
  builder.AddCall(std::move(call));
  return {};
}

// How taps of one dimension of a transposed convolution meet elements of the result, see
// columns_to_image.comp.
struct Meeting {
  uint32_t common = 1;   // Of stride and dilation, the greatest divisor.
  uint32_t step = 1;     // Between the taps that meet one element.
  uint32_t inverse = 0;  // Of dilation / common, modulo `step`.
  uint32_t turns = 1;    // Taps that meet one element, at most.
};

// None where the step is so large that the kernel cannot calculate with its square.
std::optional<Meeting> FindMeeting(const Axis& axis) {
  constexpr uint32_t kStepMax = 32767;
  Meeting meeting;
  meeting.common = std::gcd(axis.stride, axis.dilation);
  meeting.step = axis.stride / meeting.common;
  if (meeting.step > kStepMax) return std::nullopt;
  const uint32_t back = axis.dilation / meeting.common % meeting.step;
  while (back * meeting.inverse % meeting.step != 1 % meeting.step) ++meeting.inverse;
  meeting.turns = DivideRoundingUp(axis.window, meeting.step);
  return meeting;
}

// A transposed convolution in two halves.
struct ColumnsProduct {
  // What each pixel of the input gives to each tap of each channel: taps and channels are rows,
  // pixels columns.
  Product product;
  uint64_t elements = 0;
  // From one channel of the result, row of taps and tap to the next, in rows of the product.
  uint32_t channel_rows = 0;
  uint32_t row_rows = 0;
  uint32_t tap_rows = 0;
  Meeting height;
  Meeting width;
};

// None where conv2d.comp is the better, or the only, kernel.
std::optional<ColumnsProduct> MakeColumnsProduct(const Convolution& convolution, const Node& node,
                                                 const LoweringBuilder& builder) {
  // Each tap of each channel must be worth writing down.
  constexpr uint32_t kDepthMin = 8;
  constexpr uint64_t kMultiplyAddsMin = uint64_t{1} << 16;
  constexpr uint64_t kBytesMax = uint64_t{64} << 20;
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const uint64_t taps = uint64_t{convolution.height.window} * convolution.width.window;
  ColumnsProduct columns;
  columns.elements =
      input.element_count() / convolution.input_channels * taps * convolution.output_channels;
  const std::optional<Meeting> height = FindMeeting(convolution.height);
  const std::optional<Meeting> width = FindMeeting(convolution.width);
  if (!height || !width || convolution.input_channels < kDepthMin ||
      columns.elements * convolution.input_channels < kMultiplyAddsMin ||
      columns.elements > kBytesMax / sizeof(float)) {
    return std::nullopt;
  }
  columns.height = *height;
  columns.width = *width;
  const uint64_t loops = height->turns * (1 + uint64_t{width->turns});
  const uint32_t per_quad = PerQuad(input.data_type());
  if (loops * per_quad > kInvocationIterationsMax) return std::nullopt;

  const Image sizes = ReadImage(input.shape(), convolution.layout);
  const Image strides = ReadImage(PackedStrides(input.shape()), convolution.layout);
  // In every layout, channels of the result and taps lie evenly in one order or the other.
  const uint32_t unit = std::min(convolution.filter_output, convolution.filter_column);
  columns.channel_rows = convolution.filter_output / unit;
  columns.row_rows = convolution.filter_row / unit;
  columns.tap_rows = convolution.filter_column / unit;
  Product& product = columns.product;
  product.a = node.operands[1];
  product.b = node.operands[0];
  product.rows = NarrowCast<uint32_t>(taps * convolution.output_channels);
  product.columns = sizes.row * sizes.column;
  product.depth = convolution.input_channels;
  product.a_strides = {unit, convolution.filter_input};
  product.b_strides = {strides.channel, strides.column};
  product.result_strides = {product.columns, 1};
  const uint32_t matrix = product.rows * product.columns;
  StridedDimension batch{sizes.batch, {0, strides.batch, 0, convolution.groups * matrix}};
  StridedDimension groups{
      convolution.groups,
      {convolution.filter_group, convolution.input_channels * strides.channel, 0, matrix}};
  product.batch = Coalesce(std::array{batch, groups});
  // The columns are float32, which only this kernel makes of float16.
  if (input.data_type() == webidl::OperandDataType::kFloat16 && !IsTall(product)) {
    return std::nullopt;
  }
  return columns;
}

void AppendMeeting(const Axis& axis, const Meeting& meeting, std::vector<uint32_t>& parameters) {
  parameters.insert(parameters.end(), {axis.input, axis.window, axis.padding, meeting.inverse});
  AppendDivisor(meeting.step, parameters, axis.dilation / meeting.common);
  AppendDivisor(meeting.common, parameters, axis.dilation);
  AppendDivisor(axis.stride, parameters, meeting.turns);
}

// Whether columns_to_image.comp computes strips of the result.
bool TakesStrips(const Convolution& convolution) {
  // Its kStripTapsMax and kStripStepMax.
  constexpr uint32_t kTapsMax = 16;
  constexpr uint32_t kStepMax = 4;
  const Axis& width = convolution.width;
  return convolution.layout == InputOperandLayout::kNchw && width.dilation == 1 &&
         width.window <= kTapsMax && width.padding < kTapsMax && width.stride <= kStepMax &&
         width.input % 4 == 0 && width.output % 4 == 0;
}

// Adds what falls on each element of the result, from `columns` on.
void AddColumnsToImageCall(const Convolution& convolution, const ColumnsProduct& columns,
                           ValueId source, const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const Image output = ReadImage(result.shape(), convolution.layout);
  const bool has_bias = node.operands[2] != kNoValue;
  const ValueId residual = ResidualOf(node);
  const std::optional<Activation> activation = ActivationOf(node);
  const uint32_t pixels = columns.product.columns;
  const uint32_t matrix = columns.product.rows * pixels;
  StridedDimension batch{output.batch, {0, 0, convolution.groups * matrix, 0}};
  StridedDimension group{convolution.groups, {0, 0, matrix, convolution.output_channels}};
  StridedDimension channel{convolution.output_channels, {0, 0, columns.channel_rows * pixels, 1}};
  StridedDimension row{output.row, {1, 0, 0, 0}};
  StridedDimension column{output.column, {0, 1, 0, 0}};
  std::vector<StridedDimension> dimensions =
      convolution.layout == InputOperandLayout::kNchw
          ? Coalesce(std::array{batch, group, channel, row, column})
          : Coalesce(std::array{batch, row, column, group, channel});
  const Axis& width = convolution.width;
  const bool strips = TakesStrips(convolution);
  if (strips) {
    dimensions = Coalesce(std::array{batch, group, channel, row});
    dimensions.push_back({DivideRoundingUp(output.column, 4 * width.stride), {0, 4, 0, 0}});
  }
  const uint32_t units = strips ? NarrowCast<uint32_t>(ElementsOf(dimensions))
                                : NarrowCast<uint32_t>(result.element_count());

  // So few taps that a kernel of its own for them, without a loop, is no long one.
  constexpr uint32_t kConstantTurnsMax = 16;
  const uint64_t turns = uint64_t{columns.height.turns} * columns.width.turns;
  const bool few_turns = turns <= kConstantTurnsMax;
  LoweredCall call;
  call.shader = ShaderId::kColumnsToImage;
  call.specialization = {static_cast<uint32_t>(result.data_type()),
                         has_bias,
                         RankConstant(dimensions),
                         QuadsLieInRows(dimensions, PerQuad(result.data_type())),
                         few_turns ? columns.height.turns : 0,
                         few_turns ? columns.width.turns : 0,
                         residual != kNoValue,
                         ActivationConstant(activation),
                         dimensions.back().strides[0] == 0,
                         strips ? width.window : 0,
                         width.stride,
                         width.padding};
  if (!strips) call.specialization.resize(9);
  // The module declares all slots, so something must be bound there.
  call.buffers = {{source, false},
                  {node.results[0], true},
                  {has_bias ? node.operands[2] : source, false},
                  {residual != kNoValue ? residual : source, false}};
  call.parameters = {units, static_cast<uint32_t>(dimensions.size()), columns.row_rows * pixels,
                     columns.tap_rows * pixels};
  AppendMeeting(convolution.height, columns.height, call.parameters);
  AppendMeeting(convolution.width, columns.width, call.parameters);
  if (strips) call.parameters.back() = output.column;
  AppendDimensions(dimensions, call.parameters);
  AppendActivation(activation, call.parameters);
  call.invocations = strips ? units : StoreQuads(result);
  call.cost = result.element_count() * std::max<uint64_t>(4, 4 * turns);
  builder.AddCall(std::move(call));
}

Status AddColumnsCalls(const Convolution& convolution, ColumnsProduct columns, const Node& node,
                       LoweringBuilder& builder) {
  const uint32_t shape[] = {NarrowCast<uint32_t>(columns.elements)};
  ASSIGN_OR_RETURN(auto descriptor,
                   OperandDescriptor::Create(webidl::OperandDataType::kFloat32, shape));
  columns.product.result = builder.AddTemporary(descriptor);
  TRY(AddProductCall(columns.product, builder));
  AddColumnsToImageCall(convolution, columns, columns.product.result, node, builder);
  return {};
}

// Fills in what the shapes say.
template <typename Attributes>
Convolution MakeConvolution(const Attributes& attributes, const Node& node,
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

Result<Convolution> MakeForwardConvolution(const Node& node, const LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::Conv2dAttributes>(node.attributes);
  Convolution convolution = MakeConvolution(attributes, node, builder);
  convolution.filter_group = convolution.output_channels * convolution.filter_output;
  TRY(NormalizeAxis(convolution.height, convolution.height.output));
  TRY(NormalizeAxis(convolution.width, convolution.width.output));
  return convolution;
}

std::optional<FilterProduct> FilterProductOf(const Convolution& convolution, const Node& node,
                                             const LoweringBuilder& builder) {
  // A group with one channel out has nothing to share.
  if (convolution.output_channels == 1) return std::nullopt;
  if (IsPixelProduct(convolution)) {
    return FilterProduct{MakePixelProduct(convolution, node, builder), 1};
  }
  return FilterProduct{MakeConvolutionProduct(convolution, node, builder), 0};
}

// Whether every window is the whole image: a reduction of its rows and columns.
bool CoversImage(const Axis& axis) {
  return axis.output == 1 && axis.dilation == 1 &&
         uint64_t{axis.input} + axis.padding <= axis.window;
}

Status LowerGlobalPool(const Node& node, InputOperandLayout layout, LoweringBuilder& builder) {
  Node reduction = node;
  reduction.kind = node.kind == OperatorKind::kAveragePool2d ? OperatorKind::kReduceMean
                   : node.kind == OperatorKind::kL2Pool2d    ? OperatorKind::kReduceL2
                                                             : OperatorKind::kReduceMax;
  webidl::ReduceAttributes attributes{.keep_dimensions = true};
  attributes.axes = layout == InputOperandLayout::kNchw ? std::vector<uint32_t>{2, 3}
                                                        : std::vector<uint32_t>{1, 2};
  reduction.attributes = std::move(attributes);
  return LowerReduce(reduction, builder);
}

// Specialisation constants 8 to 11 of pool2d.comp.
struct FoursOfWindows {
  uint32_t step = 0;
  uint32_t lead = 0;
  uint32_t all_inside = 0;
  uint32_t stores_quads = 0;
};

bool LieInside(const Axis& axis) {
  const uint64_t last = uint64_t{axis.output - 1} * axis.stride;
  return axis.padding == 0 && last + uint64_t{axis.window - 1} * axis.dilation < axis.input;
}

// For an image whose columns lie together; no step where windows are not taken by fours.
FoursOfWindows FindFoursOfWindows(webidl::OperandDataType type, const Axis& height,
                                  const Axis& width) {
  constexpr uint64_t kLineQuadsMax = 8;
  const uint32_t lead = (4 - width.padding % 4) % 4;
  const uint64_t line = lead + 3 * uint64_t{width.stride} + width.window;
  if (PerQuad(type) != 4 || width.dilation != 1 || width.input % 4 != 0 ||
      line > 4 * kLineQuadsMax) {
    return {};
  }
  return {width.stride, lead, LieInside(height) && LieInside(width), width.output % 4 == 0};
}

PoolOperation PoolOperationOf(OperatorKind kind) {
  if (kind == OperatorKind::kAveragePool2d) return PoolOperation::kAverage;
  return kind == OperatorKind::kL2Pool2d ? PoolOperation::kL2 : PoolOperation::kMax;
}

ShaderId PoolShader(webidl::OperandDataType type) {
  // The rows of the family stand in the order of ComputeClass in
  // shaders/table.txt.
  static_assert(static_cast<int>(ShaderId::kPool2dUint64) -
                    static_cast<int>(ShaderId::kPool2dFloat) ==
                static_cast<int>(ComputeClass::kUint64));
  return static_cast<ShaderId>(static_cast<uint16_t>(ShaderId::kPool2dFloat) +
                               static_cast<uint16_t>(ComputeClassOf(type)));
}

}  // namespace

Result<std::optional<FilterProduct>> FindFilterProduct(const Node& conv2d,
                                                       const LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(const Convolution convolution, MakeForwardConvolution(conv2d, builder));
  return FilterProductOf(convolution, conv2d, builder);
}

Status LowerConv2d(const Node& node, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(const Convolution convolution, MakeForwardConvolution(node, builder));
  if (auto found = FilterProductOf(convolution, node, builder)) {
    if (UsesLines(convolution, found->product, builder.descriptor(node.operands[0]))) {
      TRY(AddLines(convolution, found->product, builder));
    }
    return AddProductCall(found->product, builder);
  }
  return IsDepthwise(convolution) ? AddDepthwiseCall(convolution, node, builder)
                                  : AddConvolutionCall(convolution, node, builder);
}

Status LowerConvTranspose2d(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::ConvTranspose2dAttributes>(node.attributes);
  Convolution convolution = MakeConvolution(attributes, node, builder);
  convolution.transposed = true;
  convolution.filter_group = convolution.input_channels * convolution.filter_input;
  TRY(NormalizeAxis(convolution.height, convolution.height.input));
  TRY(NormalizeAxis(convolution.width, convolution.width.input));
  if (auto columns = MakeColumnsProduct(convolution, node, builder)) {
    return AddColumnsCalls(convolution, std::move(*columns), node, builder);
  }
  return AddConvolutionCall(convolution, node, builder);
}

Status LowerPool2d(const Node& node, LoweringBuilder& builder) {
  const auto& attributes = std::get<webidl::Pool2dAttributes>(node.attributes);
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  Image sizes = ReadImage(input.shape(), attributes.layout);
  Image output = ReadImage(result.shape(), attributes.layout);
  Axis height = MakeAxis(0, attributes.padding, attributes.strides, attributes.dilations);
  Axis width = MakeAxis(1, attributes.padding, attributes.strides, attributes.dilations);
  const List& window = attributes.window_dimensions;
  height.input = sizes.row;
  height.window = window ? (*window)[0] : sizes.row;
  height.output = output.row;
  width.input = sizes.column;
  width.window = window ? (*window)[1] : sizes.column;
  width.output = output.column;
  TRY(NormalizeAxis(height, height.output));
  TRY(NormalizeAxis(width, width.output));
  if (CoversImage(height) && CoversImage(width)) {
    return LowerGlobalPool(node, attributes.layout, builder);
  }

  uint64_t rows = TapsMax(height, /*transposed=*/false);
  uint64_t columns = TapsMax(width, /*transposed=*/false);
  uint64_t loops = rows * (1 + LoopsOver(columns));
  uint64_t units = StoreUnits(result);
  auto elements = NarrowCast<uint32_t>(result.element_count());
  // An invocation computes all elements of a word.
  uint64_t unit_elements = DivideRoundingUp<uint64_t>(elements, units);
  if (loops * unit_elements > kInvocationIterationsMax) {
    return NotSupportedError("the window ({} by {} taps) is larger than a kernel loops over", rows,
                             columns);
  }

  // So few taps that a kernel of its own for the window, without a loop, is no
  // long one.
  constexpr uint64_t kConstantTapsMax = 16;
  const uint64_t taps = uint64_t{height.window} * width.window;
  const bool few_taps = taps <= kConstantTapsMax;
  const bool is_nchw = attributes.layout == InputOperandLayout::kNchw;
  const FoursOfWindows fours =
      few_taps && is_nchw ? FindFoursOfWindows(input.data_type(), height, width) : FoursOfWindows();
  Image strides = ReadImage(PackedStrides(input.shape()), attributes.layout);
  Image result_strides = ReadImage(PackedStrides(result.shape()), attributes.layout);
  StridedDimension batch{output.batch, {0, strides.batch, 0, result_strides.batch}};
  StridedDimension channel{output.channel, {0, strides.channel, 0, result_strides.channel}};
  StridedDimension pixel{output.row * output.column, {1, 0}};
  StridedDimension row{output.row, {1, 0, 0, result_strides.row}};
  StridedDimension four{DivideRoundingUp<uint32_t>(output.column, 4), {0, 0, 4, 4}};
  auto dimensions = fours.step != 0 ? Coalesce(std::array{batch, channel, row, four})
                    : is_nchw       ? Coalesce(std::array{batch, channel, pixel})
                                    : Coalesce(std::array{batch, pixel, channel});
  LoweredCall call;
  call.shader = PoolShader(input.data_type());
  call.specialization = {static_cast<uint32_t>(PoolOperationOf(node.kind)),
                         static_cast<uint32_t>(input.data_type()), RankConstant(dimensions),
                         columns < kLongLoopUnroll};
  call.specialization.push_back(few_taps ? height.window : 0);
  call.specialization.push_back(few_taps ? width.window : 0);
  call.specialization.push_back(QuadsLieInRows(dimensions, PerQuad(result.data_type())));
  call.specialization.insert(call.specialization.end(),
                             {fours.step, fours.lead, fours.all_inside, fours.stores_quads});
  call.buffers = {{node.operands[0], false}, {node.results[0], true}};
  call.parameters = {fours.step != 0 ? NarrowCast<uint32_t>(ElementsOf(dimensions)) : elements,
                     static_cast<uint32_t>(dimensions.size()), strides.row, strides.column};
  AppendDivisor(output.column, call.parameters);
  AppendAxis(height, call.parameters);
  AppendAxis(width, call.parameters);
  AppendDimensions(dimensions, call.parameters);
  call.invocations = fours.step != 0 ? call.parameters[0] : few_taps ? StoreQuads(result) : units;
  call.cost = elements * std::max({loops, rows * columns, taps});
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service
