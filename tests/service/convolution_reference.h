// Convolutions by double loops over every tap, for tests to compare kernels with.
#ifndef WEBNND_TESTS_SERVICE_CONVOLUTION_REFERENCE_H_
#define WEBNND_TESTS_SERVICE_CONVOLUTION_REFERENCE_H_

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "tests/service/image_reference.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service::image_test {

using webidl::Conv2dAttributes;
using webidl::Conv2dFilterOperandLayout;
using webidl::ConvTranspose2dAttributes;
using webidl::ConvTranspose2dFilterOperandLayout;
using webidl::OperatorKind;

// Dimension d of a stored filter is dimension order[d] of {output, input, row,
// column}.
using Order = std::array<size_t, 4>;
inline Order OrderOf(Conv2dFilterOperandLayout layout) {
  switch (layout) {
    case Conv2dFilterOperandLayout::kOihw:
      return {0, 1, 2, 3};
    case Conv2dFilterOperandLayout::kHwio:
      return {2, 3, 1, 0};
    case Conv2dFilterOperandLayout::kOhwi:
      return {0, 2, 3, 1};
    default:
      return {1, 2, 3, 0};
  }
}
inline Order OrderOf(ConvTranspose2dFilterOperandLayout layout) {
  switch (layout) {
    case ConvTranspose2dFilterOperandLayout::kIohw:
      return {1, 0, 2, 3};
    case ConvTranspose2dFilterOperandLayout::kHwoi:
      return {2, 3, 0, 1};
    default:
      return {0, 2, 3, 1};
  }
}
inline Shape FilterShape(const Order& order, const Shape& oihw) {
  return {oihw[order[0]], oihw[order[1]], oihw[order[2]], oihw[order[3]]};
}
inline size_t FilterIndex(const Shape& shape, const Order& order,
                          const std::array<int64_t, 4>& at) {
  size_t index = 0;
  for (size_t d = 0; d < 4; ++d) index = index * shape[d] + at[order[d]];
  return index;
}

// The draft's convolution; transposed, each element of the input is spread over
// the result.
template <typename Attributes>
Expected Convolve(const Attributes& attributes, const HostTensor& input, const HostTensor& filter,
                  const std::optional<HostTensor>& bias, const Shape& result) {
  constexpr bool kTransposed = std::is_same_v<Attributes, ConvTranspose2dAttributes>;
  InputOperandLayout layout = attributes.input_layout;
  Order order = OrderOf(attributes.filter_layout);
  const Shape& filter_shape = filter.descriptor.shape();
  Shape oihw(4);
  for (size_t d = 0; d < 4; ++d) oihw[order[d]] = filter_shape[d];
  Shape in = ToNchw(layout, input.descriptor.shape());
  Shape out = ToNchw(layout, result);
  List padding = attributes.padding.value_or(List{0, 0, 0, 0});
  List strides = attributes.strides.value_or(List{1, 1});
  List dilations = attributes.dilations.value_or(List{1, 1});
  int64_t group_inputs = in[1] / attributes.groups;
  int64_t group_outputs = out[1] / attributes.groups;
  Values x = input.Values();
  Values w = filter.Values();
  Expected expected{Values(CountOf(out)), Values(CountOf(out))};
  if (bias) {
    Values b = bias->Values();
    for (int64_t n = 0; n < out[0]; ++n) {
      for (int64_t o = 0; o < out[1]; ++o) {
        for (int64_t p = 0; p < int64_t{out[2]} * out[3]; ++p) {
          size_t e = ImageIndex(result, layout, {n, o, p / out[3], p % out[3]});
          expected.values[e] = b[o];
          expected.magnitudes[e] = std::fabs(b[o]);
        }
      }
    }
  }
  // The small side of the window: positions of the input where transposed, else
  // of the result.
  const Shape& positions = kTransposed ? in : out;
  const Shape& others = kTransposed ? out : in;
  for (int64_t n = 0; n < in[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      for (int64_t i = 0; i < group_inputs; ++i) {
        int64_t group = o / group_outputs;
        int64_t channel = group * group_inputs + i;
        for (int64_t k = 0; k < int64_t{oihw[2]} * oihw[3]; ++k) {
          int64_t ky = k / oihw[3];
          int64_t kx = k % oihw[3];
          long double weight = w[FilterIndex(
              filter_shape, order,
              {kTransposed ? o % group_outputs : o, kTransposed ? channel : i, ky, kx})];
          for (int64_t p = 0; p < int64_t{positions[2]} * positions[3]; ++p) {
            int64_t row = p / positions[3];
            int64_t column = p % positions[3];
            int64_t y = row * strides[0] + ky * dilations[0] - padding[0];
            int64_t z = column * strides[1] + kx * dilations[1] - padding[2];
            if (y < 0 || z < 0 || y >= others[2] || z >= others[3]) continue;
            size_t from = ImageIndex(input.descriptor.shape(), layout,
                                     {n, channel, kTransposed ? row : y, kTransposed ? column : z});
            size_t to =
                ImageIndex(result, layout, {n, o, kTransposed ? y : row, kTransposed ? z : column});
            expected.values[to] += x[from] * weight;
            expected.magnitudes[to] += std::fabs(x[from] * weight);
          }
        }
      }
    }
  }
  return expected;
}

// `input` as NCHW, `filter` as OIHW by meaning (transposed: all input channels,
// the output channels of a group).
template <typename Attributes>
void ExpectConvolves(const Attributes& attributes, OperandDataType type, const Shape& input_shape,
                     const Shape& filter_shape, bool has_bias, uint32_t seed) {
  constexpr bool kTransposed = std::is_same_v<Attributes, ConvTranspose2dAttributes>;
  HostTensor input = RandomTensor(type, ImageShape(attributes.input_layout, input_shape), seed);
  HostTensor filter =
      RandomTensor(type, FilterShape(OrderOf(attributes.filter_layout), filter_shape), seed + 1);
  std::optional<HostTensor> bias;
  uint32_t channels = filter_shape[0] * (kTransposed ? attributes.groups : 1);
  if (has_bias) bias = RandomTensor(type, {channels}, seed + 2);
  HostTensor result = RunOne(kTransposed ? OperatorKind::kConvTranspose2d : OperatorKind::kConv2d,
                             {input, filter, bias}, attributes);
  SCOPED_TRACE("input " + input.descriptor.ToString() + " filter " + filter.descriptor.ToString() +
               " result " + result.descriptor.ToString() + " seed " + std::to_string(seed));
  ExpectNear(Convolve(attributes, input, filter, bias, result.descriptor.shape()), result);
}

}  // namespace webnnd::service::image_test

#endif  // WEBNND_TESTS_SERVICE_CONVOLUTION_REFERENCE_H_
