#include "service/session/plan_ahead.h"

#include <utility>

#include "base/check.h"

namespace webnnd::service {

std::optional<webidl::Assignment> PredictSizes(const webidl::Assignment& before,
                                               const webidl::Assignment& now,
                                               const webidl::Symbols& symbols) {
  webidl::Assignment next;
  for (const auto& [name, bounds] : symbols) {
    const auto last = before.find(name);
    const auto size = now.find(name);
    if (last == before.end() || size == now.end()) return std::nullopt;
    const int64_t predicted = 2 * int64_t{size->second} - last->second;
    if (predicted < bounds.min || predicted > bounds.max) return std::nullopt;
    next[name] = static_cast<uint32_t>(predicted);
  }
  if (next == now) return std::nullopt;
  return next;
}

void PlanAhead::Run() {
  State waiting = State::kWaiting;
  if (!state_.compare_exchange_strong(waiting, State::kRunning)) return;
  plan_ = work_();
  state_ = State::kDone;
  state_.notify_one();
}

Result<CompiledGraph> PlanAhead::Take() {
  State state = State::kWaiting;
  if (state_.compare_exchange_strong(state, State::kTaken)) return work_();
  CHECK(state != State::kTaken);
  state_.wait(State::kRunning);
  state_ = State::kTaken;
  return *std::exchange(plan_, std::nullopt);
}

}  // namespace webnnd::service
