// The broker's view of one worker process.
#ifndef WEBNND_SERVICE_BROKER_WORKER_PROCESS_H_
#define WEBNND_SERVICE_BROKER_WORKER_PROCESS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/sandbox/spawn.h"
#include "service/worker/control_message.h"
#include "service/worker/worker_options.h"

namespace webnnd::service {

class WorkerProcess {
 public:
  enum class State {
    kStarting,  // has not said that it is ready
    kReady,     // waits for a client
    kServing,   // has one
    kDying,     // was killed, and not yet reaped
  };

  // Starts `webnnd worker`. Times are milliseconds of the monotonic clock.
  static Result<WorkerProcess> Start(WorkerOptions options, int64_t now_ms);

  uint32_t id() const { return id_; }
  pid_t pid() const { return process_.pid; }
  State state() const { return state_; }
  int control_descriptor() const { return control_.get(); }
  int pidfd() const { return process_.pidfd.get(); }

  // Takes one message. False: the worker has closed its end. An error: it broke the protocol.
  Result<bool> OnReadable(int64_t now_ms);

  // Hands the client over. Our copy of its socket is closed on success, so that the client sees
  // the end of the stream as soon as the worker dies; on failure `client` is kept.
  Status Serve(UniqueFd& client);

  // Pings when that is due. An error says why the worker has to go: it is silent, or not ready in
  // time.
  Status OnTimer(int64_t now_ms);

  // When OnTimer() is next due.
  int64_t deadline_ms() const;

  void Kill();

  // Reaps the process, which has ended, and says how: "exits (0)", "is killed by signal (SIGSYS)".
  std::string Reap(bool& failed);

 private:
  WorkerProcess(uint32_t id, SpawnedProcess process, UniqueFd control, int64_t now_ms)
      : id_(id), process_(std::move(process)), control_(std::move(control)), started_ms_(now_ms) {}

  uint32_t id_;
  SpawnedProcess process_;
  UniqueFd control_;
  State state_ = State::kStarting;
  int64_t started_ms_;
  uint32_t sequence_ = 0;
  // The oldest ping without an answer, and when the next one is due.
  std::optional<int64_t> unanswered_since_ms_;
  int64_t next_ping_ms_ = 0;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_WORKER_PROCESS_H_
