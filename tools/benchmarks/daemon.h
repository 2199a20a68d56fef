// A daemon of the benchmark's own, on a socket in a temporary directory.
#ifndef WEBNND_TOOLS_BENCHMARKS_DAEMON_H_
#define WEBNND_TOOLS_BENCHMARKS_DAEMON_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace webnnd::benchmarks {

struct MemoryUse {
  uint64_t resident_bytes = 0;      // Pages in memory, shared ones counted whole.
  uint64_t peak_bytes = 0;          // The most that was resident at a time.
  uint64_t proportional_bytes = 0;  // Shared pages divided by their users; 0 where not readable.
};

class Daemon {
 public:
  // Starts `webnnd serve --socket ... ARGUMENTS` and waits until it listens. No kernel is cached.
  static Result<Daemon> Start(const std::string& program, std::vector<std::string> arguments);
  // One that caches kernels, of which there is none yet.
  static Result<Daemon> StartWithKernelCache(const std::string& program);
  Daemon(Daemon&& other) noexcept;
  Daemon& operator=(Daemon&&) = delete;
  ~Daemon();

  const std::string& socket() const { return socket_; }
  pid_t broker() const { return pid_; }
  // Children of the broker.
  std::vector<pid_t> Workers() const;
  // Until all that its workers have compiled is cached; false: that takes too long.
  bool AwaitKernels() const;

 private:
  Daemon(pid_t pid, std::string directory);
  static Result<Daemon> StartIn(const std::string& directory, const std::string& program,
                                std::vector<std::string> arguments);
  std::string kernel_cache() const { return directory_ + "/cache"; }

  pid_t pid_;
  std::string directory_;
  std::string socket_;
};

MemoryUse ReadMemoryUse(pid_t pid);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_DAEMON_H_
