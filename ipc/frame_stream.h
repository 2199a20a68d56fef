// FrameReader and FrameWriter: frames over a Channel.
#ifndef WEBNND_IPC_FRAME_STREAM_H_
#define WEBNND_IPC_FRAME_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "ipc/channel.h"
#include "ipc/frame.h"

namespace webnnd::ipc {

// Collects whole frames from a channel into private, aligned memory.
class FrameReader {
 public:
  explicit FrameReader(Channel& channel) : channel_(channel) {}

  // Reads once from the channel; call Next until nullopt before. Nothing is read while whole frames
  // fill the buffer, so that memory stays bounded. kClosed when the end has come (frames read
  // before are still there).
  Result<ChannelState, BadMessage> Fill();
  // The next whole frame, valid until the next call of Fill or Next; nullopt when more must come.
  Result<std::optional<std::span<const std::byte>>, BadMessage> Next();
  // Descriptors that came and no message has claimed; DecodeXMessage takes from the front.
  std::deque<UniqueFd>& descriptors() { return descriptors_; }
  // Whether bytes are buffered: after the last Next, the stream has ended inside a frame.
  bool HasPartialFrame() const { return begin_ != end_; }

 private:
  Channel& channel_;
  std::vector<uint64_t> buffer_;  // Words, for alignment; bytes [begin_, end_) are valid.
  size_t begin_ = 0;
  size_t end_ = 0;
  std::deque<UniqueFd> descriptors_;
};

// Queues frames and sends them, many per system call. Thread-safe.
class FrameWriter {
 public:
  explicit FrameWriter(Channel& channel) : channel_(channel) {}

  // Queues the frame, and sends at once whatever the channel takes. Returns whether bytes are left
  // (then wait for POLLOUT and call Flush).
  bool Write(Frame frame);
  // Queues without sending: for batches that end with Flush.
  void Queue(Frame frame);
  // Sends what the channel takes. Returns whether bytes are left.
  bool Flush();
  // Bytes queued and not yet sent.
  size_t pending_bytes() const;
  // Bytes sent since the beginning.
  uint64_t sent_bytes() const;
  bool closed() const;

 private:
  bool FlushLocked();

  Channel& channel_;
  mutable std::mutex mutex_;
  std::deque<Frame> queue_;  // Small frames are merged; only the first byte has descriptors.
  size_t front_sent_ = 0;    // Bytes of the front frame that are sent.
  size_t pending_bytes_ = 0;
  uint64_t sent_bytes_ = 0;
  bool closed_ = false;
};

}  // namespace webnnd::ipc

#endif  // WEBNND_IPC_FRAME_STREAM_H_
