#include "service/passes/narrow_convolution.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/checked_math.h"
#include "service/passes/depthwise_convolution.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"
#include "service/passes/lower_channels_first.h"
#include "service/passes/lower_conv.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDataType;
using webidl::OperandDescriptor;

// What one kernel takes: OUTPUTS and VECTORS of shaders/table.txt.
struct NarrowKernel {
  ShaderId shader;
  uint32_t outputs;
  uint32_t vectors;
};
constexpr NarrowKernel kFew = {ShaderId::kNarrowConv2dFew, 4, 4};
constexpr NarrowKernel kMore = {ShaderId::kNarrowConv2dMore, 8, 2};
const NarrowKernel& KernelFor(const Convolution& convolution) {
  return convolution.output_channels <= kFew.outputs ? kFew : kMore;
}

// A convolution and how its image lies: pixels that follow each other as one row, where windows are
// single ones, or images have one column.
struct Lines {
  Convolution convolution;
  Image strides;
};
Lines LayInLines(const Convolution& convolution, const OperandDescriptor& input) {
  Lines lines = {convolution, ReadImage(PackedStrides(input.shape()), convolution.layout)};
  Axis& height = lines.convolution.height;
  Axis& width = lines.convolution.width;
  if (IsOneColumn(convolution)) {
    lines.convolution = AsOneRow(convolution);
  } else if (IsPointwise(height) && IsPointwise(width)) {
    width.input = width.output = height.input * width.input;
    height.input = height.output = 1;
  } else {
    return lines;
  }
  lines.strides.row = lines.strides.channel;
  return lines;
}

// What is added without a loop, and how often.
struct Steps {
  uint32_t unrolled = 0;  // Or 0.
  uint32_t channels = 0;
  uint32_t channels_together = 1;
  uint32_t image = 0;  // Words from step to step.
  uint32_t filter = 0;
  uint32_t columns = 0;
};
Steps FindSteps(const Convolution& convolution, const Image& strides) {
  constexpr uint32_t kUnrolledMax = 32;
  constexpr uint32_t kChannelsMax = 16;
  const Axis& width = convolution.width;
  const uint32_t channels = convolution.input_channels;
  if (width.window > 1) {
    return {.unrolled = width.window <= kUnrolledMax ? width.window : 0,
            .channels = channels,
            .image = width.dilation,
            .filter = convolution.filter_column,
            .columns = width.dilation};
  }
  uint32_t together = std::min(channels, kChannelsMax);
  while (channels % together != 0) --together;
  return {.unrolled = together,
          .channels = channels / together,
          .channels_together = together,
          .image = strides.channel,
          .filter = convolution.filter_input};
}

// How it goes along rows, in nchw; of step 0 where it does not.
RowByWords FindWords(const Lines& lines) {
  const Steps steps = FindSteps(lines.convolution, lines.strides);
  return FindRowByWords(
      lines.convolution.height, lines.convolution.width,
      {.repeats = steps.channels, .vectors = KernelFor(lines.convolution).vectors});
}

void AddNarrowCall(const Convolution& as_it_is, const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const auto [convolution, strides] = LayInLines(as_it_is, input);
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  const Steps steps = FindSteps(convolution, strides);
  const RowByWords row = FindWords({convolution, strides});
  const NarrowKernel& kernel = KernelFor(convolution);
  const uint32_t batch = ReadImage(result.shape(), convolution.layout).batch;
  const uint64_t lines = uint64_t{batch} * convolution.groups * height.output;
  const std::optional<Activation> activation = ActivationOf(node);

  LoweredCall call;
  call.shader = kernel.shader;
  call.specialization = {convolution.output_channels,
                         node.operands[2] != kNoValue,
                         ResidualOf(node) != kNoValue,
                         ActivationConstant(activation),
                         row.step,
                         steps.unrolled,
                         static_cast<uint32_t>(input.data_type())};
  call.buffers = ConvolutionBuffers(node);
  call.parameters = {NarrowCast<uint32_t>(lines), width.output, steps.channels, steps.columns};
  AppendDivisor(height.output, call.parameters, steps.image);
  AppendDivisor(convolution.groups, call.parameters, steps.filter);
  call.parameters.insert(
      call.parameters.end(),
      {strides.batch, convolution.input_channels * strides.channel,
       steps.channels_together * strides.channel, height.dilation * strides.row,
       convolution.filter_group, convolution.filter_output,
       steps.channels_together * convolution.filter_input, convolution.filter_row});
  AppendAxis(height, call.parameters, strides.row);
  AppendAxis(width, call.parameters);
  AppendActivation(activation, call.parameters);
  call.workgroups = lines;
  const uint64_t taps = TapsMax(height, /*transposed=*/false) * width.window;
  call.cost_per_turn = 4;
  call.cost = std::max(result.element_count() * convolution.input_channels * taps,
                       call.cost_per_turn * lines * row.lane_turns);
  builder.AddCall(std::move(call));
}

// Elements of images from which on transposes there and back pay.
constexpr uint64_t kTransposedMin = 1 << 13;

// Whether a product takes less time, of one group: it has no transposes around it, and its rows are
// as long as it likes.
bool IsProductFaster(const Convolution& convolution) {
  const uint32_t channels = convolution.output_channels;
  const bool is_pointwise = IsPointwise(convolution.height) && IsPointwise(convolution.width);
  if (convolution.layout == InputOperandLayout::kNchw) {
    constexpr uint32_t kColumnsMin = 12;
    return channels > kFew.outputs && convolution.width.output < kColumnsMin && !is_pointwise;
  }
  constexpr uint64_t kPixelsMin = 1024;
  constexpr uint32_t kDepthOfColumnMin = 32;
  if (!is_pointwise) {
    return uint64_t{convolution.height.output} * convolution.width.output < kPixelsMin;
  }
  return channels == 1 ? convolution.input_channels >= kDepthOfColumnMin
                       : channels == kMore.outputs;
}

}  // namespace

bool IsNarrow(const Convolution& convolution, const Node& node, const LoweringBuilder& builder) {
  if (builder.wide() || convolution.transposed || convolution.output_channels > kMore.outputs) {
    return false;
  }
  if (IsDepthwise(convolution)) {
    if (convolution.layout == InputOperandLayout::kNhwc ||
        HasDepthwiseKernel(convolution, node, builder)) {
      return false;
    }
  } else if (convolution.groups == 1 && IsProductFaster(convolution)) {
    return false;
  }
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const uint64_t elements =
      input.element_count() + builder.descriptor(node.results[0]).element_count();
  if (convolution.layout == InputOperandLayout::kNhwc && elements < kTransposedMin) return false;
  return FindWords(LayInLines(convolution, input)).step != 0;
}

Status AddNarrowCalls(const Convolution& convolution, const Node& node, LoweringBuilder& builder) {
  if (convolution.layout == InputOperandLayout::kNhwc) {
    return LowerChannelsFirst(node, LowerConv2d, builder);
  }
  AddNarrowCall(convolution, node, builder);
  return {};
}

}  // namespace webnnd::service
