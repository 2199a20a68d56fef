#include "service/passes/depthwise_convolution.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
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

// What an invocation of a kernel for depthwise convolutions computes: ROWS of shaders/table.txt by
// so many fours of columns at most or, where channels come last, columns of four channels. Or,
// where it goes down, so many rows at most of one four of columns.
struct DepthwiseBlock {
  ShaderId shader;
  uint32_t rows = 1;
  uint32_t steps_max = 1;
  bool goes_down = false;
  bool is_flat = false;  // Quads of the result, whatever rows they are in.
  // Whether it goes by lines on llvmpipe (depthwise_lines.glsl), and then may be dilated.
  bool has_lines = false;
  bool may_be_dilated = false;
};

// Of kernels that go along rows, or down: few enough for many invocations, and for none to loop too
// long.
constexpr uint32_t kStepsMax = 64;

// Whether the result is as large as the image, both ways, and consists of whole quads.
bool LiesAsTheImage(const Convolution& convolution, uint64_t results) {
  constexpr uint32_t kColumnsMin = 4;  // A quad is in two rows at most.
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  return width.input == width.output && height.input == height.output &&
         width.input >= kColumnsMin && results % 4 == 0;
}

// Where in a four a window's first column lies whose result is the first of four.
uint32_t LeadOf(const Axis& width) { return (4 - width.padding % 4) % 4; }

// How far the last window reaches beyond the image.
uint64_t PaddingBehind(const Axis& width) {
  const uint64_t window = uint64_t{width.window - 1} * width.dilation + 1;
  const uint64_t end = uint64_t{width.output - 1} * width.stride + window;
  const uint64_t image_end = width.padding + uint64_t{width.input};
  return end - std::min(end, image_end);
}

// A bit for each tap of a row that is left of the image for some result, and from bit 8 on one for
// each that is right of it.
uint32_t TapsOutside(const Axis& width) {
  uint32_t outside = 0;
  const uint64_t behind = PaddingBehind(width);
  for (uint32_t tap = 0; tap < width.window; ++tap) {
    const uint64_t before_last = uint64_t{width.window - 1 - tap} * width.dilation;
    outside |= uint32_t{uint64_t{tap} * width.dilation < width.padding} << tap;
    outside |= uint32_t{before_last < behind} << (8 + tap);
  }
  return outside;
}

// Blocks of 16 columns of the result that go down the image side by side (depthwise_lines.glsl).
uint32_t BlocksSideBySide(const Axis& width) {
  constexpr uint32_t kLanes = 16;
  constexpr uint32_t kBlocksMax = 4;
  // What is outside is seen by no more columns than the shortest block has.
  constexpr uint32_t kLanesMin = 4;
  const bool is_dilated = width.dilation > 1;
  const uint32_t before_max = is_dilated ? kLanesMin : std::min(width.window - 1, kLanesMin);
  const uint32_t behind_max = is_dilated ? kLanesMin : width.window / 2;
  if (width.padding > before_max || PaddingBehind(width) > behind_max) return 1;
  const uint32_t blocks = DivideRoundingUp(width.output, kLanes);
  return DivideRoundingUp(blocks, DivideRoundingUp(blocks, kBlocksMax));
}

// Columns of a unit by channels, where `bytes` are read and written (depthwise_channels.glsl). What
// a second cache holds comes from it in any order; beyond that, processors see lines coming whose
// pages are not more than they keep an eye on.
uint32_t ColumnsOfUnit(const Image& output, uint64_t bytes) {
  constexpr uint64_t kCachesBytes = uint64_t{4} << 20;
  constexpr uint32_t kLineElements = 5376;
  constexpr uint32_t kColumnsMin = 14;
  if (bytes <= kCachesBytes) return kStepsMax;
  return std::clamp(kLineElements / output.channel, kColumnsMin, kStepsMax);
}

// Turns of all lanes together, at most, for a channel of `rows` of `columns`
// (depthwise_lines.glsl): subgroups have 16 lanes at most and take as many columns of 64 rows, two
// lines a turn (but for a few before the tensor), or a line of two blocks of columns and more,
// beside a turn for these and one for the channel.
uint64_t LaneTurns(uint32_t columns, uint32_t rows, uint32_t taps, uint32_t step) {
  constexpr uint32_t kLanesMax = 16;
  constexpr uint32_t kRowsMax = 64;
  const uint64_t lines = uint64_t{step} * (std::min(rows, kRowsMax) - 1) + taps;
  const uint64_t turns = 2 + DivideRoundingUp<uint64_t>(lines, 2);
  return DivideRoundingUp(rows, kRowsMax) * (columns + uint64_t{kLanesMax} - 1) * turns;
}

// What a kernel takes at once of an axis (shaders/depthwise_any_window.glsl).
struct ResultsAtOnce {
  uint32_t count = 1;
  uint32_t apart = 1;       // From one of them to the next.
  uint32_t taps_apart = 1;  // The same in steps from tap to tap.
};
ResultsAtOnce MeetingTaps(const Axis& axis) {
  const uint32_t common = std::gcd(axis.stride, axis.dilation);
  return {.apart = axis.dilation / common, .taps_apart = axis.stride / common};
}

// How any window goes by channels.
struct ByChannels {
  ResultsAtOnce rows;
  ResultsAtOnce columns;
  uint32_t part_turns = 0;  // Of a part of a row.
  uint64_t units = 0;       // Of work, of an image, at most.
  uint64_t lane_turns = 0;  // Iterations for an image, by all lanes together at most.
};
// For a device that is not wide; none where there are too few channels for a subgroup.
std::optional<ByChannels> FindByChannels(const Convolution& convolution) {
  constexpr uint32_t kLanesMax = 16;
  constexpr uint32_t kColumnsMax = 8;
  constexpr uint32_t kTapsMax = 32;
  constexpr uint32_t kTapsApartMax = 4;
  // Of more, registers do not hold what two rows need.
  constexpr uint32_t kTapsOfTwoRowsMax = 9;
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  ByChannels by{MeetingTaps(height), MeetingTaps(width)};
  const uint32_t channels = convolution.groups;
  if (channels < kLanesMax || width.window > kTapsMax || by.columns.taps_apart > kTapsApartMax) {
    return std::nullopt;
  }
  if (by.rows.taps_apart < height.window && by.rows.apart < height.output &&
      width.window <= kTapsOfTwoRowsMax) {
    by.rows.count = 2;
  } else {
    by.rows = {};
  }
  // Turns as long as each other.
  const uint32_t length = DivideRoundingUp(width.output, by.columns.apart);
  const uint32_t turns = DivideRoundingUp(length, kColumnsMax);
  by.columns.count = DivideRoundingUp(length, turns);
  // What is seen by a part comes back for other channels while a second cache has it.
  constexpr uint64_t kPartBytes = uint64_t{256} << 10;
  constexpr uint32_t kPartTurnsMin = 4;
  const uint32_t rows_met = (by.rows.count - 1) * by.rows.taps_apart;
  const uint64_t lines = TapsMax(height, /*transposed=*/false) + rows_met;
  const uint64_t turn_columns = uint64_t{by.columns.count} * by.columns.apart;
  const uint64_t turn_bytes =
      (lines + by.rows.count) * turn_columns * width.stride * channels * sizeof(float);
  by.part_turns = static_cast<uint32_t>(
      std::clamp<uint64_t>(kPartBytes / turn_bytes, std::min(kPartTurnsMin, turns), turns));
  constexpr uint64_t kLoopsOverLines = 3;
  const uint64_t starts = std::min(by.columns.apart, width.output);
  // Loops' ends count, too: of one over whole turns behind each, over columns, and over starts.
  const uint64_t unit_turns = 2 + starts * (2 + by.part_turns * (2 + kLoopsOverLines + lines));
  if (unit_turns > kInvocationIterationsMax) return std::nullopt;
  const uint64_t down =
      DivideRoundingUp(height.output, by.rows.count * by.rows.apart) * uint64_t{by.rows.apart};
  const uint64_t parts = DivideRoundingUp<uint64_t>(width.output, by.part_turns * turn_columns);
  constexpr uint32_t kLanesMin = 4;
  by.units = DivideRoundingUp<uint64_t>(channels, kLanesMin) * down * parts;
  by.lane_turns = (channels + uint64_t{kLanesMax} - 1) * down * parts * unit_turns;
  return by;
}

// By lines on llvmpipe: windows that others have no kernel for.
std::optional<DepthwiseBlock> FindDepthwiseLines(const Convolution& convolution) {
  constexpr uint32_t kDilationMax = 16;
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  const uint32_t taps = width.window;
  const bool is_dilated = height.dilation > 1 || width.dilation > 1;
  if (height.window != taps || height.stride != 1 || width.stride != 1 ||
      height.dilation > kDilationMax || width.dilation > kDilationMax) {
    return std::nullopt;
  }
  DepthwiseBlock block{.has_lines = true, .may_be_dilated = true};
  if (taps == 7) {
    block.shader = ShaderId::kDepthwiseBlock7;
  } else if (is_dilated && (taps == 3 || taps == 5)) {
    block.shader = taps == 3 ? ShaderId::kDepthwiseBlock3 : ShaderId::kDepthwiseBlock5;
    block.rows = 7;
  } else {
    return std::nullopt;
  }
  return block;
}

// Where it `goes_by_lines`, it is for llvmpipe.
DepthwiseBlock FindDepthwiseBlock(const Convolution& convolution, uint64_t results,
                                  bool goes_by_lines) {
  constexpr DepthwiseBlock kOther = {ShaderId::kDepthwiseConv2d};
  if (goes_by_lines && convolution.layout == InputOperandLayout::kNchw) {
    if (const auto lines = FindDepthwiseLines(convolution)) return *lines;
  }
  const Axis& height = convolution.height;
  const Axis& width = convolution.width;
  const uint32_t taps = width.window;
  if (height.window != taps || (taps != 3 && taps != 5) || height.dilation != 1 ||
      width.dilation != 1) {
    return kOther;
  }
  // A window that does not move along an axis may have any step there (NormalizeAxis).
  const uint32_t step = std::max(height.stride, width.stride);
  if (step > 2 || (height.stride != step && height.output != 1) ||
      (width.stride != step && width.output != 1)) {
    return kOther;
  }
  const bool by_one = step == 1;
  if (convolution.layout == InputOperandLayout::kNhwc) {
    if (taps == 5) return kOther;
    return {by_one ? ShaderId::kDepthwisePixels3 : ShaderId::kDepthwisePixels3Step2, 4, kStepsMax};
  }
  if (taps == 3 && width.input % 4 == 0 && width.output % 4 == 0) {
    if (by_one) {
      return {.shader = ShaderId::kDepthwiseColumns3,
              .rows = kStepsMax,
              .goes_down = true,
              .has_lines = true};
    }
    return {.shader = ShaderId::kDepthwiseRows3Step2,
            .rows = 4,
            .steps_max = kStepsMax,
            .has_lines = true};
  }
  if (by_one && LiesAsTheImage(convolution, results)) {
    return {.shader = taps == 5 ? ShaderId::kDepthwiseFlat5 : ShaderId::kDepthwiseFlat3,
            .is_flat = true,
            .has_lines = true};
  }
  const ShaderId by_two =
      taps == 5 ? ShaderId::kDepthwiseBlock5Step2 : ShaderId::kDepthwiseBlock3Step2;
  const ShaderId by_one_block = taps == 5 ? ShaderId::kDepthwiseBlock5 : ShaderId::kDepthwiseBlock3;
  return {.shader = by_one ? by_one_block : by_two,
          .rows = 7,
          .has_lines = true,
          .may_be_dilated = true};
}

}  // namespace

bool IsDepthwise(const Convolution& convolution) {
  return convolution.input_channels == 1 && convolution.output_channels == 1 &&
         (convolution.layout == InputOperandLayout::kNchw || convolution.groups % 4 == 0);
}

bool HasDepthwiseKernel(const Convolution& convolution, const Node& node,
                        const LoweringBuilder& builder) {
  const uint64_t results = builder.descriptor(node.results[0]).element_count();
  const Convolution laid = IsOneColumn(convolution) ? AsOneRow(convolution) : convolution;
  return FindDepthwiseBlock(laid, results, /*goes_by_lines=*/!builder.wide()).shader !=
         ShaderId::kDepthwiseConv2d;
}

Status AddDepthwiseCall(const Convolution& as_it_is, const Node& node, LoweringBuilder& builder) {
  const OperandDescriptor& input = builder.descriptor(node.operands[0]);
  const OperandDescriptor& result = builder.descriptor(node.results[0]);
  Image output = ReadImage(result.shape(), as_it_is.layout);
  Image strides = ReadImage(PackedStrides(input.shape()), as_it_is.layout);
  Convolution convolution = as_it_is;
  if (IsOneColumn(convolution)) {
    convolution = AsOneRow(convolution);
    std::swap(output.row, output.column);
    strides.column = strides.row;
    strides.row *= convolution.width.input;
  }
  const bool has_bias = node.operands[2] != kNoValue;
  const ValueId residual = ResidualOf(node);
  const std::optional<Activation> activation = ActivationOf(node);
  const bool channels_last = convolution.layout == InputOperandLayout::kNhwc;
  const uint64_t rows = TapsMax(convolution.height, /*transposed=*/false);
  const uint64_t columns = convolution.width.window;
  const uint64_t loops = 1 + rows * (2 + columns);
  const uint32_t line = channels_last ? output.channel : output.column;
  const uint32_t fours = DivideRoundingUp<uint32_t>(line, 4);
  DepthwiseBlock block =
      FindDepthwiseBlock(convolution, result.element_count(), /*goes_by_lines=*/!builder.wide());
  if (builder.wide()) {
    // More invocations are worth more than what each of them spares.
    constexpr uint32_t kWideRowsMax = 8;
    constexpr uint32_t kWideStepsMax = 2;
    block.rows = std::min(block.rows, kWideRowsMax);
    block.steps_max = std::min(block.steps_max, kWideStepsMax);
  }
  if (block.goes_down) {  // Units of one size, but for the last one.
    block.rows = DivideRoundingUp(output.row, DivideRoundingUp(output.row, block.rows));
  }
  const bool by_pixels = channels_last && block.steps_max > 1;
  // Where they are enough for a subgroup of llvmpipe's (depthwise_channels.glsl).
  constexpr uint32_t kLanesMax = 16;
  const bool by_channels = by_pixels && line >= kLanesMax;
  if (by_channels && !builder.wide()) {
    block.steps_max = ColumnsOfUnit(output, input.byte_length() + result.byte_length());
  }
  // Units down the image and across, and steps of one of those.
  const uint32_t down = DivideRoundingUp<uint32_t>(output.row, block.rows);
  const uint32_t steps = channels_last ? output.column : fours;
  const uint32_t across = block.is_flat ? output.column : DivideRoundingUp(steps, block.steps_max);
  const uint32_t unit_steps = DivideRoundingUp(steps, across);
  const uint64_t units = block.is_flat ? result.element_count() / 4
                                       : uint64_t{output.batch} * down * across *
                                             (channels_last ? fours : output.channel);

  const uint32_t taps_of_row = convolution.width.window;
  const bool taps_together = convolution.filter_column == 1 &&
                             convolution.filter_row == taps_of_row &&
                             convolution.filter_group == taps_of_row * convolution.height.window;

  LoweredCall call;
  call.shader = block.shader;
  // Taps lie a multiple of four apart where channels are what lies together.
  call.specialization = {static_cast<uint32_t>(input.data_type()),
                         channels_last,
                         has_bias,
                         line % 4 == 0 || block.is_flat,
                         channels_last ? convolution.filter_group == 1 : taps_together,
                         residual != kNoValue,
                         ActivationConstant(activation)};
  if (block.goes_down || (!channels_last && block.steps_max > 1)) {
    call.specialization.push_back(LeadOf(convolution.width));
  }
  if (block.is_flat) call.specialization.push_back(line * output.row % 4 != 0);
  if (block.has_lines) {
    call.specialization.push_back(TapsOutside(convolution.width));
    call.specialization.push_back(BlocksSideBySide(convolution.width));
  }
  if (block.may_be_dilated) {
    call.specialization.push_back(convolution.width.dilation);
    call.specialization.push_back(convolution.height.dilation);
  }
  if (by_pixels) {
    call.specialization.push_back(by_channels);
    call.specialization.push_back(output.row % block.rows == 0);
    // Of as many channels as a subgroup has lanes, whose columns take turns.
    const uint32_t groups = line % (2 * kLanesMax) == 0 ? 2 : 1;
    call.specialization.push_back(groups);
  }
  std::optional<ByChannels> any_by_channels;
  if (call.shader == ShaderId::kDepthwiseConv2d) {
    if (channels_last && !builder.wide()) any_by_channels = FindByChannels(convolution);
    if (!any_by_channels && loops > kInvocationIterationsMax) {
      return NotSupportedError("the filter ({} by {} taps) is larger than a kernel loops over",
                               rows, columns);
    }
    const ByChannels by = any_by_channels.value_or(ByChannels{.columns = {.count = 0}});
    call.specialization.insert(call.specialization.end(), {taps_of_row, by.columns.count,
                                                           by.columns.taps_apart, by.rows.count});
  }
  call.buffers = ConvolutionBuffers(node);
  // The kernel deals out the fours of a band by itself.
  const uint64_t bands = uint64_t{output.batch} * down * output.channel;
  call.parameters = {NarrowCast<uint32_t>(block.goes_down ? bands : units), line, output.row,
                     NarrowCast<uint32_t>(input.element_count() - 1) / 4};
  if (channels_last) {
    AppendDivisor(fours, call.parameters, any_by_channels ? any_by_channels->part_turns : 0);
  }
  AppendDivisor(across, call.parameters,
                any_by_channels ? any_by_channels->rows.apart : unit_steps);
  const uint32_t columns_apart = any_by_channels ? any_by_channels->columns.apart : 0;
  AppendDivisor(down, call.parameters, block.goes_down ? block.rows : columns_apart);
  if (!channels_last) AppendDivisor(output.channel, call.parameters);
  call.parameters.insert(
      call.parameters.end(),
      {strides.batch, strides.channel, strides.row, strides.column, convolution.filter_group,
       convolution.filter_row, convolution.filter_column, output.column});
  AppendAxis(convolution.height, call.parameters);
  AppendAxis(convolution.width, call.parameters);
  AppendActivation(activation, call.parameters);
  // Of a band, about as many as there are lanes for its fours.
  call.invocations = block.goes_down ? bands * std::bit_ceil(fours) : units;
  const uint64_t results = uint64_t{4} * block.rows * unit_steps;
  call.cost = units * std::max(loops, results * rows * columns);
  if (any_by_channels) {
    call.workgroups = output.batch * any_by_channels->units;
    call.cost_per_turn = 4;
    const uint64_t turns = output.batch * any_by_channels->lane_turns;
    call.cost = std::max(call.cost, call.cost_per_turn * turns);
  } else if (block.has_lines) {
    call.cost_per_turn = 4;
    // Of narrow rows, and of few, turns do less than that.
    const uint64_t planes = uint64_t{output.batch} * output.channel;
    const uint32_t step = std::max(convolution.height.stride, convolution.width.stride);
    const uint32_t interleaved = convolution.height.dilation;
    const uint32_t rows_of_each = DivideRoundingUp(output.row, interleaved);
    const uint64_t turns = planes * interleaved * LaneTurns(line, rows_of_each, taps_of_row, step);
    call.cost = std::max(call.cost, call.cost_per_turn * turns);
  } else if (block.goes_down) {
    call.cost_per_turn = 4;
  } else if (block.steps_max > 1) {
    // Of single channels (depthwise_channels.glsl), or of four.
    call.cost_per_turn = (by_channels ? 1 : 4) * block.rows;
  }
  builder.AddCall(std::move(call));
  return {};
}

}  // namespace webnnd::service
