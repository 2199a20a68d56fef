#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace webnnd {
namespace {

TEST(CheckedMath, Add_RefusesOverflow) {
  EXPECT_EQ(CheckedAdd<uint32_t>(0xfffffffe, 1), 0xffffffff);
  EXPECT_EQ(CheckedAdd<uint32_t>(0xffffffff, 1), std::nullopt);
  EXPECT_EQ(CheckedSub<uint32_t>(1, 2), std::nullopt);
}

TEST(CheckedMath, Mul_RefusesOverflow) {
  EXPECT_EQ(CheckedMul<uint64_t>(1ull << 32, 1ull << 31), 1ull << 63);
  EXPECT_EQ(CheckedMul<uint64_t>(1ull << 32, 1ull << 32), std::nullopt);
}

TEST(CheckedMath, Cast_RefusesWhatDoesNotFit) {
  EXPECT_EQ(CheckedCast<uint8_t>(255), 255);
  EXPECT_EQ(CheckedCast<uint8_t>(256), std::nullopt);
  EXPECT_EQ(CheckedCast<uint32_t>(-1), std::nullopt);
}

TEST(CheckedMath, AlignUp_RefusesOverflow) {
  EXPECT_EQ(CheckedAlignUp<uint32_t>(5, 4), 8u);
  EXPECT_EQ(CheckedAlignUp<uint32_t>(8, 4), 8u);
  EXPECT_EQ(CheckedAlignUp<uint32_t>(0xfffffffd, 8), std::nullopt);
  EXPECT_EQ(DivideRoundingUp<uint32_t>(0xffffffff, 2), 0x80000000u);
}

}  // namespace
}  // namespace webnnd
