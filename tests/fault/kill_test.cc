// The matrix of kills: a worker that dies or hangs costs its own client, and nobody else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "client/webnn.h"
#include "tests/fault/daemon_process.h"

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

// A client that adds one to a counter on the device, over and over, and checks each result.
class Client {
 public:
  explicit Client(const std::string& socket) : ml_(Connect::ToSocket(socket)) { Open(); }

  void Open() {
    auto context = ml_.Wait(ml_.CreateContext());
    ASSERT_TRUE(context.ok()) << context.error().ToString();
    context_ = *context;
    webnn::GraphBuilder builder(context_);
    auto x = builder.Input("x", OperandDataType::kFloat32, webnn::Shape{256}).value();
    auto one = builder.Constant(OperandDataType::kFloat32, 1.0).value();
    auto y = builder.Add(x, one).value();
    auto graph = ml_.Wait(builder.Build({{"y", y}}));
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    graph_ = *graph;
    for (auto& tensor : tensors_) {
      auto made = ml_.Wait(context_->CreateTensor(
          {OperandDataType::kFloat32, {256}, /*readable=*/true, /*writable=*/true}));
      ASSERT_TRUE(made.ok()) << made.error().ToString();
      tensor = *made;
    }
    steps_ = 0;
  }

  Result<void> Step() {
    auto& from = tensors_[steps_ % 2];
    auto& to = tensors_[(steps_ + 1) % 2];
    TRY(context_->Dispatch(*graph_, {{"x", from}}, {{"y", to}}));
    ++steps_;
    ASSIGN_OR_RETURN(auto bytes, ml_.Wait(context_->ReadTensor(*to)));
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    if (value != static_cast<float>(steps_))
      return InternalError("the counter ({}) is wrong", value);
    return {};
  }

  // Milliseconds until `lost` completes, watching the descriptor as an embedder does; -1 for never.
  double WaitUntilLost(double limit_ms) {
    double begin = NowMs();
    while (!context_->is_lost()) {
      double left = limit_ms - (NowMs() - begin);
      if (left <= 0) return -1;
      pollfd polled{ml_.event_descriptor(), POLLIN, 0};
      poll(&polled, 1, static_cast<int>(left) + 1);
      ml_.ProcessEvents();
    }
    return NowMs() - begin;
  }

  webnn::ML& ml() { return ml_; }
  webnn::Context& context() { return *context_; }

 private:
  webnn::ML ml_;
  std::shared_ptr<webnn::Context> context_;
  std::shared_ptr<webnn::Graph> graph_;
  std::shared_ptr<webnn::Tensor> tensors_[2];
  int steps_ = 0;
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
