// The phases of a build, each called by itself in this process.
#ifndef WEBNND_TOOLS_BENCHMARKS_BUILD_PHASES_H_
#define WEBNND_TOOLS_BENCHMARKS_BUILD_PHASES_H_

#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {

// A chain of so many element-wise operators on float32 [64, 64]; eight kinds in turn.
inline constexpr uint32_t kChainOperators = 2000;
inline constexpr uint32_t kChainSize = 64;

// Adds one row per phase of building the chain, pipelines being there already.
void MeasureBuildPhases(int rounds, Report& report);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_BUILD_PHASES_H_
