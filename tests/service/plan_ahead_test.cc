#include "service/session/plan_ahead.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace webnnd::service {
namespace {

using webidl::Assignment;

const webidl::Symbols kSymbols = {{"past", {0, 20}}, {"seq", {1, 4}}};

TEST(PredictSizes, WhatGrows_GrowsOn) {
  EXPECT_EQ(PredictSizes({{"past", 7}, {"seq", 1}}, {{"past", 8}, {"seq", 1}}, kSymbols),
            (Assignment{{"past", 9}, {"seq", 1}}));
  EXPECT_EQ(PredictSizes({{"past", 9}, {"seq", 2}}, {{"past", 6}, {"seq", 3}}, kSymbols),
            (Assignment{{"past", 3}, {"seq", 4}}));
}

TEST(PredictSizes, NothingToTell_IsNone) {
  const Assignment now = {{"past", 8}, {"seq", 1}};
  EXPECT_EQ(PredictSizes({}, now, kSymbols), std::nullopt);
  EXPECT_EQ(PredictSizes(now, now, kSymbols), std::nullopt);
  EXPECT_EQ(PredictSizes({{"past", 0}, {"seq", 1}}, {{"past", 11}, {"seq", 1}}, kSymbols),
            std::nullopt);
  EXPECT_EQ(PredictSizes({{"past", 8}, {"seq", 2}}, now, kSymbols), std::nullopt);
  EXPECT_EQ(PredictSizes({}, {}, {}), std::nullopt);
}

CompiledGraph Marked(uint64_t mark) {
  CompiledGraph compiled;
  compiled.plan.arena_bytes = mark;
  return compiled;
}

TEST(PlanAhead, WorkIsDoneOnce_WhoeverComesFirst) {
  for (bool runs : {false, true}) {
    int count = 0;
    PlanAhead ahead({}, [&]() -> Result<CompiledGraph> { return Marked(++count); });
    if (runs) ahead.Run();
    auto plan = ahead.Take();
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->plan.arena_bytes, 1u);
    ahead.Run();
    EXPECT_EQ(count, 1);
  }
}

TEST(PlanAhead, WorkThatHasBegun_IsWaitedFor) {
  std::promise<void> begun, goes_on;
  PlanAhead ahead({}, [&]() -> Result<CompiledGraph> {
    begun.set_value();
    goes_on.get_future().wait();
    return Marked(7);
  });
  std::thread other([&] { ahead.Run(); });
  begun.get_future().wait();
  std::thread release([&] { goes_on.set_value(); });
  auto plan = ahead.Take();
  other.join();
  release.join();
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->plan.arena_bytes, 7u);
}

TEST(PlanAhead, Errors_AreTakenToo) {
  PlanAhead ahead({{"past", 3}},
                  []() -> Result<CompiledGraph> { return OutOfMemoryError("no memory ({})", 3); });
  ahead.Run();
  auto plan = ahead.Take();
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message(), "no memory (3)");
  EXPECT_EQ(ahead.sizes(), (Assignment{{"past", 3}}));
}

}  // namespace
}  // namespace webnnd::service
