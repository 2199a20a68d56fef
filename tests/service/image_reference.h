// What tests of kernels over images share: random images, where their elements lie, and how near to
// the reference a result has to be.
#ifndef WEBNND_TESTS_SERVICE_IMAGE_REFERENCE_H_
#define WEBNND_TESTS_SERVICE_IMAGE_REFERENCE_H_

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/kernel_runner.h"

namespace webnnd::service::image_test {

using webidl::InputOperandLayout;
using webidl::OperandDataType;
using webidl::Shape;
using Values = std::vector<long double>;
using List = std::vector<uint32_t>;

inline constexpr OperandDataType kFloat = OperandDataType::kFloat32;
inline constexpr OperandDataType kHalf = OperandDataType::kFloat16;

inline size_t CountOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

inline bool IsFloat(OperandDataType type) { return type == kFloat || type == kHalf; }

// Where {batch, channel, row, column} is in an image of this shape.
inline size_t ImageIndex(const Shape& shape, InputOperandLayout layout, std::array<int64_t, 4> at) {
  if (layout == InputOperandLayout::kNhwc) at = {at[0], at[2], at[3], at[1]};
  return ((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3];
}
inline Shape ImageShape(InputOperandLayout layout, const Shape& nchw) {
  if (layout == InputOperandLayout::kNchw) return nchw;
  return {nchw[0], nchw[2], nchw[3], nchw[1]};
}
inline Shape ToNchw(InputOperandLayout layout, const Shape& shape) {
  if (layout == InputOperandLayout::kNchw) return shape;
  return {shape[0], shape[3], shape[1], shape[2]};
}

// A result and the sum of its terms' magnitudes, to which errors are relative.
struct Expected {
  Values values;
  Values magnitudes;
};

inline void ExpectNear(const Expected& expected, const HostTensor& actual) {
  OperandDataType type = actual.descriptor.data_type();
  Values values = actual.Values();
  ASSERT_EQ(values.size(), expected.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    long double want = RoundTo(type, expected.values[i]);
    if (std::fabs(want - values[i]) <= 3e-7L * expected.magnitudes[i]) continue;
    ASSERT_LE(UlpDistance(type, want, values[i]), IsFloat(type) ? 2 : 0)
        << "element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(values[i]);
  }
}

inline uint32_t Pick(std::mt19937& random, uint32_t least, uint32_t greatest) {
  return std::uniform_int_distribution<uint32_t>(least, greatest)(random);
}

}  // namespace webnnd::service::image_test

#endif  // WEBNND_TESTS_SERVICE_IMAGE_REFERENCE_H_
