#include "tests/sandbox/inmate.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "service/sandbox/spawn.h"

namespace webnnd::test {
namespace {

// Exit statuses: 0 for done, 1..63 for broken, 64 + errno for denied. Errnos end at 133.
constexpr int kDeniedBase = 64;

Outcome OutcomeOf(const siginfo_t& info) {
  if (info.si_code != CLD_EXITED) return {Outcome::kKilled, info.si_status};
  if (info.si_status == 0) return {Outcome::kDone};
  if (info.si_status < kDeniedBase) return {Outcome::kBroken, info.si_status};
  return {Outcome::kDenied, info.si_status - kDeniedBase};
}

}  // namespace

bool Outcome::refused() const { return kind == kDenied || (kind == kKilled && number == SIGSYS); }

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::kDone:
      return out << "done";
    case Outcome::kDenied:
      return out << "denied (" << strerrorname_np(outcome.number) << ")";
    case Outcome::kKilled:
      return out << "killed (SIG" << sigabbrev_np(outcome.number) << ")";
    case Outcome::kBroken:
      return out << "broken (" << outcome.number << ")";
  }
  return out;
}

std::vector<std::string> InmateEnvironment() {
  std::vector<std::string> environment;
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "WEBNND_LOG"}) {
    if (const char* value = getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

Outcome RunInmate(const std::vector<std::string>& arguments, const InmateOptions& options) {
  service::SpawnOptions spawn{.environment = InmateEnvironment(),
                              .inherited_descriptors = options.inherited_descriptors,
                              .namespaces = options.namespaces};
  spawn.arguments = {"test", "inmate"};
  spawn.arguments.insert(spawn.arguments.end(), arguments.begin(), arguments.end());
  Result<service::SpawnedProcess> process = service::Spawn(spawn);
  if (!process.ok()) {
    std::fprintf(stderr, "%s\n", process.error().ToString().c_str());
    return {Outcome::kBroken, 1};
  }
  siginfo_t info{};
  while (waitid(P_PIDFD, static_cast<id_t>(process->pidfd.get()), &info, WEXITED) != 0) {
    if (errno != EINTR) return {Outcome::kBroken, 2};
  }
  return OutcomeOf(info);
}

void Report(long result) { _exit(result < 0 ? kDeniedBase + errno : 0); }

void ReportBroken(int number) { _exit(number); }

}  // namespace webnnd::test
