// What the kernel tells of a thread that sleeps, runs, or shares a processor.
#include "service/broker/thread_times.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace webnnd::service {
namespace {

constexpr int64_t kLookMs = 400;

// Another process, which is gone at the end of the scope.
class Child {
 public:
  explicit Child(const std::function<void()>& run) : pid_(fork()) {
    if (pid_ != 0) return;
    run();
    _exit(0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void Sleep() {
  for (;;) pause();
}

void RunOnTheFirstProcessor() {
  cpu_set_t allowed, first;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed)) ++processor;
  CPU_ZERO(&first);
  CPU_SET(processor, &first);
  sched_setaffinity(0, sizeof first, &first);
  for (volatile bool on = true; on;) {
  }
}

int64_t WaitedMsOf(pid_t pid) {
  usleep(50'000);  // It begins.
  const auto before = ReadThreadTimes(pid);
  usleep(kLookMs * 1000);
  const auto after = ReadThreadTimes(pid);
  EXPECT_TRUE(before && after);
  if (!before || !after) return -1;
  return WaitedMs(*before, *after, kLookMs);
}

bool KernelTells() { return ReadThreadTimes(getpid()).has_value(); }

TEST(ThreadTimes, OneThatSleeps_DoesNotWait) {
  if (!KernelTells()) GTEST_SKIP() << "the kernel keeps no such times";
  const Child child(Sleep);
  EXPECT_LT(WaitedMsOf(child.pid()), kLookMs / 4);
  EXPECT_FALSE(ReadThreadTimes(child.pid())->is_runnable);
}

TEST(ThreadTimes, OneOfFourOnAProcessor_WaitsMostOfTheTime) {
  if (!KernelTells()) GTEST_SKIP() << "the kernel keeps no such times";
  const Child first(RunOnTheFirstProcessor), second(RunOnTheFirstProcessor),
      third(RunOnTheFirstProcessor), fourth(RunOnTheFirstProcessor);
  const int64_t waited_ms = WaitedMsOf(first.pid());
  EXPECT_GT(waited_ms, kLookMs / 4);
  EXPECT_TRUE(ReadThreadTimes(first.pid())->is_runnable);
  // It runs all the same.
  EXPECT_GT(ReadThreadTimes(first.pid())->ran_ns, 0);
}

TEST(ThreadTimes, ProcessThatIsGone_HasNone) {
  pid_t pid;
  {
    const Child child(Sleep);
    pid = child.pid();
  }
  EXPECT_FALSE(ReadThreadTimes(pid).has_value());
}

TEST(ThreadTimes, Waited_IsOfTheTimeBetween) {
  const ThreadTimes asleep{.ran_ns = 10'000'000, .waited_ns = 20'000'000};
  const ThreadTimes later{.ran_ns = 40'000'000, .waited_ns = 90'000'000};
  ThreadTimes runnable = later;
  runnable.is_runnable = true;
  EXPECT_EQ(WaitedMs(asleep, later, 200), 70);
  EXPECT_EQ(WaitedMs(asleep, later, 50), 50);  // What ended then may have begun before.
  EXPECT_EQ(WaitedMs(asleep, runnable, 200), 170);
  EXPECT_EQ(WaitedMs(asleep, runnable, 20), 0);
}

}  // namespace
}  // namespace webnnd::service
