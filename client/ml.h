// ML: `navigator.ml` of the draft, and the one door to the service.
#ifndef WEBNND_CLIENT_ML_H_
#define WEBNND_CLIENT_ML_H_

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "client/context.h"
#include "client/future.h"

namespace webnnd::ipc {
class InProcessService;
}

namespace webnn {

// How to reach a service. Made by one of the functions below; `ML` uses it again to reconnect.
class Connect {
 public:
  // A daemon that listens on a Unix socket (`webnnd serve --socket PATH`).
  static Connect ToSocket(std::string path);
  // A connected socket that a parent process hands over, for clients that are sandboxed themselves.
  // There is no reconnecting: after a loss CreateContext rejects.
  static Connect FromFd(webnnd::UniqueFd socket);
  // Starts a private daemon: `program`, else $WEBNND, else `webnnd` beside this executable, else in
  // $PATH. `arguments` are added to `serve --fd N`.
  static Connect Spawn(std::string program = "", std::vector<std::string> arguments = {});
  // A service in this process, over an in-memory transport with the same frames: for tests and
  // debugging. `main` makes it (service/session/in_process.h) and keeps it alive.
  static Connect InProcess(webnnd::ipc::InProcessService& service);

  struct State;
  explicit Connect(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

// What an embedder decides for all contexts, and a page cannot.
struct MLOptions {
  // opSupportLimits() answers, and builders and contexts accept, no more than the draft requires of
  // every implementation: data types, ranks up to 5, tensors of limits::kBindingBytesMax. A page
  // then learns nothing about the machine from them.
  bool restrict_to_required_limits = false;
};

// Not thread-safe: one thread uses an ML and all that comes from it. Several may exist.
class ML {
 public:
  explicit ML(Connect connect, const MLOptions& options = {});
  // Contexts that are still referenced become lost.
  ~ML();
  ML(const ML&) = delete;
  ML& operator=(const ML&) = delete;

  // Connects if there is no live connection. Rejects with NotSupported when no adapter fits or the
  // service cannot be reached.
  Future<std::shared_ptr<Context>> CreateContext(const ContextOptions& options = {});

  // Becomes readable (POLLIN) when ProcessEvents has something to do. Stays the same descriptor for
  // the life of this object, across reconnections.
  int event_descriptor() const;
  // Completes futures and runs their callbacks on the calling thread. Never blocks.
  void ProcessEvents();

  // For programs without a loop: runs ProcessEvents until the future completes.
  template <class T>
  Result<T> Wait(Future<T> future) {
    while (!future.ready()) WaitForEvents();
    return future.result();
  }

 private:
  // Blocks until event_descriptor() is readable, then ProcessEvents().
  void WaitForEvents();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace webnn

#endif  // WEBNND_CLIENT_ML_H_
