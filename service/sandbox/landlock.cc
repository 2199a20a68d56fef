#include "service/sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "base/unique_fd.h"

namespace webnnd::service {
namespace {

// The kernel's struct in its latest form, since the installed header may be older than the kernel.
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

constexpr uint64_t Bits(unsigned count) { return (1ull << count) - 1; }

// The rights that each version of the interface knows, and how much of the struct it reads.
RulesetAttributes AllRights(long abi) {
  RulesetAttributes attributes{};
  unsigned file_rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  attributes.handled_access_fs = Bits(file_rights);
  if (abi >= 4) attributes.handled_access_net = Bits(2);  // bind and connect of TCP
  if (abi >= 6) attributes.scoped = Bits(2);              // abstract Unix sockets, signals
  return attributes;
}

size_t AttributesSize(long abi) {
  return abi >= 6 ? 3 * sizeof(uint64_t) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

// Versions 3 and 5; not in Debian 12's headers.
constexpr uint64_t kTruncate = 1ull << 14;
constexpr uint64_t kIoctlDevice = 1ull << 15;

uint64_t RightsFor(PathAccess access, bool directory, uint64_t handled) {
  switch (access) {
    case PathAccess::kRead:
      return LANDLOCK_ACCESS_FS_READ_FILE | (directory ? LANDLOCK_ACCESS_FS_READ_DIR : 0);
    case PathAccess::kList:
      return LANDLOCK_ACCESS_FS_READ_DIR;
    case PathAccess::kDevice:
      return (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kIoctlDevice) &
             handled;
    case PathAccess::kScratch:
      return (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
              LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
              LANDLOCK_ACCESS_FS_MAKE_REG | kTruncate) &
             handled;
  }
  UNREACHABLE();
}

Status Allow(int ruleset, const AccessiblePath& accessible, uint64_t handled) {
  UniqueFd fd(open(accessible.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status;
  if (!fd.valid() || fstat(fd.get(), &status) != 0) {
    return ErrnoError(fmt::format("opening {}", accessible.path));
  }
  landlock_path_beneath_attr rule{};
  rule.allowed_access = RightsFor(accessible.access, S_ISDIR(status.st_mode), handled);
  rule.parent_fd = fd.get();
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return ErrnoError("landlock_add_rule");
  }
  return {};
}

}  // namespace

Status RestrictAccess(const std::vector<AccessiblePath>& paths) {
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1) {
    return NotSupportedError("the kernel has no Landlock ({}); lsm=landlock enables it",
                             strerrorname_np(errno));
  }
  RulesetAttributes attributes = AllRights(abi);
  UniqueFd ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, AttributesSize(abi), 0)));
  if (!ruleset.valid()) return ErrnoError("landlock_create_ruleset");
  for (const AccessiblePath& path : paths) {
    TRY(Allow(ruleset.get(), path, attributes.handled_access_fs));
  }
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return ErrnoError("landlock_restrict_self");
  }
  return {};
}

}  // namespace webnnd::service
