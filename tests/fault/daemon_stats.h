// What a daemon says of itself at PATH.stats.
#ifndef WEBNND_TESTS_FAULT_DAEMON_STATS_H_
#define WEBNND_TESTS_FAULT_DAEMON_STATS_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/unique_fd.h"

namespace webnnd {

inline UniqueFd ConnectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return UniqueFd();
  }
  return fd;
}

// Discarded when nobody answers.
inline nlohmann::json StatsAt(const std::string& socket) {
  UniqueFd fd = ConnectTo(socket + ".stats");
  std::string text;
  char chunk[4096];
  for (ssize_t got; fd.valid() && (got = read(fd.get(), chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<size_t>(got));
  }
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// The worker of the client that process `pid` has made last; -1 when there is none.
inline pid_t LastWorkerOf(const std::string& socket, pid_t pid) {
  pid_t worker = -1;
  uint64_t last = 0;
  const nlohmann::json stats = StatsAt(socket);
  for (const auto& client : stats.at("clients")) {
    if (client["pid"] != pid || client["client"] < last) continue;
    last = client["client"];
    worker = client["workerPid"];
  }
  return worker;
}

}  // namespace webnnd

#endif  // WEBNND_TESTS_FAULT_DAEMON_STATS_H_
