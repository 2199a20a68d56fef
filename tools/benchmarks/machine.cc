#include "tools/benchmarks/machine.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

// Seconds for `work(thread, threads)` on every core at once.
double TimeOnAllCores(const std::function<void(unsigned, unsigned)>& work) {
  unsigned count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  double begin = Now();
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([&work, i, count] { work(i, count); });
  for (std::thread& thread : threads) thread.join();
  return Now() - begin;
}

// Vectors of the compiler's own, wide enough for any machine.
typedef float Floats __attribute__((vector_size(64)));
typedef uint64_t Words __attribute__((vector_size(64)));

}  // namespace

std::vector<double> MeasureStreamBandwidth(int rounds) {
  // Far beyond any cache.
  constexpr size_t kBytes = 512u << 20;
  constexpr size_t kVectors = kBytes / sizeof(Words);
  std::unique_ptr<Words[]> memory(new Words[kVectors]);
  std::fill(memory.get(), memory.get() + kVectors, Words{} + 1);
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    double seconds = TimeOnAllCores([&](unsigned thread, unsigned threads) {
      size_t begin = kVectors * thread / threads;
      size_t end = kVectors * (thread + 1) / threads;
      Words sums[4] = {};
      for (size_t i = begin; i + 4 <= end; i += 4) {
        for (size_t lane = 0; lane < 4; ++lane) sums[lane] += memory[i + lane];
      }
      Words sum = sums[0] + sums[1] + sums[2] + sums[3];
      asm volatile("" : : "m"(sum));
    });
    samples.push_back(static_cast<double>(kBytes) / seconds * 1e-9);
  }
  return samples;
}

std::vector<double> MeasureMultiplyAdds(int rounds) {
  constexpr int kSteps = 4'000'000;
  constexpr int kChains = 8;
  constexpr int kLanes = sizeof(Floats) / sizeof(float);
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    double seconds = TimeOnAllCores([&](unsigned, unsigned) {
      Floats chains[kChains];
      for (int i = 0; i < kChains; ++i) chains[i] = Floats{} + static_cast<float>(i);
      Floats factor = Floats{} + 0.999f;
      Floats addend = Floats{} + 0.001f;
      // The compiler must neither know the values nor join the chains.
      asm volatile("" : "+m"(chains), "+m"(factor), "+m"(addend));
      for (int step = 0; step < kSteps; ++step) {
        for (auto& chain : chains) chain = chain * factor + addend;
      }
      asm volatile("" : : "m"(chains));
    });
    double multiply_adds = static_cast<double>(kSteps) * kChains * kLanes *
                           std::max(1u, std::thread::hardware_concurrency());
    samples.push_back(multiply_adds / seconds * 1e-9);
  }
  return samples;
}

}  // namespace webnnd::benchmarks
