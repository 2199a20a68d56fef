// The numbered checks of descriptors and operators. Each stands in the source once, in checks.txt
// with its rule, and in docs/validation.md with the test that fails without it.
#ifndef WEBNND_WEBIDL_CHECKS_H_
#define WEBNND_WEBIDL_CHECKS_H_

#include "base/result.h"
#include "webidl/generated/types.h"

// INVALID_CHECK(number, condition, message...): INVALID_IF with a number. Where a rule is checked
// for several arguments of an operator, CheckOf(number, argument) stands for the number, so that
// each counts as a check of its own.
#ifdef WEBNND_SWITCHABLE_CHECKS
#include "webidl/check_switch.h"
#define INVALID_CHECK(check, condition, ...) \
  INVALID_IF(::webnnd::webidl::CheckTrips(check, condition), __VA_ARGS__)
#else
#define INVALID_CHECK(check, condition, ...) \
  do {                                       \
    using ::webnnd::webidl::CheckOf;         \
    static_cast<void>(sizeof(check));        \
    INVALID_IF(condition, __VA_ARGS__);      \
  } while (false)

namespace webnnd::webidl {
// Never evaluated.
struct CheckOf {
  CheckOf(int number, std::string_view argument);
};
// Whose checks run until the end of the scope: nobody asks.
struct CheckedOperator {
  explicit CheckedOperator(OperatorKind) {}
};
}  // namespace webnnd::webidl
#endif

#endif  // WEBNND_WEBIDL_CHECKS_H_
