// What lavapipe is told through the environment: by the program that loads it, and by the broker.
#include "service/vulkan/lavapipe.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "service/broker/worker_process.h"
#include "service/vulkan/instance.h"

namespace webnnd::service {
namespace {

constexpr const char* kVariable = "GALLIUM_OVERRIDE_CPU_CAPS";

// The variable after the choice for `processor`, where it was `before` (null: not set).
std::string Chosen(const HostProcessor& processor, const char* before) {
  unsetenv(kVariable);
  if (before != nullptr) setenv(kVariable, before, 1);
  ChooseLavapipesInstructions(processor);
  const char* after = getenv(kVariable);
  std::string chosen = after != nullptr ? after : "not set";
  unsetenv(kVariable);
  return chosen;
}

TEST(Lavapipe, Avx512_IsLeftToOthersThanIntel) {
  EXPECT_EQ(Chosen({.intel = true, .avx512 = true}, nullptr), "avx");
  EXPECT_EQ(Chosen({.intel = true, .avx512 = false}, nullptr), "not set");
  EXPECT_EQ(Chosen({.intel = false, .avx512 = true}, nullptr), "not set");
  EXPECT_EQ(Chosen({}, nullptr), "not set");
}

TEST(Lavapipe, InstructionsOfTheUsers_Stand) {
  EXPECT_EQ(Chosen({.intel = true, .avx512 = true}, "sse4.1"), "sse4.1");
  EXPECT_EQ(Chosen({.intel = true, .avx512 = true}, ""), "");
}

TEST(Lavapipe, FirstInstance_Chooses) {
  unsetenv(kVariable);
  auto instance = Instance::Create(/*validation=*/false);
  ASSERT_TRUE(instance.ok()) << instance.error().ToString();
  HostProcessor processor = HostProcessor::Detect();
  EXPECT_EQ(getenv(kVariable) != nullptr, processor.intel && processor.avx512);
}

TEST(Lavapipe, InstructionsOfTheUsers_ReachAWorker) {
  setenv(kVariable, "sse4.1", 1);
  std::vector<std::string> environment = WorkerEnvironment({});
  unsetenv(kVariable);
  EXPECT_EQ(std::ranges::count(environment, std::string(kVariable) + "=sse4.1"), 1);
}

}  // namespace
}  // namespace webnnd::service
