#include "service/session/outbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "ipc/channel.h"
#include "ipc/codec.h"
#include "ipc/frame_stream.h"

namespace webnnd::service {
namespace {

// Messages until the end of the channel, and how many came behind a Goodbye.
int CountBehindGoodbye(ipc::Channel& channel) {
  ipc::FrameReader reader(channel);
  std::optional<int> behind;
  for (bool open = true; open;) {
    auto state = reader.Fill();
    EXPECT_TRUE(state.ok());
    open = state.ok() && *state == ipc::ChannelState::kOpen;
    for (;;) {
      auto frame = reader.Next();
      EXPECT_TRUE(frame.ok());
      if (!frame.ok() || !frame->has_value()) break;
      auto message = ipc::DecodeServiceMessage(**frame, reader.descriptors());
      EXPECT_TRUE(message.ok());
      if (behind) ++*behind;
      if (std::holds_alternative<ipc::Goodbye>(*message)) behind = 0;
    }
  }
  EXPECT_TRUE(behind.has_value()) << "there is no Goodbye";
  return behind.value_or(0);
}

TEST(Outbox, WhatOtherThreadsSend_NeverComesBehindGoodbye) {
  // Large ones take a while to encode, and all of them fit the channel.
  const std::vector<std::byte> bytes(limits::kInlinePayloadBytesMax);
  constexpr int kMessages = 12;
  for (int round = 0; round < 400; ++round) {
    auto channels = std::move(ipc::MakeMemoryChannelPair()).value();
    auto outbox =
        std::move(Outbox::Create(*channels.second, {.tasks = 8, .dispatches = 8, .bytes = 8}))
            .value();
    std::atomic<bool> sending = false;
    std::vector<std::thread> senders;
    for (int i = 0; i < 4; ++i) {
      senders.emplace_back([&] {
        for (int k = 0; k < kMessages; ++k) {
          outbox->Send(ipc::TensorRead{1, std::nullopt, bytes.size(), bytes});
          sending = true;
        }
      });
    }
    while (!sending) std::this_thread::yield();
    outbox->End("enough");
    for (std::thread& sender : senders) sender.join();
    channels.second->Close();
    ASSERT_EQ(CountBehindGoodbye(*channels.first), 0) << "in round " << round;
  }
}

}  // namespace
}  // namespace webnnd::service
