#include "webidl/operators/window.h"

#include <algorithm>
#include <string_view>

#include "base/checked_math.h"

namespace webnnd::webidl {

namespace {

template <size_t N>
Status CopyList(std::string_view name, const std::optional<std::vector<uint32_t>>& list,
                std::array<uint32_t, N>& out) {
  if (!list) return {};
  TRY(CheckListSize(name, list->size(), N));
  std::copy(list->begin(), list->end(), out.begin());
  return {};
}

}  // namespace

ImageAxes GetImageAxes(InputOperandLayout layout) {
  switch (layout) {
    case InputOperandLayout::kNchw:
      return {.channels = 1, .height = 2, .width = 3};
    case InputOperandLayout::kNhwc:
      return {.channels = 3, .height = 1, .width = 2};
  }
  UNREACHABLE();
}

Result<Window> MakeWindow(const std::optional<std::vector<uint32_t>>& padding,
                          const std::optional<std::vector<uint32_t>>& strides,
                          const std::optional<std::vector<uint32_t>>& dilations) {
  Window window;
  TRY(CopyList("padding", padding, window.padding));
  TRY(CopyList("strides", strides, window.strides));
  TRY(CheckNoZero("strides", window.strides));
  TRY(CopyList("dilations", dilations, window.dilations));
  TRY(CheckNoZero("dilations", window.dilations));
  return window;
}

int64_t SaturatingProduct(int64_t a, int64_t b) {
  constexpr int64_t kMax = int64_t{1} << 61;
  return std::min(CheckedMul<int64_t>(a, b).value_or(kMax), kMax);
}

int64_t EffectiveFilterSize(uint32_t size, uint32_t dilation) {
  return SaturatingProduct(int64_t{size} - 1, dilation) + 1;
}

WindowCount CountWindows(const Window& window, size_t spatial, uint32_t input_size,
                         uint32_t filter_size) {
  const int64_t filter = EffectiveFilterSize(filter_size, window.dilations[spatial]);
  // Three terms of 32 bits less one of 62: this cannot overflow.
  const int64_t slack =
      int64_t{input_size} + window.padding[2 * spatial] + window.padding[2 * spatial + 1] - filter;
  const int64_t stride = window.strides[spatial];
  // Division rounds towards zero: up where slack is negative, else down.
  const int64_t quotient = slack / stride;
  const bool exact = slack % stride == 0;
  return WindowCount{.floor = quotient + (slack < 0 && !exact ? 0 : 1),
                     .ceil = quotient + (slack > 0 && !exact ? 2 : 1)};
}

}  // namespace webnnd::webidl
