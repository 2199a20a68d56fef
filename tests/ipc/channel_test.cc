#include "ipc/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/limits.h"

namespace webnnd::ipc {
namespace {

enum class Kind { kSocket, kMemory };
using Pair = std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>;

std::pair<UniqueFd, UniqueFd> MakeSocketPair(int type = SOCK_STREAM) {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Pair MakePair(Kind kind) {
  if (kind == Kind::kMemory) return std::move(MakeMemoryChannelPair()).value();
  auto [a, b] = MakeSocketPair();
  return {std::move(MakeSocketChannel(std::move(a))).value(),
          std::move(MakeSocketChannel(std::move(b))).value()};
}

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

bool Polls(int fd, short events) {
  pollfd entry{fd, events, 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & events) != 0;
}

size_t OpenDescriptors() {
  auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

ino_t Inode(int fd) {
  struct stat status {};
  EXPECT_EQ(fstat(fd, &status), 0);
  return status.st_ino;
}

UniqueFd MakeMemfd() { return UniqueFd(memfd_create("test", MFD_CLOEXEC)); }

class ChannelTest : public testing::TestWithParam<Kind> {
 protected:
  std::string ReceiveText(Channel& channel, size_t bytes_max = 1024) {
    std::string text(bytes_max, '\0');
    auto received = channel.Receive(std::as_writable_bytes(std::span(text)), descriptors_);
    EXPECT_TRUE(received.ok()) << received.error().message;
    state_ = received->state;
    text.resize(received->bytes);
    return text;
  }

  std::deque<UniqueFd> descriptors_;
  ChannelState state_ = ChannelState::kOpen;
};

INSTANTIATE_TEST_SUITE_P(Kinds, ChannelTest, testing::Values(Kind::kSocket, Kind::kMemory),
                         [](const auto& info) {
                           return info.param == Kind::kSocket ? "Socket" : "Memory";
                         });

TEST_P(ChannelTest, Receive_ReadsWhatWasSentInPieces) {
  auto [a, b] = MakePair(GetParam());
  EXPECT_EQ(a->Send(Bytes("hello "), {}).bytes, 6u);
  EXPECT_EQ(a->Send(Bytes("world"), {}).bytes, 5u);
  EXPECT_EQ(ReceiveText(*b, 4), "hell");
  EXPECT_EQ(ReceiveText(*b), "o world");
  EXPECT_EQ(ReceiveText(*b), "");
  EXPECT_EQ(state_, ChannelState::kOpen);
  EXPECT_EQ(b->Send(Bytes("back"), {}).bytes, 4u);
  EXPECT_EQ(ReceiveText(*a), "back");
}

TEST_P(ChannelTest, Poll_ShowsBytesAndRoomLevelTriggered) {
  auto [a, b] = MakePair(GetParam());
  EXPECT_FALSE(Polls(b->read_descriptor(), POLLIN));
  EXPECT_TRUE(Polls(a->write_descriptor(), POLLOUT));
  a->Send(Bytes("ab"), {});
  EXPECT_TRUE(Polls(b->read_descriptor(), POLLIN));
  ReceiveText(*b, 1);
  EXPECT_TRUE(Polls(b->read_descriptor(), POLLIN));
  ReceiveText(*b, 1);
  EXPECT_FALSE(Polls(b->read_descriptor(), POLLIN));
}

TEST_P(ChannelTest, Send_TakesPartAndThenNothingWhenFull) {
  auto [a, b] = MakePair(GetParam());
  std::vector<std::byte> block(8 << 20);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 131 >> 3);
  size_t sent = 0;
  for (;;) {
    Channel::Sent result = a->Send(std::span(block).subspan(sent), {});
    ASSERT_EQ(result.state, ChannelState::kOpen);
    if (result.bytes == 0) break;
    sent += result.bytes;
  }
  EXPECT_GT(sent, 0u);
  EXPECT_LT(sent, block.size());
  EXPECT_FALSE(Polls(a->write_descriptor(), POLLOUT));

  std::vector<std::byte> got(sent);
  size_t received = 0;
  while (received < sent) {
    auto result = b->Receive(std::span(got).subspan(received), descriptors_);
    ASSERT_TRUE(result.ok());
    ASSERT_GT(result->bytes, 0u);
    received += result->bytes;
  }
  EXPECT_EQ(std::memcmp(got.data(), block.data(), sent), 0);
  EXPECT_TRUE(Polls(a->write_descriptor(), POLLOUT));
  EXPECT_GT(a->Send(std::span(block).subspan(sent), {}).bytes, 0u);
}

TEST_P(ChannelTest, Descriptors_ComeWithTheirBytesAndCloseOnExec) {
  auto [a, b] = MakePair(GetParam());
  UniqueFd first = MakeMemfd();
  UniqueFd second = MakeMemfd();
  UniqueFd third = MakeMemfd();
  std::array<int, 2> two{first.get(), second.get()};
  std::array<int, 1> one{third.get()};
  a->Send(Bytes("none "), {});
  a->Send(Bytes("two "), two);
  a->Send(Bytes("one"), one);

  // One receive never brings the descriptors of two sends.
  EXPECT_EQ(ReceiveText(*b), "none two ");
  ASSERT_EQ(descriptors_.size(), 2u);
  EXPECT_EQ(Inode(descriptors_[0].get()), Inode(first.get()));
  EXPECT_EQ(Inode(descriptors_[1].get()), Inode(second.get()));
  EXPECT_NE(fcntl(descriptors_[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(ReceiveText(*b), "one");
  ASSERT_EQ(descriptors_.size(), 3u);
  EXPECT_EQ(Inode(descriptors_[2].get()), Inode(third.get()));
}

TEST_P(ChannelTest, Descriptors_ComeWithTheFirstByteOfAPartialReceive) {
  auto [a, b] = MakePair(GetParam());
  UniqueFd file = MakeMemfd();
  std::array<int, 1> one{file.get()};
  a->Send(Bytes("abc"), one);
  EXPECT_EQ(ReceiveText(*b, 1), "a");
  EXPECT_EQ(descriptors_.size(), 1u);
  EXPECT_EQ(ReceiveText(*b), "bc");
  EXPECT_EQ(descriptors_.size(), 1u);
}

TEST_P(ChannelTest, Descriptors_MoreThanMayBePending_AreBadMessageAndClosed) {
  auto [a, b] = MakePair(GetParam());
  size_t before = OpenDescriptors();
  {
    UniqueFd file = MakeMemfd();
    std::array<int, limits::kDescriptorsPerFrameMax> four{};
    four.fill(file.get());
    for (uint32_t sent = 0; sent < limits::kDescriptorsPendingMax; sent += four.size()) {
      a->Send(Bytes("x"), four);
      ReceiveText(*b);
    }
    EXPECT_EQ(descriptors_.size(), limits::kDescriptorsPendingMax);
    std::array<int, 1> one{file.get()};
    a->Send(Bytes("x"), one);
    std::array<std::byte, 8> buffer{};
    EXPECT_FALSE(b->Receive(buffer, descriptors_).ok());
    EXPECT_TRUE(descriptors_.empty());
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(MemoryChannel, DescriptorsNeverReceived_FillItAsBytesDo) {
  auto pair = MakeMemoryChannelPair();
  ASSERT_TRUE(pair.ok());
  auto& [a, b] = *pair;
  UniqueFd file = MakeMemfd();
  std::array<int, 1> one{file.get()};
  size_t sent = 0;
  while (a->Send(Bytes("x"), one).bytes == 1) ASSERT_LT(++sent, 10000u);
  EXPECT_FALSE(Polls(a->write_descriptor(), POLLOUT));
  EXPECT_EQ(a->Send(Bytes("x"), one).state, ChannelState::kOpen);

  std::deque<UniqueFd> descriptors;
  std::array<std::byte, 8> buffer{};
  auto received = b->Receive(buffer, descriptors);
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(received->bytes, 1u);
  EXPECT_EQ(descriptors.size(), 1u);
  EXPECT_TRUE(Polls(a->write_descriptor(), POLLOUT));
  EXPECT_EQ(a->Send(Bytes("x"), one).bytes, 1u);
}

TEST_P(ChannelTest, Descriptors_NeverReceived_AreClosedWithTheChannel) {
  size_t before = OpenDescriptors();
  {
    auto [a, b] = MakePair(GetParam());
    UniqueFd file = MakeMemfd();
    std::array<int, 1> one{file.get()};
    a->Send(Bytes("x"), one);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_P(ChannelTest, Close_LetsTheOtherSideReadToTheEnd) {
  auto [a, b] = MakePair(GetParam());
  UniqueFd file = MakeMemfd();
  std::array<int, 1> one{file.get()};
  a->Send(Bytes("last "), {});
  a->Send(Bytes("words"), one);
  a->Close();
  EXPECT_TRUE(Polls(b->read_descriptor(), POLLIN));
  EXPECT_EQ(ReceiveText(*b), "last words");
  EXPECT_EQ(state_, ChannelState::kOpen);
  EXPECT_EQ(descriptors_.size(), 1u);
  EXPECT_EQ(ReceiveText(*b), "");
  EXPECT_EQ(state_, ChannelState::kClosed);
  EXPECT_TRUE(Polls(b->read_descriptor(), POLLIN));
}

TEST_P(ChannelTest, Close_EndsBothDirectionsOnBothSides) {
  auto [a, b] = MakePair(GetParam());
  b->Send(Bytes("unread"), {});
  a->Close();
  EXPECT_EQ(ReceiveText(*a), "");
  EXPECT_EQ(state_, ChannelState::kClosed);
  EXPECT_EQ(a->Send(Bytes("x"), {}).state, ChannelState::kClosed);
  EXPECT_EQ(b->Send(Bytes("x"), {}).state, ChannelState::kClosed);
  EXPECT_TRUE(Polls(b->write_descriptor(), POLLOUT));
}

TEST_P(ChannelTest, Destroyed_TheOtherSideSeesTheEnd) {
  auto [a, b] = MakePair(GetParam());
  b->Send(Bytes("unread"), {});
  a->Send(Bytes("data"), {});
  a.reset();
  EXPECT_EQ(ReceiveText(*b), "data");
  EXPECT_EQ(ReceiveText(*b), "");
  EXPECT_EQ(state_, ChannelState::kClosed);
  EXPECT_EQ(b->Send(Bytes("x"), {}).state, ChannelState::kClosed);
}

TEST_P(ChannelTest, TwoThreads_PassEverythingInOrder) {
  auto [a, b] = MakePair(GetParam());
  constexpr size_t kTotal = 4 << 20;
  std::thread sender([&channel = *a] {
    std::vector<std::byte> block(10007);
    size_t sent = 0;
    while (sent < kTotal) {
      size_t count = std::min(block.size(), kTotal - sent);
      for (size_t i = 0; i < count; ++i) block[i] = static_cast<std::byte>((sent + i) % 251);
      Channel::Sent result = channel.Send(std::span(block).first(count), {});
      if (result.state == ChannelState::kClosed) return;
      sent += result.bytes;
      if (result.bytes == 0) {
        pollfd entry{channel.write_descriptor(), POLLOUT, 0};
        poll(&entry, 1, 10000);
      }
    }
  });
  size_t received = 0;
  size_t wrong = 0;
  std::vector<std::byte> buffer(7001);
  while (received < kTotal) {
    pollfd entry{b->read_descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&entry, 1, 10000), 1);
    auto result = b->Receive(buffer, descriptors_);
    ASSERT_TRUE(result.ok());
    for (size_t i = 0; i < result->bytes; ++i) {
      wrong += buffer[i] != static_cast<std::byte>((received + i) % 251);
    }
    received += result->bytes;
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(SocketChannel, Make_RefusesWhatIsNotAUnixStreamSocket) {
  EXPECT_FALSE(MakeSocketChannel(MakeMemfd()).ok());
  EXPECT_FALSE(MakeSocketChannel(UniqueFd()).ok());
  EXPECT_FALSE(MakeSocketChannel(MakeSocketPair(SOCK_DGRAM).first).ok());
  EXPECT_FALSE(MakeSocketChannel(UniqueFd(socket(AF_INET, SOCK_STREAM, 0))).ok());
}

// A sender that does not use Channel, and so is not bound by its limits.
void SendControl(int socket, int level, int type, std::span<const std::byte> data) {
  std::vector<std::byte> control(CMSG_SPACE(data.size()));
  iovec piece{const_cast<char*>("x"), 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = level;
  header->cmsg_type = type;
  header->cmsg_len = CMSG_LEN(data.size());
  std::memcpy(CMSG_DATA(header), data.data(), data.size());
  ASSERT_EQ(sendmsg(socket, &message, 0), 1);
}

TEST(SocketChannel, Receive_TruncatedControlData_IsBadMessageAndClosesAll) {
  auto [a, b] = MakeSocketPair();
  auto channel = std::move(MakeSocketChannel(std::move(b))).value();
  size_t before = OpenDescriptors();
  UniqueFd file = MakeMemfd();
  std::vector<int> many(limits::kDescriptorsPendingMax + 1, file.get());
  SendControl(a.get(), SOL_SOCKET, SCM_RIGHTS, std::as_bytes(std::span(many)));
  std::deque<UniqueFd> descriptors;
  std::array<std::byte, 8> buffer{};
  auto received = channel->Receive(buffer, descriptors);
  ASSERT_FALSE(received.ok());
  EXPECT_NE(received.error().message.find("truncated"), std::string::npos);
  file.Reset();
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(SocketChannel, Receive_ControlDataOfAnotherKind_IsBadMessage) {
  auto [a, b] = MakeSocketPair();
  int on = 1;
  ASSERT_EQ(setsockopt(b.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
  auto channel = std::move(MakeSocketChannel(std::move(b))).value();
  ASSERT_EQ(send(a.get(), "x", 1, 0), 1);
  std::deque<UniqueFd> descriptors;
  std::array<std::byte, 8> buffer{};
  EXPECT_FALSE(channel->Receive(buffer, descriptors).ok());
}

}  // namespace
}  // namespace webnnd::ipc
