// The broker with real worker processes that echo.
#include "service/broker/broker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "service/broker/socket.h"
#include "service/broker/thread_times.h"
#include "service/worker/kernel_image.h"
#include "tests/sandbox/run_tests_or_worker.h"
#include "tests/sandbox/unprivileged.h"
#include "tests/service/echo_daemon.h"

namespace webnnd::test {
namespace {

using service::BrokerOptions;
using service::SocketFile;

using Broker = EchoDaemonTest;

TEST_F(Broker, Client_IsServed) {
  Start();
  Client client = Connect();
  std::optional<Reply> reply = client.Ask(kEcho);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->byte, kEcho);
  EXPECT_NE(reply->worker, daemon_);
}

TEST_F(Broker, TwoClients_GetTwoWorkers) {
  Start();
  Client first = Connect(), second = Connect();
  pid_t first_worker = first.worker(), second_worker = second.worker();
  EXPECT_GT(first_worker, 0);
  EXPECT_GT(second_worker, 0);
  EXPECT_NE(first_worker, second_worker);
}

TEST_F(Broker, WarmSpare_SavesTheClientTheStart) {
  Start(true, {{"WEBNND_TEST_OPEN_MS", "600"}});
  ASSERT_GT(Connect().worker(), 0);
  // By now the next spare is on its way.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  Clock::time_point start = Clock::now();
  ASSERT_GT(Connect().worker(), 0);
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(400));
}

TEST_F(Broker, WithoutWarmSpare_TheClientWaitsForTheStart) {
  Start(false, {{"WEBNND_TEST_OPEN_MS", "600"}});
  Client client = Connect();
  Clock::time_point start = Clock::now();
  ASSERT_GT(client.worker(), 0);
  EXPECT_GT(Clock::now() - start, std::chrono::milliseconds(400));
}

TEST_F(Broker, WorkerKilled_EndsItsClientAtOnceAndNoOther) {
  Start();
  Client victim = Connect(), bystander = Connect();
  pid_t worker = victim.worker(), other = bystander.worker();
  ASSERT_GT(worker, 0);
  ASSERT_GT(other, 0);
  ASSERT_EQ(kill(worker, SIGKILL), 0);
  std::optional<int> end_ms = victim.WaitForEnd();
  ASSERT_TRUE(end_ms.has_value());
  EXPECT_LE(*end_ms, 100);
  EXPECT_EQ(bystander.worker(), other);
  // Who connects in the instant in which the worker dies may go with it.
  pid_t next = -1;
  for (int i = 0; i < 100 && next <= 0; ++i) {
    next = Connect().worker();
    if (next <= 0) usleep(10000);
  }
  EXPECT_GT(next, 0);
  EXPECT_NE(next, worker);
}

TEST_F(Broker, WorkerStopped_IsKilledByTheWatchdog) {
  Start();
  Client victim = Connect(), bystander = Connect();
  pid_t worker = victim.worker(), other = bystander.worker();
  ASSERT_GT(worker, 0);
  ASSERT_EQ(kill(worker, SIGSTOP), 0);
  std::optional<int> end_ms = victim.WaitForEnd();
  ASSERT_TRUE(end_ms.has_value());
  EXPECT_GE(*end_ms, limits::kHeartbeatSilenceMaxMs - limits::kHeartbeatIntervalMs);
  EXPECT_LE(*end_ms, 1500 + limits::kHeartbeatIntervalMs);
  EXPECT_EQ(bystander.worker(), other);
}

TEST_F(Broker, WorkerThatHangs_IsKilledByTheWatchdog) {
  Start();
  Client client = Connect();
  ASSERT_GT(client.worker(), 0);
  ASSERT_TRUE(client.Send(kStopAnswering));
  EXPECT_TRUE(client.WaitForEnd().has_value());
  EXPECT_GT(Connect().worker(), 0);
}

// The thread that answers has the least priority, beside others of its process on one processor: it
// often waits for more than a second.
TEST_F(Broker, WorkerWithoutAProcessor_IsNotKilled) {
  Start();
  Client client = Connect();
  const pid_t worker = client.worker();
  ASSERT_GT(worker, 0);
  cpu_set_t allowed, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed)) ++processor;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_setaffinity(worker, sizeof one, &one) != 0 || !service::ReadThreadTimes(worker)) {
    GTEST_SKIP() << "the worker's processor cannot be chosen, or the kernel keeps no times";
  }
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(client.Ask(kKeepBusy).has_value());
  const sched_param none{};
  ASSERT_EQ(sched_setscheduler(worker, SCHED_IDLE, &none), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(4 * limits::kHeartbeatSilenceMaxMs));
  ASSERT_EQ(kill(worker, 0), 0) << "it is gone";
  // Whoever may not raise priorities has shown that it lives, and would wait long for an answer.
  if (sched_setscheduler(worker, SCHED_OTHER, &none) == 0) {
    EXPECT_EQ(client.worker(), worker);
  } else {
    EXPECT_EQ(errno, EPERM);
  }
}

TEST_F(Broker, WorkerThatClosesItsLineAndLivesOn_IsKilledByTheWatchdog) {
  Start();
  Client client = Connect(), bystander = Connect();
  const pid_t other = bystander.worker();
  ASSERT_GT(client.worker(), 0);
  ASSERT_TRUE(client.Send(kCloseLine));
  EXPECT_TRUE(client.WaitForEnd().has_value());
  EXPECT_EQ(bystander.worker(), other);
}

// The daemon does not run for a while: what a worker said meanwhile, it said in time.
TEST_F(Broker, DaemonStopped_KillsNoWorkerThatHasAnswered) {
  Start();
  Client client = Connect();
  const pid_t worker = client.worker();
  ASSERT_GT(worker, 0);
  // So that a ping has been sent, and its answer comes when the daemon does not see it.
  ASSERT_EQ(kill(worker, SIGSTOP), 0);
  usleep(1000 * (limits::kHeartbeatIntervalMs + 100));
  ASSERT_EQ(kill(daemon_, SIGSTOP), 0);
  ASSERT_EQ(kill(worker, SIGCONT), 0);
  usleep(1000 * (limits::kHeartbeatSilenceMaxMs + 200));
  ASSERT_EQ(kill(daemon_, SIGCONT), 0);
  EXPECT_TRUE(client.IsSilentFor(limits::kHeartbeatIntervalMs));
  EXPECT_EQ(client.worker(), worker);
}

TEST_F(Broker, IdleWorker_OutlivesManyHeartbeats) {
  Start();
  Client client = Connect();
  pid_t worker = client.worker();
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * limits::kHeartbeatSilenceMaxMs));
  EXPECT_EQ(client.worker(), worker);
}

TEST_F(Broker, SpareKilled_IsReplaced) {
  Start(true);
  ASSERT_GT(Connect().worker(), 0);
  // The spare has no client to name it: kill every child of the daemon.
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      int pid = std::atoi(entry.path().filename().c_str());
      FILE* stat = pid > 0 ? fopen((entry.path() / "stat").c_str(), "r") : nullptr;
      if (stat == nullptr) continue;
      int parent = 0;
      if (fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == daemon_) {
        kill(pid, SIGKILL);
      }
      fclose(stat);
    }
  }
  // A client that comes in the same instant may get the dying one; it then sees the end at once.
  EXPECT_TRUE(Eventually([&] { return Connect().worker() > 0; }));
}

TEST_F(Broker, Worker_IsSandboxed) {
  Start();
  Client client = Connect();
  ASSERT_GT(client.worker(), 0);
  std::optional<Reply> reply = client.Ask(kMakeSocket);
  // Killed, or, in the debug profile, denied.
  EXPECT_TRUE(!reply.has_value() || reply->byte == '-');
}

TEST_F(Broker, WorkerWithoutAGpu_IsStrictUnderAGpusProfile) {
#ifdef WEBNND_SANITIZERS
  GTEST_SKIP() << "sanitizers need the profile debug";
#endif
  for (const char* gpu : {"", "1"}) {
    StartWith(
        [&] {
          BrokerOptions options = Listening(false);
          options.worker.profile = service::SandboxProfile::kMesa;
          return options;
        },
        {{"WEBNND_TEST_GPU", gpu}, {"WEBNND_LOG", "off"}});
    Client client = Connect();
    ASSERT_GT(client.worker(), 0);
    std::optional<Reply> reply = client.Ask(kAskGpu);
    EXPECT_EQ(reply.has_value(), *gpu != '\0');
    if (reply) {
      EXPECT_EQ(reply->byte, '+');
    }
    Stop(SIGTERM);
  }
}

TEST_F(Broker, NoSandbox_ServesWithoutOne) {
  StartWith(
      [&] {
        InitLog("broker under test", LogLevel::kOff);
        BrokerOptions options = Listening();
        options.worker.no_sandbox = true;
        return options;
      },
      {{"WEBNND_LOG", "off"}});
  Client client = Connect();
  std::optional<Reply> reply = client.Ask(kMakeSocket);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->byte, '+');
}

TEST_F(Broker, Worker_SeesNothingOfTheDaemonsEnvironmentOrDescriptors) {
  StartWith(
      [&] {
        // Not close-on-exec, as careless parents leave them.
        for (int i = 0; i < 5; ++i) (void)!open("/dev/null", O_RDONLY);
        return Listening();
      },
      {{"SECRET_TOKEN", "x"}});
  Client client = Connect();
  std::optional<Reply> secret = client.Ask(kIsSecretVisible);
  ASSERT_TRUE(secret.has_value());
  EXPECT_EQ(secret->byte, '0');
  std::optional<Reply> descriptors = client.Ask(kCountDescriptors);
  ASSERT_TRUE(descriptors.has_value());
  // Three standard streams, the control link, the client.
  EXPECT_EQ(descriptors->byte, '5');
}

TEST_F(Broker, WorkerThatBreaksTheProtocol_IsKilled) {
  Start();
  Client client = Connect(), bystander = Connect();
  ASSERT_GT(client.worker(), 0);
  ASSERT_TRUE(client.Send(kBreakProtocol));
  EXPECT_TRUE(client.WaitForEnd().has_value());
  EXPECT_GT(bystander.worker(), 0);
}

TEST_F(Broker, Terminated_RemovesItsSocketAndItsWorkers) {
  Start();
  Client client = Connect();
  pid_t worker = client.worker();
  ASSERT_GT(worker, 0);
  EXPECT_EQ(Stop(SIGTERM), 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(client.WaitForEnd().has_value());
  EXPECT_NE(kill(worker, 0), 0);
}

TEST_F(Broker, Killed_TakesItsWorkersAlong) {
  Start();
  Client client = Connect();
  ASSERT_GT(client.worker(), 0);
  Stop(SIGKILL);
  EXPECT_TRUE(client.WaitForEnd().has_value());
}

TEST_F(Broker, DeadSocket_IsReclaimed) {
  {
    UniqueFd dead = NewSocket();
    sockaddr_un address = AddressOf(path_);
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  Start();
  EXPECT_GT(Connect().worker(), 0);
}

TEST_F(Broker, LiveSocket_IsLeftAloneAndRefused) {
  Start();
  Client client = Connect();
  Result<SocketFile> second = SocketFile::Listen(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().cause(), Cause::kInvalidState);
  EXPECT_GT(client.worker(), 0);
  EXPECT_GT(Connect().worker(), 0);
}

TEST_F(Broker, FileInTheWay_IsLeftAloneAndRefused) {
  UniqueFd file(open(path_.c_str(), O_CREAT | O_WRONLY, 0600));
  Result<SocketFile> socket = SocketFile::Listen(path_);
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().cause(), Cause::kInvalidState);
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(Broker, SocketPath_TooLong_IsRefused) {
  EXPECT_FALSE(SocketFile::Listen(directory_ + "/" + std::string(200, 'x')).ok());
  EXPECT_FALSE(SocketFile::Listen("").ok());
  EXPECT_FALSE(SocketFile::Listen(directory_ + "/missing/socket").ok());
}

TEST_F(Broker, SocketFile_IsPrivateAndGoesAwayUnlessReplaced) {
  {
    Result<SocketFile> socket = SocketFile::Listen(path_);
    ASSERT_TRUE(socket.ok());
    struct stat status;
    ASSERT_EQ(lstat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  {
    Result<SocketFile> socket = SocketFile::Listen(path_);
    ASSERT_TRUE(socket.ok());
    // Under another name, the inode cannot be used again for the file that takes its place.
    std::filesystem::rename(path_, path_ + ".moved");
    UniqueFd other(open(path_.c_str(), O_CREAT | O_WRONLY, 0600));
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Broker, ClientOfAnotherUser_IsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED: only root can become another user";
  Start();
  ASSERT_GT(Connect().worker(), 0);
  // The file's mode would keep the other user out before the credentials are looked at.
  chmod(directory_.c_str(), 0755);
  chmod(path_.c_str(), 0666);
  pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(2);
    UniqueFd fd = NewSocket();
    if (!TryConnect(fd.get(), path_)) _exit(3);
    Client client(std::move(fd));
    _exit(client.WaitForEnd().has_value() ? 0 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Broker, FiftyClients_LeaveNoDescriptorBehind) {
  Start();
  ASSERT_GT(Connect().worker(), 0);
  // One spare and no client.
  auto settled = [this](size_t count) {
    return Eventually([&] { return DaemonDescriptors() == count; });
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  size_t before = DaemonDescriptors();
  for (int i = 0; i < 50; ++i) {
    Client client = Connect();
    ASSERT_GT(client.worker(), 0);
  }
  EXPECT_TRUE(settled(before)) << before << " before, " << DaemonDescriptors() << " after";
}

TEST_F(Broker, MoreClientsThanWorkers_WaitTheirTurn) {
  StartWith([&] {
    BrokerOptions options = Listening();
    options.workers_max = 2;
    return options;
  });
  std::vector<Client> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(Connect());
    ASSERT_GT(clients.back().worker(), 0) << i;
  }
  Client quitter = Connect(), third = Connect();
  ASSERT_TRUE(quitter.Send(kEcho));
  ASSERT_TRUE(third.Send(kEcho));
  EXPECT_TRUE(third.IsSilentFor(300));
  { Client leaves = std::move(quitter); }
  EXPECT_TRUE(third.IsSilentFor(100));
  EXPECT_GT(clients.front().worker(), 0);
  clients.pop_back();
  EXPECT_TRUE(third.Receive().has_value());
}

TEST_F(Broker, FloodOfClientsThatAreRefused_WritesFewLinesAndTheirNumber) {
  constexpr int kRefused = 300;
  const std::string log = directory_ + "/log";
  StartWith(
      [&] {
        UniqueFd file(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
        dup2(file.get(), STDERR_FILENO);
        InitLog("broker under test");
        BrokerOptions options = Listening();
        options.workers_max = 1;
        options.waiting_per_process_max = 1;
        return options;
      },
      {{"WEBNND_LOG", "warning"}});
  Client served = Connect();
  ASSERT_GT(served.worker(), 0);
  Client waits = Connect();
  for (int i = 0; i < kRefused; ++i) EXPECT_TRUE(Connect().WaitForEnd().has_value());
  // One is written at once, and stands for itself.
  const std::string why = "a client is turned away: too many clients of this process wait (1)";
  int lines = 0, told = 0;
  EXPECT_TRUE(Eventually([&] {
    lines = told = 0;
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
      const size_t at = line.find(why);
      if (at == std::string::npos) continue;
      ++lines;
      const std::string rest = line.substr(at + why.size());
      told += rest.empty() ? 1 : std::atoi(rest.c_str() + 2);
    }
    return told == kRefused;
  })) << told
      << " are told of";
  EXPECT_GE(lines, 2);
  EXPECT_LE(lines, 30) << "more than a line a second";
}

TEST_F(Broker, Shared_ClientsHaveOneWorkerUntilItDies) {
  StartWith([&] {
    InitLog("broker under test", LogLevel::kOff);
    BrokerOptions options = Listening();
    options.worker.shared = true;
    return options;
  });
  Client first = Connect();
  pid_t worker = first.worker();
  ASSERT_GT(worker, 0);
  {
    Client second = Connect();
    EXPECT_EQ(second.worker(), worker);
    // It hangs, and hurts itself alone: the heartbeat goes on.
    ASSERT_TRUE(second.Send(kStopAnswering));
    EXPECT_TRUE(second.IsSilentFor(2 * limits::kHeartbeatSilenceMaxMs));
  }
  EXPECT_EQ(first.worker(), worker);
  Client third = Connect();
  EXPECT_EQ(third.worker(), worker);
  ASSERT_TRUE(third.Send(kCrash));
  EXPECT_TRUE(first.WaitForEnd().has_value());
  // Who connects in the instant in which the worker dies may go with it.
  pid_t next = -1;
  for (int i = 0; i < 100 && next <= 0; ++i) {
    next = Connect().worker();
    if (next <= 0) usleep(10000);
  }
  EXPECT_GT(next, 0);
  EXPECT_NE(next, worker);
}

TEST_F(Broker, NoDevice_TurnsTheClientAwayAndGivesUp) {
  Start(false, {{"WEBNND_TEST_OPEN_FAILS", "1"}, {"WEBNND_LOG", "off"}});
  Client client = Connect();
  EXPECT_TRUE(client.WaitForEnd().has_value());
  EXPECT_EQ(Await(), 1);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Broker, SandboxStepThatFails_MeansNoService) {
  Start(false, {{"WEBNND_TEST_STEP_FAILS", "landlock"}, {"WEBNND_LOG", "off"}});
  Client client = Connect();
  EXPECT_FALSE(client.Ask(kEcho).has_value());
  EXPECT_EQ(Await(), 1);
}

// One that makes a driver crash must not end the service, now and at each start.
TEST_F(Broker, ImageOfKernelsWithWhichNoWorkerStarts_IsDropped) {
  const std::string directory = path_ + ".kernels", image = directory + "/kernels";
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  std::ofstream(directory + "/driver.foz") << "spoilt";
  {
    UniqueFd file(open(image.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(service::KernelFiles::Open(directory).Pack({}, file.get()).ok());
  }
  StartWith(
      [&] {
        BrokerOptions options = Listening();
        options.kernel_cache_directory = directory;
        return options;
      },
      {{"WEBNND_TEST_OPEN_DIES_WITH", std::string(service::kScratchDirectory) + "/driver.foz"},
       {"WEBNND_LOG", "off"}});
  Client client = Connect();
  EXPECT_TRUE(client.Ask(kEcho).has_value());
  EXPECT_FALSE(std::filesystem::exists(image));
  std::filesystem::remove_all(directory);
}

TEST_F(Broker, ConnectedSocket_IsServedUntilItEnds) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  UniqueFd ours(pair[0]), theirs(pair[1]);
  StartWith([&] {
    ours.Reset();
    BrokerOptions options;
    options.connected.push_back(std::move(theirs));
    return options;
  });
  theirs.Reset();
  {
    Client client(std::move(ours));
    EXPECT_GT(client.worker(), 0);
  }
  EXPECT_EQ(Await(), 0);
}

TEST_F(Broker, ListeningSocketOfAnother_IsServed) {
  UniqueFd listener = NewSocket();
  sockaddr_un address = AddressOf(path_);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 4), 0);
  EXPECT_TRUE(*service::IsListening(listener.get()));
  StartWith([&] {
    BrokerOptions options;
    options.listening.push_back(std::move(listener));
    return options;
  });
  EXPECT_GT(Connect().worker(), 0);
  EXPECT_EQ(Stop(SIGTERM), 0);
  // Not ours to remove.
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Broker, NothingToServe_IsAnError) {
  StartWith([] { return BrokerOptions(); }, {{"WEBNND_LOG", "off"}});
  EXPECT_EQ(Await(), 1);
}

TEST(IsListening, NoUnixStreamSocket_IsRefused) {
  UniqueFd file(open("/dev/null", O_RDONLY));
  EXPECT_FALSE(service::IsListening(file.get()).ok());
  EXPECT_FALSE(service::IsListening(-1).ok());
  UniqueFd datagram(socket(AF_UNIX, SOCK_DGRAM, 0));
  EXPECT_FALSE(service::IsListening(datagram.get()).ok());
  UniqueFd stream = NewSocket();
  ASSERT_TRUE(service::IsListening(stream.get()).ok());
  EXPECT_FALSE(*service::IsListening(stream.get()));
}

TEST(ActivatedSockets, OnlyThoseAddressedToThisProcess_AreTaken) {
  setenv("LISTEN_PID", std::to_string(getpid() + 1).c_str(), 1);
  setenv("LISTEN_FDS", "1", 1);
  EXPECT_TRUE(service::TakeActivatedSockets().empty());
  EXPECT_EQ(getenv("LISTEN_FDS"), nullptr);

  pid_t child = fork();
  if (child == 0) {
    UniqueFd socket = NewSocket();
    if (socket.get() != 3 && (dup2(socket.get(), 3) != 3)) _exit(2);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", "1", 1);
    std::vector<UniqueFd> taken = service::TakeActivatedSockets();
    bool ok = taken.size() == 1 && taken[0].get() == 3 && fcntl(3, F_GETFD) == FD_CLOEXEC;
    _exit(ok ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

WEBNND_TEST_AS_UNPRIVILEGED_USER();

}  // namespace
}  // namespace webnnd::test

int main(int argc, char** argv) {
  return webnnd::test::RunTestsOrWorker(argc, argv, webnnd::test::RunEchoWorker);
}
