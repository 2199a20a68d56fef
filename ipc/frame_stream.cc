#include "ipc/frame_stream.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/limits.h"

namespace webnnd::ipc {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
// Most sessions never need more; a larger frame makes the buffer grow.
constexpr size_t kReadBytesInitial = 64 << 10;
// Below this much room, what is buffered moves to the front first.
constexpr size_t kReadBytesMin = 16 << 10;
// Frames are merged into one send up to about here: beyond, copying costs more than the call.
constexpr size_t kMergedBytesMax = 64 << 10;

static_assert(limits::kFrameBytesMax % kWordBytes == 0 &&
              limits::kFrameBytesMax >= kReadBytesInitial);

}  // namespace

Result<ChannelState, BadMessage> FrameReader::Fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.empty()) buffer_.resize(kReadBytesInitial / kWordBytes);
  size_t capacity = buffer_.size() * kWordBytes;
  auto* bytes = reinterpret_cast<std::byte*>(buffer_.data());
  if (capacity - end_ < kReadBytesMin && begin_ > 0) {
    std::memmove(bytes, bytes + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity) {
    if (capacity == limits::kFrameBytesMax) return ChannelState::kOpen;
    capacity = std::min<size_t>(2 * capacity, limits::kFrameBytesMax);
    buffer_.resize(capacity / kWordBytes);
    bytes = reinterpret_cast<std::byte*>(buffer_.data());
  }
  ASSIGN_OR_RETURN(Channel::Received received,
                   channel_.Receive({bytes + end_, capacity - end_}, descriptors_));
  end_ += received.bytes;
  return received.state;
}

Result<std::optional<std::span<const std::byte>>, BadMessage> FrameReader::Next() {
  using Frame = std::optional<std::span<const std::byte>>;
  if (end_ - begin_ < kFrameHeaderBytes) return Frame();
  // Frames are whole words and the first one starts at a word, so every one is aligned.
  const std::byte* frame = reinterpret_cast<const std::byte*>(buffer_.data()) + begin_;
  ASSIGN_OR_RETURN(size_t length, FrameLength(std::span<const std::byte, kFrameHeaderBytes>(
                                      frame, kFrameHeaderBytes)));
  if (end_ - begin_ < length) return Frame();
  begin_ += length;
  return Frame(std::in_place, frame, length);
}

bool FrameWriter::Write(Frame frame) {
  Queue(std::move(frame));
  return Flush();
}

void FrameWriter::Queue(Frame frame) {
  CHECK(frame.bytes.size() > kFrameHeaderBytes && frame.bytes.size() <= limits::kFrameBytesMax);
  CHECK(frame.descriptors.size() <= limits::kDescriptorsPerFrameMax);
  std::lock_guard lock(mutex_);
  if (closed_) return;
  pending_bytes_ += frame.bytes.size();
  if (frame.descriptors.empty() && !queue_.empty() &&
      queue_.back().bytes.size() + frame.bytes.size() <= kMergedBytesMax) {
    std::vector<std::byte>& tail = queue_.back().bytes;
    tail.insert(tail.end(), frame.bytes.begin(), frame.bytes.end());
    return;
  }
  queue_.push_back(std::move(frame));
}

bool FrameWriter::Flush() {
  std::lock_guard lock(mutex_);
  return FlushLocked();
}

bool FrameWriter::FlushLocked() {
  while (!queue_.empty()) {
    Frame& front = queue_.front();
    std::array<int, limits::kDescriptorsPerFrameMax> fds{};
    for (size_t i = 0; i < front.descriptors.size(); ++i) fds[i] = front.descriptors[i].get();
    Channel::Sent sent = channel_.Send(std::span(front.bytes).subspan(front_sent_),
                                       std::span(fds).first(front.descriptors.size()));
    if (sent.state == ChannelState::kClosed) {
      closed_ = true;
      queue_.clear();
      front_sent_ = 0;
      pending_bytes_ = 0;
      return false;
    }
    if (sent.bytes == 0) return true;
    front.descriptors.clear();
    front_sent_ += sent.bytes;
    sent_bytes_ += sent.bytes;
    pending_bytes_ -= sent.bytes;
    if (front_sent_ == front.bytes.size()) {
      queue_.pop_front();
      front_sent_ = 0;
    }
  }
  return false;
}

size_t FrameWriter::pending_bytes() const {
  std::lock_guard lock(mutex_);
  return pending_bytes_;
}

uint64_t FrameWriter::sent_bytes() const {
  std::lock_guard lock(mutex_);
  return sent_bytes_;
}

bool FrameWriter::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace webnnd::ipc
