// What `tools/bench shapes` times: operators that move memory, in shapes that models have. Rows of
// 77 and 197 tokens, 21 classes, 63 pixels: what kernels for the sizes of operator_cases.h may have
// forgotten.
#ifndef WEBNND_TOOLS_BENCHMARKS_SHAPE_CASES_H_
#define WEBNND_TOOLS_BENCHMARKS_SHAPE_CASES_H_

#include <vector>

#include "tools/benchmarks/operator_cases.h"

namespace webnnd::benchmarks {

// Each in all the data types that it is met with.
std::vector<OperatorCase> ShapeCases();

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_SHAPE_CASES_H_
