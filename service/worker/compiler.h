// RunCompiler: compiles kernels for the cache that workers to come are given.
#ifndef WEBNND_SERVICE_WORKER_COMPILER_H_
#define WEBNND_SERVICE_WORKER_COMPILER_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/compiled_kernel.h"
#include "base/result.h"
#include "service/worker/worker.h"
#include "service/worker/worker_options.h"

namespace webnnd::service {

struct CompilerOptions {
  // How workers are started; its image is the one to add to.
  WorkerOptions worker;
  std::vector<CompiledKernel> kernels;
  // Others come first: no client waits for these kernels.
  bool gives_way = true;
  // An empty file, for the new image.
  int output_fd = -1;
};

// The arguments after `webnnd compile`, and back.
std::vector<std::string> ToArguments(const CompilerOptions& options);
Result<CompilerOptions> ParseCompilerOptions(std::span<const std::string> arguments);

struct CompilerHooks {
  WorkerHooks worker;  // Of which `serve` is not used.
  // On the device whose adapter the kernel names. Called by `threads` threads, of which each has a
  // number and may have devices of its own.
  std::function<Status(size_t thread, const CompiledKernel& kernel)> compile;
  size_t threads = 1;
  // After that drivers have written what they keep.
  std::function<void()> close_devices;
};

// Compiles the kernels behind the fences of a worker, and runs none of them: their constants are
// what workers say, whom nobody trusts. It never meets a client, so that what it writes is the
// driver's work alone. Returns a WorkerExit; kWorkerDone: the image is whole. Kernels that cannot
// be compiled are left out of it.
int RunCompiler(const CompilerOptions& options, const CompilerHooks& hooks);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_COMPILER_H_
