// What `tools/bench shapes` times of products and convolutions: in shapes that models have, as a
// share of the machine's multiply-adds.
#ifndef WEBNND_TOOLS_BENCHMARKS_PRODUCT_CASES_H_
#define WEBNND_TOOLS_BENCHMARKS_PRODUCT_CASES_H_

#include <vector>

#include "tools/benchmarks/operator_cases.h"

namespace webnnd::benchmarks {

// Each of float32 and of float16. Weights are constants.
std::vector<OperatorCase> ProductCases();

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_PRODUCT_CASES_H_
