// Randomness for tests: a seed that is printed, and given with --gtest_random_seed=N to repeat.
#ifndef WEBNND_TESTS_IPC_RANDOM_H_
#define WEBNND_TESTS_IPC_RANDOM_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <random>

namespace webnnd::ipc {

class Random {
 public:
  Random() {
    seed_ = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed));
    if (seed_ == 0) seed_ = std::random_device()() % 99999 + 1;
    engine_.seed(seed_);
    std::cout << "repeat with --gtest_random_seed=" << seed_ << std::endl;
  }

  uint32_t seed() const { return seed_; }
  // Uniform in [low, high].
  uint64_t Between(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(engine_);
  }

 private:
  uint32_t seed_ = 0;
  std::mt19937_64 engine_;
};

}  // namespace webnnd::ipc

#endif  // WEBNND_TESTS_IPC_RANDOM_H_
