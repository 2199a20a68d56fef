// What a worker may see and ask of the kernel, as data: one rule a line, its reason beside it.
#ifndef WEBNND_SERVICE_SANDBOX_POLICY_H_
#define WEBNND_SERVICE_SANDBOX_POLICY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"

namespace webnnd::service {

// One for each family of drivers. All of them find lavapipe too.
enum class SandboxProfile : uint8_t {
  kStrict,  // lavapipe alone: no device node, no file.
  kMesa,    // kStrict, and the render nodes of GPUs that Mesa drives.
  kNvidia,  // kStrict, and the nodes of NVIDIA's own driver.
  kDebug,   // kStrict, and what sanitizers and validation layers ask for. Not for production.
};
inline constexpr SandboxProfile kSandboxProfiles[] = {
    SandboxProfile::kStrict, SandboxProfile::kMesa, SandboxProfile::kNvidia,
    SandboxProfile::kDebug};

std::string_view SandboxProfileName(SandboxProfile profile);
std::optional<SandboxProfile> SandboxProfileFromName(std::string_view name);
// kDebug in sanitizer builds, whose run-time library the others would kill; else that of the GPU
// that the machine has, by its nodes: NVIDIA's, Mesa's, none.
SandboxProfile DefaultSandboxProfile();
// As above for the nodes under `directory`, which stands for /dev.
SandboxProfile SandboxProfileForNodes(const std::string& directory);
// The profile to lock down with, once the adapters are open: without a GPU among them, a GPU's
// profile is as good as kStrict.
SandboxProfile NarrowedProfile(SandboxProfile profile, bool gpu_is_open);

// What the process is there for.
enum class SandboxRole : uint8_t {
  kWorker,    // Serves a client.
  kCompiler,  // Compiles kernels for the cache of workers to come; no client reaches it.
};

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
  // An ordinary session may do without it: `reason` says who cannot. A rule that is neither rare
  // nor used fails a test.
  bool rare = false;

  bool conditional() const { return conditions[0].mask != 0; }
};

// The rules of a profile. A call that no rule matches kills the process.
std::vector<SyscallRule> SyscallPolicy(SandboxProfile profile,
                                       SandboxRole role = SandboxRole::kWorker);

enum class PathAccess : uint8_t {
  kRead,     // The file, or all below the directory, can be read.
  kList,     // The names in the directory can be read; it holds what other rules put there.
  kDevice,   // The node can be opened for reading, writing and ioctl.
  kScratch,  // Files and directories below can be made, read and written.
};

// A tmpfs of the process's own, where it asks for one: its driver keeps compiled kernels there.
inline constexpr char kScratchDirectory[] = "/scratch";

// What stays visible of the host's files while the driver is opened, under its own path.
struct PathRule {
  std::string_view pattern;  // glob(7); what does not exist is skipped.
  PathAccess access;
  std::string_view reason;
};

std::vector<PathRule> PathPolicy(SandboxProfile profile);

// A variable of a sandboxed worker's environment.
struct VariableRule {
  std::string_view name;
  std::string_view value;
  std::string_view reason;
};

// Which of the Vulkan loader's drivers a profile finds.
inline constexpr std::string_view kLoaderDriversVariable = "VK_LOADER_DRIVERS_SELECT";

// `kernel_cache`: the process has a scratch directory, in which the driver finds its cache.
std::vector<VariableRule> EnvironmentPolicy(SandboxProfile profile, bool kernel_cache = false);

// A resource limit of the worker, lowered to `value` (never raised above the inherited one).
struct ResourceRule {
  int resource;
  std::string_view name;
  uint64_t value;
  std::string_view reason;
};

// `device_bytes` is what the worker's clients may have of the device.
std::vector<ResourceRule> ResourcePolicy(SandboxProfile profile,
                                         uint64_t device_bytes = limits::kDeviceBytesPerSessionMax);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SANDBOX_POLICY_H_
