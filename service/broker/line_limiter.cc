#include "service/broker/line_limiter.h"

#include <algorithm>

namespace webnnd::service {
namespace {

constexpr int64_t kSecondMs = 1000;

}  // namespace

bool LineLimiter::Take(std::string_view reason, int64_t now_ms) {
  const auto found = reasons_.find(reason);
  if (found != reasons_.end()) {
    ++found->second.left_out;
    return false;
  }
  reasons_.emplace(reason, Second{.ends_ms = now_ms + kSecondMs});
  return true;
}

std::vector<LineLimiter::LeftOut> LineLimiter::TakeLeftOut(int64_t now_ms) {
  std::vector<LeftOut> left_out;
  for (auto entry = reasons_.begin(); entry != reasons_.end();) {
    auto& [reason, second] = *entry;
    if (now_ms < second.ends_ms) {
      ++entry;
    } else if (second.left_out == 0) {
      entry = reasons_.erase(entry);
    } else {
      left_out.push_back({reason, second.left_out});
      second = {.ends_ms = now_ms + kSecondMs};
      ++entry;
    }
  }
  return left_out;
}

int64_t LineLimiter::deadline_ms() const {
  int64_t deadline = INT64_MAX;
  for (const auto& [reason, second] : reasons_) deadline = std::min(deadline, second.ends_ms);
  return deadline;
}

}  // namespace webnnd::service
