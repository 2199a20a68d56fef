// A shared worker in this process, without its sandbox: what its clients' threads and its main
// thread share, which is the line to the broker.
#include "service/worker/worker.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "service/worker/control_message.h"

namespace webnnd::service {
namespace {

// The broker's end of the line, and its book of what the worker has said.
class Broker {
 public:
  explicit Broker(UniqueFd line) : line_(std::move(line)) {}

  void Serve(uint32_t client, const UniqueFd& socket) {
    const ControlMessage message{.type = ControlType::kServe, .sequence = client};
    EXPECT_TRUE(SendWithDescriptor(line_.get(), message, socket.get(), 0).ok());
    clients_.insert(client);
  }
  // Pings, and takes all up to the answer. false: there is none.
  bool Ask() {
    const ControlMessage ping{.type = ControlType::kPing, .sequence = ++pings_};
    EXPECT_EQ(send(line_.get(), &ping, sizeof ping, 0), static_cast<ssize_t>(sizeof ping));
    while (pongs_ != pings_) {
      if (!Take(20000)) return false;
    }
    return true;
  }

  // Takes what comes within `timeout_ms`, which is one packet or none.
  bool Take(int timeout_ms) {
    pollfd entry{line_.get(), POLLIN, 0};
    if (poll(&entry, 1, timeout_ms) != 1) return false;
    ReportMessage packet{};
    const ssize_t got = recv(line_.get(), &packet, sizeof packet, 0);
    const uint32_t sequence = packet.header.sequence;
    switch (packet.header.type) {
      case ControlType::kReady:
        EXPECT_EQ(got, static_cast<ssize_t>(sizeof(ControlMessage)));
        break;
      case ControlType::kPong:
        EXPECT_EQ(got, static_cast<ssize_t>(sizeof(ControlMessage)));
        EXPECT_EQ(sequence, ++pongs_);
        reported_.clear();
        break;
      case ControlType::kReport:
        EXPECT_EQ(got, static_cast<ssize_t>(sizeof(ReportMessage)));
        EXPECT_TRUE(clients_.contains(sequence)) << "a report of nobody";
        EXPECT_FALSE(gone_.contains(sequence)) << "a report of a client that has gone";
        EXPECT_TRUE(reported_.insert(sequence).second) << "two reports of a client";
        EXPECT_EQ(packet.figures.device_bytes, sequence) << "figures of another client";
        ever_reported_.insert(sequence);
        ++reports_;
        break;
      case ControlType::kGone:
        EXPECT_EQ(got, static_cast<ssize_t>(sizeof(ControlMessage)));
        EXPECT_TRUE(gone_.insert(sequence).second) << "a client goes twice";
        break;
      default:
        ADD_FAILURE() << "a packet of an unknown kind";
    }
    return true;
  }

  bool all_gone() const { return gone_ == clients_; }
  bool has_report_of(uint32_t client) const { return ever_reported_.contains(client); }
  uint64_t reports() const { return reports_; }

 private:
  UniqueFd line_;
  std::set<uint32_t> clients_, gone_;
  std::set<uint32_t> reported_, ever_reported_;  // Since the last pong; at all.
  uint32_t pings_ = 0;
  uint32_t pongs_ = 0;
  uint64_t reports_ = 0;
};

std::pair<UniqueFd, UniqueFd> MakePair(int type) {
  int pair[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
  return {UniqueFd(pair[0]), UniqueFd(pair[1])};
}

// A client sends its number, and leaves when it closes its end. Counts how often it was asked for.
void ServeUntilItLeaves(const UniqueFd& client, ClientLink& link, std::atomic<uint64_t>& all) {
  uint32_t number = 0;
  EXPECT_EQ(recv(client.get(), &number, sizeof number, MSG_WAITALL),
            static_cast<ssize_t>(sizeof number));
  // Of this scope alone: it must not be asked for once the reporting has ended.
  uint64_t asked = 0;
  link.ReportWith([&] { return ClientFigures{.device_bytes = number, .dispatches = ++asked}; });
  char byte;
  EXPECT_EQ(recv(client.get(), &byte, 1, 0), 0);
  link.ReportWith(nullptr);
  all += asked;
}

TEST(SharedWorker, ClientsThatLeaveWhileTheLineIsFull_AreToldOfLater) {
  constexpr uint32_t kClients = 60;
  auto [ours, theirs] = MakePair(SOCK_SEQPACKET | SOCK_NONBLOCK);
  // The kernel makes it a few packets.
  const int bytes = 1;
  ASSERT_EQ(setsockopt(theirs.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
  WorkerOptions options{.control_fd = theirs.Release(), .no_sandbox = true, .shared = true};
  std::atomic<uint64_t> asked = 0;
  std::atomic<uint32_t> ended = 0;
  const WorkerHooks hooks{.open_devices = [](const KernelCacheLink&) { return Status(); },
                          .serve =
                              [&](UniqueFd client, ClientLink& link) {
                                ServeUntilItLeaves(client, link, asked);
                                ++ended;
                              }};
  std::jthread worker([&] { EXPECT_EQ(RunWorker(options, hooks), kWorkerDone); });

  Broker broker(std::move(ours));
  ASSERT_TRUE(broker.Take(20000)) << "the worker does not become ready";
  for (uint32_t number = 1; number <= kClients; ++number) {
    auto [near, far] = MakePair(SOCK_STREAM);
    EXPECT_EQ(send(near.get(), &number, sizeof number, 0), static_cast<ssize_t>(sizeof number));
    broker.Serve(number, far);
  }
  while (ended < kClients) usleep(1000);
  // Each time there is room for one at least.
  for (uint32_t i = 0; i < kClients && !broker.all_gone(); ++i) ASSERT_TRUE(broker.Ask());
  EXPECT_TRUE(broker.all_gone()) << "a client is not told of";
  { Broker ended = std::move(broker); }
}

TEST(SharedWorker, ClientsThatComeAndGoWhileItIsAsked_AreReportedAndToldOfOnce) {
  constexpr uint32_t kClients = 60, kAtOnce = 6;
  auto [ours, theirs] = MakePair(SOCK_SEQPACKET | SOCK_NONBLOCK);
  WorkerOptions options{.control_fd = theirs.Release(), .no_sandbox = true, .shared = true};
  std::atomic<uint64_t> asked = 0;
  const WorkerHooks hooks{
      .open_devices = [](const KernelCacheLink&) { return Status(); },
      .serve = [&](UniqueFd client, ClientLink& link) { ServeUntilItLeaves(client, link, asked); }};
  std::atomic<int> exit_status = -1;
  std::jthread worker([&] { exit_status = RunWorker(options, hooks); });

  Broker broker(std::move(ours));
  ASSERT_TRUE(broker.Take(20000)) << "the worker does not become ready";
  std::map<uint32_t, UniqueFd> clients;
  for (uint32_t number = 1; number <= kClients; ++number) {
    auto [near, far] = MakePair(SOCK_STREAM);
    EXPECT_EQ(send(near.get(), &number, sizeof number, 0), static_cast<ssize_t>(sizeof number));
    broker.Serve(number, far);
    clients.emplace(number, std::move(near));
    if (number > kAtOnce) {
      const uint32_t oldest = number - kAtOnce;
      while (!broker.has_report_of(oldest)) ASSERT_TRUE(broker.Ask());
      clients.erase(oldest);
    }
    // While some come and one goes.
    ASSERT_TRUE(broker.Ask());
  }
  clients.clear();
  while (!broker.all_gone()) ASSERT_TRUE(broker.Take(20000)) << "a client is not told of";
  EXPECT_EQ(broker.reports(), asked);
  { Broker ended = std::move(broker); }
  worker.join();
  EXPECT_EQ(exit_status, kWorkerDone);
}

}  // namespace
}  // namespace webnnd::service
