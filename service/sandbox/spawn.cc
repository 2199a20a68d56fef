#include "service/sandbox/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/fault.h"

namespace webnnd::service {
namespace {

using fault::Kind;

constexpr char kProgram[] = "/proc/self/exe";
constexpr uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
// "nobody" on every distribution, and the kernel's overflow id.
constexpr uid_t kNobody = 65534;

// What the child reports before it dies: the step that failed, and errno.
struct ChildFailure {
  enum Step : int { kGroups, kIdentity, kDescriptors, kExec } step;
  int error;
};

std::string_view StepName(ChildFailure::Step step) {
  switch (step) {
    case ChildFailure::kGroups:
      return "setgroups";
    case ChildFailure::kIdentity:
      return "setresuid";
    case ChildFailure::kDescriptors:
      return "dup2";
    case ChildFailure::kExec:
      return "execve of the program";
  }
  return "start";
}

// The ids outside that the child's uid 0 and gid 0 stand for.
struct OutsideIds {
  uid_t uid;
  gid_t gid;
  bool drop_groups;
};

// A daemon of root's must not lend root's files to its workers; any other user can only map itself.
OutsideIds ChooseOutsideIds() {
  struct stat program;
  bool others_may_run = stat(kProgram, &program) == 0 &&
                        (program.st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH);
  if (geteuid() == 0 && others_may_run) return {kNobody, kNobody, true};
  return {geteuid(), getegid(), false};
}

Status WriteProcFile(pid_t pid, std::string_view file, std::string_view text) {
  std::string path = fmt::format("/proc/{}/{}", pid, file);
  UniqueFd fd(SYS_CALL(Kind::kDescriptor, open(path.c_str(), O_WRONLY | O_CLOEXEC)));
  if (!fd.valid() ||
      SYS_CALL(Kind::kFile, write(fd.get(), text.data(), text.size())) != ssize_t(text.size())) {
    return ErrnoError(fmt::format("writing {} of the new user namespace", file));
  }
  return {};
}

Status MapIds(pid_t pid, const OutsideIds& ids) {
  // Without privilege the kernel wants setgroups switched off before it takes a map of groups.
  if (!ids.drop_groups) TRY(WriteProcFile(pid, "setgroups", "deny"));
  TRY(WriteProcFile(pid, "uid_map", fmt::format("0 {} 1", ids.uid)));
  TRY(WriteProcFile(pid, "gid_map", fmt::format("0 {} 1", ids.gid)));
  return {};
}

struct ChildPlan {
  int sync;
  int parents_sync;
  int null;
  int inherited[kInheritedDescriptorsMax];
  int inherited_count;
  bool namespaces;
  bool drop_groups;
  char* const* argv;
  char* const* envp;
};

[[noreturn]] void Fail(int sync, ChildFailure::Step step) {
  ChildFailure failure{step, errno};
  (void)!write(sync, &failure, sizeof failure);
  _exit(127);
}

// Between clone and exec: system calls only.
[[noreturn]] void RunChild(const ChildPlan& plan) {
  // Else the child would hold its own end open, and not notice that the daemon has died.
  close(plan.parents_sync);
  char go = 0;
  if (read(plan.sync, &go, 1) != 1) _exit(127);
  if (plan.namespaces) {
    if (plan.drop_groups && setgroups(0, nullptr) != 0) Fail(plan.sync, ChildFailure::kGroups);
    if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) {
      Fail(plan.sync, ChildFailure::kIdentity);
    }
  }
  // Inherited descriptors first go out of the way of the numbers that are about to be used.
  int inherited[kInheritedDescriptorsMax];
  const int sync = fcntl(plan.sync, F_DUPFD_CLOEXEC, 16);
  bool moved = sync >= 0;
  for (int i = 0; i < plan.inherited_count; ++i) {
    inherited[i] = fcntl(plan.inherited[i], F_DUPFD_CLOEXEC, 16);
    moved = moved && inherited[i] >= 0;
  }
  moved = moved && dup2(plan.null, STDIN_FILENO) >= 0 && dup2(plan.null, STDOUT_FILENO) >= 0;
  for (int i = 0; moved && i < plan.inherited_count; ++i) {
    moved = dup2(inherited[i], kInheritedDescriptor + i) >= 0;
  }
  if (!moved) Fail(plan.sync, ChildFailure::kDescriptors);
  // Whatever the daemon inherited itself, without close-on-exec.
  close_range(static_cast<unsigned>(kInheritedDescriptor + plan.inherited_count), ~0u,
              CLOSE_RANGE_CLOEXEC);
  // The kernel shares processor time between sessions, not threads, where it groups tasks by them
  // (sched_autogroup): a client gets no more of it by keeping more threads busy.
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(kProgram, plan.argv, plan.envp);
  Fail(sync, ChildFailure::kExec);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void KillAndReap(const SpawnedProcess& process) {
  kill(process.pid, SIGKILL);
  siginfo_t info;
  Reap(process, info);
}

// Gives the child its ids, lets it go, and waits until it executes the program.
Status Release(const SpawnedProcess& process, const SpawnOptions& options, const OutsideIds& ids,
               int sync) {
  if (options.namespaces) TRY(MapIds(process.pid, ids));
  if (SYS_CALL(Kind::kSend, send(sync, "g", 1, MSG_NOSIGNAL)) != 1) {
    return ErrnoError("releasing the child");
  }
  ChildFailure failure;
  ssize_t got;
  do {
    got = SYS_CALL(Kind::kReceive, read(sync, &failure, sizeof failure));
  } while (got < 0 && errno == EINTR);
  if (got == 0) return {};
  if (got != sizeof failure) return InternalError("the child ends before it runs the program");
  errno = failure.error;
  return ErrnoError(StepName(failure.step));
}

}  // namespace

Result<SpawnedProcess> Spawn(const SpawnOptions& options) {
  CHECK(options.inherited_descriptors.size() <= kInheritedDescriptorsMax);
  int pair[2];
  if (SYS_CALL(Kind::kDescriptor, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) !=
      0) {
    return ErrnoError("socketpair");
  }
  UniqueFd ours(pair[0]), theirs(pair[1]);
  UniqueFd null(SYS_CALL(Kind::kDescriptor, open("/dev/null", O_RDWR | O_CLOEXEC)));
  if (!null.valid()) return ErrnoError("opening /dev/null");
  std::vector<char*> argv = Pointers(options.arguments), envp = Pointers(options.environment);
  OutsideIds ids = ChooseOutsideIds();
  ChildPlan plan{.sync = theirs.get(),
                 .parents_sync = ours.get(),
                 .null = null.get(),
                 .inherited = {},
                 .inherited_count = static_cast<int>(options.inherited_descriptors.size()),
                 .namespaces = options.namespaces,
                 .drop_groups = ids.drop_groups,
                 .argv = argv.data(),
                 .envp = envp.data()};

  std::copy(options.inherited_descriptors.begin(), options.inherited_descriptors.end(),
            plan.inherited);
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = CLONE_PIDFD | (options.namespaces ? kNamespaces : 0);
  arguments.pidfd = reinterpret_cast<uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  long pid = SYS_CALL(Kind::kProcess, syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == 0) RunChild(plan);
  if (pid < 0) {
    return ErrnoError("clone3 with new namespaces").AddContext("sandbox step namespaces");
  }
  SpawnedProcess process{static_cast<pid_t>(pid), UniqueFd(pidfd)};
  theirs.Reset();
  Status released = Release(process, options, ids, ours.get());
  if (!released.ok()) {
    KillAndReap(process);
    return std::move(released).error().AddContext("sandbox step namespaces");
  }
  return process;
}

bool Reap(const SpawnedProcess& process, siginfo_t& info) {
  info = {};
  const auto pidfd = static_cast<id_t>(process.pidfd.get());
  while (SYS_CALL(Kind::kProcess, waitid(P_PIDFD, pidfd, &info, WEXITED)) != 0) {
    if (errno == EINTR) continue;
    // By its number, which nobody else has while it is not reaped.
    return waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED) == 0;
  }
  return true;
}

}  // namespace webnnd::service
