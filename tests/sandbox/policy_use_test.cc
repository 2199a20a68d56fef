// Finds rules of the sandbox that nothing needs: a real worker serves an ordinary session while a
// filter reports each of its system calls here, where the policy answers in the kernel's place.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/webnn.h"
#include "ipc/channel.h"
#include "service/sandbox/policy.h"
#include "service/sandbox/spawn.h"
#include "service/session/session.h"
#include "service/vulkan/open_devices.h"
#include "service/worker/worker.h"
#include "tests/sandbox/find_rule.h"
#include "tests/sandbox/run_tests_or_worker.h"

namespace webnnd::test {
namespace {

using service::ControlMessage;
using service::ControlType;
using service::SandboxProfile;
using service::SyscallRule;

// --- The worker. --------------------------------------------------------------------------------

// Only the message that carries the listener has these flags: it must not wait for itself.
constexpr int kListenerFlags = MSG_NOSIGNAL | MSG_DONTROUTE;

// In place of LockDown(): every call of every thread waits for the test's answer.
Status BeWatched(SandboxProfile, service::SandboxRole) {
  constexpr uint32_t kFlagsOffset = offsetof(seccomp_data, args) + 2 * sizeof(uint64_t);
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlagsOffset),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(kListenerFlags), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{std::size(steps), steps};
  long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC |
                              SECCOMP_FILTER_FLAG_TSYNC_ESRCH,
                          &program);
  if (listener < 0) return ErrnoError("seccomp");
  return service::SendWithDescriptor(service::kInheritedDescriptor, {.type = ControlType::kReady},
                                     static_cast<int>(listener), kListenerFlags);
}

void RunWorkerMain(const service::WorkerOptions& options) {
  std::vector<std::shared_ptr<service::Device>> devices;
  service::WorkerHooks hooks;
  hooks.open_devices = [&](const service::KernelCacheLink&) -> Status {
    ASSIGN_OR_RETURN(devices, service::OpenDevices({}, {}));
    return {};
  };
  hooks.serve = [&](UniqueFd client, service::ClientLink& control) {
    auto channel = ipc::MakeSocketChannel(std::move(client));
    if (!channel.ok()) return;
    auto session = service::Session::Create(std::move(*channel), {.devices = devices});
    if (!session.ok()) return;
    (*session)->Run({control.descriptor(), [&control] { return control.OnReadable(); }});
  };
  hooks.lock_down = BeWatched;
  _exit(service::RunWorker(options, hooks));
}

// --- The policy in the kernel's place. ----------------------------------------------------------

// Answers all calls of the worker by the table, and counts which rule did.
class Watcher {
 public:
  Watcher(SandboxProfile profile, UniqueFd listener)
      : rules_(service::SyscallPolicy(profile)),
        uses_(rules_.size()),
        listener_(std::move(listener)),
        thread_([this] { Run(); }) {}
  ~Watcher() { thread_.join(); }

  // After the worker has ended.
  void Finish() {
    thread_.join();
    thread_ = std::thread([] {});
  }
  const std::vector<SyscallRule>& rules() const { return rules_; }
  const std::vector<uint64_t>& uses() const { return uses_; }
  const std::set<std::string>& forbidden() const { return forbidden_; }

 private:
  void Run() {
    seccomp_notif call{};
    for (;;) {
      pollfd wait{listener_.get(), POLLIN, 0};
      if (poll(&wait, 1, -1) < 0 && errno != EINTR) return;
      if ((wait.revents & POLLIN) == 0) {
        if ((wait.revents & (POLLHUP | POLLERR)) != 0) return;
        continue;
      }
      std::memset(&call, 0, sizeof call);
      // It fails when the thread has died in between.
      if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
      seccomp_notif_resp answer = Answer(call);
      (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
  }

  seccomp_notif_resp Answer(const seccomp_notif& call) {
    seccomp_notif_resp answer{};
    answer.id = call.id;
    std::string name = NameOf(call.data.nr);
    uint64_t arguments[6];
    std::memcpy(arguments, call.data.args, sizeof arguments);
    // A worker is alone in its pid namespace.
    const SyscallRule* rule = FindRule(rules_, name, arguments, 1);
    if (rule == nullptr) {
      forbidden_.insert(name);
      answer.error = -EPERM;
      return answer;
    }
    ++uses_[static_cast<size_t>(rule - rules_.data())];
    if (rule->action == service::RuleAction::kAllow) {
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
      answer.error = -rule->error;
    }
    return answer;
  }

  const std::string& NameOf(int number) {
    auto [found, is_new] = names_.try_emplace(number);
    if (is_new) {
      char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
      found->second = name != nullptr ? name : fmt::format("{}", number);
      free(name);
    }
    return found->second;
  }

  std::vector<SyscallRule> rules_;
  std::vector<uint64_t> uses_;
  std::set<std::string> forbidden_;
  std::map<int, std::string> names_;
  UniqueFd listener_;
  std::thread thread_;
};

// A worker without a broker, up to its first message, which brings the listener.
struct WatchedWorker {
  service::SpawnedProcess process;
  UniqueFd control;
  UniqueFd listener;
};

UniqueFd ReceiveDescriptor(int socket) {
  ControlMessage message;
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = ancillary;
  header.msg_controllen = sizeof ancillary;
  if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != sizeof message) return UniqueFd();
  cmsghdr* control = CMSG_FIRSTHDR(&header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return UniqueFd();
  int fd;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  return UniqueFd(fd);
}

Result<WatchedWorker> StartWorker(SandboxProfile profile) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return ErrnoError("socketpair");
  }
  WatchedWorker worker;
  worker.control.Reset(pair[0]);
  UniqueFd theirs(pair[1]);
  service::SpawnOptions spawn{.arguments = {"test", "worker"},
                              .inherited_descriptors = {theirs.get()}};
  service::WorkerOptions options{.control_fd = service::kInheritedDescriptor, .profile = profile};
  options.kernel_cache = true;
  for (std::string& word : ToArguments(options)) spawn.arguments.push_back(std::move(word));
  for (const service::VariableRule& rule : service::EnvironmentPolicy(profile, options.kernel_cache)) {
    spawn.environment.push_back(fmt::format("{}={}", rule.name, rule.value));
  }
  ASSIGN_OR_RETURN(worker.process, service::Spawn(spawn));
  theirs.Reset();
  worker.listener = ReceiveDescriptor(worker.control.get());
  if (!worker.listener.valid()) return InternalError("the worker sends no listener");
  return worker;
}

// --- An ordinary session. -----------------------------------------------------------------------

using webnn::Operand;
using webnn::OperandDataType;
using webnn::Shape;

constexpr auto kFloat = OperandDataType::kFloat32;

// Everything that clients commonly do: a model whose weights come inline, through the arena and
// from a file, tensors small and larger than the arena, dispatches and bindings, a graph that is
// refused.
void UseService(UniqueFd socket) {
  webnn::ML ml(webnn::Connect::FromFd(std::move(socket)));
  auto context = ml.Wait(ml.CreateContext());
  ASSERT_TRUE(context.ok()) << context.error().ToString();
  auto make_tensor = [&](const Shape& shape) {
    auto tensor = ml.Wait((*context)->CreateTensor({kFloat, shape, true, true}));
    EXPECT_TRUE(tensor.ok()) << tensor.error().ToString();
    return *tensor;
  };

  constexpr uint32_t kEdge = 64;
  std::vector<float> values(kEdge * kEdge);
  std::iota(values.begin(), values.end(), 0.0f);
  std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  UniqueFd file(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  // Sealed, as memory that the client shares always is.
  UniqueFd memory(memfd_create("weights", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(write(memory.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);

  webnn::GraphBuilder builder(*context);
  Operand x = builder.Input("x", kFloat, Shape{kEdge, kEdge}).value();
  Operand a = builder.Constant(kFloat, {kEdge, kEdge}, bytes).value();
  Operand b = builder.ConstantFromFile(kFloat, {kEdge, kEdge}, file.get(), 0).value();
  Operand c = builder.ConstantFromFile(kFloat, {kEdge, kEdge}, memory.get(), 0).value();
  Operand y = builder.Matmul(builder.Add(x, a).value(), builder.Mul(b, c).value()).value();
  y = builder
          .Softmax(
              builder
                  .Conv2d(
                      builder.Reshape(y, {1, 1, kEdge, kEdge}).value(),
                      builder.Reshape(builder.Constant(kFloat, 1.0).value(), {1, 1, 1, 1}).value())
                  .value(),
              3)
          .value();
  auto graph = ml.Wait(builder.Build({{"y", builder.Reshape(y, {kEdge, kEdge}).value()}}));
  ASSERT_TRUE(graph.ok()) << graph.error().ToString();
  auto input = make_tensor({kEdge, kEdge}), output = make_tensor({kEdge, kEdge});
  ASSERT_TRUE((*context)->WriteTensor(*input, bytes).ok());
  auto binding = (*context)->Bind(**graph, {{"x", input}}, {{"y", output}});
  ASSERT_TRUE(binding.ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*context)->Dispatch(**graph, {{"x", input}}, {{"y", output}}).ok());
    ASSERT_TRUE((*context)->Dispatch(**binding).ok());
    ASSERT_TRUE(ml.Wait((*context)->ReadTensor(*output)).ok());
  }
  auto large = make_tensor({5 << 20});
  std::vector<std::byte> much(large->byte_length(), std::byte{1});
  ASSERT_TRUE((*context)->WriteTensor(*large, much).ok());
  auto read = ml.Wait((*context)->ReadTensor(*large));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, much);
  (*context)->Destroy();
}

// The worker that has served one ordinary session, and what it asked of the kernel meanwhile.
TEST(PolicyUse, OrdinarySession_NeedsEveryRuleThatIsNotRare) {
  // A sanitizer makes calls of its own.
  if (service::DefaultSandboxProfile() == SandboxProfile::kDebug) GTEST_SKIP();
  Result<WatchedWorker> worker = StartWorker(SandboxProfile::kStrict);
  ASSERT_TRUE(worker.ok()) << worker.error().ToString();
  Watcher watcher(SandboxProfile::kStrict, std::move(worker->listener));
  // kReady; the broker's part.
  ControlMessage ready;
  ASSERT_EQ(recv(worker->control.get(), &ready, sizeof ready, 0), ssize_t{sizeof ready});
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  UniqueFd ours(pair[0]), theirs(pair[1]);
  ASSERT_TRUE(service::SendWithDescriptor(worker->control.get(), {.type = ControlType::kServe},
                                          theirs.get(), MSG_NOSIGNAL)
                  .ok());
  theirs.Reset();
  UseService(std::move(ours));
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PIDFD, static_cast<id_t>(worker->process.pidfd.get()), &info, WEXITED), 0);
  EXPECT_EQ(info.si_code, CLD_EXITED);
  EXPECT_EQ(info.si_status, 0);
  watcher.Finish();

  EXPECT_EQ(watcher.forbidden(), std::set<std::string>());
  for (size_t i = 0; i < watcher.rules().size(); ++i) {
    const SyscallRule& rule = watcher.rules()[i];
    EXPECT_TRUE(rule.rare || watcher.uses()[i] > 0)
        << "nothing needs the rule for " << rule.name << " (" << rule.reason << ")";
    if (rule.rare && watcher.uses()[i] > 0) {
      std::printf("used though rare: %s (%s), %llu times\n", std::string(rule.name).c_str(),
                  std::string(rule.reason).c_str(),
                  static_cast<unsigned long long>(watcher.uses()[i]));
    }
  }
}

}  // namespace
}  // namespace webnnd::test

int main(int argc, char** argv) {
  return webnnd::test::RunTestsOrWorker(argc, argv, webnnd::test::RunWorkerMain);
}
