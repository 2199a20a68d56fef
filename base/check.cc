#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace webnnd {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "CHECK failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace webnnd
