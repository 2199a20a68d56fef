// PrepareBinding: checks a graph's tensors, and records the graph with them.
#ifndef WEBNND_SERVICE_SESSION_PREPARE_BINDING_H_
#define WEBNND_SERVICE_SESSION_PREPARE_BINDING_H_

#include <atomic>
#include <memory>

#include "base/result.h"
#include "service/session/objects.h"
#include "service/session/work_queue.h"

namespace webnnd::service {

// Whether shapes may differ from one dispatch to the next: then it is prepared for each.
bool IsDynamic(const BindingObject& binding);

// On the timeline thread, once the graph is built. Sets `binding.prepared`, where shapes are
// dynamic for those that the inputs have now, and then gives the outputs theirs. The error of a
// tensor's creation, or Validation where one does not fit its place; a tensor may be once among the
// inputs and once among the outputs.
// `ahead` is another thread's: it plans for the sizes that are likely to come next.
Status PrepareBinding(BindingObject& binding, const std::shared_ptr<DeviceQuota>& quota,
                      WorkQueue& ahead, const std::atomic<bool>* cancelled);

// Plain dispatch allows no tensor twice: Validation.
Status CheckTensorsDiffer(const BindingObject& binding);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_PREPARE_BINDING_H_
