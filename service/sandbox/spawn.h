// Starts this program again, in namespaces of its own.
#ifndef WEBNND_SERVICE_SANDBOX_SPAWN_H_
#define WEBNND_SERVICE_SANDBOX_SPAWN_H_

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace webnnd::service {

// Where the child finds the first descriptor that SpawnOptions names; the others follow.
inline constexpr int kInheritedDescriptor = 3;
inline constexpr size_t kInheritedDescriptorsMax = 3;

struct SpawnOptions {
  std::vector<std::string> arguments;    // argv, program name included
  std::vector<std::string> environment;  // NAME=VALUE, the whole of it
  // Become kInheritedDescriptor and those behind it, at most kInheritedDescriptorsMax. Besides them
  // the child has standard error, and /dev/null as input and output.
  std::vector<int> inherited_descriptors;
  // New user, mount, pid, net, ipc, uts and cgroup namespaces. Off: for --no-sandbox only.
  bool namespaces = true;
};

struct SpawnedProcess {
  pid_t pid = -1;
  UniqueFd pidfd;  // Readable when the process has ended. Whoever owns it reaps it.
};

// Runs /proc/self/exe. In the namespaces the child is pid 1 and uid 0, with every capability there
// and none outside; a daemon that runs as root gives it the files of nobody. Returns when the child
// has begun to execute the program, or an error that names the step.
Result<SpawnedProcess> Spawn(const SpawnOptions& options);

// Waits for the end of the process, and reaps it. False: it cannot be waited for.
bool Reap(const SpawnedProcess& process, siginfo_t& info);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SANDBOX_SPAWN_H_
