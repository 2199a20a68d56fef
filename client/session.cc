#include "client/session.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "client/context_impl.h"

namespace webnn {
namespace {

namespace ipc = webnnd::ipc;
namespace limits = webnnd::limits;

ipc::CreateContext ToMessage(ipc::Handle handle, const ContextOptions& options) {
  return {.context = handle,
          .power_preference = options.power_preference,
          .accelerated = options.accelerated,
          .fusion = options.fusion,
          .constant_folding = options.constant_folding,
          .fusions = options.fusions};
}

}  // namespace

Result<ipc::Handle> HandleAllocator::Allocate() {
  if (!free_.empty()) {
    const auto [index, generation] = *free_.begin();
    free_.erase(free_.begin());
    generations_[index - 1] = generation;
    return ipc::Handle{index, generation};
  }
  if (generations_.size() + 1 >= limits::kObjectsPerSessionMax) {
    return webnnd::QuotaError("too many objects are alive ({})", generations_.size());
  }
  generations_.push_back(1);
  return ipc::Handle{static_cast<uint32_t>(generations_.size()), 1};
}

void HandleAllocator::Release(ipc::Handle handle) {
  CHECK(handle.index > 0 && handle.index <= generations_.size());
  CHECK(generations_[handle.index - 1] == handle.generation && !free_.contains(handle.index));
  // An index whose generations are used up is not used again.
  if (handle.generation == std::numeric_limits<uint32_t>::max()) return;
  free_.emplace(handle.index, handle.generation + 1);
}

Result<std::shared_ptr<Session>> Session::Start(std::unique_ptr<ipc::Channel> channel,
                                                std::shared_ptr<EventQueue> events,
                                                const Connection::Options& options) {
  std::shared_ptr<Session> session(new Session(events));
  // The I/O thread never holds the session: it must die on the ML's thread, which joins the other.
  std::weak_ptr<Session> weak = session;
  Connection::Events handlers;
  handlers.on_message = [weak, events](ipc::ServiceMessage message, size_t bytes) {
    events->Post([weak, message = std::move(message), bytes] {
      const std::shared_ptr<Session> session = weak.lock();
      if (session == nullptr) return;
      session->OnMessage(message);
      session->connection_->Handled(bytes);
    });
  };
  handlers.on_end = [weak, events](std::string reason) {
    events->Post([weak, reason = std::move(reason)] {
      if (const std::shared_ptr<Session> session = weak.lock()) session->End(reason);
    });
  };
  ASSIGN_OR_RETURN(session->connection_,
                   Connection::Start(std::move(channel), std::move(handlers), options));
  return session;
}

Future<std::shared_ptr<Context>> Session::CreateContext(const ContextOptions& options,
                                                        LimitSet limits) {
  using Created = Future<std::shared_ptr<Context>>;
  if (auto room = connection_->CheckRoom(); !room.ok()) {
    return Created::Ready(std::move(room).error());
  }
  // The service ends a session that has more.
  if (contexts_.size() >= limits::kContextsPerSessionMax) {
    return Created::Ready(webnnd::QuotaError("too many contexts are alive ({})", contexts_.size()));
  }
  auto handle = handles_.Allocate();
  if (!handle.ok()) return Created::Ready(std::move(handle).error());
  auto context =
      std::make_shared<ContextImpl>(shared_from_this(), events_, *handle, options, limits);
  contexts_.push_back(context.get());
  Created future;
  pending_contexts_.emplace(handle->Pack(), PendingContext{std::move(context), future});
  connection_->Send(ToMessage(*handle, options));
  return future;
}

Result<ipc::Handle> Session::AllocateBuilder() {
  // The service ends a session that has more.
  if (builders_ >= limits::kBuildersPerSessionMax) {
    return webnnd::QuotaError("too many graphs are being built ({})", builders_);
  }
  ASSIGN_OR_RETURN(const ipc::Handle handle, handles_.Allocate());
  ++builders_;
  return handle;
}

void Session::ReleaseBuilder(ipc::Handle handle) {
  --builders_;
  handles_.Release(handle);
}

Result<ipc::Handle> Session::AllocateBinding() {
  if (bindings_ >= limits::kBindingsPerSessionMax) {
    return webnnd::QuotaError("too many bindings are alive ({})", bindings_);
  }
  ASSIGN_OR_RETURN(const ipc::Handle handle, handles_.Allocate());
  ++bindings_;
  return handle;
}

void Session::ReleaseBinding(ipc::Handle handle) {
  --bindings_;
  handles_.Release(handle);
}

uint64_t Session::AddRead(ReadTarget target) {
  const uint64_t request = next_request_++;
  reads_.emplace(request, std::move(target));
  return request;
}

void Session::RemoveContext(ContextImpl* context) { std::erase(contexts_, context); }

void Session::End(const std::string& reason) {
  if (std::exchange(ended_, true)) return;
  connection_->End(reason);
  auto pending = std::exchange(pending_contexts_, {});
  for (const std::shared_ptr<ContextImpl>& context : LiveContexts()) {
    context->Lose(reason, Cause::kDeviceLost);
  }
  for (auto& [handle, creation] : pending) {
    events_->Post([creation = std::move(creation), reason]() mutable {
      creation.future.Resolve(webnnd::DeviceLostError(
          "the service is lost before it has made the context ({})", reason));
    });
  }
}

std::vector<std::shared_ptr<ContextImpl>> Session::LiveContexts() const {
  std::vector<std::shared_ptr<ContextImpl>> live;
  for (ContextImpl* context : contexts_) live.push_back(context->shared_from_this());
  return live;
}

void Session::OnMessage(const ipc::ServiceMessage& message) {
  if (ended_) return;
  if (const auto* created = std::get_if<ipc::ContextCreated>(&message)) {
    OnContextCreated(*created);
  } else if (const auto* lost = std::get_if<ipc::ContextLost>(&message)) {
    OnContextLost(*lost);
  } else if (const auto* read = std::get_if<ipc::TensorRead>(&message)) {
    OnTensorRead(*read);
  } else if (const auto* tensor = std::get_if<ipc::TensorCreated>(&message)) {
    for (const auto& context : LiveContexts()) {
      if (context->OnTensorCreated(*tensor)) break;
    }
  } else if (const auto* graph = std::get_if<ipc::GraphBuilt>(&message)) {
    for (const auto& context : LiveContexts()) {
      if (context->OnGraphBuilt(*graph)) break;
    }
  }
}

void Session::OnContextCreated(const ipc::ContextCreated& message) {
  const auto entry = pending_contexts_.find(message.context.Pack());
  if (entry == pending_contexts_.end()) return;
  PendingContext creation = std::move(entry->second);
  pending_contexts_.erase(entry);
  if (message.error) {
    creation.future.Resolve(AsCallersError(*message.error));
    return;
  }
  creation.context->Begin(message);
  creation.future.Resolve(std::make_shared<Context>(std::move(creation.context)));
}

void Session::OnContextLost(const ipc::ContextLost& message) {
  // One that is not there yet fails by its own answer.
  if (pending_contexts_.contains(message.context.Pack())) return;
  for (const auto& context : LiveContexts()) {
    if (context->handle() == message.context) context->Lose(message.message, Cause::kDeviceLost);
  }
}

void Session::OnTensorRead(const ipc::TensorRead& message) {
  const auto entry = reads_.find(message.request);
  if (entry == reads_.end()) return;
  ReadTarget target = std::move(entry->second);
  reads_.erase(entry);
  std::span<const std::byte> bytes;
  if (!message.error) {
    const auto found = connection_->ReadBytes(target, message);
    if (!found.ok()) {
      End(fmt::format("the service broke the protocol: {}", found.error().message));
      return;
    }
    bytes = *found;
  }
  for (const auto& context : LiveContexts()) {
    if (context->OnTensorRead(message, bytes)) break;
  }
  connection_->ReleaseRead(std::move(target));
}

}  // namespace webnn
