#include "service/broker/kernel_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/fault.h"
#include "base/limits.h"
#include "base/log.h"
#include "service/broker/worker_process.h"
#include "service/worker/compiler.h"

namespace webnnd::service {
namespace {

using fault::Kind;

constexpr char kImage[] = "kernels";
constexpr char kNewImage[] = "kernels.new";
// Kernels of one graph come one after the other: how long none must have come.
constexpr int64_t kGatherMs = 300;
// After a failure, or while another daemon compiles.
constexpr int64_t kPauseMs = 1000;
constexpr size_t kSeenMax = 4 * limits::kKernelsWaitingMax;

}  // namespace

Result<KernelCache> KernelCache::Open(const std::string& directory) {
  std::error_code error;
  if (const auto parent = std::filesystem::path(directory).parent_path(); !parent.empty()) {
    std::filesystem::create_directories(parent, error);
  }
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoError(fmt::format("making {}", directory));
  }
  UniqueFd handle(SYS_CALL(
      Kind::kDescriptor, open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  struct stat status;
  if (!handle.valid() || fstat(handle.get(), &status) != 0) {
    return ErrnoError(fmt::format("opening {}", directory));
  }
  // Who writes there has code of his run by every worker.
  INVALID_IF(status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0,
             "others may write to the directory of the kernel cache ({})", directory);
  return KernelCache(directory, std::move(handle));
}

UniqueFd KernelCache::OpenImage() const {
  return UniqueFd(SYS_CALL(Kind::kDescriptor,
                           openat(handle_.get(), kImage, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)));
}

void KernelCache::Add(const CompiledKernel& kernel, int64_t now_ms) {
  if (waiting_.size() == limits::kKernelsWaitingMax) return;
  if (seen_.size() == kSeenMax) seen_.clear();
  if (!seen_.insert(kernel).second) return;
  waiting_.push_back(kernel);
  if (compiler_) return;
  start_ms_ = waiting_.size() < limits::kKernelsPerCompilerMax ? now_ms + kGatherMs : now_ms;
}

int64_t KernelCache::deadline_ms() const { return compiler_ ? kill_ms_ : start_ms_; }

void KernelCache::StartLater(int64_t when_ms) {
  start_ms_ = waiting_.empty() ? INT64_MAX : when_ms;
}

void KernelCache::StartCompiler(WorkerOptions worker, int64_t now_ms) {
  // Another daemon's turn.
  if (flock(handle_.get(), LOCK_EX | LOCK_NB) != 0) return StartLater(now_ms + kPauseMs);
  Status started = Start(std::move(worker), now_ms);
  if (started.ok()) return;
  LogWarning("kernels are not cached: {}", started.error().ToString());
  flock(handle_.get(), LOCK_UN);
  StartLater(now_ms + kPauseMs);
}

Status KernelCache::Start(WorkerOptions worker, int64_t now_ms) {
  UniqueFd output(
      SYS_CALL(Kind::kDescriptor,
               openat(handle_.get(), kNewImage,
                      O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)));
  if (!output.valid()) return ErrnoError(fmt::format("making {}/{}", directory_, kNewImage));
  const UniqueFd image = OpenImage();
  SpawnOptions spawn;
  spawn.arguments = {"webnnd", "compile"};
  spawn.inherited_descriptors = {output.get()};
  if (image.valid()) spawn.inherited_descriptors.push_back(image.get());
  worker.kernel_cache = true;
  worker.kernel_image_fd = image.valid() ? kInheritedDescriptor + 1 : -1;
  spawn.environment = WorkerEnvironment(worker);
  const size_t count = std::min<size_t>(waiting_.size(), limits::kKernelsPerCompilerMax);
  const CompilerOptions options{
      .worker = std::move(worker),
      .kernels = {waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count)},
      .output_fd = kInheritedDescriptor};
  for (std::string& argument : ToArguments(options)) spawn.arguments.push_back(std::move(argument));
  ASSIGN_OR_RETURN(compiler_, Spawn(spawn));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  LogInfo("{} kernels are compiled for the cache (pid {})", count, compiler_->pid);
  start_ms_ = INT64_MAX;
  kill_ms_ = now_ms + limits::kCompilerMsMax;
  return {};
}

bool KernelCache::OnCompilerEnd(int64_t now_ms) {
  if (!compiler_) return false;
  siginfo_t info;
  const bool exited = Reap(*compiler_, info) && info.si_code == CLD_EXITED;
  compiler_.reset();
  bool is_new = exited && info.si_status == kWorkerDone;
  if (is_new &&
      SYS_CALL(Kind::kFile, renameat(handle_.get(), kNewImage, handle_.get(), kImage)) != 0) {
    LogWarning("kernels are not cached: {}", ErrnoError("renameat").message());
    is_new = false;
  } else if (!is_new) {
    if (exited && info.si_status == kCompilerImageFull) {
      LogInfo("the kernel cache is full, and begins anew");
      unlinkat(handle_.get(), kImage, 0);
      seen_.clear();
    } else {
      LogWarning("kernels are not cached: the compiler ends early ({} {})",
                 exited ? "status" : "signal", info.si_status);
    }
    unlinkat(handle_.get(), kNewImage, 0);
  }
  StartLater(is_new ? now_ms : now_ms + kPauseMs);
  flock(handle_.get(), LOCK_UN);
  return is_new && waiting_.empty();
}

void KernelCache::KillLateCompiler(int64_t now_ms) {
  if (compiler_ && now_ms >= kill_ms_) {
    kill(compiler_->pid, SIGKILL);
    kill_ms_ = INT64_MAX;
  }
}

void KernelCache::Stop() {
  if (!compiler_) return;
  kill(compiler_->pid, SIGKILL);
  siginfo_t info;
  Reap(*compiler_, info);
  compiler_.reset();
  unlinkat(handle_.get(), kNewImage, 0);
}

}  // namespace webnnd::service
