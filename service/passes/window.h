// Windows that slide over images: what convolutions and pooling have in common.
#ifndef WEBNND_SERVICE_PASSES_WINDOW_H_
#define WEBNND_SERVICE_PASSES_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "webidl/generated/types.h"

namespace webnnd::service {

// An image's sizes, or its strides in elements, by meaning.
struct Image {
  uint32_t batch;
  uint32_t channel;
  uint32_t row;
  uint32_t column;
};

Image ReadImage(const std::vector<uint32_t>& list, webidl::InputOperandLayout layout);

// One spatial dimension: what window.glsl reads.
struct Axis {
  uint32_t input = 1;
  uint32_t window = 1;
  uint32_t output = 1;
  uint32_t padding = 0;  // Before the image; what is behind shows in the size of the output.
  uint32_t dilation = 1;
  uint32_t stride = 1;
};

// An attribute for both spatial dimensions, as MLConv2dOptions has them.
using SpatialList = std::optional<std::vector<uint32_t>>;

// Along height (0) or width (1).
Axis MakeAxis(size_t spatial, const SpatialList& padding, const SpatialList& strides,
              const SpatialList& dilations);
// Checks that positions, counted from the start of the padding, are below 2^31, as Divide of
// shaders/tensor.glsl needs. `moves` positions of the window are stride apart.
Status NormalizeAxis(Axis& axis, uint32_t moves);
// As shaders/window.glsl reads it, which leaves one word free.
void AppendAxis(const Axis& axis, std::vector<uint32_t>& parameters, uint32_t free_word = 0);

// Whether windows are single elements, each with a result.
bool IsPointwise(const Axis& axis);
// Taps that may lie within the image at once.
uint64_t TapsMax(const Axis& axis, bool transposed);
// Iterations over `count` things by a plain loop where they are few, else by LONG_LOOP.
uint64_t LoopsOver(uint64_t count);

// How kernels that slide windows over rows, with a column for each lane, do so
// (shaders/column_windows.glsl).
struct RowByWords {
  uint32_t step = 0;           // Of windows, 1 or 2; 0: they do not.
  uint32_t taps_unrolled = 0;  // All of a row, or 0.
  uint64_t lane_turns = 0;     // Iterations for a row of the result, by all lanes together at most.
};
struct RowKernel {
  uint32_t repeats = 1;  // Of a loop over rows of taps, for a stretch.
  uint32_t vectors = 4;  // kVectorsAtOnce.
};
// For a device that is not wide, and elements of 32 bits; none where rows are too long for a
// kernel.
RowByWords FindRowByWords(const Axis& height, const Axis& width, const RowKernel& kernel);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_WINDOW_H_
