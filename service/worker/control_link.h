// The worker's end of its line to the broker.
#ifndef WEBNND_SERVICE_WORKER_CONTROL_LINK_H_
#define WEBNND_SERVICE_WORKER_CONTROL_LINK_H_

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/client_figures.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "service/worker/control_message.h"

namespace webnnd::service {

// A client to serve, with the broker's number for it.
struct ServedSocket {
  uint32_t number = 0;
  UniqueFd socket;
};

// Used by one thread at a time, except where it says otherwise: the main thread until it serves,
// then whoever polls for the session. That thread must never block for long, or the broker takes
// the worker for dead (limits::kHeartbeatSilenceMaxMs).
class ControlLink {
 public:
  using FiguresFunction = std::function<ClientFigures()>;

  // Takes a non-blocking SOCK_SEQPACKET socket.
  explicit ControlLink(UniqueFd socket) : socket_(std::move(socket)) {}

  // To poll for reading.
  int descriptor() const { return socket_.get(); }

  // Answers all heartbeats that wait, with the figures of the clients. False: the broker is gone,
  // stop.
  [[nodiscard]] bool OnReadable();
  // Whether that is the calling thread's to do: it must not wait for the broker. Thread-safe.
  bool IsReader() const { return reader_ == std::this_thread::get_id(); }

  // Tells the broker that a client may come.
  Status SendReady();

  // Waits for a client, answering heartbeats, while `go_on`, if any, is true: it is asked a few
  // times a second. Invalid: the broker is gone, or it is not.
  ServedSocket AwaitClient(const std::function<bool()>& go_on = nullptr);

  // From now on the broker is told `figures` of the client, which is called on the thread of
  // OnReadable(); nullptr ends it. Thread-safe: once it returns, the old one does not run any more.
  void ReportWith(uint32_t client, FiguresFunction figures);

  // Tells the broker that the client has left, once there is room in the line. Thread-safe.
  void SendGone(uint32_t client);

  // Tells the broker of a kernel, if there is room in the line; of limits::kKernelReportsMax at
  // most. False: it does not know. Thread-safe.
  bool ReportKernel(const CompiledKernel& kernel);

  // Asks for the kernels that it was told of. Thread-safe.
  void SendFetch(uint32_t sequence);

  // `on_image` gets what is sent for a fetch, invalid where there is no image, on the thread of
  // OnReadable(). To be called before that.
  using ImageFunction = std::function<void(uint32_t sequence, UniqueFd image)>;
  void TakeImagesWith(ImageFunction on_image) { on_image_ = std::move(on_image); }

  // The file for a trace, if the broker has sent one.
  UniqueFd TakeTraceFile() { return std::move(trace_file_); }

 private:
  enum class Received { kMessage, kNothing, kGone };

  enum class Sent { kYes, kNoRoom, kGone };

  Received Receive(ControlMessage& message);
  // With mutex_ held, these four. false: the broker is gone.
  bool Answer(const ControlMessage& ping);
  bool SendInTurn(const ControlMessage& message);
  bool SendUnsent();
  Sent Send(const void* bytes, size_t size);
  bool HasUnsent();

  UniqueFd socket_;
  std::atomic<std::thread::id> reader_;
  std::deque<ServedSocket> clients_;
  UniqueFd trace_file_;
  ImageFunction on_image_;
  std::mutex mutex_;
  std::map<uint32_t, FiguresFunction> figures_;
  uint32_t kernels_reported_ = 0;
  // For which there was no room: at most one for each client, and answers to pings.
  std::deque<ControlMessage> unsent_;
};

// What serving one client needs of the line. Where the client has the worker to itself, its thread
// answers the heartbeat; where it shares the worker, the main thread does.
class ClientLink {
 public:
  ClientLink(ControlLink& control, uint32_t client, bool shared)
      : control_(control), client_(client), shared_(shared) {}
  ~ClientLink() { control_.ReportWith(client_, nullptr); }
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;

  // To poll for reading; -1: nothing is to be polled.
  int descriptor() const { return shared_ ? -1 : control_.descriptor(); }
  // False: stop.
  [[nodiscard]] bool OnReadable() { return control_.OnReadable(); }

  // What the broker is told of the client, until this or the link ends.
  void ReportWith(ControlLink::FiguresFunction figures) {
    control_.ReportWith(client_, std::move(figures));
  }

 private:
  ControlLink& control_;
  const uint32_t client_;
  const bool shared_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_CONTROL_LINK_H_
