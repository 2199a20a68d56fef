// ShortGrids: which kernels' grids are over too soon for threads to share them.
//
// Threads that share a grid (shared_grid.h) tell each other what they take, by lines of the cache
// that go from one processor to the other: some microseconds for each grid, and nanoseconds for
// each workgroup. A short one is over before another thread could help.
#ifndef WEBNND_BASE_SHORT_GRIDS_H_
#define WEBNND_BASE_SHORT_GRIDS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace webnnd {

// Kernels are numbers below kKernels.
class ShortGrids {
 public:
  static constexpr size_t kKernels = 1024;
  static constexpr int64_t kShortNs = 25'000;
  // After so many that were shared, all is forgotten: what a kernel's grid takes may depend on more
  // than how many workgroups it has. Of grids that are not shared nobody knows when they end, so
  // that as long as there are no others, what became long stays as it was without any of this.
  static constexpr uint32_t kGridsRemembered = 256;

  // Of a grid of `count` workgroups. It says the same from its first workgroup to its last one.
  bool Has(size_t kernel, uint32_t count) const;
  // One that was shared took so long. Nobody asks until this returns: of grids that share these,
  // none begins before another one has ended.
  void Learn(size_t kernel, uint32_t count, int64_t ns);

 private:
  // The size of the largest short grid of each, below the number of the time in which that was
  // learnt.
  std::array<std::atomic<uint64_t>, kKernels> largest_{};
  std::atomic<uint32_t> time_{0};
  std::atomic<uint32_t> grids_{0};  // That were shared since it began.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_SHORT_GRIDS_H_
