#include "service/sandbox/lock_down.h"

#include <seccomp.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace webnnd::service {
namespace {

struct FilterDeleter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterDeleter>;

// libseccomp answers with a negative errno.
Status Checked(int result, std::string_view call) {
  if (result == 0) return {};
  errno = -result;
  return ErrnoError(call);
}

Status AddRule(scmp_filter_ctx filter, const SyscallRule& rule) {
  int number = seccomp_syscall_resolve_name(std::string(rule.name).c_str());
  if (number == __NR_SCMP_ERROR) {
    return InternalError("the system call of a rule is unknown ({})", rule.name);
  }
  uint32_t action = rule.action == RuleAction::kAllow
                        ? SCMP_ACT_ALLOW
                        : SCMP_ACT_ERRNO(static_cast<uint16_t>(rule.error));
  scmp_arg_cmp comparisons[std::tuple_size_v<decltype(rule.conditions)>];
  unsigned count = 0;
  for (const ArgumentCondition& condition : rule.conditions) {
    if (condition.mask == 0) break;
    uint64_t value = condition.own_pid ? static_cast<uint64_t>(getpid()) : condition.value;
    comparisons[count++] = {condition.index, SCMP_CMP_MASKED_EQ, condition.mask, value};
  }
  return Checked(seccomp_rule_add_array(filter, action, number, count, comparisons), rule.name);
}

Result<Filter> MakeFilter(SandboxProfile profile, SandboxRole role) {
  Filter filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (filter == nullptr) return OutOfMemoryError("seccomp has no memory for a filter");
  // TSYNC: the driver has started threads by now. Level 2 is a binary tree: O(log n) per call.
  TRY(Checked(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1), "seccomp TSYNC"));
  TRY(Checked(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "seccomp OPTIMIZE"));
  // A 32-bit system call has other numbers: the process dies, not only the thread.
  TRY(Checked(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
              "seccomp BADARCH"));
  for (const SyscallRule& rule : SyscallPolicy(profile, role)) {
    TRY_DOING(AddRule(filter.get(), rule), "adding the seccomp rule for {}", rule.name);
  }
  return filter;
}

}  // namespace

Status LockDown(SandboxProfile profile, SandboxRole role) {
  ASSIGN_OR_RETURN(Filter filter, MakeFilter(profile, role));
  TRY_DOING(Checked(seccomp_load(filter.get()), "seccomp_load"), "sandbox step seccomp");
  return {};
}

Status ExportFilter(SandboxProfile profile, int descriptor) {
  ASSIGN_OR_RETURN(Filter filter, MakeFilter(profile, SandboxRole::kWorker));
  return Checked(seccomp_export_bpf(filter.get(), descriptor), "seccomp_export_bpf");
}

}  // namespace webnnd::service
