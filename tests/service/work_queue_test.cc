#include "service/session/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

namespace webnnd::service {
namespace {

TEST(WorkQueue, Tasks_RunInOrderOnOneThread) {
  std::vector<int> order;
  std::promise<void> done;
  std::atomic<bool> here = false;
  std::thread::id caller = std::this_thread::get_id();
  WorkQueue queue("test");
  for (int i = 0; i < 100; ++i) {
    queue.Post([&, i] {
      order.push_back(i);
      here = here || std::this_thread::get_id() == caller;
    });
  }
  queue.Post([&] { done.set_value(); });
  done.get_future().wait();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  EXPECT_FALSE(here);
}

TEST(WorkQueue, Drained_RunsAfterEachBatch) {
  std::atomic<int> ran = 0;
  std::promise<int> drained;
  std::promise<void> all_posted;
  bool told = false;
  WorkQueue queue("test", [&] {
    // The first batch is the task that waits; the second holds the rest.
    if (ran == 4 && !std::exchange(told, true)) drained.set_value(ran);
  });
  auto posted = all_posted.get_future().share();
  queue.Post([&, posted] {
    posted.wait();
    ++ran;
  });
  for (int i = 0; i < 3; ++i) queue.Post([&] { ++ran; });
  all_posted.set_value();
  EXPECT_EQ(drained.get_future().get(), 4);
}

TEST(WorkQueue, TaskPostedByATask_Runs) {
  std::promise<void> done;
  WorkQueue queue("test");
  queue.Post([&] { queue.Post([&] { done.set_value(); }); });
  done.get_future().wait();
}

TEST(WorkQueue, Stopped_DropsWhatWaitsAndFreesIt) {
  std::promise<void> started;
  std::promise<void> may_end;
  auto held = std::make_shared<int>(1);
  std::atomic<bool> second_ran = false;
  {
    WorkQueue queue("test");
    queue.Post([&] {
      started.set_value();
      may_end.get_future().wait();
    });
    started.get_future().wait();
    queue.Post([&second_ran, held] { second_ran = true; });
    std::thread stopper([&] { queue.Stop(); });
    // Stop marks the queue before it waits; give it the time.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    may_end.set_value();
    stopper.join();
    queue.Post([&second_ran] { second_ran = true; });
  }
  EXPECT_FALSE(second_ran);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(WorkQueue, FinishedTask_ReleasesWhatItHolds) {
  auto held = std::make_shared<int>(1);
  std::promise<long> count;
  WorkQueue queue("test");
  queue.Post([held] {});
  queue.Post([&] { count.set_value(held.use_count()); });
  EXPECT_EQ(count.get_future().get(), 1);
}

TEST(WorkQueue, WithoutThread_RunsOnTheCallerWhenTold) {
  std::vector<int> order;
  WorkQueue queue(
      "test", [&] { order.push_back(-1); }, /*has_thread=*/false);
  EXPECT_FALSE(queue.RunPending());
  // What a task posts waits for the next time.
  queue.Post([&] { queue.Post([&] { order.push_back(2); }); });
  queue.Post([&] { order.push_back(1); });
  EXPECT_TRUE(order.empty());
  EXPECT_TRUE(queue.RunPending());
  EXPECT_EQ(order, (std::vector<int>{1, -1}));
  EXPECT_TRUE(queue.RunPending());
  EXPECT_EQ(order, (std::vector<int>{1, -1, 2, -1}));
  EXPECT_FALSE(queue.RunPending());
}

}  // namespace
}  // namespace webnnd::service
