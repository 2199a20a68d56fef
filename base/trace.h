// A trace of where time goes, as Chrome's tracing and Perfetto read it (JSON trace events).
#ifndef WEBNND_BASE_TRACE_H_
#define WEBNND_BASE_TRACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/unique_fd.h"

namespace webnnd {

// Nanoseconds of the monotonic clock, which all processes of a machine share.
uint64_t MonotonicNs();

// A number beside an event. Names and numbers alone: nothing of a client's needs escaping.
struct TraceArgument {
  const char* name = nullptr;
  uint64_t value = 0;
};
inline constexpr size_t kTraceArgumentsMax = 4;

namespace trace_internal {
extern std::atomic<bool> on;
}  // namespace trace_internal

// Without a trace this is all that an event costs.
inline bool TraceOn() { return trace_internal::on.load(std::memory_order_relaxed); }

// Writes events to `file` from now on, at most limits::kTraceBytesMax of them. `process` is the
// number and the name under which this process stands there. Once per process.
void StartTrace(UniqueFd file, uint32_t process, std::string_view name);
// What is left is written, and the file ends.
void StopTrace();

// How the calling thread is called in the trace.
void TraceThreadName(std::string_view name);

// Something that this thread does from `begin_ns` to `end_ns`; what lies within is shown inside.
void TraceSlice(const char* name, uint64_t begin_ns, uint64_t end_ns,
                std::span<const TraceArgument> arguments = {});

// One that no other event of this process has.
uint64_t NewTraceId();

// Something that is under way from `begin_ns` to `end_ns`, whatever threads do; those of one `id`
// are shown together, and nest.
void TraceAsync(const char* name, uint64_t id, uint64_t begin_ns, uint64_t end_ns,
                std::span<const TraceArgument> arguments = {});

// Writes what has gathered: before a long pause.
void FlushTrace();

// A slice from here to the end of the scope.
class TraceScope {
 public:
  // `name` is a literal.
  explicit TraceScope(const char* name) : name_(name), begin_ns_(TraceOn() ? MonotonicNs() : 0) {}
  ~TraceScope() { End(); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // Ends the slice before the scope.
  void End() {
    if (begin_ns_ == 0) return;
    TraceSlice(name_, begin_ns_, MonotonicNs(), {arguments_, count_});
    begin_ns_ = 0;
  }

  void Add(const char* name, uint64_t value) {
    if (begin_ns_ != 0 && count_ < kTraceArgumentsMax) arguments_[count_++] = {name, value};
  }

 private:
  const char* name_;
  uint64_t begin_ns_;  // 0: there is no trace.
  TraceArgument arguments_[kTraceArgumentsMax];
  size_t count_ = 0;
};

}  // namespace webnnd

#endif  // WEBNND_BASE_TRACE_H_
