// What `webnnd stats` shows: the broker's own state, and what workers say of their clients.
#ifndef WEBNND_SERVICE_BROKER_STATS_H_
#define WEBNND_SERVICE_BROKER_STATS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "service/broker/worker_pool.h"

namespace webnnd::service {

// Who is at the other end of a client's connection, as the kernel attests.
struct Peer {
  pid_t pid = -1;
  uid_t uid = 0;
  int64_t since_ms = 0;  // Of the monotonic clock, when it was accepted.
};

struct Stats {
  struct Worker {
    uint32_t id;
    pid_t pid;
    WorkerPool::State state;
    uint64_t resident_bytes;
  };
  struct Client {
    WorkerPool::ServedClient served;
    Peer peer;
    pid_t worker_pid;
    int64_t age_ms;
  };

  pid_t pid = -1;
  int64_t age_ms = 0;
  bool shared = false;
  size_t waiting = 0;
  WorkerPool::Counters counters;
  std::vector<Worker> workers;
  std::vector<Client> clients;
};

// One line of JSON, with its end. Numbers and fixed words alone: nothing in it needs escaping.
std::string ToJson(const Stats& stats);

// The memory of a process that is resident; 0 when it is gone.
uint64_t ResidentBytes(pid_t pid);

// What the machine, and the control group that this process is in, still have. `root` is "" but in
// tests. UINT64_MAX when the kernel does not say.
uint64_t AvailableMemoryBytes(const std::string& root = "");

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_STATS_H_
