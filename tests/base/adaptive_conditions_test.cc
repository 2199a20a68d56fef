// What POSIX says of condition variables, of those that this program has in place of the C
// library's (base/adaptive_conditions.cc).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// Of who counts them: nobody takes what it lends.
thread_local int64_t* yields = nullptr;

}  // namespace

// In place of the C library's.
extern "C" int sched_yield() noexcept {
  if (yields == nullptr) return static_cast<int>(syscall(SYS_sched_yield));
  ++*yields;
  return 0;
}

namespace webnnd {
namespace {

using std::chrono::milliseconds;

// Longer than anybody spins.
constexpr milliseconds kLong{20};

timespec After(clockid_t clock, long ms) {
  timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += ms * 1'000'000;
  time.tv_sec += time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}

std::string ModuleOf(void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 ? info.dli_fname : "";
}

int64_t CpuNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

TEST(AdaptiveConditions, LibrariesFindThoseOfTheProgram) {
  const std::string program = ModuleOf(reinterpret_cast<void*>(&ModuleOf));
  for (const char* name :
       {"pthread_cond_init", "pthread_cond_destroy", "pthread_cond_wait", "pthread_cond_timedwait",
        "pthread_cond_clockwait", "pthread_cond_signal", "pthread_cond_broadcast"}) {
    EXPECT_EQ(ModuleOf(dlsym(RTLD_DEFAULT, name)), program) << name;
  }
}

// That is what makes them spin; of all others nothing differs.
TEST(AdaptiveConditions, ThoseThatLavapipeMakes_AreMarked) {
  void* library = dlopen(WEBNND_FAKE_LAVAPIPE, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto make = reinterpret_cast<int (*)(pthread_cond_t*)>(dlsym(library, "MakeCondition"));
  ASSERT_NE(make, nullptr);
  const pthread_cond_t plain = PTHREAD_COND_INITIALIZER;
  pthread_cond_t own = PTHREAD_COND_INITIALIZER;
  pthread_cond_t lavapipes = PTHREAD_COND_INITIALIZER;
  // Before it is known where the library lies, and after.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(pthread_cond_init(&own, nullptr), 0);
    EXPECT_EQ(std::memcmp(&own, &plain, sizeof(plain)), 0);
    ASSERT_EQ(make(&lavapipes), 0);
    EXPECT_NE(std::memcmp(&lavapipes, &plain, sizeof(plain)), 0);
  }
  dlclose(library);
}

// A waiter that still spins, and one that sleeps.
TEST(AdaptiveConditions, Signal_WakesAWaiter) {
  for (const milliseconds delay : {milliseconds(0), kLong}) {
    std::mutex mutex;
    std::condition_variable changed;
    bool waits = false;
    bool done = false;
    std::thread waiter([&] {
      std::unique_lock lock(mutex);
      waits = true;
      changed.wait(lock, [&] { return done; });
    });
    for (bool seen = false; !seen;) {
      std::lock_guard lock(mutex);
      seen = waits;
    }
    std::this_thread::sleep_for(delay);
    {
      std::lock_guard lock(mutex);
      done = true;
    }
    changed.notify_one();
    waiter.join();
  }
}

TEST(AdaptiveConditions, Broadcast_WakesAll) {
  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0;
  bool done = false;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 8; ++i) {
    waiters.emplace_back([&] {
      std::unique_lock lock(mutex);
      ++waiting;
      changed.wait(lock, [&] { return done; });
    });
  }
  for (int seen = 0; seen < 8;) {
    std::lock_guard lock(mutex);
    seen = waiting;
  }
  std::this_thread::sleep_for(kLong);
  std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
  mutex.unlock();
  for (std::thread& waiter : waiters) waiter.join();
  mutex.lock();
}

// Nothing is lost between those who hand out and those who wait, however quick they are.
TEST(AdaptiveConditions, EveryItem_Arrives) {
  constexpr int kItems = 50'000;
  std::mutex mutex;
  std::condition_variable filled;
  std::condition_variable emptied;
  int ready = 0;
  int taken = 0;
  std::vector<std::thread> takers;
  for (int i = 0; i < 3; ++i) {
    takers.emplace_back([&] {
      std::unique_lock lock(mutex);
      while (true) {
        filled.wait(lock, [&] { return ready > 0 || taken == kItems; });
        if (taken == kItems) return;
        --ready;
        if (++taken == kItems) filled.notify_all();
        emptied.notify_one();
      }
    });
  }
  {
    std::unique_lock lock(mutex);
    for (int i = 0; i < kItems; ++i) {
      emptied.wait(lock, [&] { return ready < 2; });
      ++ready;
      filled.notify_one();
      // Now and then until they sleep.
      if (i % 10'000 == 9'999) {
        lock.unlock();
        std::this_thread::sleep_for(kLong);
        lock.lock();
      }
    }
  }
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(taken, kItems);
  EXPECT_EQ(ready, 0);
}

TEST(AdaptiveConditions, ADeadline_EndsTheWait) {
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, clock);
    pthread_cond_t condition;
    ASSERT_EQ(pthread_cond_init(&condition, &attributes), 0);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    const auto start = std::chrono::steady_clock::now();
    timespec deadline = After(clock, kLong.count());
    EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &deadline), ETIMEDOUT);
    EXPECT_GE(std::chrono::steady_clock::now() - start, kLong - milliseconds(1));
    // One that has passed, and those at the ends of time.
    EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &deadline), ETIMEDOUT);
    deadline.tv_sec = std::numeric_limits<time_t>::min();
    EXPECT_EQ(pthread_cond_clockwait(&condition, &mutex, clock, &deadline), ETIMEDOUT);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0) << "the mutex is not the waiter's again";
    EXPECT_EQ(pthread_cond_destroy(&condition), 0);
  }
}

TEST(AdaptiveConditions, ADeadlineFarAway_IsNoError) {
  std::mutex mutex;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  std::atomic<bool> done = false;
  std::thread signaller([&] {
    std::this_thread::sleep_for(kLong);
    std::lock_guard lock(mutex);
    done = true;
    pthread_cond_signal(&condition);
  });
  timespec deadline = {.tv_sec = std::numeric_limits<time_t>::max(), .tv_nsec = 0};
  std::unique_lock lock(mutex);
  while (!done) {
    ASSERT_EQ(pthread_cond_timedwait(&condition, mutex.native_handle(), &deadline), 0);
  }
  lock.unlock();
  signaller.join();
}

TEST(AdaptiveConditions, WhatIsNoTime_IsRefused) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  timespec deadline = {.tv_sec = 0, .tv_nsec = 1'000'000'000};
  EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &deadline), EINVAL);
  deadline.tv_nsec = -1;
  EXPECT_EQ(pthread_cond_timedwait(&condition, &mutex, &deadline), EINVAL);
  deadline.tv_nsec = 0;
  EXPECT_EQ(pthread_cond_clockwait(&condition, &mutex, CLOCK_THREAD_CPUTIME_ID, &deadline), EINVAL);
  pthread_mutex_unlock(&mutex);
}

TEST(AdaptiveConditions, AMutexThatIsNotTheWaiters_IsAnError) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  EXPECT_EQ(pthread_cond_wait(&condition, &mutex), EPERM);
  EXPECT_EQ(pthread_cond_destroy(&condition), 0);
}

// POSIX: it is safe to destroy one as soon as all that waited were woken.
TEST(AdaptiveConditions, OneWhoseWaitersWereWoken_CanBeDestroyed) {
  for (int round = 0; round < 500; ++round) {
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    std::mutex mutex;
    std::atomic<int> waiting = 0;
    std::vector<std::thread> waiters;
    for (int i = 0; i < 2; ++i) {
      waiters.emplace_back([&] {
        std::unique_lock lock(mutex);
        ++waiting;
        pthread_cond_wait(&condition, mutex.native_handle());
      });
    }
    while (waiting < 2) std::this_thread::yield();
    std::unique_lock lock(mutex);
    pthread_cond_broadcast(&condition);
    pthread_cond_destroy(&condition);
    pthread_cond_t reused;
    std::memset(&reused, 0xff, sizeof(reused));
    std::memcpy(&condition, &reused, sizeof(condition));
    lock.unlock();
    for (std::thread& waiter : waiters) waiter.join();
    ASSERT_EQ(std::memcmp(&condition, &reused, sizeof(condition)), 0) << "round " << round;
  }
}

TEST(AdaptiveConditions, WhoWaitsLong_Sleeps) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  const int64_t before = CpuNs();
  EXPECT_EQ(changed.wait_for(lock, 10 * kLong), std::cv_status::timeout);
  EXPECT_LT(CpuNs() - before, std::chrono::nanoseconds(kLong).count());
}

// It would keep a processor from the threads that it waits for. Counted is how often it lends the
// processor: the time that this takes is that of other programs, too.
TEST(AdaptiveConditions, WhoWaitsAloneForLong_HardlySpins) {
  void* library = dlopen(WEBNND_FAKE_LAVAPIPE, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto make = reinterpret_cast<int (*)(pthread_cond_t*)>(dlsym(library, "MakeCondition"));
  pthread_cond_t condition;
  ASSERT_EQ(make(&condition), 0);
  constexpr int kWaits = 50;
  // In 500 ns, at 20 and more each, and in the 200 us of a pool's thread, where others take the
  // processor for 5 us each time.
  constexpr int kYieldsMost = 25 + 40;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  auto wait = [&] {
    const timespec deadline = After(CLOCK_REALTIME, 2);
    EXPECT_EQ(pthread_cond_timedwait(&condition, mutex.native_handle(), &deadline), ETIMEDOUT);
  };
  wait();  // Which is short, for all that it knows.
  int64_t count = 0;
  yields = &count;
  for (int i = 0; i < kWaits; ++i) wait();
  yields = nullptr;
  EXPECT_GT(count, 0);
  EXPECT_LE(count, kWaits * kYieldsMost);
  dlclose(library);
}

}  // namespace
}  // namespace webnnd
