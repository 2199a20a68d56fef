#include "service/worker/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/trace.h"
#include "service/sandbox/confine.h"
#include "service/worker/kernel_fetch.h"
#include "service/worker/resident_memory.h"

namespace webnnd::service {
namespace {

// The image, unpacked, and as much again for what is compiled; and an index that Mesa makes of
// 1.3 MiB.
constexpr uint64_t kScratchBytes = 2 * limits::kKernelImageBytesMax + (2ull << 20);

// A shared worker has many clients, each with its quota: what is said of one does not narrow it.
uint64_t DeviceBytesOf(const WorkerOptions& options) {
  if (!options.shared) return options.quota.device_bytes;
  return std::max(options.quota.device_bytes, Quota().device_bytes);
}

// Puts the image's files where the driver looks for them. All that is lost without it is time.
KernelHashes UnpackImage(const UniqueFd& image) {
  auto hashes = UnpackKernelImage(image.get(), kScratchDirectory);
  if (hashes.ok()) return *std::move(hashes);
  LogWarning("cached kernels are compiled again: {}", hashes.error().message());
  return {};
}

Status LockDownFor(const WorkerOptions& options, const WorkerHooks& hooks, SandboxRole role) {
  const SandboxProfile profile = options.profile;
  SandboxProfile narrowed = NarrowedProfile(profile, !hooks.gpu_is_open || hooks.gpu_is_open());
  if (narrowed != profile) {
    LogInfo("no GPU is open: the sandbox is {}, not {}", SandboxProfileName(narrowed),
            SandboxProfileName(profile));
    TRY(LimitResources(narrowed, DeviceBytesOf(options)));
  }
  return hooks.lock_down(narrowed, role);
}

// Every client on a thread of its own, this one for the broker alone.
int ServeMany(ServedSocket client, const std::shared_ptr<ControlLink>& control,
              const WorkerHooks& hooks) {
  auto is_usable = [&hooks] { return !hooks.is_usable || hooks.is_usable(); };
  for (; client.socket.valid(); client = control->AwaitClient(is_usable)) {
    uint32_t number = client.number;
    try {
      std::thread([&hooks, control, number, socket = std::move(client.socket)]() mutable {
        {
          ClientLink link(*control, number, /*shared=*/true);
          hooks.serve(std::move(socket), link);
        }
        FlushTrace();
        control->SendGone(number);
      }).detach();
    } catch (const std::system_error& error) {
      LogError("a client is turned away: no thread can be started ({})", error.what());
      control->SendGone(number);
    }
  }
  if (is_usable()) return kWorkerDone;
  LogError("the worker ends: what it serves with is lost");
  return kWorkerNotUsable;
}

}  // namespace

void ChooseWorkerSignals() {
  // It must not outlive the broker; should the broker be gone already, a worker's control link says
  // so.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // A client that is gone, and a limit on a file's size, are errors of a call and not signals.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  // Ctrl-C goes to the whole process group; the broker decides what it means for workers.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
}

int Enclose(const WorkerOptions& options, const WorkerHooks& hooks, SandboxRole role,
            const KernelCacheLink& kernels, KernelFiles& files, KernelHashes& cached) {
  UniqueFd image(options.kernel_image_fd);
  if (options.no_sandbox) {
    LogWarning("there is NO SANDBOX: this worker can do all that its user can");
  } else {
    ConfineOptions confine{.profile = options.profile};
    confine.device_bytes = DeviceBytesOf(options);
    if (options.kernel_cache) confine.scratch_bytes = kScratchBytes;
    confine.before_step = hooks.before_step;
    if (Status confined = Confine(confine); !confined.ok()) {
      LogError("no sandbox, no service: {}", confined.error().ToString());
      return kWorkerNoSandbox;
    }
  }
  if (image.valid()) cached = UnpackImage(image);
  image.Reset();
  const std::vector<std::string> unpacked = KernelFiles::Names(kScratchDirectory);
  if (Status opened = hooks.open_devices(kernels); !opened.ok()) {
    LogError("no device can be opened: {}", opened.error().ToString());
    return kWorkerNoDevice;
  }
  // Drivers name their files by all that their code depends on: another build of one, or another
  // processor, has files of its own, which are empty.
  if (options.kernel_cache && KernelFiles::Names(kScratchDirectory) != unpacked) cached.clear();
  if (options.kernel_cache) files = KernelFiles::Open(kScratchDirectory);
  if (!options.no_sandbox) {
    if (Status locked = LockDownFor(options, hooks, role); !locked.ok()) {
      LogError("no sandbox, no service: {}", locked.error().ToString());
      return kWorkerNoSandbox;
    }
  }
  return kWorkerDone;
}

int RunWorker(const WorkerOptions& options, const WorkerHooks& hooks) {
  InitLog(fmt::format("webnnd worker {}", options.id));
  if (!hooks.open_devices || !hooks.serve) {
    LogError("no device can be opened: this build has no driver and no session");
    return kWorkerNoDevice;
  }
  ChooseWorkerSignals();
  MapHeapBlocks();
  fcntl(options.control_fd, F_SETFD, FD_CLOEXEC);
  auto control = std::make_shared<ControlLink>(UniqueFd(options.control_fd));
  KernelFiles files;
  KernelHashes cached;
  auto fetch = std::make_shared<KernelFetch>(control);
  KernelCacheLink kernels;
  if (options.kernel_cache) {
    kernels.on_compiled = [fetch](const HashedKernel& kernel) { fetch->OnCompiled(kernel); };
    kernels.before_compiling = [fetch](std::span<const HashedKernel> wanted,
                                       const std::atomic<bool>* cancelled) {
      fetch->BeforeCompiling(wanted, cancelled);
    };
    // Which holds the link itself.
    control->TakeImagesWith([weak = std::weak_ptr(fetch)](uint32_t sequence, UniqueFd image) {
      if (auto held = weak.lock()) held->OnImage(sequence, std::move(image));
    });
  }
  if (int failed = Enclose(options, hooks, SandboxRole::kWorker, kernels, files, cached);
      failed != kWorkerDone) {
    return failed;
  }
  fetch->Begin(std::move(files), std::move(cached));
  if (!control->SendReady().ok()) return kWorkerNoBroker;
  ServedSocket client = control->AwaitClient();
  if (!client.socket.valid()) return kWorkerDone;
  if (UniqueFd file = control->TakeTraceFile(); file.valid()) {
    StartTrace(std::move(file), options.id, fmt::format("worker {}", options.id));
  }
  if (options.shared) return ServeMany(std::move(client), control, hooks);
  {
    ClientLink link(*control, client.number, /*shared=*/false);
    hooks.serve(std::move(client.socket), link);
  }
  StopTrace();
  return kWorkerDone;
}

}  // namespace webnnd::service
