// Switches one check off, and notes which test trips which: for the library webidl_switchable, with
// which tests/webidl/operators proves that no check can go without a test failing. Not thread-safe.
#ifndef WEBNND_WEBIDL_CHECK_SWITCH_H_
#define WEBNND_WEBIDL_CHECK_SWITCH_H_

#include <compare>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "webidl/generated/types.h"

namespace webnnd::webidl {

// What INVALID_CHECK is given.
struct CheckOf {
  CheckOf(int check_number, std::string_view check_argument = {})  // NOLINT: 15 is CheckOf(15).
      : number(check_number), argument(check_argument) {}
  int number;
  std::string_view argument;
};

// One check of one operator. The rules numbered below kFirstOperatorCheck are those of descriptors
// and of what all operators result in: they count once.
struct CheckSite {
  int number;
  std::string operator_name;
  std::string argument;  // Empty where the rule is about one thing of the operator.
  friend auto operator<=>(const CheckSite&, const CheckSite&) = default;
};
inline constexpr int kFirstOperatorCheck = 11;
// Nor do those of dynamic dimensions count for each operator.
inline constexpr int kFirstDimensionCheck = 16;
inline constexpr int kLastDimensionCheck = 20;

// Whether the check refuses: its condition holds, and it is not switched off.
bool CheckTrips(const CheckOf& check, bool condition);

// Says whose checks run until the end of the scope.
class CheckedOperator {
 public:
  explicit CheckedOperator(OperatorKind kind);
  ~CheckedOperator();
};

void SwitchCheckOff(const CheckSite& check);

// The checks that were reached, each with the tests in which its condition held.
using CheckLog = std::map<CheckSite, std::set<std::string>>;
const CheckLog& GetCheckLog();
void SetCurrentTest(std::string name);

}  // namespace webnnd::webidl

#endif  // WEBNND_WEBIDL_CHECK_SWITCH_H_
