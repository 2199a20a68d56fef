// `webnnd stats`: asks a daemon for its figures, and prints them.
#ifndef WEBNND_SERVICE_STATS_COMMAND_H_
#define WEBNND_SERVICE_STATS_COMMAND_H_

#include <span>
#include <string>

#include "base/result.h"

namespace webnnd::service {

// Where a daemon that listens at `socket_path` answers.
std::string StatsPathOf(const std::string& socket_path);

// What to print for the arguments after `stats`. NotSupported when no daemon answers.
Result<std::string> RunStats(std::span<const std::string> arguments);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_STATS_COMMAND_H_
