#include "service/passes/lower_conv.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "service/passes/convolution.h"
#include "service/passes/depthwise_convolution.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_channels_first.h"
#include "service/passes/narrow_convolution.h"
#include "service/passes/shallow_convolution.h"
#include "service/passes/transposed_convolution.h"
#include "service/passes/window.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDescriptor;
using webidl::Shape;

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

// By conv2d.comp, which takes all of them.
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
  // With their ends.
  uint64_t loops = 1 + rows * (2 + columns * (2 + LoopsOver(convolution.input_channels)));
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
  call.buffers = ConvolutionBuffers(node);
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

// Of groups whose channels lie together, products and what comes behind them take single elements.
bool AreGroupsWorthTransposes(const Convolution& convolution, const Node& node,
                              const LoweringBuilder& builder) {
  constexpr uint64_t kResultsMin = 1 << 14;
  return !builder.wide() && convolution.groups > 1 &&
         convolution.layout == InputOperandLayout::kNhwc &&
         builder.descriptor(node.results[0]).element_count() >= kResultsMin;
}

// Its invocations do much one after the other, which GPUs take longer for than products that few
// steps fill badly.
bool TakesShallowKernel(const Convolution& convolution, const LoweringBuilder& builder) {
  return !builder.wide() && IsShallow(convolution);
}

}  // namespace

Result<std::optional<FilterProduct>> FindFilterProduct(const Node& node,
                                                       const LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(const Convolution convolution, MakeConvolution(node, builder));
  std::optional<FilterProduct> found;
  if (!convolution.transposed) {
    if (!TakesShallowKernel(convolution, builder) && !IsNarrow(convolution, node, builder)) {
      found = MakeWindowProduct(convolution, node, builder);
    }
    return found;
  }
  if (AreGroupsWorthTransposes(convolution, node, builder)) return found;
  if (auto columns = MakeColumnsProduct(convolution, node, builder)) {
    found = FilterProduct{std::move(columns->product), 0};
  }
  return found;
}

Status LowerConv2d(const Node& node, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(const Convolution convolution, MakeConvolution(node, builder));
  if (TakesShallowKernel(convolution, builder)) {
    AddShallowCall(convolution, node, builder);
    return {};
  }
  if (IsNarrow(convolution, node, builder)) return AddNarrowCalls(convolution, node, builder);
  if (auto found = MakeWindowProduct(convolution, node, builder)) {
    return AddWindowProductCalls(convolution, std::move(found->product), builder);
  }
  if (!IsDepthwise(convolution)) return AddConvolutionCall(convolution, node, builder);
  return AddDepthwiseCall(convolution, node, builder);
}

Status LowerConvTranspose2d(const Node& node, LoweringBuilder& builder) {
  ASSIGN_OR_RETURN(const Convolution convolution, MakeConvolution(node, builder));
  if (AreGroupsWorthTransposes(convolution, node, builder)) {
    return LowerChannelsFirst(node, LowerConvTranspose2d, builder);
  }
  if (auto columns = MakeColumnsProduct(convolution, node, builder)) {
    return AddColumnsCalls(convolution, std::move(*columns), node, builder);
  }
  return AddConvolutionCall(convolution, node, builder);
}

}  // namespace webnnd::service
