#include "client/node/environment.h"

#include <string_view>

namespace webnn::node {
namespace {

// Node-API calls that fail only when we pass nonsense.
void Must(napi_status status) { CHECK(status == napi_ok); }

napi_value Text(napi_env env, std::string_view text) {
  napi_value value = nullptr;
  Must(napi_create_string_utf8(env, text.data(), text.size(), &value));
  return value;
}

uv_loop_t* LoopOf(napi_env env) {
  uv_loop_t* loop = nullptr;
  Must(napi_get_uv_event_loop(env, &loop));
  return loop;
}

template <class Handle>
uv_handle_t* AsHandle(Handle* handle) {
  return reinterpret_cast<uv_handle_t*>(handle);
}

}  // namespace

void Environment::Start(napi_env env) {
  auto self = std::make_shared<Environment>(env);
  const auto forget = [](napi_env, void* data, void*) {
    delete static_cast<std::shared_ptr<Environment>*>(data);
  };
  Must(napi_set_instance_data(env, new std::shared_ptr<Environment>(self), forget, nullptr));
  Must(napi_add_async_cleanup_hook(env, &OnCleanup, self.get(), &self->cleanup_));
  CHECK(uv_async_init(LoopOf(env), &self->wake_, &OnWake) == 0);
  self->wake_.data = self.get();
  uv_unref(AsHandle(&self->wake_));
  self->open_handles_ = 1;
  self->until_closed_ = self;
}

Environment& Environment::Of(napi_env env) {
  void* data = nullptr;
  Must(napi_get_instance_data(env, &data));
  return **static_cast<std::shared_ptr<Environment>*>(data);
}

ML& Environment::Connected(const std::string& socket, const std::string& program) {
  if (!ml_) {
    ml_.emplace(socket.empty() ? Connect::Spawn(program) : Connect::ToSocket(socket));
    StartPolling();
  }
  return *ml_;
}

void Environment::StartPolling() {
  // Without a descriptor, CreateContext fails, and no event ever comes.
  if (ml_->event_descriptor() < 0) return;
  napi_value resource = nullptr;
  Must(napi_create_object(env_, &resource));
  Must(napi_async_init(env_, resource, Text(env_, "webnn"), &async_context_));
  CHECK(uv_poll_init(LoopOf(env_), &poll_, ml_->event_descriptor()) == 0);
  ++open_handles_;
  poll_.data = this;
  CHECK(uv_poll_start(&poll_, UV_READABLE, &OnReadable) == 0);
  // An idle context does not keep the process alive; Expect does.
  if (pending_ == 0) uv_unref(AsHandle(&poll_));
}

void Environment::OnReadable(uv_poll_t* poll, int, int) {
  static_cast<Environment*>(poll->data)->RunEvents();
}

void Environment::RunEvents() {
  const std::shared_ptr<Environment> self = shared_from_this();
  napi_handle_scope handles = nullptr;
  napi_callback_scope callbacks = nullptr;
  napi_value resource = nullptr;
  if (napi_open_handle_scope(env_, &handles) != napi_ok) return;
  if (napi_create_object(env_, &resource) == napi_ok &&
      napi_open_callback_scope(env_, resource, async_context_, &callbacks) == napi_ok) {
    ml_->ProcessEvents();
    // Runs the reactions of what has settled.
    napi_close_callback_scope(env_, callbacks);
  }
  napi_close_handle_scope(env_, handles);
}

void Environment::Expect() {
  if (pending_++ == 0 && uv_is_active(AsHandle(&poll_)) != 0) uv_ref(AsHandle(&poll_));
}

void Environment::Arrived() {
  if (--pending_ == 0 && !closed_ && uv_is_active(AsHandle(&poll_)) != 0) {
    uv_unref(AsHandle(&poll_));
  }
}

// --- The end ------------------------------------------------------------------------------------

void Environment::OnCleanup(napi_async_cleanup_hook_handle, void* self) {
  static_cast<Environment*>(self)->Close();
}

void Environment::Close() {
  closed_ = true;
  collected_.clear();
  // Before its descriptor is closed.
  if (uv_is_active(AsHandle(&poll_)) != 0) uv_close(AsHandle(&poll_), &OnClosed);
  ml_.reset();
  exception_factory_.reset();
  uv_close(AsHandle(&wake_), &OnClosed);
}

void Environment::OnClosed(uv_handle_t* handle) {
  auto* self = static_cast<Environment*>(handle->data);
  if (--self->open_handles_ > 0) return;
  // The loop of a worker thread must not end with handles in it: now it may.
  napi_remove_async_cleanup_hook(self->cleanup_);
  self->until_closed_.reset();
}

// --- Objects ------------------------------------------------------------------------------------

napi_value Environment::HoldAny(std::unique_ptr<Held> held, int64_t bytes) {
  Account(*held, bytes);
  // The External keeps the environment, which may end before it.
  auto* self = new std::shared_ptr<Environment>(shared_from_this());
  napi_value external = nullptr;
  if (napi_create_external(env_, held.get(), &OnCollected, self, &external) != napi_ok) {
    delete self;
    return nullptr;
  }
  held.release();
  return external;
}

void Environment::OnCollected(napi_env, void* held, void* hint) {
  const std::unique_ptr<std::shared_ptr<Environment>> self(
      static_cast<std::shared_ptr<Environment>*>(hint));
  std::unique_ptr<Held> object(static_cast<Held*>(held));
  Environment& environment = **self;
  if (environment.closed_) return;
  environment.Account(*object, 0);
  environment.collected_.push_back(std::move(object));
  uv_async_send(&environment.wake_);
}

void Environment::OnWake(uv_async_t* wake) {
  auto* self = static_cast<Environment*>(wake->data);
  const auto dropped = std::exchange(self->collected_, {});
}

void Environment::Account(Held& held, int64_t bytes) {
  int64_t total = 0;
  Must(napi_adjust_external_memory(env_, bytes - held.bytes_, &total));
  held.bytes_ = bytes;
}

void Environment::CollectGarbage() {
  // More external memory than any heap may have makes V8 collect at once. The first time it may only
  // complete what it had begun, and keep what was dropped since.
  constexpr int64_t kTooMuch = int64_t{1} << 40;
  for (int i = 0; i < 2; ++i) {
    int64_t total = 0;
    Must(napi_adjust_external_memory(env_, kTooMuch, &total));
    Must(napi_adjust_external_memory(env_, -kTooMuch, &total));
  }
}

// --- Exceptions ---------------------------------------------------------------------------------

void Environment::SetExceptionFactory(napi_value factory) {
  exception_factory_ = std::make_unique<Reference>(env_, factory);
}

napi_value Environment::MakeException(Method method, const webnnd::Error& error) {
  napi_value receiver = nullptr, exception = nullptr;
  Must(napi_get_undefined(env_, &receiver));
  const napi_value arguments[] = {Text(env_, ExceptionName(method, error.cause())),
                                  Text(env_, error.ToString()),
                                  Text(env_, webnnd::CauseName(error.cause()))};
  if (napi_call_function(env_, receiver, exception_factory_->value(), 3, arguments, &exception) !=
      napi_ok) {
    return receiver;  // The environment is being stopped: nobody will see it.
  }
  return exception;
}

void Environment::Throw(Method method, const webnnd::Error& error) {
  napi_throw(env_, MakeException(method, error));
}

void Environment::Settle(napi_deferred deferred, napi_value value) {
  if (value != nullptr) {
    napi_resolve_deferred(env_, deferred, value);
    return;
  }
  napi_value exception = nullptr;
  if (napi_get_and_clear_last_exception(env_, &exception) == napi_ok) {
    napi_reject_deferred(env_, deferred, exception);
  }
}

}  // namespace webnn::node
