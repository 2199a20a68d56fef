#include "tools/benchmarks/machine.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "tools/benchmarks/statistics.h"

namespace webnnd::benchmarks {
namespace {

// The processors that this program may use.
std::vector<int> FindProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  (void)sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  if (processors.empty()) processors.push_back(0);
  return processors;
}

const std::vector<int>& Processors() {
  static const std::vector<int> processors = FindProcessors();
  return processors;
}

unsigned CoreCount() { return static_cast<unsigned>(Processors().size()); }

// Keeps the calling thread there. Two of them on one processor would measure half of the machine,
// which a scheduler that still sees lavapipe's threads spin on another one lets happen.
void StayOn(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  (void)sched_setaffinity(0, sizeof(only), &only);
}

// Seconds for `work(thread, threads)` on every core at once.
double TimeOnAllCores(const std::function<void(unsigned, unsigned)>& work) {
  const unsigned count = CoreCount();
  double begin = 0;
  // The last to come takes the time, when all others sleep: processor time is known of those alone.
  std::barrier start(count, [&begin]() noexcept { begin = Now(); });
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&work, &start, i, count] {
      StayOn(Processors()[i]);
      start.arrive_and_wait();
      work(i, count);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return Now() - begin;
}

// Vectors of the compiler's own, wide enough for any machine.
typedef float Floats __attribute__((vector_size(64)));
typedef uint64_t Words __attribute__((vector_size(64)));

typedef float EightFloats __attribute__((vector_size(32)));

// What comes of `value` is not computed together with it.
template <class T>
void KeepApart(T& value) {
#if defined(__x86_64__)
  asm volatile("" : "+v"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

// A vector of which the compiler does not know what is in it.
template <class Vector>
Vector MakeUnknown(float value) {
  Vector vector = Vector{} + value;
  asm volatile("" : "+m"(vector));
  return vector;
}

// Billions of elements a second of `add(chain, factor, addend)` on all cores, as many at once as
// hides its latency.
template <class Vector, class Add>
double TimeChains(Add add) {
  constexpr int kSteps = 2'000'000;
  constexpr int kChains = 12;
  constexpr int kLanes = sizeof(Vector) / sizeof(float);
  double seconds = TimeOnAllCores([&add](unsigned, unsigned) {
    // Unrolled, so that all of it is in registers.
    Vector chains[kChains];
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) chains[i] = MakeUnknown<Vector>(static_cast<float>(i));
    const auto factor = MakeUnknown<Vector>(0.999f);
    const auto addend = MakeUnknown<Vector>(0.001f);
    for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 16
      for (auto& chain : chains) add(chain, factor, addend);
    }
    Vector sum{};
#pragma GCC unroll 16
    for (const auto& chain : chains) sum += chain;
    asm volatile("" : : "m"(sum));
  });
  return static_cast<double>(kSteps) * kChains * kLanes * CoreCount() / seconds * 1e-9;
}

// Far beyond any cache.
constexpr size_t kBytes = 512u << 20;
constexpr size_t kVectors = kBytes / sizeof(Words);

constexpr uint32_t kGatherRows = 4096;
constexpr uint32_t kGatherColumns = 1024;
constexpr size_t kGatherWords = size_t{kGatherRows} * kGatherColumns;

// How many indices ahead of its use a word is asked for.
constexpr size_t kGatherAhead = 64;

// In huge pages, as tensors are where the kernel has them.
class HugeWords {
 public:
  HugeWords()
      : words_(static_cast<uint32_t*>(
            std::aligned_alloc(kHugePage, kGatherWords * sizeof(uint32_t)))) {
    if (words_ == nullptr) throw std::bad_alloc();
    (void)madvise(words_.get(), kGatherWords * sizeof(uint32_t), MADV_HUGEPAGE);
  }
  uint32_t* get() const { return words_.get(); }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  struct Free {
    void operator()(uint32_t* words) const { std::free(words); }
  };
  std::unique_ptr<uint32_t, Free> words_;
};

}  // namespace

struct Machine::Memory {
  std::unique_ptr<Words[]> vectors{new Words[kVectors]};
  HugeWords matrix;
  HugeWords rows;  // Random.
  HugeWords gathered;
};

Machine::Machine() : memory_(std::make_unique<Memory>()) {
  std::fill(memory_->vectors.get(), memory_->vectors.get() + kVectors, Words{} + 1);
  std::mt19937 random;
  std::generate_n(memory_->rows.get(), kGatherWords, [&] { return random() % kGatherRows; });
  std::fill_n(memory_->matrix.get(), kGatherWords, 1u);
  std::fill_n(memory_->gathered.get(), kGatherWords, 0u);
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

double Machine::GatherBandwidth() {
  const uint32_t* matrix = memory_->matrix.get();
  const uint32_t* rows = memory_->rows.get();
  uint32_t* gathered = memory_->gathered.get();
  double seconds = TimeOnAllCores([=](unsigned thread, unsigned threads) {
    const auto word = [=](size_t i) {
      return matrix + size_t{rows[i]} * kGatherColumns + i % kGatherColumns;
    };
    const size_t end = kGatherWords * (thread + 1) / threads;
    for (size_t i = kGatherWords * thread / threads; i < end; ++i) {
      __builtin_prefetch(word(std::min(i + kGatherAhead, kGatherWords - 1)));
      gathered[i] = *word(i);
    }
  });
  return 3.0 * kGatherWords * sizeof(uint32_t) / seconds * 1e-9;
}

double Machine::ScatterBandwidth() {
  constexpr size_t kUpdateRows = kGatherRows / 4;
  const uint32_t* matrix = memory_->matrix.get();
  const uint32_t* rows = memory_->rows.get();
  uint32_t* scattered = memory_->gathered.get();
  const double copying = TimeOnAllCores([=](unsigned thread, unsigned threads) {
    const size_t begin = kGatherWords * thread / threads;
    const size_t end = kGatherWords * (thread + 1) / threads;
    std::memcpy(scattered + begin, matrix + begin, (end - begin) * sizeof(uint32_t));
  });
  // Columns are shared out, so that each place belongs to one thread.
  const double writing = TimeOnAllCores([=](unsigned thread, unsigned threads) {
    const size_t begin = size_t{kGatherColumns} * thread / threads;
    const size_t end = size_t{kGatherColumns} * (thread + 1) / threads;
    for (size_t row = 0; row < kUpdateRows; ++row) {
      for (size_t column = begin; column < end; ++column) {
        const size_t i = row * kGatherColumns + column;
        scattered[size_t{rows[i]} * kGatherColumns + column] = matrix[i];
      }
    }
  });
  return 2.75 * kGatherWords * sizeof(uint32_t) / (copying + writing) * 1e-9;
}

double Machine::MultiplyAdds() const {
  return TimeChains<Floats>([](Floats& chain, const Floats& factor, const Floats& addend) {
    chain = chain * factor + addend;
  });
}

double Machine::UnfusedMultiplyAdds() const {
  return TimeChains<EightFloats>(
      [](EightFloats& chain, const EightFloats& factor, const EightFloats& addend) {
        EightFloats product = chain * factor;
        KeepApart(product);
        chain = product + addend;
      });
}

}  // namespace webnnd::benchmarks
