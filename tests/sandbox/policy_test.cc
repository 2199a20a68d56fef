// Every rule of the policy, with arguments that it takes and with arguments that it does not: in
// the kernel, and, for all profiles and many more arguments, in the filter's own instructions.
#include "service/sandbox/policy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/unique_fd.h"
#include "service/sandbox/confine.h"
#include "service/sandbox/lock_down.h"
#include "tests/sandbox/find_rule.h"
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

// What the table says about a call; nothing: it kills.
const SyscallRule* RuleFor(const std::vector<SyscallRule>& rules, std::string_view name,
                           const Arguments& arguments, uint64_t own_pid = kInmatePid) {
  return FindRule(rules, name, arguments, own_pid);
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
  return {std::begin(service::kSandboxProfiles), std::end(service::kSandboxProfiles)};
}

// The rules that this profile does not share with kStrict, which are tried there; in a sanitizer
// build, all.
std::vector<SyscallRule> RulesToTry(SandboxProfile profile) {
  std::vector<SyscallRule> rules = SyscallPolicy(profile);
  if (profile == ProfilesToTry().front()) return rules;
  std::vector<SyscallRule> shared = SyscallPolicy(SandboxProfile::kStrict);
  std::erase_if(rules, [&](const SyscallRule& rule) {
    return std::any_of(shared.begin(), shared.end(), [&](const SyscallRule& other) {
      return rule.name == other.name && rule.reason == other.reason;
    });
  });
  EXPECT_FALSE(rules.empty());
  return rules;
}

class Policy : public testing::TestWithParam<SandboxProfile> {};

TEST_P(Policy, CallThatFulfilsARule_GetsItsAnswer) {
  for (const SyscallRule& rule : RulesToTry(GetParam())) {
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
  for (const SyscallRule& rule : RulesToTry(GetParam())) {
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
  if (GetParam() != ProfilesToTry().front() && GetParam() != SandboxProfile::kDebug) {
    GTEST_SKIP() << "Filter.* looks at every call of the profiles of GPUs";
  }
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

// --- The filter's instructions, without a kernel. -----------------------------------------------

std::vector<sock_filter> ProgramOf(SandboxProfile profile) {
  UniqueFd file(memfd_create("filter", MFD_CLOEXEC));
  Status exported = service::ExportFilter(profile, file.get());
  EXPECT_TRUE(exported.ok()) << exported.error().ToString();
  std::vector<sock_filter> program(lseek(file.get(), 0, SEEK_END) / sizeof(sock_filter));
  size_t bytes = program.size() * sizeof(sock_filter);
  EXPECT_EQ(pread(file.get(), program.data(), bytes, 0), static_cast<ssize_t>(bytes));
  return program;
}

// What the kernel would answer: classic BPF, as far as filters of system calls may use it.
uint32_t RunFilter(const std::vector<sock_filter>& program, const seccomp_data& data) {
  uint32_t a = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&a, reinterpret_cast<const char*>(&data) + step.k, sizeof a);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        a &= step.k;
        break;
      case BPF_JMP | BPF_JA:
        at += step.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += a == step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        at += a > step.k ? step.jt : step.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += a >= step.k ? step.jt : step.jf;
        break;
      case BPF_RET | BPF_K:
        return step.k;
      default:
        ADD_FAILURE() << "an instruction is unknown (" << step.code << ")";
        return 0;
    }
  }
  ADD_FAILURE() << "the filter ends without an answer";
  return 0;
}

constexpr int kSyscallsMax = 512;

class Filter : public testing::TestWithParam<SandboxProfile> {
 protected:
  Filter() : rules_(SyscallPolicy(GetParam())), program_(ProgramOf(GetParam())) {}

  uint32_t Run(int number, const Arguments& arguments) const {
    seccomp_data data{.nr = number, .arch = seccomp_arch_native()};
    std::copy(arguments.begin(), arguments.end(), data.args);
    return RunFilter(program_, data);
  }

  // The filter has this process's own pid in it.
  uint32_t Expected(std::string_view name, const Arguments& arguments) const {
    const SyscallRule* rule = RuleFor(rules_, name, arguments, static_cast<uint64_t>(getpid()));
    if (rule == nullptr) return SECCOMP_RET_KILL_PROCESS;
    if (rule->action == RuleAction::kAllow) return SECCOMP_RET_ALLOW;
    return SECCOMP_RET_ERRNO | static_cast<uint32_t>(rule->error);
  }

  // Arguments at, and one bit beside, what the rules of a call ask for, and others at random.
  std::vector<Arguments> ArgumentsToTry(std::string_view name) {
    std::vector<Arguments> all = {kHarmless, Arguments{}};
    for (const SyscallRule& rule : rules_) {
      if (rule.name != name) continue;
      for (const Arguments& rest : {kHarmless, Arguments{}}) {
        Arguments arguments = rest;
        for (const ArgumentCondition& condition : rule.conditions) {
          if (condition.mask == 0) continue;
          arguments[condition.index] =
              condition.own_pid ? static_cast<uint64_t>(getpid()) : condition.value;
        }
        all.push_back(arguments);
        for (const ArgumentCondition& condition : rule.conditions) {
          for (int bit = 0; condition.mask != 0 && bit < 64; ++bit) {
            all.push_back(arguments);
            all.back()[condition.index] ^= 1ull << bit;
          }
        }
      }
    }
    for (int i = 0; i < 64; ++i) {
      all.emplace_back();
      // Few bits, so that conditions are met now and then.
      for (uint64_t& argument : all.back()) argument = random_() & random_() & 0xffff;
    }
    return all;
  }

  std::vector<SyscallRule> rules_;
  std::vector<sock_filter> program_;
  std::mt19937_64 random_{20240601};
};

TEST_P(Filter, AnyCallAndArguments_AreAnsweredAsTheTableSays) {
  for (int number = 0; number < kSyscallsMax; ++number) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    if (name == nullptr) {
      EXPECT_EQ(Run(number, kHarmless), SECCOMP_RET_KILL_PROCESS) << number;
      continue;
    }
    for (const Arguments& arguments : ArgumentsToTry(name)) {
      ASSERT_EQ(Run(number, arguments), Expected(name, arguments))
          << name << testing::PrintToString(arguments);
    }
    free(name);
  }
}

TEST_P(Filter, EveryIoctlTypeAndNumber_IsAnsweredAsTheTableSays) {
  int number = seccomp_syscall_resolve_name("ioctl");
  std::set<char> types;
  for (uint64_t size_and_direction : {0x0000'0000ull, 0xc010'0000ull, 0xffff'ffff'0000'0000ull}) {
    for (uint64_t command = 0; command < 0x10000; ++command) {
      Arguments arguments = kHarmless;
      arguments[1] = size_and_direction | command;
      uint32_t answer = Run(number, arguments);
      ASSERT_EQ(answer, Expected("ioctl", arguments)) << arguments[1];
      if (answer == SECCOMP_RET_ALLOW) types.insert(static_cast<char>(command >> 8));
    }
  }
  std::set<char> expected;
  if (GetParam() == SandboxProfile::kMesa) expected = {'d'};
  if (GetParam() == SandboxProfile::kNvidia) expected = {'F', 'm'};
  EXPECT_EQ(types, expected);
}

TEST_P(Filter, CallsOfOtherTables_Kill) {
  for (int number = 0; number < kSyscallsMax; ++number) {
    seccomp_data data{.nr = number, .arch = AUDIT_ARCH_I386};
    EXPECT_EQ(RunFilter(program_, data), SECCOMP_RET_KILL_PROCESS) << number;
#if defined(__x86_64__)
    // x32
    EXPECT_EQ(Run(number | 0x40000000, kHarmless), SECCOMP_RET_KILL_PROCESS) << number;
#endif
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Filter, testing::ValuesIn(service::kSandboxProfiles),
                         [](const auto& info) {
                           return std::string(SandboxProfileName(info.param));
                         });

// --- Files, variables, limits. ------------------------------------------------------------------

TEST(PathPolicy, EveryRule_HasAReasonAndOnlyDevicesAreWritable) {
  for (SandboxProfile profile : service::kSandboxProfiles) {
    for (const service::PathRule& rule : service::PathPolicy(profile)) {
      EXPECT_FALSE(rule.reason.empty()) << rule.pattern;
      EXPECT_TRUE(rule.pattern.starts_with('/')) << rule.pattern;
      if (rule.access == service::PathAccess::kDevice) {
        EXPECT_TRUE(rule.pattern.starts_with("/dev/")) << rule.pattern;
        EXPECT_TRUE(profile == SandboxProfile::kMesa || profile == SandboxProfile::kNvidia);
      }
      // A glob must not lead out of the directory that it names.
      EXPECT_EQ(rule.pattern.find(".."), std::string_view::npos) << rule.pattern;
    }
  }
}

TEST(EnvironmentPolicy, EachProfile_FindsLavapipeAndItsOwnDriversOnly) {
  for (SandboxProfile profile : service::kSandboxProfiles) {
    std::string drivers;
    for (const service::VariableRule& rule : service::EnvironmentPolicy(profile)) {
      EXPECT_FALSE(rule.reason.empty()) << rule.name;
      if (rule.name == service::kLoaderDriversVariable) drivers = rule.value;
    }
    EXPECT_NE(drivers.find("*lvp*"), std::string::npos);
    EXPECT_EQ(drivers.find("nvidia") != std::string::npos, profile == SandboxProfile::kNvidia);
    EXPECT_EQ(drivers.find("radeon") != std::string::npos, profile == SandboxProfile::kMesa);
  }
}

TEST(EnvironmentPolicy, Cache_IsInTheScratchDirectoryOrThereIsNone) {
  for (const bool kernel_cache : {false, true}) {
    std::map<std::string_view, std::string_view> variables;
    for (const auto& rule : service::EnvironmentPolicy(SandboxProfile::kStrict, kernel_cache)) {
      variables[rule.name] = rule.value;
    }
    EXPECT_EQ(variables.contains("MESA_SHADER_CACHE_DISABLE"), !kernel_cache);
    EXPECT_EQ(variables["MESA_SHADER_CACHE_DIR"], kernel_cache ? service::kScratchDirectory : "");
  }
}

// A worker cannot begin to write to its driver's cache, and all else is as for workers.
TEST(SandboxRole, Compiler_MayLockFilesAndNothingElse) {
  using service::SyscallRule;
  for (SandboxProfile profile : service::kSandboxProfiles) {
    std::vector<std::string_view> differ;
    const auto compiler = service::SyscallPolicy(profile, service::SandboxRole::kCompiler);
    for (const SyscallRule& rule : service::SyscallPolicy(profile)) {
      const bool same =
          std::any_of(compiler.begin(), compiler.end(), [&](const SyscallRule& other) {
            return other.name == rule.name && other.action == rule.action &&
                   other.reason == rule.reason;
          });
      if (!same) differ.push_back(rule.name);
    }
    EXPECT_EQ(differ, std::vector<std::string_view>{"flock"});
    EXPECT_EQ(compiler.size(), service::SyscallPolicy(profile).size());
  }
}

TEST(SandboxProfile, NodesThatAreFound_ChooseIt) {
  std::string directory = testing::TempDir() + "/nodes-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  auto make = [&](const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(directory + name).parent_path());
    UniqueFd file(open((directory + name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    EXPECT_TRUE(file.valid());
  };
  EXPECT_EQ(service::SandboxProfileForNodes(directory), SandboxProfile::kStrict);
  make("/dri/card0");
  EXPECT_EQ(service::SandboxProfileForNodes(directory), SandboxProfile::kStrict);
  make("/dri/renderD128");
  EXPECT_EQ(service::SandboxProfileForNodes(directory), SandboxProfile::kMesa);
  make("/nvidiactl");
  EXPECT_EQ(service::SandboxProfileForNodes(directory), SandboxProfile::kNvidia);
  std::filesystem::remove_all(directory);
}

TEST(SandboxProfile, WithoutAGpuOpen_IsStrict) {
  for (SandboxProfile profile : service::kSandboxProfiles) {
    EXPECT_EQ(service::NarrowedProfile(profile, true), profile);
    bool debug = profile == SandboxProfile::kDebug;
    EXPECT_EQ(service::NarrowedProfile(profile, false), debug ? profile : SandboxProfile::kStrict);
  }
}

TEST(ResourcePolicy, AddressSpace_FollowsTheQuotaOfDeviceBytes) {
  auto bytes = [](auto... arguments) -> uint64_t {
    for (const service::ResourceRule& rule : service::ResourcePolicy(arguments...)) {
      if (rule.resource == RLIMIT_AS) return rule.value;
    }
    return 0;
  };
  const auto strict = SandboxProfile::kStrict;
  EXPECT_EQ(bytes(strict), bytes(strict, limits::kDeviceBytesPerSessionMax));
  for (const uint64_t quota : {uint64_t{1} << 20, uint64_t{1} << 30, uint64_t{1} << 40}) {
    EXPECT_GE(bytes(strict, quota), 2 * quota);
    EXPECT_LE(bytes(strict, quota), 2 * quota + (8ull << 30));
    EXPECT_EQ(bytes(SandboxProfile::kMesa, quota), 0u);
  }
}

TEST(ResourcePolicy, Descriptors_SufficeForAFileWithEachTaskInFlight) {
  for (SandboxProfile profile : service::kSandboxProfiles) {
    for (const service::ResourceRule& rule : service::ResourcePolicy(profile)) {
      if (rule.resource != RLIMIT_NOFILE) continue;
      EXPECT_GE(rule.value, limits::kTasksInFlightMax + limits::kDescriptorsPendingMax + 64);
    }
  }
}

TEST(SandboxProfile, Names_GoBothWays) {
  for (SandboxProfile profile : service::kSandboxProfiles) {
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
