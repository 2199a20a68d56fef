// Outbox: what the threads of a session share with its I/O thread: replies, and admission of work.
#ifndef WEBNND_SERVICE_SESSION_OUTBOX_H_
#define WEBNND_SERVICE_SESSION_OUTBOX_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "ipc/codec.h"
#include "ipc/frame_stream.h"
#include "ipc/messages.h"

namespace webnnd::service {

// Work that was taken from the client and is not yet done.
struct Load {
  uint64_t tasks = 0;
  uint64_t dispatches = 0;
  uint64_t bytes = 0;  // Of transfers.

  friend bool operator==(const Load&, const Load&) = default;
  Load& operator+=(const Load& more) {
    tasks += more.tasks;
    dispatches += more.dispatches;
    bytes += more.bytes;
    return *this;
  }
};

// Thread-safe.
class Outbox {
 public:
  // `load_max`: once there is as much of one of them, the client has to wait.
  static Result<std::unique_ptr<Outbox>> Create(ipc::Channel& channel, const Load& load_max);

  // Sends now what the channel takes; the I/O thread sends the rest.
  void Send(ipc::ServiceMessage message);

  // Readable when the I/O thread should look: bytes are left to send, or cannot be
  // sent any more, or admission is open again.
  int wake_descriptor() const { return wake_.get(); }
  void ClearWake();
  void Wake();

  bool Flush() { return writer_.Flush(); }
  bool has_pending() const { return writer_.pending_bytes() > 0; }
  // A reply could not be sent, so that the client may wait for it for ever: the session is over.
  bool broken() const { return writer_.closed(); }
  // The client does not read its replies, or has more work in flight than it may: stop reading.
  bool saturated() const;

  // Says why, and lets the I/O thread end the session.
  void End(std::string reason);
  // Once it is true, the reason has been handed to the channel: whoever closes that may do so.
  bool ended() const {
    std::lock_guard lock(end_mutex_);
    return ended_;
  }

  // More was taken from the client; or the device has done it.
  void Admit(const Load& load);
  void Retire(const Load& load);
  Load in_flight() const { return {tasks_.value, dispatches_.value, bytes_.value}; }

 private:
  struct Meter {
    const uint64_t max;
    std::atomic<uint64_t> value{0};
  };

  Outbox(ipc::Channel& channel, UniqueFd wake, const Load& load_max)
      : writer_(channel),
        wake_(std::move(wake)),
        tasks_{load_max.tasks},
        dispatches_{load_max.dispatches},
        bytes_{load_max.bytes} {}

  // Whether the client need not wait for this one any more, and did before.
  static bool Lower(Meter& meter, uint64_t by);

  ipc::FrameWriter writer_;
  mutable std::mutex end_mutex_;  // Nothing is written once `ended_` is set.
  UniqueFd wake_;
  Meter tasks_;
  Meter dispatches_;
  Meter bytes_;
  std::atomic<bool> ended_{false};
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_OUTBOX_H_
