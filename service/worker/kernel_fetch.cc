#include "service/worker/kernel_fetch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/trace.h"

namespace webnnd::service {
namespace {

// A process that compiles takes as long to start as a small kernel takes to compile.
constexpr size_t kKernelsMin = 2;
// How soon it is seen that a build is cancelled.
constexpr std::chrono::milliseconds kTurn{20};

}  // namespace

void KernelFetch::Begin(KernelFiles files, KernelHashes cached) {
  std::lock_guard lock(mutex_);
  files_ = std::move(files);
  cached_ = std::move(cached);
  begun_ = true;
  NameMissing(std::exchange(early_, {}));
}

void KernelFetch::OnCompiled(const HashedKernel& kernel) {
  std::lock_guard lock(mutex_);
  if (begun_) {
    NameMissing({&kernel, 1});
  } else {
    early_.push_back(kernel);
  }
}

size_t KernelFetch::NameMissing(std::span<const HashedKernel> kernels) {
  size_t named = 0;
  for (const HashedKernel& kernel : kernels) {
    if (cached_.contains(kernel.hash) || named_.contains(kernel.hash)) continue;
    if (!control_->ReportKernel(kernel.kernel)) break;
    named_.insert(kernel.hash);
    ++named;
  }
  return named;
}

bool KernelFetch::HasNamed(std::span<const HashedKernel> kernels) const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [this](const HashedKernel& kernel) { return named_.contains(kernel.hash); });
}

void KernelFetch::BeforeCompiling(std::span<const HashedKernel> kernels,
                                  const std::atomic<bool>* cancelled) {
  // Sizes that a graph meets for the first time may want a kernel where the answer would be read.
  if (control_->IsReader()) return;
  std::unique_lock lock(mutex_);
  TakeImage();
  const auto missing =
      std::count_if(kernels.begin(), kernels.end(),
                    [this](const HashedKernel& kernel) { return !cached_.contains(kernel.hash); });
  if (!begun_ || static_cast<size_t>(missing) < kKernelsMin) return;
  TraceScope scope("fetch kernels");
  scope.Add("kernels", static_cast<uint64_t>(missing));
  if (NameMissing(kernels) > 0) control_->SendFetch(++last_fetch_);
  const uint32_t fetch = last_fetch_;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::kKernelFetchMsMax);
  // Another graph's fetch may have named them.
  while (last_answer_ < fetch && HasNamed(kernels) && (cancelled == nullptr || !*cancelled) &&
         std::chrono::steady_clock::now() < deadline) {
    answered_.wait_for(lock, kTurn);
    TakeImage();
  }
}

void KernelFetch::OnImage(uint32_t sequence, UniqueFd image) {
  std::lock_guard lock(mutex_);
  last_answer_ = std::max(last_answer_, std::min(sequence, last_fetch_));
  image_ = std::move(image);
  answered_.notify_all();
}

void KernelFetch::TakeImage() {
  if (!image_.valid()) return;
  const UniqueFd image = std::move(image_);
  Result<KernelHashes> hashes = files_.Extend(image.get());
  if (!hashes.ok()) return LogWarning("kernels are not fetched: {}", hashes.error().message());
  cached_ = *std::move(hashes);
  std::erase_if(named_, [this](uint64_t hash) { return cached_.contains(hash); });
}

}  // namespace webnnd::service
