#include "client/exceptions.h"

#include <gtest/gtest.h>

namespace webnn {
namespace {

using webnnd::Cause;

struct Case {
  Method method;
  Cause cause;
  const char* name;
};

class ExceptionNameTest : public testing::TestWithParam<Case> {};

TEST_P(ExceptionNameTest, MethodAndCause_IsTheDraftsException) {
  EXPECT_EQ(ExceptionName(GetParam().method, GetParam().cause), GetParam().name);
}

// Each step of the draft that names an exception.
INSTANTIATE_TEST_SUITE_P(
    Draft, ExceptionNameTest,
    testing::Values(Case{Method::kCreateContext, Cause::kNotSupported, "NotSupportedError"},
                    Case{Method::kCreateContext, Cause::kDeviceLost, "NotSupportedError"},
                    Case{Method::kCreateTensor, Cause::kValidation, "TypeError"},
                    Case{Method::kCreateTensor, Cause::kOutOfMemory, "UnknownError"},
                    Case{Method::kCreateTensor, Cause::kQuota, "UnknownError"},
                    Case{Method::kCreateTensor, Cause::kInvalidState, "InvalidStateError"},
                    Case{Method::kCreateTensor, Cause::kDeviceLost, "InvalidStateError"},
                    Case{Method::kCreateConstantTensor, Cause::kInternal, "UnknownError"},
                    Case{Method::kCreateConstantTensor, Cause::kNotSupported, "UnknownError"},
                    Case{Method::kCreateTensor, Cause::kNotSupported, "UnknownError"},
                    Case{Method::kReadTensor, Cause::kNotSupported, "UnknownError"},
                    Case{Method::kBuild, Cause::kInternal, "OperationError"},
                    Case{Method::kWriteTensor, Cause::kValidation, "TypeError"},
                    Case{Method::kWriteTensor, Cause::kQuota, "OperationError"},
                    Case{Method::kReadTensor, Cause::kValidation, "TypeError"},
                    Case{Method::kReadTensor, Cause::kInternal, "UnknownError"},
                    Case{Method::kReadTensor, Cause::kInvalidState, "InvalidStateError"},
                    Case{Method::kReadTensor, Cause::kDeviceLost, "InvalidStateError"},
                    Case{Method::kDispatch, Cause::kValidation, "TypeError"},
                    Case{Method::kDispatch, Cause::kInvalidState, "InvalidStateError"},
                    Case{Method::kDispatch, Cause::kQuota, "OperationError"},
                    Case{Method::kBuilder, Cause::kValidation, "TypeError"},
                    Case{Method::kBuilder, Cause::kInvalidState, "InvalidStateError"},
                    Case{Method::kBuilder, Cause::kNotSupported, "NotSupportedError"},
                    Case{Method::kBuild, Cause::kValidation, "TypeError"},
                    Case{Method::kBuild, Cause::kInvalidState, "InvalidStateError"},
                    Case{Method::kBuild, Cause::kNotSupported, "OperationError"},
                    Case{Method::kBuild, Cause::kOutOfMemory, "OperationError"},
                    Case{Method::kBuild, Cause::kDeviceLost, "InvalidStateError"}));

TEST(ExceptionName, EveryPair_HasAName) {
  for (int method = 0; method <= static_cast<int>(Method::kBuild); ++method) {
    for (int cause = 0; cause <= static_cast<int>(Cause::kInternal); ++cause) {
      EXPECT_FALSE(ExceptionName(static_cast<Method>(method), static_cast<Cause>(cause)).empty());
    }
  }
}

}  // namespace
}  // namespace webnn
