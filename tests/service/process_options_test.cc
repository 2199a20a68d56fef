// The arguments by which the daemon tells its processes, workers and compilers, what to be.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/worker/compiler.h"
#include "service/worker/worker_options.h"

namespace webnnd::service {
namespace {

TEST(WorkerOptions, ArgumentsMadeFromThem_ParseToTheSame) {
  WorkerOptions options;
  options.id = 7;
  options.control_fd = 3;
  options.no_sandbox = true;
  options.profile = SandboxProfile::kDebug;
  options.devices = {0, 2};
  options.validation = true;
  options.shared = true;
  options.disabled_features = {"float16"};
  options.quota.tensors = 5;
  Result<WorkerOptions> parsed = ParseWorkerOptions(ToArguments(options));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(ToArguments(*parsed), ToArguments(options));
  EXPECT_EQ(parsed->quota, options.quota);
}

TEST(WorkerOptions, Nonsense_IsRefused) {
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{}, Words{"--control-fd"}, Words{"--control-fd", "x"}, Words{"--control-fd", "-3"},
        Words{"--control-fd", "3", "--bogus"}, Words{"--control-fd", "3", "--device", "1x"},
        Words{"--control-fd", "3", "--device", "64"},
        Words{"--control-fd", "3", "--isolation", "none"},
        Words{"--control-fd", "3", "--quota", "tensors"},
        Words{"--control-fd", "3", "--kernel-image-fd", "-1"},
        Words{"--control-fd", "3", "--kernel-image-fd"},
        Words{"--control-fd", "3", "--sandbox-profile", "none"}}) {
    EXPECT_FALSE(ParseWorkerOptions(words).ok());
  }
}

TEST(CompilerOptions, Arguments_GoBothWays) {
  CompilerOptions options;
  options.worker.devices = {1};
  options.worker.kernel_cache = true;
  options.worker.kernel_image_fd = 4;
  options.worker.disabled_features = {"fp16"};
  options.kernels = {{.shader = 1}, {.shader = 2, .constant_count = 1, .constants = {3}}};
  options.gives_way = false;
  options.output_fd = 3;
  const auto parsed = ParseCompilerOptions(ToArguments(options));
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  EXPECT_EQ(parsed->kernels, options.kernels);
  EXPECT_FALSE(parsed->gives_way);
  options.gives_way = true;
  EXPECT_TRUE(ParseCompilerOptions(ToArguments(options)).value().gives_way);
  EXPECT_EQ(parsed->output_fd, 3);
  EXPECT_TRUE(parsed->worker.kernel_cache);
  EXPECT_EQ(parsed->worker.kernel_image_fd, 4);
  EXPECT_EQ(parsed->worker.devices, options.worker.devices);
  EXPECT_EQ(parsed->worker.disabled_features, options.worker.disabled_features);
}

TEST(CompilerOptions, Nonsense_IsRefused) {
  using Words = std::vector<std::string>;
  EXPECT_TRUE(ParseCompilerOptions(Words{"--output-fd", "3"}).ok());
  for (const Words& words :
       {Words{}, Words{"--output-fd"}, Words{"--output-fd", "x"},
        Words{"--output-fd", "3", "--kernel"}, Words{"--output-fd", "3", "--kernel", "0:1"},
        Words{"--output-fd", "3", "--bogus"}}) {
    EXPECT_FALSE(ParseCompilerOptions(words).ok());
  }
}

}  // namespace
}  // namespace webnnd::service
