// A broker in a child process, with real workers that echo: the test's program is its own worker.
#ifndef WEBNND_TESTS_SERVICE_ECHO_DAEMON_H_
#define WEBNND_TESTS_SERVICE_ECHO_DAEMON_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "service/broker/broker.h"

namespace webnnd::test {

using Clock = std::chrono::steady_clock;

// Longer than anything here takes, on a busy machine under sanitizers.
inline constexpr int kPatienceMs = 20000;

// The worker answers each byte that a client sends.
enum Command : char {
  kEcho = 'a',
  kMakeSocket = 's',        // what the sandbox forbids
  kAskGpu = 'g',            // '+' where a call to a GPU's driver may be made
  kIsSecretVisible = 'e',   // '1' when the daemon's environment shows
  kCountDescriptors = 'd',  // '0' + descriptors open
  kBreakProtocol = 'x',     // sends nonsense to the broker
  kStopAnswering = 'h',     // hangs the thread that serves
  kCloseLine = 'l',         // the same, and closes the line to the broker
  kKeepBusy = 'b',          // one more thread that computes for ever
  kCrash = 'c',
  kLeave = 'q',
};

// For RunTestsOrWorker().
void RunEchoWorker(const service::WorkerOptions& options);

struct Reply {
  char byte = 0;
  pid_t worker = -1;  // as the kernel attests
};

// A client of such a worker.
class Client {
 public:
  explicit Client(UniqueFd fd) : fd_(std::move(fd)) {
    int on = 1;
    setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  }

  bool Send(char command) { return send(fd_.get(), &command, 1, MSG_NOSIGNAL) == 1; }

  // Nothing: the stream ended, or no answer came in time.
  std::optional<Reply> Receive() {
    pollfd wait{fd_.get(), POLLIN, 0};
    if (poll(&wait, 1, kPatienceMs) != 1) return std::nullopt;
    Reply reply;
    iovec part{&reply.byte, 1};
    alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(ucred))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = ancillary;
    header.msg_controllen = sizeof ancillary;
    if (recvmsg(fd_.get(), &header, 0) != 1) return std::nullopt;
    if (cmsghdr* control = CMSG_FIRSTHDR(&header);
        control != nullptr && control->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials;
      std::memcpy(&credentials, CMSG_DATA(control), sizeof credentials);
      reply.worker = credentials.pid;
    }
    return reply;
  }

  std::optional<Reply> Ask(char command) { return Send(command) ? Receive() : std::nullopt; }

  // Neither an answer nor an end comes.
  bool IsSilentFor(int milliseconds) {
    pollfd wait{fd_.get(), POLLIN, 0};
    return poll(&wait, 1, milliseconds) == 0;
  }

  pid_t worker() {
    std::optional<Reply> reply = Ask(kEcho);
    return reply ? reply->worker : -1;
  }

  // Milliseconds until the stream ends; nothing when it does not.
  std::optional<int> WaitForEnd() {
    Clock::time_point start = Clock::now();
    while (Receive()) {
    }
    auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    if (passed.count() >= kPatienceMs) return std::nullopt;
    return static_cast<int>(passed.count());
  }

 private:
  UniqueFd fd_;
};

inline sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

inline UniqueFd NewSocket() { return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

inline bool TryConnect(int fd, const std::string& path) {
  sockaddr_un address = AddressOf(path);
  return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

inline bool Eventually(const std::function<bool()>& condition) {
  Clock::time_point end = Clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (Clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

class EchoDaemonTest : public testing::Test {
 protected:
  EchoDaemonTest() {
    char name[] = "/tmp/webnnd-broker-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/socket";
  }
  ~EchoDaemonTest() override {
    if (daemon_ > 0) Stop(SIGKILL);
    std::filesystem::remove_all(directory_);
  }

  using Variables = std::vector<std::pair<std::string, std::string>>;

  // Runs the broker in a child process. The options are made there, so that no descriptor of the
  // daemon's stays open here.
  void StartWith(const std::function<service::BrokerOptions()>& make_options,
                 const Variables& variables = {}) {
    std::fflush(nullptr);
    daemon_ = fork();
    if (daemon_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    InitLog("broker under test", LogLevel::kError);
    Status status = service::RunBroker(make_options());
    if (!status.ok()) LogError("{}", status.error().ToString());
    _exit(status.ok() ? 0 : 1);
  }

  service::BrokerOptions Listening(bool warm_spare = true) {
    service::BrokerOptions options;
    options.socket_path = path_;
    options.warm_spare = warm_spare;
    return options;
  }

  void Start(bool warm_spare = true, const Variables& variables = {}) {
    StartWith([&] { return Listening(warm_spare); }, variables);
  }

  Client Connect() {
    UniqueFd fd;
    EXPECT_TRUE(Eventually([&] {
      fd = NewSocket();
      return TryConnect(fd.get(), path_);
    }));
    return Client(std::move(fd));
  }

  // The exit status of the daemon, or 128 and the signal.
  int Await() {
    int status = 0;
    waitpid(daemon_, &status, 0);
    daemon_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int Stop(int signal) {
    kill(daemon_, signal);
    return Await();
  }

  size_t DaemonDescriptors() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", daemon_))) {
      ++count;
    }
    return count;
  }

  std::string directory_;
  std::string path_;
  pid_t daemon_ = -1;
};

}  // namespace webnnd::test

#endif  // WEBNND_TESTS_SERVICE_ECHO_DAEMON_H_
