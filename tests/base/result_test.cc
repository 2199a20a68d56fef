#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace webnnd {
namespace {

Result<int> Half(int x) {
  INVALID_IF(x % 2 != 0, "the number ({}) is odd", x);
  return x / 2;
}

Result<int> Quarter(int x) {
  ASSIGN_OR_RETURN(int half, Half(x));
  return Half(half);
}

Status QuarterExists(int x) {
  TRY_DOING(Quarter(x), "quartering ({})", x);
  return {};
}

TEST(Result, AssignOrReturn_PassesValueOn) { EXPECT_EQ(Quarter(12).value(), 3); }

TEST(Result, AssignOrReturn_PassesErrorOn) {
  Result<int> result = Quarter(6);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kValidation);
  EXPECT_EQ(result.error().message(), "the number (3) is odd");
}

TEST(Result, TryDoing_AddsContextInnermostFirst) {
  Status status = QuarterExists(6);
  ASSERT_FALSE(status.ok());
  Error error = status.error();
  error.AddContext("testing");
  EXPECT_EQ(error.ToString(), "the number (3) is odd\n - While quartering (6).\n - While testing.");
}

TEST(Error, OfACall_HasItsNameAndThatOfItsNumber) {
  errno = ENOENT;
  Error missing = ErrnoError("open");
  EXPECT_EQ(missing.cause(), Cause::kInternal);
  EXPECT_EQ(missing.message(), "open fails (ENOENT: No such file or directory)");
  errno = ENOMEM;
  EXPECT_EQ(ErrnoError("mmap").cause(), Cause::kOutOfMemory);
  errno = 4095;
  EXPECT_NE(ErrnoError("ioctl").message().find("(unknown: "), std::string::npos);
}

TEST(Error, Causes_HaveTheirNames) {
  EXPECT_EQ(CauseName(ValidationError("x").cause()), "Validation");
  EXPECT_EQ(CauseName(NotSupportedError("x").cause()), "NotSupported");
  EXPECT_EQ(CauseName(InvalidStateError("x").cause()), "InvalidState");
  EXPECT_EQ(CauseName(QuotaError("x").cause()), "Quota");
  EXPECT_EQ(CauseName(OutOfMemoryError("x").cause()), "OutOfMemory");
  EXPECT_EQ(CauseName(DeviceLostError("x").cause()), "DeviceLost");
  EXPECT_EQ(CauseName(InternalError("x").cause()), "Internal");
}

TEST(Error, SaysTheSame_OnlyWhereCauseAndTextsAre) {
  const Error error = ValidationError("x");
  EXPECT_EQ(error, ValidationError("x"));
  EXPECT_FALSE(error == ValidationError("y"));
  EXPECT_FALSE(error == QuotaError("x"));
  EXPECT_FALSE(error == Error(error).AddContext("testing"));
}

TEST(Error, ContextBeyondTheLimit_IsDropped) {
  Error error = ValidationError("the number (3) is odd");
  for (uint32_t i = 0; i < limits::kErrorContextMax; ++i) error.AddContext("testing");
  EXPECT_EQ(error.context().size(), limits::kErrorContextMax);
  Error passed_on = std::move(error).AddContext("passing it on");
  EXPECT_EQ(passed_on.context().size(), limits::kErrorContextMax);
  EXPECT_EQ(passed_on.context().back(), "testing");
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 7);
}

TEST(ResultDeathTest, ValueOfError_Aborts) { EXPECT_DEATH((void)Half(1).value(), "CHECK failed"); }

}  // namespace
}  // namespace webnnd
