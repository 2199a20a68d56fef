#include "client/ml.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "client/webnn.h"
#include "ipc/codec.h"
#include "tests/client/fake_service.h"

namespace webnn::test {
namespace {

using webnnd::UniqueFd;

bool Readable(int fd) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

bool AwaitReadable(int fd) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 5000) == 1;
}

using MlTest = ClientTest;

// --- The event descriptor -----------------------------------------------------------------------

TEST_F(MlTest, EventDescriptor_IsReadableExactlyWhileThereIsWork) {
  auto context = MakeContext();
  const int fd = ml_->event_descriptor();
  EXPECT_FALSE(Readable(fd));
  auto future = context->CreateTensor(Float32(4));
  EXPECT_FALSE(Readable(fd));
  auto create = service_.Expect<ipc::CreateTensor>();
  service_.Send(ipc::TensorCreated{create.tensor, std::nullopt});
  ASSERT_TRUE(AwaitReadable(fd));
  EXPECT_FALSE(future.ready()) << "futures complete in ProcessEvents alone";
  ml_->ProcessEvents();
  EXPECT_TRUE(future.ready());
  EXPECT_FALSE(Readable(fd));
  ml_->ProcessEvents();  // Nothing to do, and does not block.
}

TEST_F(MlTest, EventDescriptor_IsReadableForWhatHappensHere) {
  auto context = MakeContext();
  context->Destroy();
  EXPECT_TRUE(Readable(ml_->event_descriptor()));
}

TEST_F(MlTest, Callback_MayCallTheApiAndWait) {
  auto context = MakeContext();
  auto first = context->CreateTensor(Float32(1));
  auto one = service_.Expect<ipc::CreateTensor>();
  bool inner_done = false;
  first.Then([&](const auto&) {
    auto second = context->CreateTensor(Float32(2));
    auto two = service_.Expect<ipc::CreateTensor>();
    service_.Send(ipc::TensorCreated{two.tensor, std::nullopt});
    inner_done = ml_->Wait(second).ok();
  });
  service_.Send(ipc::TensorCreated{one.tensor, std::nullopt});
  EXPECT_TRUE(ml_->Wait(first).ok());
  EXPECT_TRUE(inner_done);
}

TEST_F(MlTest, CallbackDestroysTheMl_EverythingCompletes) {
  auto context = MakeContext();
  auto first = context->CreateTensor(Float32(1));
  auto second = context->CreateTensor(Float32(2));
  auto one = service_.Expect<ipc::CreateTensor>();
  service_.Expect<ipc::CreateTensor>();
  first.Then([&](const auto&) { ml_ = nullptr; });
  service_.Send(ipc::TensorCreated{one.tensor, std::nullopt});
  ASSERT_TRUE(AwaitReadable(ml_->event_descriptor()));
  ml_->ProcessEvents();
  EXPECT_EQ(ml_, nullptr);
  EXPECT_EQ(ErrorOf(second).cause(), Cause::kDeviceLost);
  EXPECT_TRUE(context->is_lost());
}

TEST_F(MlTest, Destroyed_LosesItsContexts) {
  auto context = MakeContext();
  auto tensor = MakeTensor(*context, Float32(4));
  auto read = context->ReadTensor(*tensor);
  auto lost = context->lost();
  ml_ = nullptr;
  ASSERT_TRUE(lost.ready());
  EXPECT_EQ(lost.result()->message, "the ML was destroyed");
  EXPECT_EQ(ErrorOf(read).cause(), Cause::kDeviceLost);
  EXPECT_EQ(ErrorOf(context->CreateTensor(Float32(1))).cause(), Cause::kInvalidState);
}

// --- Losing and reconnecting --------------------------------------------------------------------

TEST_F(MlTest, ConnectionLost_LosesAllContextsAndTheNextOneReconnects) {
  auto one = MakeContext();
  auto two = MakeContext();
  auto tensor = MakeTensor(*one, Float32(4));
  auto pending = two->CreateTensor(Float32(4));
  const int fd = ml_->event_descriptor();
  service_.Close();
  EXPECT_EQ(ml_->Wait(one->lost())->message, "the service closed the connection");
  EXPECT_TRUE(ml_->Wait(two->lost()).ok());
  EXPECT_EQ(ErrorOf(ml_->Wait(pending)).cause(), Cause::kDeviceLost);
  EXPECT_TRUE(tensor->destroyed());
  auto three = MakeContext();
  EXPECT_EQ(service_.connections(), 2);
  EXPECT_EQ(ml_->event_descriptor(), fd);
  MakeTensor(*three, Float32(4));
  tensor = nullptr;  // Of the old connection: nothing is sent on the new one.
  one = nullptr;
  service_.Expect<ipc::DestroyTensor>();  // Three's.
  EXPECT_TRUE(service_.IsQuiet());
}

TEST_F(MlTest, Goodbye_IsTheReasonOfTheLoss) {
  auto context = MakeContext();
  service_.Send(ipc::Goodbye{"the client broke the protocol"});
  EXPECT_EQ(ml_->Wait(context->lost())->message, "the client broke the protocol");
}

TEST_F(MlTest, LostBeforeTheContextIsThere_Rejects) {
  auto future = ml_->CreateContext();
  service_.Greet();
  service_.Expect<ipc::CreateContext>();
  service_.Close();
  EXPECT_EQ(ErrorOf(ml_->Wait(future)).cause(), Cause::kDeviceLost);
}

TEST_F(MlTest, LostUnnoticed_ReconnectsAndStillTellsTheOldContext) {
  auto context = MakeContext();
  auto pending = context->CreateTensor(Float32(4));
  auto creation = ml_->CreateContext();
  service_.Expect<ipc::CreateTensor>();
  service_.Expect<ipc::CreateContext>();
  service_.Close();
  ASSERT_TRUE(AwaitReadable(ml_->event_descriptor()));
  // No ProcessEvents in between.
  auto next = ml_->CreateContext();
  EXPECT_EQ(service_.connections(), 2);
  service_.Greet();
  auto create = service_.Expect<ipc::CreateContext>();
  service_.Send(ipc::ContextCreated{create.context, std::nullopt, true, "new", 1 << 20});
  EXPECT_TRUE(ml_->Wait(next).ok());
  EXPECT_EQ(ErrorOf(ml_->Wait(pending)).cause(), Cause::kDeviceLost);
  EXPECT_EQ(ErrorOf(ml_->Wait(creation)).cause(), Cause::kDeviceLost);
  EXPECT_EQ(ml_->Wait(context->lost())->message, "the service closed the connection");
}

TEST_F(MlTest, ServiceRefuses_RejectsAndTriesAgainNextTime) {
  service_.set_refuse(true);
  EXPECT_EQ(ErrorOf(ml_->CreateContext()).cause(), Cause::kNotSupported);
  service_.set_refuse(false);
  EXPECT_NE(MakeContext(), nullptr);
}

TEST_F(MlTest, ManyConnections_LeakNoDescriptor) {
  const auto count = [] {
    int open = 0;
    for (int fd = 0; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return open;
  };
  int before = 0;
  for (int i = 0; i < 20; ++i) {
    auto context = MakeContext();
    auto tensor = MakeTensor(*context, Float32(5u << 20));
    auto read = context->ReadTensor(*tensor);
    ASSERT_TRUE(context->WriteTensor(*tensor, Pattern(20u << 20)).ok());
    service_.Close();
    EXPECT_TRUE(ml_->Wait(context->lost()).ok());
    EXPECT_FALSE(ml_->Wait(read).ok());
    if (i == 0) before = count();
  }
  EXPECT_LE(count(), before);
}

// --- Ways to connect ----------------------------------------------------------------------------

// The other end of a real socket, which greets and makes one context.
void ServeOneContext(UniqueFd socket) {
  auto channel = ipc::MakeSocketChannel(std::move(socket));
  ASSERT_TRUE(channel.ok());
  ipc::FrameReader reader(**channel);
  ipc::FrameWriter writer(**channel);
  while (true) {
    pollfd entry{.fd = (*channel)->read_descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&entry, 1, 5000), 1);
    ASSERT_TRUE(reader.Fill().ok());
    while (true) {
      auto frame = reader.Next();
      ASSERT_TRUE(frame.ok());
      if (!frame->has_value()) break;
      auto message = ipc::DecodeClientMessage(**frame, reader.descriptors());
      ASSERT_TRUE(message.ok());
      if (const auto* create = std::get_if<ipc::CreateContext>(&*message)) {
        writer.Write(ipc::Encode(ipc::ServiceMessage(
            ipc::ContextCreated{create->context, std::nullopt, false, "socket", 1 << 20})));
        return;
      }
    }
  }
}

TEST(Connect, FromFd_ServesOnceAndThenIsUsedUp) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ML ml(webnn::Connect::FromFd(UniqueFd(pair[0])));
  auto future = ml.CreateContext();
  ServeOneContext(UniqueFd(pair[1]));  // Closes it at its end.
  auto context = ml.Wait(future);
  ASSERT_TRUE(context.ok());
  EXPECT_EQ((*context)->device_name(), "socket");
  EXPECT_TRUE(ml.Wait((*context)->lost()).ok());
  auto again = ml.Wait(ml.CreateContext());
  EXPECT_EQ(ErrorOf(again).cause(), Cause::kNotSupported);
}

TEST(Connect, FromFdThatIsNoSocket_Rejects) {
  int pipes[2];
  ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
  UniqueFd write_end(pipes[1]);
  ML ml(webnn::Connect::FromFd(UniqueFd(pipes[0])));
  EXPECT_FALSE(ml.Wait(ml.CreateContext()).ok());
}

TEST(Connect, ToSocket_Reaches) {
  const std::string path = testing::TempDir() + "webnn-" + std::to_string(getpid());
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ML ml(webnn::Connect::ToSocket(path));
  auto future = ml.CreateContext();
  ServeOneContext(UniqueFd(accept(listener.get(), nullptr, nullptr)));
  EXPECT_TRUE(ml.Wait(future).ok());
  unlink(path.c_str());
}

TEST(Connect, ToSocketWithNobodyThere_Rejects) {
  ML nobody(webnn::Connect::ToSocket("/nonexistent/webnnd.sock"));
  auto error = ErrorOf(nobody.Wait(nobody.CreateContext()));
  EXPECT_EQ(error.cause(), Cause::kNotSupported);
  EXPECT_NE(error.message().find("/nonexistent/webnnd.sock"), std::string::npos);
  ML too_long(webnn::Connect::ToSocket(std::string(200, 'p')));
  EXPECT_EQ(ErrorOf(too_long.Wait(too_long.CreateContext())).cause(), Cause::kNotSupported);
}

TEST(Connect, SpawnOfMissingProgram_Rejects) {
  ML ml(webnn::Connect::Spawn("/nonexistent/webnnd"));
  auto error = ErrorOf(ml.Wait(ml.CreateContext()));
  EXPECT_EQ(error.cause(), Cause::kNotSupported);
  EXPECT_NE(error.message().find("/nonexistent/webnnd"), std::string::npos);
}

TEST(Connect, SpawnOfProgramThatExits_RejectsAndReapsIt) {
  {
    ML ml(webnn::Connect::Spawn("/bin/false"));
    EXPECT_EQ(ErrorOf(ml.Wait(ml.CreateContext())).cause(), Cause::kDeviceLost);
    EXPECT_EQ(ErrorOf(ml.Wait(ml.CreateContext())).cause(), Cause::kDeviceLost);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

// A script in the daemon's place, that writes down how it was started.
class SpawnedScript : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "spawnXXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    script_ = directory_ + "/webnnd";
    std::ofstream(script_) << "#!/bin/sh\necho \"$@\" > " << directory_
                           << "/arguments\nls /proc/$$/fd > " << directory_ << "/descriptors\n";
    ASSERT_EQ(chmod(script_.c_str(), 0700), 0);
  }
  void TearDown() override {
    for (const char* name : {"/webnnd", "/arguments", "/descriptors"}) {
      unlink((directory_ + name).c_str());
    }
    rmdir(directory_.c_str());
  }
  std::string Line(const char* name) {
    std::string text, word;
    std::ifstream file(directory_ + name);
    while (file >> word) text += (text.empty() ? "" : " ") + word;
    return text;
  }
  std::string directory_;
  std::string script_;
};

TEST_F(SpawnedScript, Arguments_FollowServeAndTheSocket) {
  const UniqueFd inheritable(dup(STDIN_FILENO));  // Not close-on-exec: it must not pass on.
  {
    ML ml(webnn::Connect::Spawn(script_, {"--device", "1"}));
    EXPECT_FALSE(ml.Wait(ml.CreateContext()).ok());
  }
  EXPECT_EQ(Line("/arguments"), "serve --fd 3 --device 1");
  std::istringstream descriptors(Line("/descriptors"));
  std::vector<int> low;
  for (int fd; descriptors >> fd;) {
    if (fd < 10) low.push_back(fd);  // The shell keeps its own from 10 up.
  }
  EXPECT_EQ(low, (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(SpawnedScript, Environment_NamesTheProgram) {
  const char* before = getenv("WEBNND");
  const std::string saved = before == nullptr ? "" : before;
  setenv("WEBNND", script_.c_str(), 1);
  {
    ML ml(webnn::Connect::Spawn());
    EXPECT_FALSE(ml.Wait(ml.CreateContext()).ok());
  }
  EXPECT_EQ(Line("/arguments"), "serve --fd 3");
  if (before == nullptr) {
    unsetenv("WEBNND");
  } else {
    setenv("WEBNND", saved.c_str(), 1);
  }
}

}  // namespace
}  // namespace webnn::test
