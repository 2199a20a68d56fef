// Landlock: a second fence behind the empty root, which holds even if a path leads out of it.
#ifndef WEBNND_SERVICE_SANDBOX_LANDLOCK_H_
#define WEBNND_SERVICE_SANDBOX_LANDLOCK_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace webnnd::service {

// From here on this thread, and those it starts, may read the files under `paths` and nothing else:
// every right that the kernel's Landlock knows is withheld, network and signals out of the domain
// included. NotSupported when the kernel has no Landlock.
Status RestrictToReading(const std::vector<std::string>& paths);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SANDBOX_LANDLOCK_H_
