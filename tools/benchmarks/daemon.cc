#include "tools/benchmarks/daemon.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/unique_fd.h"
#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

constexpr double kStartSecondsMax = 20;
constexpr double kCompileSecondsMax = 120;

bool CanConnect(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

uint64_t ReadKilobytes(const std::string& path, const std::string& field) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(field, 0) == 0) return std::strtoull(line.c_str() + field.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace

Result<Daemon> Daemon::Start(const std::string& program, std::vector<std::string> arguments) {
  std::string directory = "/tmp/webnnd-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return ErrnoError("mkdtemp");
  return StartIn(directory, program, std::move(arguments));
}

Result<Daemon> Daemon::StartIn(const std::string& directory, const std::string& program,
                               std::vector<std::string> arguments) {
  // Nothing that was compiled before counts, unless the arguments say so.
  std::vector<std::string> words = {program,          "serve", "--socket", directory + "/socket",
                                    "--kernel-cache", ""};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  setenv("WEBNND_LOG", "error", /*overwrite=*/0);
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError("fork");
  if (pid == 0) {
    // A benchmark that ends in the middle (must.h) leaves none behind.
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() == self) execv(program.c_str(), argv.data());
    _exit(127);
  }
  Daemon daemon(pid, directory);
  double end = Now() + kStartSecondsMax;
  while (access(daemon.socket().c_str(), F_OK) != 0 || !CanConnect(daemon.socket())) {
    if (Now() > end || waitpid(pid, nullptr, WNOHANG) != 0) {
      return InternalError("the daemon does not start ({})", program);
    }
    usleep(1000);
  }
  return daemon;
}

Daemon::Daemon(pid_t pid, std::string directory)
    : pid_(pid), directory_(std::move(directory)), socket_(directory_ + "/socket") {}

Daemon::Daemon(Daemon&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      directory_(std::move(other.directory_)),
      socket_(std::move(other.socket_)) {}

Daemon::~Daemon() {
  if (pid_ < 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(kernel_cache(), ignored);
  rmdir(directory_.c_str());
}

Result<Daemon> Daemon::StartWithKernelCache(const std::string& program) {
  std::string directory = "/tmp/webnnd-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return ErrnoError("mkdtemp");
  return StartIn(directory, program, {"--kernel-cache", directory + "/cache"});
}

bool Daemon::AwaitKernels() const {
  // A spare, and one that compiles: until it has been alone for a while.
  double alone_since = Now();
  for (const double end = alone_since + kCompileSecondsMax; Now() < end; usleep(10'000)) {
    if (Workers().size() > 1) alone_since = Now();
    if (Now() - alone_since > 1 && access((kernel_cache() + "/kernels").c_str(), F_OK) == 0) {
      return true;
    }
  }
  return false;
}

std::vector<pid_t> Daemon::Workers() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) +
                     "/children");
  std::vector<pid_t> workers;
  for (pid_t pid = 0; file >> pid;) workers.push_back(pid);
  return workers;
}

MemoryUse ReadMemoryUse(pid_t pid) {
  std::string directory = "/proc/" + std::to_string(pid);
  return {ReadKilobytes(directory + "/status", "VmRSS:") << 10,
          ReadKilobytes(directory + "/status", "VmHWM:") << 10,
          ReadKilobytes(directory + "/smaps_rollup", "Pss:") << 10};
}

}  // namespace webnnd::benchmarks
