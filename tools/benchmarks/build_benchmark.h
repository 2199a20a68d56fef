// What a build takes, phase by phase, and what it does to dispatches meanwhile.
#ifndef WEBNND_TOOLS_BENCHMARKS_BUILD_BENCHMARK_H_
#define WEBNND_TOOLS_BENCHMARKS_BUILD_BENCHMARK_H_

#include "base/result.h"
#include "tools/benchmarks/options.h"

namespace webnnd::benchmarks {

Status RunBuild(const Options& options);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_BUILD_BENCHMARK_H_
