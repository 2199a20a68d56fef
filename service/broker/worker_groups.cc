#include "service/broker/worker_groups.h"

#include <fcntl.h>
#include <mntent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>

#include "base/fault.h"
#include "base/unique_fd.h"

namespace webnnd::service {
namespace {

using fault::Kind;

// How often, and after which pause, groups whose processes are just gone are tried to be removed.
constexpr int kRemoveAttempts = 50;
constexpr useconds_t kRemovePauseUs = 2000;

std::optional<std::string> MountOfGroups() {
  FILE* mounts = setmntent("/proc/self/mounts", "re");
  if (mounts == nullptr) return std::nullopt;
  std::optional<std::string> path;
  while (const mntent* entry = getmntent(mounts)) {
    if (std::string_view(entry->mnt_type) == "cgroup2") path = entry->mnt_dir;
  }
  endmntent(mounts);
  return path;
}

Result<std::string> OwnGroup() {
  const std::optional<std::string> mount = MountOfGroups();
  INVALID_IF(!mount, "control groups of version 2 are not mounted");
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string path = line.substr(3);
    // It is nobody's in particular.
    INVALID_IF(path == "/", "the daemon is in the root of control groups");
    return *mount + path;
  }
  return InternalError("the daemon is in no control group of version 2");
}

Status Write(const std::string& path, const std::string& text) {
  UniqueFd file(SYS_CALL(Kind::kDescriptor, open(path.c_str(), O_WRONLY | O_CLOEXEC)));
  if (!file.valid() || SYS_CALL(Kind::kFile, write(file.get(), text.data(), text.size())) !=
                           static_cast<ssize_t>(text.size())) {
    return ErrnoError(fmt::format("writing {} to {}", text, path));
  }
  return {};
}

Status Make(const std::string& group) {
  if (SYS_CALL(Kind::kFile, mkdir(group.c_str(), 0755)) != 0 && errno != EEXIST) {
    return ErrnoError(fmt::format("making {}", group));
  }
  return {};
}

Status Join(const std::string& group, pid_t pid) {
  return Write(group + "/cgroup.procs", fmt::format("{}", pid));
}

}  // namespace

Result<WorkerGroups> WorkerGroups::Create(std::string_view controller) {
  ASSIGN_OR_RETURN(std::string directory, OwnGroup());
  // A group with processes of its own can share nothing out.
  const std::string own = directory + "/broker";
  TRY(Make(own));
  Status made = Join(own, getpid());
  if (made.ok() && !controller.empty()) {
    made = Write(directory + "/cgroup.subtree_control", fmt::format("+{}", controller));
  }
  if (!made.ok()) {
    (void)Join(directory, getpid()).ok();
    rmdir(own.c_str());
    return std::move(made).error();
  }
  return WorkerGroups(std::move(directory));
}

WorkerGroups::~WorkerGroups() {
  ended_.merge(made_);
  for (int attempt = 0; attempt < kRemoveAttempts && !ended_.empty(); ++attempt) {
    if (attempt > 0) usleep(kRemovePauseUs);
    RemoveEnded();
  }
}

std::string WorkerGroups::GroupOf(uint32_t worker) const {
  return fmt::format("{}/worker-{}", directory_, worker);
}

Status WorkerGroups::Add(uint32_t worker, pid_t pid) {
  RemoveEnded();
  const std::string group = GroupOf(worker);
  TRY(Make(group));
  made_.insert(worker);
  return Join(group, pid);
}

void WorkerGroups::Remove(uint32_t worker) {
  if (made_.erase(worker) > 0) ended_.insert(worker);
  RemoveEnded();
}

void WorkerGroups::RemoveEnded() {
  std::erase_if(ended_, [this](uint32_t worker) {
    return rmdir(GroupOf(worker).c_str()) == 0 || errno != EBUSY;
  });
}

}  // namespace webnnd::service
