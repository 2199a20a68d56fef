// What a bound dispatch costs: with few tensors and with many, and beyond what the executor takes.
#ifndef WEBNND_TOOLS_BENCHMARKS_BINDING_BENCHMARK_H_
#define WEBNND_TOOLS_BENCHMARKS_BINDING_BENCHMARK_H_

#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {

void MeasureBindings(int rounds, Report& report);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_BINDING_BENCHMARK_H_
