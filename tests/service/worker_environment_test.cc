// What a worker's process finds in its environment.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "service/broker/worker_process.h"

namespace webnnd::service {
namespace {

// What the driver is told of threads and lanes, and nothing else of the daemon's user.
TEST(WorkerEnvironmentTest, Variables_AreThoseOfThePolicy) {
  const char* lanes = getenv("LP_NATIVE_VECTOR_WIDTH");
  const std::string before = lanes != nullptr ? lanes : "";
  setenv("LP_NATIVE_VECTOR_WIDTH", "256", 1);
  setenv("LP_SECRET", "1", 1);
  const std::vector<std::string> environment = WorkerEnvironment({});
  unsetenv("LP_SECRET");
  unsetenv("LP_NATIVE_VECTOR_WIDTH");
  if (!before.empty()) setenv("LP_NATIVE_VECTOR_WIDTH", before.c_str(), 1);
  const std::set<std::string> names(environment.begin(), environment.end());
  EXPECT_TRUE(names.contains("LP_NATIVE_VECTOR_WIDTH=256"));
  EXPECT_TRUE(names.contains("HOME=/nonexistent"));
  EXPECT_FALSE(names.contains("LP_SECRET=1"));
}

}  // namespace
}  // namespace webnnd::service
