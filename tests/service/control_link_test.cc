// The worker's end of its line to the broker, when the broker reads late.
#include "service/worker/control_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace webnnd::service {
namespace {

class ControlLinkTest : public testing::Test {
 protected:
  ControlLinkTest() {
    int pair[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    broker_.Reset(pair[0]);
    link_.emplace(UniqueFd(pair[1]));
  }

  void Ping(uint32_t sequence) {
    const ControlMessage ping{.type = ControlType::kPing, .sequence = sequence};
    EXPECT_EQ(send(broker_.get(), &ping, sizeof ping, 0), static_cast<ssize_t>(sizeof ping));
  }

  // All that is in the line now.
  std::vector<ReportMessage> TakeAll() {
    std::vector<ReportMessage> taken;
    for (;;) {
      ReportMessage message{};
      if (recv(broker_.get(), &message, sizeof message, 0) <= 0) return taken;
      taken.push_back(message);
    }
  }

  UniqueFd broker_;
  std::optional<ControlLink> link_;
};

TEST_F(ControlLinkTest, FullLine_WhatMustBeSaidIsSaidLaterAndInTurn) {
  constexpr uint32_t kClients = 2000;
  for (uint32_t client = 1; client <= kClients; ++client) link_->SendGone(client);
  Ping(7);
  link_->ReportWith(kClients + 1, [] { return ClientFigures(); });
  EXPECT_TRUE(link_->OnReadable());
  std::vector<ReportMessage> taken = TakeAll();
  // No report among them, nor a second answer later.
  ASSERT_LT(taken.size(), kClients) << "the line was not full";
  while (taken.size() < kClients + 1) {
    EXPECT_TRUE(link_->OnReadable());
    const std::vector<ReportMessage> more = TakeAll();
    ASSERT_FALSE(more.empty()) << "after " << taken.size();
    taken.insert(taken.end(), more.begin(), more.end());
  }
  for (uint32_t i = 0; i < kClients; ++i) {
    EXPECT_EQ(taken[i].header.type, ControlType::kGone);
    EXPECT_EQ(taken[i].header.sequence, i + 1);
  }
  EXPECT_EQ(taken.back().header.type, ControlType::kPong);
  EXPECT_EQ(taken.back().header.sequence, 7u);
  EXPECT_TRUE(link_->OnReadable());
  EXPECT_TRUE(TakeAll().empty());
}

TEST_F(ControlLinkTest, FullLine_OfFetchesTheLastIsSent) {
  constexpr uint32_t kClients = 2000;
  for (uint32_t client = 1; client <= kClients; ++client) link_->SendGone(client);
  for (const uint32_t sequence : {1u, 2u, 3u}) link_->SendFetch(sequence);
  std::vector<uint32_t> fetches;
  for (size_t taken = 0; taken < kClients + 1;) {
    const std::vector<ReportMessage> all = TakeAll();
    ASSERT_FALSE(all.empty()) << "after " << taken;
    taken += all.size();
    for (const ReportMessage& message : all) {
      if (message.header.type == ControlType::kFetch) fetches.push_back(message.header.sequence);
    }
    EXPECT_TRUE(link_->OnReadable());
  }
  EXPECT_TRUE(TakeAll().empty());
  EXPECT_EQ(fetches, (std::vector<uint32_t>{3}));
}

TEST_F(ControlLinkTest, AwaitingAClient_SendsWhatWaitsWithoutBeingAsked) {
  constexpr uint32_t kClients = 2000;
  for (uint32_t client = 1; client <= kClients; ++client) link_->SendGone(client);
  size_t gone = 0;
  // Asked between its attempts; nothing else wakes it.
  const ServedSocket none = link_->AwaitClient([&] {
    gone += TakeAll().size();
    return gone < kClients;
  });
  EXPECT_FALSE(none.socket.valid());
  EXPECT_EQ(gone, kClients);
}

TEST_F(ControlLinkTest, BrokerThatIsGone_IsNoticed) {
  link_->SendGone(1);
  broker_.Reset();
  link_->SendGone(2);
  EXPECT_FALSE(link_->OnReadable());
  EXPECT_FALSE(link_->AwaitClient().socket.valid());
}

}  // namespace
}  // namespace webnnd::service
