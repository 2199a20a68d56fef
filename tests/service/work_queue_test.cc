#include "service/session/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
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

// --- Short tasks --------------------------------------------------------------------------------

TEST(WorkQueue, ShortTasks_RunHereInOrder) {
  std::vector<int> order;
  int drained = 0;
  WorkQueue queue("test", [&] { ++drained; });
  std::thread::id caller = std::this_thread::get_id();
  for (int i = 0; i < 3; ++i) {
    queue.PostShort([&, i] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      order.push_back(i);
    });
  }
  EXPECT_TRUE(order.empty());
  queue.RunShort(/*here=*/true);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(drained, 1);
  queue.RunShort(/*here=*/true);
  EXPECT_EQ(drained, 1);
}

TEST(WorkQueue, ShortTasks_RunOnTheThreadWhereNotHere) {
  std::promise<std::thread::id> ran;
  WorkQueue queue("test");
  queue.PostShort([&] { ran.set_value(std::this_thread::get_id()); });
  queue.RunShort(/*here=*/false);
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(WorkQueue, LongTaskAmongShortOnes_SendsAllToTheThread) {
  std::promise<void> all_posted;  // Else the thread may be done before the last one comes.
  std::promise<void> done;
  std::vector<std::thread::id> ran;
  WorkQueue queue("test");
  auto note = [&] { ran.push_back(std::this_thread::get_id()); };
  queue.PostShort(note);
  queue.Post([&] {
    all_posted.get_future().wait();
    note();
  });
  queue.PostShort([&] {
    note();
    done.set_value();
  });
  all_posted.set_value();
  queue.RunShort(/*here=*/true);
  done.get_future().wait();
  ASSERT_EQ(ran.size(), 3u);
  for (std::thread::id thread : ran) EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(WorkQueue, ShortTaskBehindALongOne_WaitsForIt) {
  std::promise<void> started;
  std::promise<void> may_end;
  std::promise<void> done;
  std::vector<int> order;
  WorkQueue queue("test");
  queue.Post([&] {
    started.set_value();
    may_end.get_future().wait();
    order.push_back(1);
  });
  started.get_future().wait();
  queue.PostShort([&] {
    order.push_back(2);
    done.set_value();
  });
  queue.RunShort(/*here=*/true);
  may_end.set_value();
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(WorkQueue, TaskPostedByAShortOne_RunsOnTheThread) {
  std::promise<std::thread::id> ran;
  WorkQueue queue("test");
  queue.PostShort([&] { queue.Post([&] { ran.set_value(std::this_thread::get_id()); }); });
  queue.RunShort(/*here=*/true);
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

// From two threads, as by the I/O thread and one that builds: never two tasks at a time, none lost.
TEST(WorkQueue, ShortAndLongTasks_NeverRunAtOnce) {
  constexpr int kTasks = 20000;
  int ran = 0;  // Guarded by the queue.
  std::promise<void> done;
  WorkQueue queue("test");
  auto count = [&] {
    if (++ran == 2 * kTasks) done.set_value();
  };
  std::thread other([&] {
    for (int i = 0; i < kTasks; ++i) queue.Post(count);
  });
  for (int i = 0; i < kTasks; ++i) {
    queue.PostShort(count);
    queue.RunShort(i % 3 != 0);
  }
  other.join();
  ASSERT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
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
