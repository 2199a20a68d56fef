// The matrix of kills: a worker that dies or hangs costs its own client, and nobody else.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "client/webnn.h"
#include "tests/fault/counting_client.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/daemon_stats.h"

namespace webnnd {
namespace {

using webnn::Connect;
using webnn::OperandDataType;

// Sanitized programs and drivers start several times slower; the promise is for the real ones.
#ifdef WEBNND_SANITIZERS
constexpr double kSlack = 10;
#else
constexpr double kSlack = 1;
#endif

// How often the random kill is tried; WEBNND_KILL_ROUNDS=200 for the whole promise.
int Rounds() {
  const char* rounds = std::getenv("WEBNND_KILL_ROUNDS");
  return rounds == nullptr ? 10 : std::atoi(rounds);
}

std::string MedianAndMost(std::vector<double> values_ms) {
  std::sort(values_ms.begin(), values_ms.end());
  char text[100];
  snprintf(text, sizeof text, "median %.1f ms, maximum %.1f ms", values_ms[values_ms.size() / 2],
           values_ms.back());
  return text;
}

class Client : public CountingClient {
 public:
  explicit Client(const std::string& socket) : CountingClient(Connect::ToSocket(socket)) { Open(); }
};

class KillTest : public testing::Test {
 protected:
  // Both connect in turn, so that each worker is known.
  void SetUp() override {
    std::vector<pid_t> before = daemon_.Workers();
    victim_ = std::make_unique<Client>(daemon_.socket());
    std::vector<pid_t> workers = daemon_.Workers();
    ASSERT_EQ(workers.size(), 1u);
    victim_worker_ = workers[0];
    witness_ = std::make_unique<Client>(daemon_.socket());
    ASSERT_TRUE(victim_->Step().ok());
    ASSERT_TRUE(witness_->Step().ok());
  }

  void ExpectOthersUndisturbedAndReconnects() {
    EXPECT_TRUE(daemon_.IsRunning());
    auto status = witness_->Step();
    EXPECT_TRUE(status.ok()) << status.error().ToString();
    EXPECT_FALSE(witness_->context().is_lost());
    double begin = NowMs();
    victim_->Open();
    EXPECT_LT(NowMs() - begin, 1000 * kSlack);
    status = victim_->Step();
    EXPECT_TRUE(status.ok()) << status.error().ToString();
  }

  DaemonProcess daemon_{{"--no-warm-spare"}};
  std::unique_ptr<Client> victim_;
  std::unique_ptr<Client> witness_;
  pid_t victim_worker_ = -1;
};

TEST_F(KillTest, WorkerKilled_ContextLostWithin100ms) {
  ASSERT_EQ(kill(victim_worker_, SIGKILL), 0);
  double lost_ms = victim_->WaitUntilLost(5000);
  EXPECT_GE(lost_ms, 0);
  EXPECT_LT(lost_ms, 100 * kSlack);
  auto info = victim_->ml().Wait(victim_->context().lost());
  ASSERT_TRUE(info.ok());
  EXPECT_FALSE(info->message.empty());
  EXPECT_FALSE(victim_->Step().ok());
  ExpectOthersUndisturbedAndReconnects();
}

TEST_F(KillTest, WorkerKilledWithWorkInFlight_PendingReadsReject) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(victim_->Step().ok());
  auto large = victim_->ml().Wait(victim_->context().CreateTensor(
      {OperandDataType::kFloat32, {1 << 20}, /*readable=*/true, /*writable=*/true}));
  ASSERT_TRUE(large.ok());
  auto pending = victim_->context().ReadTensor(**large);
  ASSERT_EQ(kill(victim_worker_, SIGKILL), 0);
  auto result = victim_->ml().Wait(pending);
  // It may have been answered just before.
  if (!result.ok()) {
    EXPECT_EQ(result.error().cause(), Cause::kDeviceLost);
  }
  EXPECT_GE(victim_->WaitUntilLost(5000), 0);
  ExpectOthersUndisturbedAndReconnects();
}

// In the middle of whatever it does: creating a context, building, dispatching, reading.
TEST(KillAtRandom, WorkerKilled_LostIsToldAndANewContextWorks) {
  DaemonProcess daemon;
  Client witness(daemon.socket());
  Client victim(daemon.socket());
  auto descriptors = [&] {
    return std::distance(
        std::filesystem::directory_iterator("/proc/" + std::to_string(daemon.pid()) + "/fd"),
        std::filesystem::directory_iterator());
  };
  // The witness's, the victim's and the spare.
  for (int i = 0; i < 20000 && daemon.Workers().size() < 3; ++i) usleep(1000);
  const auto descriptors_before = descriptors();
  std::mt19937 random(std::random_device{}());
  std::vector<double> lost_ms, again_ms;
  for (int round = 0; round < Rounds(); ++round) {
    const pid_t worker = LastWorkerOf(daemon.socket(), getpid());
    ASSERT_GT(worker, 0) << "round " << round;
    double killed_at = 0;
    const int delay_us = static_cast<int>(random() % 20000);
    std::thread killer([&] {
      usleep(static_cast<useconds_t>(delay_us));
      killed_at = NowMs();
      kill(worker, SIGKILL);
    });
    Result<void> step;
    while ((step = victim.Step()).ok()) {
    }
    EXPECT_NE(step.error().cause(), Cause::kInternal) << step.error().ToString();
    ASSERT_GE(victim.WaitUntilLost(5000), 0) << "round " << round;
    const double lost_at = NowMs();
    killer.join();
    lost_ms.push_back(lost_at - killed_at);
    auto info = victim.ml().Wait(victim.context().lost());
    ASSERT_TRUE(info.ok());
    EXPECT_FALSE(info->message.empty());
    victim.Open();
    again_ms.push_back(NowMs() - lost_at);
    const auto status = witness.Step();
    ASSERT_TRUE(status.ok()) << status.error().ToString();
  }
  EXPECT_LT(*std::max_element(lost_ms.begin(), lost_ms.end()), 100 * kSlack);
  EXPECT_LT(*std::max_element(again_ms.begin(), again_ms.end()), 1000 * kSlack);
  // The witness's, the victim's and the spare.
  for (int i = 0; i < 5000 && (daemon.Workers().size() > 3 || descriptors() > descriptors_before);
       ++i) {
    usleep(1000);
  }
  EXPECT_LE(daemon.Workers().size(), 3u);
  EXPECT_LE(descriptors(), descriptors_before);
  std::printf("%zu kills, from death to lost: %s\nfrom lost to a new context: %s\n", lost_ms.size(),
              MedianAndMost(lost_ms).c_str(), MedianAndMost(again_ms).c_str());
  std::printf("left by them: %td workers, %td descriptors of the daemon's\n",
              static_cast<std::ptrdiff_t>(daemon.Workers().size()) - 3,
              descriptors() - descriptors_before);
}

TEST_F(KillTest, WorkerStopped_WatchdogNotices) {
  ASSERT_EQ(kill(victim_worker_, SIGSTOP), 0);
  double lost_ms = victim_->WaitUntilLost(10000);
  EXPECT_GE(lost_ms, 0);
  // Silence of a second, found at a heartbeat.
  EXPECT_LT(lost_ms, 2000 * kSlack);
  ExpectOthersUndisturbedAndReconnects();
}

TEST_F(KillTest, ClientKilled_WorkerEnds) {
  pid_t child = fork();
  if (child == 0) {
    Client client(daemon_.socket());
    (void)client.Step();
    pause();
    _exit(0);
  }
  for (int i = 0; i < 10000 && daemon_.Workers().size() < 3; ++i) usleep(1000);
  ASSERT_EQ(daemon_.Workers().size(), 3u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 5000 && daemon_.Workers().size() > 2; ++i) usleep(1000);
  EXPECT_EQ(daemon_.Workers().size(), 2u);
  EXPECT_TRUE(witness_->Step().ok());
}

// The whole main job: the worker dies in the middle of a story.
TEST(KillGenerate, WorkerKilledInTheMiddle_ProgramEndsWithAClearError) {
  const char* bin = std::getenv("WEBNND_BIN");
  ASSERT_NE(bin, nullptr);
  DaemonProcess daemon({"--no-warm-spare"});
  std::string output_path = testing::TempDir() + "/killed-story.txt";
  int output = open(output_path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(output, 0);
  pid_t generate = StartProgram(
      {std::string(bin) + "/webnn-generate", "--model", "examples/models/tiny-tales", "--prompt",
       "Once upon a time", "--tokens", "450", "--ignore-eos", "--socket", daemon.socket()},
      output);
  // Some of the story is there, and it is not at its end.
  off_t size = 0;
  for (int i = 0; i < 60000 && size < 300; ++i) {
    usleep(1000);
    size = lseek(output, 0, SEEK_END);
  }
  std::vector<pid_t> workers = daemon.Workers();
  ASSERT_EQ(workers.size(), 1u);
  kill(workers[0], SIGKILL);
  double begin = NowMs();
  int status = 0;
  ASSERT_EQ(waitpid(generate, &status, 0), generate);
  EXPECT_LT(NowMs() - begin, 2000 * kSlack);
  close(output);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::stringstream text;
  text << std::ifstream(output_path).rdbuf();
  EXPECT_NE(text.str().find("webnn-generate:"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("lost"), std::string::npos) << text.str();
  EXPECT_TRUE(daemon.IsRunning());
}

}  // namespace
}  // namespace webnnd
