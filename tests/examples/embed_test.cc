// webnn-embed against the sandboxed daemon.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace webnnd {
namespace {

std::string Program(const char* name) {
  const char* bin = getenv("WEBNND_BIN");
  return std::string(bin == nullptr ? "build/dev/bin" : bin) + "/" + name;
}

pid_t Start(std::vector<std::string> words, int output) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (output >= 0) dup2(output, STDOUT_FILENO);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

bool Listens(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

class EmbedTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "embedXXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    socket_ = directory_ + "/socket";
  }
  void TearDown() override {
    unlink(socket_.c_str());
    rmdir(directory_.c_str());
  }
  // What it prints; its exit status in status_.
  std::string RunEmbed() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    UniqueFd from(ends[0]), to(ends[1]);
    const pid_t child = Start({Program("webnn-embed"), socket_}, to.get());
    to.Reset();
    std::string text;
    std::array<char, 512> piece{};
    for (ssize_t got; (got = read(from.get(), piece.data(), piece.size())) > 0;) {
      text.append(piece.data(), static_cast<size_t>(got));
    }
    waitpid(child, &status_, 0);
    return text;
  }

  std::string directory_;
  std::string socket_;
  int status_ = -1;
};

TEST_F(EmbedTest, LostConnection_ComputesAgainOnTheSecondSocket) {
  const pid_t daemon = Start({Program("webnnd"), "serve", "--socket", socket_}, -1);
  for (int i = 0; i < 300 && !Listens(socket_); ++i) poll(nullptr, 0, 100);
  const std::string text = RunEmbed();
  kill(daemon, SIGTERM);
  waitpid(daemon, nullptr, 0);
  EXPECT_EQ(status_, 0) << text;
  for (const char* line :
       {"round 1: 1 + 1 = 2\n", "round 1: 10 + 10 = 20\n", "the context of 1 is lost",
        "the context of 10 is lost", "round 2: 1 + 1 = 2\n", "round 2: 10 + 10 = 20\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

TEST_F(EmbedTest, NobodyListens_Fails) {
  EXPECT_EQ(RunEmbed(), "");
  EXPECT_EQ(WEXITSTATUS(status_), 1);
}

}  // namespace
}  // namespace webnnd
