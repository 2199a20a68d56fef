// How the processor is shared between the workers of a broker: by sessions, and by control groups.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/service/echo_daemon.h"

namespace webnnd::test {
namespace {

using service::BrokerOptions;

using BrokerShares = EchoDaemonTest;

// What the kernel schedules by, where it groups tasks by session.
TEST_F(BrokerShares, EachWorker_IsASessionOfItsOwn) {
  Start();
  Client first = Connect(), second = Connect();
  for (Client* client : {&first, &second}) {
    const pid_t worker = client->worker();
    ASSERT_GT(worker, 0);
    EXPECT_EQ(getsid(worker), worker);
  }
}

// "NAME nice N": the kernel's group for the processor time of the process. Empty: it has none.
std::string SchedulingGroup(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/autogroup", pid));
  std::string name;
  file >> name;
  return name;
}

// Whether the kernel shares processor time between sessions: it does not inside a control group
// that has a share of its own.
bool SharesTimeBetweenSessions() {
  std::ifstream enabled("/proc/sys/kernel/sched_autogroup_enabled");
  int on = 0;
  if (!(enabled >> on) || on == 0) return false;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t controllers = line.find(':') + 1, path = line.find(':', controllers) + 1;
    const std::string names = "," + line.substr(controllers, path - 1 - controllers) + ",";
    const std::string directory = line.substr(path);
    if (directory == "/") continue;
    if (names.find(",cpu,") != std::string::npos) return false;
    // Version 2 has one tree for all controllers.
    if (names == ",," && std::filesystem::exists("/sys/fs/cgroup" + directory + "/cpu.weight")) {
      return false;
    }
  }
  return true;
}

// Ticks of processor time that the process has had. Throws where there is no such process.
int64_t ProcessorTicks(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) throw std::runtime_error(fmt::format("no process {}", pid));
  // The name may hold spaces; the 14th and the 15th field are the time in user and kernel mode.
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  for (int skipped = 0; skipped < 11; ++skipped) fields >> text;
  int64_t user = 0, kernel = 0;
  fields >> user >> kernel;
  return user + kernel;
}

// Leaves the calling thread, and what it starts, two cores at most for as long as it lives, so that
// few threads keep all of them busy.
class FewCores {
 public:
  FewCores() {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t few;
    CPU_ZERO(&few);
    for (int cpu = 0; cpu < CPU_SETSIZE && count_ < 2; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      CPU_SET(cpu, &few);
      ++count_;
    }
    EXPECT_EQ(sched_setaffinity(0, sizeof few, &few), 0);
  }
  ~FewCores() { EXPECT_EQ(sched_setaffinity(0, sizeof before_, &before_), 0); }
  int count() const { return count_; }

 private:
  cpu_set_t before_;
  int count_ = 0;
};

// In processor time, so that it does not matter what else the machine does.
void ExpectManyThreadsGetNoMoreThanFew(Client& good, Client& hostile, const FewCores& cores) {
  const pid_t workers[] = {good.worker(), hostile.worker()};
  for (int i = 0; i < cores.count(); ++i) ASSERT_TRUE(good.Ask(kKeepBusy));
  for (int i = 0; i < 8 * cores.count(); ++i) ASSERT_TRUE(hostile.Ask(kKeepBusy));
  // Beside others the scheduler takes its time until cores are shared evenly. By threads it would
  // be a ninth, however long.
  constexpr int kWindows = 5;
  double share = 0;
  for (int i = 0; i < kWindows && share < 0.4; ++i) {
    const int64_t before[] = {ProcessorTicks(workers[0]), ProcessorTicks(workers[1])};
    int64_t good_ticks = 0, hostile_ticks = 0;
    // A few seconds where the machine is busy otherwise.
    EXPECT_TRUE(Eventually([&] {
      good_ticks = ProcessorTicks(workers[0]) - before[0];
      hostile_ticks = ProcessorTicks(workers[1]) - before[1];
      return good_ticks + hostile_ticks >= 2 * sysconf(_SC_CLK_TCK);
    }));
    share = static_cast<double>(good_ticks) / static_cast<double>(good_ticks + hostile_ticks);
  }
  EXPECT_GE(share, 0.4);
}

TEST_F(BrokerShares, WorkerWithManyBusyThreads_GetsNoMoreThanItsShareOfTheProcessor) {
  if (!SharesTimeBetweenSessions()) GTEST_SKIP() << "the kernel does not group tasks by session";
  const FewCores cores;
  Start();
  Client good = Connect(), hostile = Connect();
  EXPECT_NE(SchedulingGroup(good.worker()), SchedulingGroup(hostile.worker()));
  ExpectManyThreadsGetNoMoreThanFew(good, hostile, cores);
}

// A control group of the test's own, below the root of version 2.
class ControlGroup {
 public:
  ControlGroup() {
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      if (!std::filesystem::exists(fmt::format("{}/cgroup.procs", mount))) continue;
      path_ = fmt::format("{}/webnnd-test-{}", mount, getpid());
      std::error_code error;
      if (!std::filesystem::create_directory(path_, error)) path_.clear();
      return;
    }
  }
  // Its groups too, from which all have gone.
  ~ControlGroup() {
    EXPECT_TRUE(Eventually([&] {
      for (const std::string& group : Groups()) rmdir((path_ + "/" + group).c_str());
      return path_.empty() || rmdir(path_.c_str()) == 0;
    }));
  }
  bool valid() const { return !path_.empty(); }
  // The calling process, and what it starts.
  void Join() const { std::ofstream(path_ + "/cgroup.procs") << getpid(); }
  std::set<std::string> Groups() const {
    std::set<std::string> groups;
    if (path_.empty()) return groups;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.is_directory()) groups.insert(entry.path().filename());
    }
    return groups;
  }
  // What it can share out: the processor if it can, else whatever there is; empty: nothing.
  std::string Controller() const {
    std::ifstream file(path_ + "/cgroup.controllers");
    const std::vector<std::string> names{std::istream_iterator<std::string>(file), {}};
    if (std::find(names.begin(), names.end(), "cpu") != names.end()) return "cpu";
    return names.empty() ? "" : names.front();
  }
  // What it does share out.
  std::string Shared() const {
    std::ifstream file(path_ + "/cgroup.subtree_control");
    std::string names;
    std::getline(file, names);
    return names;
  }
  // Who is in one of them, or, empty, in none.
  std::set<pid_t> Processes(const std::string& group) const {
    std::ifstream file(path_ + "/" + group + "/cgroup.procs");
    return {std::istream_iterator<pid_t>(file), {}};
  }

 private:
  std::string path_;
};

TEST_F(BrokerShares, WorkerGroups_EachWorkerHasOneForAsLongAsItLives) {
  const ControlGroup group;
  if (!group.valid()) GTEST_SKIP() << "NOT TESTED: no control group (version 2) can be made";
  StartWith([&] {
    group.Join();
    BrokerOptions options = Listening(/*warm_spare=*/false);
    options.group_controller = group.Controller();
    return options;
  });
  Client first = Connect();
  const pid_t first_worker = first.worker();
  ASSERT_GT(first_worker, 0);
  EXPECT_EQ(group.Groups(), (std::set<std::string>{"broker", "worker-1"}));
  EXPECT_EQ(group.Shared(), group.Controller());
  EXPECT_EQ(group.Processes("broker"), std::set<pid_t>{daemon_});
  EXPECT_EQ(group.Processes("worker-1"), std::set<pid_t>{first_worker});
  {
    Client second = Connect();
    const pid_t worker = second.worker();
    EXPECT_EQ(group.Processes("worker-2"), std::set<pid_t>{worker});
    second.Send(kLeave);
    EXPECT_TRUE(second.WaitForEnd().has_value());
  }
  // What the kernel lets go a little later is removed with the next that comes.
  EXPECT_TRUE(Eventually([&] {
    EXPECT_GT(Connect().worker(), 0);
    return !group.Groups().contains("worker-2");
  }));
  EXPECT_EQ(group.Processes("worker-1"), std::set<pid_t>{first_worker});
  EXPECT_EQ(Stop(SIGTERM), 0);
  EXPECT_EQ(group.Groups(), std::set<std::string>{"broker"});
}

TEST_F(BrokerShares, WorkerGroups_ShareTheProcessorBetweenWorkers) {
  const ControlGroup group;
  if (!group.valid() || group.Controller() != "cpu") {
    GTEST_SKIP() << "NOT TESTED: no control group (version 2) with a share of the processor";
  }
  const FewCores cores;
  StartWith([&] {
    group.Join();
    BrokerOptions options = Listening();
    options.group_controller = "cpu";
    return options;
  });
  Client good = Connect(), hostile = Connect();
  ExpectManyThreadsGetNoMoreThanFew(good, hostile, cores);
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(BrokerShares, WorkerGroupsThatCannotBeMade_LeaveAllAsItWas) {
  const ControlGroup group;
  if (!group.valid()) GTEST_SKIP() << "NOT TESTED: no control group (version 2) can be made";
  StartWith(
      [&] {
        group.Join();
        BrokerOptions options = Listening();
        options.group_controller = "nonsense";
        return options;
      },
      {{"WEBNND_LOG", "off"}});
  Client client = Connect();
  const pid_t worker = client.worker();
  ASSERT_GT(worker, 0);
  EXPECT_TRUE(group.Groups().empty());
  const std::set<pid_t> together = group.Processes("");
  EXPECT_TRUE(together.contains(daemon_) && together.contains(worker));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

}  // namespace
}  // namespace webnnd::test
