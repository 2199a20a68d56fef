// The steps that a worker takes before it opens the driver, in the order of DESIGN section 4.
#ifndef WEBNND_SERVICE_SANDBOX_CONFINE_H_
#define WEBNND_SERVICE_SANDBOX_CONFINE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/sandbox/policy.h"

namespace webnnd::service {

// A file or directory that stays visible under its own path, on a read-only mount.
struct VisiblePath {
  std::string path;
  // An optional path that is missing or out of reach is skipped; a required one is an error.
  bool required = false;
  PathAccess access = PathAccess::kRead;
};

// What the Vulkan loader and its drivers need: the directories of the shared libraries that this
// program has loaded (required), and what PathPolicy(profile) finds here.
std::vector<VisiblePath> DriverPaths(SandboxProfile profile);

struct ConfineOptions {
  SandboxProfile profile = SandboxProfile::kStrict;
  std::vector<VisiblePath> visible_paths = DriverPaths(profile);
  // What the process's clients may have of the device (ResourcePolicy).
  uint64_t device_bytes = limits::kDeviceBytesPerSessionMax;
  // Room in kScratchDirectory, in bytes; 0: there is no such directory.
  uint64_t scratch_bytes = 0;
  // Called before each step with its name; an error stops there. Tests make steps fail with it.
  std::function<Status(std::string_view step)> before_step = nullptr;
};

// Confines this process, which Spawn() started and which must have one thread: an empty root with
// the visible paths and the scratch directory, no capabilities, no new privileges, Landlock,
// resource limits, not dumpable. An error names the step; the process is then half confined and
// must exit. LockDown() comes after the driver has been opened.
Status Confine(const ConfineOptions& options);

// Lowers this process's limits to ResourcePolicy(): Confine()'s step, and once more where the
// profile is narrowed later.
Status LimitResources(SandboxProfile profile, uint64_t device_bytes);

// The names of Confine()'s steps, in order.
std::vector<std::string_view> ConfineSteps();

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SANDBOX_CONFINE_H_
