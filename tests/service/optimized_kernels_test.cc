// That lavapipe's LLVM finds in our kernels what it is to make vectors of (base/drivers_llvm):
// without it they are right, and ten times as slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;

bool IsOptimizedHere() {
#if defined(__x86_64__) && !defined(WEBNND_SANITIZERS)
  return TestDevice()->adapter().name.find("llvmpipe") != std::string::npos;
#else
  return false;
#endif
}

// What is logged where an operator is computed for the first time, without a cache
// (CMakeLists.txt).
std::string LogOf(OperatorKind kind, const std::vector<std::optional<HostTensor>>& operands,
                  const webidl::OperatorAttributes& attributes = webidl::NoAttributes{},
                  const StreamedStores& streamed_stores = {}) {
  setenv("WEBNND_LOG", "debug", 1);
  InitLog("test");
  testing::internal::CaptureStderr();
  RunOne(kind, operands, attributes, streamed_stores);
  std::string log = testing::internal::GetCapturedStderr();
  unsetenv("WEBNND_LOG");
  InitLog("test");
  return log;
}

HostTensor Ones(webidl::OperandDataType type, const webidl::Shape& shape) {
  return HostTensor::Create(type, shape, {1});
}

constexpr auto kFloat = webidl::OperandDataType::kFloat32;

TEST(OptimizedKernels, Workgroups_AreShared) {
  if (!IsOptimizedHere()) GTEST_SKIP() << "only where lavapipe's LLVM is ours to change";
  EXPECT_THAT(LogOf(OperatorKind::kSub, {Ones(kFloat, {64, 64}), Ones(kFloat, {64, 64})}),
              testing::HasSubstr("llvmpipe's threads share a kernel's workgroups"));
}

TEST(OptimizedKernels, LoopsOverLanes_AreFound) {
  if (!IsOptimizedHere()) GTEST_SKIP() << "only where lavapipe's LLVM is ours to change";
  for (const auto kind : {OperatorKind::kAdd, OperatorKind::kMatmul}) {
    EXPECT_THAT(LogOf(kind, {Ones(kFloat, {64, 64}), Ones(kFloat, {64, 64})}),
                testing::ContainsRegex("LLVM optimizes a kernel: .* [1-9][0-9]* store"));
  }
}

// Loads by which `log` says that lines are asked for.
int AskedIn(const std::string& log) {
  std::smatch match;
  if (!std::regex_search(log, match, std::regex(", ([0-9]+) of them to ask for lines"))) return 0;
  return std::stoi(match[1]);
}

// The marks of shaders/stream.glsl. Vectors of fewer than 16 lanes are no lines.
TEST(OptimizedKernels, MarksOfShaders_AreFound) {
  if (!IsOptimizedHere()) GTEST_SKIP() << "only where lavapipe's LLVM is ours to change";
  const std::string streamed = TestDevice()->adapter().name.find("512 bits") != std::string::npos
                                   ? " [1-9][0-9]* of them past the caches"
                                   : " 0 of them past the caches";
  const testing::Matcher<const std::string&> asks =
      testing::ContainsRegex(" [1-9][0-9]* of them to ask for lines");
  const HostTensor square = Ones(kFloat, {64, 64});
  EXPECT_THAT(LogOf(OperatorKind::kExp, {square}), asks);
  EXPECT_THAT(LogOf(OperatorKind::kDiv, {square, square}), asks);
  const HostTensor input = Ones(kFloat, {1088, 256});
  const HostTensor indices = Ones(webidl::OperandDataType::kInt32, {272, 256});
  const std::string gathered =
      LogOf(OperatorKind::kGatherElements, {input, indices}, webidl::GatherAttributes{0});
  EXPECT_THAT(gathered, asks);
  const std::string log =
      LogOf(OperatorKind::kScatterElements, {input, indices, Ones(kFloat, {272, 256})},
            webidl::ScatterAttributes{0});
  EXPECT_THAT(log, asks);
  // Of indices and of what is copied; and of indices and updates.
  EXPECT_EQ(AskedIn(gathered), AskedIn(log));
  EXPECT_THAT(log, testing::ContainsRegex(streamed));
  const HostTensor halves = Ones(webidl::OperandDataType::kFloat16, {1024, 4096});
  EXPECT_THAT(LogOf(OperatorKind::kTranspose, {halves}, webidl::TransposeAttributes{{{1, 0}}}),
              testing::ContainsRegex(streamed));
  const HostTensor words = Ones(kFloat, {1024, 2048});
  EXPECT_THAT(LogOf(OperatorKind::kTranspose, {words}, webidl::TransposeAttributes{{{1, 0}}},
                    {.transposed_words = true}),
              testing::ContainsRegex(streamed));
  const HostTensor wide_input = Ones(kFloat, {1088, 512});
  const HostTensor many = Ones(webidl::OperandDataType::kInt32, {8192, 512});
  EXPECT_THAT(LogOf(OperatorKind::kGatherElements, {wide_input, many}, webidl::GatherAttributes{0},
                    {.gathered = true}),
              testing::ContainsRegex(streamed));
}

}  // namespace
}  // namespace webnnd::service
