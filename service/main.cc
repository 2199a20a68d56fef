// webnnd: the daemon, and the workers that it starts from the same program.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "ipc/channel.h"
#include "ipc/codec.h"
#include "service/broker/broker.h"
#include "service/broker/socket.h"
#include "service/sandbox/policy.h"
#include "service/session/session.h"
#include "service/stats_command.h"
#include "service/vulkan/open_devices.h"
#include "service/worker/compiler.h"
#include "service/worker/free_memory.h"
#include "service/worker/resident_memory.h"
#include "service/worker/worker.h"

namespace webnnd::service {
namespace {

constexpr char kVersion[] = "0.1.0";

constexpr char kHelp[] =
    R"(webnnd runs the Web Neural Network API for other processes, each client in a sandboxed worker.

usage:
  webnnd serve --socket PATH [options]   listens on a Unix socket (mode 0600)
  webnnd serve --fd N [options]          serves a socket that the parent process hands over
  webnnd stats --socket PATH [--json]    shows a daemon's clients, memory and latencies
  webnnd devices [options]               lists the Vulkan adapters that --device can name
  webnnd --help | --version

options of serve:
  --socket PATH            the socket to make; what a dead daemon left there is replaced
  --fd N                   a connected or a listening Unix stream socket; may be repeated.
                           Sockets from systemd (LISTEN_FDS) are taken without being named.
  --device N               an adapter that workers may use; may be repeated; default: all
  --isolation NAME         process (default): a worker for each client; shared: one for all,
                           for machines short of memory; it keeps clients apart less well
  --workers-max N          clients served at once; the others wait (default: 64)
  --clients-per-process N  of one process, served at once (default: three quarters of all)
  --waiting-per-process N  of one process, that wait; more are refused (default: 256)
  --stats-socket PATH      where `webnnd stats` asks (default with --socket: PATH.stats)
  --worker-groups          a control group for each worker, which the kernel then shares processor
                           time between; the daemon's own must be delegated to it and have no
                           other process (systemd: Delegate=cpu)
  --trace DIR              each worker writes DIR/worker-N.json, a trace for Perfetto
  --kernel-cache DIR       keeps there what drivers compile, from worker to worker; not with
                           --no-sandbox. Default: WEBNND_KERNEL_CACHE, webnnd in XDG_CACHE_HOME
                           or in ~/.cache; an empty one: nowhere
  --no-warm-spare          starts each worker only when a client comes
  --validation             switches Vulkan's validation layers on
  --disable-feature NAME   does without a feature of the device; may be repeated
  --sandbox-profile NAME   what workers may reach: strict (no GPU), mesa, nvidia, or debug (for
                           sanitizers and validation layers). Default: by the GPU that is found.
                           Workers in which no GPU is open are strict in any case.
  --no-sandbox             runs workers WITHOUT a sandbox
  --quota NAME=VALUE       what one client may have at a time; may be repeated. NAME is device-bytes,
                           bytes-in-flight, contexts, tensors, graphs, bindings, operators (of its
                           graphs), dispatches-in-flight or dispatch-ms (work on one dispatch);
                           VALUE is a number, with K, M or G for powers of 1024

options of devices:
  --json                   as JSON
  --sandbox-profile NAME, --no-sandbox
                           as for serve: a profile finds its own drivers and no others

environment:
  WEBNND_LOG               debug, info, warning, error or off
  WEBNND_KERNEL_CACHE      as --kernel-cache
)";

// Descriptors in `serve --fd`.
constexpr int kDescriptorMax = 1 << 20;

using Arguments = std::span<const std::string>;

int Complain(const Error& error) {
  std::fprintf(stderr, "webnnd: %s\n", error.ToString().c_str());
  return 2;
}

// Puts a socket where it belongs: among the clients, or among what is listened on.
Status AddSocket(UniqueFd fd, BrokerOptions& options) {
  ASSIGN_OR_RETURN(bool listening, IsListening(fd.get()));
  (listening ? options.listening : options.connected).push_back(std::move(fd));
  return {};
}

Result<size_t> ParseServeOption(Arguments arguments, size_t at, BrokerOptions& options) {
  ASSIGN_OR_RETURN(size_t taken, ParseCommonOption(arguments, at, options.worker));
  if (taken > 0) return taken;
  const std::string& name = arguments[at];
  if (name == "--no-warm-spare") {
    options.warm_spare = false;
    return size_t{1};
  }
  if (name == "--worker-groups") {
    options.group_controller = "cpu";
    return size_t{1};
  }
  INVALID_IF(name != "--socket" && name != "--fd" && name != "--stats-socket" &&
                 name != "--trace" && name != "--kernel-cache" && name != "--workers-max" &&
                 name != "--clients-per-process" && name != "--waiting-per-process",
             "the option is unknown ({}); see --help", name);
  INVALID_IF(at + 1 >= arguments.size(), "the option needs a value ({})", name);
  const std::string& value = arguments[at + 1];
  if (name == "--socket") {
    INVALID_IF(!options.socket_path.empty(), "--socket is given twice ({})", value);
    INVALID_IF(value.empty(), "the path of the socket is empty");
    options.socket_path = value;
  } else if (name == "--stats-socket") {
    options.stats_path = value;
  } else if (name == "--kernel-cache") {
    options.kernel_cache_directory = value;
  } else if (name == "--trace") {
    INVALID_IF(value.empty(), "the directory of the trace is empty");
    options.trace_directory = value;
  } else if (name == "--workers-max") {
    ASSIGN_OR_RETURN(options.workers_max, ParseNumber(name, value, limits::kWorkersMax));
    INVALID_IF(options.workers_max == 0, "without a worker no client is served ({})", value);
  } else if (name == "--clients-per-process") {
    ASSIGN_OR_RETURN(options.served_per_process_max, ParseNumber(name, value, limits::kWorkersMax));
    INVALID_IF(options.served_per_process_max == 0,
               "without one of each process no client is served ({})", value);
  } else if (name == "--waiting-per-process") {
    ASSIGN_OR_RETURN(options.waiting_per_process_max,
                     ParseNumber(name, value, limits::kClientsWaitingMax));
    INVALID_IF(options.waiting_per_process_max == 0,
               "every client waits, if only for a moment ({})", value);
  } else {
    ASSIGN_OR_RETURN(uint32_t number, ParseNumber(name, value, kDescriptorMax));
    INVALID_IF(number <= STDERR_FILENO, "a socket cannot be a standard stream ({})", number);
    UniqueFd fd(static_cast<int>(number));
    if (fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) {
      (void)fd.Release();
      return ValidationError("the descriptor is not open ({})", number);
    }
    TRY(AddSocket(std::move(fd), options));
  }
  return size_t{2};
}

std::string DefaultKernelCache() {
  if (const char* directory = getenv("WEBNND_KERNEL_CACHE")) return directory;
  // The XDG Base Directory Specification: a relative path is none.
  const char* cache = getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fmt::format("{}/webnnd", cache);
  const char* home = getenv("HOME");
  if (home != nullptr && home[0] == '/') return fmt::format("{}/.cache/webnnd", home);
  return "";
}

Result<BrokerOptions> ParseServeOptions(Arguments arguments) {
  BrokerOptions options;
  options.kernel_cache_directory = DefaultKernelCache();
  for (UniqueFd& fd : TakeActivatedSockets()) TRY(AddSocket(std::move(fd), options));
  for (size_t at = 0; at < arguments.size();) {
    ASSIGN_OR_RETURN(size_t taken, ParseServeOption(arguments, at, options));
    at += taken;
  }
  INVALID_IF(options.socket_path.empty() && options.listening.empty() && options.connected.empty(),
             "serve needs --socket PATH or --fd N");
  if (options.stats_path.empty() && !options.socket_path.empty()) {
    options.stats_path = StatsPathOf(options.socket_path);
  }
  return options;
}

int Serve(Arguments arguments) {
  // A private daemon writes on its parent's terminal: only what the parent must know.
  bool is_private = std::find(arguments.begin(), arguments.end(), "--fd") != arguments.end();
  InitLog("webnnd", is_private ? LogLevel::kWarning : LogLevel::kInfo);
  Result<BrokerOptions> options = ParseServeOptions(arguments);
  if (!options.ok()) return Complain(options.error());
  options->farewell = [](std::string_view reason) {
    return ipc::Encode(ipc::Goodbye{std::string(reason)}).bytes;
  };
  Status status = RunBroker(std::move(*options));
  if (status.ok()) return 0;
  LogError("{}", status.error().ToString());
  return 1;
}

DeviceOptions MakeDeviceOptions(const WorkerOptions& options) {
  return {.validation = options.validation, .disabled_features = options.disabled_features};
}

void ServeClient(std::vector<std::shared_ptr<Device>> devices, const Quota& quota, UniqueFd client,
                 ClientLink& link) {
  auto channel = ipc::MakeSocketChannel(std::move(client));
  if (!channel.ok()) return LogError("{}", channel.error().ToString());
  auto session =
      Session::Create(std::move(*channel), {.devices = std::move(devices), .quota = quota});
  if (!session.ok()) return LogError("{}", session.error().ToString());
  link.ReportWith([&session] { return (*session)->Figures(); });
  (*session)->Run({link.descriptor(), [&link] { return link.OnReadable(); }});
  link.ReportWith(nullptr);
}

using Devices = std::vector<std::shared_ptr<Device>>;

// Everything that a worker does for its client is plugged in here.
WorkerHooks MakeWorkerHooks(const WorkerOptions& options, const std::shared_ptr<Devices>& devices) {
  auto is_gpu = [](const auto& device) { return device->adapter().accelerated; };
  DeviceOptions device_options = MakeDeviceOptions(options);
  // Before the sandbox, in which no file can be opened.
  if (auto free_memory = OpenFreeMemory(); free_memory.ok()) {
    device_options.free_memory = *std::move(free_memory);
  } else {
    LogWarning("memory is not shared by what is free: {}", free_memory.error().message());
  }
  return {
      .open_devices = [devices, &options,
                       device_options](const KernelCacheLink& kernels) mutable -> Status {
        device_options.on_compiled = kernels.on_compiled;
        device_options.after_compiling_step = ReleaseLibraryPages;
        device_options.before_compiling = kernels.before_compiling;
        ASSIGN_OR_RETURN(*devices, OpenDevices(options.devices, device_options));
        return {};
      },
      .serve =
          [devices, &options](UniqueFd client, ClientLink& link) {
            ServeClient(*devices, options.quota, std::move(client), link);
          },
      .is_usable =
          [devices] {
            return std::none_of(devices->begin(), devices->end(),
                                [](const auto& device) { return device->lost(); });
          },
      .gpu_is_open = [devices,
                      is_gpu] { return std::any_of(devices->begin(), devices->end(), is_gpu); },
  };
}

// Started by the broker only.
int Work(Arguments arguments) {
  Result<WorkerOptions> options = ParseWorkerOptions(arguments);
  if (!options.ok()) _exit(Complain(options.error()));
  auto devices = std::make_shared<Devices>();
  _exit(RunWorker(*options, MakeWorkerHooks(*options, devices)));
}

// So many compile at once while a client waits.
size_t ThreadsOf(const CompilerOptions& options) {
  constexpr size_t kThreadsMax = 4;
  if (options.gives_way) return 1;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  return std::min({processors, kThreadsMax, std::max<size_t>(1, options.kernels.size())});
}

// Started by the broker only.
int Compile(Arguments arguments) {
  Result<CompilerOptions> options = ParseCompilerOptions(arguments);
  if (!options.ok()) _exit(Complain(options.error()));
  // A device compiles one kernel at a time.
  std::vector<std::shared_ptr<Devices>> devices(ThreadsOf(*options));
  std::vector<WorkerHooks> of_each;
  for (auto& one : devices) {
    one = std::make_shared<Devices>();
    of_each.push_back(MakeWorkerHooks(options->worker, one));
  }
  CompilerHooks hooks{.worker = of_each[0],
                      .compile = [&devices](size_t thread, const CompiledKernel& kernel) -> Status {
                        for (const auto& device : *devices[thread]) {
                          if (device->adapter().index == kernel.adapter) {
                            return device->Compile(kernel);
                          }
                        }
                        return ValidationError("the adapter is not open ({})", kernel.adapter);
                      },
                      .threads = devices.size(),
                      // Each is held by its hooks, too.
                      .close_devices =
                          [&devices] {
                            for (const auto& one : devices) one->clear();
                          }};
  hooks.worker.open_devices = [&](const KernelCacheLink& kernels) -> Status {
    for (const WorkerHooks& one : of_each) TRY(one.open_devices(kernels));
    return {};
  };
  _exit(RunCompiler(*options, hooks));
}

int PrintStats(Arguments arguments) {
  Result<std::string> text = RunStats(arguments);
  if (text.ok()) {
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  std::fprintf(stderr, "webnnd: %s\n", text.error().ToString().c_str());
  return text.error().cause() == Cause::kValidation ? 2 : 1;
}

struct DevicesOptions {
  bool json = false;
  WorkerOptions worker;
};

Result<DevicesOptions> ParseDevicesOptions(Arguments arguments) {
  DevicesOptions options;
  for (size_t at = 0; at < arguments.size();) {
    const std::string& name = arguments[at];
    size_t taken = 1;
    if (name == "--json") {
      options.json = true;
    } else {
      INVALID_IF(name != "--sandbox-profile" && name != "--no-sandbox",
                 "the option is unknown ({}); see --help", name);
      ASSIGN_OR_RETURN(taken, ParseCommonOption(arguments, at, options.worker));
    }
    at += taken;
  }
  return options;
}

// Adapters count as in a worker, which finds the drivers of its profile.
void SelectDriversAsWorkersDo(const WorkerOptions& options) {
  if (options.no_sandbox) return;
  for (const VariableRule& rule : EnvironmentPolicy(options.profile)) {
    if (rule.name == kLoaderDriversVariable) {
      setenv(std::string(rule.name).c_str(), std::string(rule.value).c_str(), 1);
    }
  }
}

int PrintDevices(Arguments arguments) {
  Result<DevicesOptions> options = ParseDevicesOptions(arguments);
  if (!options.ok()) return Complain(options.error());
  SelectDriversAsWorkersDo(options->worker);
  Result<std::vector<AdapterInfo>> adapters = ListAdapters({});
  if (!adapters.ok()) {
    std::fprintf(stderr, "webnnd: %s\n", adapters.error().ToString().c_str());
    return 1;
  }
  if (options->json) {
    nlohmann::json list = nlohmann::json::array();
    for (const AdapterInfo& adapter : *adapters) {
      list.push_back({{"index", adapter.index},
                      {"name", adapter.name},
                      {"driver", adapter.driver},
                      {"accelerated", adapter.accelerated},
                      {"lowPower", adapter.low_power},
                      {"usable", adapter.missing.empty()},
                      {"missing", adapter.missing}});
    }
    // Names come from the driver: what is not UTF-8 is replaced.
    std::puts(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return 0;
  }
  for (const AdapterInfo& adapter : *adapters) {
    std::printf("%u  %s  (%s, %s)%s%s\n", adapter.index, adapter.name.c_str(),
                adapter.driver.c_str(), adapter.accelerated ? "GPU" : "CPU",
                adapter.missing.empty() ? "" : "  cannot be used: ", adapter.missing.c_str());
  }
  if (adapters->empty()) {
    std::fputs("webnnd: no Vulkan adapter is found; Debian's mesa-vulkan-drivers has one\n",
               stderr);
    return 1;
  }
  return 0;
}

int Main(Arguments arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    std::fputs(kHelp, arguments.empty() ? stderr : stdout);
    return arguments.empty() ? 2 : 0;
  }
  std::string_view command = arguments[0];
  if (command == "--version") {
    std::printf("webnnd %s\n", kVersion);
    return 0;
  }
  if (command == "serve") return Serve(arguments.subspan(1));
  if (command == "stats") return PrintStats(arguments.subspan(1));
  if (command == "devices") return PrintDevices(arguments.subspan(1));
  if (command == "worker") return Work(arguments.subspan(1));
  if (command == "compile") return Compile(arguments.subspan(1));
  return Complain(ValidationError("the command is unknown ({}); see --help", command));
}

}  // namespace
}  // namespace webnnd::service

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return webnnd::service::Main(arguments);
}
