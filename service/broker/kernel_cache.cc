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
#include <string_view>

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
// While another daemon compiles. It leaves kGatherMs between one compiler and the next.
constexpr int64_t kTurnMs = 200;
// After a failure; doubled for each further one.
constexpr int64_t kPauseFirstMs = 1000;
constexpr int64_t kPauseMaxMs = 600'000;
constexpr size_t kSeenMax = 4 * limits::kKernelsWaitingMax;

std::string_view WithoutSlashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

Result<KernelCache> KernelCache::Open(std::string directory) {
  directory = WithoutSlashes(directory);
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
  return KernelCache(std::move(directory), std::move(handle));
}

UniqueFd KernelCache::OpenImage() const {
  // Not blocked by what is no file.
  UniqueFd image(
      SYS_CALL(Kind::kDescriptor,
               openat(handle_.get(), kImage, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)));
  struct stat status;
  if (image.valid() && (fstat(image.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    image.Reset();
  }
  return image;
}

void KernelCache::DropImage() {
  unlinkat(handle_.get(), kImage, 0);
  seen_.clear();
}

void KernelCache::Add(uint32_t worker, const CompiledKernel& kernel, int64_t now_ms) {
  if (waiting_.size() == limits::kKernelsWaitingMax) return;
  if (seen_.size() == kSeenMax) seen_.clear();
  if (!seen_.insert(kernel).second) return;
  waiting_.push_back({worker, kernel});
  const bool enough = waiting_.size() >= limits::kKernelsPerCompilerMax;
  start_ms_ = std::max(not_before_ms_, enough ? now_ms : now_ms + kGatherMs);
}

void KernelCache::Fetch(uint32_t worker, uint32_t sequence, int64_t now_ms) {
  fetches_[worker] = sequence;
  if (!waiting_.empty()) start_ms_ = std::max(not_before_ms_, now_ms);
}

bool KernelCache::IsAtKernelsOf(uint32_t worker) const {
  if (!compiler_) return false;
  bool is_others = false;
  size_t own = 0;
  size_t own_behind_others = 0;
  const auto count = [&](const Waiting& waiting) {
    is_others |= waiting.worker != worker;
    own += waiting.worker == worker;
    own_behind_others += is_others && waiting.worker == worker;
  };
  std::for_each(batch_.begin(), batch_.end(), count);
  std::for_each(waiting_.begin(), waiting_.end(), count);
  return own > 0 && own_behind_others == 0;
}

std::vector<KernelCache::Answer> KernelCache::TakeAnswers() {
  std::vector<Answer> answers;
  std::erase_if(fetches_, [&](const auto& fetch) {
    const auto& [worker, sequence] = fetch;
    if (IsAtKernelsOf(worker)) return false;
    answers.push_back({worker, sequence});
    return true;
  });
  return answers;
}

int64_t KernelCache::deadline_ms() const { return compiler_ ? kill_ms_ : start_ms_; }

void KernelCache::Pause(int64_t now_ms) {
  not_before_ms_ = now_ms + std::min(kPauseMaxMs, kPauseFirstMs << std::min(failures_++, 20));
}

void KernelCache::OnFailure(int64_t now_ms, const std::string& why) {
  LogWarning("kernels are not cached: {}", why);
  Pause(now_ms);
  start_ms_ = waiting_.empty() ? INT64_MAX : not_before_ms_;
}

void KernelCache::StartCompiler(WorkerOptions worker, int64_t now_ms) {
  if (flock(handle_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return OnFailure(now_ms, ErrnoError("flock").message());
    start_ms_ = now_ms + kTurnMs;
    return;
  }
  Status started = Start(std::move(worker), now_ms);
  if (started.ok()) return;
  flock(handle_.get(), LOCK_UN);
  OnFailure(now_ms, started.error().ToString());
}

size_t KernelCache::BatchSize() const {
  if (suspects_ > 0) return 1;
  const size_t most = std::min<size_t>(waiting_.size(), limits::kKernelsPerCompilerMax);
  const uint32_t first = waiting_.front().worker;
  if (!fetches_.contains(first)) return most;
  // Nobody waits for what others have named.
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(most);
  const auto is_others = [first](const Waiting& waiting) { return waiting.worker != first; };
  return static_cast<size_t>(std::find_if(waiting_.begin(), end, is_others) - waiting_.begin());
}

Status KernelCache::Start(WorkerOptions worker, int64_t now_ms) {
  // A compiler that a dead daemon has left behind writes to its own.
  unlinkat(handle_.get(), kNewImage, 0);
  const UniqueFd output(
      SYS_CALL(Kind::kDescriptor,
               openat(handle_.get(), kNewImage,
                      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)));
  if (!output.valid()) return ErrnoError(fmt::format("making {}/{}", directory_, kNewImage));
  const UniqueFd image = OpenImage();
  SpawnOptions spawn;
  spawn.arguments = {"webnnd", "compile"};
  spawn.inherited_descriptors = {output.get()};
  if (image.valid()) spawn.inherited_descriptors.push_back(image.get());
  worker.kernel_cache = true;
  worker.kernel_image_fd = image.valid() ? kInheritedDescriptor + 1 : -1;
  spawn.environment = WorkerEnvironment(worker);
  const size_t count = BatchSize();
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  CompilerOptions options{.worker = std::move(worker),
                          .gives_way = !fetches_.contains(waiting_.front().worker),
                          .output_fd = kInheritedDescriptor};
  for (auto it = waiting_.begin(); it != end; ++it) options.kernels.push_back(it->kernel);
  for (std::string& argument : ToArguments(options)) spawn.arguments.push_back(std::move(argument));
  ASSIGN_OR_RETURN(compiler_, Spawn(spawn));
  batch_.assign(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  LogInfo("{} kernels are compiled for the cache (pid {})", count, compiler_->pid);
  kill_ms_ = now_ms + limits::kCompilerMsMax;
  return {};
}

bool KernelCache::OnCompilerEnd(int64_t now_ms) {
  if (!compiler_) return false;
  siginfo_t info;
  const bool exited = Reap(*compiler_, info) && info.si_code == CLD_EXITED;
  const int status = info.si_status;
  compiler_.reset();
  if (suspects_ > 0) --suspects_;
  bool is_new = exited && status == kWorkerDone;
  if (is_new &&
      SYS_CALL(Kind::kFile, renameat(handle_.get(), kNewImage, handle_.get(), kImage)) != 0) {
    is_new = false;
    OnFailure(now_ms, ErrnoError("renameat").message());
  } else if (is_new) {
    failures_ = 0;
    const int64_t next_ms = fetches_.empty() ? std::max(start_ms_, now_ms + kGatherMs) : now_ms;
    start_ms_ = waiting_.empty() ? INT64_MAX : next_ms;
  } else if (exited && status == kCompilerImageFull) {
    LogInfo("the kernel cache is full, and begins anew");
    DropImage();
    Pause(now_ms);
    start_ms_ = waiting_.empty() ? INT64_MAX : not_before_ms_;
  } else {
    // Whichever it was, the others are compiled without it.
    if (batch_.size() > 1) {
      waiting_.insert(waiting_.begin(), batch_.begin(), batch_.end());
      suspects_ += batch_.size();
    }
    OnFailure(now_ms,
              fmt::format("the compiler ends early ({} {})", exited ? "status" : "signal", status));
  }
  batch_.clear();
  unlinkat(handle_.get(), kNewImage, 0);
  flock(handle_.get(), LOCK_UN);
  return is_new;
}

void KernelCache::KillLateCompiler(int64_t now_ms) {
  if (compiler_ && now_ms >= kill_ms_) {
    kill(compiler_->pid, SIGKILL);
    kill_ms_ = INT64_MAX;
  }
}

void KernelCache::GiveUpCompiler(int64_t now_ms) {
  StopCompiler();
  waiting_.insert(waiting_.begin(), batch_.begin(), batch_.end());
  batch_.clear();
  OnFailure(now_ms, "the compiler cannot be watched");
}

void KernelCache::StopCompiler() {
  if (!compiler_ || !compiler_->pidfd.valid()) return;
  kill(compiler_->pid, SIGKILL);
  siginfo_t info;
  Reap(*compiler_, info);
  compiler_.reset();
  unlinkat(handle_.get(), kNewImage, 0);
  flock(handle_.get(), LOCK_UN);
}

}  // namespace webnnd::service
