// webnn-embed SOCKET: embeds the client as a browser would (README.md says what happens here).
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/webnn.h"

namespace {

using webnn::OperandDataType;
using webnnd::UniqueFd;

// The parent's part: it may connect, and the child may not.
UniqueFd ConnectToDaemon(const char* path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  perror(path);
  return {};
}

// The child's part: a loop of its own, with the client's one descriptor in it.
class Renderer {
 public:
  Renderer(std::array<UniqueFd, 2> sockets, UniqueFd report)
      : sockets_(std::move(sockets)), report_(std::move(report)) {}

  int Run() {
    Begin();
    while (exit_code_ < 0) {
      pollfd entry{.fd = ml_->event_descriptor(), .events = POLLIN, .revents = 0};  // And yours.
      poll(&entry, 1, -1);
      if (entry.revents != 0) ml_->ProcessEvents();
      // A loss asked for this; not in its callback, which the old ML is still running.
      if (begin_again_) Begin();
    }
    return exit_code_;
  }

 private:
  // Two contexts, which share the connection and its worker.
  void Begin() {
    if (round_ == sockets_.size()) return Fail("there is no other socket");
    ml_ = std::make_unique<webnn::ML>(webnn::Connect::FromFd(std::move(sockets_[round_++])));
    begin_again_ = false;
    results_ = 0;
    for (float value : {1.0f, 10.0f}) {
      ml_->CreateContext().Then([this, value](const auto& context) {
        if (!Ok(context)) return;
        (*context)->lost().Then([this, value, round = round_](const auto& info) {
          fmt::print("the context of {} is lost: {}\n", value, info->message);
          if (round == 1) begin_again_ = true;
        });
        MakeTensors(*context, value);
      });
    }
  }

  void MakeTensors(const std::shared_ptr<webnn::Context>& context, float value) {
    auto in = context->CreateTensor({OperandDataType::kFloat32, {4}, false, true});
    auto out = context->CreateTensor({OperandDataType::kFloat32, {4}, true, false});
    in.Then([=, this](const auto& in) mutable {
      if (!Ok(in)) return;
      out.Then([=, this, in = *in](const auto& out) {
        if (Ok(out)) BuildAndRun(context, in, *out, value);
      });
    });
  }

  using TensorPtr = std::shared_ptr<webnn::Tensor>;
  // out = in + in; nothing here waits.
  void BuildAndRun(const std::shared_ptr<webnn::Context>& context, const TensorPtr& in,
                   const TensorPtr& out, float value) {
    webnn::GraphBuilder builder(context);
    auto x = builder.Input("x", OperandDataType::kFloat32, webnn::Shape{4});
    if (!Ok(x)) return;
    auto y = builder.Add(*x, *x);
    if (!Ok(y)) return;
    builder.Build({{"y", *y}}).Then([=, this](const auto& graph) {
      const std::vector<float> data(4, value);
      if (!Ok(graph) || !Ok(context->WriteTensor(*in, std::as_bytes(std::span(data))))) return;
      if (!Ok(context->Dispatch(**graph, {{"x", in}}, {{"y", out}}))) return;
      // The callback holds the context, which would go out of use otherwise.
      context->ReadTensor(*out).Then([=, this](const auto& bytes) {
        if (Ok(bytes)) OnResult(context, value, *bytes);
      });
    });
  }

  void OnResult(std::shared_ptr<webnn::Context> context, float value,
                const std::vector<std::byte>& bytes) {
    float result = 0;
    memcpy(&result, bytes.data(), sizeof result);
    fmt::print("round {}: {} + {} = {}\n", round_, value, value, result);
    contexts_.push_back(std::move(context));
    if (++results_ == 2 && round_ == 2) exit_code_ = 0;
    // Tells the parent, who then cuts the connection: what a loss looks like.
    if (results_ == 2 && round_ == 1 && write(report_.get(), "1", 1) != 1) Fail("no parent");
  }

  template <class T>
  bool Ok(const webnn::Result<T>& result) {
    return result.ok() || (Fail(result.error().ToString()), false);
  }
  void Fail(const std::string& why) {
    fmt::print(stderr, "webnn-embed: {}\n", why);
    exit_code_ = 1;
  }

  std::array<UniqueFd, 2> sockets_;
  UniqueFd report_;
  size_t round_ = 0;
  int results_ = 0;
  int exit_code_ = -1;
  bool begin_again_ = false;
  std::vector<std::shared_ptr<webnn::Context>> contexts_;
  std::unique_ptr<webnn::ML> ml_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return fmt::print(stderr, "usage: webnn-embed SOCKET\n"), 2;
  std::array<UniqueFd, 2> sockets = {ConnectToDaemon(argv[1]), ConnectToDaemon(argv[1])};
  std::array<int, 2> report{};
  if (!sockets[0] || !sockets[1] || pipe(report.data()) != 0) return 1;
  UniqueFd heard(report[0]), tell(report[1]);
  const pid_t child = fork();  // Before any thread; the child inherits the sockets.
  if (child == 0) return Renderer(std::move(sockets), std::move(tell)).Run();
  tell.Reset();
  sockets[1].Reset();
  char byte = 0;
  if (read(heard.get(), &byte, 1) == 1) shutdown(sockets[0].get(), SHUT_RDWR);
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
