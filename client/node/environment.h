// Environment: what one Node.js environment (the main thread, or a worker thread) has of the
// client: its ML, how completions reach its loop, and what its JavaScript objects hold.
#ifndef WEBNND_CLIENT_NODE_ENVIRONMENT_H_
#define WEBNND_CLIENT_NODE_ENVIRONMENT_H_

#include <node_api.h>
#include <uv.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "client/exceptions.h"
#include "client/future.h"
#include "client/ml.h"

namespace webnn::node {

// What a JavaScript object holds of the client, in an External.
class Held {
 public:
  virtual ~Held() = default;
  // Which type it is; Node-API does not know.
  const void* type() const { return type_; }
  // The memory that the garbage collector knows of.
  int64_t bytes() const { return bytes_; }

 protected:
  explicit Held(const void* type) : type_(type) {}

 private:
  friend class Environment;
  const void* type_;
  int64_t bytes_ = 0;
};

template <class T>
class HeldObject final : public Held {
 public:
  explicit HeldObject(std::shared_ptr<T> object) : Held(&kType), object_(std::move(object)) {}
  const std::shared_ptr<T>& object() const { return object_; }

  static constexpr char kType = 0;

 private:
  std::shared_ptr<T> object_;
};

// A JavaScript value that C++ keeps.
class Reference {
 public:
  Reference(napi_env env, napi_value value) : env_(env) {
    CHECK(napi_create_reference(env, value, 1, &reference_) == napi_ok);
  }
  ~Reference() { napi_delete_reference(env_, reference_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  napi_value value() const {
    napi_value value = nullptr;
    CHECK(napi_get_reference_value(env_, reference_, &value) == napi_ok);
    return value;
  }

 private:
  napi_env env_;
  napi_ref reference_ = nullptr;
};

// Held by shared_ptr: the environment may end before the last of its objects is collected.
class Environment : public std::enable_shared_from_this<Environment> {
 public:
  // Once, when the addon is loaded.
  static void Start(napi_env env);
  static Environment& Of(napi_env env);

  explicit Environment(napi_env env) : env_(env) {}
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  napi_env env() const { return env_; }
  // JavaScript can no longer be called; completions are dropped.
  bool closed() const { return closed_; }

  // The environment's own connection: to `socket`, or where that is empty to a private daemon that
  // `program` starts. The first call decides.
  ML& Connected(const std::string& socket, const std::string& program);

  // `factory(name, message, cause)` makes the draft's exceptions.
  void SetExceptionFactory(napi_value factory);
  napi_value MakeException(Method method, const webnnd::Error& error);
  void Throw(Method method, const webnnd::Error& error);

  // An External that holds the object. `bytes` tells the garbage collector what memory goes with
  // it, here and in the service.
  template <class T>
  napi_value Hold(std::shared_ptr<T> object, int64_t bytes) {
    return HoldAny(std::make_unique<HeldObject<T>>(std::move(object)), bytes);
  }
  // The External's memory has become `bytes`.
  void Account(Held& held, int64_t bytes);
  // Finds what scripts have dropped; it is freed in the next turns of the loop.
  void CollectGarbage();

  // A promise for what `to_value` makes of the future's result, which is ok; nullptr where it has
  // thrown. While the promise is pending the process lives.
  template <class T, class ToValue>
  napi_value MakePromise(Method method, Future<T> future, ToValue to_value) {
    napi_deferred deferred = nullptr;
    napi_value promise = nullptr;
    if (napi_create_promise(env_, &deferred, &promise) != napi_ok) return nullptr;
    Expect();
    future.Then([self = shared_from_this(), method, deferred,
                 to_value = std::move(to_value)](const Result<T>& result) {
      self->Arrived();
      if (self->closed_) return;
      napi_handle_scope scope = nullptr;
      if (napi_open_handle_scope(self->env_, &scope) != napi_ok) return;
      if (result.ok()) {
        self->Settle(deferred, to_value(result));
      } else {
        napi_reject_deferred(self->env_, deferred, self->MakeException(method, result.error()));
      }
      napi_close_handle_scope(self->env_, scope);
    });
    return promise;
  }

 private:
  static void OnReadable(uv_poll_t* poll, int status, int events);
  static void OnWake(uv_async_t* wake);
  static void OnClosed(uv_handle_t* handle);
  static void OnCleanup(napi_async_cleanup_hook_handle hook, void* self);
  static void OnCollected(napi_env env, void* held, void* self);

  void StartPolling();
  void RunEvents();
  void Close();
  napi_value HoldAny(std::unique_ptr<Held> held, int64_t bytes);
  // Resolves with `value`, or rejects with what is being thrown.
  void Settle(napi_deferred deferred, napi_value value);
  // A promise pends, or no longer does.
  void Expect();
  void Arrived();

  const napi_env env_;
  std::optional<ML> ml_;
  bool closed_ = false;
  std::unique_ptr<Reference> exception_factory_;
  napi_async_cleanup_hook_handle cleanup_ = nullptr;
  napi_async_context async_context_ = nullptr;
  uv_poll_t poll_{};
  uv_async_t wake_{};
  uint32_t open_handles_ = 0;
  uint64_t pending_ = 0;
  std::shared_ptr<Environment> until_closed_;  // Itself, while libuv has its handles.
  // Collected, and to be dropped from the loop: a collection may happen inside a call of the
  // client.
  std::vector<std::unique_ptr<Held>> collected_;
};

}  // namespace webnn::node

#endif  // WEBNND_CLIENT_NODE_ENVIRONMENT_H_
