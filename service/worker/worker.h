// The life of a worker: sandbox, devices, lock-down, one client (or many), end.
#ifndef WEBNND_SERVICE_WORKER_WORKER_H_
#define WEBNND_SERVICE_WORKER_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/compiled_kernel.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "service/sandbox/lock_down.h"
#include "service/worker/control_link.h"
#include "service/worker/kernel_image.h"
#include "service/worker/worker_options.h"

namespace webnnd::service {

// What devices tell of kernels that they compile (DeviceOptions).
struct KernelCacheLink {
  // Absent: there is no cache.
  std::function<void(const HashedKernel& kernel)> on_compiled;
  std::function<void(std::span<const HashedKernel> kernels, const std::atomic<bool>* cancelled)>
      before_compiling;
};

// What `main` plugs in, since the worker's life knows neither Vulkan nor sessions.
struct WorkerHooks {
  // Opens the adapters, creates devices, runs one warm-up pipeline: everything that needs files.
  // Runs after Confine() and before LockDown().
  std::function<Status(const KernelCacheLink& kernels)> open_devices;
  // Serves the client until it leaves. Polls link.descriptor() for reading and calls
  // link.OnReadable(), returning soon after that returns false. In a shared worker each client has
  // a thread of its own, which calls this.
  std::function<void(UniqueFd client, ClientLink& link)> serve;
  // Whether further clients can be served, by any thread: a shared worker ends when they cannot.
  std::function<bool()> is_usable = nullptr;
  // Whether a GPU is among the adapters that open_devices opened. Absent: it may be.
  std::function<bool()> gpu_is_open = nullptr;
  // Confine()'s before_step: for tests of failing steps.
  std::function<Status(std::string_view step)> before_step = nullptr;
  // Tests watch a worker through a filter of their own.
  std::function<Status(SandboxProfile profile, SandboxRole role)> lock_down = LockDown;
};

// Exit statuses of a worker; the broker names them in its log.
enum WorkerExit : int {
  kWorkerDone = 0,         // the client or the broker left
  kWorkerBadOptions = 2,   // the command line is wrong
  kWorkerNoSandbox = 3,    // a step of the sandbox fails: no service
  kWorkerNoDevice = 4,     // open_devices fails
  kWorkerNoBroker = 5,     // the broker is gone before the worker is ready
  kWorkerNotUsable = 6,    // a shared worker has lost what it serves with
  kCompilerImageFull = 7,  // RunCompiler(): the image has no room for more kernels
};

// The steps of a worker until it is locked down, which RunCompiler() takes too. Then `files` are
// those of the driver's cache, and `cached` the kernels in it, from the image of
// `options`. kWorkerDone, or what to exit with.
int Enclose(const WorkerOptions& options, const WorkerHooks& hooks, SandboxRole role,
            const KernelCacheLink& kernels, KernelFiles& files, KernelHashes& cached);

// How a process of the broker's takes signals: it ends with the broker and not before.
void ChooseWorkerSignals();

// Runs to the end of the client's session, or of all, and returns the exit status. `main` then
// calls _exit(): destructors of static objects, and the driver's, may want what the sandbox
// forbids, and other clients' threads still run. `hooks` must live until then.
int RunWorker(const WorkerOptions& options, const WorkerHooks& hooks);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_WORKER_H_
