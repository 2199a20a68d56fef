// Must: the value, or the end. A benchmark has nothing better to do with an error than to show it.
#ifndef WEBNND_TOOLS_BENCHMARKS_MUST_H_
#define WEBNND_TOOLS_BENCHMARKS_MUST_H_

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/result.h"

namespace webnnd::benchmarks {

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "webnn-bench: %s\n", result.error().ToString().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}
inline void Must(const Result<void>& result) {
  if (result.ok()) return;
  std::fprintf(stderr, "webnn-bench: %s\n", result.error().ToString().c_str());
  std::exit(1);
}

}  // namespace webnnd::benchmarks

#endif  // WEBNND_TOOLS_BENCHMARKS_MUST_H_
