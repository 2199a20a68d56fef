// BuildGraph: the work of one `build`, on the build thread.
#ifndef WEBNND_SERVICE_SESSION_BUILD_GRAPH_H_
#define WEBNND_SERVICE_SESSION_BUILD_GRAPH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ipc/messages.h"
#include "service/passes/compile.h"
#include "service/session/objects.h"

namespace webnnd::service {

// A constant of the builder, as the build holds it, whatever happens to tensors.
struct HeldConstant {
  std::shared_ptr<Buffer> buffer;
  std::shared_ptr<const std::vector<std::byte>> values;  // As in TensorObject.
};

struct BuildRequest {
  std::shared_ptr<BuilderObject> builder;
  std::shared_ptr<GraphObject> graph;
  std::vector<uint32_t> inputs;
  std::vector<ipc::GraphOutput> outputs;
  std::shared_ptr<DeviceQuota> quota;
  std::shared_ptr<Device> device;
  // Becomes true when nobody waits for the graph any more.
  const std::atomic<bool>* cancelled;
  // The builder's constants in their order, or why the build cannot be.
  Result<std::vector<HeldConstant>> constants;
  // What had to end well for their contents to be there; settled.
  std::vector<std::shared_ptr<const WorkOutcome>> uploads;
  // For what is run in order to fold constants.
  TimelineOptions timeline_options;
};

// The graph with these tensors as input and output at once, planned on its first use; on the build
// thread before the graph is built, on the timeline thread after. Quota beyond
// limits::kPlansPerGraphMax.
Result<std::shared_ptr<Executable>> PlanFor(GraphObject& graph, std::vector<TensorAlias> aliases,
                                            const std::shared_ptr<DeviceQuota>& quota,
                                            const std::atomic<bool>* cancelled);

// A graph, or its tensors, for particular sizes, on the timeline thread.
Result<CompiledGraph> PlanForSizes(const GraphObject& graph, const webidl::Assignment& sizes,
                                   const PlanOptions& options);
Result<std::shared_ptr<Executable>> MakeExecutable(GraphObject& graph, CompiledGraph compiled,
                                                   const std::shared_ptr<DeviceQuota>& quota,
                                                   const std::atomic<bool>* cancelled);

// Validates, compiles, and fills `request.graph`, with an error where it fails. The reply to send.
ipc::GraphBuilt BuildGraph(BuildRequest& request);

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_SESSION_BUILD_GRAPH_H_
