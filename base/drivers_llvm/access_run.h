// Runs of accesses that follow each other (access_order.h), and whose places are constants away
// from one: members of a run, which have a `constant`, modulo 2^32.
#ifndef WEBNND_BASE_DRIVERS_LLVM_ACCESS_RUN_H_
#define WEBNND_BASE_DRIVERS_LLVM_ACCESS_RUN_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace webnnd {

// The least constant; those before the first member's have wrapped around where 0 lies between.
template <typename Member>
uint32_t FirstConstant(const std::vector<Member>& run) {
  const uint32_t origin = run.front().constant;
  int32_t first = 0;
  for (const Member& member : run) {
    first = std::min(first, static_cast<int32_t>(member.constant - origin));
  }
  return origin + static_cast<uint32_t>(first);
}

// From there to the greatest.
template <typename Member>
uint32_t SpanOfConstants(const std::vector<Member>& run) {
  const uint32_t first = FirstConstant(run);
  uint32_t span = 0;
  for (const Member& member : run) span = std::max(span, member.constant - first);
  return span;
}

// Runs of `members`, which come in the order in which they run. Each joins the first run that it
// makes one of which `is_run` holds.
template <typename Member, typename IsRun>
std::vector<std::vector<Member>> JoinRuns(const std::vector<Member>& members, IsRun is_run) {
  std::vector<std::vector<Member>> runs;
  for (const Member& member : members) {
    const bool has_joined = std::ranges::any_of(runs, [&](std::vector<Member>& run) {
      run.push_back(member);
      if (is_run(run)) return true;
      run.pop_back();
      return false;
    });
    if (!has_joined) runs.push_back({member});
  }
  return runs;
}

}  // namespace webnnd

#endif  // WEBNND_BASE_DRIVERS_LLVM_ACCESS_RUN_H_
