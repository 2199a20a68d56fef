#include "tests/support/raw_client.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <iterator>

#include "base/check.h"
#include "ipc/codec.h"

namespace webnnd::ipc {
namespace {

UniqueFd MakeArena(const char* name) {
  auto fd = CreateSealedMemfd(name, RawClient::kArenaBytes);
  CHECK(fd.ok());
  return std::move(*fd);
}

SharedMapping MapArena(const UniqueFd& fd) {
  auto mapping =
      SharedMapping::Map(fd.get(), RawClient::kArenaBytes, SharedMapping::Access::kReadWrite);
  CHECK(mapping.ok());
  return std::move(*mapping);
}

}  // namespace

RawClient::RawClient(InProcessService& service) {
  auto channel = service.Connect();
  CHECK(channel.ok());
  channel_ = std::move(*channel);
  reader_ = std::make_unique<FrameReader>(*channel_);
  writer_ = std::make_unique<FrameWriter>(*channel_);
}

Hello RawClient::MakeHello() {
  return {CurrentSchemaHash(), MakeArena("test-up"), kArenaBytes, MakeArena("test-down"),
          kArenaBytes};
}

void RawClient::Greet() {
  Hello hello = MakeHello();
  up_ = MapArena(hello.up_arena);
  down_ = MapArena(hello.down_arena);
  Send(std::move(hello));
}

void RawClient::Send(ClientMessage message) {
  writer_->Queue(Encode(std::move(message)));
  while (writer_->Flush()) {
    if (!Poll(/*wants_to_write=*/true, kTimeoutMs)) {
      ADD_FAILURE() << "the service takes nothing more";
      return;
    }
    if (!ended_) Receive();
  }
}

void RawClient::SendBytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    Channel::Sent sent = channel_->Send(bytes, {});
    if (sent.state == ChannelState::kClosed) return;
    bytes = bytes.subspan(sent.bytes);
    if (sent.bytes == 0 && !Poll(/*wants_to_write=*/true, kTimeoutMs)) {
      ADD_FAILURE() << "the service takes nothing more";
      return;
    }
  }
}

bool RawClient::SendWithoutReading(ClientMessage message, int quiet_ms) {
  writer_->Queue(Encode(std::move(message)));
  while (writer_->Flush()) {
    pollfd polled{channel_->write_descriptor(), POLLOUT, 0};
    if (poll(&polled, 1, quiet_ms) == 0) return false;
  }
  return true;
}

bool RawClient::Poll(bool wants_to_write, int timeout_ms) {
  pollfd polled[] = {{ended_ ? -1 : channel_->read_descriptor(), POLLIN, 0},
                     {wants_to_write ? channel_->write_descriptor() : -1, POLLOUT, 0}};
  int ready = 0;
  do {
    ready = poll(polled, std::size(polled), timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool RawClient::Receive() {
  auto filled = reader_->Fill();
  CHECK(filled.ok());
  if (*filled == ChannelState::kClosed) ended_ = true;
  while (true) {
    auto frame = reader_->Next();
    CHECK(frame.ok());
    if (!frame->has_value()) break;
    auto message = DecodeServiceMessage(**frame, reader_->descriptors());
    CHECK(message.ok());
    received_.push_back(std::move(*message));
  }
  return !ended_;
}

bool RawClient::Arrives(int timeout_ms) {
  while (received_.empty() && !ended_ && Poll(/*wants_to_write=*/false, timeout_ms)) Receive();
  return !received_.empty();
}

std::optional<ServiceMessage> RawClient::Next() {
  while (received_.empty()) {
    if (ended_) return std::nullopt;
    if (writer_->pending_bytes() > 0) writer_->Flush();
    if (!Poll(writer_->pending_bytes() > 0, kTimeoutMs)) {
      ADD_FAILURE() << "no message comes in time";
      return std::nullopt;
    }
    Receive();
  }
  ServiceMessage message = std::move(received_.front());
  received_.pop_front();
  return message;
}

std::string RawClient::ExpectGoodbye() {
  std::optional<Goodbye> goodbye = Await<Goodbye>();
  EXPECT_TRUE(goodbye.has_value()) << "the session ends without a reason";
  while (Next().has_value()) {
  }
  EXPECT_TRUE(ended_) << "the session goes on";
  return goodbye ? goodbye->message : "";
}

Payload InlineFloats(const std::vector<float>& values) {
  auto bytes = std::as_bytes(std::span(values));
  return InlinePayload{{bytes.begin(), bytes.end()}};
}

WireDescriptor Describe(webidl::OperandDataType type, const webidl::Shape& shape) {
  return {type, {shape.begin(), shape.end()}};
}

WireDescriptor Floats(uint32_t count) {
  return Describe(webidl::OperandDataType::kFloat32, {count});
}

std::vector<float> ToFloats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace webnnd::ipc
