#include "client/ml.h"

#include <utility>

#include "client/connect.h"
#include "client/event_queue.h"
#include "client/session.h"

namespace webnn {

struct ML::Impl {
  Impl(Connect to, const MLOptions& asked)
      : connect(std::move(to)), options(asked), events(std::make_shared<EventQueue>()) {}

  // The live session; a new one when there is none or the last one has ended.
  Result<std::shared_ptr<Session>> Reach() {
    if (!events->valid()) return webnnd::OutOfMemoryError("the process has no descriptor left");
    if (session != nullptr && !session->ended()) return session;
    if (session != nullptr) {
      // It may end a moment before ProcessEvents hears of it; whoever waits must not be forgotten.
      session->End(session->connection().end_reason());
      session = nullptr;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<webnnd::ipc::Channel> channel, connect.state()->Open());
    ASSIGN_OR_RETURN(session, Session::Start(std::move(channel), events));
    return session;
  }

  Connect connect;
  MLOptions options;
  std::shared_ptr<EventQueue> events;
  std::shared_ptr<Session> session;
};

ML::ML(Connect connect, const MLOptions& options)
    : impl_(std::make_unique<Impl>(std::move(connect), options)) {}

ML::~ML() {
  if (impl_->session != nullptr) impl_->session->End("the ML was destroyed");
  impl_->session = nullptr;
  // Nobody will call ProcessEvents any more: every future completes now.
  impl_->events->RunAll();
}

Future<std::shared_ptr<Context>> ML::CreateContext(const ContextOptions& options) {
  auto session = impl_->Reach();
  if (!session.ok()) {
    return Future<std::shared_ptr<Context>>::Ready(std::move(session).error());
  }
  const LimitSet limits =
      impl_->options.restrict_to_required_limits ? LimitSet::kRequired : LimitSet::kAllowed;
  return (*session)->CreateContext(options, limits);
}

int ML::event_descriptor() const { return impl_->events->descriptor(); }

void ML::ProcessEvents() {
  // Its own reference: a callback may destroy the ML.
  const std::shared_ptr<EventQueue> events = impl_->events;
  events->Run();
}

void ML::WaitForEvents() {
  const std::shared_ptr<EventQueue> events = impl_->events;
  const std::shared_ptr<Session> session = impl_->session;
  if (session == nullptr || session->ended() || events->has_taken()) {
    events->Wait();
  } else {
    session->connection().ReadUntil(events->descriptor());
  }
  events->Run();
}

}  // namespace webnn
