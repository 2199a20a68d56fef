// ThreadTimes: whether a thread gets to run, as the kernel's scheduler tells.
#ifndef WEBNND_SERVICE_BROKER_THREAD_TIMES_H_
#define WEBNND_SERVICE_BROKER_THREAD_TIMES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace webnnd::service {

// In nanoseconds, since the thread began.
struct ThreadTimes {
  int64_t ran_ns = 0;
  int64_t waited_ns = 0;     // For a processor, up to when it last got one.
  bool is_runnable = false;  // It runs, or waits for a processor.
};

// Of a process's first thread, from /proc (proc(5), and Documentation/scheduler/sched-stats.rst of
// Linux). Nothing when the process is gone, or where the kernel does not say.
std::optional<ThreadTimes> ReadThreadTimes(pid_t pid);

// How many of the `elapsed_ms` between two looks at a thread it cannot have used, for it waited for
// a processor: 0 to `elapsed_ms`. One that is still waiting may have slept before, which is not
// told apart.
int64_t WaitedMs(const ThreadTimes& before, const ThreadTimes& after, int64_t elapsed_ms);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_THREAD_TIMES_H_
