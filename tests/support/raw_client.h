// RawClient: a client that sends whatever a test wants, message by message.
#ifndef WEBNND_TESTS_SUPPORT_RAW_CLIENT_H_
#define WEBNND_TESTS_SUPPORT_RAW_CLIENT_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ipc/channel.h"
#include "ipc/frame_stream.h"
#include "ipc/messages.h"
#include "ipc/shared_memory.h"

namespace webnnd::ipc {

class RawClient {
 public:
  // Three times what the slowest answer took, under TSan beside two other tests.
  static constexpr int kTimeoutMs = 60000;
  static constexpr uint64_t kArenaBytes = 1 << 20;

  // Connects and says nothing yet.
  explicit RawClient(InProcessService& service);

  // A valid Hello, with arenas that the test can see.
  static Hello MakeHello();
  void Greet();
  // Sends the whole message, waiting where the channel is full; what comes meanwhile is kept.
  void Send(ClientMessage message);
  void SendBytes(std::span<const std::byte> bytes);
  // Sends until the channel takes nothing more for `quiet_ms`, and takes no answer meanwhile.
  // Whether everything was sent.
  bool SendWithoutReading(ClientMessage message, int quiet_ms);

  // The next message; nullopt when the session has ended, or (a failure) when none comes in time.
  std::optional<ServiceMessage> Next();
  // Whether a message comes within `timeout_ms`, or is there; it stays for Next.
  bool Arrives(int timeout_ms);
  // The next message of this type; others before it are dropped.
  template <class Message>
  std::optional<Message> Await() {
    while (auto message = Next()) {
      if (auto* wanted = std::get_if<Message>(&*message)) return std::move(*wanted);
    }
    return std::nullopt;
  }
  template <class Message>
  Message Expect() {
    std::optional<Message> message = Await<Message>();
    EXPECT_TRUE(message.has_value()) << "the session ends before the expected message";
    return message ? std::move(*message) : Message{};
  }
  // The session must end, and say why: the reason. What its other threads still sent is dropped.
  std::string ExpectGoodbye();

  std::span<std::byte> up() { return {up_.data(), up_.size()}; }
  std::span<std::byte> down() { return {down_.data(), down_.size()}; }
  void Close() { channel_->Close(); }

 private:
  // Moves what has come into `received_`. false at the end.
  bool Receive();
  bool Poll(bool wants_to_write, int timeout_ms);

  std::unique_ptr<Channel> channel_;
  std::unique_ptr<FrameReader> reader_;
  std::unique_ptr<FrameWriter> writer_;
  std::deque<ServiceMessage> received_;
  bool ended_ = false;
  SharedMapping up_;
  SharedMapping down_;
};

// Payload of floats, inline.
Payload InlineFloats(const std::vector<float>& values);
WireDescriptor Describe(webidl::OperandDataType type, const webidl::Shape& shape);
// The descriptor float32[count].
WireDescriptor Floats(uint32_t count);
// The floats of an inline read.
std::vector<float> ToFloats(const std::vector<std::byte>& bytes);

}  // namespace webnnd::ipc

#endif  // WEBNND_TESTS_SUPPORT_RAW_CLIENT_H_
