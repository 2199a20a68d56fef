// Session: a connection as the ML's thread sees it: its handles, its contexts, and which of them an
// answer is for.
#ifndef WEBNND_CLIENT_SESSION_H_
#define WEBNND_CLIENT_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "client/connection.h"
#include "client/context.h"
#include "client/event_queue.h"
#include "client/future.h"
#include "ipc/channel.h"
#include "ipc/handle.h"
#include "ipc/messages.h"

namespace webnn {

class ContextImpl;

// Handles {index, generation}: the lowest free index first, so that the service's tables stay
// small.
class HandleAllocator {
 public:
  // Quota when all indices are in use.
  Result<webnnd::ipc::Handle> Allocate();
  void Release(webnnd::ipc::Handle handle);
  size_t live() const { return generations_.size() - free_.size(); }

 private:
  std::vector<uint32_t> generations_;  // Of index i + 1: its latest generation.
  std::map<uint32_t, uint32_t> free_;  // index -> its next generation
};

// All of it is for the ML's thread.
class Session : public std::enable_shared_from_this<Session> {
 public:
  static Result<std::shared_ptr<Session>> Start(std::unique_ptr<webnnd::ipc::Channel> channel,
                                                std::shared_ptr<EventQueue> events,
                                                const Connection::Options& options = {});

  Future<std::shared_ptr<Context>> CreateContext(const ContextOptions& options, LimitSet limits);

  // For contexts and what they own.
  Result<webnnd::ipc::Handle> AllocateHandle() { return handles_.Allocate(); }
  // After the message that destroys the object: the index may be used again.
  void ReleaseHandle(webnnd::ipc::Handle handle) { handles_.Release(handle); }
  // The same for builders, whose number is bounded by itself: Quota.
  Result<webnnd::ipc::Handle> AllocateBuilder();
  void ReleaseBuilder(webnnd::ipc::Handle handle);
  // And bindings, likewise.
  Result<webnnd::ipc::Handle> AllocateBinding();
  void ReleaseBinding(webnnd::ipc::Handle handle);
  Connection& connection() { return *connection_; }
  const Connection& connection() const { return *connection_; }
  // Remembers where a read's bytes come back; returns the number of the request.
  uint64_t AddRead(ReadTarget target);
  void RemoveContext(ContextImpl* context);

  bool ended() const { return ended_ || connection_->ended(); }
  // Loses all contexts and rejects what is pending; the second call has no effect.
  void End(const std::string& reason);

 private:
  Session(std::shared_ptr<EventQueue> events) : events_(std::move(events)) {}

  struct PendingContext {
    std::shared_ptr<ContextImpl> context;
    Future<std::shared_ptr<Context>> future;
  };

  void OnMessage(const webnnd::ipc::ServiceMessage& message);
  void OnContextCreated(const webnnd::ipc::ContextCreated& message);
  void OnContextLost(const webnnd::ipc::ContextLost& message);
  void OnTensorRead(const webnnd::ipc::TensorRead& message);
  // Copies, since what a callback does may change contexts_.
  std::vector<std::shared_ptr<ContextImpl>> LiveContexts() const;

  std::shared_ptr<EventQueue> events_;
  std::unique_ptr<Connection> connection_;
  HandleAllocator handles_;
  std::map<uint64_t, PendingContext> pending_contexts_;  // By packed handle.
  std::vector<ContextImpl*> contexts_;
  std::unordered_map<uint64_t, ReadTarget> reads_;  // By request.
  uint64_t next_request_ = 1;
  uint32_t builders_ = 0;
  uint32_t bindings_ = 0;
  bool ended_ = false;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_SESSION_H_
