// Threads that share a grid's workgroups run each of them once (base/shared_grid.h).
#include "base/shared_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <latch>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace webnnd {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

using Workgroups = std::vector<uint32_t>;

// Calls `grid` for those of `count` from `begin` on up to `end`; says which ones ran.
Workgroups CallFor(SharedGrid& grid, uint32_t begin, uint32_t end, uint32_t count) {
  Workgroups ran;
  for (uint32_t i = begin; i < end; ++i) {
    grid.Call(i, count, [&](uint32_t workgroup) { ran.push_back(workgroup); });
  }
  return ran;
}

TEST(SharedGrid, WhoComesFirst_RunsAll) {
  SharedGrid grid;
  EXPECT_THAT(CallFor(grid, 0, 3, 6), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(CallFor(grid, 3, 6, 6), IsEmpty());
  // The next one, from its middle: what is before it comes last, and backwards.
  EXPECT_THAT(CallFor(grid, 3, 6, 6), ElementsAre(3, 4, 5, 2, 1, 0));
  EXPECT_THAT(CallFor(grid, 0, 3, 6), IsEmpty());
}

TEST(SharedGrid, LastCall_SaysHowLongItTook) {
  SharedGrid grid;
  const auto nothing = [](uint32_t) {};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(grid.Call(2, 3, nothing), std::nullopt);
    EXPECT_EQ(grid.Call(0, 3, [](uint32_t) { FAIL(); }), std::nullopt);
    const std::optional<int64_t> ns = grid.Call(1, 3, nothing);
    ASSERT_TRUE(ns.has_value());
    EXPECT_GE(*ns, 0);
  }
  // While one workgroup takes a while, so does its grid.
  constexpr auto kLong = std::chrono::milliseconds(2);
  const auto ns = grid.Call(0, 1, [&](uint32_t) { std::this_thread::sleep_for(kLong); });
  EXPECT_GE(ns.value_or(0), std::chrono::nanoseconds(kLong).count());
}

// Which of its own are left to a thread that is slow: the ones that come next to it.
TEST(SharedGrid, WhoIsDone_TakesThoseOfASlowerOneFromTheEnd) {
  SharedGrid grid;
  constexpr uint32_t kCount = 12;
  std::latch slow_has_begun(1);
  std::latch fast_is_at_ten(1);
  std::latch slow_goes_on(1);
  Workgroups slow;
  Workgroups fast;
  std::thread thread([&] {
    for (uint32_t i = 6; i < kCount; ++i) {
      grid.Call(i, kCount, [&](uint32_t workgroup) {
        slow.push_back(workgroup);
        if (workgroup != 6) return;
        slow_has_begun.count_down();
        fast_is_at_ten.wait();
      });
    }
    slow_goes_on.count_down();
  });
  slow_has_begun.wait();
  for (uint32_t i = 0; i < 6; ++i) {
    grid.Call(i, kCount, [&](uint32_t workgroup) {
      fast.push_back(workgroup);
      if (workgroup != 10) return;
      fast_is_at_ten.count_down();
      slow_goes_on.wait();
    });
  }
  thread.join();
  EXPECT_THAT(fast, ElementsAre(0, 1, 2, 3, 4, 5, 11, 10));
  EXPECT_THAT(slow, ElementsAre(6, 7, 8, 9));
}

// As llvmpipe's pool has them: as many runs of the grid as threads, and what is left over; who is
// done takes the next run.
class Pool {
 public:
  explicit Pool(uint32_t threads) : threads_(threads), barrier_(threads) {}

  // How often each workgroup of these grids, one after the other, ran; and how many last calls each
  // grid had.
  using Runs = std::vector<std::vector<std::atomic<int>>>;
  std::pair<Runs, std::vector<int>> Run(SharedGrid& grid, const std::vector<uint32_t>& counts) {
    Runs runs;
    for (const uint32_t count : counts) runs.emplace_back(count);
    std::vector<std::atomic<int>> last_calls(counts.size());
    std::vector<std::atomic<uint32_t>> next(counts.size());
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < threads_; ++i) {
      threads.emplace_back([&, i] {
        for (size_t g = 0; g < counts.size(); ++g) {
          const uint32_t part = std::max<uint32_t>(counts[g] / threads_, 1);
          for (uint32_t begin; (begin = next[g].fetch_add(part)) < counts[g];) {
            for (uint32_t w = begin; w < std::min(begin + part, counts[g]); ++w) {
              const auto run = [&](uint32_t workgroup) {
                ++runs[g][workgroup];
                // One of them is slower than the others.
                for (uint32_t k = 0; i == 0 && k < 50; ++k) asm volatile("");
              };
              if (grid.Call(w, counts[g], run).has_value()) ++last_calls[g];
            }
          }
          barrier_.arrive_and_wait();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return std::pair(std::move(runs), std::vector<int>(last_calls.begin(), last_calls.end()));
  }

 private:
  uint32_t threads_;
  std::barrier<> barrier_;
};

TEST(SharedGrid, EachWorkgroup_RunsOnce) {
  constexpr uint32_t kMax = SharedGrid::kUnitsMax;
  std::vector<uint32_t> counts;
  for (int i = 0; i < 20; ++i) {
    counts.insert(counts.end(), {1, 2, 3, 15, 16, 17, 31, 64, 200, kMax - 1, kMax, kMax + 1,
                                 2 * kMax, 2 * kMax + 1, 5'000, 1});
  }
  counts.push_back(65'535);
  for (const uint32_t threads : {1, 2, 3, 7}) {
    SharedGrid grid;
    const auto [runs, last_calls] = Pool(threads).Run(grid, counts);
    EXPECT_THAT(last_calls, Each(1));
    for (size_t g = 0; g < counts.size(); ++g) {
      for (uint32_t w = 0; w < counts[g]; ++w) {
        ASSERT_EQ(runs[g][w], 1) << w << " of " << counts[g] << ", threads " << threads;
      }
    }
  }
}

// Lines of the cache know grids by 32 bits.
TEST(SharedGrid, GridsWhoseNumbersComeAgain_AreNewOnes) {
  SharedGrid grid;
  EXPECT_EQ(CallFor(grid, 0, 700, 700).size(), 700);
  grid.SetGrids(UINT32_MAX - 1);
  for (const uint32_t count : {2, 700, 2, 700}) {
    EXPECT_EQ(CallFor(grid, 0, count, count).size(), count);
  }
}

TEST(SharedGrid, LargeGrids_AreSharedByUnits) {
  SharedGrid grid;
  constexpr uint32_t kCount = 3'000'001;
  uint32_t ran = 0;
  EXPECT_EQ(grid.Call(kCount - 1, kCount, [&](uint32_t) { ++ran; }), std::nullopt);
  EXPECT_EQ(ran, kCount);
}

// The driver would have to call otherwise than it does: nothing that this computes is right then.
TEST(SharedGridDeathTest, CallsThatAreNone_EndTheProcess) {
  const auto nothing = [](uint32_t) {};
  const auto call_twice = [&] {
    SharedGrid grid;
    grid.Call(0, 2, nothing);
    grid.Call(0, 2, nothing);
  };
  EXPECT_DEATH(call_twice(), "ended <= all");
  const auto call_of_two = [&] {
    SharedGrid grid;
    grid.Call(0, 2, nothing);
    grid.Call(1, 3, nothing);
  };
  EXPECT_DEATH(call_of_two(), "count == count_");
}

}  // namespace
}  // namespace webnnd
