#include "examples/generate/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace webnnd::generate {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

QuantizedWeights Quantize(const std::vector<float>& weights) {
  QuantizedWeights out;
  QuantizeBlocks(weights, out);
  return out;
}

int Code(const PackedNibbles& nibbles, size_t index) {
  return nibbles.bytes()[index / 2] >> (index % 2 * 4) & 15;
}

std::vector<float> Restore(const QuantizedWeights& quantized, size_t count) {
  std::vector<float> weights;
  for (size_t i = 0; i < count; ++i) {
    size_t block = i / kQuantizedBlock;
    weights.push_back(
        static_cast<float>(Code(quantized.values, i) - Code(quantized.zero_points, block)) *
        quantized.scales[block]);
  }
  return weights;
}

TEST(PackedNibbles, FirstOfTwo_IsInTheLowHalf) {
  PackedNibbles nibbles;
  for (uint8_t nibble : {1, 2, 15}) nibbles.Append(nibble);
  EXPECT_THAT(nibbles.bytes(), ElementsAre(0x21, 0x0f));
}

TEST(QuantizeBlocks, EveryWeight_ComesBackWithinHalfAStep) {
  std::vector<float> weights;
  for (int i = 0; i < 320; ++i) weights.push_back(std::sin(static_cast<float>(i * i)) * (i / 32));
  QuantizedWeights quantized = Quantize(weights);
  ASSERT_EQ(quantized.scales.size(), 10u);
  std::vector<float> restored = Restore(quantized, weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    // The zero point is rounded too: what it moves out of the range is cut off.
    EXPECT_NEAR(restored[i], weights[i], 1.01f * quantized.scales[i / kQuantizedBlock]) << i;
  }
}

TEST(QuantizeBlocks, CodesOfTheGrid_AreExact) {
  std::vector<float> weights;
  for (int i = 0; i < 32; ++i) weights.push_back(0.25f * static_cast<float>(i % 16 - 6));
  QuantizedWeights quantized = Quantize(weights);
  EXPECT_THAT(quantized.scales, ElementsAre(0.25f));
  EXPECT_EQ(Code(quantized.zero_points, 0), 6);
  EXPECT_EQ(Restore(quantized, 32), weights);
}

TEST(QuantizeBlocks, OneSign_StillHoldsZero) {
  std::vector<float> weights(32, 3.0f);
  weights[7] = 0;
  EXPECT_EQ(Restore(Quantize(weights), 32), weights);
  for (float& weight : weights) weight = -weight;
  EXPECT_EQ(Restore(Quantize(weights), 32), weights);
}

TEST(QuantizeBlocks, Zeros_StayZeros) {
  QuantizedWeights quantized = Quantize(std::vector<float>(64, 0.0f));
  EXPECT_THAT(quantized.scales, Each(1.0f));
  EXPECT_THAT(Restore(quantized, 64), Each(0.0f));
}

}  // namespace
}  // namespace webnnd::generate
