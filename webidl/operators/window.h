// Sliding windows over the two spatial dimensions: what convolution and pooling share.
#ifndef WEBNND_WEBIDL_OPERATORS_WINDOW_H_
#define WEBNND_WEBIDL_OPERATORS_WINDOW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "webidl/operators/common.h"

namespace webnnd::webidl {

// Where the dimensions of a 4-D image are.
struct ImageAxes {
  uint32_t channels;
  uint32_t height;
  uint32_t width;
};
ImageAxes GetImageAxes(InputOperandLayout layout);

// Padding, strides and dilations with the draft's defaults.
struct Window {
  std::array<uint32_t, 4> padding = {0, 0, 0, 0};  // Beginning and end of height, then of width.
  std::array<uint32_t, 2> strides = {1, 1};
  std::array<uint32_t, 2> dilations = {1, 1};
};

// Checks the sizes of the lists and that strides and dilations are not zero.
Result<Window> MakeWindow(const std::optional<std::vector<uint32_t>>& padding,
                          const std::optional<std::vector<uint32_t>>& strides,
                          const std::optional<std::vector<uint32_t>>& dilations);

// The product of two sizes, or 2^61 where it is larger: beyond any dimension, and a few of them can
// be added without overflow.
int64_t SaturatingProduct(int64_t a, int64_t b);

// (size - 1) * dilation + 1: what a filter spans; saturates.
int64_t EffectiveFilterSize(uint32_t size, uint32_t dilation);

// "calculate conv output size" along height (0) or width (1), rounded down and up; less than 1
// where the window does not fit.
struct WindowCount {
  int64_t floor;
  int64_t ceil;
};
WindowCount CountWindows(const Window& window, size_t spatial, uint32_t input_size,
                         uint32_t filter_size);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_OPERATORS_WINDOW_H_
