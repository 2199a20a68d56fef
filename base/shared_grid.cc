#include "base/shared_grid.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "base/check.h"

namespace webnnd {
namespace {

// Log2 of the parts that each of `most` may have of `count`, rounded up.
uint32_t ShiftFor(uint32_t count, uint32_t most) {
  const uint32_t parts = (count - 1) / most + 1;
  return static_cast<uint32_t>(std::bit_width(parts - 1));
}

int64_t NowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

uint32_t PartsOf(uint32_t count, uint32_t shift) { return ((count - 1) >> shift) + 1; }

}  // namespace

void SharedGrid::Open(uint32_t count) {
  for (;;) {
    uint32_t phase = phase_.load(std::memory_order_acquire);
    if (phase == kOpen) break;
    if (phase == kClosed && phase_.compare_exchange_strong(phase, kOpening)) {
      Begin(count);
      phase_.store(kOpen, std::memory_order_release);
      break;
    }
    std::this_thread::yield();
  }
  CHECK(count == count_);
}

void SharedGrid::Begin(uint32_t count) {
  if (++grid_ == 0) {  // Numbers come again: no line may have one of them.
    for (Line& line : lines_) line.taken = line.calls = 0;
    grid_ = 1;
  }
  begun_ns_ = NowNs();
  count_ = count;
  unit_shift_ = ShiftFor(count, kUnitsMax);
  units_ = PartsOf(count, unit_shift_);
  line_shift_ = ShiftFor(units_, kLines);
  const uint32_t lines = PartsOf(units_, line_shift_);
  last_line_.store(static_cast<int32_t>(lines) - 1, std::memory_order_relaxed);
  lines_left_.store(lines, std::memory_order_relaxed);
}

bool SharedGrid::Take(uint32_t unit) {
  std::atomic<uint64_t>& taken = lines_[unit >> line_shift_].taken;
  const uint32_t bit = uint32_t{1} << (unit & ((1U << line_shift_) - 1));
  uint64_t value = taken.load(std::memory_order_relaxed);
  do {
    if ((Of(value) & bit) != 0) return false;
  } while (!taken.compare_exchange_weak(value, Tagged(Of(value) | bit)));
  return true;
}

int64_t SharedGrid::TakeLast() {
  const int32_t last_line = last_line_.load(std::memory_order_relaxed);
  for (int32_t line = last_line; line >= 0; --line) {
    const uint32_t first = static_cast<uint32_t>(line) << line_shift_;
    const uint32_t units = std::min(units_ - first, 1U << line_shift_);
    const uint32_t all = units == 32 ? ~uint32_t{0} : (1U << units) - 1;
    std::atomic<uint64_t>& taken = lines_[line].taken;
    uint64_t value = taken.load(std::memory_order_relaxed);
    while (const uint32_t free = all & ~Of(value)) {
      const auto unit = static_cast<uint32_t>(std::bit_width(free)) - 1;
      if (taken.compare_exchange_weak(value, Tagged(Of(value) | 1U << unit))) return first + unit;
    }
    // Another thread may say so of a line behind it later: then the next one looks there again.
    last_line_.store(line - 1, std::memory_order_relaxed);
  }
  return -1;
}

std::optional<int64_t> SharedGrid::Leave(uint32_t line) {
  const uint32_t shift = line_shift_ + unit_shift_;
  const uint64_t first = uint64_t{line} << shift;
  const uint64_t all = std::min<uint64_t>(count_ - first, uint64_t{1} << shift);
  std::atomic<uint64_t>& calls = lines_[line].calls;
  uint64_t value = calls.load(std::memory_order_relaxed);
  while (!calls.compare_exchange_weak(value, Tagged(Of(value) + 1))) {
  }
  const uint64_t ended = uint64_t{Of(value)} + 1;
  CHECK(ended <= all);
  if (ended < all || lines_left_.fetch_sub(1) > 1) return std::nullopt;
  const int64_t ns = NowNs() - begun_ns_;
  phase_.store(kClosed, std::memory_order_release);
  return ns;
}

}  // namespace webnnd
