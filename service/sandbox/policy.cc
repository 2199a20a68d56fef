#include "service/sandbox/policy.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/check.h"
#include "base/limits.h"

namespace webnnd::service {
namespace {

constexpr uint64_t kWholeArgument = ~0ull;

// What a worker may map beside device memory, and beside as much again that was given back and is
// kept: code, stacks of threads, arenas, descriptions of graphs, staging. Most of it is never used.
constexpr uint64_t kAddressSpaceBytes = 8ull << 30;

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

constexpr SyscallRule Rare(SyscallRule rule) {
  rule.rare = true;
  return rule;
}
// An ioctl by its type and number, whatever the size of its argument: drivers pass older and newer
// structs.
constexpr SyscallRule AllowIoctl(char type, uint8_t number, std::string_view reason) {
  return AllowIf("ioctl", Masked(1, 0xffff, static_cast<uint64_t>(type) << 8 | number), reason);
}

// The flags with which pthread_create clones, exactly: one address space, no new namespace.
constexpr uint64_t kThreadCloneFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                       CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                       CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

constexpr SyscallRule kStrictRules[] = {
    // Input and output on descriptors that are held already.
    Rare(Allow("read", "the eventfd by which replies that wait wake the I/O thread")),
    Rare(
        Allow("write", "that eventfd, the log on standard error, and kernels that it has fetched")),
    Rare(Allow("writev", "the C library's last words before abort()")),
    Allow("recvmsg", "frames with descriptors, and the broker's messages"),
    Allow("sendmsg", "frames with descriptors, and answers to the broker"),
    Allow("shutdown", "ends a session"),
    Allow("close", "descriptors end"),
    Rare(Allow("lseek", "stdio, where standard error is a file")),
    Allow("pread64", "weights, read in ranges off the I/O thread"),
    Allow("pwrite64", "results into a memfd of the client's"),
    Rare(Allow("fstat",
               "what a client's descriptor is, where the C library does not use newfstatat")),
    Allow("fstatfs", "on which file system it lies: none whose files are not plain bytes"),
    AllowIf("getsockopt", Equals(1, SOL_SOCKET), "that the client's socket is a Unix stream"),
    AllowIf("newfstatat", Masked(3, AT_EMPTY_PATH, AT_EMPTY_PATH),
            "glibc's fstat(): the descriptor itself"),
    AllowIf("fcntl", Equals(1, F_SETFD), "close-on-exec"),
    AllowIf("fcntl", Equals(1, F_GETFL), "flags of a socket"),
    AllowIf("fcntl", Equals(1, F_SETFL), "non-blocking sockets"),
    AllowIf("fcntl", Equals(1, F_GET_SEALS), "a client's arena must be sealed"),
    Rare(DenyIf("ioctl", ENOTTY, Equals(1, TCGETS), "isatty() by stdio; no terminal is needed")),

    // Waiting.
    Allow("poll", "waiting on a few descriptors"),
    Rare(Allow("ppoll", "poll() where the kernel has no such call: aarch64")),
    Allow("eventfd2", "waking a thread that polls"),

    // Memory. No mapping is ever writable and executable; new code comes by RW then RX (the JIT).
    AllowIf("mmap", Masked(2, PROT_EXEC, 0), "the heap, arenas of clients; never executable"),
    AllowIf("mprotect", Masked(2, PROT_EXEC, 0), "guard pages, relocations"),
    AllowIf("mprotect", Masked(2, PROT_EXEC | PROT_WRITE, PROT_EXEC),
            "lavapipe compiles shaders after the start: RW becomes RX"),
    Allow("munmap", "the heap, arenas of clients"),
    Rare(Allow("mremap", "realloc of large blocks")),
    Allow("madvise",
          "freed heap pages, pages of libraries, thread stacks, huge pages for large buffers"),
    Rare(Allow("brk", "the heap of the first thread, when it grows")),
    Rare(Allow("ftruncate",
               "lavapipe since Mesa 24: device memory is one file that grows, made early")),
    Rare(Allow("sysinfo", "qsort of large arrays asks for the size of memory")),

    // Threads of this process, and nothing else.
    AllowIf("clone", Equals(0, kThreadCloneFlags), "pthread_create; a new process is not a thread"),
    Deny("clone3", ENOSYS, "its flags lie behind a pointer; glibc then falls back to clone"),
    Allow("futex", "mutexes and condition variables"),
    Allow("set_robust_list", "the start of a thread"),
    Allow("rseq", "the start of a thread"),
    Rare(Allow("sched_yield", "spinning, where threads wait for each other")),
    Rare(
        Allow("sched_getaffinity", "the number of cores, for threads that the driver starts late")),
    Rare(Deny("sched_setaffinity", EPERM, "lavapipe pins threads that it starts late, and copes")),
    Rare(Deny("sched_setscheduler", EPERM, "Mesa lowers the priority of such threads, and copes")),
    Rare(Deny("setpriority", EPERM, "as sched_setscheduler: threads that write to Mesa's cache")),
    Rare(Allow("getcpu", "per-core caches in the driver, where the vDSO falls back")),
    Rare(Allow("gettid", "abort() and raise()")),
    Rare(Allow("getpid", "abort() and raise()")),
    Rare(AllowIf("prctl", Equals(0, PR_SET_NAME), "names of threads that the driver starts late")),
    Rare(AllowIf("tgkill", OwnPid(0), "abort() and raise(): only this process")),
    Rare(AllowIf("prlimit64", Equals(0, 0), Equals(2, 0),
                 "sizes of stacks: reading our own limits, changing none")),
    Allow("exit", "the end of a thread"),
    Allow("exit_group", "the end of the process"),

    // Signals.
    Rare(Allow("rt_sigaction", "abort()")),
    Allow("rt_sigprocmask", "the start of a thread, abort()"),
    Rare(Allow("rt_sigreturn", "the end of a signal handler")),
    Rare(Allow("sigaltstack", "the start and the end of a thread with its own signal stack")),
    Rare(Allow("restart_syscall", "the kernel resumes a wait after SIGCONT")),

    // Time and randomness.
    Rare(Allow("clock_gettime", "deadlines, where the vDSO falls back")),
    Rare(Allow("clock_getres", "deadlines, where the vDSO falls back")),
    Rare(Allow("clock_nanosleep", "waits of the driver that are short")),
    Rare(Allow("nanosleep", "as clock_nanosleep")),
    Rare(Allow("gettimeofday", "deadlines in the driver, where the vDSO falls back")),
    Rare(Allow("getrandom", "seeds of hashes and of the heap")),

    // Who we are: the same for every worker, inside its namespace.
    Rare(Allow("getuid", "the driver, before it believes a variable of the environment")),
    Rare(Allow("geteuid", "as getuid")),
    Rare(Allow("getgid", "as getuid")),
    Rare(Allow("getegid", "as getuid")),

    // What the driver and libraries try after the start, and cope with when it fails. Other
    // versions try other calls.
    Deny("openat", EACCES, "the driver looks for files; none may be opened"),
    Rare(Deny("open", EACCES, "as openat")),
    Rare(Deny("access", EACCES, "as openat")),
    Rare(Deny("faccessat", EACCES, "as openat")),
    Rare(Deny("faccessat2", EACCES, "as openat")),
    Rare(Deny("stat", EACCES, "as openat")),
    Rare(Deny("lstat", EACCES, "as openat")),
    Rare(Deny("statx", EACCES, "as openat")),
    Rare(Deny("statfs", EACCES, "as openat")),
    Rare(
        DenyIf("newfstatat", EACCES, Masked(3, AT_EMPTY_PATH, 0), "as openat: the file of a path")),
    Rare(Deny("readlink", EACCES, "as openat")),
    Rare(Deny("readlinkat", EACCES, "as openat")),
    Rare(Deny("getdents64", EACCES, "as openat")),
    Rare(Deny("getcwd", EACCES, "as openat")),
    Rare(Deny("mkdir", EACCES, "shader caches; there is no place for one")),
    Rare(Deny("mkdirat", EACCES, "shader caches")),
    Rare(Deny("unlink", EACCES, "shader caches")),
    Rare(Deny("unlinkat", EACCES, "shader caches")),
    Rare(Deny("flock", EPERM,
              "before the driver writes to its cache; a worker adds what it is given")),
    Rare(Deny("uname", EPERM, "versions of the kernel are nobody's business")),
    Rare(Deny("getrusage", EPERM, "timers in the compiler")),
    Rare(Deny("setsockopt", EPERM, "buffer sizes are set before a socket is handed over")),
    Rare(Deny("kcmp", EPERM, "Mesa compares descriptors, and copes")),
};

constexpr SyscallRule kCompilerRules[] = {
    Allow("flock", "before the driver writes to its cache"),
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

// Mesa's drivers speak to the kernel through ioctl on a render node, whose type is 'd'. Render
// nodes take no modesetting and no authentication, and the kernel isolates the memory of one open
// file from that of others.
constexpr SyscallRule kMesaRules[] = {
    AllowIoctl('d', 0x00, "VERSION: which driver the kernel has for the node"),
    AllowIoctl('d', 0x09, "GEM_CLOSE: a buffer ends"),
    AllowIoctl('d', 0x0c, "GET_CAP: whether there are timeline semaphores"),
    // Every driver numbers its own calls from 0x40: buffers, address spaces, contexts, submissions.
    // amdgpu, nouveau and xe end below 0x60, i915 at 0x7d.
    AllowIf("ioctl", Masked(1, 0xffe0, 'd' << 8 | 0x40), "the driver's own calls"),
    AllowIf("ioctl", Masked(1, 0xffe0, 'd' << 8 | 0x60), "the driver's own calls"),
    AllowIoctl('d', 0xbf, "SYNCOBJ_CREATE: a semaphore or fence"),
    AllowIoctl('d', 0xc0, "SYNCOBJ_DESTROY"),
    AllowIoctl('d', 0xc3, "SYNCOBJ_WAIT: vkWaitForFences"),
    AllowIoctl('d', 0xc4, "SYNCOBJ_RESET"),
    AllowIoctl('d', 0xc5, "SYNCOBJ_SIGNAL"),
    AllowIoctl('d', 0xca, "SYNCOBJ_TIMELINE_WAIT: vkWaitSemaphores"),
    AllowIoctl('d', 0xcb, "SYNCOBJ_QUERY: vkGetSemaphoreCounterValue"),
    AllowIoctl('d', 0xcc, "SYNCOBJ_TRANSFER: a point of a timeline to a fence"),
    AllowIoctl('d', 0xcd, "SYNCOBJ_TIMELINE_SIGNAL: vkSignalSemaphore"),
};

// NVIDIA's own driver: ioctl of type 'F' on /dev/nvidiactl and /dev/nvidia<n>. One of its numbers
// carries thousands of commands behind a pointer, so that a list of numbers would fence nothing
// off.
constexpr SyscallRule kNvidiaRules[] = {
    AllowIf("ioctl", Masked(1, 0xff00, 'F' << 8), "the resource manager: all that the driver does"),
    AllowIf("fcntl", Equals(1, F_GETFD), "the driver looks at a node that it has opened again"),
    AllowIoctl('m', 0, "the modeset node, where the driver asks what the GPU can do"),
    Allow("openat",
          "the driver opens its node again for each mapping; the empty root and Landlock "
          "leave these nodes and libraries to open"),
    Allow("open", "as openat"),
    Allow("newfstatat",
          "the driver looks at a node before it opens it, and would else start a "
          "set-uid helper to make it"),
    Allow("stat", "as newfstatat"),
    Allow("access", "as newfstatat"),
};

// A rule without conditions replaces those of kStrictRules for the same call.
void AddRules(std::span<const SyscallRule> added, std::vector<SyscallRule>& rules) {
  for (const SyscallRule& rule : added) {
    if (!rule.conditional()) {
      std::erase_if(rules, [&](const SyscallRule& old) { return old.name == rule.name; });
    }
    rules.push_back(rule);
  }
}

bool Exists(const std::string& pattern) {
  glob_t found{};
  bool exists = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  globfree(&found);
  return exists;
}

constexpr PathRule kCommonPaths[] = {
#if defined(__x86_64__)
    {"/usr/lib/x86_64-linux-gnu", PathAccess::kRead, "libraries, drivers among them"},
#elif defined(__aarch64__)
    {"/usr/lib/aarch64-linux-gnu", PathAccess::kRead, "libraries, drivers among them"},
#endif
    {"/usr/lib64", PathAccess::kRead, "where distributions without multiarch keep libraries"},
    {"/usr/share/vulkan", PathAccess::kRead, "manifests of drivers and layers"},
    {"/etc/vulkan", PathAccess::kRead, "manifests by the administrator"},
    {"/etc/ld.so.cache", PathAccess::kRead, "where dlopen finds libraries"},
};

constexpr PathRule kMesaPaths[] = {
    {"/dev/dri", PathAccess::kList, "libdrm lists it to find nodes"},
    {"/dev/dri/renderD*", PathAccess::kDevice, "GPUs without their displays"},
    {"/sys/dev/char", PathAccess::kRead, "libdrm finds a node's device by its number: links only"},
    {"/sys/class/drm/renderD*/device", PathAccess::kRead, "the GPU's bus, vendor and revision"},
    {"/usr/share/libdrm", PathAccess::kRead, "names of devices"},
    {"/usr/share/drirc.d", PathAccess::kRead, "what Mesa works around"},
};

constexpr PathRule kNvidiaPaths[] = {
    {"/dev", PathAccess::kList, "where the driver looks for its nodes"},
    {"/dev/nvidiactl", PathAccess::kDevice, "the driver's control node"},
    {"/dev/nvidia[0-9]*", PathAccess::kDevice, "GPUs"},
    {"/dev/nvidia-modeset", PathAccess::kDevice, "what the GPU can do; no display is asked for"},
    {"/proc/driver/nvidia", PathAccess::kRead, "parameters of the kernel module"},
    {"/proc/devices", PathAccess::kRead, "major numbers of the driver's nodes"},
    {"/usr/share/nvidia", PathAccess::kRead, "what the driver works around"},
    {"/usr/share/glvnd", PathAccess::kRead, "without a display, the driver opens GPUs through EGL"},
    {"/etc/glvnd", PathAccess::kRead, "as /usr/share/glvnd"},
    {"/usr/local/nvidia", PathAccess::kRead, "the driver itself, where containers are given it"},
};

}  // namespace

std::string_view SandboxProfileName(SandboxProfile profile) {
  switch (profile) {
    case SandboxProfile::kStrict:
      return "strict";
    case SandboxProfile::kMesa:
      return "mesa";
    case SandboxProfile::kNvidia:
      return "nvidia";
    case SandboxProfile::kDebug:
      return "debug";
  }
  UNREACHABLE();
}

std::optional<SandboxProfile> SandboxProfileFromName(std::string_view name) {
  for (SandboxProfile profile : kSandboxProfiles) {
    if (name == SandboxProfileName(profile)) return profile;
  }
  return std::nullopt;
}

SandboxProfile DefaultSandboxProfile() {
#ifdef WEBNND_SANITIZERS
  return SandboxProfile::kDebug;
#else
  return SandboxProfileForNodes("/dev");
#endif
}

SandboxProfile SandboxProfileForNodes(const std::string& directory) {
  // NVIDIA's driver makes render nodes too, which Mesa cannot use.
  if (Exists(directory + "/nvidiactl")) return SandboxProfile::kNvidia;
  if (Exists(directory + "/dri/renderD*")) return SandboxProfile::kMesa;
  return SandboxProfile::kStrict;
}

SandboxProfile NarrowedProfile(SandboxProfile profile, bool gpu_is_open) {
  bool for_gpu = profile == SandboxProfile::kMesa || profile == SandboxProfile::kNvidia;
  return for_gpu && !gpu_is_open ? SandboxProfile::kStrict : profile;
}

std::vector<SyscallRule> SyscallPolicy(SandboxProfile profile, SandboxRole role) {
  std::vector<SyscallRule> rules(std::begin(kStrictRules), std::end(kStrictRules));
  if (profile == SandboxProfile::kMesa) AddRules(kMesaRules, rules);
  if (profile == SandboxProfile::kNvidia) AddRules(kNvidiaRules, rules);
  if (profile == SandboxProfile::kDebug) AddRules(kDebugRules, rules);
  if (role == SandboxRole::kCompiler) AddRules(kCompilerRules, rules);
  return rules;
}

std::vector<PathRule> PathPolicy(SandboxProfile profile) {
  std::vector<PathRule> rules(std::begin(kCommonPaths), std::end(kCommonPaths));
  auto add = [&](const auto& more) { rules.insert(rules.end(), std::begin(more), std::end(more)); };
  if (profile == SandboxProfile::kMesa) add(kMesaPaths);
  if (profile == SandboxProfile::kNvidia) add(kNvidiaPaths);
  return rules;
}

std::vector<VariableRule> EnvironmentPolicy(SandboxProfile profile, bool kernel_cache) {
  std::vector<VariableRule> rules = {
      {"HOME", "/nonexistent", "drivers look for settings there"},
      {"VK_LOADER_LAYERS_DISABLE", "~implicit~", "layers of the user's are code of the user's"},
  };
  if (kernel_cache) {
    rules.push_back({"MESA_SHADER_CACHE_DIR", kScratchDirectory, "compiled kernels"});
    rules.push_back(
        {"MESA_DISK_CACHE_SINGLE_FILE", "true",
         "a file that is opened with the driver and read later, when none can be opened"});
  } else {
    rules.push_back({"MESA_SHADER_CACHE_DISABLE", "true", "there is no place for a cache"});
  }
  // The loader's drivers by the names of their manifests.
  switch (profile) {
    case SandboxProfile::kStrict:
    case SandboxProfile::kDebug:
      rules.push_back({kLoaderDriversVariable, "*lvp*", "others would find no device node"});
      break;
    case SandboxProfile::kMesa:
      rules.push_back({kLoaderDriversVariable,
                       "*lvp*,*radeon*,*intel*,*nouveau*,*freedreno*,*panfrost*,*broadcom*,*asahi*",
                       "Mesa's drivers of GPUs with render nodes"});
      break;
    case SandboxProfile::kNvidia:
      rules.push_back({kLoaderDriversVariable, "*lvp*,*nvidia*", "NVIDIA's own"});
      rules.push_back({"__GL_SHADER_DISK_CACHE", "0", "there is no place for a cache"});
      break;
  }
  return rules;
}

std::vector<ResourceRule> ResourcePolicy(SandboxProfile profile, uint64_t device_bytes) {
  // NVIDIA's driver holds a descriptor for each mapping.
  const uint64_t driver_descriptors = profile == SandboxProfile::kNvidia ? 4096 : 0;
  std::vector<ResourceRule> rules = {
      {RLIMIT_CORE, "core", 0, "a core dump would hold a client's data"},
      {RLIMIT_NOFILE, "nofile", limits::kTasksInFlightMax + 256 + driver_descriptors,
       "each task in flight may hold a client's file, and one too many ends the session; all else "
       "is under 64"},
      {RLIMIT_FSIZE, "fsize", 4 * limits::kArenaBytesMax, "no memfd or log grows without end"},
      {RLIMIT_NPROC, "nproc", 256, "the driver starts a thread per core; ours are four"},
  };
  if (profile == SandboxProfile::kStrict) {
    // Sanitizers reserve terabytes of shadow, and drivers of GPUs map what is not memory.
    rules.push_back({RLIMIT_AS, "as", kAddressSpaceBytes + 2 * device_bytes,
                     "a client's device memory is host memory on lavapipe; one client must not "
                     "exhaust the machine"});
  }
  return rules;
}

}  // namespace webnnd::service
