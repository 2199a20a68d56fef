#include "service/broker/broker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/fault.h"
#include "base/limits.h"
#include "base/log.h"
#include "service/broker/kernel_cache.h"
#include "service/broker/line_limiter.h"
#include "service/broker/socket.h"
#include "service/broker/stats.h"
#include "service/broker/worker_groups.h"
#include "service/broker/worker_process.h"

namespace webnnd::service {
namespace {

using fault::Kind;

// Pause in accepting, or in receiving from a worker, when it fails: the socket stays readable.
constexpr int64_t kPauseMs = 100;
// How long a spare lives at least, however often the image of kernels changes.
constexpr int64_t kReplaceSpareMs = 1000;
// More than may be ready at once by default, so that all that waits is seen before the time is.
constexpr size_t kEventsMax = 1024;
// What a worker sends at most between one ping and the next, so that its answer is seen at once.
constexpr int kPacketsPerTurn =
    2 * limits::kClientsPerSharedWorkerMax + 2 + 2 * int{limits::kKernelReportsMax};
// No further worker is started when less memory is left: three times what one takes whose client
// has done nothing.
constexpr uint64_t kMemoryLeftMin = 256ull << 20;

int64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// What an epoll event is about.
enum class Source : uint32_t { kSignal, kListener, kStats, kClient, kControl, kPidfd, kCompiler };

// A client without a process that the kernel names, for it lives in another namespace, counts to
// one process with all such.
Peer PeerOf(const UniqueFd& client) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  Peer peer{.since_ms = NowMs()};
  if (SYS_CALL(Kind::kReceive,
               getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length)) == 0) {
    peer.pid = credentials.pid;
    peer.uid = credentials.uid;
  }
  return peer;
}

class Broker final : public WorkerActions {
 public:
  explicit Broker(BrokerOptions options) : options_(std::move(options)) {}

  Status Run();

 private:
  Status Open();
  Status BlockSignals();
  Status Listen();
  Status ListenForStats();
  Status WatchListeners();
  void MakeGroups();
  void OpenKernelCache();
  void RunCompiler();
  void AnswerFetches();
  void ReplaceStaleSpare();
  UniqueFd Accept(int listener);
  Status Watch(int fd, Source source, uint32_t id, uint32_t events = EPOLLIN);
  void Unwatch(int fd);
  Status Step();

  Status OnEvent(Source source, uint32_t id);
  Status OnSignal();
  void OnListener(uint32_t index);
  void OnStats();
  void OnControl(uint32_t id);
  void OnWorkerEnd(uint32_t id);

  // What the pool decides.
  Status Start(uint32_t id) override;
  PingResult Ping(uint32_t id, uint32_t sequence) override;
  std::optional<ThreadTimes> TimesOf(uint32_t id) override;
  Status Serve(uint32_t id, uint32_t client) override;
  void Kill(uint32_t id) override;
  void TurnAway(uint32_t client, const Status& why) override;
  void OnLeft(uint32_t client) override { peers_.erase(client); }
  void OnKernel(uint32_t id, const CompiledKernel& kernel) override {
    kernel_cache_->Add(id, kernel, NowMs());
  }
  void OnFetch(uint32_t id, uint32_t sequence) override {
    kernel_cache_->Fetch(id, sequence, NowMs());
  }
  bool HasMemory(bool newcomers) override;

  void Admit(UniqueFd client);
  // A line in the log about a client that is not served, not one for each.
  void LogRefusal(std::string_view what);
  void LogLeftOut();
  void PauseAccepting();
  void ResumeAccepting();
  void PauseReceiving(uint32_t id);
  void ResumeReceiving();
  void StopWorkers();
  // An invalid descriptor, and a line in the log, where there is none.
  UniqueFd OpenTraceFile(uint32_t worker) const;
  Stats CollectStats() const;

  bool Listens() const { return socket_file_ || !options_.listening.empty(); }
  int TimeoutMs() const;

  BrokerOptions options_;
  std::optional<SocketFile> socket_file_;
  std::optional<SocketFile> stats_file_;
  UniqueFd epoll_;
  UniqueFd signals_;
  std::vector<int> listeners_;
  std::optional<WorkerPool> pool_;  // From Open on.
  std::optional<WorkerGroups> groups_;
  std::optional<KernelCache> kernel_cache_;
  // It has been started with an older image than there is.
  bool spare_is_stale_ = false;
  int64_t replace_spare_ms_ = 0;
  std::map<uint32_t, WorkerProcess> workers_;
  // Accepted, and no worker has them yet.
  std::map<uint32_t, UniqueFd> clients_;
  // Of all clients, those that wait and those that are served.
  std::map<uint32_t, Peer> peers_;
  uint32_t last_client_ = 0;
  int64_t accept_again_ms_ = 0;
  LineLimiter refusals_;
  // Workers from which nothing can be received for now.
  std::set<uint32_t> unheard_;
  int64_t receive_again_ms_ = 0;
  const int64_t started_ms_ = NowMs();
  bool memory_is_short_ = false;
  bool accepting_ = true;
  bool stopping_ = false;
};

Status Broker::Run() {
  Status status = Open();
  while (status.ok() && !stopping_) status = Step();
  StopWorkers();
  return status;
}

Status Broker::Open() {
  epoll_.Reset(SYS_CALL(Kind::kDescriptor, epoll_create1(EPOLL_CLOEXEC)));
  if (!epoll_.valid()) return ErrnoError("epoll_create1");
  TRY(BlockSignals());
  TRY(Listen());
  if (options_.worker.no_sandbox) {
    LogWarning(
        "there is NO SANDBOX (--no-sandbox): a client that takes over its worker can do all "
        "that this user can");
  }
  if (options_.worker.shared) {
    LogWarning(
        "all clients share one worker (--isolation shared): nothing but its code is between "
        "them, and what kills it ends all");
  }
  if (options_.group_controller) MakeGroups();
  OpenKernelCache();
  if (const std::string& directory = options_.trace_directory; !directory.empty()) {
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoError(fmt::format("making {}", directory));
    }
  }
  pool_.emplace(WorkerPool::Options{.warm_spare = options_.warm_spare && Listens(),
                                    .workers_max = options_.workers_max,
                                    .waiting_per_process_max = options_.waiting_per_process_max,
                                    .served_per_process_max = options_.served_per_process_max,
                                    .shared = options_.worker.shared,
                                    .kernel_cache = kernel_cache_.has_value()},
                *this);
  for (UniqueFd& client : std::exchange(options_.connected, {})) Admit(std::move(client));
  return {};
}

void Broker::MakeGroups() {
  Result<WorkerGroups> groups = WorkerGroups::Create(*options_.group_controller);
  if (groups.ok()) {
    groups_.emplace(*std::move(groups));
  } else {
    LogWarning("workers have no control groups of their own: {}", groups.error().message());
  }
}

void Broker::OpenKernelCache() {
  // Without a sandbox a worker would find it by a path, and could write there. NVIDIA's driver
  // keeps nothing where Mesa's do.
  if (options_.kernel_cache_directory.empty() || options_.worker.no_sandbox ||
      options_.worker.profile == SandboxProfile::kNvidia) {
    return;
  }
  Result<KernelCache> cache = KernelCache::Open(options_.kernel_cache_directory);
  if (cache.ok()) {
    kernel_cache_.emplace(*std::move(cache));
    options_.worker.kernel_cache = true;
  } else {
    LogWarning("kernels are not cached: {}", cache.error().message());
  }
}

void Broker::RunCompiler() {
  kernel_cache_->KillLateCompiler(NowMs());
  if (!kernel_cache_->is_due(NowMs())) return;
  kernel_cache_->StartCompiler(options_.worker, NowMs());
  if (kernel_cache_->pidfd() < 0) return;
  if (!Watch(kernel_cache_->pidfd(), Source::kCompiler, 0).ok()) {
    kernel_cache_->GiveUpCompiler(NowMs());
  }
}

void Broker::AnswerFetches() {
  const std::vector<KernelCache::Answer> answers = kernel_cache_->TakeAnswers();
  if (answers.empty()) return;
  const UniqueFd image = kernel_cache_->OpenImage();
  for (const KernelCache::Answer& answer : answers) {
    const auto worker = workers_.find(answer.worker);
    if (worker == workers_.end()) continue;
    // Without an answer it waits for limits::kKernelFetchMsMax.
    Status sent = worker->second.SendImage(answer.sequence, image);
    if (!sent.ok())
      LogWarning("worker {} gets no kernels: {}", answer.worker, sent.error().message());
  }
}

// Not while a client waits for it, nor so often that clients never meet one.
void Broker::ReplaceStaleSpare() {
  if (!spare_is_stale_ || NowMs() < replace_spare_ms_ || pool_->waiting() > 0 ||
      pool_->Count(WorkerPool::State::kStarting) > 0) {
    return;
  }
  spare_is_stale_ = false;
  replace_spare_ms_ = NowMs() + kReplaceSpareMs;
  pool_->ReplaceSpares();
}

Status Broker::BlockSignals() {
  // Ignored, as some parents leave it, it would make the kernel reap our workers.
  signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoError("sigprocmask");
  signals_.Reset(SYS_CALL(Kind::kDescriptor, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)));
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
  if (!options_.stats_path.empty()) {
    // Serving does not depend on it.
    Status listens = ListenForStats();
    if (!listens.ok()) LogWarning("there are no stats: {}", listens.error().ToString());
  }
  TRY(WatchListeners());
  INVALID_IF(listeners_.empty() && options_.connected.empty(),
             "there is nothing to serve: no socket path and no descriptor is given");
  return {};
}

Status Broker::ListenForStats() {
  ASSIGN_OR_RETURN(SocketFile file, SocketFile::Listen(options_.stats_path));
  stats_file_.emplace(std::move(file));
  return {};
}

Status Broker::WatchListeners() {
  for (size_t i = 0; i < listeners_.size(); ++i) {
    TRY(Watch(listeners_[i], Source::kListener, static_cast<uint32_t>(i)));
  }
  if (stats_file_) TRY(Watch(stats_file_->descriptor(), Source::kStats, 0));
  return {};
}

Status Broker::Watch(int fd, Source source, uint32_t id, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = uint64_t{static_cast<uint32_t>(source)} << 32 | id;
  if (SYS_CALL(Kind::kWatch, epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event)) != 0) {
    return ErrnoError("epoll_ctl");
  }
  return {};
}

// Taking away wants nothing that could be missing.
void Broker::Unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

Status Broker::Step() {
  pool_->Settle(NowMs());
  epoll_event events[kEventsMax];
  int count =
      SYS_CALL(Kind::kWait, epoll_wait(epoll_.get(), events, std::size(events), TimeoutMs()));
  // Interrupted, perhaps for long, it has not seen what waits: no time to judge anybody's silence.
  if (count < 0 && errno == EINTR) return {};
  if (count < 0) return ErrnoError("epoll_wait");
  for (int i = 0; i < count; ++i) {
    TRY(OnEvent(static_cast<Source>(events[i].data.u64 >> 32),
                static_cast<uint32_t>(events[i].data.u64)));
  }
  pool_->OnTimers(NowMs());
  if (kernel_cache_) {
    RunCompiler();
    AnswerFetches();
  }
  ReplaceStaleSpare();
  LogLeftOut();
  if (!accepting_ && NowMs() >= accept_again_ms_) ResumeAccepting();
  if (!unheard_.empty() && NowMs() >= receive_again_ms_) ResumeReceiving();
  if (pool_->hopeless()) {
    return DeviceLostError("no worker starts ({} attempts); the log says why",
                           kWorkerStartAttempts);
  }
  if (!Listens() && pool_->idle()) stopping_ = true;
  return {};
}

Status Broker::OnEvent(Source source, uint32_t id) {
  switch (source) {
    case Source::kSignal:
      return OnSignal();
    case Source::kListener:
      OnListener(id);
      break;
    case Source::kStats:
      OnStats();
      break;
    case Source::kClient:
      pool_->OnClientLeft(id);
      break;
    case Source::kControl:
      OnControl(id);
      break;
    case Source::kPidfd:
      OnWorkerEnd(id);
      break;
    case Source::kCompiler:
      if (kernel_cache_->OnCompilerEnd(NowMs())) spare_is_stale_ = true;
      break;
  }
  return {};
}

Status Broker::OnSignal() {
  signalfd_siginfo info;
  const ssize_t got = SYS_CALL(Kind::kReceive, read(signals_.get(), &info, sizeof info));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  // It wants an end, whichever signal it is.
  if (got != sizeof info) return ErrnoError("reading which signal came");
  LogInfo("stopping (SIG{})", sigabbrev_np(static_cast<int>(info.ssi_signo)));
  stopping_ = true;
  return {};
}

// Invalid: there is none, or accepting pauses.
UniqueFd Broker::Accept(int listener) {
  if (!accepting_) return UniqueFd();
  // A listener from outside may be blocking, so one connection per event.
  UniqueFd peer(SYS_CALL(Kind::kDescriptor,
                         accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
  if (!peer.valid() && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
    LogRefusal(fmt::format("accepting a connection fails ({})", strerrorname_np(errno)));
    PauseAccepting();
  }
  return peer;
}

void Broker::OnListener(uint32_t index) {
  UniqueFd client = Accept(listeners_[index]);
  if (!client.valid()) return;
  if (!PeerIsTrusted(client.get())) {
    LogRefusal("a client of another user is refused");
    return;
  }
  Admit(std::move(client));
}

// Who asks is answered at once, or not at all: nothing is kept of it.
void Broker::OnStats() {
  const UniqueFd asker = Accept(stats_file_->descriptor());
  if (!asker.valid() || !PeerIsTrusted(asker.get())) return;
  const std::string line = ToJson(CollectStats());
  const ssize_t sent = SYS_CALL(
      Kind::kSend, send(asker.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  // An asker that has left is no news.
  if (sent >= 0 && sent != static_cast<ssize_t>(line.size())) {
    LogWarning("stats are not sent whole ({})", sent);
  }
}

Stats Broker::CollectStats() const {
  const int64_t now_ms = NowMs();
  Stats stats{.pid = getpid(),
              .age_ms = now_ms - started_ms_,
              .shared = options_.worker.shared,
              .waiting = pool_->waiting(),
              .counters = pool_->counters()};
  for (const auto& [id, worker] : workers_) {
    stats.workers.push_back({id, worker.pid(),
                             pool_->StateOf(id).value_or(WorkerPool::State::kDying),
                             ResidentBytes(worker.pid())});
  }
  for (const WorkerPool::ServedClient& served : pool_->Served()) {
    const auto worker = workers_.find(served.worker);
    const auto peer = peers_.find(served.client);
    if (worker == workers_.end() || peer == peers_.end()) continue;
    stats.clients.push_back(
        {served, peer->second, worker->second.pid(), now_ms - peer->second.since_ms});
  }
  return stats;
}

// Those that are served already cannot take what a newcomer needs.
bool Broker::HasMemory(bool newcomers) {
  const uint64_t available = AvailableMemoryBytes();
  const bool is_short = available < (newcomers ? kMemoryLeftMin : 2 * kMemoryLeftMin);
  if (is_short && !memory_is_short_) {
    LogWarning("no worker is started while memory is short ({} bytes are left)", available);
  }
  memory_is_short_ = is_short;
  return !is_short;
}

void Broker::PauseAccepting() {
  for (int listener : listeners_) Unwatch(listener);
  if (stats_file_) Unwatch(stats_file_->descriptor());
  accepting_ = false;
  accept_again_ms_ = NowMs() + kPauseMs;
}

void Broker::ResumeAccepting() {
  accepting_ = true;
  if (WatchListeners().ok()) return;
  // Once more, then.
  PauseAccepting();
}

void Broker::Admit(UniqueFd client) {
  uint32_t id = ++last_client_;
  // Who leaves while it waits must not take anybody's turn.
  Status watched = Watch(client.get(), Source::kClient, id, EPOLLRDHUP);
  if (!watched.ok()) LogWarning("a client is not watched: {}", watched.error().message());
  const Peer peer = PeerOf(client);
  peers_.emplace(id, peer);
  clients_.emplace(id, std::move(client));
  pool_->OnClient(id, peer.pid);
}

void Broker::LogRefusal(std::string_view what) {
  if (refusals_.Take(what, NowMs())) LogWarning("{}", what);
}

void Broker::LogLeftOut() {
  for (const auto& [what, times] : refusals_.TakeLeftOut(NowMs())) {
    LogWarning("{} ({} times more)", what, times);
  }
}

void Broker::OnControl(uint32_t id) {
  auto found = workers_.find(id);
  if (found == workers_.end()) return;
  // Room for one byte more, so that a longer packet is noticed.
  std::byte bytes[std::max(sizeof(ReportMessage), sizeof(KernelMessage)) + 1];
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    if (pool_->StateOf(id) == WorkerPool::State::kDying) return;
    std::span<std::byte> packet = bytes;
    switch (found->second.Receive(packet)) {
      case WorkerProcess::Received::kPacket:
        pool_->OnPacket(id, packet, NowMs());
        break;
      case WorkerProcess::Received::kNothing:
        return;
      case WorkerProcess::Received::kClosed:
        // Its end shows at the pidfd.
        Unwatch(found->second.control_descriptor());
        return pool_->OnLineClosed(id, NowMs());
      case WorkerProcess::Received::kFailed:
        return PauseReceiving(id);
    }
  }
}

void Broker::PauseReceiving(uint32_t id) {
  Unwatch(workers_.at(id).control_descriptor());
  unheard_.insert(id);
  receive_again_ms_ = NowMs() + kPauseMs;
  pool_->OnUnheard(id, NowMs());
}

void Broker::ResumeReceiving() {
  for (uint32_t id : std::exchange(unheard_, {})) {
    const int fd = workers_.at(id).control_descriptor();
    if (!Watch(fd, Source::kControl, id).ok()) PauseReceiving(id);
  }
}

void Broker::OnWorkerEnd(uint32_t id) {
  auto found = workers_.find(id);
  if (found == workers_.end()) return;
  bool failed = false;
  std::string how = found->second.Reap(failed);
  workers_.erase(found);
  // It may be the image; without it the next one only takes longer.
  if (kernel_cache_ && failed && pool_->StateOf(id) == WorkerPool::State::kStarting) {
    kernel_cache_->DropImage();
  }
  unheard_.erase(id);
  if (groups_) groups_->Remove(id);
  pool_->OnEnd(id, failed, how, NowMs());
}

Status Broker::Start(uint32_t id) {
  WorkerOptions options = options_.worker;
  options.id = id;
  const UniqueFd kernel_image = kernel_cache_ ? kernel_cache_->OpenImage() : UniqueFd();
  ASSIGN_OR_RETURN(WorkerProcess started, WorkerProcess::Start(options, kernel_image));
  LogInfo("worker {} is started (pid {})", id, started.pid());
  Status watched = Watch(started.control_descriptor(), Source::kControl, id);
  if (watched.ok()) watched = Watch(started.pidfd(), Source::kPidfd, id);
  if (!watched.ok()) {
    started.Kill();
    bool failed = false;
    started.Reap(failed);
    return std::move(watched).error().AddContext("watching the worker");
  }
  if (groups_) {
    Status added = groups_->Add(id, started.pid());
    if (!added.ok()) LogWarning("worker {} has no group: {}", id, added.error().message());
  }
  if (UniqueFd trace = OpenTraceFile(id); trace.valid()) {
    Status sent = started.SendTraceFile(trace);
    if (!sent.ok()) LogWarning("worker {} writes no trace: {}", id, sent.error().message());
  }
  workers_.emplace(id, std::move(started));
  return {};
}

UniqueFd Broker::OpenTraceFile(uint32_t worker) const {
  if (options_.trace_directory.empty()) return UniqueFd();
  const std::string path = fmt::format("{}/worker-{}.json", options_.trace_directory, worker);
  // A file of its own: a worker that is taken over spoils no other's.
  UniqueFd file(SYS_CALL(
      Kind::kDescriptor,
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)));
  if (!file.valid())
    LogWarning("worker {} writes no trace: {}", worker, ErrnoError(path).message());
  return file;
}

PingResult Broker::Ping(uint32_t id, uint32_t sequence) { return workers_.at(id).Ping(sequence); }

std::optional<ThreadTimes> Broker::TimesOf(uint32_t id) {
  return ReadThreadTimes(workers_.at(id).pid());
}

Status Broker::Serve(uint32_t id, uint32_t client) {
  auto found = clients_.find(client);
  const int fd = found->second.get();
  // While it is ours: closing it would not end the watch, for the worker has it too.
  Unwatch(fd);
  Status served = workers_.at(id).Serve(client, found->second);
  if (!served.ok()) {
    (void)Watch(fd, Source::kClient, client, EPOLLRDHUP).ok();
    return served;
  }
  clients_.erase(found);
  return {};
}

void Broker::Kill(uint32_t id) {
  WorkerProcess& worker = workers_.at(id);
  Unwatch(worker.control_descriptor());
  unheard_.erase(id);
  worker.Kill();
}

void Broker::TurnAway(uint32_t client, const Status& why) {
  const auto found = clients_.find(client);
  if (!why.ok()) LogRefusal(fmt::format("a client is turned away: {}", why.error().message()));
  if (!why.ok() && options_.farewell) {
    const std::vector<std::byte> words = options_.farewell(why.error().message());
    // The first that is written there: the socket has room, or nobody listens.
    (void)SYS_CALL(Kind::kSend, send(found->second.get(), words.data(), words.size(),
                                     MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  clients_.erase(found);
  peers_.erase(client);
}

void Broker::StopWorkers() {
  kernel_cache_.reset();
  for (auto& [id, worker] : workers_) worker.Kill();
  bool failed = false;
  for (auto& [id, worker] : workers_) worker.Reap(failed);
  workers_.clear();
}

int Broker::TimeoutMs() const {
  int64_t now = NowMs();
  int64_t deadline = std::min(pool_->deadline_ms(now), refusals_.deadline_ms());
  if (kernel_cache_) deadline = std::min(deadline, kernel_cache_->deadline_ms());
  if (spare_is_stale_ && replace_spare_ms_ > now) deadline = std::min(deadline, replace_spare_ms_);
  if (!accepting_) deadline = std::min(deadline, accept_again_ms_);
  if (!unheard_.empty()) deadline = std::min(deadline, receive_again_ms_);
  if (deadline == INT64_MAX) return -1;
  return static_cast<int>(std::clamp<int64_t>(deadline - now, 0, 60000));
}

}  // namespace

Status RunBroker(BrokerOptions options) { return Broker(std::move(options)).Run(); }

}  // namespace webnnd::service
