// That lavapipe's LLVM finds in our kernels what it is to make vectors of (base/drivers_llvm):
// without it they are right, and ten times as slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

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
std::string LogOf(OperatorKind kind, webidl::OperandDataType type) {
  setenv("WEBNND_LOG", "debug", 1);
  InitLog("test");
  testing::internal::CaptureStderr();
  const webidl::Shape shape = {64, 64};
  RunOne(kind, {HostTensor::Create(type, shape, {1}), HostTensor::Create(type, shape, {1})});
  std::string log = testing::internal::GetCapturedStderr();
  unsetenv("WEBNND_LOG");
  InitLog("test");
  return log;
}

TEST(OptimizedKernels, Workgroups_AreShared) {
  if (!IsOptimizedHere()) GTEST_SKIP() << "only where lavapipe's LLVM is ours to change";
  EXPECT_THAT(LogOf(OperatorKind::kSub, webidl::OperandDataType::kFloat32),
              testing::HasSubstr("llvmpipe's threads share a kernel's workgroups"));
}

TEST(OptimizedKernels, LoopsOverLanes_AreFound) {
  if (!IsOptimizedHere()) GTEST_SKIP() << "only where lavapipe's LLVM is ours to change";
  constexpr auto kFloat = webidl::OperandDataType::kFloat32;
  EXPECT_THAT(LogOf(OperatorKind::kAdd, kFloat),
              testing::ContainsRegex("LLVM optimizes a kernel: .* [1-9][0-9]* store"));
  EXPECT_THAT(LogOf(OperatorKind::kMatmul, kFloat),
              testing::ContainsRegex("LLVM optimizes a kernel: .* [1-9][0-9]* store"));
}

}  // namespace
}  // namespace webnnd::service
