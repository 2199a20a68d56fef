#include "client/future.h"

#include <gtest/gtest.h>

#include <vector>

#include "client/event_queue.h"

namespace webnn {
namespace {

TEST(Future, Pending_CallsBackInOrderWhenResolved) {
  Future<int> future;
  std::vector<int> calls;
  future.Then([&](const Result<int>& result) { calls.push_back(*result); });
  future.Then([&](const Result<int>& result) { calls.push_back(*result + 1); });
  EXPECT_FALSE(future.ready());
  EXPECT_TRUE(calls.empty());
  future.Resolve(7);
  EXPECT_EQ(calls, (std::vector<int>{7, 8}));
}

TEST(Future, Ready_CallsBackAtOnce) {
  auto future = Future<int>::Ready(webnnd::QuotaError("too many ({})", 3));
  bool called = false;
  future.Then([&](const Result<int>& result) {
    called = true;
    EXPECT_EQ(result.error().cause(), Cause::kQuota);
  });
  EXPECT_TRUE(called);
}

TEST(Future, ResolvedTwice_KeepsTheFirst) {
  Future<int> future;
  Future<int> copy = future;
  copy.Resolve(1);
  future.Resolve(2);
  EXPECT_EQ(*future.result(), 1);
}

TEST(Future, CallbackDropsEveryCopy_ResultStaysValid) {
  auto future = std::make_unique<Future<std::vector<int>>>();
  Future<std::vector<int>> resolver = *future;
  size_t size = 0;
  future->Then([&](const Result<std::vector<int>>& result) {
    future.reset();
    size = result->size();
  });
  resolver.Resolve(std::vector<int>(100));
  EXPECT_EQ(size, 100u);
}

TEST(EventQueue, TaskThatPosts_WaitsForTheNextRun) {
  EventQueue events;
  int runs = 0;
  events.Post([&] {
    ++runs;
    events.Post([&] { ++runs; });
  });
  events.Run();
  EXPECT_EQ(runs, 1);
  events.Run();
  EXPECT_EQ(runs, 2);
}

TEST(EventQueue, RunInsideATask_KeepsTheOrder) {
  EventQueue events;
  std::vector<int> order;
  events.Post([&] {
    order.push_back(1);
    events.Wait();
    events.Run();
    order.push_back(4);
  });
  events.Post([&] { order.push_back(2); });
  events.Post([&] { order.push_back(3); });
  events.Run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace webnn
