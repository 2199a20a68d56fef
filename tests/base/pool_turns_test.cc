// In which order threads of a pool take their parts, on a clock of the test's own.
#include "base/pool_turns.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace webnnd {
namespace {

class PoolTurnsTest : public testing::Test {
 protected:
  // One call, to which there comes one on each of these processors at once; each part takes so
  // long.
  void Call(std::initializer_list<int> processors, int64_t part_ns = 10 * PoolTurns::kLongNs) {
    now_ns_ += 1'000'000;
    turns_.Begin(now_ns_);
    for (const int processor : processors) turns_.Take(processor, now_ns_ + 1'000);
    for (size_t i = 0; i < processors.size(); ++i) turns_.Finish(now_ns_ + 1'000 + part_ns);
  }
  void CallOften(std::initializer_list<int> processors, int64_t part_ns = 10 * PoolTurns::kLongNs) {
    for (int i = 0; i < 20; ++i) Call(processors, part_ns);
  }
  void Begin() {
    now_ns_ += 1'000'000;
    turns_.Begin(now_ns_);
  }
  bool MustWait(int processor, int64_t after_ns = 1'000) const {
    return turns_.MustWait(processor, now_ns_ + after_ns);
  }

  PoolTurns turns_;
  int64_t now_ns_ = 0;
};

TEST_F(PoolTurnsTest, WhoIsOnAHigherProcessor_WaitsForThoseOnLowerOnes) {
  CallOften({0, 2, 5});
  Begin();
  EXPECT_FALSE(MustWait(0));
  EXPECT_TRUE(MustWait(2));
  EXPECT_TRUE(MustWait(5));
  turns_.Take(0, now_ns_ + 1'000);
  EXPECT_FALSE(MustWait(2));
  EXPECT_TRUE(MustWait(5));
  turns_.Take(2, now_ns_ + 1'000);
  EXPECT_FALSE(MustWait(5));
  // One that comes from elsewhere finds its place.
  EXPECT_FALSE(MustWait(3));
}

TEST_F(PoolTurnsTest, NobodyWaits_LongerThanOthersTakeToCome) {
  CallOften({0, 1});
  Begin();
  EXPECT_TRUE(MustWait(1, PoolTurns::kInTimeNs - 1));
  EXPECT_FALSE(MustWait(1, PoolTurns::kInTimeNs));
}

TEST_F(PoolTurnsTest, NobodyWaits_ForAProcessorFromWhichNoneCameInTime) {
  CallOften({0, 1});
  // Once is enough, and whoever comes again is awaited after two calls.
  Call({1});
  Begin();
  EXPECT_FALSE(MustWait(1));
  Call({0, 1});
  Call({0, 1});
  Begin();
  EXPECT_TRUE(MustWait(1));
  // In time is before others have given up.
  Call({1});
  turns_.Take(0, now_ns_ + PoolTurns::kInTimeNs);
  Begin();
  EXPECT_FALSE(MustWait(1));
}

TEST_F(PoolTurnsTest, NobodyWaits_WherePartsAreShort) {
  CallOften({0, 1}, PoolTurns::kLongNs / 2);
  Begin();
  EXPECT_FALSE(MustWait(1));
  CallOften({0, 1});
  Begin();
  EXPECT_TRUE(MustWait(1));
  CallOften({0, 1}, PoolTurns::kLongNs / 2);
  Begin();
  EXPECT_FALSE(MustWait(1));
}

// A thread without a processor, say.
TEST_F(PoolTurnsTest, OnePartThatTakesForEver_IsSoonForgotten) {
  CallOften({0, 1}, 100);
  Call({0, 1}, int64_t{1} << 40);
  for (int i = 0; i < 5; ++i) Call({0, 1}, 100);
  Begin();
  EXPECT_FALSE(MustWait(1));
}

TEST_F(PoolTurnsTest, ANewPool_KnowsNothing) {
  Begin();
  EXPECT_FALSE(MustWait(1));
  CallOften({0, 1});
  turns_.Reset();
  Begin();
  EXPECT_FALSE(MustWait(1));
  turns_.Finish(now_ns_ + 1'000'000);  // Of nobody's part.
  Call({0, 1}, 100);
  Call({0, 1}, 100);
  Begin();
  EXPECT_FALSE(MustWait(1));
}

TEST_F(PoolTurnsTest, Processors_AreAnyNumbers) {
  CallOften({3, 64 + 5, 63});
  Begin();
  EXPECT_FALSE(MustWait(3));
  EXPECT_TRUE(MustWait(64 + 5));
  EXPECT_TRUE(MustWait(63));
}

}  // namespace
}  // namespace webnnd
