#include "service/passes/depthwise_convolution.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/checked_math.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDescriptor;

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

}  // namespace

bool IsDepthwise(const Convolution& convolution) {
  return convolution.input_channels == 1 && convolution.output_channels == 1 &&
         (convolution.layout == InputOperandLayout::kNchw || convolution.groups % 4 == 0);
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
  call.buffers = ConvolutionBuffers(node);
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

}  // namespace webnnd::service
