#include "tools/benchmarks/statistics.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace webnnd::benchmarks {
namespace {

TEST(Summarize, OneSample_IsAllOfIt) {
  Summary summary = Summarize({3.5});
  EXPECT_EQ(summary.median, 3.5);
  EXPECT_EQ(summary.low, 3.5);
  EXPECT_EQ(summary.high, 3.5);
  EXPECT_EQ(summary.samples, 1u);
}

TEST(Summarize, OddCount_TakesTheMiddleOfTheSorted) {
  Summary summary = Summarize({9, 1, 5});
  EXPECT_EQ(summary.median, 5);
  EXPECT_EQ(summary.low, 1);
  EXPECT_EQ(summary.high, 9);
}

TEST(Summarize, ManySamples_LeaveOutFivePercentOnEachSide) {
  std::vector<double> samples(101);
  std::iota(samples.rbegin(), samples.rend(), 0);
  Summary summary = Summarize(samples);
  EXPECT_EQ(summary.median, 50);
  EXPECT_EQ(summary.low, 5);
  EXPECT_EQ(summary.high, 95);
  EXPECT_EQ(summary.samples, 101u);
}

TEST(Summarize, OneWildSample_DoesNotMoveTheMedian) {
  EXPECT_EQ(Summarize({1, 1, 1, 1, 1e9}).median, 1);
}

TEST(Summarize, NoSamples_AreADefect) { EXPECT_DEATH(Summarize({}), "samples"); }

TEST(Report, WriteJson_HoldsEachRowInOrder) {
  Report report;
  report.AddNote("device", "a \"quoted\" name");
  report.Add("time", "ms", {1, 2, 3});
  std::string path = testing::TempDir() + "/benchmark_report.json";
  ASSERT_TRUE(report.WriteJson(path));
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::remove(path.c_str());
  EXPECT_NE(text.str().find(R"("text": "a \"quoted\" name")"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(R"("median": 2.0)"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(R"("high": 3.0)"), std::string::npos) << text.str();
  EXPECT_LT(text.str().find("device"), text.str().find("time"));
}

TEST(Report, WriteJsonWhereItCannot_SaysSo) {
  Report report;
  report.Add("time", "ms", {1});
  EXPECT_FALSE(report.WriteJson(testing::TempDir() + "/no-such-folder/report.json"));
}

}  // namespace
}  // namespace webnnd::benchmarks
