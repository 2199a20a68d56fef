// World: the broker's decisions, and workers' sessions, under random clients.
#ifndef WEBNND_TESTS_SIMULATION_WORLD_H_
#define WEBNND_TESTS_SIMULATION_WORLD_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "base/quota.h"
#include "ipc/channel.h"
#include "service/broker/worker_pool.h"
#include "service/worker/control_message.h"
#include "tests/simulation/null_device.h"
#include "tests/simulation/peer.h"
#include "tests/simulation/served_session.h"
#include "tests/simulation/tally.h"

namespace webnnd::service {

struct WorldOptions {
  uint64_t seed = 1;
  bool forget_dead_workers = false;
  NullFlaw flaw = NullFlaw::kNone;
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
  // What happens is added to the tally.
  World(const WorldOptions& options, Tally& tally)
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
  // Whose turn it is, for who must say so without the world.
  static uint32_t current_client() { return current_client_; }

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
    std::unique_ptr<ServedSession> session;  // nullptr while it has no client.
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
  bool WorkerTurn(ServedSession& session);
  // What must hold after its turn.
  bool CheckSession(Client& client, ServedSession& session);
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

  static std::atomic<uint32_t> current_client_;

  const WorldOptions options_;
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

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SIMULATION_WORLD_H_
