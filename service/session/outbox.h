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

// Thread-safe.
class Outbox {
 public:
  static Result<std::unique_ptr<Outbox>> Create(ipc::Channel& channel);

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
  bool ended() const { return ended_; }

  // One more task was taken from the client; one of them has been retired by the device.
  void Admit() { ++in_flight_; }
  void Retire(uint32_t tasks);
  uint32_t in_flight() const { return in_flight_; }

 private:
  Outbox(ipc::Channel& channel, UniqueFd wake) : writer_(channel), wake_(std::move(wake)) {}

  ipc::FrameWriter writer_;
  std::mutex end_mutex_;  // Nothing is written once `ended_` is set.
  UniqueFd wake_;
  std::atomic<uint32_t> in_flight_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_OUTBOX_H_
