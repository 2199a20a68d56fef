// webnnd-soak: many clients at once, good, bad and dying, for as long as wanted. Every answer to a
// good client is checked, and what the daemon holds must not grow.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tests/fault/counting_client.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/daemon_stats.h"

namespace webnnd {
namespace {

using webnn::Connect;

struct Options {
  int clients = 200;
  int seconds = 300;
  unsigned seed = 1;
  // How long a good client may take for all that it wants, its waiting included.
  int patience_s = 180;
  std::vector<std::string> daemon;  // Further arguments of `webnnd serve`.
};

enum Kind { kGood, kGarbage, kGreedy, kDying, kKinds };
constexpr const char* kKindNames[] = {"good", "garbage", "greedy", "dying"};

enum Outcome : int { kDone = 0, kWrongAnswer = 3, kNotServed = 4 };

// Written by all clients.
struct Tally {
  std::atomic<uint64_t> answers{0};
  std::atomic<uint64_t> reopened{0};
  std::atomic<uint64_t> slowest_open_ms{0};
};

void NoteOpen(Tally& tally, double milliseconds) {
  const auto taken = static_cast<uint64_t>(milliseconds);
  uint64_t most = tally.slowest_open_ms;
  while (taken > most && !tally.slowest_open_ms.compare_exchange_weak(most, taken)) {
  }
}

// Wants so many right answers, and comes back when its worker is lost.
Outcome RunGood(const std::string& socket, std::mt19937& random, const Options& options,
                Tally& tally) {
  const double end = NowMs() + 1000.0 * options.patience_s;
  const int wanted = 20 + static_cast<int>(random() % 200);
  CountingClient client(Connect::ToSocket(socket));
  int answers = 0;
  bool open = false;
  while (answers < wanted && NowMs() < end) {
    if (!open) {
      const double begin = NowMs();
      open = client.TryOpen().ok();
      if (open) NoteOpen(tally, NowMs() - begin);
      if (!open) usleep(10000 + random() % 50000);
      continue;
    }
    auto step = client.Step();
    if (step.ok()) {
      ++answers;
      ++tally.answers;
      if (random() % 8 == 0) usleep(random() % 20000);
      continue;
    }
    if (step.error().cause() == Cause::kInternal) {
      std::fprintf(stderr, "soak: %s\n", step.error().ToString().c_str());
      return kWrongAnswer;
    }
    ++tally.reopened;
    open = false;
  }
  return answers == wanted ? kDone : kNotServed;
}

// Bytes that are no frame, or the beginning of one and then silence.
Outcome RunGarbage(const std::string& socket, std::mt19937& random) {
  UniqueFd fd = ConnectTo(socket);
  if (!fd.valid()) return kDone;
  std::string bytes(1 + random() % 65536, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  // A plausible length first, half of the time.
  if (random() % 2 == 0 && bytes.size() >= 4) {
    bytes[1] = static_cast<char>(random() % 4), bytes[2] = bytes[3] = 0;
  }
  (void)!send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  pollfd wait{fd.get(), POLLIN, 0};
  poll(&wait, 1, static_cast<int>(random() % 3000));
  return kDone;
}

// Makes contexts and tensors until it is refused.
Outcome RunGreedy(const std::string& socket) {
  webnn::ML ml(Connect::ToSocket(socket));
  std::vector<std::shared_ptr<webnn::Context>> contexts;
  std::vector<std::shared_ptr<webnn::Tensor>> tensors;
  for (int i = 0; i < 64; ++i) {
    auto context = ml.Wait(ml.CreateContext());
    if (!context.ok()) break;
    contexts.push_back(*context);
    auto tensor = ml.Wait((*context)->CreateTensor(
        {webnn::OperandDataType::kFloat32, {1 << 20}, /*readable=*/true, /*writable=*/true}));
    if (!tensor.ok()) break;
    tensors.push_back(*tensor);
  }
  return kDone;
}

// Floods, until somebody kills it.
Outcome RunDying(const std::string& socket) {
  CountingClient client(Connect::ToSocket(socket));
  for (;;) {
    if (!client.TryOpen().ok()) {
      usleep(20000);
      continue;
    }
    for (int i = 0; i < 50; ++i) client.StepBlindly();
    while (client.Step().ok()) {
      for (int i = 0; i < 20; ++i) client.StepBlindly();
    }
  }
}

uint64_t ResidentKiB(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

size_t DescriptorsOf(pid_t pid) {
  const std::filesystem::directory_iterator first("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<size_t>(std::distance(first, std::filesystem::directory_iterator()));
}

class Soak {
 public:
  explicit Soak(const Options& options)
      : options_(options), random_(options.seed), daemon_(options.daemon) {
    void* memory =
        mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    tally_ = new (memory) Tally;
  }

  // Whether all is as it should be.
  bool Run() {
    AwaitRest();
    const size_t descriptors_before = DescriptorsOf(daemon_.pid());
    const double begin = NowMs(), end = begin + 1000.0 * options_.seconds;
    double sample_at = begin, kill_at = begin + 2000;
    while (NowMs() < end) {
      while (clients_.size() < static_cast<size_t>(options_.clients)) StartClient();
      KillTheDying();
      Reap();
      if (NowMs() >= kill_at) {
        KillAWorker();
        kill_at = NowMs() + 200 + random_() % 1800;
      }
      if (NowMs() >= sample_at) {
        Sample((NowMs() - begin) / (end - begin));
        sample_at = NowMs() + 1000;
      }
      usleep(5000);
    }
    Finish();
    const bool at_rest = AwaitRest();
    const size_t descriptors_after = DescriptorsOf(daemon_.pid());
    return Report(at_rest, descriptors_before, descriptors_after);
  }

 private:
  struct Running {
    Kind kind;
    double kill_at = 0;  // For the dying.
  };

  void StartClient() {
    const unsigned draw = random_() % 100;
    const Kind kind = draw < 60 ? kGood : draw < 72 ? kGarbage : draw < 80 ? kGreedy : kDying;
    const unsigned seed = random_();
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      std::mt19937 random(seed);
      _exit(kind == kGood      ? RunGood(daemon_.socket(), random, options_, *tally_)
            : kind == kGarbage ? RunGarbage(daemon_.socket(), random)
            : kind == kGreedy  ? RunGreedy(daemon_.socket())
                               : RunDying(daemon_.socket()));
    }
    CHECK(pid > 0);
    ++started_[kind];
    clients_[pid] = {kind, NowMs() + random_() % 8000};
  }

  void KillTheDying() {
    for (auto& [pid, client] : clients_) {
      if (client.kind == kDying && NowMs() >= client.kill_at) kill(pid, SIGKILL);
    }
  }

  void KillAWorker() {
    const std::vector<pid_t> workers = daemon_.Workers();
    if (workers.empty()) return;
    kill(workers[random_() % workers.size()], SIGKILL);
    ++workers_killed_;
  }

  void Reap() {
    int status = 0;
    for (auto at = clients_.begin(); at != clients_.end();) {
      if (waitpid(at->first, &status, WNOHANG) != at->first) {
        ++at;
        continue;
      }
      const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      const Kind kind = at->second.kind;
      if (kind == kGood) ++(outcome == kDone ? good_ : outcome == kWrongAnswer ? wrong_ : lost_);
      // Those that are bad must not crash either: the client library is ours.
      if (kind != kGood && kind != kDying && outcome != kDone) ++crashed_;
      at = clients_.erase(at);
    }
  }

  void Sample(double progress) {
    const auto stats = StatsAt(daemon_.socket());
    if (!stats.is_object()) return;
    uint64_t workers_kib = 0, serving = stats["broker"]["workersServing"];
    for (const auto& worker : stats["workers"]) {
      workers_kib += worker["residentBytes"].get<uint64_t>() / 1024;
    }
    const uint64_t count = std::max<size_t>(1, stats["workers"].size());
    const uint64_t broker_kib = ResidentKiB(daemon_.pid());
    workers_most_ = std::max(workers_most_, serving);
    waiting_most_ = std::max(waiting_most_, stats["broker"]["clientsWaiting"].get<uint64_t>());
    worker_kib_most_ = std::max(worker_kib_most_, workers_kib / count);
    // All tables have had their full length by then.
    if (progress < 0.25) broker_kib_early_ = std::max(broker_kib_early_, broker_kib);
    broker_kib_late_ = broker_kib;
    std::fprintf(stderr,
                 "soak: %3.0f %%  %llu serving  %llu waiting  broker %llu KiB  workers %llu MiB\n",
                 100 * progress, static_cast<unsigned long long>(serving),
                 static_cast<unsigned long long>(stats["broker"]["clientsWaiting"]),
                 static_cast<unsigned long long>(broker_kib),
                 static_cast<unsigned long long>(workers_kib / 1024));
  }

  // Good clients get what they want; the others go.
  void Finish() {
    for (auto& [pid, client] : clients_) {
      if (client.kind != kGood) kill(pid, SIGKILL);
      if (client.kind != kGood) client.kind = kDying;
    }
    const double end = NowMs() + 1000.0 * options_.patience_s;
    while (!clients_.empty() && NowMs() < end) {
      Reap();
      usleep(5000);
    }
    lost_ += clients_.size();
    for (auto& [pid, client] : clients_) kill(pid, SIGKILL);
    for (auto& [pid, client] : clients_) waitpid(pid, nullptr, 0);
  }

  // Nobody is served or waits, and no worker starts.
  bool AwaitRest() {
    for (const double end = NowMs() + 30000; NowMs() < end; usleep(20000)) {
      const auto stats = StatsAt(daemon_.socket());
      if (!stats.is_object()) continue;
      const auto& broker = stats["broker"];
      if (stats["clients"].empty() && broker["clientsWaiting"] == 0 &&
          broker["workersStarting"] == 0 && stats["workers"].size() == 1 &&
          broker["workersReady"] == 1) {
        return true;
      }
    }
    return false;
  }

  bool Report(bool at_rest, size_t descriptors_before, size_t descriptors_after) {
    const bool flat = broker_kib_late_ <= broker_kib_early_ + 4096;
    for (int kind = 0; kind < kKinds; ++kind) {
      std::printf("%-8s %6d clients\n", kKindNames[kind], started_[kind]);
    }
    std::printf("answers  %6llu right; %zu good clients done, %zu with a wrong answer, %zu lost\n",
                static_cast<unsigned long long>(tally_->answers), good_, wrong_, lost_);
    std::printf(
        "kills    %6zu workers; good clients came again %llu times, opened in %llu ms at most\n",
        workers_killed_, static_cast<unsigned long long>(tally_->reopened),
        static_cast<unsigned long long>(tally_->slowest_open_ms));
    std::printf("most     %6llu workers with a client, %llu clients waiting\n",
                static_cast<unsigned long long>(workers_most_),
                static_cast<unsigned long long>(waiting_most_));
    std::printf(
        "memory   broker %llu KiB in the first quarter, %llu KiB at the end (%s); a worker %llu "
        "MiB\n",
        static_cast<unsigned long long>(broker_kib_early_),
        static_cast<unsigned long long>(broker_kib_late_), flat ? "flat" : "GROWS",
        static_cast<unsigned long long>(worker_kib_most_ / 1024));
    std::printf("at rest  %s; descriptors %zu before, %zu after; %zu clients crashed\n",
                at_rest ? "yes" : "NO", descriptors_before, descriptors_after, crashed_);
    const bool ok = wrong_ == 0 && lost_ == 0 && crashed_ == 0 && good_ > 0 && flat && at_rest &&
                    descriptors_after <= descriptors_before && daemon_.IsRunning();
    std::printf("%s (seed %u)\n", ok ? "passed" : "FAILED", options_.seed);
    return ok;
  }

  const Options options_;
  std::mt19937 random_;
  DaemonProcess daemon_;
  Tally* tally_ = nullptr;
  std::map<pid_t, Running> clients_;
  int started_[kKinds] = {};
  size_t good_ = 0, wrong_ = 0, lost_ = 0, crashed_ = 0, workers_killed_ = 0;
  uint64_t workers_most_ = 0, waiting_most_ = 0, worker_kib_most_ = 0;
  uint64_t broker_kib_early_ = 0, broker_kib_late_ = 0;
};

constexpr char kHelp[] =
    R"(webnnd-soak: many clients at once, good, bad and dying; exit 1 on a wrong or lost answer, or a leak.

  --clients N     at once (default: 200)
  --seconds N     for so long (default: 300)
  --seed N        which clients, and what happens to them (default: 1)
  --patience N    seconds in which a good client must have all its answers (default: 180)
  -- WORDS...     further options of `webnnd serve`; the program is $WEBNND
)";

int Main(int argc, char** argv) {
  Options options;
  for (int at = 1; at < argc; at += 2) {
    const std::string_view name = argv[at];
    if (name == "--help") return std::fputs(kHelp, stdout), 0;
    if (name == "--") {
      options.daemon.assign(argv + at + 1, argv + argc);
      break;
    }
    const std::string_view text = at + 1 < argc ? argv[at + 1] : "";
    int value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool known =
        name == "--clients" || name == "--seconds" || name == "--seed" || name == "--patience";
    if (!known || error != std::errc() || end != text.data() + text.size() || value < 1) {
      std::fprintf(stderr, "webnnd-soak: the option is wrong (%s %s); see --help\n", argv[at],
                   std::string(text).c_str());
      return 2;
    }
    if (name == "--clients") options.clients = value;
    if (name == "--seconds") options.seconds = value;
    if (name == "--seed") options.seed = static_cast<unsigned>(value);
    if (name == "--patience") options.patience_s = value;
  }
  // What the daemon logs of bad clients is as expected.
  setenv("WEBNND_LOG", "error", /*overwrite=*/0);
  return Soak(options).Run() ? 0 : 1;
}

}  // namespace
}  // namespace webnnd

int main(int argc, char** argv) { return webnnd::Main(argc, argv); }
