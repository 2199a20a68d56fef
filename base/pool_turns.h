// PoolTurns: threads of a pool take their parts of the work in the order of the processors they are
// on.
//
// lavapipe's pool divides each kernel call into as many runs of workgroups as it has threads, and
// who comes first takes the first one. Threads that come as they please take other runs each time,
// and what a kernel reads and writes, mostly what the one before wrote or read, lies in the cache
// of another processor: where tensors stay in the processors' own caches, a kernel takes half as
// long again then.
//
// Nobody waits for long, nor for a processor from which lately none came in time, nor where parts
// are short: their data is little, and who is there first may have done them all before others
// come.
#ifndef WEBNND_BASE_POOL_TURNS_H_
#define WEBNND_BASE_POOL_TURNS_H_

#include <atomic>
#include <cstdint>

namespace webnnd {

// Processors are numbers from 0 on; those that are alike in their last six bits count as one. Times
// are nanoseconds of a monotonic clock. Threads may call all of it at once.
class PoolTurns {
 public:
  // From when the pool is called, how long its first parts may wait for their turn. Threads that
  // spin are there after one or two microseconds, those that sleep after ten and more.
  static constexpr int64_t kInTimeNs = 5'000;
  // How long parts take that are worth a wait.
  static constexpr int64_t kLongNs = 30'000;

  // The pool is called.
  void Begin(int64_t now_ns);
  // Whether a thread of the pool on `processor` shall not take its part yet: one on a lower
  // processor, from which one came in time to both of the calls before, is still to come.
  bool MustWait(int processor, int64_t now_ns) const;
  // It takes its part: others of its pool cannot at the same time.
  void Take(int processor, int64_t now_ns);
  // It is done with it.
  void Finish(int64_t now_ns);

  void Reset();

 private:
  std::atomic<int64_t> begun_ns_{0};
  // Processors on which somebody took a part in time: of this call, and of the one before it.
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> taken_before_{0};
  // Of both calls before this one, if parts are long.
  std::atomic<uint64_t> awaited_{0};
  std::atomic<int64_t> last_taken_ns_{0};
  std::atomic<int64_t> part_ns_{0};  // What parts took lately.
};

}  // namespace webnnd

#endif  // WEBNND_BASE_POOL_TURNS_H_
