#include "examples/generate/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace webnnd::generate {
namespace {

TEST(Sampler, Greedy_TakesLowestIndexOfTheLargest) {
  Sampler sampler(0, 1);
  EXPECT_EQ(sampler.Next(std::vector<float>{-3, 2, 5, 5, 1}).value(), 2);
  EXPECT_EQ(sampler.Next(std::vector<float>{-3}).value(), 0);
}

TEST(Sampler, Temperature_DrawsWithTheProbabilitiesOfSoftmax) {
  Sampler sampler(2, 42);
  const std::vector<float> logits = {0, 2, 4, -1000};
  std::array<double, 4> count{};
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) count[static_cast<size_t>(sampler.Next(logits).value())] += 1;
  double total = 1 + std::exp(1.0) + std::exp(2.0);
  EXPECT_NEAR(count[0] / kDraws, 1 / total, 0.01);
  EXPECT_NEAR(count[1] / kDraws, std::exp(1.0) / total, 0.01);
  EXPECT_NEAR(count[2] / kDraws, std::exp(2.0) / total, 0.01);
  EXPECT_EQ(count[3], 0);
}

TEST(Sampler, SameSeed_DrawsTheSame) {
  Sampler first(1, 7), second(1, 7), other(1, 8);
  const std::vector<float> logits(1000, 0.0f);
  bool differs = false;
  for (int i = 0; i < 20; ++i) {
    int32_t id = first.Next(logits).value();
    EXPECT_EQ(second.Next(logits).value(), id);
    differs |= other.Next(logits).value() != id;
  }
  EXPECT_TRUE(differs);
}

TEST(Sampler, LargeLogits_DoNotOverflow) {
  Sampler sampler(1e-3, 1);
  EXPECT_EQ(sampler.Next(std::vector<float>{3e38f, -3e38f, 1e38f}).value(), 0);
}

TEST(Sampler, NoNumbers_AreAnError) {
  Sampler sampler(0, 1);
  float nan = std::numeric_limits<float>::quiet_NaN();
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(sampler.Next(std::vector<float>{1, nan}).ok());
  EXPECT_FALSE(sampler.Next(std::vector<float>{nan, 1}).ok());
  EXPECT_FALSE(sampler.Next(std::vector<float>{-infinity, -infinity}).ok());
  EXPECT_FALSE(sampler.Next(std::vector<float>{1, infinity}).ok());
}

}  // namespace
}  // namespace webnnd::generate
