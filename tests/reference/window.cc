// Windows that slide over images: convolutions and pooling, with all layouts.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/check.h"
#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {
namespace {

using webidl::Conv2dFilterOperandLayout;
using webidl::ConvTranspose2dFilterOperandLayout;
using webidl::InputOperandLayout;
using webidl::OperatorKind;
using webidl::Shape;

using List = std::vector<uint32_t>;

// The position [batch, channel, row, column] of an image in its layout, and back.
Position ImageAt(InputOperandLayout layout, uint32_t n, uint32_t c, uint32_t y, uint32_t x) {
  return layout == InputOperandLayout::kNchw ? Position{n, c, y, x} : Position{n, y, x, c};
}
std::array<uint32_t, 4> Channelled(InputOperandLayout layout, const std::vector<uint32_t>& at) {
  if (layout == InputOperandLayout::kNchw) return {at[0], at[1], at[2], at[3]};
  return {at[0], at[3], at[1], at[2]};
}

// The position [output channel, input channel, row, column] of a filter in its layout.
Position FilterAt(Conv2dFilterOperandLayout layout, uint32_t o, uint32_t i, uint32_t y,
                  uint32_t x) {
  switch (layout) {
    case Conv2dFilterOperandLayout::kOihw:
      return {o, i, y, x};
    case Conv2dFilterOperandLayout::kHwio:
      return {y, x, i, o};
    case Conv2dFilterOperandLayout::kOhwi:
      return {o, y, x, i};
    case Conv2dFilterOperandLayout::kIhwo:
      return {i, y, x, o};
  }
  UNREACHABLE();
}
Position FilterAt(ConvTranspose2dFilterOperandLayout layout, uint32_t o, uint32_t i, uint32_t y,
                  uint32_t x) {
  switch (layout) {
    case ConvTranspose2dFilterOperandLayout::kIohw:
      return {i, o, y, x};
    case ConvTranspose2dFilterOperandLayout::kHwoi:
      return {y, x, o, i};
    case ConvTranspose2dFilterOperandLayout::kOhwi:
      return {o, y, x, i};
  }
  UNREACHABLE();
}

// --- Windows ------------------------------------------------------------------------------------

struct Window {
  List padding = {0, 0, 0, 0};  // Beginning and end of height, then of width.
  List strides = {1, 1};
  List dilations = {1, 1};

  // The pixel that tap `tap` of the window at `position` falls on; nullopt in the padding.
  std::optional<uint32_t> Pixel(size_t axis, uint32_t position, uint32_t tap, uint32_t size) const {
    const int64_t at =
        int64_t{position} * strides[axis] + int64_t{tap} * dilations[axis] - padding[2 * axis];
    if (at < 0 || at >= size) return std::nullopt;
    return static_cast<uint32_t>(at);
  }
};

template <class Attributes>
Window ReadWindow(const Attributes& attributes) {
  return {attributes.padding.value_or(List{0, 0, 0, 0}), attributes.strides.value_or(List{1, 1}),
          attributes.dilations.value_or(List{1, 1})};
}

template <class Attributes>
void SetWindow(CaseMaker& maker, const Window& window, Attributes& attributes) {
  maker.Set(attributes.padding, window.padding, {0, 0, 0, 0});
  maker.Set(attributes.strides, window.strides, {1, 1});
  maker.Set(attributes.dilations, window.dilations, {1, 1});
}

Window PickWindow(CaseMaker& maker) {
  Window window;
  const auto fill = [&](List& list, uint32_t least, uint32_t most) {
    if (maker.Flip()) return;
    for (uint32_t& item : list) item = maker.Between(least, most);
  };
  fill(window.padding, 0, 3);
  fill(window.strides, 1, 3);
  fill(window.dilations, 1, 3);
  return window;
}

// The size of an image over which the window fits some times, and what is left over.
uint32_t PickImageSize(CaseMaker& maker, const Window& window, size_t axis, uint32_t taps) {
  const uint32_t span = (taps - 1) * window.dilations[axis] + 1;
  const uint32_t padding = window.padding[2 * axis] + window.padding[2 * axis + 1];
  const uint32_t wanted = span + maker.Between(0, 7);
  return wanted > padding ? wanted - padding : maker.Between(1, 3);
}

Shape ImageShape(InputOperandLayout layout, uint32_t n, uint32_t c, uint32_t height,
                 uint32_t width) {
  return ImageAt(layout, n, c, height, width);
}

Real Bias(const Array* bias, uint32_t channel, Real sum) {
  return bias == nullptr ? sum : sum + Real(bias->values[channel]);
}

}  // namespace

// --- Convolutions -------------------------------------------------------------------------------

void MakeConv2d(CaseMaker& maker) {
  auto& conv = maker.attributes<webidl::Conv2dAttributes>();
  const auto type = maker.PickType(0);
  const Window window = PickWindow(maker);
  SetWindow(maker, window, conv);
  conv.input_layout = maker.Pick<InputOperandLayout>(webidl::kInputOperandLayoutCount);
  conv.filter_layout =
      maker.Pick<Conv2dFilterOperandLayout>(webidl::kConv2dFilterOperandLayoutCount);
  conv.groups = maker.Flip() ? 1 : maker.Between(1, 5);
  // One input and one output channel of a group: a depthwise convolution.
  const uint32_t depth = maker.OneIn(3) ? 1 : maker.Between(1, maker.OneIn(4) ? 40 : 4);
  const uint32_t channels =
      conv.groups * (maker.OneIn(3) ? 1 : maker.Between(1, maker.OneIn(4) ? 12 : 4));
  const List taps = maker.OneIn(3) ? List{1, 1} : List{maker.Between(1, 4), maker.Between(1, 4)};
  maker.Add(type, ImageShape(conv.input_layout, maker.Between(1, 2), depth * conv.groups,
                             PickImageSize(maker, window, 0, taps[0]),
                             PickImageSize(maker, window, 1, taps[1])));
  // Infinities and NaN in the input alone: whether padding is multiplied must not matter.
  maker.Add(type, FilterAt(conv.filter_layout, channels, depth, taps[0], taps[1]),
            Domain::kModerate);
  maker.AddOptional(type, {channels}, Domain::kModerate);
}

void EvaluateConv2d(const Arguments& arguments, std::span<Array> results) {
  const auto& conv = std::get<webidl::Conv2dAttributes>(arguments.attributes);
  const Window window = ReadWindow(conv);
  const Array& input = *arguments.operands[0];
  const Array& filter = *arguments.operands[1];
  const auto [batch, channels, height, width] = Channelled(conv.input_layout, input.shape());
  const uint32_t depth = channels / conv.groups;
  // The same layout applied to indices of the shape tells which dimension is which.
  const Position order = FilterAt(conv.filter_layout, 0, 1, 2, 3);
  std::array<uint32_t, 4> size;
  for (size_t d = 0; d < 4; ++d) size[order[d]] = filter.shape()[d];
  for (uint64_t e = 0; e < results[0].size(); ++e) {
    const auto [n, o, row, column] = Channelled(conv.input_layout, Unravel(e, results[0].shape()));
    const uint32_t first = o / (size[0] / conv.groups) * depth;
    Sum sum;
    for (uint32_t c = 0; c < depth; ++c) {
      for (uint32_t ky = 0; ky < size[2]; ++ky) {
        for (uint32_t kx = 0; kx < size[3]; ++kx) {
          const auto y = window.Pixel(0, row, ky, height);
          const auto x = window.Pixel(1, column, kx, width);
          if (!y || !x) continue;
          sum.Add(Real(input.values[Ravel(ImageAt(conv.input_layout, n, first + c, *y, *x),
                                          input.shape())]) *
                  Real(filter.values[Ravel(FilterAt(conv.filter_layout, o, c, ky, kx),
                                           filter.shape())]));
        }
      }
    }
    results[0].Set(e, Bias(arguments.operands[2], o, sum.Result()));
  }
}

void MakeConvTranspose2d(CaseMaker& maker) {
  auto& conv = maker.attributes<webidl::ConvTranspose2dAttributes>();
  const auto type = maker.PickType(0);
  Window window = PickWindow(maker);
  conv.input_layout = maker.Pick<InputOperandLayout>(webidl::kInputOperandLayoutCount);
  conv.filter_layout = maker.Pick<ConvTranspose2dFilterOperandLayout>(
      webidl::kConvTranspose2dFilterOperandLayoutCount);
  conv.groups = maker.Flip() ? 1 : maker.Between(1, 4);
  const uint32_t depth = conv.groups * maker.Between(1, maker.OneIn(4) ? 20 : 4);
  const uint32_t channels = maker.Between(1, maker.OneIn(4) ? 9 : 3);
  const List taps = {maker.Between(1, 4), maker.Between(1, 4)};
  const List image = {maker.Between(1, 6), maker.Between(1, 6)};
  List sizes;
  for (size_t axis = 0; axis < 2; ++axis) {
    const uint32_t whole =
        (image[axis] - 1) * window.strides[axis] + (taps[axis] - 1) * window.dilations[axis] + 1;
    if (whole <= window.padding[2 * axis] + window.padding[2 * axis + 1]) {
      window.padding[2 * axis] = window.padding[2 * axis + 1] = 0;
    }
    sizes.push_back(whole - window.padding[2 * axis] - window.padding[2 * axis + 1]);
  }
  SetWindow(maker, window, conv);
  const List more = {maker.Between(0, window.strides[0] - 1),
                     maker.Between(0, window.strides[1] - 1)};
  if (maker.Flip()) {
    maker.Set(conv.output_padding, more, {0, 0});
  } else if (maker.Flip()) {
    conv.output_sizes = List{sizes[0] + more[0], sizes[1] + more[1]};
    if (maker.OneIn(3)) conv.output_padding = List{7, 8};  // Ignored.
  }
  maker.Add(type, ImageShape(conv.input_layout, maker.Between(1, 2), depth, image[0], image[1]));
  maker.Add(type, FilterAt(conv.filter_layout, channels, depth, taps[0], taps[1]),
            Domain::kModerate);
  maker.AddOptional(type, {channels * conv.groups}, Domain::kModerate);
}

// Each pixel of the input adds the filter, times itself, to the window at its position.
void EvaluateConvTranspose2d(const Arguments& arguments, std::span<Array> results) {
  const auto& conv = std::get<webidl::ConvTranspose2dAttributes>(arguments.attributes);
  const Window window = ReadWindow(conv);
  const Array& input = *arguments.operands[0];
  const Array& filter = *arguments.operands[1];
  Array& result = results[0];
  const Position order = FilterAt(conv.filter_layout, 0, 1, 2, 3);
  std::array<uint32_t, 4> size;
  for (size_t d = 0; d < 4; ++d) size[order[d]] = filter.shape()[d];
  const auto [batch, channels, height, width] = Channelled(conv.input_layout, result.shape());
  const uint32_t group_depth = size[1] / conv.groups;
  std::vector<Sum> sums(result.size());
  for (uint64_t e = 0; e < input.size(); ++e) {
    const auto [n, c, row, column] = Channelled(conv.input_layout, Unravel(e, input.shape()));
    const uint32_t first = c / group_depth * size[0];
    for (uint32_t o = 0; o < size[0]; ++o) {
      for (uint32_t ky = 0; ky < size[2]; ++ky) {
        for (uint32_t kx = 0; kx < size[3]; ++kx) {
          const auto y = window.Pixel(0, row, ky, height);
          const auto x = window.Pixel(1, column, kx, width);
          if (!y || !x) continue;
          sums[Ravel(ImageAt(conv.input_layout, n, first + o, *y, *x), result.shape())].Add(
              Real(input.values[e]) *
              Real(filter
                       .values[Ravel(FilterAt(conv.filter_layout, o, c, ky, kx), filter.shape())]));
        }
      }
    }
  }
  for (uint64_t e = 0; e < result.size(); ++e) {
    const uint32_t channel = Channelled(conv.input_layout, Unravel(e, result.shape()))[1];
    result.Set(e, Bias(arguments.operands[2], channel, sums[e].Result()));
  }
}

// --- Pooling ------------------------------------------------------------------------------------

void MakePool2d(CaseMaker& maker) {
  auto& pool = maker.attributes<webidl::Pool2dAttributes>();
  Window window = PickWindow(maker);
  pool.layout = maker.Pick<InputOperandLayout>(webidl::kInputOperandLayoutCount);
  pool.output_shape_rounding = maker.Pick<webidl::RoundingType>(webidl::kRoundingTypeCount);
  List image;
  if (maker.OneIn(5)) {
    // The window is the whole image.
    window.dilations = {1, 1};
    image = {maker.Between(1, 9), maker.Between(1, 60)};
  } else {
    pool.window_dimensions = List{maker.Between(1, 4), maker.Between(1, 4)};
    for (size_t axis = 0; axis < 2; ++axis) {
      image.push_back(PickImageSize(maker, window, axis, (*pool.window_dimensions)[axis]));
    }
  }
  // An image that is smaller than the window even with its padding has no window.
  for (size_t axis = 0; axis < 2; ++axis) {
    const uint32_t taps = pool.window_dimensions ? (*pool.window_dimensions)[axis] : image[axis];
    const uint32_t span = (taps - 1) * window.dilations[axis] + 1;
    const uint32_t padded = image[axis] + window.padding[2 * axis] + window.padding[2 * axis + 1];
    CHECK(span <= padded);
  }
  SetWindow(maker, window, pool);
  if (maker.OneIn(3)) {
    // Both rounded down, or both up.
    const bool up = maker.Flip();
    pool.output_sizes.emplace();
    for (size_t axis = 0; axis < 2; ++axis) {
      const uint32_t taps = pool.window_dimensions ? (*pool.window_dimensions)[axis] : image[axis];
      const uint32_t left = image[axis] + window.padding[2 * axis] + window.padding[2 * axis + 1] -
                            (taps - 1) * window.dilations[axis] - 1;
      const uint32_t stride = window.strides[axis];
      pool.output_sizes->push_back((left + (up ? stride - 1 : 0)) / stride + 1);
    }
  }
  maker.Add(maker.PickType(0),
            ImageShape(pool.layout, maker.Between(1, 2), maker.Between(1, 5), image[0], image[1]));
}

// Taps in the padding count nothing. A window all of which lies there gives 0, or the least value
// of the type as its maximum: the draft leaves that open.
void EvaluatePool2d(const Arguments& arguments, std::span<Array> results) {
  const auto& pool = std::get<webidl::Pool2dAttributes>(arguments.attributes);
  const Window window = ReadWindow(pool);
  const Array& input = *arguments.operands[0];
  const auto [batch, channels, height, width] = Channelled(pool.layout, input.shape());
  const List taps = pool.window_dimensions.value_or(List{height, width});
  for (uint64_t e = 0; e < results[0].size(); ++e) {
    const auto [n, c, row, column] = Channelled(pool.layout, Unravel(e, results[0].shape()));
    std::vector<long double> inside;
    for (uint32_t ky = 0; ky < taps[0]; ++ky) {
      for (uint32_t kx = 0; kx < taps[1]; ++kx) {
        const auto y = window.Pixel(0, row, ky, height);
        const auto x = window.Pixel(1, column, kx, width);
        if (!y || !x) continue;
        inside.push_back(input.values[Ravel(ImageAt(pool.layout, n, c, *y, *x), input.shape())]);
      }
    }
    Sum sum;
    long double greatest = IsFloat(input.type()) ? -std::numeric_limits<long double>::infinity()
                                                 : LeastInteger(input.type());
    for (long double value : inside) {
      sum.Add(arguments.kind == OperatorKind::kL2Pool2d ? Real(value) * Real(value) : Real(value));
      if (!std::isnan(greatest) && !(value <= greatest)) greatest = value;  // NaN wins.
    }
    const auto count = static_cast<long double>(inside.size());
    if (arguments.kind == OperatorKind::kMaxPool2d) {
      results[0].Set(e, greatest);
    } else if (arguments.kind == OperatorKind::kL2Pool2d) {
      results[0].Set(e, Sqrt(sum.Result()));
    } else {
      results[0].Set(e, inside.empty() ? Real(0) : sum.Result() / Real(count));
    }
  }
}

}  // namespace webnnd::reference
