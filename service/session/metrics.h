// What a session counts of its dispatches.
#ifndef WEBNND_SERVICE_SESSION_METRICS_H_
#define WEBNND_SERVICE_SESSION_METRICS_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/limits.h"

namespace webnnd::service {

class WorkOutcome;

// Counts of durations on a logarithmic scale, four classes an octave: a quantile is within an
// eighth of the truth. Thread-safe; never allocates.
class LatencyHistogram {
 public:
  void Add(uint64_t microseconds) {
    counts_[ClassOf(microseconds)].fetch_add(1, std::memory_order_relaxed);
  }
  // The duration, in microseconds, that `share` (0 to 1) of all do not exceed; 0 when there is
  // none.
  uint64_t Quantile(double share) const;

 private:
  // Beyond an hour all is one.
  static constexpr uint64_t kMicrosecondsMax = UINT32_MAX;
  // Below four microseconds a class each; then four for every power of two up to 2^32.
  static constexpr size_t kClasses = 4 + 4 * 30;

  static size_t ClassOf(uint64_t microseconds);
  static uint64_t MiddleOf(size_t index);

  std::array<std::atomic<uint64_t>, kClasses> counts_{};
};

// Thread-safe.
class SessionMetrics {
 public:
  void Accept() { accepted_.fetch_add(1, std::memory_order_relaxed); }
  void Fail(uint64_t dispatches = 1) {
    failed_.fetch_add(dispatches, std::memory_order_relaxed);
    ended_.fetch_add(dispatches, std::memory_order_release);
  }
  // One that was stopped, which is a way to fail.
  void Stop() {
    stopped_.fetch_add(1, std::memory_order_relaxed);
    Fail();
  }
  void Complete(uint64_t microseconds) {
    latencies_.Add(microseconds);
    ended_.fetch_add(1, std::memory_order_release);
  }

  uint64_t accepted() const { return accepted_.load(std::memory_order_relaxed); }
  uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }
  uint64_t stopped() const { return stopped_.load(std::memory_order_relaxed); }
  uint64_t in_flight() const {
    // Read in this order the difference is never negative.
    const uint64_t ended = ended_.load(std::memory_order_acquire);
    return accepted_.load(std::memory_order_acquire) - ended;
  }
  const LatencyHistogram& latencies() const { return latencies_; }

 private:
  std::atomic<uint64_t> accepted_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> stopped_{0};
  std::atomic<uint64_t> ended_{0};
  LatencyHistogram latencies_;
};

// The dispatches of a context that the device has not ended, oldest first. Added to by the timeline
// thread, taken by the completion thread; what hands a submission from one to the other orders
// them.
class DispatchesInFlight {
 public:
  struct Entry {
    uint64_t accepted_ns;
    uint32_t graph;  // Its handle's index.
    uint32_t kernels;
    // Settled when the device has ended it.
    std::shared_ptr<const WorkOutcome> outcome;
  };
  // No more are in flight than the front door admits.
  void Add(Entry entry) { entries_[added_++ % entries_.size()] = std::move(entry); }
  Entry Take() { return std::move(entries_[taken_++ % entries_.size()]); }

 private:
  std::array<Entry, limits::kTasksInFlightMax> entries_;
  uint64_t added_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_METRICS_H_
