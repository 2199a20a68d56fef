// KernelCache: what the driver has compiled, kept from worker to worker.
#ifndef WEBNND_SERVICE_BROKER_KERNEL_CACHE_H_
#define WEBNND_SERVICE_BROKER_KERNEL_CACHE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/compiled_kernel.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "service/sandbox/spawn.h"
#include "service/worker/worker_options.h"

namespace webnnd::service {

// A worker gets an image of compiled kernels, to read, and tells of kernels that it had to compile.
// It may have been taken over, so none of its code goes into the image: a process that never meets
// a client compiles those kernels again, in idle time, and its image takes the place of the last.
// Daemons of one user share a directory. Times are milliseconds of a monotonic clock.
class KernelCache {
 public:
  // Makes the directory where it is missing. An error where others may write to it.
  static Result<KernelCache> Open(const std::string& directory);
  ~KernelCache() { Stop(); }
  KernelCache(KernelCache&&) = default;
  KernelCache& operator=(KernelCache&&) = default;

  // For a worker that is started; invalid: there is none.
  UniqueFd OpenImage() const;

  // A worker has compiled it. What was heard of before is forgotten, and what is too much.
  void Add(const CompiledKernel& kernel, int64_t now_ms);

  // When StartCompiler() or KillCompiler() has something to do; INT64_MAX: not without an event.
  int64_t deadline_ms() const;
  // Whether there is something to compile, and nobody at it.
  bool is_due(int64_t now_ms) const { return !compiler_ && now_ms >= start_ms_; }
  // For devices as `worker` names them. Its pidfd is to be watched, if there is one: another daemon
  // may be at it just now.
  void StartCompiler(WorkerOptions worker, int64_t now_ms);
  int pidfd() const { return compiler_ ? compiler_->pidfd.get() : -1; }
  // It has ended. True: the image is new, and nothing more waits to be added.
  bool OnCompilerEnd(int64_t now_ms);
  // Ends one that takes too long.
  void KillLateCompiler(int64_t now_ms);
  // Ends it at once.
  void Stop();

 private:
  KernelCache(std::string directory, UniqueFd handle)
      : directory_(std::move(directory)), handle_(std::move(handle)) {}
  Status Start(WorkerOptions worker, int64_t now_ms);
  void StartLater(int64_t when_ms);

  std::string directory_;
  UniqueFd handle_;  // Of the directory; locked while a compiler runs.
  std::deque<CompiledKernel> waiting_;
  // Waiting, compiled or given up.
  std::set<CompiledKernel> seen_;
  int64_t start_ms_ = INT64_MAX;
  std::optional<SpawnedProcess> compiler_;
  int64_t kill_ms_ = INT64_MAX;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_KERNEL_CACHE_H_
