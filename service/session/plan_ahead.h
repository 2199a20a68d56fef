// PlanAhead: plans a graph for the sizes that its next dispatch will probably have, on another
// thread, while the device is at work on the one before.
#ifndef WEBNND_SERVICE_SESSION_PLAN_AHEAD_H_
#define WEBNND_SERVICE_SESSION_PLAN_AHEAD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/result.h"
#include "service/passes/compile.h"
#include "webidl/linear_expression.h"

namespace webnnd::service {

// The sizes that follow where all change as they did last; nullopt where none changes, or one would
// leave its bounds.
std::optional<webidl::Assignment> PredictSizes(const webidl::Assignment& before,
                                               const webidl::Assignment& now,
                                               const webidl::Symbols& symbols);

// One plan. Run and Take are for a thread each.
class PlanAhead {
 public:
  using Work = std::function<Result<CompiledGraph>()>;

  PlanAhead(webidl::Assignment sizes, Work work)
      : sizes_(std::move(sizes)), work_(std::move(work)) {}

  const webidl::Assignment& sizes() const { return sizes_; }
  // Does the work, unless it has been taken.
  void Run();
  // Once. The plan; does the work where that has not begun, else waits for it.
  Result<CompiledGraph> Take();

 private:
  enum class State : uint8_t { kWaiting, kRunning, kDone, kTaken };

  const webidl::Assignment sizes_;
  Work work_;
  std::atomic<State> state_{State::kWaiting};
  std::optional<Result<CompiledGraph>> plan_;  // Written before kDone.
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_PLAN_AHEAD_H_
