#include "service/sandbox/confine.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/unique_fd.h"
#include "service/sandbox/landlock.h"

namespace webnnd::service {
namespace {

// Where the new root is put together. Every system has it; what lies under it is never made
// visible by this path, because the visible trees are cloned before it is covered.
constexpr char kStage[] = "/tmp";

Status Checked(long result, std::string_view call) {
  if (result >= 0) return {};
  return ErrnoError(call);
}

// Step namespaces --------------------------------------------------------------------------------

Result<std::string> ReadSmallFile(const char* path) {
  UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  char text[256];
  ssize_t got = fd.valid() ? read(fd.get(), text, sizeof text) : -1;
  if (got < 0) return ErrnoError(fmt::format("reading {}", path));
  return std::string(text, static_cast<size_t>(got));
}

// The steps that follow would wreck the host if they ran in its namespaces.
Status CheckNamespaces(const ConfineOptions&) {
  if (getpid() != 1)
    return InternalError("the worker is not alone in a pid namespace ({})", getpid());
  ASSIGN_OR_RETURN(std::string map, ReadSmallFile("/proc/self/uid_map"));
  unsigned inside = 0, outside = 0, count = 0;
  if (sscanf(map.c_str(), "%u %u %u", &inside, &outside, &count) != 3 || count != 1) {
    return InternalError("the worker is not in a user namespace of its own (uid_map {})", map);
  }
  return {};
}

// Step root --------------------------------------------------------------------------------------

// A mount tree cut loose from the old root, read-only.
struct ClonedTree {
  std::string path;
  UniqueFd fd;
  bool directory = true;
};

constexpr uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;

Status SetMountAttributes(int tree, uint64_t set, int flags) {
  mount_attr attributes{};
  attributes.attr_set = set;
  return Checked(mount_setattr(tree, "", AT_EMPTY_PATH | flags, &attributes, sizeof attributes),
                 "mount_setattr");
}

Result<ClonedTree> CloneTree(const AccessiblePath& visible) {
  const std::string& path = visible.path;
  ClonedTree tree{path, UniqueFd(open_tree(AT_FDCWD, path.c_str(),
                                           OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE))};
  if (!tree.fd.valid()) return ErrnoError(fmt::format("open_tree of {}", path));
  struct stat status;
  TRY(Checked(fstat(tree.fd.get(), &status), "fstat"));
  tree.directory = S_ISDIR(status.st_mode);
  const bool is_device = visible.access == PathAccess::kDevice;
  if (is_device && !S_ISCHR(status.st_mode)) {
    return InternalError("the path is not a character device ({})", path);
  }
  TRY(SetMountAttributes(tree.fd.get(), kReadOnly | (is_device ? 0 : MOUNT_ATTR_NODEV),
                         AT_RECURSIVE));
  return tree;
}

bool IsInside(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

// Real paths, without duplicates and without paths below another that can be read.
Result<std::vector<AccessiblePath>> ResolvePaths(const std::vector<VisiblePath>& paths) {
  std::vector<AccessiblePath> resolved;
  for (const VisiblePath& visible : paths) {
    char real[PATH_MAX];
    if (realpath(visible.path.c_str(), real) != nullptr) {
      resolved.push_back({real, visible.access});
    } else if (visible.required) {
      return ErrnoError(fmt::format("finding {}", visible.path));
    }
  }
  std::sort(resolved.begin(), resolved.end(),
            [](const AccessiblePath& a, const AccessiblePath& b) { return a.path < b.path; });
  std::vector<AccessiblePath> outermost;
  for (const AccessiblePath& visible : resolved) {
    const std::string& path = visible.path;
    bool covered =
        std::any_of(outermost.begin(), outermost.end(), [&](const AccessiblePath& other) {
          return path == other.path ||
                 (other.access == PathAccess::kRead && IsInside(path, other.path));
        });
    if (path == "/") return InternalError("the root of the host cannot be made visible ({})", path);
    if (!covered) outermost.push_back(visible);
  }
  return outermost;
}

// Symbolic links at the top of the host (/lib -> usr/lib) by which loaders name those paths.
struct TopLink {
  std::string name;
  std::string target;
};

std::vector<TopLink> TopLinks() {
  std::vector<TopLink> links;
  for (const char* name : {"/lib", "/lib64", "/lib32"}) {
    char target[PATH_MAX];
    ssize_t length = readlink(name, target, sizeof target);
    if (length > 0 && length < PATH_MAX) {
      links.push_back({name, std::string(target, static_cast<size_t>(length))});
    }
  }
  return links;
}

// mkdir -p of everything above the last component of `path`, below the working directory.
Status MakeParents(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    std::string parent = path.substr(1, at - 1);
    if (mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) {
      return ErrnoError(fmt::format("mkdir of /{}", parent));
    }
  }
  return {};
}

// Puts the tree under its own path below the working directory.
Status Attach(const ClonedTree& tree) {
  TRY(MakeParents(tree.path));
  const char* place = tree.path.c_str() + 1;
  if (tree.directory) {
    TRY(Checked(mkdir(place, 0755), fmt::format("mkdir of {}", tree.path)));
  } else {
    UniqueFd file(open(place, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
    TRY(Checked(file.get(), fmt::format("creating {}", tree.path)));
  }
  return Checked(move_mount(tree.fd.get(), "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH),
                 fmt::format("move_mount of {}", tree.path));
}

// A tmpfs below the working directory, which goes with the process. Few files are made there.
Status MakeScratch(uint64_t bytes) {
  const char* place = kScratchDirectory + 1;
  TRY(Checked(mkdir(place, 0700), "mkdir of the scratch directory"));
  const std::string size = fmt::format("size={},nr_inodes=256,mode=700", bytes);
  return Checked(mount("none", place, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, size.c_str()),
                 "mounting the scratch directory");
}

Status EnterEmptyRoot(const ConfineOptions& options) {
  ASSIGN_OR_RETURN(std::vector<AccessiblePath> paths, ResolvePaths(options.visible_paths));
  // Nothing that we mount or unmount may reach the host.
  TRY(Checked(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "making mounts private"));
  std::vector<ClonedTree> trees;
  for (const AccessiblePath& path : paths) {
    if (path.access == PathAccess::kList) continue;
    ASSIGN_OR_RETURN(ClonedTree tree, CloneTree(path));
    trees.push_back(std::move(tree));
  }
  std::vector<TopLink> links = TopLinks();
  // Holds directories and links only; a few pages suffice.
  TRY(Checked(mount("none", kStage, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                    "size=64k,nr_inodes=256,mode=755"),
              "mounting a tmpfs"));
  TRY(Checked(chdir(kStage), "chdir"));
  for (const AccessiblePath& path : paths) {
    if (path.access == PathAccess::kList) TRY(MakeParents(path.path + "/"));
  }
  for (const ClonedTree& tree : trees) TRY(Attach(tree));
  if (options.scratch_bytes > 0) TRY(MakeScratch(options.scratch_bytes));
  for (const TopLink& link : links) {
    if (symlink(link.target.c_str(), link.name.c_str() + 1) != 0 && errno != EEXIST) {
      return ErrnoError(fmt::format("linking {}", link.name));
    }
  }
  // The old root lands on top of the new one, and goes away: nothing leads back to it.
  TRY(Checked(syscall(SYS_pivot_root, ".", "."), "pivot_root"));
  TRY(Checked(umount2(".", MNT_DETACH), "unmounting the old root"));
  TRY(Checked(chdir("/"), "chdir"));
  UniqueFd root(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  TRY(Checked(root.get(), "opening the new root"));
  // The trees have their own attributes by now.
  return SetMountAttributes(root.get(), kReadOnly | MOUNT_ATTR_NODEV, 0);
}

// Step capabilities ------------------------------------------------------------------------------

Status DropCapabilities(const ConfineOptions&) {
  // Uid 0 means nothing any more, and a set-uid program gains nothing; locked.
  unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                       SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                       SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  TRY(Checked(prctl(PR_SET_SECUREBITS, bits, 0, 0, 0), "prctl(PR_SET_SECUREBITS)"));
  // The kernel may know capabilities that our headers do not: it says where they end.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    TRY(Checked(prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "prctl(PR_CAPBSET_DROP)"));
  }
  TRY(Checked(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0),
              "prctl(PR_CAP_AMBIENT_CLEAR_ALL)"));
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  return Checked(syscall(SYS_capset, &header, none), "capset");
}

// Step privileges --------------------------------------------------------------------------------

Status ForbidNewPrivileges(const ConfineOptions&) {
  return Checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)");
}

// Step landlock ----------------------------------------------------------------------------------

Status RestrictPaths(const ConfineOptions& options) {
  ASSIGN_OR_RETURN(std::vector<AccessiblePath> paths, ResolvePaths(options.visible_paths));
  if (options.scratch_bytes > 0) paths.push_back({kScratchDirectory, PathAccess::kScratch});
  return RestrictAccess(paths);
}

// Step resources ---------------------------------------------------------------------------------

Status LimitResourcesOfProfile(const ConfineOptions& options) {
  return LimitResources(options.profile, options.device_bytes);
}

// Step dumpable ----------------------------------------------------------------------------------

// No other process of the same user may trace this one or read its memory.
Status ForbidTracing(const ConfineOptions&) {
  return Checked(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl(PR_SET_DUMPABLE)");
}

struct Step {
  std::string_view name;
  Status (*run)(const ConfineOptions&);
};

constexpr Step kSteps[] = {
    {"namespaces", CheckNamespaces},    {"root", EnterEmptyRoot},
    {"capabilities", DropCapabilities}, {"privileges", ForbidNewPrivileges},
    {"landlock", RestrictPaths},        {"resources", LimitResourcesOfProfile},
    {"dumpable", ForbidTracing},
};

int AddLibraryDirectory(dl_phdr_info* info, size_t, void* paths) {
  std::string_view name = info->dlpi_name;
  size_t slash = name.rfind('/');
  // The program itself and the vDSO have no path.
  if (slash != std::string_view::npos && slash > 0) {
    static_cast<std::vector<VisiblePath>*>(paths)->push_back(
        {.path = std::string(name.substr(0, slash)), .required = true});
  }
  return 0;
}

}  // namespace

std::vector<VisiblePath> DriverPaths(SandboxProfile profile) {
  std::vector<VisiblePath> paths;
  dl_iterate_phdr(AddLibraryDirectory, &paths);
  for (const PathRule& rule : PathPolicy(profile)) {
    glob_t found{};
    if (glob(std::string(rule.pattern).c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        paths.push_back({.path = found.gl_pathv[i], .access = rule.access});
      }
    }
    globfree(&found);
  }
  return paths;
}

Status LimitResources(SandboxProfile profile, uint64_t device_bytes) {
  for (const ResourceRule& rule : ResourcePolicy(profile, device_bytes)) {
    rlimit limit;
    auto resource = static_cast<__rlimit_resource_t>(rule.resource);
    TRY(Checked(getrlimit(resource, &limit), fmt::format("getrlimit of {}", rule.name)));
    rlim_t value = std::min<rlim_t>(rule.value, limit.rlim_max);
    limit = {value, value};
    TRY(Checked(setrlimit(resource, &limit), fmt::format("setrlimit of {}", rule.name)));
  }
  return {};
}

std::vector<std::string_view> ConfineSteps() {
  std::vector<std::string_view> names;
  for (const Step& step : kSteps) names.push_back(step.name);
  return names;
}

Status Confine(const ConfineOptions& options) {
  for (const Step& step : kSteps) {
    Status status = options.before_step ? options.before_step(step.name) : Status();
    if (status.ok()) status = step.run(options);
    if (!status.ok()) {
      return std::move(status).error().AddContext(fmt::format("taking sandbox step {}", step.name));
    }
  }
  return {};
}

}  // namespace webnnd::service
