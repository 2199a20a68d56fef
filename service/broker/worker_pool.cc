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

}  // namespace

int64_t WorkerPool::Worker::deadline_ms() const {
  switch (state) {
    case State::kStarting:
      return started_ms + limits::kWorkerStartMaxMs;
    case State::kReady:
    case State::kServing:
      return unanswered_since_ms ? *unanswered_since_ms + limits::kHeartbeatSilenceMaxMs
                                 : next_ping_ms;
    case State::kDying:
      break;
  }
  return INT64_MAX;
}

void WorkerPool::OnClient(uint32_t client) {
  if (waiting_.size() + Count(State::kServing) >= options_.clients_max) {
    LogWarning("a client is turned away: all workers are taken ({})", options_.clients_max);
    return actions_.TurnAway(client);
  }
  waiting_.push_back(client);
}

void WorkerPool::OnPacket(uint32_t id, std::span<const std::byte> packet, int64_t now_ms) {
  auto found = workers_.find(id);
  if (found == workers_.end() || found->second.state == State::kDying) return;
  Status handled = Handle(id, found->second, packet, now_ms);
  if (!handled.ok()) Kill(id, found->second, handled.error(), now_ms);
}

Status WorkerPool::Handle(uint32_t id, Worker& worker, std::span<const std::byte> packet,
                          int64_t now_ms) {
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
  if (message.type == ControlType::kPong && worker.unanswered_since_ms &&
      message.sequence == worker.sequence) {
    worker.unanswered_since_ms.reset();
    return {};
  }
  return InternalError("the worker's message is not expected (type {}, sequence {})",
                       static_cast<uint32_t>(message.type), message.sequence);
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
  if (failed && state != State::kDying) {
    LogWarning("worker {} {}", id, how);
  } else {
    LogInfo("worker {} {}", id, how);
  }
  workers_.erase(found);
  if (state == State::kStarting) OnStartFailure(now_ms);
  // A spare that dies while it waits must not be replaced in a tight loop.
  if (state == State::kReady) no_start_before_ms_ = now_ms + kBackOffFirstMs;
}

void WorkerPool::OnStartFailure(int64_t now_ms) {
  int64_t pause = std::min(kBackOffMaxMs, kBackOffFirstMs << std::min(start_failures_, 10));
  ++start_failures_;
  no_start_before_ms_ = now_ms + pause;
  if (start_failures_ < kWorkerStartAttempts || waiting_.empty()) return;
  LogError("clients that wait are turned away ({}): no worker starts", waiting_.size());
  for (uint32_t client : std::exchange(waiting_, {})) actions_.TurnAway(client);
}

void WorkerPool::OnTimers(int64_t now_ms) {
  for (auto& [id, worker] : workers_) {
    Status status = OnTimer(id, worker, now_ms);
    if (!status.ok()) Kill(id, worker, status.error(), now_ms);
  }
}

Status WorkerPool::OnTimer(uint32_t id, Worker& worker, int64_t now_ms) {
  if (worker.state == State::kDying || now_ms < worker.deadline_ms()) return {};
  if (worker.state == State::kStarting) {
    return DeviceLostError("the worker is not ready in time ({} ms)", limits::kWorkerStartMaxMs);
  }
  if (worker.unanswered_since_ms) {
    return DeviceLostError("the worker is silent ({} ms)", now_ms - *worker.unanswered_since_ms);
  }
  actions_.Ping(id, ++worker.sequence);
  worker.unanswered_since_ms = now_ms;
  worker.next_ping_ms = now_ms + limits::kHeartbeatIntervalMs;
  return {};
}

void WorkerPool::Settle(int64_t now_ms) {
  MatchClients(now_ms);
  StartWorkers(now_ms);
}

void WorkerPool::MatchClients(int64_t now_ms) {
  for (auto& [id, worker] : workers_) {
    if (waiting_.empty()) return;
    if (worker.state != State::kReady) continue;
    if (Status status = actions_.Serve(id, waiting_.front()); !status.ok()) {
      Kill(id, worker, status.error(), now_ms);
      continue;
    }
    worker.state = State::kServing;
    waiting_.pop_front();
    LogInfo("worker {} has a client", id);
  }
}

void WorkerPool::StartWorkers(int64_t now_ms) {
  bool room = Count(State::kServing) < options_.clients_max;
  // A spare must not compete with a worker that somebody waits for.
  size_t spare = options_.warm_spare && room ? 1 : 0;
  size_t wanted = waiting_.empty() ? spare : waiting_.size();
  size_t idle = Count(State::kStarting) + Count(State::kReady);
  while (idle < wanted && now_ms >= no_start_before_ms_) {
    StartWorker(now_ms);
    ++idle;
  }
}

void WorkerPool::StartWorker(int64_t now_ms) {
  uint32_t id = ++last_id_;
  Status started = actions_.Start(id);
  if (!started.ok()) {
    LogError("worker {} does not start: {}", id, started.error().ToString());
    return OnStartFailure(now_ms);
  }
  workers_.emplace(id, Worker{.started_ms = now_ms});
}

size_t WorkerPool::Count(State state) const {
  return static_cast<size_t>(
      std::count_if(workers_.begin(), workers_.end(),
                    [&](const auto& entry) { return entry.second.state == state; }));
}

int64_t WorkerPool::deadline_ms(int64_t now_ms) const {
  int64_t deadline = INT64_MAX;
  for (const auto& [id, worker] : workers_) deadline = std::min(deadline, worker.deadline_ms());
  if (no_start_before_ms_ > now_ms) deadline = std::min(deadline, no_start_before_ms_);
  return deadline;
}

}  // namespace webnnd::service
