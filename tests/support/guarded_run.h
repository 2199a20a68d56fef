// RunGuarded: runs a plan between guard bands.
#ifndef WEBNND_TESTS_SUPPORT_GUARDED_RUN_H_
#define WEBNND_TESTS_SUPPORT_GUARDED_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "service/plan/plan.h"
#include "service/vulkan/device.h"

namespace webnnd::service {

// Bytes before and behind each tensor; what CompileOptions::guard_bytes should be. The bands are
// within the range that kernels have bound, so that no robustness of the device hides what goes
// there. (Those before a tensor are not: no kernel can bind them. An index below 0 is one far
// behind the end, which GPU-assisted validation finds.)
inline constexpr uint64_t kGuardBytes = 4096;

// Runs the plan twice, with all guard bands, the rest of the last words of inputs, the outputs and
// the arena full of one pattern and then of another: NaN in every float type, and huge numbers.
// Fails where a kernel writes outside of outputs and intermediates, where counters do not end as 0,
// or where a result depends on what was not written. Results have `result_bits` each: the rest of an output's last word is
// free, and 0 here.
//
// Constants are not guarded: give them as inputs.
Result<std::vector<std::vector<std::byte>>> RunGuarded(
    std::shared_ptr<Device> device, Plan plan, const std::vector<std::vector<std::byte>>& inputs,
    const std::vector<uint64_t>& result_bits);

}  // namespace webnnd::service

#endif  // WEBNND_TESTS_SUPPORT_GUARDED_RUN_H_
