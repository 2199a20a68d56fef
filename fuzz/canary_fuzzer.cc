// A planted bug behind four bytes, which the harness must find within seconds.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5 || data[0] != 'c' || data[1] != 'a' || data[2] != 'n' || data[3] != 'a') return 0;
  std::fputs("the planted bug is reached\n", stderr);
  // AddressSanitizer stops at the read beyond the end, any other build at the trap.
  std::unique_ptr<uint8_t[]> heap(new uint8_t[4]());
  volatile size_t beyond = 4 + data[4] % 4;
  volatile uint8_t value = heap[beyond];
  static_cast<void>(value);
  __builtin_trap();
}
