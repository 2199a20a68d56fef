#include "service/sandbox/policy.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/check.h"
#include "base/limits.h"

// Linux 6.3; not in glibc 2.36.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace webnnd::service {
namespace {

constexpr uint64_t kWholeArgument = ~0ull;

constexpr ArgumentCondition Equals(uint8_t index, uint64_t value) {
  return {.index = index, .mask = kWholeArgument, .value = value};
}
constexpr ArgumentCondition Masked(uint8_t index, uint64_t mask, uint64_t value) {
  return {.index = index, .mask = mask, .value = value};
}
constexpr ArgumentCondition OwnPid(uint8_t index) {
  return {.index = index, .mask = kWholeArgument, .own_pid = true};
}

constexpr SyscallRule Allow(std::string_view name, std::string_view reason) {
  return {.name = name, .reason = reason};
}
constexpr SyscallRule AllowIf(std::string_view name, ArgumentCondition first,
                              std::string_view reason) {
  return {.name = name, .reason = reason, .conditions = {first}};
}
constexpr SyscallRule AllowIf(std::string_view name, ArgumentCondition first,
                              ArgumentCondition second, std::string_view reason) {
  return {.name = name, .reason = reason, .conditions = {first, second}};
}
constexpr SyscallRule Deny(std::string_view name, int error, std::string_view reason) {
  return {.name = name, .action = RuleAction::kDeny, .error = error, .reason = reason};
}
constexpr SyscallRule DenyIf(std::string_view name, int error, ArgumentCondition first,
                             std::string_view reason) {
  return {.name = name,
          .action = RuleAction::kDeny,
          .error = error,
          .reason = reason,
          .conditions = {first}};
}

// The flags with which pthread_create clones, exactly: one address space, no new namespace.
constexpr uint64_t kThreadCloneFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                       CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                       CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
constexpr uint64_t kMemfdFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL;

constexpr SyscallRule kStrictRules[] = {
    // Input and output on descriptors that are held already.
    Allow("read", "eventfds, and files of weights"),
    Allow("write", "eventfds, and the log on standard error"),
    Allow("readv", "frames"),
    Allow("writev", "frames"),
    Allow("recvmsg", "frames with descriptors, and the broker's messages"),
    Allow("sendmsg", "frames with descriptors, and answers to the broker"),
    AllowIf("recvfrom", Equals(4, 0), "recv() on a connected socket; no address is asked for"),
    AllowIf("sendto", Equals(4, 0), "send() on a connected socket; no address can be named"),
    Allow("shutdown", "ends a session"),
    Allow("close", "descriptors end"),
    Allow("lseek", "the size of a descriptor with weights"),
    Allow("pread64", "weights, read in ranges off the I/O thread"),
    Allow("pwrite64", "results into a memfd of the worker's own"),
    Allow("fstat", "what a client's descriptor is"),
    Allow("fstatfs", "on which file system it lies: none whose files are not plain bytes"),
    AllowIf("getsockopt", Equals(1, SOL_SOCKET), "that the client's socket is a Unix stream"),
    AllowIf("newfstatat", Masked(3, AT_EMPTY_PATH, AT_EMPTY_PATH),
            "glibc's fstat(): the descriptor itself"),
    AllowIf("fcntl", Equals(1, F_GETFD), "flags of a descriptor"),
    AllowIf("fcntl", Equals(1, F_SETFD), "close-on-exec"),
    AllowIf("fcntl", Equals(1, F_GETFL), "flags of a socket"),
    AllowIf("fcntl", Equals(1, F_SETFL), "non-blocking sockets"),
    AllowIf("fcntl", Equals(1, F_DUPFD_CLOEXEC), "UniqueFd::Duplicate"),
    AllowIf("fcntl", Equals(1, F_GET_SEALS), "a client's arena must be sealed"),
    AllowIf("fcntl", Equals(1, F_ADD_SEALS), "memfds that the worker makes"),
    AllowIf("ioctl", Equals(1, FIONBIO), "non-blocking sockets, as some libraries do it"),
    AllowIf("ioctl", Equals(1, FIONREAD), "bytes that wait in a socket"),
    DenyIf("ioctl", ENOTTY, Equals(1, TCGETS), "isatty() by stdio; no terminal is needed"),

    // Waiting.
    Allow("epoll_create1", "the session's event loop"),
    Allow("epoll_ctl", "the session's event loop"),
    Allow("epoll_wait", "the session's event loop"),
    Allow("epoll_pwait", "the session's event loop"),
    Allow("epoll_pwait2", "the session's event loop"),
    Allow("poll", "waiting on a few descriptors"),
    Allow("ppoll", "waiting on a few descriptors"),
    Allow("eventfd2", "waking a thread that polls"),

    // Memory. No mapping is ever writable and executable; new code comes by RW then RX (the JIT).
    AllowIf("mmap", Masked(2, PROT_EXEC, 0), "the heap, arenas of clients; never executable"),
    AllowIf("mprotect", Masked(2, PROT_EXEC, 0), "guard pages, relocations"),
    AllowIf("mprotect", Masked(2, PROT_EXEC | PROT_WRITE, PROT_EXEC),
            "lavapipe compiles shaders after the start: RW becomes RX"),
    Allow("munmap", "the heap, arenas of clients"),
    Allow("mremap", "realloc of large blocks"),
    Allow("madvise", "freed heap pages, thread stacks"),
    Allow("brk", "the heap"),
    AllowIf("memfd_create", Masked(1, ~kMemfdFlags & 0xffffffffu, 0),
            "arenas and driver memory; no huge pages, nothing executable"),
    Allow("ftruncate", "the size of a memfd"),
    Allow("sysinfo", "sysconf(): qsort and the driver ask for the size of memory"),

    // Threads of this process, and nothing else.
    AllowIf("clone", Equals(0, kThreadCloneFlags), "pthread_create; a new process is not a thread"),
    Deny("clone3", ENOSYS, "its flags lie behind a pointer; glibc then falls back to clone"),
    Allow("futex", "mutexes and condition variables"),
    Allow("set_robust_list", "the start of a thread"),
    Allow("rseq", "the start of a thread"),
    Allow("sched_yield", "spinning in the driver"),
    Allow("sched_getaffinity", "the number of cores"),
    Allow("sched_setaffinity", "lavapipe pins its threads; only our own are visible"),
    Deny("sched_setscheduler", EPERM, "Mesa lowers the priority of helper threads, and copes"),
    Allow("getcpu", "per-core caches in the driver"),
    Allow("gettid", "logs, and raise()"),
    Allow("getpid", "logs, and raise()"),
    AllowIf("prctl", Equals(0, PR_SET_NAME), "names of threads"),
    AllowIf("tgkill", OwnPid(0), "abort() and raise(): only this process"),
    AllowIf("prlimit64", Equals(0, 0), Equals(2, 0), "reading our own limits; changing none"),
    Allow("exit", "the end of a thread"),
    Allow("exit_group", "the end of the process"),

    // Signals.
    Allow("rt_sigaction", "abort()"),
    Allow("rt_sigprocmask", "the start of a thread, abort()"),
    Allow("rt_sigreturn", "the end of a signal handler"),
    Allow("sigaltstack", "the start and the end of a thread with its own signal stack"),
    Allow("restart_syscall", "the kernel resumes a wait after SIGCONT"),

    // Time and randomness.
    Allow("clock_gettime", "deadlines, where the vDSO falls back"),
    Allow("clock_getres", "deadlines"),
    Allow("clock_nanosleep", "sleeping"),
    Allow("nanosleep", "sleeping"),
    Allow("gettimeofday", "deadlines in the driver"),
    Allow("getrandom", "hash seeds"),

    // Who we are: the same for every worker, inside its namespace.
    Allow("getuid", "secure_getenv() and the driver"),
    Allow("geteuid", "secure_getenv() and the driver"),
    Allow("getgid", "secure_getenv() and the driver"),
    Allow("getegid", "secure_getenv() and the driver"),

    // What the driver and libraries try after the start, and cope with when it fails.
    Deny("openat", EACCES, "the driver looks for files; none may be opened"),
    Deny("open", EACCES, "as openat"),
    Deny("access", EACCES, "as openat"),
    Deny("faccessat", EACCES, "as openat"),
    Deny("faccessat2", EACCES, "as openat"),
    Deny("stat", EACCES, "as openat"),
    Deny("lstat", EACCES, "as openat"),
    Deny("statx", EACCES, "as openat"),
    Deny("statfs", EACCES, "as openat"),
    DenyIf("newfstatat", EACCES, Masked(3, AT_EMPTY_PATH, 0), "as openat: the file of a path"),
    Deny("readlink", EACCES, "as openat"),
    Deny("readlinkat", EACCES, "as openat"),
    Deny("getdents64", EACCES, "as openat"),
    Deny("getcwd", EACCES, "as openat"),
    Deny("mkdir", EACCES, "shader caches; there is no place for one"),
    Deny("mkdirat", EACCES, "shader caches"),
    Deny("unlink", EACCES, "shader caches"),
    Deny("unlinkat", EACCES, "shader caches"),
    Deny("uname", EPERM, "versions of the kernel are nobody's business"),
    Deny("getrusage", EPERM, "timers in the compiler"),
    Deny("setsockopt", EPERM, "buffer sizes are set before a socket is handed over"),
    Deny("kcmp", EPERM, "Mesa compares descriptors, and copes"),
};

constexpr SyscallRule kDebugRules[] = {
    Allow("pipe2", "UBSan probes addresses by writing them to a pipe"),
    Allow("pipe", "as pipe2"),
    Allow("mincore", "sanitizers probe addresses"),
    Allow("msync", "libunwind probes addresses"),
    Allow("sched_getparam", "pthread_getattr_np()"),
    Allow("sched_getscheduler", "pthread_getattr_np()"),
    Allow("sched_get_priority_min", "pthread_getattr_np()"),
    Allow("sched_get_priority_max", "pthread_getattr_np()"),
    Allow("getppid", "AddressSanitizer's report"),
    AllowIf("prctl", Equals(0, PR_GET_DUMPABLE), "LeakSanitizer asks whether it can trace"),
    Allow("dup", "validation layers redirect their log"),
    Deny("execve", EPERM, "sanitizers start a symbolizer, and cope"),
    Deny("socket", EPERM, "sanitizers' deadlock report asks for syslog, and copes"),
};

std::vector<SyscallRule> MakePolicy(SandboxProfile profile) {
  std::vector<SyscallRule> rules(std::begin(kStrictRules), std::end(kStrictRules));
  if (profile == SandboxProfile::kDebug) {
    rules.insert(rules.end(), std::begin(kDebugRules), std::end(kDebugRules));
  }
  return rules;
}

}  // namespace

std::string_view SandboxProfileName(SandboxProfile profile) {
  switch (profile) {
    case SandboxProfile::kStrict:
      return "strict";
    case SandboxProfile::kDebug:
      return "debug";
  }
  UNREACHABLE();
}

std::optional<SandboxProfile> SandboxProfileFromName(std::string_view name) {
  if (name == "strict") return SandboxProfile::kStrict;
  if (name == "debug") return SandboxProfile::kDebug;
  return std::nullopt;
}

SandboxProfile DefaultSandboxProfile() {
#ifdef WEBNND_SANITIZERS
  return SandboxProfile::kDebug;
#else
  return SandboxProfile::kStrict;
#endif
}

std::vector<SyscallRule> SyscallPolicy(SandboxProfile profile) { return MakePolicy(profile); }

std::vector<ResourceRule> ResourcePolicy(SandboxProfile profile) {
  std::vector<ResourceRule> rules = {
      {RLIMIT_CORE, "core", 0, "a core dump would hold a client's data"},
      {RLIMIT_NOFILE, "nofile", limits::kTasksInFlightMax + 256,
       "each task in flight may hold a client's file, and one too many ends the session; all else "
       "is under 64"},
      {RLIMIT_FSIZE, "fsize", 4 * limits::kArenaBytesMax, "no memfd or log grows without end"},
      {RLIMIT_NPROC, "nproc", 256, "the driver starts a thread per core; ours are four"},
  };
  if (profile == SandboxProfile::kStrict) {
    // Sanitizers reserve terabytes of shadow, so only here.
    rules.push_back({RLIMIT_AS, "as", 3 * limits::kDeviceBytesPerSessionMax,
                     "a client's device memory is host memory on lavapipe; one client must not "
                     "exhaust the machine"});
  }
  return rules;
}

}  // namespace webnnd::service
