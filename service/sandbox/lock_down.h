// The last step: from here on the process can only do what the policy lists.
#ifndef WEBNND_SERVICE_SANDBOX_LOCK_DOWN_H_
#define WEBNND_SERVICE_SANDBOX_LOCK_DOWN_H_

#include "base/result.h"
#include "service/sandbox/policy.h"

namespace webnnd::service {

// Installs SyscallPolicy(profile, role) for every thread of the process, the driver's included. A
// call that no rule matches kills the process with SIGSYS. Cannot be undone.
Status LockDown(SandboxProfile profile, SandboxRole role = SandboxRole::kWorker);

// Writes what LockDown() installs, an array of struct sock_filter, for tests to read.
Status ExportFilter(SandboxProfile profile, int descriptor);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SANDBOX_LOCK_DOWN_H_
