// What an attacker who runs code in a worker would try, each from inside a sandbox of its own.
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "service/sandbox/confine.h"
#include "service/sandbox/landlock.h"
#include "service/sandbox/lock_down.h"
#include "service/sandbox/spawn.h"
#include "tests/sandbox/inmate.h"
#include "tests/sandbox/unprivileged.h"

namespace webnnd::test {
namespace {

using service::Confine;
using service::ConfineOptions;
using service::ConfineSteps;
using service::DefaultSandboxProfile;
using service::LockDown;
using service::SandboxProfile;

// The page that code is made in and the parent of a worker, in its own pid namespace.
constexpr size_t kPage = 4096;
constexpr pid_t kOutsidePid = 2;

// The path of a library that the driver loads as well.
std::string LibraryPath() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&socket), &info);
  char real[PATH_MAX];
  // An interposer (AddressSanitizer) may stand before the C library; any library will do.
  void* handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
      realpath(map->l_name, real) != nullptr) {
    return real;
  }
  return info.dli_fname;
}

long MapPage(int protection) {
  void* page = mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? -1 : reinterpret_cast<long>(page);
}

long ConnectTo(int family, const sockaddr* address, socklen_t length) {
  int fd = socket(family, SOCK_STREAM, 0);
  return fd < 0 ? -1 : connect(fd, address, length);
}

sockaddr_in Loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(22);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

long ReplaceByMemfd() {
  int fd = static_cast<int>(syscall(SYS_memfd_create, "program", 0));
  if (fd < 0) return -1;
  char* const arguments[] = {const_cast<char*>("x"), nullptr};
  return syscall(SYS_execveat, fd, "", arguments, arguments, AT_EMPTY_PATH);
}

long RaiseLimit() {
  rlimit limit{1024, 1024};
  return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr);
}

long SetCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  data[0].effective = data[0].permitted = 1u << CAP_SYS_ADMIN;
  return syscall(SYS_capset, &header, data);
}

long ReadOther() {
  char byte;
  iovec part{&byte, 1};
  return process_vm_readv(kOutsidePid, &part, 1, &part, 1, 0);
}

long CloneProcess() {
  long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid;
}

long CloneProcess3() {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) _exit(0);
  return pid;
}

struct Attempt {
  std::string_view name;
  long (*run)();
  // Refused by the fences that stand before the lock-down too: the second line of defence.
  bool refused_before_lock_down = false;
};

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

const Attempt kAttempts[] = {
    // Files.
    {"open_passwd", [] { return long{open("/etc/passwd", O_RDONLY)}; }, true},
    {"open_root", [] { return long{open("/", O_RDONLY | O_DIRECTORY)}; }, true},
    {"open_proc_mem", [] { return long{open("/proc/self/mem", O_RDWR)}; }, true},
    {"open_device", [] { return long{open("/dev/kvm", O_RDWR)}; }, true},
    {"open_kernel", [] { return long{open("/sys/kernel", O_RDONLY)}; }, true},
    {"create_in_root", [] { return long{open("/x", O_CREAT | O_WRONLY, 0600)}; }, true},
    {"create_in_tmp", [] { return long{open("/tmp/x", O_CREAT | O_WRONLY, 0600)}; }, true},
    {"write_library", [] { return long{open(LibraryPath().c_str(), O_RDWR)}; }, true},
    {"remove_library", [] { return long{unlink(LibraryPath().c_str())}; }, true},
    {"open_library", [] { return long{open(LibraryPath().c_str(), O_RDONLY)}; }},
    {"make_directory", [] { return long{mkdir("/d", 0700)}; }, true},
    {"open_by_handle", [] { return syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0); }},
    {"chmod", [] { return long{chmod("/usr", 0777)}; }, true},
    {"rename", [] { return long{rename("/usr", "/x")}; }, true},
    {"link", [] { return long{symlink("/usr", "/x")}; }, true},
    {"list_directory", [] { return syscall(SYS_getdents64, AT_FDCWD, nullptr, 0); }},
    // Network and other processes' sockets.
    {"socket_inet", [] { return long{socket(AF_INET, SOCK_STREAM, 0)}; }},
    {"socket_inet6", [] { return long{socket(AF_INET6, SOCK_DGRAM, 0)}; }},
    {"socket_unix", [] { return long{socket(AF_UNIX, SOCK_STREAM, 0)}; }},
    {"socket_netlink", [] { return long{socket(AF_NETLINK, SOCK_RAW, 0)}; }},
    {"socket_packet", [] { return long{socket(AF_PACKET, SOCK_RAW, 0)}; }, true},
    {"connect_inet",
     [] {
       sockaddr_in address = Loopback();
       return ConnectTo(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address);
     },
     true},
    {"send_to_address",
     [] {
       sockaddr_in address = Loopback();
       return long{sendto(2, "x", 1, 0, reinterpret_cast<sockaddr*>(&address), sizeof address)};
     }},
    {"bind", [] { return syscall(SYS_bind, 3, nullptr, 0); }},
    {"accept", [] { return syscall(SYS_accept4, 3, nullptr, nullptr, 0); }},
    {"shared_memory", [] { return long{shmget(IPC_PRIVATE, kPage, 0600)}; }},
    {"message_queue", [] { return syscall(SYS_mq_open, "q", O_CREAT | O_RDWR, 0600, nullptr); }},
    // Processes.
    {"execute",
     [] {
       char* const arguments[] = {const_cast<char*>("true"), nullptr};
       return long{execve("/bin/true", arguments, arguments)};
     },
     true},
    {"execute_library",
     [] {
       char* const arguments[] = {const_cast<char*>("x"), nullptr};
       return long{execve(LibraryPath().c_str(), arguments, arguments)};
     },
     true},
    {"execute_memfd", ReplaceByMemfd, true},
    {"fork", [] { return syscall(SYS_fork); }},
    {"vfork", [] { return syscall(SYS_vfork); }},
    {"clone_process", CloneProcess},
    {"clone3_process", CloneProcess3},
    {"trace", [] { return ptrace(PTRACE_ATTACH, kOutsidePid, 0, 0); }, true},
    {"trace_me", [] { return ptrace(PTRACE_TRACEME, 0, 0, 0); }},
    {"read_other_memory", ReadOther, true},
    {"signal_outside", [] { return long{kill(kOutsidePid, 0)}; }, true},
    {"signal_group", [] { return long{kill(-1, SIGKILL)}; }, true},
    {"signal_parent", [] { return syscall(SYS_kill, syscall(SYS_getppid), SIGKILL); }},
    {"signal_thread_outside", [] { return syscall(SYS_tgkill, kOutsidePid, kOutsidePid, 0); },
     true},
    {"open_process", [] { return syscall(SYS_pidfd_open, kOutsidePid, 0); }, true},
    {"take_descriptor", [] { return syscall(SYS_pidfd_getfd, 3, 0, 0); }},
    {"own_signals", [] { return long{fcntl(2, F_SETOWN, kOutsidePid)}; }, true},
    // Privilege and namespaces.
    {"mount", [] { return long{mount("none", "/", "tmpfs", 0, nullptr)}; }, true},
    {"unmount", [] { return long{umount2("/usr", MNT_DETACH)}; }, true},
    {"open_tree", [] { return syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE); }, true},
    {"fsopen", [] { return syscall(SYS_fsopen, "tmpfs", 0); }, true},
    {"pivot_root", [] { return syscall(SYS_pivot_root, ".", "."); }, true},
    {"chroot", [] { return long{chroot("/usr")}; }, true},
    {"unshare_mounts", [] { return long{unshare(CLONE_NEWNS)}; }, true},
    {"unshare_users", [] { return long{unshare(CLONE_NEWUSER)}; }},
    {"setns", [] { return long{setns(3, CLONE_NEWNET)}; }},
    {"capset", SetCapabilities, true},
    {"setuid", [] { return syscall(SYS_setuid, 1); }, true},
    {"setgroups", [] { return syscall(SYS_setgroups, 0, nullptr); }, true},
    {"sethostname", [] { return long{sethostname("x", 1)}; }, true},
    {"raise_limit", RaiseLimit, true},
    {"become_dumpable", [] { return long{prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)}; }},
    {"allow_tracers", [] { return syscall(SYS_prctl, PR_SET_PTRACER, -1, 0, 0, 0); }},
    // Doors of the kernel that had bad years.
    {"bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0); }},
    {"io_uring",
     [] {
       char parameters[256]{};
       return syscall(SYS_io_uring_setup, 4, parameters);
     }},
    {"perf", [] { return syscall(SYS_perf_event_open, nullptr, 0, 0, 0, 0); }},
    {"userfaultfd", [] { return syscall(SYS_userfaultfd, 0); }},
    {"keyctl", [] { return syscall(SYS_keyctl, 0, -3, 1); }},
    {"add_key", [] { return syscall(SYS_add_key, "user", "x", "x", 1, -3); }},
    {"init_module", [] { return syscall(SYS_init_module, nullptr, 0, ""); }, true},
    {"kexec", [] { return syscall(SYS_kexec_load, 0, 0, nullptr, 0); }, true},
    {"reboot", [] { return syscall(SYS_reboot, 0, 0, 0, nullptr); }, true},
    {"swapon", [] { return syscall(SYS_swapon, "/usr", 0); }, true},
    {"settimeofday", [] { return syscall(SYS_settimeofday, nullptr, nullptr); }},
    {"syslog", [] { return syscall(SYS_syslog, 3, nullptr, 0); }},
    {"personality", [] { return long{personality(READ_IMPLIES_EXEC)}; }},
    {"seccomp", [] { return syscall(SYS_seccomp, 0, 1, nullptr); }},
    {"inject_input",
     [] {
       char key = 'x';
       return long{ioctl(2, TIOCSTI, &key)};
     }},
    {"console", [] { return long{ioctl(2, 0x541C /* TIOCLINUX */, "\2")}; }},
    // Code from nowhere.
    {"map_writable_executable", [] { return MapPage(kReadWrite | PROT_EXEC); }},
    {"map_executable", [] { return MapPage(PROT_READ | PROT_EXEC); }},
    {"make_writable_executable",
     [] {
       long page = MapPage(kReadWrite);
       return long{mprotect(reinterpret_cast<void*>(page), kPage, kReadWrite | PROT_EXEC)};
     }},
    {"protection_keys",
     [] {
       long page = MapPage(kReadWrite);
       return syscall(SYS_pkey_mprotect, page, kPage, kReadWrite | PROT_EXEC, -1);
     }},
#if defined(__x86_64__)
    // Other system call tables have other numbers.
    {"x32_table", [] { return syscall(0x40000000 | SYS_getpid); }, true},
    {"i386_table",
     [] {
       long result = 20;  // getpid there
       __asm__ volatile("int $0x80" : "+a"(result)::"memory");
       return result;
     }},
#endif
};

Status EnterSandbox() { return Confine({.profile = DefaultSandboxProfile()}); }

[[noreturn]] void RunAttempt(std::string_view phase, std::string_view name) {
  signal(SIGSEGV, SIG_DFL);  // Sanitizers make an end of their own of it.
  if (phase != "free" && !EnterSandbox().ok()) ReportBroken(10);
  if (phase == "locked" && !LockDown(DefaultSandboxProfile()).ok()) ReportBroken(11);
  for (const Attempt& attempt : kAttempts) {
    if (attempt.name == name) Report(attempt.run());
  }
  ReportBroken(12);
}

// --- What a worker must still be able to do. ----------------------------------------------------

#if defined(__x86_64__)
constexpr unsigned char kReturn42[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
#elif defined(__aarch64__)
constexpr unsigned char kReturn42[] = {0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};
#endif

bool CompilesCode() {
  void* page = mmap(nullptr, kPage, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  std::memcpy(page, kReturn42, sizeof kReturn42);
  if (mprotect(page, kPage, PROT_READ | PROT_EXEC) != 0) return false;
  __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + kPage);
  return reinterpret_cast<int (*)()>(page)() == 42;
}

bool RunsThreads() {
  std::atomic<uint64_t> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&sum] {
      for (int j = 0; j < 200; ++j) sum += std::vector<char>(size_t{1} << (10 + j % 12), 1)[5];
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sum == 800;
}

// As a client makes them, outside.
int MakeArena() {
  int fd = memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ftruncate(fd, kPage) != 0) return -1;
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return -1;
  return fd;
}

int g_arena = -1;

bool SharesMemory() {
  int fd = g_arena;
  if (fcntl(fd, F_GET_SEALS) != (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) return false;
  void* page = mmap(nullptr, kPage, kReadWrite, MAP_SHARED, fd, 0);
  char byte = 7, read_back = 0;
  struct stat status;
  return page != MAP_FAILED && pwrite(fd, &byte, 1, 9) == 1 && static_cast<char*>(page)[9] == 7 &&
         pread(fd, &read_back, 1, 9) == 1 && read_back == 7 && fstat(fd, &status) == 0 &&
         status.st_size == kPage && munmap(page, kPage) == 0 && close(fd) == 0;
}

bool PollsEvents() {
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  uint64_t one = 1, count = 0;
  if (event < 0 || write(event, &one, sizeof one) != sizeof one) return false;
  pollfd wait{event, POLLIN, 0};
  return poll(&wait, 1, 1000) == 1 && read(event, &count, sizeof count) == sizeof count &&
         count == 1;
}

volatile sig_atomic_t g_handled = 0;

bool HandlesSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_handled = 1; };
  return sigaction(SIGUSR1, &action, nullptr) == 0 && raise(SIGUSR1) == 0 && g_handled == 1;
}

bool Sleeps() {
  timespec brief{0, 1000000};
  return nanosleep(&brief, nullptr) == 0 &&
         clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, nullptr) == 0;
}

struct Duty {
  std::string_view name;
  bool (*run)();
};

const Duty kDuties[] = {
    {"compiles_code", CompilesCode},     {"runs_threads", RunsThreads},
    {"shares_memory", SharesMemory},     {"polls_events", PollsEvents},
    {"handles_signals", HandlesSignals}, {"sleeps", Sleeps},
};

[[noreturn]] void RunDuty(std::string_view name) {
  g_arena = MakeArena();
  if (!EnterSandbox().ok()) ReportBroken(10);
  if (!LockDown(DefaultSandboxProfile()).ok()) ReportBroken(11);
  for (const Duty& duty : kDuties) {
    if (duty.name == name) duty.run() ? Report(0) : ReportBroken(13);
  }
  ReportBroken(12);
}

// --- Single cases. ------------------------------------------------------------------------------

// The driver's threads are older than the filter.
[[noreturn]] void BreakOutOnOlderThread() {
  if (!EnterSandbox().ok()) ReportBroken(10);
  std::atomic<bool> locked{false};
  std::thread older([&locked] {
    while (!locked) std::this_thread::yield();
    Report(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0));
  });
  if (!LockDown(DefaultSandboxProfile()).ok()) ReportBroken(11);
  locked = true;
  older.join();
  ReportBroken(12);
}

bool HasNoCapability() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (const __user_cap_data_struct& part : data) {
    if (part.effective != 0 || part.permitted != 0 || part.inheritable != 0) return false;
  }
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) != 0) return false;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) != 0) return false;
  }
  return true;
}

bool HasLimits() {
  for (const service::ResourceRule& rule : service::ResourcePolicy(DefaultSandboxProfile())) {
    rlimit limit;
    auto resource = static_cast<__rlimit_resource_t>(rule.resource);
    if (getrlimit(resource, &limit) != 0 || limit.rlim_max > rule.value) return false;
  }
  return true;
}

[[noreturn]] void CheckStateAfterConfine() {
  if (!EnterSandbox().ok()) ReportBroken(10);
  if (!HasNoCapability()) ReportBroken(20);
  if (!HasLimits()) ReportBroken(21);
  if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) ReportBroken(22);
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) ReportBroken(23);
  if (open(LibraryPath().c_str(), O_RDONLY) < 0) ReportBroken(24);
  if (access("/etc/passwd", F_OK) == 0 || access("/proc", F_OK) == 0) ReportBroken(25);
  if (access("/home", F_OK) == 0 || access("/dev", F_OK) == 0) ReportBroken(26);
  if (geteuid() != 0 || getpid() != 1) ReportBroken(27);
  Report(0);
}

[[noreturn]] void FailAtStep(std::string_view name) {
  ConfineOptions options;
  options.before_step = [name](std::string_view step) -> Status {
    if (step == name) return InternalError("the test makes it fail");
    return {};
  };
  Status status = Confine(options);
  bool named = !status.ok() && !status.error().context().empty() &&
               status.error().context().back() == fmt::format("taking sandbox step {}", name);
  ReportBroken(named ? 40 : 41);
}

[[noreturn]] void ConfineWithMissingPath(bool required) {
  ConfineOptions options;
  options.visible_paths.push_back({.path = "/nonexistent/driver", .required = required});
  Status status = Confine(options);
  if (status.ok()) Report(0);
  bool named = status.error().message().find("/nonexistent/driver") != std::string::npos &&
               status.error().context().back() == "taking sandbox step root";
  ReportBroken(named ? 40 : 41);
}

[[noreturn]] void ConfineWithWholeHost() {
  ConfineOptions options;
  options.visible_paths.push_back({.path = "/", .required = true});
  ReportBroken(Confine(options).ok() ? 41 : 40);
}

bool CannotOpen(const char* path, int flags, int error) {
  return open(path, flags | O_CLOEXEC) < 0 && errno == error;
}

// A device node as the profiles of GPUs make it visible, and a node that is visible as files are.
[[noreturn]] void UseDevices() {
  using service::PathAccess;
  ConfineOptions options{.profile = DefaultSandboxProfile()};
  options.visible_paths.push_back({.path = "/dev", .access = PathAccess::kList});
  options.visible_paths.push_back(
      {.path = "/dev/null", .required = true, .access = PathAccess::kDevice});
  options.visible_paths.push_back({.path = "/dev/zero", .required = true});
  if (Status status = Confine(options); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
    ReportBroken(20);
  }
  int node = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (node < 0 || write(node, "x", 1) != 1) ReportBroken(21);
  if (!CannotOpen("/dev/zero", O_RDONLY, EACCES)) ReportBroken(22);
  if (!CannotOpen("/dev/full", O_RDONLY, ENOENT)) ReportBroken(23);
  if (!CannotOpen("/dev/new", O_CREAT | O_RDWR, EROFS)) ReportBroken(24);
  std::set<std::string> names;
  DIR* directory = opendir("/dev");
  if (directory == nullptr) ReportBroken(25);
  while (dirent* entry = readdir(directory)) names.insert(entry->d_name);
  if (names != std::set<std::string>{".", "..", "null", "zero"}) ReportBroken(26);
  // Listing is for that directory alone.
  if (!CannotOpen("/", O_RDONLY | O_DIRECTORY, EACCES)) ReportBroken(27);
  Report(0);
}

[[noreturn]] void ConfineWithFileAsDevice() {
  ConfineOptions options;
  options.visible_paths.push_back(
      {.path = "/etc/passwd", .required = true, .access = service::PathAccess::kDevice});
  Status status = Confine(options);
  if (status.ok()) ReportBroken(41);
  ReportBroken(status.error().message().find("/etc/passwd") != std::string::npos ? 40 : 42);
}

// Landlock by itself, in namespaces but under the host's root.
[[noreturn]] void TryLandlockAlone() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (open("/etc/passwd", O_RDONLY) < 0) ReportBroken(20);
  if (!service::RestrictAccess({{.path = "/usr"}}).ok()) ReportBroken(21);
  if (open(LibraryPath().c_str(), O_RDONLY) < 0) ReportBroken(22);
  if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES) ReportBroken(23);
  if (open("/tmp/landlock", O_CREAT | O_WRONLY, 0600) >= 0 || errno != EACCES) ReportBroken(24);
  char* const arguments[] = {const_cast<char*>("true"), nullptr};
  if (execve("/usr/bin/true", arguments, arguments) == 0 || errno != EACCES) ReportBroken(25);
  Report(0);
}

// The scratch directory takes files until the lock-down, what is open is written later, and there
// is an end to it.
[[noreturn]] void UseScratch() {
  ConfineOptions options{.profile = DefaultSandboxProfile()};
  options.scratch_bytes = 16 * kPage;
  if (Status status = Confine(options); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
    ReportBroken(20);
  }
  const std::string directory = std::string(service::kScratchDirectory) + "/driver";
  const std::string path = directory + "/cache";
  if (mkdir(directory.c_str(), 0700) != 0) ReportBroken(21);
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || write(file, "text", 4) != 4) ReportBroken(22);
  if (!CannotOpen("/other", O_CREAT | O_WRONLY, EROFS)) ReportBroken(23);
  if (mknod((directory + "/node").c_str(), S_IFCHR, 0) == 0) ReportBroken(24);
  if (symlink("/", (directory + "/link").c_str()) == 0) ReportBroken(25);
  if (chmod(path.c_str(), 0700) != 0) ReportBroken(26);
  char* const arguments[] = {const_cast<char*>("cache"), nullptr};
  if (execve(path.c_str(), arguments, arguments) == 0 || errno != EACCES) ReportBroken(27);
  if (!LockDown(DefaultSandboxProfile()).ok()) ReportBroken(28);
  char text[4];
  if (pread(file, text, 4, 0) != 4 || std::memcmp(text, "text", 4) != 0) ReportBroken(29);
  if (!CannotOpen(path.c_str(), O_RDONLY, EACCES)) ReportBroken(30);
  const std::vector<char> much(32 * kPage);
  const ssize_t written = pwrite(file, much.data(), much.size(), 0);
  if (written >= static_cast<ssize_t>(much.size())) ReportBroken(31);
  Report(0);
}

[[noreturn]] void RunInmateMain(const std::vector<std::string>& arguments) {
  const std::string& mode = arguments[0];
  std::string value = arguments.size() > 1 ? arguments[1] : "";
  if (mode == "locked" || mode == "confined" || mode == "free") RunAttempt(mode, value);
  if (mode == "duty") RunDuty(value);
  if (mode == "older-thread") BreakOutOnOlderThread();
  if (mode == "state") CheckStateAfterConfine();
  if (mode == "fail-step") FailAtStep(value);
  if (mode == "missing-path") ConfineWithMissingPath(value == "required");
  if (mode == "whole-host") ConfineWithWholeHost();
  if (mode == "devices") UseDevices();
  if (mode == "file-as-device") ConfineWithFileAsDevice();
  if (mode == "landlock") TryLandlockAlone();
  if (mode == "scratch") UseScratch();
  ReportBroken(3);
}

// --- The tests. ---------------------------------------------------------------------------------

class Escape : public testing::TestWithParam<Attempt> {};

TEST_P(Escape, AfterLockDown_IsRefused) {
  const std::string name(GetParam().name);
  Outcome outcome = RunInmate({"locked", name});
  // A kernel without a table of its own for such calls refuses them to everybody.
  constexpr Outcome kNoSuchTable{Outcome::kKilled, SIGSEGV};
  if (outcome == kNoSuchTable && name == "i386_table") {
    EXPECT_EQ(RunInmate({"free", name}), kNoSuchTable);
    return;
  }
  EXPECT_TRUE(outcome.refused()) << outcome;
}

TEST_P(Escape, BeforeLockDown_IsRefusedByTheOtherFences) {
  if (!GetParam().refused_before_lock_down) return;
  Outcome outcome = RunInmate({"confined", std::string(GetParam().name)});
  EXPECT_TRUE(outcome.refused()) << outcome;
}

INSTANTIATE_TEST_SUITE_P(Attempts, Escape, testing::ValuesIn(kAttempts),
                         [](const auto& info) { return std::string(info.param.name); });

class Work : public testing::TestWithParam<Duty> {};

TEST_P(Work, AfterLockDown_GoesOn) {
  EXPECT_EQ(RunInmate({"duty", std::string(GetParam().name)}), Outcome{Outcome::kDone});
}

INSTANTIATE_TEST_SUITE_P(Duties, Work, testing::ValuesIn(kDuties),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LockDown, ThreadOlderThanTheFilter_IsFilteredToo) {
  Outcome outcome = RunInmate({"older-thread"});
  EXPECT_TRUE(outcome.refused()) << outcome;
}

TEST(Confine, State_IsAsPromised) { EXPECT_EQ(RunInmate({"state"}), Outcome{Outcome::kDone}); }

TEST(Confine, AnyStepThatFails_IsAnErrorThatNamesIt) {
  for (std::string_view step : ConfineSteps()) {
    EXPECT_EQ(RunInmate({"fail-step", std::string(step)}), (Outcome{Outcome::kBroken, 40})) << step;
  }
}

TEST(Confine, MissingRequiredPath_IsAnErrorThatNamesIt) {
  EXPECT_EQ(RunInmate({"missing-path", "required"}), (Outcome{Outcome::kBroken, 40}));
}

TEST(Confine, MissingOptionalPath_IsSkipped) {
  EXPECT_EQ(RunInmate({"missing-path", "optional"}), Outcome{Outcome::kDone});
}

TEST(Confine, DeviceNode_IsUsableAndNoOther) {
  EXPECT_EQ(RunInmate({"devices"}), Outcome{Outcome::kDone});
}

TEST(Confine, FileAsADeviceNode_IsRefused) {
  EXPECT_EQ(RunInmate({"file-as-device"}), (Outcome{Outcome::kBroken, 40}));
}

TEST(Confine, WholeHostAsVisiblePath_IsRefused) {
  EXPECT_EQ(RunInmate({"whole-host"}), (Outcome{Outcome::kBroken, 40}));
}

TEST(Confine, OutsideNewNamespaces_IsRefusedBeforeAnythingHappens) {
  Status status = Confine({});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().context().back(), "taking sandbox step namespaces");
  EXPECT_EQ(access("/etc/passwd", R_OK), 0);
}

TEST(Confine, ScratchDirectory_TakesFilesUntilTheLockDownAndNoMoreThanItsRoom) {
  EXPECT_EQ(RunInmate({"scratch"}), Outcome{Outcome::kDone});
}

TEST(Landlock, Alone_HoldsUnderTheHostsRoot) {
  EXPECT_EQ(RunInmate({"landlock"}), Outcome{Outcome::kDone});
}

// Where a host forbids user namespaces, there must be no worker, and not a worker without them.
TEST(Spawn, UserNamespacesForbidden_IsAnError) {
  pid_t child = fork();
  if (child == 0) {
    std::string map = fmt::format("0 {} 1", geteuid());
    if (unshare(CLONE_NEWUSER) != 0) _exit(10);
    UniqueFd ids(open("/proc/self/uid_map", O_WRONLY));
    if (write(ids.get(), map.data(), map.size()) != ssize_t(map.size())) _exit(11);
    UniqueFd limit(open("/proc/sys/user/max_user_namespaces", O_WRONLY));
    if (write(limit.get(), "0", 1) != 1) _exit(12);
    auto process = service::Spawn({.arguments = {"test", "inmate", "state"}});
    bool named = !process.ok() && process.error().context().back() == "sandbox step namespaces";
    _exit(named ? 0 : 13);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

WEBNND_TEST_AS_UNPRIVILEGED_USER();

}  // namespace
}  // namespace webnnd::test

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "inmate") {
    webnnd::test::RunInmateMain({argv + 2, argv + argc});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
