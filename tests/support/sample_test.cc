#include "tests/support/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace webnnd::service {
namespace {

// Gives the variable back as it was: this test runs in both ways as well.
class SampleTest : public testing::Test {
 protected:
  SampleTest() {
    if (const char* value = std::getenv(kName)) before_ = value;
  }
  ~SampleTest() override {
    unsetenv(kName);
    if (before_) setenv(kName, before_->c_str(), 1);
  }

  static constexpr const char* kName = "WEBNND_TEST_THOROUGH";

 private:
  std::optional<std::string> before_;
};

std::set<uint32_t> Taken(uint32_t cases, uint32_t one_of) {
  Sample sample(one_of);
  std::set<uint32_t> taken;
  for (uint32_t i = 0; i < cases; ++i) {
    if (sample.Takes()) taken.insert(i);
  }
  return taken;
}

TEST_F(SampleTest, Thorough_TakesAll) {
  setenv(kName, "1", 1);
  EXPECT_TRUE(IsThorough());
  EXPECT_EQ(Taken(100, 7).size(), 100u);
  EXPECT_EQ(SampleOf(100, 7), 100u);
  std::vector<uint32_t> turns = SampledTurns(36, 3);
  std::ranges::sort(turns);
  for (uint32_t i = 0; i < 36; ++i) EXPECT_EQ(turns.at(i), i);
}

TEST_F(SampleTest, AnyOtherValue_TakesItsShareAndTheFirst) {
  for (const char* value : {"", "0", "yes"}) {
    setenv(kName, value, 1);
    EXPECT_FALSE(IsThorough()) << value;
  }
  unsetenv(kName);
  EXPECT_FALSE(IsThorough());
  EXPECT_EQ(Taken(10, 3), (std::set<uint32_t>{0, 3, 6, 9}));
  EXPECT_EQ(Taken(3, 7), (std::set<uint32_t>{0}));
  EXPECT_EQ(Taken(5, 1).size(), 5u);
  EXPECT_EQ(SampleOf(6, 3), 2u);
  EXPECT_EQ(SampleOf(7, 3), 3u);
  EXPECT_EQ(SampleOf(1, 3), 1u);
  EXPECT_EQ(SampledTurns(24, 6, /*step=*/5), (std::vector<uint32_t>{0, 5, 10, 15}));
}

TEST_F(SampleTest, StepsThatWouldComeBackTooSoon_AreRefused) {
  EXPECT_DEATH(SampledTurns(33, 3), "gcd");
}

}  // namespace
}  // namespace webnnd::service
