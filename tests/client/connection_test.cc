#include "client/connection.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "base/limits.h"
#include "base/unique_fd.h"
#include "ipc/codec.h"
#include "tests/client/fake_service.h"

namespace webnn::test {
namespace {

namespace limits = webnnd::limits;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A connection with what its I/O thread reports.
class ConnectionTest : public testing::Test {
 protected:
  void Start(const Connection::Options& options = {}) {
    Connection::Events events;
    events.on_message = [this](ipc::ServiceMessage message, size_t bytes) {
      std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
      bytes_.push_back(bytes);
      readers_.push_back(std::this_thread::get_id());
      Signal();
      changed_.notify_all();
    };
    events.on_end = [this](std::string reason) {
      std::lock_guard lock(mutex_);
      EXPECT_FALSE(end_.has_value());
      end_ = std::move(reason);
      Signal();
      changed_.notify_all();
    };
    auto channel = service_.Connect();
    ASSERT_TRUE(channel.ok());
    auto connection = Connection::Start(std::move(*channel), std::move(events), options);
    ASSERT_TRUE(connection.ok()) << connection.error().ToString();
    connection_ = std::move(*connection);
    service_.Greet();
  }
  std::string AwaitEnd() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(5), [&] { return end_.has_value(); }));
    return end_.value_or("");
  }
  bool AwaitMessages(size_t count, int timeout_ms = 5000) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, milliseconds(timeout_ms),
                             [&] { return messages_.size() >= count; });
  }
  void Write(std::span<const std::byte> data) {
    ASSERT_TRUE(connection_->CheckRoom().ok());
    auto payload = connection_->Stage(data);
    ASSERT_TRUE(payload.ok()) << payload.error().ToString();
    connection_->Send(ipc::WriteTensor{ipc::Handle{7, 1}, std::move(*payload)});
  }
  // Acknowledges until the arena's range comes free: the I/O thread needs a moment.
  void Acknowledge(uint64_t sequence) {
    service_.Send(ipc::Acknowledge{sequence});
    // A message behind it shows that the acknowledgement was handled.
    const size_t before = Count();
    service_.Send(ipc::TensorCreated{ipc::Handle{1, 1}, std::nullopt});
    ASSERT_TRUE(AwaitMessages(before + 1));
  }
  size_t Count() {
    std::lock_guard lock(mutex_);
    return messages_.size();
  }

  // What an event does to the descriptor that ReadUntil waits for.
  void Signal() {
    const uint64_t one = 1;
    EXPECT_EQ(write(signal_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  void ClearSignal() {
    uint64_t count = 0;
    EXPECT_EQ(read(signal_.get(), &count, sizeof count), static_cast<ssize_t>(sizeof count));
  }
  // Waits for what `send` makes the service say, which it says once this thread waits.
  void ReadWhat(std::function<void()> send) {
    std::thread later([&] {
      std::this_thread::sleep_for(milliseconds(30));
      send();
    });
    connection_->ReadUntil(signal_.get());
    later.join();
  }

  std::thread::id LastReader() {
    std::lock_guard lock(mutex_);
    return readers_.back();
  }

  FakeService service_;
  webnnd::UniqueFd signal_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ipc::ServiceMessage> messages_;
  std::vector<size_t> bytes_;
  std::vector<std::thread::id> readers_;
  std::optional<std::string> end_;
  std::unique_ptr<Connection> connection_;
};

constexpr Connection::Options kSmallArenas = {.up_arena_bytes = limits::kArenaBytesMin,
                                              .down_arena_bytes = limits::kArenaBytesMin};

TEST_F(ConnectionTest, Stage_ChoosesInlineArenaOrFile) {
  Start(kSmallArenas);
  const auto small = Pattern(limits::kInlinePayloadBytesMax);
  const auto medium = Pattern(limits::kInlinePayloadBytesMax + 1);
  const auto large = Pattern(limits::kArenaBytesMin + 1);
  Write(small);
  Write(medium);
  Write(large);
  auto write = service_.Expect<ipc::WriteTensor>();
  EXPECT_TRUE(std::holds_alternative<ipc::InlinePayload>(write.data));
  EXPECT_EQ(service_.Read(write.data), small);
  write = service_.Expect<ipc::WriteTensor>();
  ASSERT_TRUE(std::holds_alternative<ipc::ArenaPayload>(write.data));
  EXPECT_EQ(std::get<ipc::ArenaPayload>(write.data).sequence, 1u);
  EXPECT_EQ(service_.Read(write.data), medium);
  write = service_.Expect<ipc::WriteTensor>();
  EXPECT_TRUE(std::holds_alternative<ipc::FilePayload>(write.data));
  EXPECT_EQ(service_.Read(write.data), large);
}

TEST_F(ConnectionTest, ArenaFull_UsesAFileUntilAcknowledged) {
  Start(kSmallArenas);
  const auto data = Pattern(40000);  // One fits, two do not.
  Write(data);
  Write(data);
  EXPECT_TRUE(std::holds_alternative<ipc::ArenaPayload>(service_.Expect<ipc::WriteTensor>().data));
  auto second = service_.Expect<ipc::WriteTensor>();
  EXPECT_TRUE(std::holds_alternative<ipc::FilePayload>(second.data));
  EXPECT_EQ(service_.Read(second.data), data);
  Acknowledge(1);
  Write(data);
  auto third = service_.Expect<ipc::WriteTensor>();
  ASSERT_TRUE(std::holds_alternative<ipc::ArenaPayload>(third.data));
  EXPECT_EQ(std::get<ipc::ArenaPayload>(third.data).sequence, 2u);
}

TEST_F(ConnectionTest, Acknowledge_FreesAllUpToItsSequence) {
  Start(kSmallArenas);
  for (int i = 0; i < 4; ++i) Write(Pattern(16000));
  for (int i = 0; i < 4; ++i) service_.Expect<ipc::WriteTensor>();
  Acknowledge(3);
  Acknowledge(3);  // Again says nothing new.
  for (int i = 0; i < 4; ++i) Write(Pattern(16000));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        std::holds_alternative<ipc::ArenaPayload>(service_.Expect<ipc::WriteTensor>().data));
  }
  EXPECT_TRUE(std::holds_alternative<ipc::FilePayload>(service_.Expect<ipc::WriteTensor>().data));
}

TEST_F(ConnectionTest, DiscardPagesOnceIdle_KeepsWhatIsOnItsWay) {
  Start(kSmallArenas);
  const auto data = Pattern(40000);
  Write(data);
  const auto write = service_.Expect<ipc::WriteTensor>();
  ASSERT_TRUE(std::holds_alternative<ipc::ArenaPayload>(write.data));
  connection_->DiscardPagesOnceIdle();
  EXPECT_EQ(service_.Read(write.data), data);
  Acknowledge(1);
  const std::vector<std::byte> zeros(data.size());
  EXPECT_EQ(service_.Read(write.data), zeros);
  // Once.
  Write(data);
  const auto next = service_.Expect<ipc::WriteTensor>();
  Acknowledge(2);
  EXPECT_EQ(service_.Read(next.data), data);
  connection_->DiscardPagesOnceIdle();
  EXPECT_EQ(service_.Read(next.data), zeros);
}

TEST_F(ConnectionTest, AcknowledgeOfTheFuture_EndsTheConnection) {
  Start();
  Write(Pattern(5000));
  service_.Send(ipc::Acknowledge{2});
  EXPECT_NE(AwaitEnd().find("acknowledges what was not sent (2)"), std::string::npos);
}

TEST_F(ConnectionTest, ReserveRead_ChoosesInlineArenaOrFile) {
  Start(kSmallArenas);
  auto inline_read = connection_->ReserveRead(limits::kInlinePayloadBytesMax);
  ASSERT_TRUE(inline_read.ok());
  EXPECT_TRUE(std::holds_alternative<ipc::InlineDestination>(inline_read->destination));
  auto arena = connection_->ReserveRead(40000);
  ASSERT_TRUE(arena.ok());
  EXPECT_TRUE(std::holds_alternative<ipc::ArenaDestination>(arena->destination));
  auto file = connection_->ReserveRead(40000);  // The arena is full.
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(std::holds_alternative<ipc::FileDestination>(file->destination));
  connection_->ReleaseRead(std::move(arena->target));
  auto again = connection_->ReserveRead(40000);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(std::holds_alternative<ipc::ArenaDestination>(again->destination));
}

TEST_F(ConnectionTest, ReadOfAnotherLength_IsBadMessage) {
  Start();
  auto read = connection_->ReserveRead(16);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(connection_->ReadBytes(read->target, {1, std::nullopt, 8, Pattern(8)}).ok());
  EXPECT_FALSE(connection_->ReadBytes(read->target, {1, std::nullopt, 16, Pattern(8)}).ok());
  EXPECT_TRUE(connection_->ReadBytes(read->target, {1, std::nullopt, 16, Pattern(16)}).ok());
  auto large = connection_->ReserveRead(5000);
  ASSERT_TRUE(large.ok());
  EXPECT_FALSE(connection_->ReadBytes(large->target, {1, std::nullopt, 5000, Pattern(9)}).ok());
  EXPECT_TRUE(connection_->ReadBytes(large->target, {1, std::nullopt, 5000, {}}).ok());
}

TEST_F(ConnectionTest, ServiceDoesNotRead_FailsWithQuotaAndGoesOnOnceItReads) {
  Start({.queue_bytes_max = 1 << 20});
  const auto data = Pattern(4000);
  int accepted = 0;
  const auto start = Clock::now();
  while (connection_->CheckRoom().ok()) {
    Write(data);
    ++accepted;
    ASSERT_LT(accepted, 100000);
  }
  EXPECT_EQ(ErrorOf(connection_->CheckRoom()).cause(), Cause::kQuota);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
  EXPECT_GT(accepted, (1 << 20) / 4100);
  // Everything that was accepted arrives, in order, without another call of ours.
  for (int i = 0; i < accepted; ++i) {
    ASSERT_EQ(service_.Read(service_.Expect<ipc::WriteTensor>().data), data) << i;
  }
  EXPECT_TRUE(service_.IsQuiet());
  ASSERT_TRUE(connection_->CheckRoom().ok());
  Write(data);
  service_.Expect<ipc::WriteTensor>();
}

TEST_F(ConnectionTest, FilesThatWait_CountAgainstTheQueue) {
  Start({.up_arena_bytes = limits::kArenaBytesMin, .queue_bytes_max = 4 << 20});
  // Fill the channel, so that what follows stays with us.
  while (connection_->bytes_sent() == 0 || connection_->CheckRoom().ok()) {
    const uint64_t before = connection_->bytes_sent();
    Write(Pattern(4000));
    if (connection_->bytes_sent() == before) break;
  }
  const auto large = Pattern(3 << 20);
  Write(large);
  Write(large);  // One may go beyond the limit.
  EXPECT_EQ(ErrorOf(connection_->CheckRoom()).cause(), Cause::kQuota);
  while (auto message = service_.Next(200)) {
  }
  EXPECT_TRUE(connection_->CheckRoom().ok());
}

TEST_F(ConnectionTest, RepliesComeWhileSendsQueue) {
  Start();
  for (int i = 0; i < 1000; ++i) Write(Pattern(4000));
  service_.Send(ipc::TensorCreated{ipc::Handle{1, 1}, std::nullopt});
  EXPECT_TRUE(AwaitMessages(1));
}

TEST_F(ConnectionTest, UnhandledReplies_PauseReading) {
  Start({.completion_bytes_max = 10000});
  for (int i = 0; i < 1000; ++i) {
    service_.Send(ipc::TensorCreated{ipc::Handle{1, 1}, std::nullopt});
  }
  std::this_thread::sleep_for(milliseconds(100));
  // Paused after a bounded number, though the service has sent all; one read may hold many frames.
  const size_t handled = Count();
  EXPECT_GT(handled, 0u);
  for (size_t seen = 0; seen < 1000;) {
    ASSERT_TRUE(AwaitMessages(seen + 1));
    std::lock_guard lock(mutex_);
    while (seen < bytes_.size()) connection_->Handled(bytes_[seen++]);
  }
}

TEST_F(ConnectionTest, PausedReading_DoesNotSpin) {
  Start({.completion_bytes_max = 0});
  service_.Send(ipc::TensorCreated{ipc::Handle{1, 1}, std::nullopt});
  ASSERT_TRUE(AwaitMessages(1));
  service_.Send(ipc::TensorCreated{ipc::Handle{2, 1}, std::nullopt});
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(milliseconds(300));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(Count(), 1u);
  const auto micros = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  EXPECT_LT(micros(after) - micros(before), 100000);
  connection_->Handled(bytes_[0]);
  EXPECT_TRUE(AwaitMessages(2));
}

TEST_F(ConnectionTest, Goodbye_IsTheReason) {
  Start();
  service_.Send(ipc::Goodbye{"the schema is another"});
  EXPECT_EQ(AwaitEnd(), "the schema is another");
  Write(Pattern(100));  // Dropped.
}

TEST_F(ConnectionTest, Closed_EndsWithAReason) {
  Start();
  service_.Close();
  EXPECT_EQ(AwaitEnd(), "the service closed the connection");
}

TEST_F(ConnectionTest, ClosedInsideAFrame_SaysSo) {
  Start();
  auto frame = ipc::Encode(ipc::ServiceMessage(ipc::TensorCreated{{1, 1}, std::nullopt}));
  service_.SendBytes(std::span(frame.bytes).first(frame.bytes.size() - 8));
  service_.Close();
  EXPECT_NE(AwaitEnd().find("in the middle of a message"), std::string::npos);
}

TEST_F(ConnectionTest, MalformedReplies_EndTheConnection) {
  const std::vector<std::vector<std::byte>> malformed = {
      std::vector<std::byte>(64, std::byte{0xff}),  // Not one segment.
      std::vector<std::byte>(64, std::byte{0}),     // No word at all.
      [] {                                          // Wild pointers behind a good header.
        std::vector<std::byte> bytes(8 + 64, std::byte{0xa5});
        const uint32_t header[2] = {0, 8};
        std::memcpy(bytes.data(), header, sizeof header);
        return bytes;
      }(),
  };
  for (const auto& bytes : malformed) {
    end_.reset();
    Start();
    service_.SendBytes(bytes);
    EXPECT_NE(AwaitEnd().find("broke the protocol"), std::string::npos);
    connection_ = nullptr;
  }
}

TEST_F(ConnectionTest, EndFromThisSide_TellsTheReason) {
  Start();
  connection_->End("enough");
  EXPECT_EQ(AwaitEnd(), "enough");
  EXPECT_FALSE(service_.Next(2000).has_value());
}

TEST_F(ConnectionTest, Destroyed_ReportsNoEvent) {
  Start();
  connection_ = nullptr;
  std::lock_guard lock(mutex_);
  EXPECT_FALSE(end_.has_value());
}

// --- Waiting ------------------------------------------------------------------------------------

TEST_F(ConnectionTest, WhoWaits_ReadsTheAnswerItself) {
  Start();
  const ipc::TensorCreated answer{ipc::Handle{1, 1}, std::nullopt};
  const std::thread::id here = std::this_thread::get_id();
  int read_here = 0;
  // On a busy machine an answer may come before this thread waits.
  for (int attempt = 0; attempt < 50 && read_here < 3; ++attempt) {
    ReadWhat([&] { service_.Send(answer); });
    ClearSignal();
    if (LastReader() == here) ++read_here;
    // Between waits the I/O thread reads.
    const size_t before = Count();
    service_.Send(answer);
    ASSERT_TRUE(AwaitMessages(before + 1));
    ClearSignal();
    EXPECT_NE(LastReader(), here);
  }
  EXPECT_EQ(read_here, 3);
}

TEST_F(ConnectionTest, WhatCameBeforeTheWait_EndsIt) {
  Start();
  service_.Send(ipc::TensorCreated{ipc::Handle{1, 1}, std::nullopt});
  ASSERT_TRUE(AwaitMessages(1));
  connection_->ReadUntil(signal_.get());
  EXPECT_EQ(Count(), 1u);
}

TEST_F(ConnectionTest, WhatIsNoEvent_DoesNotEndTheWait) {
  Start();
  Write(Pattern(limits::kInlinePayloadBytesMax + 1));
  ReadWhat([&] {
    service_.Send(ipc::Acknowledge{1});
    std::this_thread::sleep_for(milliseconds(30));
    service_.Send(ipc::TensorCreated{ipc::Handle{1, 1}, std::nullopt});
  });
  EXPECT_EQ(Count(), 1u);
}

TEST_F(ConnectionTest, EndWhileSomebodyWaits_IsTold) {
  Start();
  ReadWhat([&] { service_.Send(ipc::Goodbye{"enough"}); });
  EXPECT_EQ(AwaitEnd(), "enough");
  end_.reset();
  signal_ = webnnd::UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  connection_ = nullptr;
  Start();
  ReadWhat([&] { service_.Close(); });
  EXPECT_EQ(AwaitEnd(), "the service closed the connection");
  // There is nothing to wait for any more.
  connection_->ReadUntil(signal_.get());
}

// Whichever thread reads which part of the end.
TEST_F(ConnectionTest, GoodbyeAsAWaitBegins_IsTheReason) {
  for (int i = 0; i < 200; ++i) {
    end_.reset();
    signal_ = webnnd::UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    Start();
    std::thread goes([&] {
      service_.Send(ipc::Goodbye{"enough"});
      service_.Close();
    });
    connection_->ReadUntil(signal_.get());
    EXPECT_EQ(AwaitEnd(), "enough");
    goes.join();
    connection_ = nullptr;
    if (HasFailure()) return;
  }
}

TEST_F(ConnectionTest, MalformedReplyWhileSomebodyWaits_EndsTheConnection) {
  Start();
  ReadWhat([&] { service_.SendBytes(std::vector<std::byte>(64, std::byte{0xff})); });
  EXPECT_NE(AwaitEnd().find("broke the protocol"), std::string::npos);
}

TEST_F(ConnectionTest, EndFromAnotherThreadWhileSomebodyWaits_IsTold) {
  Start();
  ReadWhat([&] { connection_->End("enough"); });
  EXPECT_EQ(AwaitEnd(), "enough");
}

TEST_F(ConnectionTest, Bytes_AreCounted) {
  Start();
  const uint64_t before = connection_->bytes_sent();
  EXPECT_GT(before, 0u);
  connection_->Send(ipc::DestroyTensor{ipc::Handle{7, 1}});
  EXPECT_GT(connection_->bytes_sent(), before);
  const auto frame = ipc::Encode(ipc::ServiceMessage(ipc::TensorCreated{{1, 1}, std::nullopt}));
  service_.SendBytes(frame.bytes);
  ASSERT_TRUE(AwaitMessages(1));
  EXPECT_EQ(connection_->bytes_received(), frame.bytes.size());
}

}  // namespace
}  // namespace webnn::test
