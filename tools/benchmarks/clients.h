// What clients of one device do to each other: equal ones, and a hostile one beside a good one.
#ifndef WEBNND_TOOLS_BENCHMARKS_CLIENTS_H_
#define WEBNND_TOOLS_BENCHMARKS_CLIENTS_H_

#include "base/result.h"
#include "tools/benchmarks/options.h"

namespace webnnd::benchmarks {

Status RunClients(const Options& options);

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_CLIENTS_H_
