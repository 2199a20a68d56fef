// Times each operator as a share of what machine and device can do in the same moments.
#ifndef WEBNND_TOOLS_BENCHMARKS_OPERATORS_H_
#define WEBNND_TOOLS_BENCHMARKS_OPERATORS_H_

#include "base/result.h"
#include "tools/benchmarks/options.h"

namespace webnnd::benchmarks {

// Prints the table of operator_cases.h, in Markdown, as it comes. Validation error when the filter
// matches nothing.
Status RunOperators(const Options& options);
// The same of shape_cases.h, in the order of their shares of the copy, the smallest first.
Status RunShapes(const Options& options);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_OPERATORS_H_
