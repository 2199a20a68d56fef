#include "service/stats_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/unique_fd.h"

namespace webnnd::service {
namespace {

// The broker answers within one turn of its loop.
constexpr int kPatienceMs = 5000;
// Far more than all clients that there can be.
constexpr size_t kAnswerBytesMax = 4 << 20;

Result<std::string> Ask(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  INVALID_IF(path.size() >= sizeof address.sun_path, "the path of the socket is too long ({})",
             path);
  path.copy(address.sun_path, path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError("socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return NotSupportedError("no daemon answers ({}: {})", path, strerrordesc_np(errno));
  }
  std::string answer;
  char chunk[4096];
  while (answer.size() < kAnswerBytesMax) {
    pollfd wait{fd.get(), POLLIN, 0};
    if (poll(&wait, 1, kPatienceMs) != 1) {
      return NotSupportedError("the daemon does not answer in time ({})", path);
    }
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got < 0) return ErrnoError("reading the daemon's answer");
    if (got == 0) return answer;
    answer.append(chunk, static_cast<size_t>(got));
  }
  return InternalError("the daemon's answer is too long ({} bytes)", answer.size());
}

std::string Table(const nlohmann::json& stats) {
  const nlohmann::json& broker = stats.at("broker");
  auto number = [](const nlohmann::json& of, const char* name) {
    return of.at(name).get<uint64_t>();
  };
  std::string text = fmt::format(
      "webnnd {}  up {:.0f} s  isolation {}\n"
      "workers  {} serving, {} ready, {} starting; {} started, {} failed\n"
      "clients  {} served so far, {} waiting, {} turned away\n",
      number(broker, "pid"), static_cast<double>(number(broker, "ageMs")) / 1000,
      broker.at("isolation").get<std::string>(), number(broker, "workersServing"),
      number(broker, "workersReady"), number(broker, "workersStarting"),
      number(broker, "workersStarted"), number(broker, "workersFailed"),
      number(broker, "clientsServed"), number(broker, "clientsWaiting"),
      number(broker, "clientsTurnedAway"));
  if (stats.at("clients").empty()) return text;
  fmt::format_to(std::back_inserter(text),
                 "\n{:>8} {:>6} {:>8} {:>7} {:>4} {:>7} {:>6} {:>8} {:>10} {:>10} {:>6} {:>6} "
                 "{:>7} {:>9} {:>9}\n",
                 "PID", "UID", "WORKER", "AGE s", "CTX", "TENSORS", "GRAPHS", "BINDINGS",
                 "DEVICE MB", "DISPATCHES", "FLIGHT", "FAILED", "STOPPED", "MEDIAN us", "95 % us");
  for (const nlohmann::json& client : stats.at("clients")) {
    const nlohmann::json& dispatches = client.at("dispatches");
    const nlohmann::json& latency = client.at("latencyUs");
    fmt::format_to(
        std::back_inserter(text),
        "{:>8} {:>6} {:>8} {:>7.0f} {:>4} {:>7} {:>6} {:>8} {:>10.1f} {:>10} {:>6} "
        "{:>6} {:>7} {:>9} {:>9}\n",
        client.at("pid").get<int64_t>(), number(client, "uid"), number(client, "workerPid"),
        static_cast<double>(number(client, "ageMs")) / 1000, number(client, "contexts"),
        number(client, "tensors"), number(client, "graphs"), number(client, "bindings"),
        static_cast<double>(number(client, "deviceBytes")) / 1e6, number(dispatches, "accepted"),
        number(dispatches, "inFlight"), number(dispatches, "failed"), number(dispatches, "stopped"),
        number(latency, "median"), number(latency, "p95"));
  }
  return text;
}

}  // namespace

std::string StatsPathOf(const std::string& socket_path) { return socket_path + ".stats"; }

Result<std::string> RunStats(std::span<const std::string> arguments) {
  std::string socket_path;
  bool json = false;
  for (size_t at = 0; at < arguments.size(); ++at) {
    if (arguments[at] == "--json") {
      json = true;
      continue;
    }
    INVALID_IF(arguments[at] != "--socket", "the option is unknown ({}); see --help",
               arguments[at]);
    INVALID_IF(at + 1 >= arguments.size(), "the option needs a value ({})", arguments[at]);
    socket_path = arguments[++at];
  }
  INVALID_IF(socket_path.empty(), "stats needs --socket PATH");
  ASSIGN_OR_RETURN(std::string answer, Ask(StatsPathOf(socket_path)));
  const nlohmann::json stats = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (stats.is_discarded()) return InternalError("the daemon's answer is no JSON ({})", answer);
  return json ? stats.dump(2) + "\n" : Table(stats);
}

}  // namespace webnnd::service
