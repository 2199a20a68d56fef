// The worker's end of its line to the broker.
#ifndef WEBNND_SERVICE_WORKER_CONTROL_LINK_H_
#define WEBNND_SERVICE_WORKER_CONTROL_LINK_H_

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/worker/control_message.h"

namespace webnnd::service {

// Used by one thread at a time: the main thread until it serves, then whoever polls for the
// session. That thread must never block for long, or the broker takes the worker for dead
// (limits::kHeartbeatSilenceMaxMs).
class ControlLink {
 public:
  // Takes a non-blocking SOCK_SEQPACKET socket.
  explicit ControlLink(UniqueFd socket) : socket_(std::move(socket)) {}

  // To poll for reading.
  int descriptor() const { return socket_.get(); }

  // Answers all heartbeats that wait. False: the broker is gone, stop.
  [[nodiscard]] bool OnReadable();

  // Tells the broker that a client may come.
  Status SendReady();

  // Waits for a client, answering heartbeats. Invalid: the broker is gone.
  UniqueFd AwaitClient();

 private:
  enum class Received { kMessage, kNothing, kGone };

  Received Receive(ControlMessage& message);
  bool Send(const ControlMessage& message);

  UniqueFd socket_;
  UniqueFd client_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_CONTROL_LINK_H_
