// Who waits for a pool of lavapipe's does a thread's part of its work (base/stand_ins.h).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/fake_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace webnnd {
namespace {

constexpr int kTasks = 2'000;

// A pool as the driver has it: what it asks of condition variables, the driver's library asks.
class DriversPool {
 public:
  explicit DriversPool(int threads, FakePool::Hooks hooks = {}) {
    static void* const library = dlopen(WEBNND_FAKE_LAVAPIPE, RTLD_NOW);
    if (library == nullptr) ADD_FAILURE() << dlerror();
    make_ = Find<decltype(make_)>(library, "MakePool");
    run_ = Find<decltype(run_)>(library, "RunInPool");
    signal_ = Find<decltype(signal_)>(library, "SignalPool");
    destroy_ = Find<decltype(destroy_)>(library, "DestroyPool");
    pool_ = make_(threads, hooks);
  }
  ~DriversPool() { destroy_(pool_); }
  DriversPool(const DriversPool&) = delete;
  DriversPool& operator=(const DriversPool&) = delete;

  void Run(void (*work)(void* data, int i), void* data, int count,
           const timespec* deadline = nullptr) {
    run_(pool_, work, data, count, deadline);
  }
  void Signal() { signal_(pool_); }

 private:
  template <typename Function>
  static Function Find(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
  }

  FakePool* (*make_)(int, FakePool::Hooks);
  void (*run_)(FakePool*, void (*)(void*, int), void*, int, const timespec*);
  void (*signal_)(FakePool*);
  void (*destroy_)(FakePool*);
  FakePool* pool_;
};

// Counts who does what: the thread that waits, or another one.
struct Counts {
  pid_t waiter = gettid();
  std::atomic<int> done{0};
  std::atomic<int> done_by_waiter{0};

  static void Work(void* data, int) {
    auto& counts = *static_cast<Counts*>(data);
    ++counts.done;
    if (gettid() == counts.waiter) ++counts.done_by_waiter;
  }
};

// Runs as many tasks and, where who waits has done no part of them, others for some seconds: a pool
// is known once all of its threads have waited, and where others want the processors they may come
// late. Each task is so many parts.
void ExpectStandIn(int tasks, int parts, const std::function<void(Counts& counts)>& run_task) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  Counts counts;
  int run = 0;
  for (; run < tasks || (counts.done_by_waiter == 0 && std::chrono::steady_clock::now() < end);
       ++run) {
    run_task(counts);
  }
  EXPECT_EQ(counts.done, parts * run);
  EXPECT_GT(counts.done_by_waiter, 0);
}
void ExpectStandIn(DriversPool& pool) {
  ExpectStandIn(kTasks, 2, [&](Counts& counts) { pool.Run(&Counts::Work, &counts, 2); });
}

// Of two threads, one leaves its part to who waits, once it is known that somebody does.
TEST(StandIns, WhoWaitsForAPool_DoesAPart) {
  DriversPool pool(2);
  ExpectStandIn(pool);
}

// What processors do for others than this process, since it was made.
class OtherWork {
 public:
  OtherWork() : begin_(Now()) {}
  double Seconds() const { return Now() - begin_; }

 private:
  // Of all time, but for what this process took. The first line of /proc/stat: of user programs,
  // the same of low priority, of the kernel, idle, waiting, of interrupts, of late ones, and
  // stolen.
  static double Now() {
    std::ifstream file("/proc/stat");
    std::string name;
    double ticks[8] = {}, busy = 0;
    file >> name;
    for (double& number : ticks) file >> number;
    for (const int i : {0, 1, 2, 5, 6, 7}) busy += ticks[i];
    timespec own{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    return busy / static_cast<double>(sysconf(_SC_CLK_TCK)) -
           (static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec));
  }
  double begin_;
};

// Who waits is there at once, on a higher processor, and lets the other one take the first part all
// the same (base/pool_turns.h).
TEST(StandIns, OfLongParts_TheFirstIsDoneOnTheLowerProcessor) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  if (processors.size() < 2) GTEST_SKIP() << "there is one processor";
  static const auto stay_on = [](int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
  };
  struct Parts {
    int lower;
    int higher;
    int in_order = 0;
    int by_higher_first = 0;
    static void Begin(void* data) { stay_on(static_cast<Parts*>(data)->lower); }
    static void Work(void* data, int i) {
      auto& parts = *static_cast<Parts*>(data);
      if (i == 0) ++(sched_getcpu() == parts.lower ? parts.in_order : parts.by_higher_first);
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(80);
      while (std::chrono::steady_clock::now() < end) {
      }
    }
  };
  Parts parts{.lower = processors.front(), .higher = processors.back()};
  // Others that want the processors make threads late, and nobody waits for those: until there is a
  // moment without them.
  const OtherWork others;
  std::thread([&] {
    DriversPool pool(2, {.begin = &Parts::Begin, .data = &parts});
    stay_on(parts.higher);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      parts.in_order = 0;
      parts.by_higher_first = 0;
      for (int task = 0; task < 40; ++task) pool.Run(&Parts::Work, &parts, 2);
    } while (parts.in_order <= 2 * parts.by_higher_first && std::chrono::steady_clock::now() < end);
  }).join();
  const bool is_in_order = parts.in_order > 2 * parts.by_higher_first;
  if (!is_in_order && others.Seconds() > 0.2) {
    GTEST_SKIP() << "NOT TESTED: others want the processors (" << others.Seconds() << " s)";
  }
  EXPECT_TRUE(is_in_order) << parts.in_order << " of the last ones";
}

TEST(StandIns, TasksOfAnySize_AreDoneOnce) {
  for (const int threads : {2, 3, 8}) {
    DriversPool pool(threads);
    for (int count = 1; count < 40; ++count) {
      struct Marks {
        std::vector<int> of;
        static void Work(void* data, int i) { ++static_cast<Marks*>(data)->of[i]; }
      } marks{std::vector<int>(count)};
      for (int round = 0; round < 10; ++round) pool.Run(&Marks::Work, &marks, count);
      EXPECT_EQ(marks.of, std::vector<int>(count, 10)) << threads << " threads";
    }
  }
}

// The thread that left is needed, and nobody else, to end it.
TEST(StandIns, EveryThread_EndsAsItself) {
  struct Ends {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    static pid_t& Me() {
      thread_local pid_t me = 0;
      return me;
    }
    static void Begin(void* data) {
      ++static_cast<Ends*>(data)->begun;
      Me() = gettid();
    }
    static void End(void* data) { static_cast<Ends*>(data)->ended += Me() == gettid(); }
  };
  for (int round = 0; round < 200; ++round) {
    Ends ends;
    {
      DriversPool pool(3, {&Ends::Begin, &Ends::End, &ends});
      Counts counts;
      for (int task = 0; task < round % 8; ++task) pool.Run(&Counts::Work, &counts, 3);
      EXPECT_EQ(counts.done, 3 * (round % 8));
    }
    ASSERT_EQ(ends.begun, 3);
    ASSERT_EQ(ends.ended, 3) << "round " << round;
  }
}

TEST(StandIns, SeveralWaiters_GetAllTheirWorkDone) {
  DriversPool pool(2);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      Counts counts;
      for (int task = 0; task < kTasks / 4; ++task) pool.Run(&Counts::Work, &counts, 3);
      EXPECT_EQ(counts.done, 3 * (kTasks / 4));
    });
  }
  for (std::thread& waiter : waiters) waiter.join();
}

// Each end of a pool calls the thread back that left the other one, wherever that is just then.
TEST(StandIns, PoolsThatEnd_LeaveOthersAtWork) {
  std::atomic<bool> stop{false};
  std::thread churn([&] {
    while (!stop) {
      DriversPool other(2);
      Counts counts;
      for (int task = 0; task < 3; ++task) other.Run(&Counts::Work, &counts, 2);
      EXPECT_EQ(counts.done, 6);
    }
  });
  DriversPool pool(2);
  Counts counts;
  for (int task = 0; task < 2 * kTasks; ++task) pool.Run(&Counts::Work, &counts, 2);
  stop = true;
  churn.join();
  EXPECT_EQ(counts.done, 4 * kTasks);
}

// It may mean to give each thread a task, and wait until all have theirs.
TEST(StandIns, APoolThatIsSignalled_DoesItsWorkItself) {
  DriversPool pool(2);
  ExpectStandIn(pool);
  pool.Signal();
  Counts counts;
  for (int task = 0; task < kTasks; ++task) pool.Run(&Counts::Work, &counts, 2);
  EXPECT_EQ(counts.done, 2 * kTasks);
  EXPECT_EQ(counts.done_by_waiter, 0);
}

// Each thread of the pool is back, too.
TEST(StandIns, ASignalWhileSomebodyStandsIn_LosesNothing) {
  struct Meeting {
    std::atomic<int> present{0};
    std::atomic<bool> failed{false};
    static void Work(void* data, int) {
      auto& meeting = *static_cast<Meeting*>(data);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      for (++meeting.present; meeting.present < 2 && !meeting.failed; std::this_thread::yield()) {
        if (std::chrono::steady_clock::now() > end) meeting.failed = true;
      }
    }
  };
  for (int round = 0; round < 200; ++round) {
    DriversPool pool(2);
    Counts counts;
    std::atomic<int> begun{0};
    std::thread signaller([&] {
      while (begun < round % 40) std::this_thread::yield();
      pool.Signal();
    });
    for (int task = 0; task < 50; ++task) {
      ++begun;
      pool.Run(&Counts::Work, &counts, 2);
    }
    signaller.join();
    EXPECT_EQ(counts.done, 100);
    Meeting meeting;
    pool.Run(&Meeting::Work, &meeting, 2);
    ASSERT_FALSE(meeting.failed) << "round " << round;
  }
}

// More than there is room for: those that are left over wait as any.
TEST(StandIns, ManyPools_Work) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<DriversPool>> pools;
    for (int i = 0; i < 20; ++i) pools.push_back(std::make_unique<DriversPool>(2));
    ExpectStandIn(50, 20 * 2, [&](Counts& counts) {
      for (auto& pool : pools) pool->Run(&Counts::Work, &counts, 2);
    });
  }
}

// Those that are gone take nobody's room, wherever the next one lies.
TEST(StandIns, EachOfManyPoolsInTurn_HasAStandIn) {
  std::vector<std::unique_ptr<char[]>> old_places;
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    {
      DriversPool pool(2);
      ExpectStandIn(pool);
    }
    for (int i = 0; i < 4; ++i) {
      old_places.push_back(std::make_unique<char[]>(sizeof(FakePool)));
    }
  }
}

TEST(StandIns, APoolOfOneThread_DoesItsWorkItself) {
  DriversPool pool(1);
  Counts counts;
  for (int task = 0; task < 100; ++task) pool.Run(&Counts::Work, &counts, 2);
  EXPECT_EQ(counts.done, 200);
  EXPECT_EQ(counts.done_by_waiter, 0);
}

// Only lavapipe's is known to go by what is asked of it.
TEST(StandIns, APoolThatIsNotLavapipes_DoesItsWorkItself) {
  FakePool pool(2, {});
  Counts counts;
  for (int task = 0; task < kTasks; ++task) pool.Run(&Counts::Work, &counts, 2);
  EXPECT_EQ(counts.done, 2 * kTasks);
  EXPECT_EQ(counts.done_by_waiter, 0);
}

// Work may take longer than that.
TEST(StandIns, WhoWaitsUntilADeadline_WaitsOnly) {
  DriversPool pool(2);
  ExpectStandIn(pool);
  timespec far;
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 1'000;
  Counts counts;
  for (int task = 0; task < kTasks; ++task) pool.Run(&Counts::Work, &counts, 2, &far);
  EXPECT_EQ(counts.done, 2 * kTasks);
  EXPECT_EQ(counts.done_by_waiter, 0);
}

// What a wait leaves as it was.
TEST(StandIns, ErrnoOfTheWaiter_StaysItsOwn) {
  static const auto work = [](void* data, int i) {
    Counts::Work(data, i);
    errno = EDOM;
  };
  DriversPool pool(2);
  ExpectStandIn(kTasks, 2, [&](Counts& counts) {
    errno = E2BIG;
    pool.Run(work, &counts, 2);
    ASSERT_EQ(errno, E2BIG);
  });
}

#if defined(__x86_64__)
// How a thread of the pool treats subnormal numbers goes with its work, and not beyond.
TEST(StandIns, FloatingPointControl_IsThePoolsForItsWork) {
  struct Modes {
    std::atomic<int> flushing{0};
    std::atomic<int> not_flushing{0};
    static void Begin(void*) { _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON); }
    static void Work(void* data, int) {
      auto& modes = *static_cast<Modes*>(data);
      ++(_MM_GET_FLUSH_ZERO_MODE() == _MM_FLUSH_ZERO_ON ? modes.flushing : modes.not_flushing);
    }
  } modes;
  DriversPool pool(2, {&Modes::Begin, nullptr, nullptr});
  for (int task = 0; task < kTasks; ++task) {
    pool.Run(&Modes::Work, &modes, 2);
    ASSERT_NE(_MM_GET_FLUSH_ZERO_MODE(), _MM_FLUSH_ZERO_ON);
  }
  EXPECT_EQ(modes.flushing, 2 * kTasks);
  EXPECT_EQ(modes.not_flushing, 0);
}
#endif

}  // namespace
}  // namespace webnnd
