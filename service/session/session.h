// Session: one client's connection. The front door: it decodes, looks handles up, refuses what is
// malformed, and hands work to the timeline.
#ifndef WEBNND_SERVICE_SESSION_SESSION_H_
#define WEBNND_SERVICE_SESSION_SESSION_H_

#include <poll.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/client_figures.h"
#include "base/quota.h"
#include "base/result.h"
#include "ipc/channel.h"
#include "ipc/frame_stream.h"
#include "ipc/messages.h"
#include "service/session/handle_directory.h"
#include "service/session/metrics.h"
#include "service/session/outbox.h"
#include "service/session/payload.h"
#include "service/session/timeline_runner.h"
#include "service/vulkan/device.h"

namespace webnnd::service {

struct SessionOptions {
  // In order of preference; not empty.
  std::vector<std::shared_ptr<Device>> devices;
  Quota quota;
  // What one submission may take longer than a dispatch may, before it counts as one that hangs.
  std::chrono::milliseconds hang_grace{limits::kHangMs};
  // Without, it works inside Step alone: for tests that want everything in an order of theirs.
  bool has_threads = true;
};

// Something else that the I/O thread watches: the broker's heartbeat.
struct PolledSource {
  int descriptor = -1;
  std::function<bool()> on_readable;  // false: stop the session.
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> Create(std::unique_ptr<ipc::Channel> channel,
                                                 SessionOptions options);
  ~Session();

  // Serves on the calling thread (it becomes the I/O thread, and never waits for the device) until
  // the client is gone, breaks the protocol, or `extra` says to stop.
  void Run(const PolledSource& extra = {});
  // One turn of that: waits for something to do, `timeout_ms` at most (-1: for ever), and does it.
  // false: it is over.
  bool Step(const PolledSource& extra, int timeout_ms);

  // Thread-safe.
  ClientFigures Figures() const;
  // What was taken from the client and is not done yet.
  Load in_flight() const { return outbox_->in_flight(); }

 private:
  using Outcome = Result<void, BadMessage>;

  Session(std::unique_ptr<ipc::Channel> channel, std::unique_ptr<Outbox> outbox,
          SessionOptions options);

  // poll(), which looks for a while before it sleeps where the wait before it was a short one: a
  // client that asks, reads and asks again is spared a wake-up each time. Others pay nothing.
  int Wait(std::span<pollfd> polled, int timeout_ms);
  // Handles whole frames that have come, until work is saturated. false: the session ends.
  bool HandleFrames();
  bool ReadFromClient();
  Outcome HandleFrame(std::span<const std::byte> frame);
  void Refuse(const BadMessage& reason);

  Outcome On(ipc::Hello&& message);
  Outcome On(ipc::CreateContext&& message);
  Outcome On(ipc::DestroyContext&& message);
  Outcome On(ipc::CreateTensor&& message);
  Outcome On(ipc::CreateConstantTensor&& message);
  Outcome On(ipc::DestroyTensor&& message);
  Outcome On(ipc::WriteTensor&& message);
  Outcome On(ipc::ReadTensor&& message);
  Outcome On(ipc::CreateBuilder&& message);
  Outcome On(ipc::DestroyBuilder&& message);
  Outcome On(ipc::AddInputs&& message);
  Outcome On(ipc::AddConstant&& message);
  Outcome On(ipc::AddConstantTensor&& message);
  Outcome On(ipc::AddOperators&& message);
  Outcome On(ipc::Build&& message);
  Outcome On(ipc::DestroyGraph&& message);
  Outcome On(ipc::Dispatch&& message);
  Outcome On(ipc::CreateBinding&& message);
  Outcome On(ipc::DestroyBinding&& message);
  Outcome On(ipc::DispatchBinding&& message);
  Outcome On(ipc::ResizeTensor&& message);

  // Takes what the builder's description has grown by out of the session's budgets; where they are
  // used up, the builder fails.
  void Charge(BuilderObject& builder);
  // Quota where there are more of the type than `limit`, the one just made included.
  std::optional<Error> OverCount(ipc::ObjectType type, std::string_view what, uint64_t limit) const;

  // The graph of a message with its tensors; nullptr where the graph was destroyed.
  template <class Message>
  Result<std::shared_ptr<BindingObject>, BadMessage> MakeBinding(ipc::Handle handle,
                                                                 const Message& message) const;

  std::unique_ptr<ipc::Channel> channel_;
  std::unique_ptr<Outbox> outbox_;
  ipc::FrameReader reader_;
  HandleDirectory directory_;
  std::shared_ptr<Arenas> arenas_;  // nullptr before Hello.
  const Quota quota_;
  const std::shared_ptr<DeviceQuota> device_bytes_;
  const std::shared_ptr<Budget> operators_;
  const std::shared_ptr<Budget> graph_host_bytes_;
  SessionMetrics metrics_;
  TimelineRunner timeline_;
  bool looks_ = false;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_SESSION_H_
