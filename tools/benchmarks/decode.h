// RunDecode: language models, from decomposed operators to all that the service can do.
#ifndef WEBNND_TOOLS_BENCHMARKS_DECODE_H_
#define WEBNND_TOOLS_BENCHMARKS_DECODE_H_

#include "base/result.h"
#include "tools/benchmarks/options.h"

namespace webnnd::benchmarks {

Status RunDecode(const Options& options);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_DECODE_H_
