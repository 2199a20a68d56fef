// What the broker tells a worker on its command line.
#ifndef WEBNND_SERVICE_WORKER_WORKER_OPTIONS_H_
#define WEBNND_SERVICE_WORKER_WORKER_OPTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quota.h"
#include "base/result.h"
#include "service/sandbox/policy.h"

namespace webnnd::service {

struct WorkerOptions {
  // Counts the workers of a broker; stands in the log.
  uint32_t id = 0;
  int control_fd = -1;
  bool no_sandbox = false;
  // The driver keeps compiled kernels, and the broker is told which it has not.
  bool kernel_cache = false;
  // An image of those there are; -1: none.
  int kernel_image_fd = -1;
  SandboxProfile profile = DefaultSandboxProfile();
  // Adapters to open, by index; empty means all.
  std::vector<uint32_t> devices;
  // Vulkan validation layers on.
  bool validation = false;
  // One worker for all clients, in place of one each.
  bool shared = false;
  // Device features to do without, to test the paths for lesser devices.
  std::vector<std::string> disabled_features;
  // Of its client.
  Quota quota;
};

// Takes the option at arguments[at], and its value, when it is one that `serve` and `worker` share;
// returns how many arguments it took (0: it is none of ours).
Result<size_t> ParseCommonOption(std::span<const std::string> arguments, size_t at,
                                 WorkerOptions& options);

// The arguments after `webnnd worker`, and back.
std::vector<std::string> ToArguments(const WorkerOptions& options);
// `with_control`: an end of a line to the broker must be among them.
Result<WorkerOptions> ParseWorkerOptions(std::span<const std::string> arguments,
                                         bool with_control = true);

// The value of the option at arguments[at].
Result<std::string> ValueOf(std::span<const std::string> arguments, size_t at);

// A whole number in `text`, at most `max`. `option` is named in the error.
Result<uint32_t> ParseNumber(std::string_view option, std::string_view text, uint32_t max);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_WORKER_OPTIONS_H_
