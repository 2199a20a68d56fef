#include "base/streamed_stores.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace webnnd {
namespace {

#if defined(__x86_64__)
bool IsIntel() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0 && ebx == signature_INTEL_ebx &&
         ecx == signature_INTEL_ecx && edx == signature_INTEL_edx;
}

bool HasAvx10() {
  constexpr unsigned kAvx10 = 1u << 19;
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAvx10) != 0;
}
#else
bool IsIntel() { return false; }
bool HasAvx10() { return false; }
#endif

}  // namespace

StreamedStores ChooseStreamedStores(bool is_intel, bool has_avx10) {
  return {.gathered = is_intel, .transposed_words = is_intel && has_avx10};
}

StreamedStores FindStreamedStores() { return ChooseStreamedStores(IsIntel(), HasAvx10()); }

}  // namespace webnnd
