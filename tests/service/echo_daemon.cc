#include "tests/service/echo_daemon.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <string_view>

#include "service/worker/worker.h"

namespace webnnd::test {
namespace {

using service::ClientLink;
using service::WorkerHooks;

char CountDescriptors() {
  char count = '0';
  for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFL) >= 0 ? 1 : 0;
  return count;
}

char Answer(char command, ClientLink& control) {
  switch (command) {
    case kMakeSocket:
      return socket(AF_INET, SOCK_STREAM, 0) < 0 ? '-' : '+';
    case kAskGpu:
      // DRM_IOCTL_VERSION of no descriptor.
      return ioctl(-1, 0xc0406400, nullptr) < 0 && errno == EBADF ? '+' : '-';
    case kIsSecretVisible:
      return getenv("SECRET_TOKEN") != nullptr ? '1' : '0';
    case kCountDescriptors:
      return CountDescriptors();
    case kBreakProtocol:
      (void)!write(control.descriptor(), "xyz", 3);
      return 'x';
    case kCrash:
      abort();
    case kKeepBusy:
      std::thread([] {
        for (volatile uint64_t spin = 0;;) spin = spin + 1;
      }).detach();
      return command;
    case kCloseLine:
      close(control.descriptor());
      [[fallthrough]];
    case kStopAnswering:
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    default:
      return command;
  }
}

void ServeEcho(UniqueFd client, ClientLink& control) {
  control.ReportWith([] { return ClientFigures(); });
  for (;;) {
    pollfd waits[2] = {{client.get(), POLLIN, 0}, {control.descriptor(), POLLIN, 0}};
    if (poll(waits, 2, -1) < 0) continue;
    if (waits[1].revents != 0 && !control.OnReadable()) return;
    if (waits[0].revents == 0) continue;
    char command;
    if (read(client.get(), &command, 1) != 1 || command == kLeave) return;
    char answer = Answer(command, control);
    (void)!write(client.get(), &answer, 1);
  }
}

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

Status OpenNothing(const service::KernelCacheLink&) {
  if (!Environment("WEBNND_TEST_OPEN_FAILS").empty()) return NotSupportedError("the test says so");
  if (std::string file = Environment("WEBNND_TEST_OPEN_DIES_WITH"); !file.empty()) {
    if (access(file.c_str(), F_OK) == 0) _exit(1);
  }
  if (std::string delay = Environment("WEBNND_TEST_OPEN_MS"); !delay.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(delay.c_str())));
  }
  return {};
}

}  // namespace

void RunEchoWorker(const service::WorkerOptions& options) {
  WorkerHooks hooks{.open_devices = OpenNothing, .serve = ServeEcho};
  hooks.before_step = [](std::string_view step) -> Status {
    if (step == Environment("WEBNND_TEST_STEP_FAILS")) return InternalError("the test says so");
    return {};
  };
  hooks.gpu_is_open = [] { return !Environment("WEBNND_TEST_GPU").empty(); };
  _exit(service::RunWorker(options, hooks));
}

}  // namespace webnnd::test
