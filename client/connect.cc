#include "client/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace webnn {
namespace {

namespace ipc = webnnd::ipc;
using webnnd::NotSupportedError;
using webnnd::UniqueFd;
using OpenedChannel = Result<std::unique_ptr<ipc::Channel>>;

// How long a private daemon may take to exit once its socket is closed, before it is killed.
constexpr int kExitMs = 2000;
// Where a private daemon finds its socket.
constexpr int kChildSocket = 3;

struct SocketState final : Connect::State {
  explicit SocketState(std::string socket_path) : path(std::move(socket_path)) {}

  OpenedChannel Open() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
      return NotSupportedError("the path of the service's socket is too long ({} bytes)",
                               path.size());
    }
    path.copy(address.sun_path, path.size());
    // Non-blocking, since a daemon that hangs must not hang its clients.
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return webnnd::ErrnoError("socket");
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return NotSupportedError("the service cannot be reached at its socket ({}: {})", path,
                               strerror(errno));
    }
    return ipc::MakeSocketChannel(std::move(fd));
  }

  std::string path;
};

struct FdState final : Connect::State {
  explicit FdState(UniqueFd handed_over) : socket(std::move(handed_over)) {}

  OpenedChannel Open() override {
    if (!socket) {
      return NotSupportedError("the socket that was handed over is used up, and there is no other");
    }
    return ipc::MakeSocketChannel(std::move(socket));
  }

  UniqueFd socket;
};

struct InProcessState final : Connect::State {
  explicit InProcessState(ipc::InProcessService& in_process) : service(in_process) {}
  OpenedChannel Open() override { return service.Connect(); }
  ipc::InProcessService& service;
};

struct SpawnState final : Connect::State {
  SpawnState(std::string wanted, std::vector<std::string> extra)
      : program(std::move(wanted)), arguments(std::move(extra)) {}
  ~SpawnState() override { Reap(); }

  OpenedChannel Open() override {
    Reap();  // The daemon of the connection before, which has ended.
    std::array<int, 2> pair{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      return webnnd::ErrnoError("socketpair");
    }
    UniqueFd ours(pair[0]), theirs(pair[1]);
    TRY(Start(theirs));
    return ipc::MakeSocketChannel(std::move(ours));
  }

 private:
  // `program`, else $WEBNND, else beside this executable, else by $PATH.
  std::string FindProgram() const {
    if (!program.empty()) return program;
    if (const char* named = getenv("WEBNND"); named != nullptr && *named != '\0') return named;
    std::array<char, 4096> self{};
    const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
    if (length > 0) {
      std::string beside(self.data(), static_cast<size_t>(length));
      beside.replace(beside.rfind('/') + 1, std::string::npos, "webnnd");
      if (access(beside.c_str(), X_OK) == 0) return beside;
    }
    return "webnnd";
  }

  Result<void> Start(const UniqueFd& socket) {
    const std::string path = FindProgram();
    std::vector<std::string> words = {path, "serve", "--fd", std::to_string(kChildSocket)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // The socket and the standard streams are all that the daemon gets of us; not our input.
    posix_spawn_file_actions_adddup2(&actions, socket.get(), kChildSocket);
    posix_spawn_file_actions_addclosefrom_np(&actions, kChildSocket + 1);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // A group of its own: Ctrl-C at the terminal is for the client, which may want to finish.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const int error =
        posix_spawnp(&child, path.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      child = -1;
      return NotSupportedError("the service cannot be started ({}: {})", path, strerror(error));
    }
    return {};
  }

  // The daemon exits when its socket closes, which has happened before this is called.
  void Reap() {
    if (child < 0) return;
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    pollfd entry{.fd = process.get(), .events = POLLIN, .revents = 0};
    if (!process || poll(&entry, 1, kExitMs) != 1) kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    child = -1;
  }

  std::string program;
  std::vector<std::string> arguments;
  pid_t child = -1;
};

}  // namespace

Connect Connect::ToSocket(std::string path) {
  return Connect(std::make_shared<SocketState>(std::move(path)));
}

Connect Connect::FromFd(UniqueFd socket) {
  return Connect(std::make_shared<FdState>(std::move(socket)));
}

Connect Connect::Spawn(std::string program, std::vector<std::string> arguments) {
  return Connect(std::make_shared<SpawnState>(std::move(program), std::move(arguments)));
}

Connect Connect::InProcess(ipc::InProcessService& service) {
  return Connect(std::make_shared<InProcessState>(service));
}

}  // namespace webnn
