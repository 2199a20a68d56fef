// Dispatch, start-up and memory, through the daemon and in process.
#ifndef WEBNND_TOOLS_BENCHMARKS_DISPATCH_H_
#define WEBNND_TOOLS_BENCHMARKS_DISPATCH_H_

#include "base/result.h"
#include "tools/benchmarks/options.h"

namespace webnnd::benchmarks {

Status RunDispatch(const Options& options);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_DISPATCH_H_
