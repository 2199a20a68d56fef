// Tensors on the timeline: their memory, what goes into it and comes out, and what became of that.
#ifndef WEBNND_SERVICE_SESSION_TENSOR_TRANSFERS_H_
#define WEBNND_SERVICE_SESSION_TENSOR_TRANSFERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "service/session/objects.h"
#include "service/session/payload.h"
#include "service/vulkan/device.h"

namespace webnnd::service {

// All of this runs on the timeline thread.

// The error of an operation on a context that has no timeline.
Error NoTimeline(const ContextObject& context);

// Why the tensor holds nothing, as far as it is known now; nullptr where it does.
const Error* WhyBroken(const TensorObject& tensor);
// Appends what has to end well for a tensor to hold what it should, unless it has: one of its
// `cleared` and `written`.
void AddPending(const std::shared_ptr<const WorkOutcome>& outcome,
                std::vector<std::shared_ptr<const WorkOutcome>>& pending);

// Memory for the tensor's capacity, which holds anything. Errors: no context, more bytes than the
// device's tensors have, the quota.
Status AllocateTensor(TensorObject& tensor, const std::shared_ptr<DeviceQuota>& quota);
// So that no client sees what another has left.
Status ClearTensor(TensorObject& tensor);

// The constant's values, where passes may look at them, they are few, and `budget` has room.
Status KeepValues(TensorObject& constant, PayloadSource& data,
                  const std::shared_ptr<Budget>& budget);

// Records the transfer of `data` to all elements that the tensor has now. Errors: no context, no
// memory, data of another length, more rows than are transferred.
Status WriteTensor(TensorObject& tensor, const PayloadSource& data);
// Records the transfer of all elements, of which `on_end` is told, or of why there are none, on the
// device's thread. Errors, of which it is not told: a tensor that holds nothing or is not readable,
// no context, no memory, more rows than are transferred, more bytes than there is `room` for.
Status ReadTensor(const TensorObject& tensor, uint64_t room, Timeline::ReadFunction on_end);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_TENSOR_TRANSFERS_H_
