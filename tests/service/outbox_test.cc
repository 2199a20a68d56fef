#include "service/session/outbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <variant>

#include "ipc/channel.h"
#include "ipc/codec.h"
#include "ipc/frame_stream.h"

namespace webnnd::service {
namespace {

TEST(Outbox, WhatOtherThreadsSend_NeverComesBehindGoodbye) {
  for (int round = 0; round < 200; ++round) {
    auto channels = std::move(ipc::MakeMemoryChannelPair()).value();
    auto outbox = std::move(Outbox::Create(*channels.second)).value();
    std::atomic<bool> sending = false;
    std::thread sender([&] {
      for (int i = 0; i < 200; ++i) {
        outbox->Send(ipc::Acknowledge{1});
        sending = true;
      }
    });
    while (!sending) std::this_thread::yield();
    outbox->End("enough");
    sender.join();

    ipc::FrameReader reader(*channels.first);
    bool ended = false;
    ASSERT_TRUE(reader.Fill().ok());
    for (;;) {
      auto frame = reader.Next();
      ASSERT_TRUE(frame.ok());
      if (!frame->has_value()) break;
      auto message = ipc::DecodeServiceMessage(**frame, reader.descriptors());
      ASSERT_TRUE(message.ok());
      ASSERT_FALSE(ended) << "in round " << round;
      ended = std::holds_alternative<ipc::Goodbye>(*message);
    }
    EXPECT_TRUE(ended);
  }
}

}  // namespace
}  // namespace webnnd::service
