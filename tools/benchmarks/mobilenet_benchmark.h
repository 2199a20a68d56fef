// MobileNetV2 end to end: an image written, the network, the logits read.
#ifndef WEBNND_TOOLS_BENCHMARKS_MOBILENET_BENCHMARK_H_
#define WEBNND_TOOLS_BENCHMARKS_MOBILENET_BENCHMARK_H_

#include "base/result.h"
#include "tools/benchmarks/options.h"

namespace webnnd::benchmarks {

Status RunMobileNet(const Options& options);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_MOBILENET_BENCHMARK_H_
