#include "service/broker/worker_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/limits.h"

namespace webnnd::service {
namespace {

using fault::Kind;

// Variables that reach a worker; the rest of the daemon's environment is nobody's business.
constexpr std::string_view kPassedPrefixes[] = {
    "WEBNND_",       "ASAN_OPTIONS=",   "UBSAN_OPTIONS=",          "LSAN_OPTIONS=",
    "TSAN_OPTIONS=", "LP_NUM_THREADS=", "LP_NATIVE_VECTOR_WIDTH=", "GALLIVM_PERF="};

std::string SignalText(int signal) {
  const char* name = sigabbrev_np(signal);
  std::string text = name != nullptr ? fmt::format("SIG{}", name) : fmt::format("{}", signal);
  if (signal == SIGSYS) text += ": it makes a system call that the sandbox forbids";
  return text;
}

}  // namespace

std::vector<std::string> WorkerEnvironment(const WorkerOptions& options) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view variable = *entry;
    bool passed =
        std::any_of(std::begin(kPassedPrefixes), std::end(kPassedPrefixes),
                    [&](std::string_view prefix) { return variable.starts_with(prefix); });
    // Without a sandbox the worker may as well see the drivers as its user has set them up.
    if (passed || options.no_sandbox) environment.emplace_back(variable);
  }
  if (options.no_sandbox) {
    environment.push_back("MESA_SHADER_CACHE_DISABLE=true");
    environment.push_back("VK_LOADER_LAYERS_DISABLE=~implicit~");
    return environment;
  }
  for (const VariableRule& rule : EnvironmentPolicy(options.profile, options.kernel_cache)) {
    environment.push_back(fmt::format("{}={}", rule.name, rule.value));
  }
  return environment;
}

Result<WorkerProcess> WorkerProcess::Start(WorkerOptions options, const UniqueFd& kernel_image) {
  int pair[2];
  if (SYS_CALL(Kind::kDescriptor,
               socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) != 0) {
    return ErrnoError("socketpair");
  }
  UniqueFd ours(pair[0]), theirs(pair[1]);
  options.control_fd = kInheritedDescriptor;
  if (kernel_image.valid()) options.kernel_image_fd = kInheritedDescriptor + 1;
  SpawnOptions spawn;
  spawn.arguments = {"webnnd", "worker"};
  for (std::string& argument : ToArguments(options)) {
    spawn.arguments.push_back(std::move(argument));
  }
  spawn.environment = WorkerEnvironment(options);
  spawn.inherited_descriptors = {theirs.get()};
  if (kernel_image.valid()) spawn.inherited_descriptors.push_back(kernel_image.get());
  spawn.namespaces = !options.no_sandbox;
  ASSIGN_OR_RETURN(SpawnedProcess process, Spawn(spawn));
  return WorkerProcess(std::move(process), std::move(ours));
}

WorkerProcess::Received WorkerProcess::Receive(std::span<std::byte>& packet) {
  // Descriptors that a worker might send are dropped by the kernel: there is no room for them.
  ssize_t got;
  do {
    got =
        SYS_CALL(Kind::kReceive, recv(control_.get(), packet.data(), packet.size(), MSG_DONTWAIT));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? Received::kNothing : Received::kFailed;
  if (got == 0) return Received::kClosed;
  packet = packet.first(static_cast<size_t>(got));
  return Received::kPacket;
}

PingResult WorkerProcess::Ping(uint32_t sequence) {
  ControlMessage ping{.type = ControlType::kPing, .sequence = sequence};
  const ssize_t sent =
      SYS_CALL(Kind::kSend, send(control_.get(), &ping, sizeof ping, MSG_NOSIGNAL | MSG_DONTWAIT));
  if (sent == ssize_t{sizeof ping}) return PingResult::kSent;
  // A want of memory would be ENOBUFS; a line that is closed shows when it is read.
  return sent < 0 && errno == EAGAIN ? PingResult::kLineFull : PingResult::kNotSent;
}

Status WorkerProcess::Send(const ControlMessage& message, int descriptor) {
  return SendWithDescriptor(control_.get(), message, descriptor, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Status WorkerProcess::Serve(uint32_t number, UniqueFd& client) {
  TRY(Send({.type = ControlType::kServe, .sequence = number}, client.get()));
  client.Reset();
  return {};
}

Status WorkerProcess::SendTraceFile(const UniqueFd& file) {
  return Send({.type = ControlType::kTrace}, file.get());
}

Status WorkerProcess::SendImage(uint32_t sequence, const UniqueFd& image) {
  const ControlMessage answer{.type = ControlType::kImage, .sequence = sequence};
  if (image.valid()) return Send(answer, image.get());
  const ssize_t sent = SYS_CALL(
      Kind::kSend, send(control_.get(), &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT));
  if (sent != ssize_t{sizeof answer}) return ErrnoError("answering a fetch");
  return {};
}

void WorkerProcess::Kill() {
  // Not pidfd_send_signal(): glibc 2.36 declares it without C linkage.
  if (SYS_CALL(Kind::kProcess,
               syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0)) == 0) {
    return;
  }
  // Containers may forbid it. Until it is reaped, nobody else has its number.
  kill(process_.pid, SIGKILL);
}

std::string WorkerProcess::Reap(bool& failed) {
  siginfo_t info;
  const bool reaped = service::Reap(process_, info);
  failed = !reaped || info.si_code != CLD_EXITED || info.si_status != 0;
  if (!reaped) return "cannot be waited for";
  if (info.si_code == CLD_EXITED) return fmt::format("exits ({})", info.si_status);
  return fmt::format("is killed by a signal ({})", SignalText(info.si_status));
}

}  // namespace webnnd::service
