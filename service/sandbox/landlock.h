// Landlock: a second fence behind the empty root, which holds even if a path leads out of it.
#ifndef WEBNND_SERVICE_SANDBOX_LANDLOCK_H_
#define WEBNND_SERVICE_SANDBOX_LANDLOCK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "service/sandbox/policy.h"

namespace webnnd::service {

struct AccessiblePath {
  std::string path;
  PathAccess access = PathAccess::kRead;
};

// From here on this thread, and those it starts, may reach `paths` as said and nothing else: every
// right that the kernel's Landlock knows is withheld, network and signals out of the domain
// included. NotSupported when the kernel has no Landlock.
Status RestrictAccess(const std::vector<AccessiblePath>& paths);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SANDBOX_LANDLOCK_H_
