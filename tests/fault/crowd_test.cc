// One process that connects again and again, and another that wants to be served all the same.
#include <sys/socket.h>
#include <sys/wait.h>

#include <functional>

#include "tests/fault/counting_client.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/daemon_stats.h"

namespace webnnd {
namespace {

using webnn::Connect;

bool Eventually(const std::function<bool()>& condition) {
  for (const double end = NowMs() + 20000; NowMs() < end; usleep(2000)) {
    if (condition()) return true;
  }
  return false;
}

uint64_t Broker(const DaemonProcess& daemon, const char* figure) {
  return StatsAt(daemon.socket())["broker"][figure].get<uint64_t>();
}

// Another process, which is a client and leaves.
class Other {
 public:
  explicit Other(const std::string& socket) : pid_(fork()) {
    if (pid_ != 0) return;
    // The crowd's connections are not its own.
    close_range(STDERR_FILENO + 1, ~0u, 0);
    CountingClient client(Connect::ToSocket(socket));
    _exit(client.TryOpen().ok() && client.Step().ok() ? 0 : 1);
  }
  bool IsServed() const {
    int status = -1;
    waitpid(pid_, &status, 0);
    return status == 0;
  }

 private:
  const pid_t pid_;
};

class Crowd : public testing::Test {
 protected:
  // Connections that say nothing; the first is served, and nobody but the daemon knows when.
  void Come(const DaemonProcess& daemon, size_t waiting) {
    crowd_.push_back(ConnectTo(daemon.socket()));
    ASSERT_TRUE(Eventually([&] { return Broker(daemon, "workersServing") == 1; }));
    for (size_t i = 0; i < waiting; ++i) {
      crowd_.push_back(ConnectTo(daemon.socket()));
      ASSERT_TRUE(crowd_.back().valid());
    }
    ASSERT_TRUE(Eventually([&] { return Broker(daemon, "clientsWaiting") == waiting; }))
        << StatsAt(daemon.socket());
  }
  std::vector<UniqueFd> crowd_;
};

TEST_F(Crowd, OfOneProcess_LeavesRoomForAnother) {
  DaemonProcess daemon(
      {"--workers-max", "2", "--clients-per-process", "1", "--waiting-per-process", "8"});
  Come(daemon, 8);
  {
    CountingClient tenth(Connect::ToSocket(daemon.socket()));
    const auto opened = tenth.TryOpen();
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().ToString().find("too many clients of this process wait (8)"),
              std::string::npos)
        << opened.error().ToString();
  }
  EXPECT_TRUE(Other(daemon.socket()).IsServed());
  EXPECT_EQ(Broker(daemon, "clientsWaiting"), 8u);
  EXPECT_EQ(Broker(daemon, "clientsTurnedAway"), 1u);
}

TEST_F(Crowd, OfOneProcess_DelaysAnotherByOneTurn) {
  DaemonProcess daemon({"--workers-max", "1"});
  Come(daemon, 99);
  Other other(daemon.socket());
  ASSERT_TRUE(Eventually([&] { return Broker(daemon, "clientsWaiting") == 100; }));
  // The one that is served, and the one whose turn is next.
  crowd_[0].Reset();
  ASSERT_TRUE(Eventually([&] { return Broker(daemon, "clientsServed") == 2; }));
  crowd_[1].Reset();
  EXPECT_TRUE(other.IsServed());
  EXPECT_GE(Broker(daemon, "clientsWaiting"), 97u);
}

TEST_F(Crowd, ThatFillsTheTable_GivesUpAPlaceForEachNewcomer) {
  DaemonProcess daemon({"--workers-max", "1", "--waiting-per-process", "512"});
  Come(daemon, limits::kClientsWaitingMax);
  Other other(daemon.socket());
  // Its last is told, and sees the end.
  std::string farewell;
  char chunk[512];
  for (ssize_t got; (got = read(crowd_.back().get(), chunk, sizeof chunk)) > 0;) {
    farewell.append(chunk, static_cast<size_t>(got));
  }
  EXPECT_NE(farewell.find("too many clients wait (512)"), std::string::npos);
  crowd_[0].Reset();
  ASSERT_TRUE(Eventually([&] { return Broker(daemon, "clientsServed") == 2; }));
  crowd_[1].Reset();
  EXPECT_TRUE(other.IsServed());
  EXPECT_EQ(Broker(daemon, "clientsTurnedAway"), 1u);
}

}  // namespace
}  // namespace webnnd
