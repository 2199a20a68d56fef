// What the machine itself can do, measured in the same run as the rest.
#ifndef WEBNND_TOOLS_BENCHMARKS_MACHINE_H_
#define WEBNND_TOOLS_BENCHMARKS_MACHINE_H_

#include <vector>

namespace webnnd::benchmarks {

// GB/s of reading memory in order, on all cores, one value per round.
std::vector<double> MeasureStreamBandwidth(int rounds);
// Billions of float32 multiply-adds a second, on all cores, one value per round.
std::vector<double> MeasureMultiplyAdds(int rounds);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_MACHINE_H_
