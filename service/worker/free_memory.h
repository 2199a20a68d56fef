// How much memory of the machine nobody uses, for a process that can open no file any more.
#ifndef WEBNND_SERVICE_WORKER_FREE_MEMORY_H_
#define WEBNND_SERVICE_WORKER_FREE_MEMORY_H_

#include <cstdint>
#include <functional>

#include "base/result.h"

namespace webnnd::service {

// Opens what the function reads: call it before Confine(). The function returns the bytes that can
// be had without swapping (MemAvailable), and 0 where the kernel does not say. Thread-safe.
Result<std::function<uint64_t()>> OpenFreeMemory();

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_WORKER_FREE_MEMORY_H_
