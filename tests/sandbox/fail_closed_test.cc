// A kernel that lacks a part of the sandbox, or a host that forbids it: there is no service then.
// The kernel is made to lack it by a filter that the daemon inherits; its workers are this program.
#include <gtest/gtest.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "service/broker/broker.h"
#include "service/worker/worker.h"
#include "tests/sandbox/run_tests_or_worker.h"
#include "tests/sandbox/unprivileged.h"

namespace webnnd::test {
namespace {

// --- The worker: greets its client. -------------------------------------------------------------

void Greet(UniqueFd client, service::ClientLink&) { (void)!write(client.get(), "x", 1); }

void RunWorkerMain(const service::WorkerOptions& options) {
  _exit(service::RunWorker(
      options, {.open_devices = [](const service::KernelCacheLink&) -> Status { return {}; },
                .serve = Greet}));
}

// --- What is missing. ---------------------------------------------------------------------------

// A call fails with `error`; with a condition, only where an argument compares so.
struct Refusal {
  const char* call;
  int error;
  std::optional<scmp_arg_cmp> condition = std::nullopt;
};

scmp_arg_cmp Option(uint64_t value) { return {0, SCMP_CMP_EQ, value, 0}; }

struct Missing {
  std::string_view name;
  std::vector<Refusal> refusals;
  std::string_view step;  // What the log names.
};

std::ostream& operator<<(std::ostream& out, const Missing& missing) { return out << missing.name; }

const Missing kMissing[] = {
    {"user_namespaces", {{"clone3", EPERM}}, "sandbox step namespaces"},
    {"user_namespaces_used_up", {{"clone3", ENOSPC}}, "sandbox step namespaces"},
    {"clone3", {{"clone3", ENOSYS}}, "sandbox step namespaces"},
    {"mount", {{"mount", EPERM}}, "sandbox step root"},
    {"open_tree", {{"open_tree", ENOSYS}}, "sandbox step root"},
    {"mount_setattr", {{"mount_setattr", ENOSYS}}, "sandbox step root"},
    {"move_mount", {{"move_mount", ENOSYS}}, "sandbox step root"},
    {"pivot_root", {{"pivot_root", EPERM}}, "sandbox step root"},
    {"umount2", {{"umount2", EPERM}}, "sandbox step root"},
    {"securebits", {{"prctl", EPERM, Option(PR_SET_SECUREBITS)}}, "sandbox step capabilities"},
    {"bounding_set", {{"prctl", EPERM, Option(PR_CAPBSET_DROP)}}, "sandbox step capabilities"},
    {"capset", {{"capset", EPERM}}, "sandbox step capabilities"},
    {"no_new_privs", {{"prctl", EINVAL, Option(PR_SET_NO_NEW_PRIVS)}}, "sandbox step privileges"},
    {"landlock", {{"landlock_create_ruleset", ENOSYS}}, "sandbox step landlock"},
    {"landlock_at_boot", {{"landlock_create_ruleset", EOPNOTSUPP}}, "sandbox step landlock"},
    {"landlock_rules", {{"landlock_add_rule", EINVAL}}, "sandbox step landlock"},
    {"landlock_layers", {{"landlock_restrict_self", E2BIG}}, "sandbox step landlock"},
    {"limits",
     {{"prlimit64", EPERM, scmp_arg_cmp{2, SCMP_CMP_NE, 0, 0}}},
     "sandbox step resources"},
    {"dumpable", {{"prctl", EINVAL, Option(PR_SET_DUMPABLE)}}, "sandbox step dumpable"},
    {"seccomp_filters", {{"seccomp", EINVAL}}, "seccomp"},
    {"seccomp", {{"seccomp", ENOSYS}, {"prctl", EINVAL, Option(PR_SET_SECCOMP)}}, "seccomp"},
    // An older kernel has the call, but cannot put the filter on the driver's threads.
    {"seccomp_call", {{"seccomp", ENOSYS}}, "seccomp"},
};

bool Refuse(const std::vector<Refusal>& refusals) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  bool ok = filter != nullptr;
  for (const Refusal& refusal : refusals) {
    int number = seccomp_syscall_resolve_name(refusal.call);
    ok = ok && number >= 0 &&
         seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(static_cast<uint16_t>(refusal.error)),
                                number, refusal.condition ? 1 : 0,
                                refusal.condition ? &*refusal.condition : nullptr) == 0;
  }
  ok = ok && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return ok;
}

// --- The daemon. --------------------------------------------------------------------------------

struct Ended {
  bool served = false;
  int status = -1;  // 0: the daemon has served; 1: it has given up.
  std::string log;
};

[[noreturn]] void RunDaemon(UniqueFd client, int log, const std::vector<Refusal>& refusals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (dup2(log, STDERR_FILENO) < 0 || !Refuse(refusals)) _exit(2);
  InitLog("daemon under test", LogLevel::kError);
  service::BrokerOptions options;
  options.connected.push_back(std::move(client));
  Status status = service::RunBroker(std::move(options));
  if (!status.ok()) LogError("{}", status.error().ToString());
  _exit(status.ok() ? 0 : 1);
}

// One client of a daemon from whose kernel this is missing.
Ended ServeOneClient(const std::vector<Refusal>& refusals) {
  Ended ended;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return ended;
  UniqueFd ours(pair[0]), theirs(pair[1]);
  UniqueFd log(memfd_create("log", MFD_CLOEXEC));
  std::fflush(nullptr);
  pid_t daemon = fork();
  if (daemon == 0) {
    ours.Reset();
    RunDaemon(std::move(theirs), log.get(), refusals);
  }
  theirs.Reset();
  char greeting = 0;
  ended.served = read(ours.get(), &greeting, 1) == 1 && greeting == 'x';
  int status = 0;
  waitpid(daemon, &status, 0);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  char text[8192];
  ssize_t got = pread(log.get(), text, sizeof text, 0);
  ended.log.assign(text, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return ended;
}

class FailClosed : public testing::TestWithParam<Missing> {};

TEST_P(FailClosed, WithoutAPartOfTheSandbox_ThereIsNoService) {
#ifdef WEBNND_SANITIZERS
  if (GetParam().name == std::string_view("limits")) {
    GTEST_SKIP() << "sanitizers end for want of setrlimit before the worker asks for it";
  }
#endif
  Ended ended = ServeOneClient(GetParam().refusals);
  EXPECT_FALSE(ended.served);
  EXPECT_EQ(ended.status, 1) << ended.log;
  EXPECT_NE(ended.log.find(GetParam().step), std::string::npos) << ended.log;
}

INSTANTIATE_TEST_SUITE_P(Missing, FailClosed, testing::ValuesIn(kMissing),
                         [](const auto& info) { return std::string(info.param.name); });

// The same with a filter that takes nothing away.
TEST(Complete, Kernel_ServesTheClient) {
  Ended ended = ServeOneClient({{"reboot", EPERM}});
  EXPECT_TRUE(ended.served) << ended.log;
  EXPECT_EQ(ended.status, 0) << ended.log;
}

WEBNND_TEST_AS_UNPRIVILEGED_USER();

}  // namespace
}  // namespace webnnd::test

int main(int argc, char** argv) {
  return webnnd::test::RunTestsOrWorker(argc, argv, webnnd::test::RunWorkerMain);
}
