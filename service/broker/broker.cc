#include "service/broker/broker.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "service/broker/socket.h"
#include "service/broker/worker_process.h"

namespace webnnd::service {
namespace {

// Pause after the first worker that fails to start; doubled for each further one.
constexpr int64_t kBackOffFirstMs = 100;
constexpr int64_t kBackOffMaxMs = 5000;
// Pause in accepting when the process is out of descriptors: the listener stays readable.
constexpr int64_t kAcceptPauseMs = 100;

int64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// What an epoll event is about.
enum class Source : uint32_t { kSignal, kListener, kControl, kPidfd };

class Broker {
 public:
  explicit Broker(BrokerOptions options) : options_(std::move(options)) {}

  Status Run();

 private:
  using State = WorkerProcess::State;

  Status Start();
  Status BlockSignals();
  Status Listen();
  Status Watch(int fd, Source source, uint32_t id);
  Status Step();

  void OnEvent(Source source, uint32_t id);
  void OnSignal();
  void OnListener(uint32_t index);
  void OnControl(uint32_t id);
  void OnWorkerEnd(uint32_t id);
  void OnTimers();

  void Admit(UniqueFd client);
  void MatchClients();
  void StartWorkers();
  void StartWorker();
  void OnStartFailure();
  void KillWorker(WorkerProcess& worker, const Error& reason);
  void StopWorkers();

  size_t Count(State state) const;
  bool Listens() const { return socket_file_ || !options_.listening.empty(); }
  bool Idle() const;
  int TimeoutMs() const;

  BrokerOptions options_;
  std::optional<SocketFile> socket_file_;
  UniqueFd epoll_;
  UniqueFd signals_;
  std::vector<int> listeners_;
  std::map<uint32_t, WorkerProcess> workers_;
  // Accepted, and no worker is ready for them yet.
  std::deque<UniqueFd> waiting_;
  uint32_t last_id_ = 0;
  int start_failures_ = 0;  // in a row
  bool ever_ready_ = false;
  int64_t no_start_before_ms_ = 0;
  int64_t accept_again_ms_ = 0;
  bool accepting_ = true;
  bool stopping_ = false;
};

Status Broker::Run() {
  Status status = Start();
  while (status.ok() && !stopping_) status = Step();
  StopWorkers();
  return status;
}

Status Broker::Start() {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoError("epoll_create1");
  TRY(BlockSignals());
  TRY(Listen());
  if (options_.worker.no_sandbox) {
    LogWarning(
        "there is NO SANDBOX (--no-sandbox): a client that takes over its worker can do all "
        "that this user can");
  }
  for (UniqueFd& client : std::exchange(options_.connected, {})) Admit(std::move(client));
  return {};
}

Status Broker::BlockSignals() {
  // Ignored, as some parents leave it, it would make the kernel reap our workers.
  signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoError("sigprocmask");
  signals_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoError("signalfd");
  return Watch(signals_.get(), Source::kSignal, 0);
}

Status Broker::Listen() {
  if (!options_.socket_path.empty()) {
    ASSIGN_OR_RETURN(SocketFile file, SocketFile::Listen(options_.socket_path));
    socket_file_.emplace(std::move(file));
    listeners_.push_back(socket_file_->descriptor());
    LogInfo("listening ({})", options_.socket_path);
  }
  for (const UniqueFd& fd : options_.listening) listeners_.push_back(fd.get());
  for (size_t i = 0; i < listeners_.size(); ++i) {
    TRY(Watch(listeners_[i], Source::kListener, static_cast<uint32_t>(i)));
  }
  INVALID_IF(listeners_.empty() && options_.connected.empty(),
             "there is nothing to serve: no socket path and no descriptor is given");
  return {};
}

Status Broker::Watch(int fd, Source source, uint32_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = uint64_t{static_cast<uint32_t>(source)} << 32 | id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return ErrnoError("epoll_ctl");
  return {};
}

Status Broker::Step() {
  MatchClients();
  StartWorkers();
  epoll_event events[32];
  int count = epoll_wait(epoll_.get(), events, std::size(events), TimeoutMs());
  if (count < 0 && errno != EINTR) return ErrnoError("epoll_wait");
  // Answers are read before deadlines are looked at: after a pause of the broker itself, they wait
  // in the sockets.
  for (int i = 0; i < count; ++i) {
    OnEvent(static_cast<Source>(events[i].data.u64 >> 32),
            static_cast<uint32_t>(events[i].data.u64));
  }
  OnTimers();
  if (!ever_ready_ && start_failures_ >= kWorkerStartAttempts) {
    return DeviceLostError("no worker starts ({} attempts); the log says why", start_failures_);
  }
  if (Idle()) stopping_ = true;
  return {};
}

void Broker::OnEvent(Source source, uint32_t id) {
  switch (source) {
    case Source::kSignal:
      return OnSignal();
    case Source::kListener:
      return OnListener(id);
    case Source::kControl:
      return OnControl(id);
    case Source::kPidfd:
      return OnWorkerEnd(id);
  }
}

void Broker::OnSignal() {
  signalfd_siginfo info;
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return;
  LogInfo("stopping (SIG{})", sigabbrev_np(static_cast<int>(info.ssi_signo)));
  stopping_ = true;
}

void Broker::OnListener(uint32_t index) {
  if (!accepting_) return;
  // A listener from outside may be blocking, so one connection per event.
  UniqueFd client(accept4(listeners_[index], nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client.valid()) {
    if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return;
    LogError("accepting a client fails ({})", strerrorname_np(errno));
    for (int listener : listeners_) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener, nullptr);
    accepting_ = false;
    accept_again_ms_ = NowMs() + kAcceptPauseMs;
    return;
  }
  if (!PeerIsTrusted(client.get())) {
    LogWarning("a client of another user is refused");
    return;
  }
  Admit(std::move(client));
}

void Broker::Admit(UniqueFd client) {
  if (waiting_.size() + Count(State::kServing) >= limits::kWorkersMax) {
    LogWarning("a client is turned away: all workers are taken ({})", limits::kWorkersMax);
    return;
  }
  waiting_.push_back(std::move(client));
}

void Broker::OnControl(uint32_t id) {
  auto found = workers_.find(id);
  if (found == workers_.end() || found->second.state() == State::kDying) return;
  WorkerProcess& worker = found->second;
  bool starting = worker.state() == State::kStarting;
  Result<bool> open = worker.OnReadable(NowMs());
  if (!open.ok()) return KillWorker(worker, open.error());
  if (!*open) {
    // Its end shows at the pidfd; should it live on, its silence kills it.
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, worker.control_descriptor(), nullptr);
    return;
  }
  if (starting && worker.state() == State::kReady) {
    LogInfo("worker {} is ready (pid {})", id, worker.pid());
    start_failures_ = 0;
    ever_ready_ = true;
  }
}

void Broker::KillWorker(WorkerProcess& worker, const Error& reason) {
  // Its end shows at the pidfd.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, worker.control_descriptor(), nullptr);
  LogWarning("worker {} is killed: {}", worker.id(), reason.message());
  if (worker.state() == State::kStarting) OnStartFailure();
  worker.Kill();
}

void Broker::OnWorkerEnd(uint32_t id) {
  auto found = workers_.find(id);
  if (found == workers_.end()) return;
  WorkerProcess& worker = found->second;
  State state = worker.state();
  bool failed = false;
  std::string how = worker.Reap(failed);
  if (failed && state != State::kDying) {
    LogWarning("worker {} {}", id, how);
  } else {
    LogInfo("worker {} {}", id, how);
  }
  if (state == State::kStarting) OnStartFailure();
  // A spare that dies while it waits must not be replaced in a tight loop.
  if (state == State::kReady) no_start_before_ms_ = NowMs() + kBackOffFirstMs;
  workers_.erase(found);
}

void Broker::OnStartFailure() {
  int64_t pause = std::min(kBackOffMaxMs, kBackOffFirstMs << std::min(start_failures_, 10));
  ++start_failures_;
  no_start_before_ms_ = NowMs() + pause;
  if (start_failures_ < kWorkerStartAttempts || waiting_.empty()) return;
  LogError("clients that wait are turned away ({}): no worker starts", waiting_.size());
  waiting_.clear();
}

void Broker::OnTimers() {
  int64_t now = NowMs();
  for (auto& [id, worker] : workers_) {
    if (Status status = worker.OnTimer(now); !status.ok()) KillWorker(worker, status.error());
  }
  if (!accepting_ && now >= accept_again_ms_) {
    accepting_ = true;
    for (size_t i = 0; i < listeners_.size(); ++i) {
      (void)Watch(listeners_[i], Source::kListener, static_cast<uint32_t>(i)).ok();
    }
  }
}

void Broker::MatchClients() {
  for (auto& [id, worker] : workers_) {
    if (waiting_.empty()) return;
    if (worker.state() != State::kReady) continue;
    if (Status status = worker.Serve(waiting_.front()); !status.ok()) {
      KillWorker(worker, status.error());
      continue;
    }
    waiting_.pop_front();
    LogInfo("worker {} has a client", id);
  }
}

void Broker::StartWorkers() {
  bool room = Count(State::kServing) < limits::kWorkersMax;
  // A spare must not compete with a worker that somebody waits for.
  size_t spare = options_.warm_spare && Listens() && room ? 1 : 0;
  size_t wanted = waiting_.empty() ? spare : waiting_.size();
  size_t idle = Count(State::kStarting) + Count(State::kReady);
  while (!stopping_ && idle < wanted && NowMs() >= no_start_before_ms_) {
    StartWorker();
    ++idle;
  }
}

void Broker::StartWorker() {
  WorkerOptions options = options_.worker;
  options.id = ++last_id_;
  Result<WorkerProcess> started = WorkerProcess::Start(options, NowMs());
  if (!started.ok()) {
    LogError("worker {} does not start: {}", options.id, started.error().ToString());
    return OnStartFailure();
  }
  WorkerProcess& worker = workers_.emplace(options.id, *std::move(started)).first->second;
  Status watched = Watch(worker.control_descriptor(), Source::kControl, options.id);
  if (watched.ok()) watched = Watch(worker.pidfd(), Source::kPidfd, options.id);
  if (watched.ok()) return;
  LogError("worker {} cannot be watched: {}", options.id, watched.error().message());
  worker.Kill();
  bool failed = false;
  worker.Reap(failed);
  workers_.erase(options.id);
  OnStartFailure();
}

void Broker::StopWorkers() {
  for (auto& [id, worker] : workers_) worker.Kill();
  bool failed = false;
  for (auto& [id, worker] : workers_) worker.Reap(failed);
  workers_.clear();
}

size_t Broker::Count(State state) const {
  return static_cast<size_t>(
      std::count_if(workers_.begin(), workers_.end(),
                    [&](const auto& entry) { return entry.second.state() == state; }));
}

bool Broker::Idle() const { return !Listens() && waiting_.empty() && Count(State::kServing) == 0; }

int Broker::TimeoutMs() const {
  int64_t deadline = INT64_MAX;
  for (const auto& [id, worker] : workers_) deadline = std::min(deadline, worker.deadline_ms());
  if (!accepting_) deadline = std::min(deadline, accept_again_ms_);
  int64_t now = NowMs();
  if (no_start_before_ms_ > now) deadline = std::min(deadline, no_start_before_ms_);
  if (deadline == INT64_MAX) return -1;
  return static_cast<int>(std::clamp<int64_t>(deadline - now, 0, 60000));
}

}  // namespace

Status RunBroker(BrokerOptions options) { return Broker(std::move(options)).Run(); }

}  // namespace webnnd::service
