// webnnd: the daemon, and the workers that it starts from the same program.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "service/broker/broker.h"
#include "service/broker/socket.h"
#include "service/worker/worker.h"

namespace webnnd::service {
namespace {

constexpr char kVersion[] = "0.1.0";

constexpr char kHelp[] =
    R"(webnnd runs the Web Neural Network API for other processes, each client in a sandboxed worker.

usage:
  webnnd serve --socket PATH [options]   listens on a Unix socket (mode 0600)
  webnnd serve --fd N [options]          serves a socket that the parent process hands over
  webnnd --help | --version

options of serve:
  --socket PATH            the socket to make; what a dead daemon left there is replaced
  --fd N                   a connected or a listening Unix stream socket; may be repeated.
                           Sockets from systemd (LISTEN_FDS) are taken without being named.
  --device N               an adapter that workers may use; may be repeated; default: all
  --no-warm-spare          starts each worker only when a client comes
  --validation             switches Vulkan's validation layers on
  --disable-feature NAME   does without a feature of the device; may be repeated
  --sandbox-profile NAME   strict, or debug for sanitizers and validation layers
  --no-sandbox             runs workers WITHOUT a sandbox

environment:
  WEBNND_LOG               debug, info, warning, error or off
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
  INVALID_IF(name != "--socket" && name != "--fd", "the option is unknown ({}); see --help", name);
  INVALID_IF(at + 1 >= arguments.size(), "the option needs a value ({})", name);
  const std::string& value = arguments[at + 1];
  if (name == "--socket") {
    INVALID_IF(!options.socket_path.empty(), "--socket is given twice ({})", value);
    INVALID_IF(value.empty(), "the path of the socket is empty");
    options.socket_path = value;
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

Result<BrokerOptions> ParseServeOptions(Arguments arguments) {
  BrokerOptions options;
  for (UniqueFd& fd : TakeActivatedSockets()) TRY(AddSocket(std::move(fd), options));
  for (size_t at = 0; at < arguments.size();) {
    ASSIGN_OR_RETURN(size_t taken, ParseServeOption(arguments, at, options));
    at += taken;
  }
  INVALID_IF(options.socket_path.empty() && options.listening.empty() && options.connected.empty(),
             "serve needs --socket PATH or --fd N");
  return options;
}

int Serve(Arguments arguments) {
  InitLog("webnnd", LogLevel::kInfo);
  Result<BrokerOptions> options = ParseServeOptions(arguments);
  if (!options.ok()) return Complain(options.error());
  Status status = RunBroker(std::move(*options));
  if (status.ok()) return 0;
  LogError("{}", status.error().ToString());
  return 1;
}

// Everything that a worker does for its client is plugged in here.
WorkerHooks MakeWorkerHooks(const WorkerOptions&) { return {}; }

// Started by the broker only.
int Work(Arguments arguments) {
  Result<WorkerOptions> options = ParseWorkerOptions(arguments);
  if (!options.ok()) _exit(Complain(options.error()));
  _exit(RunWorker(*options, MakeWorkerHooks(*options)));
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
  if (command == "worker") return Work(arguments.subspan(1));
  return Complain(ValidationError("the command is unknown ({}); see --help", command));
}

}  // namespace
}  // namespace webnnd::service

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return webnnd::service::Main(arguments);
}
