// What a worker's process finds in its environment.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/broker/worker_process.h"

namespace webnnd::service {
namespace {

// Sets a variable for a while.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// What the driver is told of threads, lanes and optimization, and nothing else of the daemon's
// user.
TEST(WorkerEnvironmentTest, Variables_AreThoseOfThePolicy) {
  const Variable lanes("LP_NATIVE_VECTOR_WIDTH", "256");
  const Variable optimization("GALLIVM_PERF", "nopt");
  const Variable secret("LP_SECRET", "1");
  const std::vector<std::string> environment = WorkerEnvironment({});
  const std::set<std::string> names(environment.begin(), environment.end());
  EXPECT_TRUE(names.contains("LP_NATIVE_VECTOR_WIDTH=256"));
  EXPECT_TRUE(names.contains("GALLIVM_PERF=nopt"));
  EXPECT_TRUE(names.contains("HOME=/nonexistent"));
  EXPECT_FALSE(names.contains("LP_SECRET=1"));
}

}  // namespace
}  // namespace webnnd::service
