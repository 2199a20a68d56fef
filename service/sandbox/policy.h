// What a locked-down worker may ask of the kernel, as data: one rule a line, its reason beside it.
#ifndef WEBNND_SERVICE_SANDBOX_POLICY_H_
#define WEBNND_SERVICE_SANDBOX_POLICY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace webnnd::service {

enum class SandboxProfile : uint8_t {
  kStrict,  // lavapipe: no device node, no file.
  kDebug,   // kStrict, and what sanitizers and validation layers ask for. Not for production.
};

std::string_view SandboxProfileName(SandboxProfile profile);
std::optional<SandboxProfile> SandboxProfileFromName(std::string_view name);
// kDebug in sanitizer builds, whose run-time library kStrict would kill; else kStrict.
SandboxProfile DefaultSandboxProfile();

enum class RuleAction : uint8_t {
  kAllow,
  kDeny,  // The call fails with `error`, for callers that cope with it. No rule: the process dies.
};

// Holds when (argument & mask) == value. A mask of 0 means no condition.
struct ArgumentCondition {
  uint8_t index = 0;
  uint64_t mask = 0;
  uint64_t value = 0;
  // Compares with the process's own pid instead of `value`.
  bool own_pid = false;
};

struct SyscallRule {
  std::string_view name;
  RuleAction action = RuleAction::kAllow;
  int error = 0;
  std::string_view reason;
  std::array<ArgumentCondition, 2> conditions = {};

  bool conditional() const { return conditions[0].mask != 0; }
};

// The rules of a profile. A call that no rule matches kills the process.
std::vector<SyscallRule> SyscallPolicy(SandboxProfile profile);

// A resource limit of the worker, lowered to `value` (never raised above the inherited one).
struct ResourceRule {
  int resource;
  std::string_view name;
  uint64_t value;
  std::string_view reason;
};

std::vector<ResourceRule> ResourcePolicy(SandboxProfile profile);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SANDBOX_POLICY_H_
