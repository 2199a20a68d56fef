#include "service/broker/worker_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "service/worker/control_message.h"

namespace webnnd::service {
namespace {

// Pause after the first worker that fails to start; doubled for each further one.
constexpr int64_t kBackOffFirstMs = 100;
constexpr int64_t kBackOffMaxMs = 5000;
// More at once would only slow each other down, and those that serve.
constexpr size_t kStartingMax = 4;
// How long a worker that has clients is not given another one, when that fails.
constexpr int64_t kServePauseMs = 100;
// When memory is short, how long until it is looked at again.
constexpr int64_t kMemoryPauseMs = 250;

size_t ServedPerProcessMax(const WorkerPool::Options& options) {
  const size_t all = options.shared ? limits::kClientsPerSharedWorkerMax : options.workers_max;
  return options.served_per_process_max.value_or(all - all / 4);
}

}  // namespace

WorkerPool::WorkerPool(const Options& options, WorkerActions& actions)
    : options_(options),
      actions_(actions),
      queue_({.waiting_max = options.waiting_max,
              .waiting_per_process_max = options.waiting_per_process_max,
              .served_per_process_max = ServedPerProcessMax(options)}) {}

int64_t WorkerPool::Worker::deadline_ms() const {
  if (state == State::kDying) return INT64_MAX;
  if (closed_since_ms) return *closed_since_ms + limits::kHeartbeatSilenceMaxMs;
  if (state == State::kStarting) return started_ms + limits::kWorkerStartMaxMs;
  const int64_t ping_ms = ping_sent ? INT64_MAX : next_ping_ms;
  if (!silence) return ping_ms;
  return std::min({ping_ms, silence->looked_ms + limits::kHeartbeatIntervalMs,
                   silence->since_ms + limits::kHeartbeatSilenceMaxMs});
}

void WorkerPool::OnClient(uint32_t client, pid_t process) {
  if (auto refusal = queue_.Add(client, process)) TurnAway(refusal->client, refusal->why);
}

void WorkerPool::OnClientLeft(uint32_t client) {
  if (!queue_.IsWaiting(client)) return;
  queue_.OnLeft(client);
  actions_.TurnAway(client, {});
}

void WorkerPool::TurnAway(uint32_t client, const Error& why) {
  ++counters_.clients_turned_away;
  actions_.TurnAway(client, why);
}

void WorkerPool::OnPacket(uint32_t id, std::span<const std::byte> packet, int64_t now_ms) {
  auto found = workers_.find(id);
  if (found == workers_.end() || found->second.state == State::kDying) return;
  Status handled = Handle(id, found->second, packet, now_ms);
  if (!handled.ok()) Kill(id, found->second, handled.error(), now_ms);
}

Status WorkerPool::Handle(uint32_t id, Worker& worker, std::span<const std::byte> packet,
                          int64_t now_ms) {
  if (packet.size() == sizeof(ReportMessage)) return HandleReport(worker, packet);
  if (packet.size() == sizeof(KernelMessage)) return HandleKernel(id, worker, packet);
  ControlMessage message;
  if (packet.size() != sizeof message) {
    return InternalError("the worker's message has another size ({})", packet.size());
  }
  std::memcpy(&message, packet.data(), sizeof message);
  if (message.type == ControlType::kReady && worker.state == State::kStarting) {
    LogInfo("worker {} is ready", id);
    worker.state = State::kReady;
    worker.next_ping_ms = now_ms + limits::kHeartbeatIntervalMs;
    start_failures_ = 0;
    ever_ready_ = true;
    return {};
  }
  if (message.type == ControlType::kPong && worker.ping_sent &&
      message.sequence == worker.sequence) {
    ++worker.sequence;
    worker.ping_sent = false;
    worker.silence.reset();
    worker.reports_left = 0;
    return {};
  }
  if (message.type == ControlType::kFetch && worker.has_named_kernels) {
    worker.has_named_kernels = false;
    actions_.OnFetch(id, message.sequence);
    return {};
  }
  if (message.type == ControlType::kGone && HandleGone(worker, message.sequence)) return {};
  return InternalError("the worker's message is not expected (type {}, sequence {})",
                       static_cast<uint32_t>(message.type), message.sequence);
}

// One for each client and ping, so that a worker cannot keep the broker busy.
Status WorkerPool::HandleReport(Worker& worker, std::span<const std::byte> packet) {
  ReportMessage report;
  std::memcpy(&report, packet.data(), sizeof report);
  auto client = worker.clients.find(report.header.sequence);
  if (report.header.type != ControlType::kReport || worker.reports_left == 0 ||
      client == worker.clients.end()) {
    return InternalError("the worker's report is not expected (type {}, client {})",
                         static_cast<uint32_t>(report.header.type), report.header.sequence);
  }
  --worker.reports_left;
  client->second = report.figures;
  return {};
}

// So many in a worker's life.
Status WorkerPool::HandleKernel(uint32_t id, Worker& worker, std::span<const std::byte> packet) {
  KernelMessage message;
  std::memcpy(&message, packet.data(), sizeof message);
  if (message.header.type != ControlType::kKernel || message.header.sequence != 0 ||
      !options_.kernel_cache || worker.kernels_left == 0 || !message.kernel.well_formed()) {
    return InternalError("the worker's kernel is not expected (type {}, {} constants)",
                         static_cast<uint32_t>(message.header.type), message.kernel.constant_count);
  }
  --worker.kernels_left;
  worker.has_named_kernels = true;
  actions_.OnKernel(id, message.kernel);
  return {};
}

void WorkerPool::OnUnheard(uint32_t id, int64_t now_ms) {
  auto found = workers_.find(id);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  if (worker.silence) worker.silence = Silence{now_ms, now_ms, {}};
  if (worker.state == State::kStarting) worker.started_ms = now_ms;
}

void WorkerPool::OnLineClosed(uint32_t id, int64_t now_ms) {
  auto found = workers_.find(id);
  if (found != workers_.end()) found->second.closed_since_ms = now_ms;
}

bool WorkerPool::HandleGone(Worker& worker, uint32_t client) {
  // Elsewhere the worker leaves with its client.
  if (!options_.shared || worker.clients.erase(client) == 0) return false;
  if (worker.clients.empty()) worker.state = State::kReady;
  queue_.OnLeft(client);
  actions_.OnLeft(client);
  return true;
}

void WorkerPool::Kill(uint32_t id, Worker& worker, const Error& reason, int64_t now_ms) {
  LogWarning("worker {} is killed: {}", id, reason.message());
  if (worker.state == State::kStarting) OnStartFailure(now_ms);
  worker.state = State::kDying;
  actions_.Kill(id);
}

void WorkerPool::OnEnd(uint32_t id, bool failed, std::string_view how, int64_t now_ms) {
  auto found = workers_.find(id);
  if (found == workers_.end()) return;
  State state = found->second.state;
  if (!found->second.dismissed && (failed || state == State::kDying || state == State::kStarting)) {
    ++counters_.workers_failed;
  }
  for (const auto& [client, figures] : found->second.clients) {
    queue_.OnLeft(client);
    actions_.OnLeft(client);
  }
  if (failed && state != State::kDying) {
    LogWarning("worker {} {}", id, how);
  } else {
    LogInfo("worker {} {}", id, how);
  }
  workers_.erase(found);
  if (state == State::kStarting) OnStartFailure(now_ms);
  // A spare that dies while it waits must not be replaced in a tight loop.
  if (state == State::kReady) PauseStarts(spare_ends_++, now_ms);
}

void WorkerPool::PauseStarts(int failures, int64_t now_ms) {
  no_start_before_ms_ = now_ms + std::min(kBackOffMaxMs, kBackOffFirstMs << std::min(failures, 10));
}

void WorkerPool::OnStartFailure(int64_t now_ms) {
  PauseStarts(start_failures_++, now_ms);
  if (start_failures_ < kWorkerStartAttempts) return;
  const Error why =
      DeviceLostError("no worker starts ({} attempts); the daemon's log says why", start_failures_);
  for (uint32_t client : queue_.TakeWaiting()) TurnAway(client, why);
}

void WorkerPool::OnTimers(int64_t now_ms) {
  for (auto& [id, worker] : workers_) {
    Status status = OnTimer(id, worker, now_ms);
    if (!status.ok()) Kill(id, worker, status.error(), now_ms);
  }
}

Status WorkerPool::OnTimer(uint32_t id, Worker& worker, int64_t now_ms) {
  if (worker.state == State::kDying || now_ms < worker.deadline_ms()) return {};
  if (worker.closed_since_ms) {
    return DeviceLostError("the worker has closed its line and lives on ({} ms)",
                           now_ms - *worker.closed_since_ms);
  }
  if (worker.state == State::kStarting) {
    return DeviceLostError("the worker is not ready in time ({} ms)", limits::kWorkerStartMaxMs);
  }
  if (worker.silence) {
    LookAt(id, *worker.silence, now_ms);
    const int64_t silent_ms = now_ms - worker.silence->since_ms;
    if (silent_ms >= limits::kHeartbeatSilenceMaxMs) {
      return DeviceLostError("the worker is silent ({} ms)", silent_ms);
    }
  }
  if (!worker.ping_sent && now_ms >= worker.next_ping_ms) SendPing(id, worker, now_ms);
  return {};
}

void WorkerPool::LookAt(uint32_t id, Silence& silence, int64_t now_ms) {
  const std::optional<ThreadTimes> times = actions_.TimesOf(id);
  if (times && silence.seen) {
    silence.since_ms += WaitedMs(*silence.seen, *times, now_ms - silence.looked_ms);
  }
  silence.looked_ms = now_ms;
  silence.seen = times;
}

void WorkerPool::SendPing(uint32_t id, Worker& worker, int64_t now_ms) {
  const PingResult result = actions_.Ping(id, worker.sequence);
  worker.ping_sent = result == PingResult::kSent;
  if (result == PingResult::kNotSent) {
    worker.silence.reset();
  } else if (!worker.silence) {
    worker.silence = Silence{now_ms, now_ms, {}};
  }
  worker.reports_left = worker.clients.size();
  worker.next_ping_ms = now_ms + limits::kHeartbeatIntervalMs;
}

void WorkerPool::Settle(int64_t now_ms) {
  MatchClients(now_ms);
  StartWorkers(now_ms);
  DismissWorkers();
}

bool WorkerPool::HasRoom(const Worker& worker, int64_t now_ms) const {
  if (worker.state == State::kReady) return true;
  return options_.shared && worker.state == State::kServing &&
         worker.clients.size() < limits::kClientsPerSharedWorkerMax &&
         now_ms >= worker.serve_again_ms;
}

void WorkerPool::MatchClients(int64_t now_ms) {
  for (auto& [id, worker] : workers_) {
    while (HasRoom(worker, now_ms)) {
      // The spare is not taken in excess of what may serve.
      if (worker.state == State::kReady && Count(State::kServing) >= options_.workers_max) return;
      const std::optional<uint32_t> next = queue_.Next();
      if (!next) return;
      const uint32_t client = *next;
      if (Status status = actions_.Serve(id, client); !status.ok()) {
        if (worker.state == State::kReady) {
          // Nobody loses it.
          Kill(id, worker, status.error(), now_ms);
        } else {
          LogWarning("client {} is not given to worker {}: {}", client, id,
                     status.error().message());
          worker.serve_again_ms = now_ms + kServePauseMs;
        }
        break;
      }
      worker.state = State::kServing;
      worker.clients.emplace(client, ClientFigures());
      queue_.OnServed(client);
      spare_ends_ = 0;
      ++counters_.clients_served;
      LogInfo("worker {} has client {}", id, client);
    }
  }
}

// Beside those that serve.
size_t WorkerPool::WantedWorkers() const {
  const size_t serving = Count(State::kServing);
  if (options_.shared && serving > 0) return 0;
  if (serving >= options_.workers_max) return 0;
  // A spare must not compete with a worker that somebody waits for.
  const size_t servable = queue_.servable();
  if (servable == 0) return options_.warm_spare ? 1 : 0;
  return options_.shared ? 1 : std::min(servable, options_.workers_max - serving);
}

void WorkerPool::StartWorkers(int64_t now_ms) {
  const size_t wanted = WantedWorkers();
  while (Count(State::kStarting) + Count(State::kReady) < wanted &&
         Count(State::kStarting) < kStartingMax && now_ms >= no_start_before_ms_) {
    const size_t coming = Count(State::kStarting) + Count(State::kReady);
    if (!workers_.empty() && !actions_.HasMemory(queue_.newcomers() > coming)) {
      no_start_before_ms_ = now_ms + kMemoryPauseMs;
      return;
    }
    StartWorker(now_ms);
  }
}

// Workers that were started for clients who have left meanwhile would hold memory for nobody.
void WorkerPool::DismissWorkers() {
  if (queue_.servable() > 0) return;
  size_t ready = Count(State::kReady);
  const size_t kept = options_.warm_spare ? 1 : 0;
  for (auto& [id, worker] : workers_) {
    if (ready <= kept) return;
    if (worker.state != State::kReady) continue;
    LogInfo("worker {} is not needed", id);
    Dismiss(id, worker);
    --ready;
  }
}

void WorkerPool::Dismiss(uint32_t id, Worker& worker) {
  worker.state = State::kDying;
  worker.dismissed = true;
  actions_.Kill(id);
}

void WorkerPool::ReplaceSpares() {
  for (auto& [id, worker] : workers_) {
    if (worker.state != State::kReady) continue;
    LogInfo("worker {} is replaced", id);
    Dismiss(id, worker);
  }
}

void WorkerPool::StartWorker(int64_t now_ms) {
  uint32_t id = ++last_id_;
  Status started = actions_.Start(id);
  if (!started.ok()) {
    LogError("worker {} does not start: {}", id, started.error().ToString());
    ++counters_.workers_failed;
    return OnStartFailure(now_ms);
  }
  ++counters_.workers_started;
  workers_.emplace(id, Worker{.started_ms = now_ms});
}

std::vector<WorkerPool::ServedClient> WorkerPool::Served() const {
  std::vector<ServedClient> served;
  for (const auto& [id, worker] : workers_) {
    for (const auto& [client, figures] : worker.clients) served.push_back({client, id, figures});
  }
  return served;
}

std::optional<WorkerPool::State> WorkerPool::StateOf(uint32_t id) const {
  auto found = workers_.find(id);
  if (found == workers_.end()) return std::nullopt;
  return found->second.state;
}

size_t WorkerPool::Count(State state) const {
  return static_cast<size_t>(
      std::count_if(workers_.begin(), workers_.end(),
                    [&](const auto& entry) { return entry.second.state == state; }));
}

int64_t WorkerPool::deadline_ms(int64_t now_ms) const {
  int64_t deadline = INT64_MAX;
  for (const auto& [id, worker] : workers_) {
    deadline = std::min(deadline, worker.deadline_ms());
    if (worker.serve_again_ms > now_ms) deadline = std::min(deadline, worker.serve_again_ms);
  }
  if (no_start_before_ms_ > now_ms) deadline = std::min(deadline, no_start_before_ms_);
  return deadline;
}

}  // namespace webnnd::service
