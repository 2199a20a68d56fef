// Connection: one connection to a service: a channel, the thread that does its I/O, and the arenas.
#ifndef WEBNND_CLIENT_CONNECTION_H_
#define WEBNND_CLIENT_CONNECTION_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ipc/channel.h"
#include "ipc/frame_stream.h"
#include "ipc/messages.h"
#include "ipc/shared_memory.h"

namespace webnn {

// Where the bytes of one read come back. Kept until the service has answered, since it may write
// there until then.
struct ReadTarget {
  uint64_t length = 0;
  std::optional<uint64_t> arena_offset;
  webnnd::ipc::SharedMapping file;  // Mapped when the read brought its own memfd.
};

// Sends come from the ML's thread and never block: the caller sends directly while the socket takes
// it, the I/O thread sends what it did not take. Replies go to `Events`, on the I/O thread or,
// while the ML's thread waits for one, on that.
class Connection {
 public:
  // `on_end` is called once, on the I/O thread, as the last.
  struct Events {
    // `bytes` is to be given back by Handled() once the message is done with.
    std::function<void(webnnd::ipc::ServiceMessage message, size_t bytes)> on_message;
    std::function<void(std::string reason)> on_end;
  };
  struct Options {
    uint64_t up_arena_bytes = webnnd::limits::kArenaBytesDefault;
    uint64_t down_arena_bytes = webnnd::limits::kArenaBytesDefault;
    uint64_t queue_bytes_max = webnnd::limits::kClientQueueBytesMax;
    uint64_t completion_bytes_max = webnnd::limits::kClientCompletionBytesMax;
  };

  // Makes the arenas, sends Hello and starts the thread.
  static webnnd::Result<std::unique_ptr<Connection>> Start(
      std::unique_ptr<webnnd::ipc::Channel> channel, Events events, const Options& options);
  // Closes; no event comes after.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Quota when the service does not keep up and the queue has reached its limit. Called before
  // Stage and Send, which then do not fail for it: one call may go beyond the limit, once.
  webnnd::Result<void> CheckRoom();
  // Sends, or queues. After the end messages are dropped: on_end tells.
  void Send(webnnd::ipc::ClientMessage message);
  // The same for a batch that ends with Flush.
  void Queue(webnnd::ipc::ClientMessage message);
  void Flush();

  // Copies `data` to where the next message, which must carry the payload, brings it: inline, the
  // up arena, or a memfd of its own when the arena is full or too small. OutOfMemory when there is
  // neither memory nor a descriptor left.
  webnnd::Result<webnnd::ipc::Payload> Stage(std::span<const std::byte> data);

  struct Read {
    webnnd::ipc::Destination destination;
    ReadTarget target;
  };
  // Reserves room for `length` bytes to come back, by the same rules.
  webnnd::Result<Read> ReserveRead(uint64_t length);
  // The bytes that an answered read has left, valid until ReleaseRead; BadMessage when the answer
  // does not have the length that was asked for.
  webnnd::Result<std::span<const std::byte>, webnnd::BadMessage> ReadBytes(
      const ReadTarget& target, const webnnd::ipc::TensorRead& answer) const;
  void ReleaseRead(ReadTarget target);

  // Gives the memory of the up arena back, once nothing is in it.
  void DiscardPagesOnceIdle();

  // Blocks until `descriptor`, which events make readable, is; and reads in place of the I/O thread
  // meanwhile, so that an answer does not have to come through two threads. For the ML's thread.
  void ReadUntil(int descriptor);

  // The message of on_message is done with. Reading pauses while too many are not.
  void Handled(size_t bytes);

  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // Why; once it has ended.
  std::string end_reason();
  // Ends the connection from this side: on_end follows with this reason.
  void End(const std::string& reason);

  uint64_t bytes_sent() const { return writer_.sent_bytes(); }
  uint64_t bytes_received() const { return bytes_received_.load(std::memory_order_relaxed); }

 private:
  Connection(std::unique_ptr<webnnd::ipc::Channel> channel, Events events, const Options& options);

  static void* ThreadMain(void* self);
  webnnd::Result<void> StartThread();
  void Run();
  // Whether the I/O thread hears of what there is to read.
  void WatchReads(bool watch);
  // Handles what has come, and ends the connection where that says so. By who holds read_mutex_.
  void HandleReadable();
  // False: the connection has come to its end, and `reason` says why.
  bool ReadOnce(std::string* reason);
  bool HandleFrame(std::span<const std::byte> frame, std::string* reason);
  bool HandleAcknowledge(uint64_t sequence);
  void DiscardIfDue();  // With up_mutex_ held.
  void Wake();
  // Bytes in memfds that we made and have not handed over: queued memory as much as the frames are.
  uint64_t UnsentFileBytes();
  webnnd::Result<webnnd::ipc::Payload> StageInFile(std::span<const std::byte> data);

  const Options options_;
  const Events events_;
  std::unique_ptr<webnnd::ipc::Channel> channel_;
  std::mutex read_mutex_;            // Held by whoever reads.
  webnnd::ipc::FrameReader reader_;  // These two are guarded by read_mutex_.
  bool read_ended_ = false;
  webnnd::ipc::FrameWriter writer_;
  webnnd::UniqueFd wake_;
  // An epoll instance of the channel's read descriptor alone: taking it off there does not wake the
  // I/O thread, which polls the instance.
  webnnd::UniqueFd readable_;
  pthread_t thread_{};
  bool thread_started_ = false;

  std::atomic<bool> closing_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<uint64_t> unhandled_bytes_ = 0;
  std::atomic<uint64_t> bytes_received_ = 0;

  std::mutex end_mutex_;
  std::optional<std::string> end_request_;  // These two are guarded by end_mutex_.
  std::string end_reason_;

  struct StagedRange {
    uint64_t sequence;
    uint64_t offset;
  };
  webnnd::ipc::SharedMapping up_;
  std::mutex up_mutex_;
  webnnd::ipc::RangeAllocator up_ranges_;  // These four are guarded by up_mutex_.
  std::deque<StagedRange> up_staged_;
  uint64_t up_sequence_ = 0;
  bool up_discards_ = false;  // Once it is idle.

  webnnd::ipc::SharedMapping down_;  // From here on: the ML's thread only.
  webnnd::ipc::RangeAllocator down_ranges_;
  struct QueuedFile {
    uint64_t stream_end;  // Sent once that many bytes of the stream are.
    uint64_t bytes;
  };
  std::deque<QueuedFile> queued_files_;
  uint64_t queued_file_bytes_ = 0;
  uint64_t staged_file_bytes_ = 0;  // In the memfd that the next message brings.
  uint64_t stream_bytes_ = 0;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_CONNECTION_H_
