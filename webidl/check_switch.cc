#include "webidl/check_switch.h"

#include <optional>
#include <utility>

namespace webnnd::webidl {

namespace {

struct State {
  std::string operator_name;
  std::string test;
  std::optional<CheckSite> off;
  CheckLog log;
};

State& GetState() {
  static State& state = *new State;
  return state;
}

}  // namespace

bool CheckTrips(const CheckOf& check, bool condition) {
  State& state = GetState();
  const bool of_operator =
      check.number >= kFirstOperatorCheck &&
      (check.number < kFirstDimensionCheck || check.number > kLastDimensionCheck);
  const CheckSite site{check.number, of_operator ? state.operator_name : "",
                       std::string(check.argument)};
  std::set<std::string>& tests = state.log[site];
  if (condition) tests.insert(state.test);
  return condition && state.off != site;
}

CheckedOperator::CheckedOperator(OperatorKind kind) {
  GetState().operator_name = OperatorName(kind);
}

CheckedOperator::~CheckedOperator() { GetState().operator_name.clear(); }

void SwitchCheckOff(const CheckSite& check) { GetState().off = check; }

const CheckLog& GetCheckLog() { return GetState().log; }

void SetCurrentTest(std::string name) { GetState().test = std::move(name); }

}  // namespace webnnd::webidl
