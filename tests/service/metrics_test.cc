#include "service/session/metrics.h"

#include <gtest/gtest.h>

#include <random>

namespace webnnd::service {
namespace {

TEST(LatencyHistogram, Nothing_HasNoQuantile) { EXPECT_EQ(LatencyHistogram().Quantile(0.5), 0u); }

TEST(LatencyHistogram, AnyDuration_IsFoundToAnEighth) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    // Every order of magnitude, up to the largest.
    const uint64_t truth = random() % (uint64_t{1} << (1 + random() % 32));
    LatencyHistogram histogram;
    histogram.Add(truth);
    const uint64_t found = histogram.Quantile(0.5);
    const uint64_t error = found > truth ? found - truth : truth - found;
    ASSERT_LE(error, truth / 8) << truth;
  }
}

TEST(LatencyHistogram, BeyondTheScale_IsTheLastClass) {
  LatencyHistogram histogram;
  histogram.Add(UINT64_MAX);
  EXPECT_GE(histogram.Quantile(1), 3'500'000'000u);
}

TEST(LatencyHistogram, Quantiles_AreThoseOfAll) {
  LatencyHistogram histogram;
  for (uint64_t i = 1; i <= 1000; ++i) histogram.Add(i);
  EXPECT_NEAR(static_cast<double>(histogram.Quantile(0.5)), 500, 500 / 8.0);
  EXPECT_NEAR(static_cast<double>(histogram.Quantile(0.95)), 950, 950 / 8.0);
  EXPECT_EQ(histogram.Quantile(0), 1u);
}

TEST(SessionMetrics, Dispatches_AreInFlightUntilTheyEnd) {
  SessionMetrics metrics;
  for (int i = 0; i < 5; ++i) metrics.Accept();
  metrics.Complete(100);
  metrics.Fail(2);
  metrics.Stop();
  EXPECT_EQ(metrics.accepted(), 5u);
  EXPECT_EQ(metrics.failed(), 3u);
  EXPECT_EQ(metrics.stopped(), 1u);
  EXPECT_EQ(metrics.in_flight(), 1u);
}

TEST(DispatchesInFlight, Entries_ComeBackInOrderThroughManyRounds) {
  DispatchesInFlight in_flight;
  uint32_t added = 0, taken = 0;
  for (int round = 0; round < 20; ++round) {
    for (uint32_t i = 0; i < limits::kTasksInFlightMax; ++i)
      in_flight.Add({1, added++, 2, nullptr});
    while (taken < added) ASSERT_EQ(in_flight.Take().graph, taken++);
  }
}

}  // namespace
}  // namespace webnnd::service
