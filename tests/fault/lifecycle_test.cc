// How the daemon begins, tells of itself, and ends; with real workers and real clients.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "tests/fault/counting_client.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/daemon_stats.h"

namespace webnnd {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using webnn::Connect;

bool Eventually(const std::function<bool()>& condition) {
  for (const double end = NowMs() + 20000; NowMs() < end; usleep(2000)) {
    if (condition()) return true;
  }
  return false;
}

struct Completed {
  int status;
  std::string output;  // both streams
};

Completed Webnnd(const std::string& arguments) {
  FILE* pipe = popen((std::string(std::getenv("WEBNND")) + " " + arguments + " 2>&1").c_str(), "r");
  Completed run{-1, ""};
  char chunk[512];
  while (size_t got = fread(chunk, 1, sizeof chunk, pipe)) run.output.append(chunk, got);
  const int status = pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string word, state;
  // A zombie of somebody else's is not.
  return static_cast<bool>(file >> word >> word >> state) && state != "Z";
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  // Each thread has its own.
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

class Client : public CountingClient {
 public:
  explicit Client(const DaemonProcess& daemon)
      : CountingClient(Connect::ToSocket(daemon.socket())) {
    Open();
  }
  // A worker that has just died may take with it who connects in that instant.
  void OpenAgain() {
    for (int i = 0; i < 100; ++i) {
      if (TryOpen().ok()) return;
      usleep(10000);
    }
    FAIL() << "there is no new context within a second";
  }
  void Steps(int count) {
    for (int i = 0; i < count; ++i) {
      auto status = Step();
      ASSERT_TRUE(status.ok()) << status.error().ToString();
    }
  }
};

// --- Stats --------------------------------------------------------------------------------------

TEST(Stats, Clients_AreListedWithWhatTheyDid) {
  DaemonProcess daemon;
  {
    Client client(daemon);
    client.Steps(50);
    // Reports come with heartbeats.
    json listed;
    ASSERT_TRUE(Eventually([&] {
      listed = StatsAt(daemon.socket())["clients"];
      return listed.size() == 1 && listed[0]["dispatches"]["accepted"] == 50;
    })) << listed;
    EXPECT_EQ(listed[0]["pid"], getpid());
    EXPECT_EQ(listed[0]["uid"], getuid());
    EXPECT_EQ(listed[0]["contexts"], 1);
    EXPECT_EQ(listed[0]["tensors"], 2);
    EXPECT_EQ(listed[0]["graphs"], 1);
    EXPECT_EQ(listed[0]["dispatches"]["failed"], 0);
    EXPECT_GE(listed[0]["deviceBytes"], 2 * 4 * CountingClient::kElements);
    const uint64_t median = listed[0]["latencyUs"]["median"], p95 = listed[0]["latencyUs"]["p95"];
    EXPECT_GT(median, 0u);
    EXPECT_GE(p95, median);
    EXPECT_LT(p95, 60'000'000u);
    std::vector<pid_t> workers = daemon.Workers();
    EXPECT_EQ(std::count(workers.begin(), workers.end(), listed[0]["workerPid"].get<pid_t>()), 1);

    Completed table = Webnnd("stats --socket " + daemon.socket());
    EXPECT_EQ(table.status, 0);
    EXPECT_THAT(table.output, HasSubstr("1 serving"));
    EXPECT_THAT(table.output, HasSubstr(std::to_string(getpid())));
    Completed text = Webnnd("stats --json --socket " + daemon.socket());
    EXPECT_EQ(json::parse(text.output)["broker"]["clientsServed"], 1);
  }
  EXPECT_TRUE(Eventually([&] { return StatsAt(daemon.socket())["clients"].empty(); }));
  struct stat file;
  ASSERT_EQ(stat((daemon.socket() + ".stats").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST(Stats, DispatchThatIsStopped_IsCountedSo) {
  DaemonProcess daemon({"--quota", "dispatch-ms=50"});
  webnn::ML ml(Connect::ToSocket(daemon.socket()));
  auto context = ml.Wait(ml.CreateContext());
  ASSERT_TRUE(context.ok()) << context.error().ToString();
  const webnn::Shape shape{512, 512};
  auto build = [&](int products) {
    webnn::GraphBuilder builder(*context);
    auto x = builder.Input("x", webnn::OperandDataType::kFloat32, shape).value();
    auto y = builder.Abs(x).value();
    for (int i = 0; i < products; ++i) y = builder.Matmul(y, x).value();
    return ml.Wait(builder.Build({{"y", y}})).value();
  };
  // Many times what it may take; and what cannot be stopped, for it is submitted at once.
  auto endless = build(200), brief = build(0);
  std::vector<std::shared_ptr<webnn::Tensor>> tensors;
  for (int i = 0; i < 4; ++i) {
    tensors.push_back(ml.Wait((*context)->CreateTensor({webnn::OperandDataType::kFloat32, shape,
                                                        /*readable=*/true, /*writable=*/true}))
                          .value());
  }
  ASSERT_TRUE((*context)->Dispatch(*endless, {{"x", tensors[0]}}, {{"y", tensors[1]}}).ok());
  // It reads what was not written.
  ASSERT_TRUE((*context)->Dispatch(*brief, {{"x", tensors[1]}}, {{"y", tensors[2]}}).ok());
  ASSERT_TRUE((*context)->Dispatch(*brief, {{"x", tensors[0]}}, {{"y", tensors[3]}}).ok());
  EXPECT_TRUE(ml.Wait((*context)->ReadTensor(*tensors[3])).ok());
  json dispatches;
  EXPECT_TRUE(Eventually([&] {
    dispatches = StatsAt(daemon.socket())["clients"][0]["dispatches"];
    return dispatches["accepted"] == 3 && dispatches["inFlight"] == 0;
  }));
  EXPECT_EQ(dispatches["failed"], 2) << dispatches;
  EXPECT_EQ(dispatches["stopped"], 1) << dispatches;
  Completed table = Webnnd("stats --socket " + daemon.socket());
  EXPECT_THAT(table.output, testing::ContainsRegex("FLIGHT FAILED STOPPED"));
  EXPECT_THAT(table.output, testing::ContainsRegex(" 3 +0 +2 +1 "));
}

TEST(Stats, WorkerThatWasKilled_IsCounted) {
  DaemonProcess daemon({"--no-warm-spare"});
  Client client(daemon);
  kill(LastWorkerOf(daemon.socket(), getpid()), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return StatsAt(daemon.socket())["broker"]["workersFailed"] == 1; }));
  EXPECT_TRUE(StatsAt(daemon.socket())["clients"].empty());
}

TEST(Stats, NoDaemon_IsSaid) {
  Completed run = Webnnd("stats --socket /nonexistent/socket");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr("no daemon answers (/nonexistent/socket.stats"));
}

// --- Trace --------------------------------------------------------------------------------------

double End(const json& event) { return event["ts"].get<double>() + event["dur"].get<double>(); }

// Slices of one thread lie within each other or apart, or a viewer shows nonsense.
void ExpectSlicesNest(const json& events) {
  std::map<int, std::vector<json>> threads;
  for (const json& event : events) {
    if (event["ph"] == "X") threads[event["tid"].get<int>()].push_back(event);
  }
  for (auto& [tid, slices] : threads) {
    std::sort(slices.begin(), slices.end(), [](const json& a, const json& b) {
      return a["ts"] < b["ts"] || (a["ts"] == b["ts"] && a["dur"] > b["dur"]);
    });
    std::vector<json> open;
    for (const json& slice : slices) {
      // Times are rounded to a nanosecond.
      while (!open.empty() && End(open.back()) <= slice["ts"].get<double>() + 0.002) {
        open.pop_back();
      }
      if (!open.empty()) {
        EXPECT_LE(End(slice), End(open.back()) + 0.002) << slice << open.back();
      }
      open.push_back(slice);
    }
  }
}

const json* FindSlice(const json& events, const std::string& name) {
  for (const json& event : events) {
    if (event["ph"] == "X" && event["name"] == name) return &event;
  }
  return nullptr;
}

TEST(Trace, BuildsAndDispatches_AreShown) {
  std::string directory = testing::TempDir() + "/trace-" + std::to_string(getpid());
  {
    DaemonProcess daemon({"--trace", directory});
    {
      Client client(daemon);
      client.Steps(5);
    }
    // The worker has ended, and written all.
    ASSERT_TRUE(Eventually([&] { return StatsAt(daemon.socket())["clients"].empty(); }));
  }
  json events;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    // That of the spare is empty.
    if (text.str().empty()) continue;
    EXPECT_TRUE(events.is_null()) << "one worker had a client";
    events = json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(events.is_array()) << text.str();
    struct stat file;
    ASSERT_EQ(stat(entry.path().c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600u);
  }
  ASSERT_TRUE(events.is_array());
  ExpectSlicesNest(events);
  const json* build = FindSlice(events, "build");
  ASSERT_NE(build, nullptr);
  EXPECT_EQ((*build)["args"]["kernels"], 1);
  for (const char* phase :
       {"validate", "fold", "fuse", "lower", "plan", "pipelines", "compile a pipeline"}) {
    const json* slice = FindSlice(events, phase);
    ASSERT_NE(slice, nullptr) << phase;
    EXPECT_EQ((*slice)["tid"], (*build)["tid"]) << phase;
    EXPECT_GE((*slice)["ts"], (*build)["ts"]) << phase;
    EXPECT_LE(End(*slice), End(*build) + 0.002) << phase;
  }
  // Its input, the 1 that it adds, and its output.
  EXPECT_EQ((*FindSlice(events, "plan"))["args"]["bytes"],
            (2 * Client::kElements + 1) * sizeof(float));
  for (const char* phase : {"record", "prepare", "bind", "submit"}) {
    EXPECT_NE(FindSlice(events, phase), nullptr) << phase;
  }
  // Each dispatch: the whole, and in it the queue and then the run.
  std::map<uint64_t, std::map<std::string, std::pair<double, double>>> dispatches;
  for (const json& event : events) {
    if (event["ph"] != "b" && event["ph"] != "e") continue;
    auto& [begin, end] = dispatches[event["id"].get<uint64_t>()][event["name"].get<std::string>()];
    (event["ph"] == "b" ? begin : end) = event["ts"].get<double>();
  }
  ASSERT_EQ(dispatches.size(), 5u);
  for (auto& [id, spans] : dispatches) {
    EXPECT_EQ(spans.size(), 3u);
    EXPECT_EQ(spans["dispatch"].first, spans["queue"].first);
    EXPECT_LE(spans["queue"].first, spans["queue"].second);
    EXPECT_EQ(spans["queue"].second, spans["run"].first);
    EXPECT_LT(spans["run"].first, spans["run"].second);
    EXPECT_EQ(spans["run"].second, spans["dispatch"].second);
  }
  std::filesystem::remove_all(directory);
}

TEST(Trace, DirectoryThatCannotBe_EndsTheDaemon) {
  Completed run =
      Webnnd("serve --socket " + testing::TempDir() + "/no-trace --trace /proc/none/trace");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr("making /proc/none/trace"));
}

// --- Beginning and end --------------------------------------------------------------------------

TEST(Daemon, Terminated_LeavesNothingAndItsClientsAreTold) {
  DaemonProcess daemon;
  Client client(daemon);
  // In flight, all of it.
  for (int i = 0; i < 100; ++i) client.StepBlindly();
  const std::vector<pid_t> workers = daemon.Workers();
  ASSERT_FALSE(workers.empty());
  EXPECT_EQ(daemon.Stop(SIGTERM), 0);
  EXPECT_GE(client.WaitUntilLost(5000), 0);
  EXPECT_FALSE(client.Step().ok());
  for (pid_t worker : workers) EXPECT_FALSE(IsAlive(worker));
  EXPECT_FALSE(std::filesystem::exists(daemon.socket()));
  EXPECT_FALSE(std::filesystem::exists(daemon.socket() + ".stats"));
}

TEST(Daemon, KilledOne_LeavesSocketsThatTheNextTakes) {
  DaemonProcess daemon;
  const std::vector<pid_t> workers = daemon.Workers();
  daemon.Stop(SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(daemon.socket()));
  EXPECT_TRUE(Eventually([&] { return std::none_of(workers.begin(), workers.end(), IsAlive); }));
  daemon.Start();
  Client client(daemon);
  client.Steps(1);
  EXPECT_TRUE(StatsAt(daemon.socket()).is_object());
}

TEST(Daemon, SecondAtOneSocket_IsRefusedAndTheFirstStays) {
  DaemonProcess daemon;
  Client client(daemon);
  Completed second = Webnnd("serve --socket " + daemon.socket());
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.output, HasSubstr("another daemon listens already (" + daemon.socket()));
  client.Steps(1);
  Client another(daemon);
  EXPECT_TRUE(StatsAt(daemon.socket()).is_object());
}

TEST(Daemon, SeveralStartedAtOnce_OneServes) {
  char directory[] = "/tmp/webnnd-race-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string socket = std::string(directory) + "/socket";
  // A dead one's socket is in the way of all.
  {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::vector<pid_t> daemons;
  for (int i = 0; i < 6; ++i) {
    daemons.push_back(StartProgram(
        {std::getenv("WEBNND"), "serve", "--socket", socket, "--no-warm-spare"}, null));
  }
  close(null);
  std::vector<pid_t> alive = daemons;
  EXPECT_TRUE(Eventually([&] {
    std::erase_if(alive, [](pid_t pid) {
      int status = 0;
      if (waitpid(pid, &status, WNOHANG) != pid) return false;
      EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1);
      return true;
    });
    return alive.size() <= 1;
  }));
  ASSERT_EQ(alive.size(), 1u);
  EXPECT_TRUE(Eventually([&] { return ConnectTo(socket).valid(); }));
  EXPECT_TRUE(Eventually([&] { return StatsAt(socket).is_object(); }));
  EXPECT_EQ(StatsAt(socket)["broker"]["pid"], alive[0]);
  kill(alive[0], SIGTERM);
  waitpid(alive[0], nullptr, 0);
  EXPECT_EQ(rmdir(directory), 0);
}

TEST(Daemon, SocketFromTheServiceManager_IsServed) {
  char directory[] = "/tmp/webnnd-activated-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 16), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    // As systemd does it: the process that executes the daemon is the one that is named.
    // It may have that number, and then keeps its flags.
    if (dup2(listener.get(), 3) != 3 || fcntl(3, F_SETFD, 0) != 0) _exit(126);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", "1", 1);
    execl(std::getenv("WEBNND"), "webnnd", "serve", "--stats-socket", (path + ".stats").c_str(),
          nullptr);
    _exit(127);
  }
  {
    CountingClient client(Connect::ToSocket(path));
    client.Open();
    EXPECT_TRUE(client.Step().ok());
    ASSERT_TRUE(StatsAt(path).is_object());
    EXPECT_EQ(StatsAt(path)["broker"]["pid"], daemon);
  }
  kill(daemon, SIGTERM);
  int status = -1;
  waitpid(daemon, &status, 0);
  EXPECT_EQ(status, 0);
  // It is the service manager's.
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove_all(directory);
}

TEST(PrivateDaemon, OwnerKilled_EndsWithAllItsWorkers) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    CountingClient client(Connect::Spawn());
    const bool works = client.TryOpen().ok() && client.Step().ok();
    // Killed in the middle of work.
    (void)!write(report[1], works ? "+" : "-", 1);
    while (client.Step().ok()) {
    }
    pause();
  }
  close(report[1]);
  char works = 0;
  ASSERT_EQ(read(report[0], &works, 1), 1);
  close(report[0]);
  EXPECT_EQ(works, '+');
  std::vector<pid_t> daemons = ChildrenOf(owner);
  ASSERT_EQ(daemons.size(), 1u);
  std::vector<pid_t> processes = ChildrenOf(daemons[0]);
  ASSERT_FALSE(processes.empty());
  processes.push_back(daemons[0]);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(
      Eventually([&] { return std::none_of(processes.begin(), processes.end(), IsAlive); }));
}

// --- Limits -------------------------------------------------------------------------------------

TEST(Daemon, AddressSpaceOfAWorker_FollowsTheQuota) {
#ifdef WEBNND_SANITIZERS
  GTEST_SKIP() << "sanitizers reserve terabytes";
#endif
  DaemonProcess daemon({"--quota", "device-bytes=1G"});
  Client client(daemon);
  client.Steps(1);
  std::ifstream limits("/proc/" + std::to_string(LastWorkerOf(daemon.socket(), getpid())) +
                       "/limits");
  std::string line;
  while (std::getline(limits, line) && !line.starts_with("Max address space")) {
  }
  EXPECT_THAT(line, HasSubstr(" " + std::to_string(10ull << 30) + " "));
}

// --- Shared isolation ---------------------------------------------------------------------------

TEST(SharedIsolation, ClientThatBreaksTheProtocol_EndsAlone) {
  DaemonProcess daemon({"--isolation", "shared"});
  Client first(daemon);
  const pid_t worker = LastWorkerOf(daemon.socket(), getpid());
  {
    Client second(daemon);
    EXPECT_EQ(LastWorkerOf(daemon.socket(), getpid()), worker);
    // Both at once.
    for (int i = 0; i < 20; ++i) {
      second.StepBlindly();
      first.Steps(1);
      ASSERT_TRUE(second.Step().ok());
    }
    ASSERT_TRUE(Eventually([&] {
      const json clients = StatsAt(daemon.socket())["clients"];
      return clients.size() == 2 && clients[0]["dispatches"]["accepted"] == 20 &&
             clients[1]["dispatches"]["accepted"] == 40;
    })) << StatsAt(daemon.socket());
  }
  // A frame that is none.
  UniqueFd bad = ConnectTo(daemon.socket());
  const std::string garbage(4096, '\xff');
  ASSERT_EQ(write(bad.get(), garbage.data(), garbage.size()), ssize_t(garbage.size()));
  char byte;
  while (read(bad.get(), &byte, 1) > 0) {
  }
  first.Steps(3);
  EXPECT_TRUE(Eventually([&] { return StatsAt(daemon.socket())["clients"].size() == 1; }));
  EXPECT_EQ(LastWorkerOf(daemon.socket(), getpid()), worker);
  EXPECT_EQ(daemon.Workers(), std::vector<pid_t>{worker});
}

TEST(SharedIsolation, ClientsThatLeft_LeaveNoMemoryAndTheWorkerStays) {
  DaemonProcess daemon({"--isolation", "shared"});
  auto resident = [&] {
    return StatsAt(daemon.socket())["workers"][0]["residentBytes"].get<uint64_t>();
  };
  pid_t worker = -1;
  uint64_t before = 0;
  for (int round = 0; round < 4; ++round) {
    {
      Client client(daemon);
      client.Steps(2);
      auto large = client.ml().Wait(client.context().CreateTensor(
          {webnn::OperandDataType::kFloat32, {16 << 20}, /*readable=*/true, /*writable=*/true}));
      ASSERT_TRUE(large.ok()) << large.error().ToString();
      // Allocated, and cleared.
      EXPECT_TRUE(Eventually([&] { return resident() >= 64u << 20; }));
      const pid_t now = LastWorkerOf(daemon.socket(), getpid());
      if (round == 0) worker = now;
      EXPECT_EQ(now, worker);
    }
    ASSERT_TRUE(Eventually([&] { return StatsAt(daemon.socket())["clients"].empty(); }));
    if (round == 0) before = resident();
  }
#ifdef WEBNND_SANITIZERS
  constexpr uint64_t kFreedAndKept = 256u << 20;  // The sanitizer's quarantine.
#else
  constexpr uint64_t kFreedAndKept = 0;
#endif
  EXPECT_LT(resident(), before + kFreedAndKept + (32u << 20));
  EXPECT_EQ(daemon.Workers(), std::vector<pid_t>{worker});
}

TEST(SharedIsolation, WorkerThatDies_TakesAllAndTheyComeAgain) {
  DaemonProcess daemon({"--isolation", "shared"});
  Client first(daemon), second(daemon);
  kill(LastWorkerOf(daemon.socket(), getpid()), SIGKILL);
  EXPECT_GE(first.WaitUntilLost(5000), 0);
  EXPECT_GE(second.WaitUntilLost(5000), 0);
  first.OpenAgain();
  second.OpenAgain();
  first.Steps(1);
  second.Steps(1);
}

}  // namespace
}  // namespace webnnd
