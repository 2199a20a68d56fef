// The operators that `tools/bench operators` times, at the sizes that matter.
#ifndef WEBNND_TOOLS_BENCHMARKS_OPERATOR_CASES_H_
#define WEBNND_TOOLS_BENCHMARKS_OPERATOR_CASES_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/benchmarks/graph_runner.h"

namespace webnnd::benchmarks {

struct OperatorCase {
  std::string name;
  std::function<void(GraphSketch&)> draw;
};

std::vector<OperatorCase> OperatorCases();

// Those whose kernels do no more than move 16 MiB. The fastest of them is what the device's shaders
// can do, and what data movement is held to.
std::vector<OperatorCase> CopyCases();

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_OPERATOR_CASES_H_
