// Fails the n-th call of the broker's to the kernel, once and for ever, for n = 1, 2, ... until
// nothing fails any more, while clients come, work, lose their worker and leave. Each time a
// failing call costs at most the one whom it concerns, a client that was there before goes on, a
// new one is served, and nothing is left; and a broker that cannot go on ends and says so.
//
// Some of the calls, but with `--every-call` all.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/limits.h"
#include "tests/sandbox/run_tests_or_worker.h"
#include "tests/service/echo_daemon.h"

namespace webnnd::test {
namespace {

bool every_call = false;

// What the test orders a daemon to do by SIGUSR1, in memory that both have: this program alone arms
// a fault, in a child of its own.
struct Orders {
  enum Command : int { kArm, kClear, kCount };
  std::atomic<int> command;
  fault::Fault fault;
  std::atomic<uint64_t> calls;
  std::atomic<uint32_t> obeyed;
  std::atomic<bool>
      heard;  // Whether the daemon would hear an order; before that it would die of it.
};

Orders& orders() {
  static Orders* const page =
      new (mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Orders();
  return *page;
}

void Obey(int) {
  const uint64_t calls = fault::CallCount();
  switch (orders().command) {
    case Orders::kArm:
      fault::Inject(orders().fault);
      break;
    case Orders::kClear:
      fault::Clear();
      break;
    default:
      break;
  }
  orders().calls = calls;
  ++orders().obeyed;
}

struct Sweep {
  std::string name;
  fault::Fault fault;  // All but `nth`.
  // What a call that fails once may cost: nothing, one client, or the daemon.
  enum Cost { kNothing, kOneClient, kDaemon } cost = kOneClient;
  // The broker cannot ask workers, or cannot hear them: nobody who is served pays for it.
  bool silences = false;
};

std::ostream& operator<<(std::ostream& out, const Sweep& sweep) { return out << sweep.name; }

class BrokerSweep : public EchoDaemonTest, public testing::WithParamInterface<Sweep> {
 protected:
  // Orphans of a daemon come to this process, which sees that none lives.
  static void SetUpTestSuite() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

  void Begin(bool armed = false) {
    orders().obeyed = 0;
    orders().heard = false;
    StartWith(
        [this, armed] {
          struct sigaction action {};
          action.sa_handler = Obey;
          action.sa_flags = SA_RESTART;
          sigaction(SIGUSR1, &action, nullptr);
          orders().heard = true;
          service::BrokerOptions options = Listening();
          options.stats_path = path_ + ".stats";
          if (armed) fault::Inject(orders().fault);
          return options;
        },
        {{"WEBNND_LOG", "off"}});
    ASSERT_TRUE(Eventually([&] { return orders().heard || HasEnded(); })) << "it does not start";
  }

  // --- The daemon.

  bool HasEnded() {
    int status = 0;
    if (daemon_ > 0 && waitpid(daemon_, &status, WNOHANG) == daemon_) {
      daemon_ = -1;
      exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    return daemon_ < 0;
  }

  // The calls until now; nothing: it has ended.
  std::optional<uint64_t> Order(Orders::Command command) {
    const uint32_t before = orders().obeyed;
    orders().command = command;
    if (HasEnded()) return std::nullopt;
    kill(daemon_, SIGUSR1);
    EXPECT_TRUE(Eventually([&] { return orders().obeyed != before || HasEnded(); })) << "it hangs";
    if (orders().obeyed == before) return std::nullopt;
    return orders().calls;
  }

  size_t Children() const {
    const std::string pid = std::to_string(daemon_);
    std::ifstream file("/proc/" + pid + "/task/" + pid + "/children");
    size_t count = 0;
    for (pid_t child = 0; file >> child;) ++count;
    return count;
  }

  // Nothing: there is no answer.
  std::string AskForStats(int patience_ms = kPatienceMs) {
    UniqueFd fd = NewSocket();
    std::string text;
    if (!TryConnect(fd.get(), path_ + ".stats")) return text;
    char chunk[4096];
    for (;;) {
      pollfd wait{fd.get(), POLLIN, 0};
      if (poll(&wait, 1, patience_ms) != 1) return text;
      const ssize_t got = read(fd.get(), chunk, sizeof chunk);
      if (got <= 0) return text;
      text.append(chunk, static_cast<size_t>(got));
    }
  }

  // The bystander's worker and the spare, and nothing that a client has left.
  void ExpectNothingIsLeft() {
    // Where it could not listen for those who ask, it serves all the same.
    const bool tells = std::filesystem::exists(path_ + ".stats");
    const bool settled = Eventually([&] {
      return (!tells ||
              AskForStats().find(R"("workersServing":1,"workersReady":1,"workersStarting":0)") !=
                  std::string::npos) &&
             Children() == 2 && (descriptors_ == 0 || DaemonDescriptors() == descriptors_);
    });
    EXPECT_TRUE(settled) << Children() << " children, " << DaemonDescriptors()
                         << " descriptors, not " << descriptors_ << "; " << AskForStats();
    descriptors_ = DaemonDescriptors();
  }

  void ExpectEndedWithAnErrorAndLeftNothing() {
    EXPECT_EQ(exit_status_, 1);
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_FALSE(std::filesystem::exists(path_ + ".stats"));
    // Its workers, if any, are ours now.
    EXPECT_TRUE(Eventually([] { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }));
  }

  // --- Clients.

  struct Served {
    Client client;
    pid_t worker;
  };

  // One that is served, after as many attempts; those that fail are counted.
  std::optional<Served> Come(int patience_ms, int attempts, int& failures) {
    for (int attempt = 0; attempt < attempts && !HasEnded(); ++attempt) {
      UniqueFd fd = NewSocket();
      if (TryConnect(fd.get(), path_)) {
        Client client(std::move(fd));
        if (client.Send(kEcho) && !client.IsSilentFor(patience_ms)) {
          if (auto reply = client.Receive()) return Served{std::move(client), reply->worker};
        }
      }
      ++failures;
    }
    return std::nullopt;
  }

  // Two come, one loses its worker, one leaves, and the stats are asked for: how often that failed.
  int Live(bool patient) {
    const int patience_ms = patient ? kPatienceMs : 200;
    int failures = 0;
    std::optional<Served> first = Come(patience_ms, patient ? 3 : 1, failures);
    std::optional<Served> second = Come(patience_ms, patient ? 3 : 1, failures);
    if (second) {
      kill(second->worker, SIGKILL);
      EXPECT_TRUE(second->client.WaitForEnd().has_value());
    }
    first.reset();
    if (AskForStats(patience_ms).empty()) ++failures;
    return failures;
  }

  // Longer than a worker may be silent.
  static void HoldTheFault() {
    usleep(1000 * (limits::kHeartbeatIntervalMs + limits::kHeartbeatSilenceMaxMs + 200));
  }

  void BringBystander() {
    EXPECT_TRUE(Eventually([&] {
      int failures = 0;
      bystander_ = Come(kPatienceMs, 1, failures);
      return bystander_ || HasEnded();
    }));
    ASSERT_TRUE(bystander_);
    ExpectNothingIsLeft();
  }

  // A loop that fails at once would call as often as it can.
  void ExpectNoSpinning() {
    const std::optional<uint64_t> before = Order(Orders::kCount);
    usleep(200000);
    const std::optional<uint64_t> after = Order(Orders::kCount);
    if (before && after) {
      EXPECT_LT(*after - *before, 100u) << "it spins";
    }
  }

  // Whether so many calls were made.
  bool Round(const fault::Fault& fault, const Sweep& sweep) {
    const Sweep::Cost cost = sweep.cost;
    orders().fault = fault;
    Order(Orders::kArm);
    int failures = Live(/*patient=*/!fault.forever);
    if (fault.forever) ExpectNoSpinning();
    // From the first call on: later ones fail in the midst of what nobody waits for any more.
    if (sweep.silences && fault.nth == 1) HoldTheFault();
    std::optional<uint64_t> calls = Order(Orders::kClear);
    if (fault.forever && failures > 0 && calls && *calls < fault.nth) {
      // No call failed: who waits for little may have been late. Again, with patience.
      Order(Orders::kArm);
      failures = Live(/*patient=*/true);
      calls = Order(Orders::kClear);
    }
    // It may be about to.
    if (calls && cost == Sweep::kDaemon && *calls >= fault.nth) {
      EXPECT_TRUE(Eventually([&] { return HasEnded(); }));
      calls.reset();
    }
    if (!calls) {
      EXPECT_TRUE(fault.forever || cost == Sweep::kDaemon) << "it has ended";
      ExpectEndedWithAnErrorAndLeftNothing();
      bystander_.reset();
      descriptors_ = 0;
      Begin();
      BringBystander();
      return true;
    }
    const bool reached = fault.nth != 0 && *calls >= fault.nth;
    if (!reached) {
      EXPECT_EQ(failures, 0);
    }
    if (!fault.forever) {
      EXPECT_LE(failures, cost == Sweep::kNothing ? 0 : 1);
    }
    if (!fault.forever || sweep.silences) {
      EXPECT_EQ(bystander_->client.worker(), bystander_->worker);
    } else if (bystander_->client.worker() < 0) {
      bystander_.reset();
      BringBystander();
    }
    ExpectNothingIsLeft();
    int none = 0;
    EXPECT_TRUE(Come(kPatienceMs, 1, none)) << "a new client is not served";
    ExpectNothingIsLeft();
    return reached;
  }

  // How many calls a scenario in which nothing fails makes.
  uint64_t CountCalls(fault::Fault fault) {
    fault.nth = 0;
    orders().fault = fault;
    Order(Orders::kArm);
    EXPECT_EQ(Live(/*patient=*/true), 0);
    const uint64_t calls = Order(Orders::kClear).value_or(0);
    ExpectNothingIsLeft();
    return calls;
  }

  std::optional<Served> bystander_;
  size_t descriptors_ = 0;
  int exit_status_ = -1;
};

TEST_P(BrokerSweep, EachCall_FailsCleanly) {
  const Sweep& sweep = GetParam();
  Begin();
  BringBystander();
  const uint64_t calls = CountCalls(sweep.fault);
  EXPECT_GT(calls, 0u);
  const uint64_t samples = sweep.fault.forever ? 2 : 5;
  const uint64_t stride = every_call ? 1 : std::max<uint64_t>(1, calls / samples);
  bool reached = true;
  for (uint64_t nth = 1; reached && !HasFatalFailure(); nth += stride) {
    SCOPED_TRACE(sweep.name + " at call " + std::to_string(nth));
    ASSERT_LT(nth, 5000u);
    fault::Fault fault = sweep.fault;
    fault.nth = nth;
    reached = Round(fault, sweep);
  }
  EXPECT_EQ(Stop(SIGTERM), 0);
}

std::vector<Sweep> Sweeps() {
  using fault::Kind;
  std::vector<Sweep> sweeps;
  for (const auto& [name, kind, cost] :
       {std::tuple("Descriptor", Kind::kDescriptor, Sweep::kNothing),
        {"File", Kind::kFile, Sweep::kNothing},
        {"Send", Kind::kSend, Sweep::kOneClient},
        {"Receive", Kind::kReceive, Sweep::kOneClient},
        {"Process", Kind::kProcess, Sweep::kNothing},
        {"Watch", Kind::kWatch, Sweep::kNothing},
        {"Wait", Kind::kWait, Sweep::kDaemon}}) {
    for (const bool forever : {false, true}) {
      sweeps.push_back({std::string(name) + (forever ? "Forever" : "Once"),
                        {.forever = forever, .kinds = fault::Only(kind)},
                        cost,
                        forever && (kind == Kind::kSend || kind == Kind::kReceive)});
    }
  }
  sweeps.push_back({"WaitInterrupted",
                    {.forever = false, .kinds = fault::Only(Kind::kWait), .answer = EINTR},
                    Sweep::kNothing});
  return sweeps;
}

INSTANTIATE_TEST_SUITE_P(Calls, BrokerSweep, testing::ValuesIn(Sweeps()),
                         [](const auto& info) { return info.param.name; });

using BrokerStartSweep = BrokerSweep;

// It serves, or ends and says so.
TEST_P(BrokerStartSweep, EachCallFromTheStart_FailsCleanly) {
  fault::Fault fault = GetParam().fault;
  const uint64_t stride = every_call ? 1 : 6;
  bool reached = true;
  int ended = 0;
  for (fault.nth = 1; reached && !HasFatalFailure(); fault.nth += stride) {
    SCOPED_TRACE("from the start at call " + std::to_string(fault.nth));
    orders().fault = fault;
    Begin(/*armed=*/true);
    int failures = 0;
    ASSERT_TRUE(Eventually([&] {
      return HasEnded() || Come(200, 1, failures) || (fault.forever && failures > 3);
    })) << "it neither serves nor ends";
    if (fault.forever) ExpectNoSpinning();
    const std::optional<uint64_t> calls = Order(Orders::kClear);
    // Who is served now is served by a daemon that does not end any more.
    EXPECT_TRUE(Eventually([&] {
      int failed = 0;
      return HasEnded() || (bystander_ = Come(kPatienceMs, 1, failed));
    }));
    if (HasEnded()) {
      ++ended;
      ExpectEndedWithAnErrorAndLeftNothing();
    } else {
      reached = calls && *calls >= fault.nth;
      ExpectNothingIsLeft();
      bystander_.reset();
      EXPECT_EQ(Stop(SIGTERM), 0);
    }
    descriptors_ = 0;
  }
  EXPECT_GT(ended, 0);
  ASSERT_FALSE(HasFatalFailure());
}

INSTANTIATE_TEST_SUITE_P(Calls, BrokerStartSweep,
                         testing::Values(Sweep{"Once", {.forever = false}},
                                         Sweep{"Forever", {.forever = true}}),
                         [](const auto& info) { return info.param.name; });

TEST_F(BrokerSweep, SignalThatCannotBeRead_EndsTheDaemonAllTheSame) {
  Begin();
  BringBystander();
  orders().fault = {.nth = 1, .forever = true, .kinds = fault::Only(fault::Kind::kReceive)};
  Order(Orders::kArm);
  kill(daemon_, SIGTERM);
  EXPECT_TRUE(Eventually([&] { return HasEnded(); }));
  ExpectEndedWithAnErrorAndLeftNothing();
}

}  // namespace
}  // namespace webnnd::test

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--every-call") webnnd::test::every_call = true;
  }
  return webnnd::test::RunTestsOrWorker(argc, argv, webnnd::test::RunEchoWorker);
}
