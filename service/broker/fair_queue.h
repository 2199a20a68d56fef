// FairQueue: the clients that wait for a worker, and whose turn it is.
#ifndef WEBNND_SERVICE_BROKER_FAIR_QUEUE_H_
#define WEBNND_SERVICE_BROKER_FAIR_QUEUE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"

namespace webnnd::service {

// Clients count by the process that connected them, so that one process, however many connections
// it makes, keeps no other out: processes take turns, one client each; a process of which nobody is
// served comes before those that have somebody; and where there is no place left, the process that
// has most clients waiting gives one up.
//
// Knows of clients from Add until OnLeft, so also of those that are served. Makes no system call.
class FairQueue {
 public:
  struct Options {
    size_t waiting_max;
    size_t waiting_per_process_max;
    size_t served_per_process_max;
  };
  struct Refusal {
    uint32_t client;
    Error why;
  };

  explicit FairQueue(const Options& options) : options_(options) {}

  // The client waits; or it, or another in its favour, does not wait any more.
  std::optional<Refusal> Add(uint32_t client, pid_t process);
  // Whose turn it is among those that may be served; none when there is nobody.
  std::optional<uint32_t> Next() const;
  // A client that waits is served from here on.
  void OnServed(uint32_t client);
  // The client, which waits or is served, is gone. False: there is none such.
  bool OnLeft(uint32_t client);
  bool IsWaiting(uint32_t client) const;
  // All that wait go.
  std::vector<uint32_t> TakeWaiting();

  // How many wait.
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Of those, how many might be served at once, were there workers enough.
  size_t servable() const;
  // Processes that wait and of which nobody is served.
  size_t newcomers() const;

 private:
  struct Process {
    std::deque<uint32_t> waiting;
    size_t served = 0;
    // Lower comes first.
    uint64_t turn = 0;
  };
  struct Client {
    pid_t process;
    bool served = false;
  };

  bool MayBeServed(const Process& process) const;
  // Takes the client that waits out of its process's line.
  void Unqueue(uint32_t client, pid_t process);
  void ForgetIfIdle(pid_t process);

  const Options options_;
  // Those of which somebody waits or is served.
  std::map<pid_t, Process> processes_;
  std::map<uint32_t, Client> clients_;
  size_t size_ = 0;
  uint64_t last_turn_ = 0;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_FAIR_QUEUE_H_
