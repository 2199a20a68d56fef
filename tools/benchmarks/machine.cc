#include "tools/benchmarks/machine.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

unsigned CoreCount() { return std::max(1u, std::thread::hardware_concurrency()); }

// Seconds for `work(thread, threads)` on every core at once.
double TimeOnAllCores(const std::function<void(unsigned, unsigned)>& work) {
  unsigned count = CoreCount();
  std::vector<std::thread> threads;
  double begin = Now();
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([&work, i, count] { work(i, count); });
  for (std::thread& thread : threads) thread.join();
  return Now() - begin;
}

// Vectors of the compiler's own, wide enough for any machine.
typedef float Floats __attribute__((vector_size(64)));
typedef uint64_t Words __attribute__((vector_size(64)));

// Far beyond any cache.
constexpr size_t kBytes = 512u << 20;
constexpr size_t kVectors = kBytes / sizeof(Words);

}  // namespace

struct Machine::Memory {
  std::unique_ptr<Words[]> vectors{new Words[kVectors]};
};

Machine::Machine() : memory_(std::make_unique<Memory>()) {
  std::fill(memory_->vectors.get(), memory_->vectors.get() + kVectors, Words{} + 1);
}

Machine::~Machine() = default;

double Machine::StreamBandwidth() const {
  const Words* vectors = memory_->vectors.get();
  double seconds = TimeOnAllCores([vectors](unsigned thread, unsigned threads) {
    size_t begin = kVectors * thread / threads;
    size_t end = kVectors * (thread + 1) / threads;
    Words sums[4] = {};
    for (size_t i = begin; i + 4 <= end; i += 4) {
      for (size_t lane = 0; lane < 4; ++lane) sums[lane] += vectors[i + lane];
    }
    Words sum = sums[0] + sums[1] + sums[2] + sums[3];
    asm volatile("" : : "m"(sum));
  });
  return static_cast<double>(kBytes) / seconds * 1e-9;
}

double Machine::CopyBandwidth() {
  Words* vectors = memory_->vectors.get();
  double seconds = TimeOnAllCores([vectors](unsigned thread, unsigned threads) {
    constexpr size_t kHalf = kVectors / 2;
    size_t begin = kHalf * thread / threads;
    size_t end = kHalf * (thread + 1) / threads;
    std::memcpy(vectors + kHalf + begin, vectors + begin, (end - begin) * sizeof(Words));
  });
  return static_cast<double>(kBytes) / seconds * 1e-9;
}

double Machine::MultiplyAdds() const {
  constexpr int kSteps = 4'000'000;
  constexpr int kChains = 8;
  constexpr int kLanes = sizeof(Floats) / sizeof(float);
  double seconds = TimeOnAllCores([](unsigned, unsigned) {
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
  return static_cast<double>(kSteps) * kChains * kLanes * CoreCount() / seconds * 1e-9;
}

}  // namespace webnnd::benchmarks
