#include "service/vulkan/lavapipe.h"

#include <stdlib.h>

namespace webnnd::service {

HostProcessor HostProcessor::Detect() {
#if defined(__x86_64__)
  return {.intel = __builtin_cpu_is("intel") != 0,
          .avx512 = __builtin_cpu_supports("avx512f") != 0};
#else
  return {};
#endif
}

void ChooseLavapipesInstructions(const HostProcessor& processor) {
  // Mesa's name for all that comes before AVX-512 (src/util/u_cpu_detect.c).
  if (processor.intel && processor.avx512) setenv("GALLIUM_OVERRIDE_CPU_CAPS", "avx", 0);
}

}  // namespace webnnd::service
