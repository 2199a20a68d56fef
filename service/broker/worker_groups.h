// WorkerGroups: a control group (version 2) for each worker.
#ifndef WEBNND_SERVICE_BROKER_WORKER_GROUPS_H_
#define WEBNND_SERVICE_BROKER_WORKER_GROUPS_H_

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace webnnd::service {

// Where the daemon's own control group has a share of the processor, the kernel no longer shares
// time between sessions: it does so between groups, and so each worker gets one.
class WorkerGroups {
 public:
  // Makes the calling process's group, in which nobody else may be, the parent of groups that share
  // `controller` out ("cpu"; empty, in tests: nothing), and moves the process to the first of them.
  // An error, and nothing has changed: the group is not delegated to us, or has other processes.
  static Result<WorkerGroups> Create(std::string_view controller);

  WorkerGroups(WorkerGroups&& other) noexcept
      : directory_(std::move(other.directory_)), made_(std::exchange(other.made_, {})) {}
  WorkerGroups& operator=(WorkerGroups&& other) = delete;
  // The workers have ended.
  ~WorkerGroups();

  // Moves a worker to a group of its own.
  Status Add(uint32_t worker, pid_t pid);
  // The worker has ended.
  void Remove(uint32_t worker);

 private:
  explicit WorkerGroups(std::string directory) : directory_(std::move(directory)) {}

  std::string GroupOf(uint32_t worker) const;
  void RemoveEnded();

  std::string directory_;
  std::set<uint32_t> made_;
  // Of these the kernel may still be about to let the processes go.
  std::set<uint32_t> ended_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_WORKER_GROUPS_H_
