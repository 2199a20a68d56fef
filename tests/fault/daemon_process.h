// A real daemon, for tests that kill it or its workers.
#ifndef WEBNND_TESTS_FAULT_DAEMON_PROCESS_H_
#define WEBNND_TESTS_FAULT_DAEMON_PROCESS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace webnnd {

inline double NowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Starts a program; standard output goes to `output` when that is not -1.
inline pid_t StartProgram(std::vector<std::string> words, int output = -1) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  pid_t pid = -1;
  int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << words[0];
  return pid;
}

class DaemonProcess {
 public:
  // What it logs goes to `log`, if that is not empty.
  explicit DaemonProcess(std::vector<std::string> arguments = {}, std::string log = "")
      : arguments_(std::move(arguments)), log_(std::move(log)) {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    Start();
  }
  ~DaemonProcess() {
    if (pid_ > 0) Stop(SIGTERM);
    rmdir(directory_.c_str());
  }

  // Once more, where it has been stopped.
  void Start() {
    const char* program = std::getenv("WEBNND");
    EXPECT_NE(program, nullptr) << "run by ctest, which sets WEBNND";
    if (program == nullptr) return;
    std::vector<std::string> words = {program, "serve", "--socket", socket()};
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    const int log = log_.empty() ? -1 : open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_ = StartProgram(words, log);
    if (log >= 0) close(log);
    for (int i = 0; i < 20000 && !Answers(); ++i) usleep(1000);
  }
  // Its exit status; -1 when a signal ended it.
  int Stop(int signal) {
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string socket() const { return directory_ + "/socket"; }
  pid_t pid() const { return pid_; }
  bool IsRunning() const { return kill(pid_, 0) == 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }

  std::vector<pid_t> Workers() const {
    std::string pid = std::to_string(pid_);
    std::ifstream file("/proc/" + pid + "/task/" + pid + "/children");
    std::vector<pid_t> workers;
    for (pid_t worker = 0; file >> worker;) workers.push_back(worker);
    return workers;
  }

 private:
  // Both its sockets listen; asking for stats takes no worker.
  bool Answers() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (socket() + ".stats").copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool answers =
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    return answers;
  }

  std::vector<std::string> arguments_;
  std::string log_;
  std::string directory_ = "/tmp/webnnd-test-XXXXXX";
  pid_t pid_ = -1;
};

}  // namespace webnnd

#endif  // WEBNND_TESTS_FAULT_DAEMON_PROCESS_H_
