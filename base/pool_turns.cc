#include "base/pool_turns.h"

#include <algorithm>

namespace webnnd {
namespace {

// Of how many parts, about, it is remembered what they took; and at most how much of each, for a
// thread may have been without its processor meanwhile.
constexpr int64_t kPartsRemembered = 8;
constexpr int64_t kPartNsMax = 4 * PoolTurns::kLongNs;

uint64_t BitOf(int processor) { return uint64_t{1} << (static_cast<unsigned>(processor) % 64); }

}  // namespace

void PoolTurns::Begin(int64_t now_ns) {
  const uint64_t taken = taken_.exchange(0);
  const uint64_t in_time = taken & taken_before_.exchange(taken);
  awaited_ = part_ns_.load() >= kLongNs ? in_time : 0;
  begun_ns_ = now_ns;
}

bool PoolTurns::MustWait(int processor, int64_t now_ns) const {
  const uint64_t before = awaited_.load() & (BitOf(processor) - 1);
  return (taken_.load() & before) != before && now_ns < begun_ns_.load() + kInTimeNs;
}

void PoolTurns::Take(int processor, int64_t now_ns) {
  last_taken_ns_ = now_ns;
  if (now_ns < begun_ns_.load() + kInTimeNs) taken_ |= BitOf(processor);
}

void PoolTurns::Finish(int64_t now_ns) {
  const int64_t taken_ns = last_taken_ns_.load();
  if (taken_ns == 0) return;
  const int64_t ns = std::clamp<int64_t>(now_ns - taken_ns, 0, kPartNsMax);
  const int64_t part_ns = part_ns_.load();
  part_ns_ = part_ns + (ns - part_ns) / kPartsRemembered;
}

void PoolTurns::Reset() {
  begun_ns_ = 0;
  taken_ = 0;
  taken_before_ = 0;
  awaited_ = 0;
  last_taken_ns_ = 0;
  part_ns_ = 0;
}

}  // namespace webnnd
