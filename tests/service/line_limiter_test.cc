#include "service/broker/line_limiter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace webnnd::service {
namespace {

// "reason: lines", for comparing.
std::vector<std::string> Texts(const std::vector<LineLimiter::LeftOut>& left_out) {
  std::vector<std::string> texts;
  for (const auto& [reason, lines] : left_out) {
    texts.push_back(reason + ": " + std::to_string(lines));
  }
  return texts;
}

TEST(LineLimiter, Flood_IsALineASecondAndACount) {
  LineLimiter limiter;
  uint64_t lines = 0, told = 0;
  // A hundred a second, for ten seconds.
  for (int64_t now_ms = 5000; now_ms < 15000; now_ms += 10) {
    if (limiter.Take("full", now_ms)) {
      ++lines;
      ++told;
    }
    for (const LineLimiter::LeftOut& left_out : limiter.TakeLeftOut(now_ms)) {
      ++lines;
      told += left_out.lines;
    }
  }
  EXPECT_EQ(lines, 10u);
  EXPECT_EQ(limiter.deadline_ms(), 15000);
  for (const LineLimiter::LeftOut& left_out : limiter.TakeLeftOut(15000)) told += left_out.lines;
  EXPECT_EQ(told, 1000u);
}

TEST(LineLimiter, EachReason_HasALineOfItsOwn) {
  LineLimiter limiter;
  EXPECT_TRUE(limiter.Take("full", 0));
  EXPECT_TRUE(limiter.Take("other user", 400));
  EXPECT_FALSE(limiter.Take("full", 500));
  EXPECT_FALSE(limiter.Take("other user", 500));
  EXPECT_FALSE(limiter.Take("other user", 999));
  EXPECT_TRUE(limiter.TakeLeftOut(999).empty());
  EXPECT_EQ(limiter.deadline_ms(), 1000);
  EXPECT_EQ(Texts(limiter.TakeLeftOut(1000)), std::vector<std::string>{"full: 1"});
  EXPECT_EQ(limiter.deadline_ms(), 1400);
  EXPECT_EQ(Texts(limiter.TakeLeftOut(1400)), std::vector<std::string>{"other user: 2"});
}

TEST(LineLimiter, OnceAllIsSaid_NothingIsKept) {
  LineLimiter limiter;
  EXPECT_EQ(limiter.deadline_ms(), INT64_MAX);
  EXPECT_TRUE(limiter.Take("full", 0));
  EXPECT_FALSE(limiter.Take("full", 1));
  // The line that says so is this second's.
  EXPECT_EQ(limiter.TakeLeftOut(1000).size(), 1u);
  EXPECT_FALSE(limiter.Take("full", 1500));
  EXPECT_EQ(Texts(limiter.TakeLeftOut(2000)), std::vector<std::string>{"full: 1"});
  EXPECT_TRUE(limiter.TakeLeftOut(3000).empty());
  EXPECT_EQ(limiter.deadline_ms(), INT64_MAX);
  EXPECT_TRUE(limiter.Take("full", 3000));
}

}  // namespace
}  // namespace webnnd::service
