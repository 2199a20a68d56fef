// That float16 come to what float32 do, rounded once, where kernels for llvmpipe take either by
// lanes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorAttributes;
using webidl::OperatorKind;
using webidl::Shape;

constexpr auto kHalf = OperandDataType::kFloat16;
constexpr auto kFloat = OperandDataType::kFloat32;

const Shape kImage = {1, 2, 64, 1024};

struct Case {
  OperatorKind kind;
  OperatorAttributes attributes;
};

std::vector<Case> Cases() {
  const webidl::Pool2dAttributes pool = {
      .window_dimensions = {{3, 3}}, .padding = {{1, 1, 1, 1}}, .strides = {{2, 2}}};
  const webidl::ReduceAttributes last = {.axes = {{3}}};
  return {
      {OperatorKind::kArgMax, webidl::ArgMinMaxAttributes{.axis = 3}},
      {OperatorKind::kArgMin, webidl::ArgMinMaxAttributes{.axis = 1}},
      {OperatorKind::kAveragePool2d, pool},
      {OperatorKind::kCumulativeSum, webidl::CumulativeSumAttributes{.axis = 2}},
      {OperatorKind::kCumulativeSum,
       webidl::CumulativeSumAttributes{.axis = 3, .exclusive = true, .reversed = true}},
      {OperatorKind::kL2Pool2d, pool},
      {OperatorKind::kMaxPool2d, pool},
      {OperatorKind::kReduceL1, last},
      {OperatorKind::kReduceL2, webidl::ReduceAttributes{.axes = {{1, 3}}}},
      {OperatorKind::kReduceLogSum, last},
      {OperatorKind::kReduceLogSumExp, last},
      {OperatorKind::kReduceMax, webidl::ReduceAttributes{}},
      {OperatorKind::kReduceMean, webidl::ReduceAttributes{}},
      {OperatorKind::kReduceMin, last},
      {OperatorKind::kReduceProduct, last},
      {OperatorKind::kReduceSum, last},
      {OperatorKind::kReduceSumSquare, last},
      {OperatorKind::kResample2d,
       webidl::Resample2dAttributes{.mode = webidl::InterpolationMode::kLinear,
                                    .sizes = {{96, 1025}}}},
      {OperatorKind::kResample2d, webidl::Resample2dAttributes{.sizes = {{32, 511}}}},
  };
}

TEST(Float16, Results_AreThoseOfFloatsRounded) {
  if (TestDevice()->wide()) GTEST_SKIP() << "forms of kernels for GPUs take float16 as it is";
  for (const Case& c : Cases()) {
    SCOPED_TRACE(std::string(webidl::OperatorName(c.kind)));
    // Sums of logarithms want positive ones, and products none that are far from 1.
    const HostTensor halves = RandomTensor(kHalf, kImage, 3, 0.9, 1.1);
    const HostTensor floats = HostTensor::Create(kFloat, kImage, halves.Values());
    const HostTensor of_halves = RunOne(c.kind, {halves}, c.attributes);
    const HostTensor of_floats = RunOne(c.kind, {floats}, c.attributes);
    ASSERT_EQ(of_halves.descriptor.shape(), of_floats.descriptor.shape());
    const OperandDataType type = of_halves.descriptor.data_type();
    const std::vector<long double> expected = of_floats.Values();
    const std::vector<long double> values = of_halves.Values();
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(values[i], RoundTo(type, expected[i])) << "at " << i;
    }
  }
}

// The same of NaN, infinities and zeros of either sign.
TEST(Float16, SpecialValues_StayWhatTheyAre) {
  if (TestDevice()->wide()) GTEST_SKIP() << "forms of kernels for GPUs take float16 as it is";
  HostTensor halves = RandomTensor(kHalf, kImage, 4);
  auto* bits = reinterpret_cast<uint16_t*>(halves.bytes.data());
  const uint16_t special[] = {0x7e00, 0x7c00, 0xfc00, 0x8000, 0x0000, 0x0001, 0x8001, 0x7bff};
  for (size_t i = 0; i < std::size(special); ++i) bits[1000 * i] = special[i];
  const HostTensor floats = HostTensor::Create(kFloat, kImage, halves.Values());
  const webidl::ReduceAttributes last = {.axes = {{3}}};
  for (const auto kind : {OperatorKind::kReduceMax, OperatorKind::kReduceSum}) {
    const std::vector<long double> values = RunOne(kind, {halves}, last).Values();
    const std::vector<long double> expected = RunOne(kind, {floats}, last).Values();
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(UlpDistance(kHalf, values[i], RoundTo(kHalf, expected[i])), 0) << "at " << i;
    }
  }
}

// Of depthwise convolutions.
TEST(Float16, DepthwiseResults_AreThoseOfFloatsRounded) {
  if (TestDevice()->wide()) GTEST_SKIP() << "forms of kernels for GPUs take float16 as it is";
  constexpr uint32_t kChannels = 32;
  for (const auto layout : {webidl::InputOperandLayout::kNchw, webidl::InputOperandLayout::kNhwc}) {
    const bool is_last = layout == webidl::InputOperandLayout::kNhwc;
    const webidl::Conv2dAttributes attributes = {
        .padding = {{2, 2, 2, 2}}, .groups = kChannels, .input_layout = layout};
    const Shape image = is_last ? Shape{1, 15, 15, kChannels} : Shape{1, kChannels, 15, 15};
    std::vector<std::optional<HostTensor>> halves = {RandomTensor(kHalf, image, 5),
                                                     RandomTensor(kHalf, {kChannels, 1, 5, 5}, 6),
                                                     RandomTensor(kHalf, {kChannels}, 7)};
    std::vector<std::optional<HostTensor>> floats;
    for (const auto& half : halves) {
      floats.push_back(HostTensor::Create(kFloat, half->descriptor.shape(), half->Values()));
    }
    const auto values = RunOne(OperatorKind::kConv2d, halves, attributes).Values();
    const auto expected = RunOne(OperatorKind::kConv2d, floats, attributes).Values();
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(values[i], RoundTo(kHalf, expected[i])) << "at " << i;
    }
  }
}

}  // namespace
}  // namespace webnnd::service
