#include "ipc/frame_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/limits.h"
#include "tests/ipc/random.h"

namespace webnnd::ipc {
namespace {

Frame MakeFrame(uint32_t words, uint32_t fill) {
  Frame frame;
  frame.bytes.resize(kFrameHeaderBytes + static_cast<size_t>(words) * 8);
  std::memcpy(frame.bytes.data() + 4, &words, sizeof(words));
  for (size_t i = kFrameHeaderBytes; i < frame.bytes.size(); ++i) {
    frame.bytes[i] = static_cast<std::byte>(fill + i);
  }
  return frame;
}

Result<size_t, BadMessage> Length(uint32_t segments_minus_one, uint32_t words) {
  std::array<std::byte, kFrameHeaderBytes> header{};
  std::memcpy(header.data(), &segments_minus_one, 4);
  std::memcpy(header.data() + 4, &words, 4);
  return FrameLength(header);
}

TEST(Frame, Length_IsHeaderAndWords) {
  EXPECT_EQ(Length(0, 1).value(), 16u);
  EXPECT_EQ(Length(0, limits::kFrameBytesMax / 8 - 1).value(), limits::kFrameBytesMax);
}

TEST(Frame, Length_RefusesOversizedEmptyAndMultiSegment) {
  EXPECT_FALSE(Length(0, limits::kFrameBytesMax / 8).ok());
  EXPECT_FALSE(Length(0, 0xffffffff).ok());
  EXPECT_FALSE(Length(0, 0).ok());
  EXPECT_FALSE(Length(1, 1).ok());
  EXPECT_FALSE(Length(0xffffffff, 1).ok());
}

// Hands out what it is given in the sizes that the test chooses.
class ScriptedChannel final : public Channel {
 public:
  int read_descriptor() const override { return -1; }
  int write_descriptor() const override { return -1; }
  Result<Received, BadMessage> Receive(std::span<std::byte> buffer,
                                       std::deque<UniqueFd>&) override {
    size_t count = std::min({buffer.size(), chunk, incoming.size()});
    std::copy_n(incoming.begin(), count, buffer.begin());
    incoming.erase(incoming.begin(), incoming.begin() + count);
    bool end = count == 0 && closed;
    return Received{count, end ? ChannelState::kClosed : ChannelState::kOpen};
  }
  Sent Send(std::span<const std::byte> bytes, std::span<const int> descriptors) override {
    if (closed) return {0, ChannelState::kClosed};
    size_t count = std::min(bytes.size(), room);
    room -= count;
    if (count > 0) {
      outgoing.insert(outgoing.end(), bytes.begin(), bytes.begin() + count);
      sends.push_back({count, descriptors.size()});
    }
    return {count, ChannelState::kOpen};
  }
  void Close() override { closed = true; }

  struct SendCall {
    size_t bytes;
    size_t descriptors;
    friend bool operator==(const SendCall&, const SendCall&) = default;
  };
  std::vector<std::byte> incoming;
  size_t chunk = SIZE_MAX;
  std::vector<std::byte> outgoing;
  std::vector<SendCall> sends;
  size_t room = SIZE_MAX;
  bool closed = false;
};

TEST(FrameReader, Next_WaitsForTheWholeFrame) {
  ScriptedChannel channel;
  channel.incoming = MakeFrame(3, 7).bytes;
  channel.chunk = 5;
  channel.closed = true;
  FrameReader reader(channel);
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(reader.Next().value().has_value());
    EXPECT_EQ(reader.Fill().value(), ChannelState::kOpen);
  }
  EXPECT_FALSE(reader.Next().value().has_value());
  EXPECT_TRUE(reader.HasPartialFrame());
  EXPECT_EQ(reader.Fill().value(), ChannelState::kOpen);
  auto frame = reader.Next().value();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(std::vector<std::byte>(frame->begin(), frame->end()), MakeFrame(3, 7).bytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(frame->data()) % 8, 0u);
  EXPECT_FALSE(reader.HasPartialFrame());
  EXPECT_EQ(reader.Fill().value(), ChannelState::kClosed);
}

TEST(FrameReader, Next_RefusesABadHeader) {
  ScriptedChannel channel;
  channel.incoming.assign(8, std::byte{0xff});
  FrameReader reader(channel);
  ASSERT_TRUE(reader.Fill().ok());
  EXPECT_FALSE(reader.Next().ok());
}

TEST(FrameReader, Fill_StopsReadingWhileNobodyTakesFrames) {
  ScriptedChannel channel;
  Frame frame = MakeFrame(100, 1);
  while (channel.incoming.size() < 4 * limits::kFrameBytesMax) {
    channel.incoming.insert(channel.incoming.end(), frame.bytes.begin(), frame.bytes.end());
  }
  size_t total = channel.incoming.size();
  FrameReader reader(channel);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(reader.Fill().value(), ChannelState::kOpen);
  EXPECT_EQ(total - channel.incoming.size(), limits::kFrameBytesMax);
}

TEST(FrameReader, LargestFrame_Arrives) {
  ScriptedChannel channel;
  Frame small = MakeFrame(1, 3);
  Frame large = MakeFrame(limits::kFrameBytesMax / 8 - 1, 5);
  channel.incoming = small.bytes;
  channel.incoming.insert(channel.incoming.end(), large.bytes.begin(), large.bytes.end());
  FrameReader reader(channel);
  ASSERT_TRUE(reader.Fill().ok());
  EXPECT_EQ(reader.Next().value()->size(), small.bytes.size());
  std::optional<std::span<const std::byte>> frame;
  for (int i = 0; i < 100 && !frame; ++i) {
    ASSERT_TRUE(reader.Fill().ok());
    frame = reader.Next().value();
  }
  ASSERT_TRUE(frame.has_value());
  EXPECT_TRUE(std::equal(frame->begin(), frame->end(), large.bytes.begin(), large.bytes.end()));
}

TEST(FrameWriter, Queue_MergesFramesIntoOneSend) {
  ScriptedChannel channel;
  FrameWriter writer(channel);
  for (int i = 0; i < 10; ++i) writer.Queue(MakeFrame(2, i));
  EXPECT_EQ(writer.pending_bytes(), 240u);
  EXPECT_FALSE(writer.Flush());
  EXPECT_EQ(channel.sends, (std::vector<ScriptedChannel::SendCall>{{240, 0}}));
  EXPECT_EQ(writer.pending_bytes(), 0u);
  EXPECT_EQ(writer.sent_bytes(), 240u);
}

TEST(FrameWriter, Queue_FrameWithDescriptorsStartsItsOwnSend) {
  ScriptedChannel channel;
  FrameWriter writer(channel);
  writer.Queue(MakeFrame(1, 1));
  Frame frame = MakeFrame(1, 2);
  frame.descriptors.emplace_back(memfd_create("test", MFD_CLOEXEC));
  writer.Queue(std::move(frame));
  writer.Queue(MakeFrame(1, 3));
  EXPECT_FALSE(writer.Flush());
  EXPECT_EQ(channel.sends, (std::vector<ScriptedChannel::SendCall>{{16, 0}, {32, 1}}));
}

TEST(FrameWriter, Write_KeepsWhatDoesNotFitAndSendsDescriptorsOnce) {
  ScriptedChannel channel;
  channel.room = 10;
  FrameWriter writer(channel);
  Frame frame = MakeFrame(4, 9);
  frame.descriptors.emplace_back(memfd_create("test", MFD_CLOEXEC));
  std::vector<std::byte> expected = frame.bytes;
  EXPECT_TRUE(writer.Write(std::move(frame)));
  EXPECT_EQ(writer.pending_bytes(), 30u);
  EXPECT_TRUE(writer.Flush());
  channel.room = 100;
  EXPECT_FALSE(writer.Flush());
  EXPECT_EQ(channel.sends, (std::vector<ScriptedChannel::SendCall>{{10, 1}, {30, 0}}));
  EXPECT_EQ(channel.outgoing, expected);
}

TEST(FrameWriter, Write_ToAClosedChannel_DropsEverything) {
  ScriptedChannel channel;
  channel.room = 4;
  FrameWriter writer(channel);
  EXPECT_TRUE(writer.Write(MakeFrame(1, 1)));
  channel.closed = true;
  EXPECT_FALSE(writer.Flush());
  EXPECT_TRUE(writer.closed());
  EXPECT_EQ(writer.pending_bytes(), 0u);
  EXPECT_FALSE(writer.Write(MakeFrame(1, 1)));
  EXPECT_EQ(writer.pending_bytes(), 0u);
}

ino_t Inode(int fd) {
  struct stat status {};
  EXPECT_EQ(fstat(fd, &status), 0);
  return status.st_ino;
}

// Random frames, some with a descriptor, through small sockets in random batches, while the reader
// takes them in its own rhythm: all arrive, in order, each with its own descriptor.
void PassRandomFrames(std::unique_ptr<Channel> sending, std::unique_ptr<Channel> receiving,
                      Random& random) {
  constexpr int kFrames = 400;
  struct Expected {
    uint32_t words;
    uint32_t fill;
    ino_t inode;  // 0: no descriptor.
  };
  std::deque<Expected> expected;
  FrameWriter writer(*sending);
  FrameReader reader(*receiving);
  int sent = 0;
  int received = 0;
  while (received < kFrames) {
    uint64_t batch = random.Between(0, 12);
    for (uint64_t i = 0; i < batch && sent < kFrames; ++i, ++sent) {
      uint32_t words_max = random.Between(0, 20) == 0 ? limits::kFrameBytesMax / 8 - 1 : 200;
      uint32_t words = static_cast<uint32_t>(random.Between(1, words_max));
      Frame frame = MakeFrame(words, sent);
      ino_t inode = 0;
      if (random.Between(0, 5) == 0) {
        frame.descriptors.emplace_back(memfd_create("test", MFD_CLOEXEC));
        inode = Inode(frame.descriptors[0].get());
      }
      expected.push_back({words, static_cast<uint32_t>(sent), inode});
      if (random.Between(0, 1) == 0) {
        writer.Queue(std::move(frame));
      } else {
        writer.Write(std::move(frame));
      }
    }
    writer.Flush();
    for (uint64_t fills = random.Between(0, 4); fills > 0; --fills) {
      ASSERT_EQ(reader.Fill().value(), ChannelState::kOpen);
      for (;;) {
        auto frame = reader.Next();
        ASSERT_TRUE(frame.ok()) << frame.error().message;
        if (!frame->has_value()) break;
        ASSERT_FALSE(expected.empty());
        Expected want = expected.front();
        expected.pop_front();
        Frame original = MakeFrame(want.words, want.fill);
        ASSERT_TRUE(std::equal((*frame)->begin(), (*frame)->end(), original.bytes.begin(),
                               original.bytes.end()));
        if (want.inode != 0) {
          ASSERT_FALSE(reader.descriptors().empty());
          ASSERT_EQ(Inode(reader.descriptors().front().get()), want.inode);
          reader.descriptors().pop_front();
        }
        ++received;
      }
    }
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_TRUE(reader.descriptors().empty());
  EXPECT_FALSE(reader.HasPartialFrame());
}

TEST(FrameStream, RandomFrames_ArriveInOrderOverASocket) {
  Random random;
  std::array<int, 2> fds{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  int buffer_bytes = 4096;
  setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
  PassRandomFrames(std::move(MakeSocketChannel(UniqueFd(fds[0]))).value(),
                   std::move(MakeSocketChannel(UniqueFd(fds[1]))).value(), random);
}

TEST(FrameStream, RandomFrames_ArriveInOrderOverMemory) {
  Random random;
  auto [a, b] = std::move(MakeMemoryChannelPair()).value();
  PassRandomFrames(std::move(a), std::move(b), random);
}

TEST(FrameWriter, ManyThreads_KeepFramesWhole) {
  auto [a, b] = std::move(MakeMemoryChannelPair()).value();
  FrameWriter writer(*a);
  constexpr int kThreads = 4;
  constexpr int kFramesEach = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&writer, t] {
      for (int i = 0; i < kFramesEach; ++i) writer.Write(MakeFrame(1 + t, t));
    });
  }
  FrameReader reader(*b);
  std::array<int, kThreads> counts{};
  int total = 0;
  while (total < kThreads * kFramesEach) {
    writer.Flush();
    ASSERT_TRUE(reader.Fill().ok());
    for (;;) {
      auto frame = reader.Next();
      ASSERT_TRUE(frame.ok());
      if (!frame->has_value()) break;
      size_t t = (*frame)->size() / 8 - 2;
      ASSERT_LT(t, counts.size());
      Frame want = MakeFrame(static_cast<uint32_t>(1 + t), static_cast<uint32_t>(t));
      ASSERT_TRUE(
          std::equal((*frame)->begin(), (*frame)->end(), want.bytes.begin(), want.bytes.end()));
      ++counts[t];
      ++total;
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : counts) EXPECT_EQ(count, kFramesEach);
}

}  // namespace
}  // namespace webnnd::ipc
