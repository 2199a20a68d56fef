// The broker's decisions, and the workers' sessions on a device that computes nothing, under random
// clients: one thread, a clock of its own, no process. Everything follows from a seed.
//
// simulation [--seed N] [--seeds COUNT] [--seconds S] [--forget-dead-workers]
//
// Runs the seeds N, N + 1, ...; a seed that fails is named, and runs alike again. The last option
// breaks the world on purpose, to see that it is noticed.
#include <dirent.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
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
// A client's device memory: what a peer needs, and less than it asks for when it asks for too much.
constexpr uint64_t kDeviceBytesMax = 1 << 20;
// By then the last one that is slow to start has been killed, and its successors serve.
constexpr int64_t kSettleMs = 3 * limits::kWorkerStartMaxMs;

struct Options {
  uint64_t seed = 1;
  bool forget_dead_workers = false;
};

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
  explicit World(const Options& options)
      : options_(options),
        random_(options.seed),
        workers_max_(static_cast<size_t>(random_.Between(1, 12))),
        waiting_max_(static_cast<size_t>(random_.Between(1, 12))),
        warm_spare_(random_.OneIn(2)),
        // Most worlds are sound; in some nothing works for long.
        trouble_one_in_(random_.OneIn(4) ? 2 : random_.Between(4, 40)),
        pool_({.warm_spare = warm_spare_, .workers_max = workers_max_, .waiting_max = waiting_max_},
              *this) {}

  // What was wrong; nothing when all held.
  std::optional<std::string> Run();
  size_t client_count() const { return clients_.size(); }
  size_t answer_count() const { return answers_; }

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
    uint32_t worker = 0;
    bool left = false;  // It has closed its end.
    bool misbehaved = false;
    std::unique_ptr<Peer> peer;                  // nullptr once it is over.
    std::unique_ptr<ipc::Channel> service_side;  // While it waits.

    bool listens() const { return !left && kind != Kind::kSilent; }
    bool comes_back() const { return !left && (kind == Kind::kGood || kind == Kind::kSlow); }
  };

  // --- What the pool wants.
  Status Start(uint32_t id) override;
  void Ping(uint32_t id, uint32_t sequence) override;
  Status Serve(uint32_t id, uint32_t client) override;
  void Kill(uint32_t id) override;
  void TurnAway(uint32_t client, const Status& why) override;

  void At(int64_t delay_ms, std::function<void()> event) {
    events_.emplace(now_ms_ + delay_ms, std::move(event));
  }
  void Say(uint32_t id, ControlType type, uint32_t sequence = 0);
  void End(uint32_t id);
  void Misbehave(uint32_t id);
  void Connect(Kind kind, int rounds);
  void ComeBack(int64_t delay_ms, int rounds);
  void Leave(uint32_t id);
  // Both sides of a session do a little, again and again until it is over.
  void Turn(uint32_t id);
  // false: the session has ended by itself.
  bool WorkerTurn(Worker& worker);
  void Over(uint32_t id);
  void Advance();
  std::optional<std::string> Check() const;
  std::optional<std::string> CheckWorker(uint32_t id, const Worker& worker) const;
  std::optional<std::string> CheckEnd() const;
  bool AllClientsAreDone() const;

  void Fail(std::string what) {
    if (!failure_) failure_ = std::move(what);
  }

  const Options options_;
  Random random_;
  const size_t workers_max_;
  const size_t waiting_max_;
  const bool warm_spare_;
  const int64_t trouble_one_in_;
  WorkerPool pool_;
  int64_t now_ms_ = 1000;
  int64_t no_start_before_ms_ = 0;
  bool calm_ = false;  // Nothing new goes wrong.
  std::multimap<int64_t, std::function<void()>> events_;
  std::map<uint32_t, Worker> workers_;
  std::map<uint32_t, Client> clients_;
  uint32_t last_client_ = 0;
  size_t answers_ = 0;
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

void World::Ping(uint32_t id, uint32_t sequence) {
  auto found = workers_.find(id);
  if (found == workers_.end()) return Fail(fmt::format("worker {}, pinged, is no more", id));
  At(random_.Between(0, random_.OneIn(10) ? limits::kHeartbeatSilenceMaxMs - 1 : 20),
     [this, id, sequence] {
       auto found = workers_.find(id);
       if (found == workers_.end() || found->second.dead || found->second.hung) return;
       Say(id, ControlType::kPong, sequence);
     });
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
    worker.killed = true;
    if (!worker.ready) no_start_before_ms_ = now_ms_ + kPauseMsMin;
  }
  End(id);
}

// --- Clients. -----------------------------------------------------------------------------------

void World::Connect(Kind kind, int rounds) {
  const uint32_t id = ++last_client_;
  auto channels = std::move(ipc::MakeMemoryChannelPair()).value();
  Client& client = clients_[id];
  client.kind = kind;
  client.peer = std::make_unique<Peer>(
      std::move(channels.first), static_cast<uint64_t>(random_.Between(0, INT64_MAX)), rounds);
  client.service_side = std::move(channels.second);
  if (kind == Kind::kSilent && random_.OneIn(2)) client.peer->StopInTheMiddle();
  if (kind == Kind::kBrief) At(random_.Between(0, 3000), [this, id] { Leave(id); });
  if (kind == Kind::kSilent) At(random_.Between(0, 20000), [this, id] { Leave(id); });
  // Each a process of its own.
  pool_.OnClient(id, static_cast<pid_t>(id));
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
  client->second.place = Place::kServed;
  client->second.worker = id;
  worker->second.client = client_id;
  worker->second.device = std::move(Device::Open(0, {})).value();
  worker->second.session = std::move(Session::Create(std::move(client->second.service_side),
                                                     {.devices = {worker->second.device},
                                                      .quota = {.device_bytes = kDeviceBytesMax},
                                                      .has_threads = false}))
                               .value();
  At(0, [this, client_id] { Turn(client_id); });
  return {};
}

void World::Turn(uint32_t id) {
  Client& client = clients_.at(id);
  if (client.place != Place::kServed) return;
  const uint32_t worker_id = client.worker;
  Peer& peer = *client.peer;
  if (client.listens()) {
    if (client.kind == Kind::kBad && random_.OneIn(5)) {
      client.misbehaved = true;
      peer.Misbehave();
    } else if (!calm_ && random_.OneIn(10)) {
      peer.AskTooMuch();
    }
    peer.Turn(/*reads=*/client.kind != Kind::kSlow || random_.OneIn(8));
    if (peer.done()) Leave(id);
  }
  Worker& worker = workers_.at(worker_id);
  if (!worker.hung && !WorkerTurn(worker)) return End(worker_id);
  At(random_.Between(1, 300), [this, id] { Turn(id); });
}

bool World::WorkerTurn(Worker& worker) {
  for (int64_t turns = random_.Between(1, 4); turns > 0; --turns) {
    if (!worker.session->Step({}, /*timeout_ms=*/0)) return false;
    RunQueued(*worker.device, static_cast<size_t>(random_.Between(0, 30)));
  }
  return true;
}

// Its worker is gone, or it was turned away.
void World::Over(uint32_t id) {
  Client& client = clients_.at(id);
  client.place = Place::kOver;
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
  answers_ += peer.answers();
  if (client.comes_back() && !peer.done()) {
    ComeBack(random_.Between(0, 2000), peer.rounds_left());
  }
  client.peer = nullptr;
}

void World::TurnAway(uint32_t id, const Status&) {
  if (clients_.at(id).place != Place::kWaiting) {
    Fail(fmt::format("client {} is turned away late", id));
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
  for (const auto& [id, client] : clients_) {
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

bool World::AllClientsAreDone() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& entry) { return entry.second.place == Place::kOver; });
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
  int64_t moved_ms = now_ms_;  // When anybody was last helped, or the last client was done.
  size_t answers = 0;
  while (!calm_ || pending_returns_ > 0 || !AllClientsAreDone() || now_ms_ - moved_ms < kSettleMs) {
    Advance();
    if (auto wrong = Check()) return wrong;
    // The daemon ends then.
    if (pool_.hopeless()) return std::nullopt;
    if (!calm_ || pending_returns_ > 0 || answers != answers_) moved_ms = now_ms_;
    answers = answers_;
    if (now_ms_ - moved_ms > 2 * kSettleMs) return "nobody is helped any more";
    if (now_ms_ > kWorldMsMax) return "it does not come to an end";
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
  uint64_t worlds = 0, clients = 0, answers = 0;
  const size_t descriptors = CountDescriptors();
  for (; worlds < seeds && (seconds_max == 0 || elapsed() < seconds_max); ++worlds) {
    std::optional<std::string> wrong;
    {
      World world(options);
      wrong = world.Run();
      clients += world.client_count();
      answers += world.answer_count();
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
         static_cast<unsigned long long>(worlds), static_cast<unsigned long long>(clients),
         static_cast<unsigned long long>(answers), elapsed());
  return 0;
}

}  // namespace
}  // namespace webnnd::service

int main(int argc, char** argv) { return webnnd::service::Main({argv, static_cast<size_t>(argc)}); }
