#include "service/broker/thread_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace webnnd::service {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

}  // namespace

std::optional<ThreadTimes> ReadThreadTimes(pid_t pid) {
  ThreadTimes times;
  std::ifstream schedstat(fmt::format("/proc/{}/schedstat", pid));
  if (!(schedstat >> times.ran_ns >> times.waited_ns)) return std::nullopt;
  // Of the thread alone: of the process, the kernel would add up all of its threads' times.
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/stat", pid));
  const std::string stat{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // Behind the name, which may have anything in it.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  times.is_runnable = stat[name_end + 2] == 'R';
  return times;
}

int64_t WaitedMs(const ThreadTimes& before, const ThreadTimes& after, int64_t elapsed_ms) {
  const int64_t waited_ms = after.is_runnable
                                ? elapsed_ms - (after.ran_ns - before.ran_ns) / kNsPerMs
                                : (after.waited_ns - before.waited_ns) / kNsPerMs;
  return std::clamp<int64_t>(waited_ms, 0, elapsed_ms);
}

}  // namespace webnnd::service
