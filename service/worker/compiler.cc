#include "service/worker/compiler.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "service/worker/kernel_image.h"

namespace webnnd::service {
namespace {

// A tenth of what others get, while they want it all.
constexpr std::string_view kNiceness = "10";

void GiveWay() {
  setpriority(PRIO_PROCESS, 0, 10);
  // Where the kernel shares time between sessions, it is the session that counts.
  const UniqueFd group(open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  if (group.valid()) (void)!write(group.get(), kNiceness.data(), kNiceness.size());
}

// Returns how many could not be compiled.
size_t CompileAll(const std::vector<CompiledKernel>& kernels, const CompilerHooks& hooks) {
  std::atomic<size_t> next = 0;
  std::atomic<size_t> failures = 0;
  const auto compile = [&](size_t thread) {
    for (size_t i = next++; i < kernels.size(); i = next++) {
      if (!hooks.compile(thread, kernels[i]).ok()) ++failures;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < hooks.threads; ++i) {
    try {
      threads.emplace_back(compile, i);
    } catch (const std::system_error&) {
      break;  // The others do it.
    }
  }
  compile(0);
  for (std::thread& thread : threads) thread.join();
  return failures;
}

}  // namespace

std::vector<std::string> ToArguments(const CompilerOptions& options) {
  std::vector<std::string> arguments = {"--output-fd", fmt::format("{}", options.output_fd)};
  if (options.gives_way) arguments.push_back("--give-way");
  for (const CompiledKernel& kernel : options.kernels) {
    arguments.insert(arguments.end(), {"--kernel", ToText(kernel)});
  }
  for (std::string& argument : ToArguments(options.worker)) {
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Result<CompilerOptions> ParseCompilerOptions(std::span<const std::string> arguments) {
  CompilerOptions options{.gives_way = false};
  std::vector<std::string> others;
  for (size_t at = 0; at < arguments.size();) {
    const std::string& name = arguments[at];
    if (name == "--kernel") {
      ASSIGN_OR_RETURN(const std::string text, ValueOf(arguments, at));
      INVALID_IF(options.kernels.size() == limits::kKernelsPerCompilerMax,
                 "--kernel is given too often ({})", text);
      ASSIGN_OR_RETURN(options.kernels.emplace_back(), ParseCompiledKernel(text));
      at += 2;
    } else if (name == "--give-way") {
      options.gives_way = true;
      ++at;
    } else if (name == "--output-fd") {
      ASSIGN_OR_RETURN(const std::string text, ValueOf(arguments, at));
      ASSIGN_OR_RETURN(const uint32_t number, ParseNumber(name, text, INT_MAX));
      options.output_fd = static_cast<int>(number);
      at += 2;
    } else {
      others.push_back(name);
      ++at;
    }
  }
  INVALID_IF(options.output_fd < 0, "a compiler needs --output-fd; only the broker starts one");
  ASSIGN_OR_RETURN(options.worker, ParseWorkerOptions(others, /*with_control=*/false));
  return options;
}

int RunCompiler(const CompilerOptions& options, const CompilerHooks& hooks) {
  InitLog("webnnd compiler");
  ChooseWorkerSignals();
  // Should the broker be gone before it could be followed.
  alarm(2 * limits::kCompilerMsMax / 1000);
  if (options.gives_way) GiveWay();
  const UniqueFd output(options.output_fd);
  std::mutex mutex;
  KernelHashes hashes, cached;
  KernelCacheLink kernels;
  kernels.on_compiled = [&](const HashedKernel& kernel) {
    std::lock_guard lock(mutex);
    hashes.insert(kernel.hash);
  };
  KernelFiles files;
  if (int failed =
          Enclose(options.worker, hooks.worker, SandboxRole::kCompiler, kernels, files, cached);
      failed != kWorkerDone) {
    return failed;
  }
  const size_t failures = CompileAll(options.kernels, hooks);
  if (failures > 0) LogWarning("kernels cannot be compiled ({})", failures);
  hooks.close_devices();
  hashes.merge(cached);
  const Status packed = files.Pack(hashes, output.get());
  if (packed.ok()) return kWorkerDone;
  LogWarning("no kernel is cached: {}", packed.error().message());
  return packed.error().cause() == Cause::kQuota ? kCompilerImageFull : kWorkerNotUsable;
}

}  // namespace webnnd::service
