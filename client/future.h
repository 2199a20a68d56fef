// Future<T>: what the draft calls a Promise. Completed by ML::ProcessEvents(), on its thread.
#ifndef WEBNND_CLIENT_FUTURE_H_
#define WEBNND_CLIENT_FUTURE_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"

namespace webnn {

using webnnd::Cause;
using webnnd::Error;
using webnnd::Result;

// Copyable; copies share one state. Not thread-safe: use it on the thread that uses the ML.
template <class T>
class Future {
 public:
  // A future that is pending until Resolve.
  Future() : state_(std::make_shared<State>()) {}
  // One that is complete already: how a call that fails at once rejects.
  static Future Ready(Result<T> result) {
    Future future;
    future.Resolve(std::move(result));
    return future;
  }

  bool ready() const { return state_->result.has_value(); }
  // The result; `ready()` must hold.
  const Result<T>& result() const {
    CHECK(ready());
    return *state_->result;
  }

  // Calls `callback` once with the result: at once when ready, else inside ProcessEvents(). Several
  // callbacks run in the order in which they were added.
  void Then(std::function<void(const Result<T>&)> callback) {
    if (ready()) {
      callback(*state_->result);
      return;
    }
    auto previous = std::move(state_->callback);
    if (!previous) {
      state_->callback = std::move(callback);
      return;
    }
    state_->callback = [previous = std::move(previous),
                        callback = std::move(callback)](const Result<T>& result) {
      previous(result);
      callback(result);
    };
  }

  // For the library: completes the future. The first call counts.
  void Resolve(Result<T> result) {
    if (ready()) return;
    state_->result.emplace(std::move(result));
    if (auto callback = std::exchange(state_->callback, nullptr)) callback(*state_->result);
  }

 private:
  struct State {
    std::optional<Result<T>> result;
    std::function<void(const Result<T>&)> callback;
  };
  std::shared_ptr<State> state_;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_FUTURE_H_
