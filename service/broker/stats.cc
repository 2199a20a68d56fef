#include "service/broker/stats.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

namespace webnnd::service {
namespace {

std::string_view StateName(WorkerPool::State state) {
  switch (state) {
    case WorkerPool::State::kStarting:
      return "starting";
    case WorkerPool::State::kReady:
      return "ready";
    case WorkerPool::State::kServing:
      return "serving";
    case WorkerPool::State::kDying:
      return "dying";
  }
  return "unknown";
}

template <class Item, class Append>
std::string List(const std::vector<Item>& items, Append append) {
  std::string list = "[";
  for (const Item& item : items) {
    if (list.size() > 1) list += ',';
    append(list, item);
  }
  return list + ']';
}

void AppendWorker(std::string& json, const Stats::Worker& worker) {
  fmt::format_to(std::back_inserter(json),
                 R"({{"worker":{},"pid":{},"state":"{}","residentBytes":{}}})", worker.id,
                 worker.pid, StateName(worker.state), worker.resident_bytes);
}

void AppendClient(std::string& json, const Stats::Client& client) {
  const ClientFigures& figures = client.served.figures;
  fmt::format_to(std::back_inserter(json),
                 R"({{"client":{},"pid":{},"uid":{},"worker":{},"workerPid":{},"ageMs":{},)",
                 client.served.client, client.peer.pid, client.peer.uid, client.served.worker,
                 client.worker_pid, client.age_ms);
  fmt::format_to(std::back_inserter(json),
                 R"("contexts":{},"tensors":{},"graphs":{},"bindings":{},"deviceBytes":{},)",
                 figures.contexts, figures.tensors, figures.graphs, figures.bindings,
                 figures.device_bytes);
  fmt::format_to(std::back_inserter(json),
                 R"("dispatches":{{"accepted":{},"inFlight":{},"failed":{},"stopped":{}}},)"
                 R"("latencyUs":{{"median":{},"p95":{}}}}})",
                 figures.dispatches, figures.dispatches_in_flight, figures.dispatches_failed,
                 figures.dispatches_stopped, figures.latency_median_us, figures.latency_p95_us);
}

std::optional<uint64_t> FirstNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::optional<uint64_t> MemAvailable(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  uint64_t kibibytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

// The path of our control group (version 2) below /sys/fs/cgroup.
std::string ControlGroup(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "";
}

}  // namespace

std::string ToJson(const Stats& stats) {
  auto count = [&](WorkerPool::State state) {
    return std::count_if(stats.workers.begin(), stats.workers.end(),
                         [&](const Stats::Worker& worker) { return worker.state == state; });
  };
  std::string json = fmt::format(R"({{"broker":{{"pid":{},"ageMs":{},"isolation":"{}",)", stats.pid,
                                 stats.age_ms, stats.shared ? "shared" : "process");
  fmt::format_to(std::back_inserter(json),
                 R"("workersServing":{},"workersReady":{},"workersStarting":{},)"
                 R"("workersStarted":{},"workersFailed":{},)",
                 count(WorkerPool::State::kServing), count(WorkerPool::State::kReady),
                 count(WorkerPool::State::kStarting), stats.counters.workers_started,
                 stats.counters.workers_failed);
  fmt::format_to(std::back_inserter(json),
                 R"("clientsWaiting":{},"clientsServed":{},"clientsTurnedAway":{}}},)",
                 stats.waiting, stats.counters.clients_served, stats.counters.clients_turned_away);
  return json + "\"workers\":" + List(stats.workers, AppendWorker) +
         ",\"clients\":" + List(stats.clients, AppendClient) + "}\n";
}

uint64_t ResidentBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  uint64_t size = 0, resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t AvailableMemoryBytes(const std::string& root) {
  uint64_t available = MemAvailable(root + "/proc/meminfo").value_or(UINT64_MAX);
  // The limit of any group above ours holds too.
  for (std::string group = ControlGroup(root); group.size() > 1;
       group.resize(std::min(group.rfind('/'), group.size()))) {
    const std::string directory = root + "/sys/fs/cgroup" + group;
    const std::optional<uint64_t> most = FirstNumber(directory + "/memory.max");
    const std::optional<uint64_t> used = FirstNumber(directory + "/memory.current");
    if (most && used) available = std::min(available, *most > *used ? *most - *used : 0);
  }
  return available;
}

}  // namespace webnnd::service
