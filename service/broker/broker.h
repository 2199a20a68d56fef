// The daemon's parent process: takes connections and gives each a worker of its own.
#ifndef WEBNND_SERVICE_BROKER_BROKER_H_
#define WEBNND_SERVICE_BROKER_BROKER_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "service/broker/worker_pool.h"
#include "service/worker/worker_options.h"

namespace webnnd::service {

struct BrokerOptions {
  // Listens here; empty: only on the descriptors below.
  std::string socket_path;
  // Answers every connection here with one line of JSON (stats.h), and closes it; empty: nobody
  // is told. Peer credentials are checked as for clients.
  std::string stats_path;
  // Each worker writes worker-ID.json there, a trace for Perfetto; empty: none. Made when missing.
  std::string trace_directory;
  // How many workers may have clients; the clients beyond wait for their turn, as they do while
  // memory is short.
  size_t workers_max = limits::kWorkersMax;
  // What clients of one process may have of that (WorkerPool::Options).
  std::optional<size_t> served_per_process_max;
  size_t waiting_per_process_max = limits::kClientsWaitingPerProcessMax;
  // What a client that is turned away is sent before its connection is closed; absent: nothing.
  std::function<std::vector<std::byte>(std::string_view reason)> farewell;
  // Clients already connected (`--fd`, systemd with Accept=yes). Whoever handed them over vouches
  // for them.
  std::vector<UniqueFd> connected;
  // Sockets that others bound (`--fd`, systemd). Peer credentials are checked on what they accept.
  std::vector<UniqueFd> listening;
  // Keeps one worker started, sandboxed and with its devices open, so that connecting does not
  // wait. Only when there is something to listen on.
  bool warm_spare = true;
  // Each worker gets a control group of its own, of which this controller shares time out, "cpu",
  // or none, empty; absent: it stays in the daemon's. Where that fails the log says so, and no
  // more.
  std::optional<std::string> group_controller;
  // Where what drivers compile is kept from worker to worker (kernel_cache.h); empty: nowhere, as
  // without a sandbox. Where it cannot be used the log says so, and no more.
  std::string kernel_cache_directory;
  // What every worker is told; `id`, descriptors and `kernel_cache` are filled in.
  WorkerOptions worker;
};

// Serves until SIGTERM or SIGINT, or, with nothing to listen on, until the last client has left.
// Then kills the workers and removes the socket. Never reads a byte of a client's.
//
// An error when it cannot listen, or when no worker has ever become ready after
// kWorkerStartAttempts: where the sandbox does not work, there is no service. The calling process
// must have one thread and a `worker` sub-command, and must not have children that it waits for.
Status RunBroker(BrokerOptions options);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_BROKER_H_
