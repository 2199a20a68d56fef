// KernelCache: what the driver has compiled, kept from worker to worker.
#ifndef WEBNND_SERVICE_BROKER_KERNEL_CACHE_H_
#define WEBNND_SERVICE_BROKER_KERNEL_CACHE_H_

#include <cstdint>
#include <deque>
#include <map>
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

// A worker gets an image of compiled kernels, to read, and names kernels that are not in it. It may
// have been taken over, so none of its code goes into the image: a process that never meets a
// client compiles those kernels, and its image takes the place of the last. A worker that wants
// several kernels fetches them: it waits for that image. What was compiled elsewhere meanwhile is
// compiled for the image at a low priority. Daemons of one user share a directory. Times are
// milliseconds of a monotonic clock.
class KernelCache {
 public:
  // Makes the directory where it is missing. An error where others may write to it.
  static Result<KernelCache> Open(std::string directory);
  ~KernelCache() { StopCompiler(); }
  KernelCache(KernelCache&&) = default;
  KernelCache& operator=(KernelCache&&) = delete;

  // For a worker that is started; invalid: there is none.
  UniqueFd OpenImage() const;
  // With the image a worker does not start: the next is made anew.
  void DropImage();

  // The worker has named it. What was heard of before is forgotten, and what is too much.
  void Add(uint32_t worker, const CompiledKernel& kernel, int64_t now_ms);
  // The worker waits for those it has named.
  void Fetch(uint32_t worker, uint32_t sequence, int64_t now_ms);
  struct Answer {
    uint32_t worker;
    uint32_t sequence;
  };
  // Fetches for which nothing (more) is compiled: the image is what there is. To be called after
  // StartCompiler(). Who would have to wait for what others have named, for another daemon, or for
  // the end of a pause, is answered at once.
  std::vector<Answer> TakeAnswers();

  // When StartCompiler() or KillLateCompiler() has something to do; INT64_MAX: not without an
  // event.
  int64_t deadline_ms() const;
  // Whether there is something to compile, and nobody at it.
  bool is_due(int64_t now_ms) const { return !compiler_ && now_ms >= start_ms_; }
  // For devices as `worker` names them. Its pidfd is to be watched, if there is one: another daemon
  // may be at it just now.
  void StartCompiler(WorkerOptions worker, int64_t now_ms);
  int pidfd() const { return compiler_ ? compiler_->pidfd.get() : -1; }
  // It has ended. True: the image is new.
  bool OnCompilerEnd(int64_t now_ms);
  // Ends one that takes too long.
  void KillLateCompiler(int64_t now_ms);
  // Ends it at once; what it was at is compiled later.
  void GiveUpCompiler(int64_t now_ms);

 private:
  struct Waiting {
    uint32_t worker;  // That has named it.
    CompiledKernel kernel;
  };

  KernelCache(std::string directory, UniqueFd handle)
      : directory_(std::move(directory)), handle_(std::move(handle)) {}
  Status Start(WorkerOptions worker, int64_t now_ms);
  // How many of those that wait are compiled at once.
  size_t BatchSize() const;
  // Whether the compiler is at what the worker has named, and at nobody else's before that.
  bool IsAtKernelsOf(uint32_t worker) const;
  void StopCompiler();
  // Longer for each failure in a row.
  void Pause(int64_t now_ms);
  void OnFailure(int64_t now_ms, const std::string& why);

  std::string directory_;
  UniqueFd handle_;  // Of the directory; locked while a compiler runs.
  std::deque<Waiting> waiting_;
  // Of those, at the front, so many are compiled by themselves: one of them ended a compiler.
  size_t suspects_ = 0;
  // What the compiler is at.
  std::vector<Waiting> batch_;
  // Waiting, compiled or given up.
  std::set<CompiledKernel> seen_;
  int64_t start_ms_ = INT64_MAX;
  int64_t not_before_ms_ = 0;
  int failures_ = 0;  // In a row.
  // Of each worker the last that has no answer.
  std::map<uint32_t, uint32_t> fetches_;
  std::optional<SpawnedProcess> compiler_;
  int64_t kill_ms_ = INT64_MAX;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_KERNEL_CACHE_H_
