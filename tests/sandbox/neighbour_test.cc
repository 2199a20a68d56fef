// Two workers side by side, and their parent: what one tries on the others fails, with the fences
// before the lock-down alone and with it, and works where there is no sandbox.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/kcmp.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "service/sandbox/confine.h"
#include "service/sandbox/lock_down.h"
#include "service/sandbox/spawn.h"
#include "tests/sandbox/inmate.h"
#include "tests/sandbox/unprivileged.h"

namespace webnnd::test {
namespace {

using service::DefaultSandboxProfile;

// What the victim makes, and how an attacker would name it.
constexpr key_t kSharedMemoryKey = 0x77656262;
constexpr char kQueueName[] = "/webnnd-neighbour";
constexpr std::string_view kAbstractName = "webnnd-neighbour";

sockaddr_un AbstractAddress(socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, kAbstractName.data(), kAbstractName.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kAbstractName.size());
  return address;
}

int BindAbstract() {
  socklen_t length;
  sockaddr_un address = AbstractAddress(length);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, 1) != 0) return -1;
  return fd;
}

long ConnectAbstract() {
  socklen_t length;
  sockaddr_un address = AbstractAddress(length);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return fd < 0 ? -1 : connect(fd, reinterpret_cast<sockaddr*>(&address), length);
}

// --- The attacker. ------------------------------------------------------------------------------

long OpenProcFile(pid_t pid, const char* file, int flags) {
  std::string path = fmt::format("/proc/{}/{}", pid, file);
  return open(path.c_str(), flags | O_CLOEXEC);
}

long CopyMemory(pid_t pid, bool write) {
  char byte = 0;
  iovec own{&byte, 1}, other{&byte, 1};
  return write ? process_vm_writev(pid, &own, 1, &other, 1, 0)
               : process_vm_readv(pid, &own, 1, &other, 1, 0);
}

long QueueSignal(pid_t pid) {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  return syscall(SYS_rt_sigqueueinfo, pid, SIGKILL, &info);
}

long GetAffinity(pid_t pid) {
  cpu_set_t set;
  return sched_getaffinity(pid, sizeof set, &set);
}

long SetAffinity(pid_t pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return sched_setaffinity(pid, sizeof set, &set);
}

// getpriority() may answer -1 for success.
long GetPriority(pid_t pid) {
  errno = 0;
  long priority = getpriority(PRIO_PROCESS, static_cast<id_t>(pid));
  return errno != 0 ? -1 : priority & 0xff;
}

struct Attack {
  std::string_view name;
  long (*run)(pid_t target);
  // Succeeds where there is no sandbox: the attempt itself is sound.
  bool works_outside = false;
};

// The attacker holds a descriptor of the victim's process, as no worker ever does.
constexpr int kVictimsPidfd = service::kInheritedDescriptor;

const Attack kAttacks[] = {
    {"probe", [](pid_t pid) { return long{kill(pid, 0)}; }, true},
    {"kill", [](pid_t pid) { return long{kill(pid, SIGKILL)}; }},
    {"kill_group", [](pid_t pid) { return long{kill(-pid, SIGKILL)}; }},
    {"tgkill_probe", [](pid_t pid) { return syscall(SYS_tgkill, pid, pid, 0); }, true},
    {"tgkill", [](pid_t pid) { return syscall(SYS_tgkill, pid, pid, SIGKILL); }},
    {"tkill", [](pid_t pid) { return syscall(SYS_tkill, pid, SIGKILL); }},
    {"rt_sigqueueinfo", QueueSignal},
    {"pidfd_open", [](pid_t pid) { return syscall(SYS_pidfd_open, pid, 0); }, true},
    {"pidfd_send_signal_probe",
     [](pid_t) { return syscall(SYS_pidfd_send_signal, kVictimsPidfd, 0, nullptr, 0); }, true},
    {"pidfd_send_signal",
     [](pid_t) { return syscall(SYS_pidfd_send_signal, kVictimsPidfd, SIGKILL, nullptr, 0); }},
    {"pidfd_getfd", [](pid_t) { return syscall(SYS_pidfd_getfd, kVictimsPidfd, 0, 0); }},
    {"pidfd_setns", [](pid_t) { return long{setns(kVictimsPidfd, CLONE_NEWIPC | CLONE_NEWNET)}; }},
    {"ptrace_attach", [](pid_t pid) { return ptrace(PTRACE_ATTACH, pid, 0, 0); }},
    {"ptrace_seize", [](pid_t pid) { return ptrace(PTRACE_SEIZE, pid, 0, 0); }},
    {"process_vm_readv", [](pid_t pid) { return CopyMemory(pid, false); }},
    {"process_vm_writev", [](pid_t pid) { return CopyMemory(pid, true); }},
    {"proc_status", [](pid_t pid) { return OpenProcFile(pid, "status", O_RDONLY); }, true},
    {"proc_mem", [](pid_t pid) { return OpenProcFile(pid, "mem", O_RDWR); }},
    {"proc_fd", [](pid_t pid) { return OpenProcFile(pid, "fd", O_RDONLY | O_DIRECTORY); }},
    {"proc_root", [](pid_t pid) { return OpenProcFile(pid, "root", O_RDONLY | O_DIRECTORY); }},
    {"kcmp", [](pid_t pid) { return syscall(SYS_kcmp, pid, pid, KCMP_VM, 0, 0); }},
    {"getpgid", [](pid_t pid) { return long{getpgid(pid)}; }, true},
    {"sched_getaffinity", GetAffinity, true},
    {"sched_setaffinity", SetAffinity},
    {"getpriority", GetPriority, true},
    {"setpriority",
     [](pid_t pid) { return long{setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 19)}; }},
    {"prlimit",
     [](pid_t pid) {
       rlimit limit;
       return long{prlimit(pid, RLIMIT_NOFILE, nullptr, &limit)};
     }},
    {"get_robust_list",
     [](pid_t pid) {
       void* head;
       size_t length;
       return syscall(SYS_get_robust_list, pid, &head, &length);
     }},
    {"move_pages",
     [](pid_t pid) {
       void* page = nullptr;
       int node;
       return syscall(SYS_move_pages, pid, 1, &page, nullptr, &node, 0);
     }},
    {"shared_memory", [](pid_t) { return long{shmget(kSharedMemoryKey, 0, 0)}; }},
    {"message_queue", [](pid_t) { return long{mq_open(kQueueName, O_RDONLY)}; }},
    {"abstract_socket", [](pid_t) { return ConnectAbstract(); }},
};

// `phase`: outside (no sandbox), confined (all but seccomp), locked.
[[noreturn]] void RunAttack(std::string_view phase, std::string_view name, pid_t target) {
  if (phase != "outside" && !service::Confine({.profile = DefaultSandboxProfile()}).ok())
    ReportBroken(10);
  if (phase == "locked" && !service::LockDown(DefaultSandboxProfile()).ok()) ReportBroken(11);
  for (const Attack& attack : kAttacks) {
    if (attack.name == name) Report(attack.run(target));
  }
  ReportBroken(12);
}

// --- The victim: a worker that has not locked down yet, and owns what could be shared. ----------

[[noreturn]] void RunVictim() {
  // Landlock would refuse the queue.
  if (shmget(kSharedMemoryKey, 4096, IPC_CREAT | 0666) < 0) ReportBroken(11);
  if (mq_open(kQueueName, O_CREAT | O_RDWR, 0666, nullptr) < 0) ReportBroken(12);
  if (BindAbstract() < 0) ReportBroken(13);
  if (!service::Confine({.profile = DefaultSandboxProfile()}).ok()) ReportBroken(10);
  char byte = 'r';
  // Says that it is ready, and that it lives whenever it is asked.
  do {
    if (write(service::kInheritedDescriptor, &byte, 1) != 1) ReportBroken(14);
  } while (read(service::kInheritedDescriptor, &byte, 1) == 1);
  Report(0);
}

class Neighbour : public testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    link_.Reset(pair[0]);
    UniqueFd theirs(pair[1]);
    Result<service::SpawnedProcess> process =
        service::Spawn({.arguments = {"test", "victim"},
                        .environment = InmateEnvironment(),
                        .inherited_descriptors = {theirs.get()}});
    ASSERT_TRUE(process.ok()) << process.error().ToString();
    victim_ = std::move(*process);
    theirs.Reset();
    ASSERT_TRUE(VictimAnswers());
  }

  void TearDown() override {
    link_.Reset();
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PIDFD, static_cast<id_t>(victim_.pidfd.get()), &info, WEXITED), 0);
    EXPECT_EQ(info.si_code, CLD_EXITED);
    EXPECT_EQ(info.si_status, 0);
  }

  bool VictimAnswers() {
    pollfd wait{link_.get(), POLLIN, 0};
    char byte;
    return poll(&wait, 1, 20000) == 1 && read(link_.get(), &byte, 1) == 1;
  }
  bool VictimLives() { return write(link_.get(), "?", 1) == 1 && VictimAnswers(); }

  Outcome Try(const Attack& attack, std::string_view phase, pid_t target) {
    return RunInmate(
        {std::string(phase), std::string(attack.name), std::to_string(target)},
        {.inherited_descriptors = {victim_.pidfd.get()}, .namespaces = phase != "outside"});
  }

  // Every attack on the victim and on the parent, which is this process.
  void ExpectAllRefused(std::string_view phase) {
    for (pid_t target : {victim_.pid, getpid()}) {
      for (const Attack& attack : kAttacks) {
        Outcome outcome = Try(attack, phase, target);
        EXPECT_TRUE(outcome.refused())
            << attack.name << (target == getpid() ? " of the parent: " : ": ") << outcome;
      }
    }
    EXPECT_TRUE(VictimLives());
  }

  UniqueFd link_;
  service::SpawnedProcess victim_;
};

TEST_F(Neighbour, AttackedByALockedDownWorker_NoticesNothing) { ExpectAllRefused("locked"); }

TEST_F(Neighbour, AttackedByAWorkerBeforeItsLockDown_NoticesNothing) {
  ExpectAllRefused("confined");
}

TEST_F(Neighbour, AttacksThatDoNoHarm_WorkWithoutASandbox) {
  for (const Attack& attack : kAttacks) {
    if (!attack.works_outside) continue;
    Outcome outcome = Try(attack, "outside", victim_.pid);
    EXPECT_EQ(outcome, Outcome{Outcome::kDone}) << attack.name << ": " << outcome;
  }
}

WEBNND_TEST_AS_UNPRIVILEGED_USER();

}  // namespace
}  // namespace webnnd::test

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "victim") webnnd::test::RunVictim();
  if (argc == 5 && std::string_view(argv[1]) == "inmate") {
    webnnd::test::RunAttack(argv[2], argv[3], std::atoi(argv[4]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
