// SharedGrid: threads that each got a run of a kernel's workgroups take those of slower ones, too.
//
// llvmpipe gives each thread of its pool as many workgroups as the others, beforehand, and waits
// for all of them: where a processor is slow for a while, or has another program's thread to run,
// the others wait for it with nothing to do. Here who is to run one workgroup runs those behind it
// as well, up to those of a thread that is there already, and then what nobody has taken yet, from
// the end of the grid backwards: a thread comes last to the end of its run, so that what it has
// worked on all along is left to it, and mostly stays where its caches have it. Later calls find
// that their workgroup has been taken, and return.
#ifndef WEBNND_BASE_SHARED_GRID_H_
#define WEBNND_BASE_SHARED_GRID_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace webnnd {

// Threads may call it at once.
class SharedGrid {
 public:
  // So many are told apart; of larger grids, neighbours are taken together.
  static constexpr uint32_t kLines = 16;
  static constexpr uint32_t kUnitsPerLineMax = 32;
  static constexpr uint32_t kUnitsMax = kLines * kUnitsPerLineMax;

  // To be called once for each workgroup of a grid of `count`, on any thread; the calls of one grid
  // end before those of the next one begin. Calls run(i) for workgroups, so that it has been called
  // once for each of them when the last of these calls returns: that one says how long the grid
  // took, in nanoseconds.
  template <class Run>
  std::optional<int64_t> Call(uint32_t workgroup, uint32_t count, const Run& run) {
    Open(count);
    const uint32_t unit = workgroup >> unit_shift_;
    for (uint32_t next = unit; next < units_ && Take(next); ++next) RunUnit(next, run);
    for (int64_t last = TakeLast(); last >= 0; last = TakeLast()) {
      RunUnit(static_cast<uint32_t>(last), run);
    }
    return Leave(unit >> line_shift_);
  }

  // For tests: as if there had been so many grids. None runs.
  void SetGrids(uint32_t grids) { grid_ = grids; }

 private:
  enum Phase : uint32_t { kClosed, kOpening, kOpen };

  // Of some units that lie beside each other, and so most often are one thread's: a line of the
  // cache. The upper half of each says of which grid it is, so that nobody has to clear them.
  struct alignas(64) Line {
    std::atomic<uint64_t> taken{0};  // A bit for each unit.
    std::atomic<uint64_t> calls{0};  // How many have ended.
  };

  template <class Run>
  void RunUnit(uint32_t unit, const Run& run) {
    const uint64_t end = (uint64_t{unit} + 1) << unit_shift_;
    for (uint64_t i = uint64_t{unit} << unit_shift_; i < end && i < count_; ++i) {
      run(static_cast<uint32_t>(i));
    }
  }

  void Open(uint32_t count);
  void Begin(uint32_t count);
  // Whether it is the caller's now.
  bool Take(uint32_t unit);
  // The last one that nobody has taken; negative once there is none.
  int64_t TakeLast();
  std::optional<int64_t> Leave(uint32_t line);
  // What it holds for this grid.
  uint32_t Of(uint64_t value) const {
    return value >> 32 == grid_ ? static_cast<uint32_t>(value) : 0;
  }
  uint64_t Tagged(uint32_t value) const { return uint64_t{grid_} << 32 | value; }

  // Set while it opens.
  std::atomic<uint32_t> phase_{kClosed};
  uint32_t grid_ = 0;   // Counts them, from 1 on.
  uint32_t count_ = 0;  // Of workgroups.
  uint32_t units_ = 0;
  uint32_t unit_shift_ = 0;  // Log2 of the workgroups of a unit,
  uint32_t line_shift_ = 0;  // and of the units of a line.
  int64_t begun_ns_ = 0;
  // Changed meanwhile.
  alignas(64) std::atomic<int32_t> last_line_{0};  // From the next one on all are taken.
  std::atomic<uint32_t> lines_left_{0};            // In which calls are to come.
  std::array<Line, kLines> lines_{};
};

}  // namespace webnnd

#endif  // WEBNND_BASE_SHARED_GRID_H_
