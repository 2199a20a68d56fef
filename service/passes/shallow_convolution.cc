#include "service/passes/shallow_convolution.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "service/passes/epilogue.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {
namespace {

using shaders::ShaderId;
using webidl::InputOperandLayout;
using webidl::OperandDescriptor;

// ROWS of shaders/table.txt.
constexpr uint32_t kRows = 2;
// kRunMax of shaders/shallow_conv2d.comp.
constexpr uint64_t kShallowRunMax = 36;

// Steps of a sum. Axes and channels may be as long as they like.
uint64_t StepsOf(const Convolution& convolution) {
  constexpr uint64_t kMany = 1 << 20;
  return std::min<uint64_t>(convolution.input_channels, kMany) *
         std::min<uint64_t>(convolution.height.window, kMany) *
         std::min<uint64_t>(convolution.width.window, kMany);
}

// The filter's steps of one channel lie one after the other, or four channels of one step do.
bool StepsLieTogether(const Convolution& convolution) {
  return convolution.filter_output == StepsOf(convolution);
}

// From step to step, in the filter's order.
uint32_t StepStride(const Convolution& convolution) {
  return std::min(convolution.filter_input, convolution.filter_column);
}

}  // namespace

bool IsShallow(const Convolution& convolution) {
  // What one invocation's code may unroll, and what it may keep of the image.
  constexpr uint64_t kStepsMin = 8;
  constexpr uint64_t kStepsMax = 36;
  constexpr uint64_t kPixelsMax = 192;
  constexpr uint32_t kStrideMax = 2;
  // Fewer leave most of a subgroup idle.
  constexpr uint64_t kResultsMin = 64;
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  const bool channels_last = convolution.layout == InputOperandLayout::kNhwc;
  const uint64_t steps = StepsOf(convolution);
  if (steps < kStepsMin || steps > kStepsMax || convolution.output_channels % 4 != 0 ||
      (!channels_last && width.output % 4 != 0) || height.dilation != 1 || width.dilation != 1 ||
      height.stride > kStrideMax || width.stride > kStrideMax ||
      (channels_last && convolution.groups != 1) ||
      uint64_t{height.output} * width.output < kResultsMin) {
    return false;
  }
  const uint64_t length = 3 * width.stride + width.window;
  const uint64_t lines = (kRows - 1) * height.stride + height.window;
  const uint64_t run = channels_last ? length * convolution.input_channels : length;
  return run <= kShallowRunMax && lines * length * convolution.input_channels <= kPixelsMax &&
         (StepsLieTogether(convolution) || convolution.filter_output == 1);
}

void AddShallowCall(const Convolution& convolution, const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  const Image output = ReadImage(result.shape(), convolution.layout);
  const Image strides = ReadImage(PackedStrides(input.shape()), convolution.layout);
  const bool has_bias = node.operands[2] != kNoValue;
  const ValueId residual = ResidualOf(node);
  const std::optional<Activation> activation = ActivationOf(node);
  const bool channels_last = convolution.layout == InputOperandLayout::kNhwc;
  const bool by_channel = StepsLieTogether(convolution);
  const auto steps = NarrowCast<uint32_t>(StepsOf(convolution));
  const uint32_t fours = DivideRoundingUp<uint32_t>(output.column, 4);
  const uint32_t blocks = DivideRoundingUp<uint32_t>(output.row, kRows);
  // Of a group.
  const uint64_t units = uint64_t{output.batch} * blocks * fours;

  LoweredCall call;
  call.shader = ShaderId::kShallowConv2d;
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         channels_last,
                         has_bias,
                         /*is_aligned=*/1,
                         !by_channel,
                         residual != kNoValue,
                         ActivationConstant(activation),
                         convolution.input_channels,
                         convolution.height.window,
                         convolution.width.window,
                         convolution.height.stride,
                         convolution.width.stride,
                         convolution.filter_input <= convolution.filter_column};
  call.buffers = ConvolutionBuffers(node);
  call.parameters = {NarrowCast<uint32_t>(units), output.column, output.row,
                     NarrowCast<uint32_t>(input.element_count() - 1) / 4};
  AppendDivisor(fours, call.parameters);
  AppendDivisor(blocks, call.parameters);
  call.parameters.insert(call.parameters.end(), {convolution.groups, 0, 0, 0});
  call.parameters.insert(
      call.parameters.end(),
      {strides.batch, strides.channel, strides.row, strides.column, convolution.filter_group / 4,
       by_channel ? 1 : StepStride(convolution) / 4, by_channel ? steps : 1,
       convolution.output_channels});
  AppendAxis(convolution.height, call.parameters);
  AppendAxis(convolution.width, call.parameters);
  AppendActivation(activation, call.parameters);
  call.invocations = convolution.groups * units;
  call.cost = call.invocations * kRows * 4 * convolution.output_channels * steps;
  call.cost_per_turn = 8;
  builder.AddCall(std::move(call));
}

}  // namespace webnnd::service
