// KernelFetch: has the broker compile what a worker is about to compile itself.
#ifndef WEBNND_SERVICE_WORKER_KERNEL_FETCH_H_
#define WEBNND_SERVICE_WORKER_KERNEL_FETCH_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/compiled_kernel.h"
#include "base/unique_fd.h"
#include "service/worker/control_link.h"
#include "service/worker/kernel_image.h"

namespace webnnd::service {

// Names the kernels that no cache has to the broker. Where a graph wants several of them it waits
// until they are in the image of kernels, so that they are compiled once, for this worker and those
// to come, and what a compiler needs of memory and time is not added to what this worker has.
// Whatever fails, the worker compiles them itself. Thread-safe.
class KernelFetch {
 public:
  explicit KernelFetch(std::shared_ptr<ControlLink> control) : control_(std::move(control)) {}

  // What there is when the devices are open. Called before any thread but this compiles.
  void Begin(KernelFiles files, KernelHashes cached);

  // As DeviceOptions has them.
  void OnCompiled(const HashedKernel& kernel);
  void BeforeCompiling(std::span<const HashedKernel> kernels, const std::atomic<bool>* cancelled);

  // As ControlLink::ImageFunction.
  void OnImage(uint32_t sequence, UniqueFd image);

 private:
  // With the lock held, these two.
  size_t NameMissing(std::span<const HashedKernel> kernels);
  bool HasNamed(std::span<const HashedKernel> kernels) const;
  void TakeImage();

  const std::shared_ptr<ControlLink> control_;
  std::mutex mutex_;
  std::condition_variable answered_;
  bool begun_ = false;
  std::vector<HashedKernel> early_;  // Compiled before Begin().
  KernelFiles files_;
  KernelHashes cached_;
  KernelHashes named_;  // And in no image that was seen since.
  uint32_t last_fetch_ = 0;
  uint32_t last_answer_ = 0;
  UniqueFd image_;  // That came last, and nobody has looked at yet.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_KERNEL_FETCH_H_
