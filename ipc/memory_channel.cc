// The channel in memory: two bounded pipes, which behave like the two directions of a socket.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "ipc/channel.h"

namespace webnnd::ipc {
namespace {

using fault::Kind;

// About a Unix socket's default buffer, so that back-pressure sets in alike.
constexpr size_t kPipeBytes = 256 << 10;
// A socket counts descriptors in flight against the sender; this is the pipe's bound.
constexpr size_t kDescriptorSetsMax = 256;

// An eventfd that shows a state to poll, level-triggered.
class Level {
 public:
  // kIn shows through POLLIN, kOut through POLLOUT.
  enum class Side : uint8_t { kIn, kOut };
  Level(UniqueFd event, Side side) : event_(std::move(event)), side_(side) {}

  int descriptor() const { return event_.get(); }
  void Set(bool on) {
    if (on == on_) return;
    on_ = on;
    // POLLIN shows a counter above 0; POLLOUT one below its greatest value.
    bool raise = (side_ == Side::kIn) == on;
    uint64_t value = side_ == Side::kIn ? 1 : 0xfffffffffffffffe;
    ssize_t bytes = 0;
    do {
      bytes = raise ? write(event_.get(), &value, sizeof(value))
                    : read(event_.get(), &value, sizeof(value));
    } while (bytes < 0 && errno == EINTR);
    CHECK(bytes == sizeof(value));
  }

 private:
  UniqueFd event_;
  Side side_;
  // A fresh eventfd holds 0: not readable, writable.
  bool on_ = side_ == Side::kOut;
};

// One direction. Both ends own it together, so that the polled descriptors outlive either.
class Pipe {
 public:
  Pipe(UniqueFd readable, UniqueFd writable)
      : readable_(std::move(readable), Level::Side::kIn),
        writable_(std::move(writable), Level::Side::kOut),
        ring_(std::make_unique_for_overwrite<std::byte[]>(kPipeBytes)) {}

  int readable_descriptor() const { return readable_.descriptor(); }
  int writable_descriptor() const { return writable_.descriptor(); }

  Result<Channel::Received, BadMessage> Receive(std::span<std::byte> buffer,
                                                std::deque<UniqueFd>& descriptors) {
    std::lock_guard lock(mutex_);
    if (reader_closed_) return Channel::Received{0, ChannelState::kClosed};
    if (size_ == 0) {
      return Channel::Received{0, writer_closed_ ? ChannelState::kClosed : ChannelState::kOpen};
    }
    size_t bytes = std::min(buffer.size(), size_);
    // As from a socket: at most one send's descriptors, and only with its first byte.
    bool took = false;
    if (!sets_.empty() && sets_.front().position < received_ + bytes) {
      took = true;
      for (UniqueFd& fd : sets_.front().descriptors) descriptors.push_back(std::move(fd));
      sets_.pop_front();
    }
    if (took && !sets_.empty()) {
      bytes = std::min<uint64_t>(bytes, sets_.front().position - received_);
    }
    size_t begin = received_ % kPipeBytes;
    size_t first = std::min(bytes, kPipeBytes - begin);
    std::memcpy(buffer.data(), ring_.get() + begin, first);
    std::memcpy(buffer.data() + first, ring_.get(), bytes - first);
    received_ += bytes;
    size_ -= bytes;
    UpdateLevels();
    if (descriptors.size() > limits::kDescriptorsPendingMax) {
      size_t count = descriptors.size();
      descriptors.clear();
      return MakeBadMessage("more descriptors ({}) are pending than the limit ({})", count,
                            limits::kDescriptorsPendingMax);
    }
    return Channel::Received{bytes, ChannelState::kOpen};
  }

  Channel::Sent Send(std::span<const std::byte> bytes, std::span<const int> descriptors) {
    std::lock_guard lock(mutex_);
    if (writer_closed_ || reader_closed_) return {0, ChannelState::kClosed};
    size_t count = std::min(bytes.size(), kPipeBytes - size_);
    if (count == 0 || (!descriptors.empty() && sets_.size() == kDescriptorSetsMax)) {
      return {0, ChannelState::kOpen};
    }
    if (!descriptors.empty()) {
      DescriptorSet set{received_ + size_, {}};
      for (int fd : descriptors) {
        set.descriptors.emplace_back(SYS_CALL(Kind::kDescriptor, fcntl(fd, F_DUPFD_CLOEXEC, 0)));
        if (!set.descriptors.back().valid()) {
          // Out of descriptors, which poll cannot wait for.
          writer_closed_ = true;
          UpdateLevels();
          return {0, ChannelState::kClosed};
        }
      }
      sets_.push_back(std::move(set));
    }
    size_t begin = (received_ + size_) % kPipeBytes;
    size_t first = std::min(count, kPipeBytes - begin);
    std::memcpy(ring_.get() + begin, bytes.data(), first);
    std::memcpy(ring_.get(), bytes.data() + first, count - first);
    size_ += count;
    UpdateLevels();
    return {count, ChannelState::kOpen};
  }

  void CloseWriter() {
    std::lock_guard lock(mutex_);
    writer_closed_ = true;
    UpdateLevels();
  }

  void CloseReader() {
    std::lock_guard lock(mutex_);
    reader_closed_ = true;
    received_ += size_;
    size_ = 0;
    sets_.clear();
    UpdateLevels();
  }

 private:
  struct DescriptorSet {
    uint64_t position;  // Of the byte that they travel with, counted from the beginning.
    std::vector<UniqueFd> descriptors;
  };

  void UpdateLevels() {
    bool closed = writer_closed_ || reader_closed_;
    bool room = size_ < kPipeBytes && sets_.size() < kDescriptorSetsMax;
    readable_.Set(size_ > 0 || closed);
    writable_.Set(closed || room);
  }

  std::mutex mutex_;
  Level readable_;
  Level writable_;
  std::unique_ptr<std::byte[]> ring_;
  uint64_t received_ = 0;  // Bytes taken out since the beginning.
  size_t size_ = 0;        // Bytes in the ring.
  std::deque<DescriptorSet> sets_;
  bool writer_closed_ = false;
  bool reader_closed_ = false;
};

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~MemoryChannel() override { Close(); }

  int read_descriptor() const override { return in_->readable_descriptor(); }
  int write_descriptor() const override { return out_->writable_descriptor(); }
  Result<Received, BadMessage> Receive(std::span<std::byte> buffer,
                                       std::deque<UniqueFd>& descriptors) override {
    CHECK(!buffer.empty());
    if (fault::Fails(Kind::kReceive)) return Received{0, ChannelState::kClosed};
    return in_->Receive(buffer, descriptors);
  }
  Sent Send(std::span<const std::byte> bytes, std::span<const int> descriptors) override {
    CHECK(!bytes.empty());
    CHECK(descriptors.size() <= limits::kDescriptorsPerFrameMax);
    if (fault::Fails(Kind::kSend)) return {0, ChannelState::kClosed};
    return out_->Send(bytes, descriptors);
  }
  void Close() override {
    in_->CloseReader();
    out_->CloseWriter();
  }

 private:
  std::shared_ptr<Pipe> in_;
  std::shared_ptr<Pipe> out_;
};

Result<std::shared_ptr<Pipe>> MakePipe() {
  UniqueFd readable(SYS_CALL(Kind::kDescriptor, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!readable.valid()) return ErrnoError("eventfd");
  UniqueFd writable(SYS_CALL(Kind::kDescriptor, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!writable.valid()) return ErrnoError("eventfd");
  return std::make_shared<Pipe>(std::move(readable), std::move(writable));
}

}  // namespace

Result<std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>> MakeMemoryChannelPair() {
  ASSIGN_OR_RETURN(std::shared_ptr<Pipe> there, MakePipe());
  ASSIGN_OR_RETURN(std::shared_ptr<Pipe> back, MakePipe());
  return std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>(
      std::make_unique<MemoryChannel>(back, there), std::make_unique<MemoryChannel>(there, back));
}

}  // namespace webnnd::ipc
