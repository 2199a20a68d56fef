// LineLimiter: keeps what others can bring about at will from filling the log.
#ifndef WEBNND_SERVICE_BROKER_LINE_LIMITER_H_
#define WEBNND_SERVICE_BROKER_LINE_LIMITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace webnnd::service {

// Of each reason one line a second is written, and then how many were left out. Has no clock: times
// are milliseconds of a monotonic one.
class LineLimiter {
 public:
  // Whether a line for this reason is to be written now; otherwise it is counted.
  bool Take(std::string_view reason, int64_t now_ms);

  struct LeftOut {
    std::string reason;
    uint64_t lines;
  };
  // Of which a second ends by now, and how many lines were left out in it, if any. The line that
  // says so is the one of the next second.
  std::vector<LeftOut> TakeLeftOut(int64_t now_ms);

  // When TakeLeftOut next has something to do; INT64_MAX: never.
  int64_t deadline_ms() const;

 private:
  struct Second {
    int64_t ends_ms;
    uint64_t left_out = 0;
  };
  // Those of which a line was written within the last second.
  std::map<std::string, Second, std::less<>> reasons_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_BROKER_LINE_LIMITER_H_
