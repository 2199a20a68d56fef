// The broker's decisions, on a clock of the test's own.
#include "service/broker/worker_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "service/worker/control_message.h"

namespace webnnd::service {
namespace {

class WorkerPoolTest : public testing::Test, public WorkerActions {
 protected:
  using State = WorkerPool::State;

  WorkerPoolTest() { InitLog("pool under test", LogLevel::kOff); }

  void Make(const WorkerPool::Options& options) { pool_.emplace(options, *this); }

  void Settle(int64_t milliseconds = 0) {
    now_ms_ += milliseconds;
    pool_->OnTimers(now_ms_);
    pool_->Settle(now_ms_);
  }
  template <class Packet>
  void Tell(uint32_t worker, const Packet& packet) {
    pool_->OnPacket(worker, std::as_bytes(std::span(&packet, 1)), now_ms_);
  }
  void Tell(uint32_t worker, ControlType type, uint32_t sequence = 0) {
    Tell(worker, ControlMessage{type, sequence});
  }
  void Report(uint32_t worker, uint32_t client, uint64_t dispatches = 0) {
    Tell(worker, ReportMessage{{ControlType::kReport, client}, {.dispatches = dispatches}});
  }
  void End(uint32_t worker) {
    pool_->OnEnd(worker, /*failed=*/true, "is killed by the test", now_ms_);
  }
  // Each from a process of its own, unless it is said.
  void Come(uint32_t client) { Come(client, static_cast<pid_t>(client)); }
  void Come(uint32_t client, pid_t process) { pool_->OnClient(client, process); }
  // A worker that has this one client.
  uint32_t ServedBy(uint32_t client) { return ServedBy(client, static_cast<pid_t>(client)); }
  uint32_t ServedBy(uint32_t client, pid_t process) {
    Come(client, process);
    Settle();
    Tell(last_started_, ControlType::kReady);
    Settle();
    EXPECT_EQ(pool_->StateOf(last_started_), State::kServing);
    return last_started_;
  }
  // Until nothing starts any more.
  void SettleWithAllReady() {
    Settle();
    for (int i = 0; i < 100 && pool_->Count(State::kStarting) > 0; ++i) {
      for (uint32_t id = 1; id <= last_started_; ++id) {
        if (pool_->StateOf(id) == State::kStarting) Tell(id, ControlType::kReady);
      }
      Settle();
    }
    EXPECT_EQ(pool_->Count(State::kStarting), 0u);
  }
  // Ticks, and does `meanwhile` before each, until a worker is killed.
  template <class Meanwhile>
  void AwaitKill(Meanwhile meanwhile) {
    for (int i = 0; i < 1000 && killed_.empty(); ++i) {
      meanwhile();
      Settle(10);
    }
    EXPECT_FALSE(killed_.empty());
  }
  void AwaitKill() {
    AwaitKill([] {});
  }
  // Ticks until a ping; its sequence.
  uint32_t AwaitPing() {
    const size_t before = pings_.size();
    for (int i = 0; i < 100 && pings_.size() == before; ++i) Settle(limits::kHeartbeatIntervalMs);
    EXPECT_EQ(pings_.size(), before + 1);
    return pings_.back();
  }

  // WorkerActions
  Status Start(uint32_t id) override {
    last_started_ = id;
    started_at_.push_back(now_ms_);
    return {};
  }
  PingResult Ping(uint32_t, uint32_t sequence) override {
    pings_.push_back(sequence);
    return ping_result_;
  }
  std::optional<ThreadTimes> TimesOf(uint32_t) override { return times_; }
  Status Serve(uint32_t, uint32_t client) override {
    if (!clients_are_taken_) return InternalError("the test says so");
    served_.push_back(client);
    return {};
  }
  void Kill(uint32_t id) override { killed_.insert(id); }
  void TurnAway(uint32_t client, const Status& why) override {
    turned_away_[client] = why.ok() ? "" : why.error().message();
  }
  void OnLeft(uint32_t client) override { left_.insert(client); }
  void OnKernel(uint32_t id, const CompiledKernel& kernel) override {
    EXPECT_EQ(id, last_started_);
    kernels_.push_back(kernel);
  }
  void OnFetch(uint32_t id, uint32_t sequence) override {
    EXPECT_EQ(id, last_started_);
    fetches_.push_back(sequence);
  }
  bool HasMemory(bool newcomers) override {
    return newcomers ? has_memory_for_newcomers_ : has_memory_;
  }

  std::optional<WorkerPool> pool_;
  int64_t now_ms_ = 1000;
  uint32_t last_started_ = 0;
  std::vector<int64_t> started_at_;
  std::vector<uint32_t> pings_;
  std::vector<uint32_t> served_;
  std::set<uint32_t> killed_, left_;
  std::vector<CompiledKernel> kernels_;
  std::vector<uint32_t> fetches_;
  std::map<uint32_t, std::string> turned_away_;  // And why.
  PingResult ping_result_ = PingResult::kSent;
  std::optional<ThreadTimes> times_;
  bool clients_are_taken_ = true;
  bool has_memory_ = true;
  bool has_memory_for_newcomers_ = true;
};

TEST_F(WorkerPoolTest, SpareThatDiesAgainAndAgain_IsReplacedEverMoreSlowly) {
  Make({.warm_spare = true});
  for (int i = 0; i < 10; ++i) {
    const size_t before = started_at_.size();
    while (started_at_.size() == before) Settle(10);
    Tell(last_started_, ControlType::kReady);
    End(last_started_);
  }
  std::vector<int64_t> pauses;
  for (size_t i = 1; i < started_at_.size(); ++i) {
    pauses.push_back(started_at_[i] - started_at_[i - 1]);
  }
  EXPECT_EQ(pauses, (std::vector<int64_t>{100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000}));
  EXPECT_EQ(pool_->counters().workers_failed, 10u);
  // Once a worker has a client, all is forgotten.
  Settle(5000);
  Tell(last_started_, ControlType::kReady);
  Come(1);
  Settle();
  ASSERT_EQ(served_.size(), 1u);
  Tell(last_started_, ControlType::kReady);
  const int64_t ended_ms = now_ms_;
  End(last_started_);
  Settle(100);
  EXPECT_EQ(started_at_.back(), ended_ms + 100);
}

TEST_F(WorkerPoolTest, WorkerThatDiesWithItsClient_IsReplacedAtOnce) {
  Make({.warm_spare = false});
  End(ServedBy(1));
  EXPECT_EQ(left_, std::set<uint32_t>{1});
  Come(2);
  Settle();
  EXPECT_EQ(started_at_.back(), now_ms_);
  EXPECT_EQ(started_at_.size(), 2u);
}

TEST_F(WorkerPoolTest, MoreClientsThanWorkers_WaitInTurn) {
  Make({.warm_spare = false, .workers_max = 2});
  const uint32_t first = ServedBy(1);
  ServedBy(2);
  for (uint32_t client : {3, 4, 5}) Come(client);
  Settle(60);
  EXPECT_EQ(started_at_.size(), 2u);
  EXPECT_EQ(pool_->waiting(), 3u);
  EXPECT_TRUE(turned_away_.empty());
  // One of those that wait gives up.
  pool_->OnClientLeft(3);
  End(first);
  Settle();
  Tell(last_started_, ControlType::kReady);
  Settle();
  EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2, 4}));
  EXPECT_EQ(pool_->waiting(), 1u);
}

TEST_F(WorkerPoolTest, SpareBeyondTheMost_ServesNobody) {
  Make({.warm_spare = true, .workers_max = 1});
  Settle();
  Tell(last_started_, ControlType::kReady);
  Come(1);
  Settle();
  Come(2);
  Settle(1);
  EXPECT_EQ(served_, std::vector<uint32_t>{1});
  EXPECT_EQ(started_at_.size(), 1u);
}

TEST_F(WorkerPoolTest, TooManyThatWait_AreTurnedAway) {
  Make({.warm_spare = false, .workers_max = 1, .waiting_max = 3});
  ServedBy(1);
  for (uint32_t client = 2; client <= 6; ++client) Come(client);
  EXPECT_EQ(turned_away_, (std::map<uint32_t, std::string>{{5, "too many clients wait (3)"},
                                                           {6, "too many clients wait (3)"}}));
  EXPECT_EQ(pool_->counters().clients_turned_away, 2u);
}

TEST_F(WorkerPoolTest, TooManyOfOneProcessThatWait_AreTurnedAway) {
  Make({.warm_spare = false, .workers_max = 1, .waiting_per_process_max = 2});
  ServedBy(1, 100);
  for (uint32_t client = 2; client <= 5; ++client) Come(client, 100);
  const std::string why = "too many clients of this process wait (2)";
  EXPECT_EQ(turned_away_, (std::map<uint32_t, std::string>{{4, why}, {5, why}}));
  Come(6, 200);
  EXPECT_EQ(turned_away_.size(), 2u);
  EXPECT_EQ(pool_->waiting(), 3u);
}

TEST_F(WorkerPoolTest, FullTable_TheProcessThatHasMostGivesUpItsLast) {
  Make({.warm_spare = false, .workers_max = 1, .waiting_max = 4});
  ServedBy(1, 100);
  for (uint32_t client = 2; client <= 5; ++client) Come(client, 100);
  EXPECT_TRUE(turned_away_.empty());
  for (uint32_t client : {6, 7}) Come(client, 200);
  const std::string why = "too many clients wait (4)";
  EXPECT_EQ(turned_away_, (std::map<uint32_t, std::string>{{5, why}, {4, why}}));
  // Both have two.
  for (uint32_t client : {8, 9}) Come(client, client == 8 ? 100 : 200);
  EXPECT_TRUE(turned_away_.contains(8) && turned_away_.contains(9));
  EXPECT_EQ(pool_->waiting(), 4u);
  EXPECT_EQ(pool_->counters().clients_turned_away, 4u);
}

TEST_F(WorkerPoolTest, FloodOfOneProcess_DelaysAnotherByOneTurn) {
  Make({.warm_spare = false, .workers_max = 1});
  uint32_t worker = ServedBy(1, 100);
  for (uint32_t client = 2; client <= 200; ++client) Come(client, 100);
  for (uint32_t client : {301, 302}) Come(client, 200);
  Come(401, 300);
  for (int turn = 0; turn < 6; ++turn) {
    End(worker);
    Settle();
    worker = last_started_;
    Tell(worker, ControlType::kReady);
    Settle();
  }
  EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2, 301, 401, 3, 302, 4}));
}

TEST_F(WorkerPoolTest, ProcessOfWhichNobodyIsServed_ComesFirst) {
  Make({.warm_spare = false, .workers_max = 3});
  ServedBy(1, 100);
  const uint32_t second = ServedBy(2, 100);
  ServedBy(3, 200);
  for (uint32_t client : {4, 5}) Come(client, 100);
  Come(6, 200);
  Come(7, 300);
  End(second);
  Settle();
  Tell(last_started_, ControlType::kReady);
  Settle();
  EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2, 3, 7}));
}

TEST_F(WorkerPoolTest, ProcessThatHasItsShare_LeavesRoomForOthers) {
  for (const bool shared : {false, true}) {
    Make({.warm_spare = true, .workers_max = 4, .served_per_process_max = 3, .shared = shared});
    served_.clear();
    for (uint32_t client = 1; client <= 10; ++client) Come(client, 100);
    SettleWithAllReady();
    EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2, 3}));
    // No more are started than may serve, but for the spare.
    EXPECT_EQ(pool_->size(), shared ? 1u : 4u);
    Come(11, 200);
    Settle();
    EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2, 3, 11}));
    // And comes again when one of its own has left.
    if (shared) {
      Tell(last_started_, ControlType::kGone, 2);
    } else {
      End(1);
    }
    SettleWithAllReady();
    EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2, 3, 11, 4}));
    EXPECT_TRUE(killed_.empty());
  }
}

TEST_F(WorkerPoolTest, ShareOfOneProcess_IsThreeQuartersUnlessItIsSaid) {
  for (const auto& [workers, share] : {std::pair(1, 1), {2, 2}, {3, 3}, {4, 3}, {64, 48}}) {
    Make({.warm_spare = false, .workers_max = static_cast<size_t>(workers)});
    served_.clear();
    for (uint32_t client = 1; client <= 70; ++client) Come(client, 100);
    SettleWithAllReady();
    EXPECT_EQ(served_.size(), static_cast<size_t>(share)) << workers;
  }
}

TEST_F(WorkerPoolTest, ManyClientsAtOnce_StartFewWorkersAtATime) {
  Make({.warm_spare = false});
  for (uint32_t client = 1; client <= 40; ++client) Come(client);
  Settle();
  EXPECT_EQ(pool_->Count(State::kStarting), 4u);
}

TEST_F(WorkerPoolTest, WorkersWhoseClientsLeftWhileTheyStarted_EndButForTheSpare) {
  for (const bool warm_spare : {false, true}) {
    Make({.warm_spare = warm_spare});
    started_at_.clear();
    killed_.clear();
    for (uint32_t client = 1; client <= 3; ++client) Come(client);
    Settle();
    ASSERT_EQ(started_at_.size(), 3u);
    for (uint32_t client = 1; client <= 3; ++client) pool_->OnClientLeft(client);
    for (uint32_t worker = 1; worker <= 3; ++worker) Tell(worker, ControlType::kReady);
    Settle();
    EXPECT_EQ(killed_.size(), warm_spare ? 2u : 3u);
    for (uint32_t worker : std::set(killed_)) End(worker);
    Settle();
    EXPECT_EQ(pool_->size(), warm_spare ? 1u : 0u);
    EXPECT_EQ(pool_->counters().workers_failed, 0u);
    EXPECT_EQ(started_at_.size(), 3u);
  }
}

TEST_F(WorkerPoolTest, ShortMemory_KeepsFurtherClientsWaiting) {
  Make({.warm_spare = false});
  has_memory_ = has_memory_for_newcomers_ = false;
  // The first is started in any case.
  ServedBy(1);
  Come(2);
  Settle(2000);
  EXPECT_EQ(started_at_.size(), 1u);
  // Without an event it is looked at again.
  EXPECT_LE(pool_->deadline_ms(now_ms_), now_ms_ + 250);
  has_memory_for_newcomers_ = true;
  Settle(250);
  EXPECT_EQ(started_at_.size(), 2u);
}

TEST_F(WorkerPoolTest, ShortMemory_WhatIsLeftIsForNewcomers) {
  Make({.warm_spare = true});
  has_memory_ = false;
  ServedBy(1, 100);
  // Neither for a spare nor for further clients of a process that has one.
  Come(2, 100);
  Settle(1000);
  EXPECT_EQ(started_at_.size(), 1u);
  for (uint32_t client : {3, 4}) Come(client, 200);
  Settle(1000);
  EXPECT_EQ(started_at_.size(), 2u);
  Tell(last_started_, ControlType::kReady);
  Settle(1000);
  EXPECT_EQ(served_, (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(started_at_.size(), 2u);
}

TEST_F(WorkerPoolTest, Report_IsWhatTheWorkerSaidLast) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  const uint32_t sequence = AwaitPing();
  Report(worker, 1, 42);
  Tell(worker, ControlType::kPong, sequence);
  ASSERT_EQ(pool_->Served().size(), 1u);
  EXPECT_EQ(pool_->Served()[0].figures.dispatches, 42u);
  EXPECT_TRUE(killed_.empty());
}

TEST_F(WorkerPoolTest, PingThatIsNotSent_IsSentAgainAndIsNoSilence) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  ping_result_ = PingResult::kNotSent;
  const uint32_t lost = AwaitPing();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(pool_->deadline_ms(now_ms_), now_ms_ + limits::kHeartbeatIntervalMs);
    EXPECT_EQ(AwaitPing(), lost);
  }
  EXPECT_TRUE(killed_.empty());
  ping_result_ = PingResult::kSent;
  EXPECT_EQ(AwaitPing(), lost);
  Report(worker, 1);
  Tell(worker, ControlType::kPong, lost);
  EXPECT_EQ(AwaitPing(), lost + 1);
  EXPECT_TRUE(killed_.empty());
  // From the ping on that it has.
  const int64_t since_ms = now_ms_;
  AwaitKill();
  EXPECT_EQ(now_ms_ - since_ms, limits::kHeartbeatSilenceMaxMs);
}

TEST_F(WorkerPoolTest, AnswerToAPingThatWasNotSent_CostsTheWorker) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  ping_result_ = PingResult::kNotSent;
  Tell(worker, ControlType::kPong, AwaitPing());
  EXPECT_TRUE(killed_.contains(worker));
}

TEST_F(WorkerPoolTest, WorkerThatDoesNotTakeWhatItIsSent_IsSilent) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  ping_result_ = PingResult::kLineFull;
  const uint32_t first = AwaitPing();
  const int64_t since_ms = now_ms_;
  // Should it take something after all, it is asked.
  EXPECT_EQ(AwaitPing(), first);
  AwaitKill();
  EXPECT_EQ(killed_, std::set<uint32_t>{worker});
  EXPECT_EQ(now_ms_ - since_ms, limits::kHeartbeatSilenceMaxMs);
}

TEST_F(WorkerPoolTest, WorkerThatWaitsForAProcessor_IsNotSilentMeanwhile) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  const uint32_t sequence = AwaitPing();
  times_ = ThreadTimes{.ran_ns = 5, .waited_ns = 7, .is_runnable = true};
  for (int i = 0; i < 100; ++i) Settle(limits::kHeartbeatIntervalMs);
  EXPECT_TRUE(killed_.empty());
  Tell(worker, ControlType::kPong, sequence);
  EXPECT_EQ(AwaitPing(), sequence + 1);
  EXPECT_TRUE(killed_.empty());
}

TEST_F(WorkerPoolTest, WorkerThatRunsWithoutAnswering_IsSilentForAsLongAsItRuns) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  AwaitPing();
  const int64_t since_ms = now_ms_;
  // It has half of a processor from the first look on, which comes after an interval.
  times_ = ThreadTimes{.is_runnable = true};
  AwaitKill([&] { times_->ran_ns += 5'000'000; });
  EXPECT_EQ(killed_, std::set<uint32_t>{worker});
  EXPECT_NEAR(static_cast<double>(now_ms_ - since_ms),
              2 * limits::kHeartbeatSilenceMaxMs - limits::kHeartbeatIntervalMs, 10);
}

TEST_F(WorkerPoolTest, WorkerThatSleepsWithoutAnswering_IsSilentButForWhatItWaited) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  AwaitPing();
  const int64_t since_ms = now_ms_;
  times_ = ThreadTimes{};
  Settle(limits::kHeartbeatIntervalMs);
  times_->waited_ns += 100'000'000;
  AwaitKill();
  EXPECT_EQ(killed_, std::set<uint32_t>{worker});
  EXPECT_EQ(now_ms_ - since_ms, limits::kHeartbeatSilenceMaxMs + 100);
}

TEST_F(WorkerPoolTest, TimesOfAnEarlierSilence_DoNotCount) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  const uint32_t sequence = AwaitPing();
  times_ = ThreadTimes{};
  Settle(limits::kHeartbeatIntervalMs);
  Tell(worker, ControlType::kPong, sequence);
  // All of it before the next ping.
  times_->waited_ns += 900'000'000;
  AwaitPing();
  const int64_t since_ms = now_ms_;
  AwaitKill();
  EXPECT_EQ(now_ms_ - since_ms, limits::kHeartbeatSilenceMaxMs);
}

TEST_F(WorkerPoolTest, WorkerThatIsNotHeard_IsNotSilentMeanwhile) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  const uint32_t sequence = AwaitPing();
  for (int i = 0; i < 100; ++i) {
    pool_->OnUnheard(worker, now_ms_);
    Settle(limits::kHeartbeatSilenceMaxMs / 2);
  }
  EXPECT_TRUE(killed_.empty());
  Tell(worker, ControlType::kPong, sequence);
  AwaitPing();
  // Once it is heard again, silence is silence.
  pool_->OnUnheard(worker, now_ms_);
  const int64_t since_ms = now_ms_;
  AwaitKill();
  EXPECT_EQ(now_ms_ - since_ms, limits::kHeartbeatSilenceMaxMs);
}

TEST_F(WorkerPoolTest, WorkerThatIsNotHeardWhileItStarts_HasItsTimeFromThen) {
  Make({.warm_spare = true});
  Settle();
  for (int i = 0; i < 4; ++i) {
    pool_->OnUnheard(last_started_, now_ms_);
    Settle(limits::kWorkerStartMaxMs - 1);
  }
  EXPECT_TRUE(killed_.empty());
  Settle(1);
  EXPECT_TRUE(killed_.contains(last_started_));
}

TEST_F(WorkerPoolTest, WorkerThatClosesItsLine_IsSilentFromThen) {
  for (const bool ready : {false, true}) {
    Make({.warm_spare = true});
    killed_.clear();
    Settle();
    const uint32_t worker = last_started_;
    if (ready) Tell(worker, ControlType::kReady);
    const size_t pings = pings_.size();
    pool_->OnLineClosed(worker, now_ms_);
    Settle(limits::kHeartbeatSilenceMaxMs - 1);
    EXPECT_TRUE(killed_.empty());
    Settle(1);
    EXPECT_EQ(killed_, std::set<uint32_t>{worker});
    EXPECT_EQ(pings_.size(), pings);
  }
}

TEST_F(WorkerPoolTest, Spare_ThatCannotBeGivenAClient_IsReplaced) {
  Make({.warm_spare = true});
  Settle();
  const uint32_t spare = last_started_;
  Tell(spare, ControlType::kReady);
  clients_are_taken_ = false;
  Come(1);
  Settle();
  EXPECT_EQ(killed_, std::set<uint32_t>{spare});
  EXPECT_EQ(pool_->waiting(), 1u);
  End(spare);
  clients_are_taken_ = true;
  SettleWithAllReady();
  EXPECT_EQ(served_, std::vector<uint32_t>{1});
}

TEST_F(WorkerPoolTest, Shared_ClientThatCannotBeGivenToTheWorker_WaitsAndCostsNobody) {
  Make({.warm_spare = true, .shared = true});
  ServedBy(1);
  clients_are_taken_ = false;
  Come(2);
  Settle();
  EXPECT_EQ(pool_->waiting(), 1u);
  // It is tried again without an event, and not before.
  const int64_t again_ms = pool_->deadline_ms(now_ms_);
  EXPECT_EQ(again_ms, now_ms_ + 100);
  clients_are_taken_ = true;
  Settle(again_ms - now_ms_ - 1);
  EXPECT_EQ(pool_->waiting(), 1u);
  Settle(1);
  EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(killed_.empty());
}

TEST_F(WorkerPoolTest, ReportsThatNobodyAskedFor_CostTheWorker) {
  Make({.warm_spare = false});
  const uint32_t early = ServedBy(1);
  Report(early, 1);
  EXPECT_TRUE(killed_.contains(early));

  const uint32_t twice = ServedBy(2);
  AwaitPing();
  Report(twice, 2);
  EXPECT_FALSE(killed_.contains(twice));
  Report(twice, 2);
  EXPECT_TRUE(killed_.contains(twice));

  const uint32_t others = ServedBy(3);
  AwaitPing();
  Report(others, 2);
  EXPECT_TRUE(killed_.contains(others));
}

TEST_F(WorkerPoolTest, Kernels_AreToldUpToTheMost) {
  Make({.warm_spare = false, .kernel_cache = true});
  const uint32_t worker = ServedBy(1);
  for (uint32_t i = 0; i < limits::kKernelReportsMax; ++i) {
    Tell(worker, KernelMessage{.kernel = {.shader = i}});
  }
  EXPECT_EQ(kernels_.size(), limits::kKernelReportsMax);
  EXPECT_EQ(kernels_.back().shader, limits::kKernelReportsMax - 1);
  EXPECT_FALSE(killed_.contains(worker));
  Tell(worker, KernelMessage{});
  EXPECT_TRUE(killed_.contains(worker));
  EXPECT_EQ(kernels_.size(), limits::kKernelReportsMax);
}

TEST_F(WorkerPoolTest, FetchOfNothing_CostsTheWorker) {
  Make({.warm_spare = false, .kernel_cache = true});
  uint32_t worker = ServedBy(1);
  for (const uint32_t sequence : {1u, 2u}) {
    Tell(worker, KernelMessage{.kernel = {.shader = sequence}});
    Tell(worker, ControlType::kFetch, sequence);
  }
  EXPECT_EQ(fetches_, (std::vector<uint32_t>{1, 2}));
  EXPECT_FALSE(killed_.contains(worker));
  // Each has something to wait for.
  Tell(worker, ControlType::kFetch, 3);
  EXPECT_TRUE(killed_.contains(worker));
  worker = ServedBy(2);
  Tell(worker, ControlType::kFetch, 1);
  EXPECT_TRUE(killed_.contains(worker));
  EXPECT_EQ(fetches_.size(), 2u);
}

TEST_F(WorkerPoolTest, KernelsThatAreNone_CostTheWorker) {
  Make({.warm_spare = false, .kernel_cache = true});
  CompiledKernel too_long{.constant_count = CompiledKernel::kConstantsMax + 1};
  CompiledKernel behind{.constant_count = 1};
  behind.constants[1] = 1;
  uint32_t client = 0;
  for (const KernelMessage& message :
       {KernelMessage{.kernel = too_long}, KernelMessage{.kernel = behind},
        KernelMessage{.header = {ControlType::kKernel, 1}},
        KernelMessage{.header = {ControlType::kReport}}}) {
    const uint32_t worker = ServedBy(++client);
    Tell(worker, message);
    EXPECT_TRUE(killed_.contains(worker));
  }
  EXPECT_TRUE(kernels_.empty());
}

TEST_F(WorkerPoolTest, KernelWithoutACache_CostsTheWorker) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  Tell(worker, KernelMessage{});
  EXPECT_TRUE(killed_.contains(worker));
}

TEST_F(WorkerPoolTest, SparesThatAreReplaced_MakeWayAndCountAsNoFailure) {
  Make({.warm_spare = true});
  SettleWithAllReady();
  const uint32_t busy = last_started_;
  Come(1);
  Settle();
  ASSERT_EQ(pool_->StateOf(busy), State::kServing);
  SettleWithAllReady();
  const uint32_t spare = last_started_;
  ASSERT_EQ(pool_->StateOf(spare), State::kReady);
  pool_->ReplaceSpares();
  EXPECT_TRUE(killed_.contains(spare));
  EXPECT_FALSE(killed_.contains(busy));
  End(spare);
  // At once, unlike one that dies by itself.
  Settle();
  EXPECT_GT(last_started_, spare);
  EXPECT_EQ(pool_->counters().workers_failed, 0u);
}

TEST_F(WorkerPoolTest, Shared_OneWorkerHasAllAndStaysWhenTheyLeave) {
  Make({.warm_spare = true, .shared = true});
  const uint32_t worker = ServedBy(1);
  Come(2);
  Settle();
  EXPECT_EQ(served_, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(started_at_.size(), 1u);
  Tell(worker, ControlType::kGone, 1);
  EXPECT_EQ(left_, std::set<uint32_t>{1});
  EXPECT_EQ(pool_->StateOf(worker), State::kServing);
  Tell(worker, ControlType::kGone, 2);
  Settle();
  EXPECT_EQ(pool_->StateOf(worker), State::kReady);
  EXPECT_EQ(started_at_.size(), 1u);
  // None can leave twice.
  Tell(worker, ControlType::kGone, 2);
  EXPECT_TRUE(killed_.contains(worker));
}

TEST_F(WorkerPoolTest, Shared_ClientsBeyondTheMostWait) {
  Make({.warm_spare = false, .shared = true});
  const uint32_t worker = ServedBy(1);
  for (uint32_t client = 2; client <= limits::kClientsPerSharedWorkerMax + 1; ++client) {
    Come(client);
  }
  Settle();
  EXPECT_EQ(served_.size(), limits::kClientsPerSharedWorkerMax);
  EXPECT_EQ(pool_->waiting(), 1u);
  Tell(worker, ControlType::kGone, 7);
  Settle();
  EXPECT_EQ(pool_->waiting(), 0u);
}

TEST_F(WorkerPoolTest, OwnWorker_LeavesWithItsClientAndDoesNotSayGone) {
  Make({.warm_spare = false});
  const uint32_t worker = ServedBy(1);
  Tell(worker, ControlType::kGone, 1);
  EXPECT_TRUE(killed_.contains(worker));
}

}  // namespace
}  // namespace webnnd::service
