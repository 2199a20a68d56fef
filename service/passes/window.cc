#include "service/passes/window.h"

#include <algorithm>

#include "base/checked_math.h"
#include "service/passes/kernel_parameters.h"

namespace webnnd::service {

using webidl::InputOperandLayout;

Image ReadImage(const std::vector<uint32_t>& list, InputOperandLayout layout) {
  if (layout == InputOperandLayout::kNchw) return {list[0], list[1], list[2], list[3]};
  return {list[0], list[3], list[1], list[2]};
}

Axis MakeAxis(size_t spatial, const SpatialList& padding, const SpatialList& strides,
              const SpatialList& dilations) {
  Axis axis;
  if (padding) axis.padding = (*padding)[2 * spatial];
  if (strides) axis.stride = (*strides)[spatial];
  if (dilations) axis.dilation = (*dilations)[spatial];
  return axis;
}

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

void AppendAxis(const Axis& axis, std::vector<uint32_t>& parameters, uint32_t free_word) {
  parameters.insert(parameters.end(), {axis.input, axis.window, axis.padding, free_word});
  AppendDivisor(axis.dilation, parameters);
  AppendDivisor(axis.stride, parameters);
}

bool IsPointwise(const Axis& axis) {
  return axis.window == 1 && axis.padding == 0 && axis.output == axis.input;
}

uint64_t TapsMax(const Axis& axis, bool transposed) {
  uint64_t reach = transposed ? uint64_t{axis.input - 1} * axis.stride + 1 : axis.input;
  return std::min<uint64_t>(axis.window, DivideRoundingUp<uint64_t>(reach, axis.dilation));
}

uint64_t LoopsOver(uint64_t count) {
  return count < kLongLoopUnroll ? count : DivideRoundingUp<uint64_t>(count, kLongLoopUnroll);
}

RowByWords FindRowByWords(const Axis& height, const Axis& width, const RowKernel& kernel) {
  constexpr uint32_t kUnrolledMax = 32;
  constexpr uint64_t kLanesMin = 4;
  constexpr uint64_t kLanesMax = 16;
  if (width.stride > 2) return {};
  RowByWords row{.step = width.stride};
  row.taps_unrolled = width.window <= kUnrolledMax ? width.window : 0;
  const uint64_t loops_of_row = row.taps_unrolled != 0 ? 0 : uint64_t{width.window} + 1;
  // Each stretch may have a loop of its own over whole ones behind it. Loops' ends count, too.
  const uint64_t rows_of_taps = TapsMax(height, /*transposed=*/false);
  const uint64_t turns = 3 + kernel.repeats * (2 + rows_of_taps * (1 + loops_of_row));
  // Stretches of some vectors, up to two of one, and those that may be before the tensor.
  const uint64_t before = std::min(width.output, DivideRoundingUp(width.padding, width.stride));
  const auto stretches = [&](uint64_t lanes) {
    return width.output / (kernel.vectors * lanes) + 3 + DivideRoundingUp(before, lanes);
  };
  if (1 + stretches(kLanesMin) * turns > kInvocationIterationsMax) return {};
  row.lane_turns = kLanesMax + (width.output / kernel.vectors + before + 4 * kLanesMax) * turns;
  return row;
}

}  // namespace webnnd::service
