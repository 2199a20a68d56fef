// WorkerPool: which worker serves whom, when workers start, and when they have to go.
#ifndef WEBNND_SERVICE_BROKER_WORKER_POOL_H_
#define WEBNND_SERVICE_BROKER_WORKER_POOL_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/client_figures.h"
#include "base/compiled_kernel.h"
#include "base/limits.h"
#include "base/result.h"
#include "service/broker/fair_queue.h"
#include "service/broker/thread_times.h"

namespace webnnd::service {

// Failures to start in a row after which clients that wait are turned away.
inline constexpr int kWorkerStartAttempts = 3;

// What became of a ping. One that is not sent is asked for again.
enum class PingResult : uint8_t {
  kSent,
  kLineFull,  // The worker does not take what it was sent before: that is its silence.
  kNotSent,   // For a want of ours, which says nothing of the worker.
};

// What the pool wants done to processes and connections, both named by numbers. Called from inside
// the pool's methods; must not call back into it.
class WorkerActions {
 public:
  virtual ~WorkerActions() = default;
  // Starts the worker `id`. An error: there is none, and its end is not told.
  virtual Status Start(uint32_t id) = 0;
  virtual PingResult Ping(uint32_t id, uint32_t sequence) = 0;
  // Of the thread that answers pings; nothing where they are not known.
  virtual std::optional<ThreadTimes> TimesOf(uint32_t /*id*/) { return std::nullopt; }
  // Hands the client over. An error: the client is still ours.
  virtual Status Serve(uint32_t id, uint32_t client) = 0;
  // Its packets are of no interest from here on; OnEnd comes.
  virtual void Kill(uint32_t id) = 0;
  // Closes the connection of a client that no worker has; `why` is for the client, ok when it has
  // left by itself.
  virtual void TurnAway(uint32_t client, const Status& why) = 0;
  // A worker that had the client has it no more.
  virtual void OnLeft(uint32_t /*client*/) {}
  // The worker names a kernel that is in no cache, and waits for those that it has named.
  virtual void OnKernel(uint32_t /*id*/, const CompiledKernel& /*kernel*/) {}
  virtual void OnFetch(uint32_t /*id*/, uint32_t /*sequence*/) {}
  // Whether the machine has memory for one more worker. The first is started in any case. One for
  // `newcomers`, processes of which nobody is served, may take what others have to leave.
  virtual bool HasMemory(bool /*newcomers*/) { return true; }
};

// The broker's decisions, without a system call: events and the time come in, actions go out, so
// that tests can run it on a clock of their own. Times are milliseconds of a monotonic clock.
class WorkerPool {
 public:
  struct Options {
    // Keeps one worker ready that nobody waits for yet.
    bool warm_spare = true;
    // With a client; the spare is one more.
    size_t workers_max = limits::kWorkersMax;
    // Clients for which there is no worker yet.
    size_t waiting_max = limits::kClientsWaitingMax;
    // Of one process's clients, how many may wait, and how many may be served: unless it is said,
    // three quarters of all that may, so that what one process holds leaves room for others.
    size_t waiting_per_process_max = limits::kClientsWaitingPerProcessMax;
    std::optional<size_t> served_per_process_max;
    // One worker has all clients, up to limits::kClientsPerSharedWorkerMax; the others wait.
    bool shared = false;
    // Workers may tell of kernels that they compile.
    bool kernel_cache = false;
  };

  enum class State : uint8_t {
    kStarting,  // has not said that it is ready
    kReady,     // waits for a client
    kServing,   // has one, or several
    kDying,     // was killed, and its end has not come
  };

  WorkerPool(const Options& options, WorkerActions& actions);

  // A client is there, connected by `process`: it is served, waits, or is turned away.
  void OnClient(uint32_t client, pid_t process);
  // A client that waits has left.
  void OnClientLeft(uint32_t client);
  // One packet of a worker's.
  void OnPacket(uint32_t id, std::span<const std::byte> packet, int64_t now_ms);
  // Nothing can be received from the worker, for a want of ours: its silence counts from here.
  void OnUnheard(uint32_t id, int64_t now_ms);
  // The worker has closed its end. Should it live on all the same, that is its silence.
  void OnLineClosed(uint32_t id, int64_t now_ms);
  // The process is gone; `how` for the log.
  void OnEnd(uint32_t id, bool failed, std::string_view how, int64_t now_ms);
  // After packets that wait have been told: after a pause of the broker's own, answers are there
  // that came in time.
  void OnTimers(int64_t now_ms);
  // What workers are started with has changed: those that wait for a client make way for others.
  void ReplaceSpares();
  // After all else: gives clients to workers, and starts workers.
  void Settle(int64_t now_ms);

  // When OnTimers or Settle has something to do without an event; INT64_MAX: never.
  int64_t deadline_ms(int64_t now_ms) const;

  struct Counters {
    uint64_t clients_served = 0;
    uint64_t clients_turned_away = 0;
    uint64_t workers_started = 0;
    // Did not start, were killed, or ended otherwise than well.
    uint64_t workers_failed = 0;
  };
  const Counters& counters() const { return counters_; }

  struct ServedClient {
    uint32_t client;
    uint32_t worker;
    ClientFigures figures;  // As the worker said last.
  };
  std::vector<ServedClient> Served() const;
  std::optional<State> StateOf(uint32_t id) const;

  size_t Count(State state) const;
  size_t size() const { return workers_.size(); }
  size_t waiting() const { return queue_.size(); }
  // No client is served or waits.
  bool idle() const { return queue_.empty() && Count(State::kServing) == 0; }
  // No worker has ever become ready, in as many attempts as there are.
  bool hopeless() const { return !ever_ready_ && start_failures_ >= kWorkerStartAttempts; }

 private:
  // An answer that is owed.
  struct Silence {
    // Later than it began by what the worker waited for a processor.
    int64_t since_ms;
    // When it was last looked whether it waits, and what was seen then.
    int64_t looked_ms;
    std::optional<ThreadTimes> seen;
  };

  struct Worker {
    State state = State::kStarting;
    int64_t started_ms = 0;
    // Of the ping that is due, or that has been sent and has no answer.
    uint32_t sequence = 1;
    bool ping_sent = false;
    int64_t next_ping_ms = 0;
    std::optional<Silence> silence;
    // Since when it has no line to answer by.
    std::optional<int64_t> closed_since_ms;
    // Until then it is given no further client.
    int64_t serve_again_ms = 0;
    std::map<uint32_t, ClientFigures> clients;
    // How many reports may come before the pong.
    size_t reports_left = 0;
    uint32_t kernels_left = limits::kKernelReportsMax;
    // Since its last fetch.
    bool has_named_kernels = false;
    // It goes because nobody needs it.
    bool dismissed = false;

    // When OnTimer is next due.
    int64_t deadline_ms() const;
  };

  Status Handle(uint32_t id, Worker& worker, std::span<const std::byte> packet, int64_t now_ms);
  Status HandleReport(Worker& worker, std::span<const std::byte> packet);
  Status HandleKernel(uint32_t id, Worker& worker, std::span<const std::byte> packet);
  bool HandleGone(Worker& worker, uint32_t client);
  // An error says why the worker has to go: it is silent, or not ready in time.
  Status OnTimer(uint32_t id, Worker& worker, int64_t now_ms);
  void SendPing(uint32_t id, Worker& worker, int64_t now_ms);
  // Leaves out of its silence what the worker has waited for a processor.
  void LookAt(uint32_t id, Silence& silence, int64_t now_ms);
  bool HasRoom(const Worker& worker, int64_t now_ms) const;
  size_t WantedWorkers() const;
  void MatchClients(int64_t now_ms);
  void StartWorkers(int64_t now_ms);
  void DismissWorkers();
  void Dismiss(uint32_t id, Worker& worker);
  void StartWorker(int64_t now_ms);
  void OnStartFailure(int64_t now_ms);
  // Longer for each of the `failures` before.
  void PauseStarts(int failures, int64_t now_ms);
  void Kill(uint32_t id, Worker& worker, const Error& reason, int64_t now_ms);
  void TurnAway(uint32_t client, const Error& why);

  const Options options_;
  WorkerActions& actions_;
  std::map<uint32_t, Worker> workers_;
  FairQueue queue_;
  uint32_t last_id_ = 0;
  int start_failures_ = 0;  // In a row.
  int spare_ends_ = 0;      // Since a worker last got a client.
  bool ever_ready_ = false;
  Counters counters_;
  int64_t no_start_before_ms_ = 0;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_WORKER_POOL_H_
