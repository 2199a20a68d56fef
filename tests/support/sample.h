// Sample: one of so many cases that go over like ground, in tests that compile a kernel for each
// (0.1 to 0.2 s on lavapipe without a cache). `tools/test --full` sets WEBNND_TEST_THOROUGH=1, and all
// cases run, but for tests without a feature of the device under sanitizers (cmake/webnnd.cmake). Where
// cases choose their options by turns, only a share that has no divisor in common with the cycles still
// meets each option.
#ifndef WEBNND_TESTS_SUPPORT_SAMPLE_H_
#define WEBNND_TESTS_SUPPORT_SAMPLE_H_

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace webnnd::service {

inline bool IsThorough() {
  const char* value = std::getenv("WEBNND_TEST_THOROUGH");
  return value != nullptr && std::string_view(value) == "1";
}

// Where random cases begin: WEBNND_TEST_FIRST_SEED=N hunts where nobody was. Then each seed is
// named before it runs, and those that follow a failure run as well.
inline uint32_t FirstSeed() {
  const char* value = std::getenv("WEBNND_TEST_FIRST_SEED");
  return value == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
}

class Sample {
 public:
  explicit Sample(uint32_t one_of) : one_of_(IsThorough() ? 1 : one_of) {}

  // Whether to run the next case: the first, then each `one_of`-th.
  bool Takes() { return turn_++ % one_of_ == 0; }

 private:
  uint32_t one_of_;
  uint32_t turn_ = 0;
};

// So many of `cases`, all where thorough, for loops that choose themselves which.
inline uint32_t SampleOf(uint32_t cases, uint32_t one_of) {
  return IsThorough() ? cases : (cases + one_of - 1) / one_of;
}

// One of so many numbers below `cases`, for cases that choose their options by what is left of
// their number after divisions: `step` apart from each other and around, so that a sample has each
// option. Where thorough, each number once.
inline std::vector<uint32_t> SampledTurns(uint32_t cases, uint32_t one_of, uint32_t step = 11) {
  CHECK(std::gcd(cases, step) == 1);
  std::vector<uint32_t> turns(SampleOf(cases, one_of));
  for (uint32_t i = 0; i < turns.size(); ++i) turns[i] = i * step % cases;
  return turns;
}

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_SAMPLE_H_
