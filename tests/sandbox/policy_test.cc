// Every rule of the policy, with arguments that it takes and with arguments that it does not.
#include "service/sandbox/policy.h"

#include <gtest/gtest.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "service/sandbox/confine.h"
#include "service/sandbox/lock_down.h"
#include "tests/sandbox/inmate.h"
#include "tests/sandbox/unprivileged.h"

namespace webnnd::test {
namespace {

using service::ArgumentCondition;
using service::RuleAction;
using service::SandboxProfile;
using service::SyscallPolicy;
using service::SyscallRule;

using Arguments = std::array<uint64_t, 6>;

// An inmate is alone in its pid namespace.
constexpr uint64_t kInmatePid = 1;
// No descriptor, no address, no length that a kernel takes: allowed calls fail at once.
constexpr Arguments kHarmless = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};

uint64_t ValueOf(const ArgumentCondition& condition) {
  return condition.own_pid ? kInmatePid : condition.value;
}

bool Matches(const SyscallRule& rule, const Arguments& arguments) {
  for (const ArgumentCondition& condition : rule.conditions) {
    if ((arguments[condition.index] & condition.mask) != (ValueOf(condition) & condition.mask)) {
      return false;
    }
  }
  return true;
}

// What the table says about a call; nothing: it kills.
const SyscallRule* RuleFor(const std::vector<SyscallRule>& rules, std::string_view name,
                           const Arguments& arguments) {
  for (const SyscallRule& rule : rules) {
    if (rule.name == name && Matches(rule, arguments)) return &rule;
  }
  return nullptr;
}

Arguments Fulfilling(const SyscallRule& rule) {
  Arguments arguments = kHarmless;
  for (const ArgumentCondition& condition : rule.conditions) {
    if (condition.mask != 0) arguments[condition.index] = ValueOf(condition);
  }
  return arguments;
}

// Arguments that break one condition of the rule and that no other rule allows.
std::optional<Arguments> Violating(const std::vector<SyscallRule>& rules, const SyscallRule& rule,
                                   size_t index) {
  const ArgumentCondition& condition = rule.conditions[index];
  for (int bit = 0; bit < 64; ++bit) {
    if ((condition.mask >> bit & 1) == 0) continue;
    // With the bits that the condition leaves open clear, and set.
    for (uint64_t open_bits : {uint64_t{0}, ~condition.mask}) {
      Arguments arguments = Fulfilling(rule);
      arguments[condition.index] = (ValueOf(condition) | open_bits) ^ 1ull << bit;
      const SyscallRule* other = RuleFor(rules, rule.name, arguments);
      if (other == nullptr || other->action == RuleAction::kDeny) return arguments;
    }
  }
  return std::nullopt;
}

Outcome Call(SandboxProfile profile, std::string_view name, const Arguments& arguments) {
  std::vector<std::string> words = {std::string(SandboxProfileName(profile)), std::string(name)};
  for (uint64_t argument : arguments) words.push_back(std::to_string(argument));
  return RunInmate(words);
}

[[noreturn]] void RunInmateMain(const std::vector<std::string>& words) {
  if (words.size() != 8) ReportBroken(3);
  SandboxProfile profile = *service::SandboxProfileFromName(words[0]);
  int number = seccomp_syscall_resolve_name(words[1].c_str());
  Arguments arguments;
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = std::stoull(words[2 + i]);
  if (!service::Confine({.profile = profile}).ok()) ReportBroken(10);
  if (!service::LockDown(profile).ok()) ReportBroken(11);
  Report(syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                 arguments[5]));
}

// Calls that cannot be tried with senseless arguments; Work.* of escape_test makes them all.
const std::set<std::string_view> kTriedElsewhere = {"clone", "rt_sigreturn"};

bool ExistsHere(const SyscallRule& rule) {
  return seccomp_syscall_resolve_name(std::string(rule.name).c_str()) >= 0;
}

// Strict cannot be tried in a sanitizer build: the sanitizer itself would be killed.
std::vector<SandboxProfile> ProfilesToTry() {
  if (service::DefaultSandboxProfile() == SandboxProfile::kDebug) return {SandboxProfile::kDebug};
  return {SandboxProfile::kStrict, SandboxProfile::kDebug};
}

class Policy : public testing::TestWithParam<SandboxProfile> {};

TEST_P(Policy, CallThatFulfilsARule_GetsItsAnswer) {
  std::vector<SyscallRule> rules = SyscallPolicy(GetParam());
  for (const SyscallRule& rule : rules) {
    if (kTriedElsewhere.contains(rule.name) || !ExistsHere(rule)) continue;
    Outcome outcome = Call(GetParam(), rule.name, Fulfilling(rule));
    if (rule.action == RuleAction::kDeny) {
      EXPECT_EQ(outcome, (Outcome{Outcome::kDenied, rule.error})) << rule.name;
    } else {
      EXPECT_NE(outcome.kind, Outcome::kKilled) << rule.name << ": " << outcome;
      EXPECT_NE(outcome.kind, Outcome::kBroken) << rule.name << ": " << outcome;
    }
  }
}

TEST_P(Policy, CallThatBreaksACondition_IsRefused) {
  std::vector<SyscallRule> rules = SyscallPolicy(GetParam());
  for (const SyscallRule& rule : rules) {
    if (!ExistsHere(rule)) continue;
    for (size_t i = 0; i < rule.conditions.size() && rule.conditions[i].mask != 0; ++i) {
      std::optional<Arguments> arguments = Violating(rules, rule, i);
      // The complement of a rule that denies may be the rule that allows, tried above.
      if (!arguments && rule.action == RuleAction::kDeny) continue;
      ASSERT_TRUE(arguments.has_value()) << rule.name << " allows everything";
      const SyscallRule* other = RuleFor(rules, rule.name, *arguments);
      Outcome expected = other == nullptr ? Outcome{Outcome::kKilled, SIGSYS}
                                          : Outcome{Outcome::kDenied, other->error};
      EXPECT_EQ(Call(GetParam(), rule.name, *arguments), expected)
          << rule.name << ", condition " << i;
    }
  }
}

TEST_P(Policy, EveryRule_HasAReasonAndIsTheOnlyOneForItsCall) {
  std::vector<SyscallRule> rules = SyscallPolicy(GetParam());
  for (const SyscallRule& rule : rules) {
    EXPECT_FALSE(rule.reason.empty()) << rule.name;
    EXPECT_NE(seccomp_syscall_resolve_name(std::string(rule.name).c_str()), __NR_SCMP_ERROR)
        << rule.name;
    EXPECT_EQ(rule.action == RuleAction::kDeny, rule.error != 0) << rule.name;
    // An unconditional rule would shadow the others of the same call.
    EXPECT_EQ(RuleFor(rules, rule.name, Fulfilling(rule)), &rule) << rule.name;
  }
}

TEST_P(Policy, CallWithoutARule_Kills) {
  std::set<std::string_view> named;
  for (const SyscallRule& rule : SyscallPolicy(GetParam())) named.insert(rule.name);
  // Every system call of this architecture.
  for (int number = 0; number < 470; ++number) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    if (name == nullptr) continue;
    if (!named.contains(name)) {
      EXPECT_EQ(Call(GetParam(), name, kHarmless), (Outcome{Outcome::kKilled, SIGSYS})) << name;
    }
    free(name);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Policy, testing::ValuesIn(ProfilesToTry()),
                         [](const auto& info) {
                           return std::string(SandboxProfileName(info.param));
                         });

TEST(ResourcePolicy, Descriptors_SufficeForAFileWithEachTaskInFlight) {
  for (SandboxProfile profile : {SandboxProfile::kStrict, SandboxProfile::kDebug}) {
    for (const service::ResourceRule& rule : service::ResourcePolicy(profile)) {
      if (rule.resource != RLIMIT_NOFILE) continue;
      EXPECT_GE(rule.value, limits::kTasksInFlightMax + limits::kDescriptorsPendingMax + 64);
    }
  }
}

TEST(SandboxProfile, Names_GoBothWays) {
  for (SandboxProfile profile : {SandboxProfile::kStrict, SandboxProfile::kDebug}) {
    EXPECT_EQ(service::SandboxProfileFromName(SandboxProfileName(profile)), profile);
  }
  EXPECT_EQ(service::SandboxProfileFromName("none"), std::nullopt);
}

WEBNND_TEST_AS_UNPRIVILEGED_USER();

}  // namespace
}  // namespace webnnd::test

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "inmate") {
    webnnd::test::RunInmateMain({argv + 2, argv + argc});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
