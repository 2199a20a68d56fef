// What the sandbox's table says about a system call, read as the kernel is meant to read it.
#ifndef WEBNND_TESTS_SANDBOX_FIND_RULE_H_
#define WEBNND_TESTS_SANDBOX_FIND_RULE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "service/sandbox/policy.h"

namespace webnnd::test {

// The rule for a call of the process `own_pid`; nullptr: the call kills.
inline const service::SyscallRule* FindRule(std::span<const service::SyscallRule> rules,
                                            std::string_view name,
                                            std::span<const uint64_t, 6> arguments,
                                            uint64_t own_pid) {
  for (const service::SyscallRule& rule : rules) {
    if (rule.name != name) continue;
    bool matches = true;
    for (const service::ArgumentCondition& condition : rule.conditions) {
      uint64_t value = condition.own_pid ? own_pid : condition.value;
      if ((arguments[condition.index] & condition.mask) != (value & condition.mask)) {
        matches = false;
      }
    }
    if (matches) return &rule;
  }
  return nullptr;
}

}  // namespace webnnd::test

#endif  // WEBNND_TESTS_SANDBOX_FIND_RULE_H_
