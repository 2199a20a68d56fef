// The broker's decisions, and the workers' sessions on a device that computes nothing, under random
// clients: one thread, a clock of its own, no process. Everything follows from a seed.
//
// simulation [--seed N] [--seeds COUNT] [--seconds S] [--forget-dead-workers] [--forget-to-retire]
//            [--forget-to-submit]
//
// Runs the seeds N, N + 1, ...; a seed that fails is named, and runs alike again. The last three
// break the world on purpose, to see that it is noticed.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "base/quota.h"
#include "ipc/channel.h"
#include "service/broker/worker_pool.h"
#include "service/session/session.h"
#include "service/worker/control_message.h"
#include "tests/simulation/null_device.h"
#include "tests/simulation/peer.h"

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
// A client takes so many turns at least before it is said to get no further. One that is slow to
// read does so in one of eight.
constexpr int kStillTurnsMax = 200;
// Turns of a session after which it has taken all that it may: a pipe's worth is four.
constexpr int kTurnsToTakeAll = 16;
// And after which it has done all that there was, however few dispatches it takes at a time.
constexpr int kTurnsToDoAll = 1000;
// Of one world, in real time: something waits that never must.
constexpr unsigned kWorldRealSecondsMax = 60;
// By then the last one that is slow to start has been killed, and its successors serve.
constexpr int64_t kSettleMs = 3 * limits::kWorkerStartMaxMs;

struct Options {
  uint64_t seed = 1;
  bool forget_dead_workers = false;
  NullFlaw flaw = NullFlaw::kNone;
};

// How often something reached its limit.
struct Tally {
  uint64_t clients = 0, answers = 0;
  // Calls over a quota.
  Mirror::Refusals refused;
  // Floods that had to wait for the quota.
  uint64_t tasks = 0, dispatches = 0, bytes = 0;

  void Add(const Mirror::Refusals& more) {
    refused.contexts += more.contexts;
    refused.tensors += more.tensors;
    refused.graphs += more.graphs;
    refused.bindings += more.bindings;
    refused.operators += more.operators;
    refused.device_bytes += more.device_bytes;
    refused.dispatch_ms += more.dispatch_ms;
  }
  struct Row {
    const char* quota;
    uint64_t times;
  };
  std::vector<Row> Rows() const {
    return {{"contexts", refused.contexts},       {"tensors", refused.tensors},
            {"graphs", refused.graphs},           {"bindings", refused.bindings},
            {"operators", refused.operators},     {"device-bytes", refused.device_bytes},
            {"dispatch-ms", refused.dispatch_ms}, {"tasks in flight", tasks},
            {"dispatches-in-flight", dispatches}, {"bytes-in-flight", bytes}};
  }
};
// So many worlds meet every quota.
constexpr uint64_t kWorldsForAllQuotas = 20;

// What a signal's handler says: code that is tested may abort, or wait for ever.
std::atomic<uint64_t> current_seed{0};
std::atomic<uint32_t> current_client{0};

void OnDeadlySignal(int signal) {
  char text[128];
  const int length =
      snprintf(text, sizeof text, "seed %llu fails: client %u: %s\n",
               static_cast<unsigned long long>(current_seed.load()), current_client.load(),
               signal == SIGALRM ? "its turn does not end" : "a check fails, or memory");
  (void)!write(STDOUT_FILENO, text, static_cast<size_t>(length));
  if (signal == SIGALRM) _exit(1);
  // As without a handler.
  ::signal(signal, SIG_DFL);
  raise(signal);
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

class World final : public WorkerActions {
 public:
  // What happens is added to the tally.
  World(const Options& options, Tally& tally)
      : options_(options),
        tally_(tally),
        random_(options.seed),
        workers_max_(static_cast<size_t>(random_.Between(1, 12))),
        waiting_max_(static_cast<size_t>(random_.Between(1, 12))),
        processes_(random_.OneIn(3) ? 0 : random_.Between(1, 10)),
        waiting_per_process_max_(DrawUpTo(waiting_max_)),
        served_per_process_max_(DrawUpTo(workers_max_)),
        warm_spare_(random_.OneIn(2)),
        // Most worlds are sound; in some nothing works for long.
        trouble_one_in_(random_.OneIn(4) ? 2 : random_.Between(4, 40)),
        pool_({.warm_spare = warm_spare_,
               .workers_max = workers_max_,
               .waiting_max = waiting_max_,
               .waiting_per_process_max = waiting_per_process_max_,
               .served_per_process_max = served_per_process_max_},
              *this) {}

  // What was wrong; nothing when all held.
  std::optional<std::string> Run();

 private:
  // What a worker does beside serving well.
  enum class Flaw : uint8_t {
    kNone,
    kNoProcess,    // clone fails
    kEndsAtStart,  // the sandbox fails
    kNeverReady,
    kRefuses,    // its control socket is full
    kHangs,      // answers nothing from some moment on, and its client's requests neither
    kDies,       // at some moment
    kBabbles,    // breaks the protocol at some moment
    kLateReady,  // says twice that it is ready
  };
  struct Worker {
    Flaw flaw = Flaw::kNone;
    bool ready = false;
    bool hung = false;
    bool dead = false;  // Its end has not been told yet.
    bool killed = false;
    std::optional<int64_t> hung_since_ms;
    uint32_t client = 0;
    uint64_t work_done = 0;  // By its device.
    std::shared_ptr<Device> device;
    std::unique_ptr<Session> session;
  };

  enum class Kind : uint8_t {
    kGood,    // asks, holds the answers to what is right, and comes back when its worker is lost
    kSlow,    // the same, and reads its answers late
    kSilent,  // half-open: says nothing, or half a message, and stays for a while
    kBrief,   // leaves at any moment, served or not
    kBad,     // breaks the protocol
  };
  static constexpr int kKindLast = static_cast<int>(Kind::kBad);
  enum class Place : uint8_t { kWaiting, kServed, kOver };
  struct Client {
    Kind kind = Kind::kGood;
    Place place = Place::kWaiting;
    pid_t process = 0;
    uint32_t worker = 0;
    bool left = false;  // It has closed its end.
    bool misbehaved = false;
    Quota quota;
    // Turns in which it waited and nothing came of it, and what had come before.
    int still_turns = 0;
    uint64_t moved = 0;
    std::unique_ptr<Peer> peer;                  // nullptr once it is over.
    std::unique_ptr<ipc::Channel> service_side;  // While it waits.

    bool listens() const { return !left && kind != Kind::kSilent; }
    bool comes_back() const { return !left && (kind == Kind::kGood || kind == Kind::kSlow); }
  };

  // --- What the pool wants.
  Status Start(uint32_t id) override;
  PingResult Ping(uint32_t id, uint32_t sequence) override;
  Status Serve(uint32_t id, uint32_t client) override;
  void Kill(uint32_t id) override;
  void TurnAway(uint32_t client, const Status& why) override;

  size_t DrawUpTo(size_t max) {
    return static_cast<size_t>(random_.Between(1, static_cast<int64_t>(max)));
  }
  // Of the process, as the pool knows them: who waits, and who is served or has been by a worker
  // whose end has not been told.
  size_t WaitingOf(pid_t process) const;
  size_t ServedOf(pid_t process) const;
  // Whether it is the client's turn.
  void CheckTurn(uint32_t id, const Client& client);
  void At(int64_t delay_ms, std::function<void()> event) {
    events_.emplace(now_ms_ + delay_ms, std::move(event));
  }
  void Say(uint32_t id, ControlType type, uint32_t sequence = 0);
  void End(uint32_t id);
  void Misbehave(uint32_t id);
  Quota DrawQuota();
  void Connect(Kind kind, int rounds);
  void ComeBack(int64_t delay_ms, int rounds);
  void Leave(uint32_t id);
  // Both sides of a session do a little, again and again until it is over.
  void Turn(uint32_t id);
  // false, here and below: the session has ended by itself.
  bool WorkerTurn(Worker& worker);
  bool StepMany(Worker& worker, int turns);
  void RunDevice(Worker& worker, size_t count);
  void WatchProgress(uint32_t id, Client& client, const Worker& worker);
  void CheckBounds(uint32_t id, const Client& client, const Worker& worker);
  // Nothing is in flight, and what there is, is what there should be.
  bool CheckQuiet(uint32_t id, Client& client, Worker& worker);
  // With a device that does nothing for a while, a session takes as much as its quotas allow.
  bool Flood(uint32_t id, Client& client, Worker& worker);
  void Over(uint32_t id);
  void Advance();
  std::optional<std::string> Check() const;
  std::optional<std::string> CheckWorker(uint32_t id, const Worker& worker) const;
  std::optional<std::string> CheckEnd() const;
  // A client that is neither served to its end nor turned away.
  std::string SomeClient() const;

  void Fail(std::string what) {
    if (!failure_) failure_ = std::move(what);
  }

  const Options options_;
  Tally& tally_;
  Random random_;
  const size_t workers_max_;
  const size_t waiting_max_;
  const int64_t processes_;  // That clients are of; 0: each has one of its own.
  const size_t waiting_per_process_max_;
  const size_t served_per_process_max_;
  const bool warm_spare_;
  const int64_t trouble_one_in_;
  WorkerPool pool_;
  int64_t now_ms_ = 1000;
  int64_t no_start_before_ms_ = 0;
  int64_t no_ping_before_ms_ = 0;
  bool calm_ = false;  // Nothing new goes wrong.
  std::multimap<int64_t, std::function<void()>> events_;
  std::map<uint32_t, Worker> workers_;
  std::map<uint32_t, Client> clients_;
  std::set<uint32_t> present_;  // Those that wait or are served.
  uint32_t last_client_ = 0;
  // How often a client was given a worker, or got further with one.
  uint64_t helped_ = 0;
  int pending_returns_ = 0;  // Clients about to connect once more.
  std::optional<std::string> failure_;
};

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
  worker.session = nullptr;
  if (worker.device != nullptr && worker.device->bytes_in_use() != 0) {
    Fail(fmt::format("worker {} leaves device memory behind ({} bytes)", id,
                     worker.device->bytes_in_use()));
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
  worker->second.device = std::move(Device::Open(0, {})).value();
  SetFlaw(*worker->second.device, options_.flaw);
  worker->second.session = std::move(Session::Create(std::move(client->second.service_side),
                                                     {.devices = {worker->second.device},
                                                      .quota = client->second.quota,
                                                      .has_threads = false}))
                               .value();
  At(0, [this, client_id] { Turn(client_id); });
  return {};
}

void World::Turn(uint32_t id) {
  Client& client = clients_.at(id);
  if (client.place != Place::kServed) return;
  current_client = id;
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
  if (!worker.hung) {
    if (!WorkerTurn(worker)) return End(worker_id);
    CheckBounds(id, client, worker);
    if (client.listens() && !client.misbehaved) {
      WatchProgress(id, client, worker);
      if (peer.quiet() && (peer.done() || random_.OneIn(4))) {
        if (!CheckQuiet(id, client, worker)) return End(worker_id);
        if (!peer.done() && random_.OneIn(2) && !Flood(id, client, worker)) return End(worker_id);
      }
    }
  }
  if (client.listens() && peer.done()) Leave(id);
  At(random_.Between(1, 300), [this, id] { Turn(id); });
}

bool World::WorkerTurn(Worker& worker) {
  for (int64_t turns = random_.Between(1, 4); turns > 0; --turns) {
    if (!StepMany(worker, 1)) return false;
    RunDevice(worker, static_cast<size_t>(random_.Between(0, 30)));
  }
  return true;
}

bool World::StepMany(Worker& worker, int turns) {
  for (; turns > 0; --turns) {
    if (!worker.session->Step({}, /*timeout_ms=*/0)) return false;
  }
  return true;
}

void World::RunDevice(Worker& worker, size_t count) {
  worker.work_done += RunQueued(*worker.device, count);
}

void World::WatchProgress(uint32_t id, Client& client, const Worker& worker) {
  const uint64_t moved = client.peer->answers() + worker.work_done;
  const bool moves = std::exchange(client.moved, moved) != moved;
  if (moves) ++helped_;
  if (moves || !client.peer->waits()) {
    client.still_turns = 0;
  } else if (++client.still_turns > kStillTurnsMax) {
    Fail(
        fmt::format("client {} gets no further: it waits for {}, and for {} turns there is "
                    "neither an answer nor work done",
                    id, client.peer->WaitsFor(), client.still_turns));
  }
}

void World::CheckBounds(uint32_t id, const Client& client, const Worker& worker) {
  const Load load = worker.session->in_flight();
  const Quota& quota = client.quota;
  // The last transfer may be the one that goes beyond; a build counts twice.
  if (load.dispatches > quota.dispatches_in_flight ||
      load.bytes >= quota.bytes_in_flight + limits::kInlinePayloadBytesMax ||
      load.tasks > 2 * limits::kTasksInFlightMax) {
    Fail(fmt::format("client {} has too much in flight: {} tasks, {} dispatches, {} bytes", id,
                     load.tasks, load.dispatches, load.bytes));
  }
}

bool World::CheckQuiet(uint32_t id, Client& client, Worker& worker) {
  // What needs no answer may be on its way.
  int quiet_turns = 0;
  for (int turns = 0; turns < kTurnsToDoAll && quiet_turns < 3; ++turns) {
    if (!StepMany(worker, 1)) return false;
    const uint64_t done_before = worker.work_done;
    RunDevice(worker, SIZE_MAX);
    const bool quiet = worker.work_done == done_before && worker.session->in_flight() == Load();
    quiet_turns = quiet ? quiet_turns + 1 : 0;
  }
  const Load load = worker.session->in_flight();
  if (load != Load()) {
    Fail(
        fmt::format("client {} has all its answers, and {} tasks, {} dispatches and {} bytes are "
                    "in flight",
                    id, load.tasks, load.dispatches, load.bytes));
  }
  const ClientFigures figures = worker.session->Figures();
  const Mirror& mirror = client.peer->mirror();
  auto check = [&](const char* what, uint64_t is, uint64_t should_be) {
    if (is != should_be) Fail(fmt::format("client {} has {} {}, not {}", id, is, what, should_be));
  };
  check("contexts", figures.contexts, mirror.contexts().size());
  check("tensors", figures.tensors, mirror.tensors().size());
  check("graphs", figures.graphs, mirror.graphs().size());
  check("bindings", figures.bindings, mirror.bindings().size());
  check("dispatches", figures.dispatches, mirror.dispatches());
  check("dispatches in flight", figures.dispatches_in_flight, 0);
  if (client.peer->done()) check("bytes of device memory", figures.device_bytes, 0);
  return true;
}

bool World::Flood(uint32_t id, Client& client, Worker& worker) {
  const Load wanted = client.peer->Flood();
  if (!StepMany(worker, kTurnsToTakeAll)) return false;
  const Load load = worker.session->in_flight();
  if (load != wanted) {
    Fail(
        fmt::format("client {} floods, and {} tasks, {} dispatches and {} bytes are in flight, "
                    "not {}, {} and {}",
                    id, load.tasks, load.dispatches, load.bytes, wanted.tasks, wanted.dispatches,
                    wanted.bytes));
  }
  tally_.tasks += load.tasks >= limits::kTasksInFlightMax ? 1 : 0;
  tally_.dispatches += load.dispatches >= client.quota.dispatches_in_flight ? 1 : 0;
  tally_.bytes += load.bytes >= client.quota.bytes_in_flight ? 1 : 0;
  client.peer->FinishFlood();
  return true;
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

size_t CountDescriptors() {
  size_t count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

int Main(std::span<char*> arguments) {
  InitLog("simulation", LogLevel::kOff);
  Options options;
  uint64_t seeds = 1;
  double seconds_max = 0;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    const char* value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (name == "--forget-dead-workers") {
      options.forget_dead_workers = true;
      continue;
    }
    if (name == "--forget-to-retire") {
      options.flaw = NullFlaw::kForgetsToNotify;
      continue;
    }
    if (name == "--forget-to-submit") {
      options.flaw = NullFlaw::kDoesNotSubmit;
      continue;
    }
    ++i;
    if (name == "--seed") {
      options.seed = strtoull(value, nullptr, 10);
    } else if (name == "--seeds") {
      seeds = strtoull(value, nullptr, 10);
    } else if (name == "--seconds") {
      seconds_max = strtod(value, nullptr);
      seeds = UINT64_MAX;
    } else {
      fprintf(stderr, "simulation: the option is unknown (%s)\n", arguments[i - 1]);
      return 2;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int signal : {SIGALRM, SIGABRT, SIGSEGV}) ::signal(signal, OnDeadlySignal);
  uint64_t worlds = 0;
  Tally tally;
  const size_t descriptors = CountDescriptors();
  for (; worlds < seeds && (seconds_max == 0 || elapsed() < seconds_max); ++worlds) {
    std::optional<std::string> wrong;
    current_seed = options.seed;
    alarm(kWorldRealSecondsMax);
    {
      World world(options, tally);
      wrong = world.Run();
    }
    if (!wrong && CountDescriptors() != descriptors) wrong = "descriptors are left";
    if (wrong) {
      printf("seed %llu fails: %s\n", static_cast<unsigned long long>(options.seed),
             wrong->c_str());
      return 1;
    }
    ++options.seed;
  }
  printf("%llu worlds, %llu clients, %llu answers; %.1f s\n",
         static_cast<unsigned long long>(worlds), static_cast<unsigned long long>(tally.clients),
         static_cast<unsigned long long>(tally.answers), elapsed());
  for (const Tally::Row& row : tally.Rows()) {
    printf("%10llu times over the quota of %s\n", static_cast<unsigned long long>(row.times),
           row.quota);
    if (worlds >= kWorldsForAllQuotas && row.times == 0) {
      printf("nobody goes over the quota of %s\n", row.quota);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace webnnd::service

int main(int argc, char** argv) { return webnnd::service::Main({argv, static_cast<size_t>(argc)}); }
