#include "tests/simulation/world.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "base/limits.h"
#include "service/worker/control_message.h"

namespace webnnd::service {
namespace {

// A worker that answers pings is never silent for longer; a hung one must be gone by twice that.
constexpr int64_t kNoticeMs = limits::kHeartbeatIntervalMs + limits::kHeartbeatSilenceMaxMs + 100;
// Between a worker that fails to start and the next one.
constexpr int64_t kPauseMsMin = 100;
constexpr int64_t kWorldMsMax = 3600 * 1000;
constexpr int64_t kRunMs = 60000;
// A client's device memory: more than all that a peer needs, bindings of all dispatches in flight
// included, and less than it asks for when it asks for too much.
constexpr uint64_t kDeviceBytesMax = 32 << 20;
// By then the last one that is slow to start has been killed, and its successors serve.
constexpr int64_t kSettleMs = 3 * limits::kWorkerStartMaxMs;

}  // namespace

std::atomic<uint32_t> World::current_client_{0};

// --- Workers. -----------------------------------------------------------------------------------

Status World::Start(uint32_t id) {
  if (workers_.count(id) != 0) Fail(fmt::format("worker {} is started twice", id));
  Flaw flaw = Flaw::kNone;
  if (!calm_ && random_.OneIn(trouble_one_in_)) {
    flaw = static_cast<Flaw>(random_.Between(1, static_cast<int>(Flaw::kLateReady)));
  }
  if (now_ms_ < no_start_before_ms_) Fail(fmt::format("worker {} starts without a pause", id));
  if (flaw == Flaw::kNoProcess) {
    no_start_before_ms_ = now_ms_ + kPauseMsMin;
    return InternalError("the world has no process left ({})", id);
  }
  workers_[id] = {.flaw = flaw};
  if (flaw == Flaw::kEndsAtStart) {
    At(random_.Between(0, 200), [this, id] { End(id); });
    return {};
  }
  if (flaw == Flaw::kNeverReady) return {};
  At(random_.Between(1, random_.OneIn(20) ? limits::kWorkerStartMaxMs - 1 : 300), [this, id] {
    auto found = workers_.find(id);
    if (found == workers_.end() || found->second.dead) return;
    found->second.ready = true;
    Say(id, ControlType::kReady);
    if (found->second.flaw == Flaw::kLateReady) Say(id, ControlType::kReady);
  });
  if (flaw == Flaw::kHangs || flaw == Flaw::kDies || flaw == Flaw::kBabbles) {
    At(random_.Between(0, 10000), [this, id] { Misbehave(id); });
  }
  return {};
}

void World::Misbehave(uint32_t id) {
  auto found = workers_.find(id);
  if (found == workers_.end() || found->second.dead) return;
  Worker& worker = found->second;
  if (worker.flaw == Flaw::kDies) return End(id);
  if (worker.flaw == Flaw::kBabbles) {
    std::byte garbage[sizeof(ControlMessage) + 1] = {};
    return pool_.OnPacket(id, std::span(garbage).first(random_.Between(0, sizeof garbage)),
                          now_ms_);
  }
  worker.hung = true;
  // Before it is ready, it has until limits::kWorkerStartMaxMs.
  if (worker.ready) worker.hung_since_ms = now_ms_;
}

void World::Say(uint32_t id, ControlType type, uint32_t sequence) {
  const ControlMessage message{.type = type, .sequence = sequence};
  pool_.OnPacket(id, std::as_bytes(std::span(&message, 1)), now_ms_);
}

PingResult World::Ping(uint32_t id, uint32_t sequence) {
  auto found = workers_.find(id);
  if (found == workers_.end()) {
    Fail(fmt::format("worker {}, pinged, is no more", id));
    return PingResult::kSent;
  }
  if (!calm_ && random_.OneIn(200)) {
    no_ping_before_ms_ = now_ms_ + random_.Between(0, 3 * limits::kHeartbeatSilenceMaxMs);
  }
  if (now_ms_ < no_ping_before_ms_) {
    // Who is not asked is not found out.
    if (found->second.hung_since_ms) found->second.hung_since_ms = now_ms_;
    return PingResult::kNotSent;
  }
  At(random_.Between(0, random_.OneIn(10) ? limits::kHeartbeatSilenceMaxMs - 1 : 20),
     [this, id, sequence] {
       auto found = workers_.find(id);
       if (found == workers_.end() || found->second.dead || found->second.hung) return;
       Say(id, ControlType::kPong, sequence);
     });
  return PingResult::kSent;
}

// The process is gone: its client sees it at once, the broker a little later.
void World::End(uint32_t id) {
  auto found = workers_.find(id);
  if (found == workers_.end() || found->second.dead) return;
  Worker& worker = found->second;
  worker.dead = true;
  // What it has sent is there to be read.
  if (auto client = clients_.find(worker.client); client != clients_.end()) {
    if (client->second.listens()) client->second.peer->Drain();
  }
  if (worker.session != nullptr) {
    const uint64_t left_behind = worker.session->End();
    if (left_behind != 0) {
      Fail(fmt::format("worker {} leaves device memory behind ({} bytes)", id, left_behind));
    }
    worker.session = nullptr;
  }
  if (worker.client != 0) Over(worker.client);
  if (options_.forget_dead_workers) return;
  At(random_.Between(0, 20), [this, id] {
    if (!workers_.at(id).ready && !workers_.at(id).killed) {
      no_start_before_ms_ = now_ms_ + kPauseMsMin;
    }
    workers_.erase(id);
    pool_.OnEnd(id, /*failed=*/true, "ends in the simulation", now_ms_);
  });
}

void World::Kill(uint32_t id) {
  if (workers_.count(id) == 0) return Fail(fmt::format("worker {}, killed, is no more", id));
  if (Worker& worker = workers_.at(id); !worker.dead) {
    if (worker.flaw == Flaw::kNone && worker.client != 0) {
      Fail(fmt::format("worker {}, which is sound, is killed under client {}", id, worker.client));
    }
    worker.killed = true;
    if (!worker.ready) no_start_before_ms_ = now_ms_ + kPauseMsMin;
  }
  End(id);
}

// --- Clients. -----------------------------------------------------------------------------------

// Just enough for what every peer has, or more; in flight nearly nothing, or as by default.
Quota World::DrawQuota() {
  const auto draw = [&](int64_t low, int64_t high) {
    return static_cast<uint64_t>(random_.Between(low, high));
  };
  Quota quota{.device_bytes = kDeviceBytesMax,
              .contexts = draw(1, 4),
              .tensors = draw(3, 12),
              .graphs = draw(1, 5),
              .bindings = draw(1, 5),
              .operators = draw(1, 12)};
  if (random_.OneIn(2)) quota.bytes_in_flight = draw(1, 8192);
  if (random_.OneIn(2)) quota.dispatches_in_flight = draw(1, 40);
  if (random_.OneIn(2)) quota.dispatch_ms = draw(1, 3);
  return quota;
}

void World::Connect(Kind kind, int rounds) {
  const uint32_t id = ++last_client_;
  auto channels = std::move(ipc::MakeMemoryChannelPair()).value();
  Client& client = clients_[id];
  present_.insert(id);
  ++tally_.clients;
  client.kind = kind;
  client.quota = DrawQuota();
  client.peer = std::make_unique<Peer>(std::move(channels.first),
                                       static_cast<uint64_t>(random_.Between(0, INT64_MAX)), rounds,
                                       client.quota);
  client.service_side = std::move(channels.second);
  if (kind == Kind::kSilent && random_.OneIn(2)) client.peer->StopInTheMiddle();
  if (kind == Kind::kBrief) At(random_.Between(0, 3000), [this, id] { Leave(id); });
  if (kind == Kind::kSilent) At(random_.Between(0, 20000), [this, id] { Leave(id); });
  client.process = static_cast<pid_t>(processes_ == 0 ? id : random_.Between(1, processes_));
  pool_.OnClient(id, client.process);
}

// As its user would.
void World::ComeBack(int64_t delay_ms, int rounds) {
  ++pending_returns_;
  At(delay_ms, [this, rounds] {
    --pending_returns_;
    Connect(random_.OneIn(4) ? Kind::kSlow : Kind::kGood, rounds);
  });
}

Status World::Serve(uint32_t id, uint32_t client_id) {
  auto worker = workers_.find(id);
  auto client = clients_.find(client_id);
  if (worker == workers_.end() || client == clients_.end()) {
    Fail(fmt::format("client {} is given to worker {}, and one is no more", client_id, id));
    return {};
  }
  if (worker->second.dead || (worker->second.flaw == Flaw::kRefuses && !calm_)) {
    return InternalError("the worker does not take a client ({})", id);
  }
  if (!worker->second.ready || worker->second.client != 0 ||
      client->second.place != Place::kWaiting) {
    Fail(fmt::format("client {} is given to worker {}, which is not free", client_id, id));
  }
  CheckTurn(client_id, client->second);
  ++helped_;
  client->second.place = Place::kServed;
  client->second.worker = id;
  worker->second.client = client_id;
  worker->second.session = std::make_unique<ServedSession>(
      std::move(client->second.service_side), client->second.quota, options_.flaw,
      [this, client_id](std::string what) { Fail(fmt::format("client {} {}", client_id, what)); });
  At(0, [this, client_id] { Turn(client_id); });
  return {};
}

void World::Turn(uint32_t id) {
  Client& client = clients_.at(id);
  if (client.place != Place::kServed) return;
  current_client_ = id;
  const uint32_t worker_id = client.worker;
  Peer& peer = *client.peer;
  if (client.listens()) {
    if (client.kind == Kind::kBad && random_.OneIn(5)) {
      client.misbehaved = true;
      peer.Misbehave();
    }
    peer.Turn(/*reads=*/client.kind != Kind::kSlow || random_.OneIn(8));
  }
  Worker& worker = workers_.at(worker_id);
  if (!worker.hung && !(WorkerTurn(*worker.session) && CheckSession(client, *worker.session))) {
    return End(worker_id);
  }
  if (client.listens() && peer.done()) Leave(id);
  At(random_.Between(1, 300), [this, id] { Turn(id); });
}

bool World::WorkerTurn(ServedSession& session) {
  for (int64_t turns = random_.Between(1, 4); turns > 0; --turns) {
    if (!session.Step(1)) return false;
    session.RunDevice(static_cast<size_t>(random_.Between(0, 30)));
  }
  return true;
}

bool World::CheckSession(Client& client, ServedSession& session) {
  session.CheckBounds();
  if (!client.listens() || client.misbehaved) return true;
  Peer& peer = *client.peer;
  if (session.MovesOn(peer)) ++helped_;
  if (!peer.quiet() || (!peer.done() && !random_.OneIn(4))) return true;
  if (!session.CheckQuiet(peer)) return false;
  return peer.done() || !random_.OneIn(2) || session.Flood(peer, tally_);
}

// Its worker is gone, or it was turned away.
void World::Over(uint32_t id) {
  Client& client = clients_.at(id);
  client.place = Place::kOver;
  present_.erase(id);
  client.service_side = nullptr;
  Peer& peer = *client.peer;
  if (client.listens()) {
    peer.DrainToEnd();
    if (!peer.ended() && !peer.wrong()) Fail(fmt::format("client {} does not see the end", id));
  }
  if (peer.wrong()) Fail(fmt::format("client {}: {}", id, *peer.wrong()));
  if (peer.goodbye() && !client.misbehaved) {
    Fail(fmt::format("client {} is dismissed: {}", id, *peer.goodbye()));
  }
  tally_.answers += peer.answers();
  tally_.Add(peer.mirror().refusals());
  if (client.comes_back() && !peer.done()) {
    ComeBack(random_.Between(0, 2000), peer.rounds_left());
  }
  client.peer = nullptr;
}

size_t World::WaitingOf(pid_t process) const {
  return static_cast<size_t>(std::count_if(present_.begin(), present_.end(), [&](uint32_t id) {
    const Client& client = clients_.at(id);
    return client.place == Place::kWaiting && client.process == process;
  }));
}

size_t World::ServedOf(pid_t process) const {
  return static_cast<size_t>(
      std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
        const uint32_t client = entry.second.client;
        return client != 0 && clients_.at(client).process == process;
      }));
}

// A process is served in the order in which it has come, and after those of which nobody is.
void World::CheckTurn(uint32_t id, const Client& client) {
  const size_t served = ServedOf(client.process);
  if (served >= served_per_process_max_) {
    Fail(fmt::format("client {} is served, and so many of its process already are ({})", id,
                     served));
  }
  for (const uint32_t other_id : present_) {
    const Client& other = clients_.at(other_id);
    if (other.place != Place::kWaiting || other_id == id) continue;
    if (other.process == client.process ? other_id < id
                                        : served > 0 && ServedOf(other.process) == 0) {
      Fail(fmt::format("client {} is served in the place of client {}", id, other_id));
    }
  }
}

void World::TurnAway(uint32_t id, const Status& why) {
  Client& client = clients_.at(id);
  if (client.place != Place::kWaiting) Fail(fmt::format("client {} is turned away late", id));
  // Clients as they are with the one that has just come.
  const size_t own = WaitingOf(client.process);
  if (why.ok()) {
    if (!client.left) Fail(fmt::format("client {} is turned away, and has not left", id));
  } else if (why.error().cause() == Cause::kQuota && own <= waiting_per_process_max_) {
    size_t waiting = 0, most = 0;
    for (const uint32_t other_id : present_) {
      const Client& other = clients_.at(other_id);
      if (other.place != Place::kWaiting) continue;
      ++waiting;
      most = std::max(most, WaitingOf(other.process));
    }
    if (waiting <= waiting_max_) Fail(fmt::format("client {} is turned away for nothing", id));
    if (own < most) {
      Fail(fmt::format("client {} is turned away, one of {} of its process, and another has {}", id,
                       own, most));
    }
  }
  Over(id);
}

// Closes its end. One that waits is still handed over, and found to be gone then.
void World::Leave(uint32_t id) {
  Client& client = clients_.at(id);
  if (client.left || client.peer == nullptr) return;
  client.left = true;
  // The broker may see it, or serve it first.
  if (client.place == Place::kWaiting && random_.OneIn(2)) {
    At(random_.Between(0, 5), [this, id] { pool_.OnClientLeft(id); });
  }
  client.peer->Close();
}

// --- The world. ---------------------------------------------------------------------------------

// To the next event, or the pool's own deadline.
void World::Advance() {
  pool_.Settle(now_ms_);
  int64_t next = pool_.deadline_ms(now_ms_);
  if (!events_.empty()) next = std::min(next, events_.begin()->first);
  now_ms_ = std::max(now_ms_, std::min(next, now_ms_ + 1000));
  while (!events_.empty() && events_.begin()->first <= now_ms_) {
    auto event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
  }
  pool_.OnTimers(now_ms_);
}

std::optional<std::string> World::CheckWorker(uint32_t id, const Worker& worker) const {
  if (worker.hung_since_ms && !worker.dead && now_ms_ - *worker.hung_since_ms > kNoticeMs) {
    return fmt::format("worker {} hangs for {} ms and lives", id, now_ms_ - *worker.hung_since_ms);
  }
  return std::nullopt;
}

std::optional<std::string> World::Check() const {
  if (failure_) return failure_;
  size_t waiting = 0, served = 0, live = 0;
  for (const uint32_t id : present_) {
    const Client& client = clients_.at(id);
    if (client.place == Place::kWaiting) ++waiting;
    if (client.place != Place::kServed) continue;
    ++served;
    auto worker = workers_.find(client.worker);
    if (worker == workers_.end() || worker->second.client != id) {
      return fmt::format("client {} is served by nobody", id);
    }
  }
  for (const auto& [id, worker] : workers_) {
    if (!worker.dead) ++live;
    if (auto wrong = CheckWorker(id, worker)) return wrong;
  }
  if (pool_.waiting() != waiting) {
    return fmt::format("{} clients wait, and the pool knows {}", waiting, pool_.waiting());
  }
  if (pool_.size() != workers_.size()) {
    return fmt::format("there are {} workers, and the pool knows {}", workers_.size(),
                       pool_.size());
  }
  // Some that it counts as serving have died, and the news is on its way.
  if (waiting > waiting_max_ || pool_.Count(WorkerPool::State::kServing) > workers_max_) {
    return fmt::format("{} clients wait of {}, and {} are served of {}", waiting, waiting_max_,
                       served, workers_max_);
  }
  if (live > workers_max_ + (warm_spare_ ? 1 : 0)) {
    return fmt::format("{} workers live, for {} clients at most", live, workers_max_);
  }
  return std::nullopt;
}

std::string World::SomeClient() const {
  if (present_.empty()) return "no client is there";
  const uint32_t id = *present_.begin();
  const Client& client = clients_.at(id);
  if (client.place == Place::kWaiting) return fmt::format("client {} waits", id);
  return fmt::format("client {} has worker {}", id, client.worker);
}

// Once all is quiet, nothing is left but a spare.
std::optional<std::string> World::CheckEnd() const {
  if (!pool_.idle() || pool_.waiting() != 0) return "the pool is not idle";
  const size_t spare = warm_spare_ ? 1 : 0;
  if (pool_.size() > std::max<size_t>(spare, 1) || pool_.Count(WorkerPool::State::kReady) < spare) {
    return fmt::format("{} workers are left", pool_.size());
  }
  return std::nullopt;
}

std::optional<std::string> World::Run() {
  const int64_t clients = random_.Between(1, 60);
  for (int64_t i = 0; i < clients; ++i) {
    const Kind kind =
        random_.OneIn(2) ? Kind::kGood : static_cast<Kind>(random_.Between(0, kKindLast));
    const int rounds = static_cast<int>(random_.Between(0, random_.OneIn(10) ? 600 : 30));
    At(random_.Between(0, kRunMs / 2), [this, kind, rounds] { Connect(kind, rounds); });
  }
  At(kRunMs, [this] { calm_ = true; });
  int64_t moved_ms = now_ms_;  // When anybody was last helped.
  uint64_t helped = 0;
  while (!calm_ || pending_returns_ > 0 || !present_.empty() || now_ms_ - moved_ms < kSettleMs) {
    Advance();
    if (auto wrong = Check()) return wrong;
    // The daemon ends then.
    if (pool_.hopeless()) return std::nullopt;
    if (!calm_ || std::exchange(helped, helped_) != helped_) moved_ms = now_ms_;
    if (now_ms_ - moved_ms > 2 * kSettleMs) {
      return "nobody is helped any more: " + SomeClient();
    }
    if (now_ms_ > kWorldMsMax) return "it does not come to an end: " + SomeClient();
  }
  return CheckEnd();
}

}  // namespace webnnd::service
