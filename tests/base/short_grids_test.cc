// Which grids threads do not share, because they are short (base/short_grids.h).
#include "base/short_grids.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace webnnd {
namespace {

constexpr int64_t kShort = ShortGrids::kShortNs - 1;
constexpr int64_t kLong = ShortGrids::kShortNs;

class ShortGridsTest : public testing::Test {
 protected:
  ShortGrids grids_;
};

TEST_F(ShortGridsTest, GridsThatNobodyHasSeen_AreShared) {
  EXPECT_FALSE(grids_.Has(0, 1));
  EXPECT_FALSE(grids_.Has(ShortGrids::kKernels - 1, UINT32_MAX));
}

TEST_F(ShortGridsTest, GridsUpToAShortOne_AreShortThemselves) {
  grids_.Learn(3, 100, kShort);
  EXPECT_TRUE(grids_.Has(3, 100));
  EXPECT_TRUE(grids_.Has(3, 2));
  EXPECT_FALSE(grids_.Has(3, 101));
  EXPECT_FALSE(grids_.Has(4, 100));
  // A smaller one tells nothing of those between.
  grids_.Learn(3, 50, kShort);
  EXPECT_TRUE(grids_.Has(3, 100));
  grids_.Learn(3, 200, kShort);
  EXPECT_TRUE(grids_.Has(3, 200));
}

TEST_F(ShortGridsTest, LongGrids_AreShared) {
  grids_.Learn(3, 100, kLong);
  EXPECT_FALSE(grids_.Has(3, 100));
  // Once it did not take so long, by itself.
  grids_.Learn(3, 100, kShort);
  EXPECT_TRUE(grids_.Has(3, 100));
}

TEST_F(ShortGridsTest, WhatIsKnown_IsForgottenAfterAWhile) {
  grids_.Learn(3, 100, kShort);
  for (uint32_t i = 1; i + 1 < ShortGrids::kGridsRemembered; ++i) grids_.Learn(4, 1000, kLong);
  EXPECT_TRUE(grids_.Has(3, 100));
  grids_.Learn(4, 1000, kLong);
  EXPECT_FALSE(grids_.Has(3, 100));
  // What is learnt then counts.
  grids_.Learn(3, 50, kShort);
  EXPECT_TRUE(grids_.Has(3, 50));
  EXPECT_FALSE(grids_.Has(3, 100));
}

}  // namespace
}  // namespace webnnd
