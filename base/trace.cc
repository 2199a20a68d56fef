#include "base/trace.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <mutex>
#include <string>

#include "base/limits.h"

namespace webnnd {

namespace trace_internal {
std::atomic<bool> on{false};
}  // namespace trace_internal

namespace {

constexpr size_t kBufferBytes = 64 << 10;
// A viewer sees at most so much less when the process is killed.
constexpr uint64_t kFlushIntervalNs = 500'000'000;

class Trace {
 public:
  void Start(UniqueFd file, uint32_t process, std::string_view name) {
    std::lock_guard lock(mutex_);
    file_ = std::move(file);
    process_ = process;
    // An array, whose end may be missing: a trace of a process that was killed is still one.
    buffer_ = "[\n";
    fmt::format_to(std::back_inserter(buffer_),
                   R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}"}}}})",
                   process_, name);
    trace_internal::on = true;
  }

  void Stop() {
    std::lock_guard lock(mutex_);
    if (!file_.valid()) return;
    trace_internal::on = false;
    buffer_ += "\n]\n";
    Write();
    file_.Reset();
  }

  void Flush() {
    std::lock_guard lock(mutex_);
    Write();
  }

  // Takes the fields of an event that come after its process and thread.
  template <class... Args>
  void Add(uint64_t now_ns, fmt::format_string<Args...> format, Args&&... args) {
    std::lock_guard lock(mutex_);
    if (!TraceOn()) return;
    fmt::format_to(std::back_inserter(buffer_), ",\n{{\"pid\":{},\"tid\":{},", process_, gettid());
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    buffer_ += '}';
    if (buffer_.size() >= kBufferBytes || now_ns - flushed_ns_ >= kFlushIntervalNs) {
      flushed_ns_ = now_ns;
      Write();
    }
  }

 private:
  void Write() {
    std::string_view rest = buffer_;
    while (!rest.empty() && file_.valid()) {
      const ssize_t written = write(file_.get(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      // A full disk ends the trace, and nothing else.
      if (written <= 0) trace_internal::on = false;
      if (written <= 0) break;
      rest.remove_prefix(static_cast<size_t>(written));
    }
    written_ += buffer_.size();
    buffer_.clear();
    if (written_ >= limits::kTraceBytesMax) trace_internal::on = false;
  }

  std::mutex mutex_;
  UniqueFd file_;
  uint32_t process_ = 0;
  std::string buffer_;
  uint64_t written_ = 0;
  uint64_t flushed_ns_ = 0;
};

// Never destroyed: a thread may trace while the process exits.
Trace& TheTrace() {
  static Trace* trace = new Trace;
  return *trace;
}

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

std::string Fields(std::span<const TraceArgument> arguments) {
  std::string fields;
  for (const TraceArgument& argument : arguments) {
    fmt::format_to(std::back_inserter(fields), "{}\"{}\":{}", fields.empty() ? "" : ",",
                   argument.name, argument.value);
  }
  return fields;
}

}  // namespace

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void StartTrace(UniqueFd file, uint32_t process, std::string_view name) {
  TheTrace().Start(std::move(file), process, name);
}

void StopTrace() { TheTrace().Stop(); }

void FlushTrace() {
  if (TraceOn()) TheTrace().Flush();
}

void TraceThreadName(std::string_view name) {
  if (!TraceOn()) return;
  TheTrace().Add(MonotonicNs(), R"("ph":"M","name":"thread_name","args":{{"name":"{}"}})", name);
}

void TraceSlice(const char* name, uint64_t begin_ns, uint64_t end_ns,
                std::span<const TraceArgument> arguments) {
  if (!TraceOn()) return;
  TheTrace().Add(end_ns, R"("ph":"X","name":"{}","ts":{:.3f},"dur":{:.3f},"args":{{{}}})", name,
                 Microseconds(begin_ns), Microseconds(end_ns - begin_ns), Fields(arguments));
}

uint64_t NewTraceId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void TraceAsync(const char* name, uint64_t id, uint64_t begin_ns, uint64_t end_ns,
                std::span<const TraceArgument> arguments) {
  if (!TraceOn()) return;
  // The category names the kind of `id`; an event of its own for each end.
  TheTrace().Add(begin_ns,
                 R"("ph":"b","cat":"dispatch","id":{},"name":"{}","ts":{:.3f},"args":{{{}}})", id,
                 name, Microseconds(begin_ns), Fields(arguments));
  TheTrace().Add(end_ns, R"("ph":"e","cat":"dispatch","id":{},"name":"{}","ts":{:.3f})", id, name,
                 Microseconds(end_ns));
}

}  // namespace webnnd
