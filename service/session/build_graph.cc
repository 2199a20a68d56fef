#include "service/session/build_graph.h"

#include <utility>

#include "base/checked_math.h"
#include "base/log.h"
#include "service/passes/compile.h"

namespace webnnd::service {
namespace {

// What an executable takes of the device beside its constants.
uint64_t DeviceBytesOf(const Plan& plan) {
  uint64_t bytes = plan.arena_bytes;
  for (const KernelCall& call : plan.calls) {
    bytes += AlignUp<uint64_t>(call.parameters.size() * sizeof(uint32_t), kBufferAlignment);
  }
  return bytes;
}

// Runs plans for constant folding, with the kernels of the device. Its results live as long as it.
class DeviceEvaluator : public ConstantEvaluator {
 public:
  // `request` outlives it.
  DeviceEvaluator(const BuildRequest& request, std::vector<std::shared_ptr<Buffer>> buffers)
      : request_(request), buffers_(std::move(buffers)) {}

  Result<std::vector<uint32_t>> Evaluate(const Plan& plan,
                                         const std::vector<uint32_t>& constant_buffers) override {
    ASSIGN_OR_RETURN(DeviceQuota::Reservation temporaries,
                     DeviceQuota::Reserve(request_.quota, DeviceBytesOf(plan)));
    ASSIGN_OR_RETURN(
        std::shared_ptr<Executable> executable,
        Executable::Create(request_.device, plan, Select(constant_buffers), request_.cancelled));
    std::vector<uint32_t> indices;
    std::vector<std::shared_ptr<Buffer>> outputs;
    for (uint64_t bytes : plan.output_bytes) {
      // A graph can fold one constant many times over, so the results count like any other memory.
      ASSIGN_OR_RETURN(std::shared_ptr<Buffer> output,
                       AllocateWithinQuota(*request_.device, request_.quota, bytes));
      outputs.push_back(output);
      indices.push_back(static_cast<uint32_t>(buffers_.size()));
      buffers_.push_back(std::move(output));
    }
    ASSIGN_OR_RETURN(std::shared_ptr<Binding> binding,
                     Binding::Create(std::move(executable), {}, std::move(outputs)));
    ASSIGN_OR_RETURN(std::unique_ptr<Timeline> timeline, Timeline::Create(request_.device));
    TRY(timeline->Dispatch(std::move(binding)));
    TRY(timeline->WaitIdle());
    return indices;
  }

  std::vector<std::shared_ptr<Buffer>> Select(const std::vector<uint32_t>& indices) const {
    std::vector<std::shared_ptr<Buffer>> selected;
    for (uint32_t index : indices) selected.push_back(buffers_.at(index));
    return selected;
  }

 private:
  const BuildRequest& request_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  // The builder's constants, then folded ones.
};

Status Build(BuildRequest& request) {
  GraphObject& graph = *request.graph;
  ASSIGN_OR_RETURN(std::vector<std::shared_ptr<Buffer>> buffers, std::move(request.constants));
  ASSIGN_OR_RETURN(Graph checked,
                   std::move(request.builder->assembler).Finish(request.inputs, request.outputs));
  for (const Graph::Input& input : checked.inputs) {
    graph.inputs.push_back({input.name, checked.values[input.value].descriptor});
  }
  for (const Graph::Output& output : checked.outputs) {
    graph.outputs.push_back({output.name, checked.values[output.value].descriptor});
  }
  DeviceEvaluator evaluator(request, std::move(buffers));
  ASSIGN_OR_RETURN(FusionChoice fusions, FusionChoice::Parse(graph.context->options.fusions));
  ASSIGN_OR_RETURN(
      CompiledGraph compiled,
      CompileGraph(std::move(checked), {.fusion = graph.context->options.fusion,
                                        .fusions = std::move(fusions),
                                        .constant_folding = graph.context->options.constant_folding,
                                        .evaluator = &evaluator}));
  ASSIGN_OR_RETURN(DeviceQuota::Reservation reservation,
                   DeviceQuota::Reserve(request.quota, DeviceBytesOf(compiled.plan)));
  ASSIGN_OR_RETURN(graph.executable, Executable::Create(request.device, std::move(compiled.plan),
                                                        evaluator.Select(compiled.constant_buffers),
                                                        request.cancelled));
  // Only now: a graph that failed lives on under its handle, and holds nothing.
  graph.reservation = std::move(reservation);
  return {};
}

}  // namespace

ipc::GraphBuilt BuildGraph(BuildRequest& request) {
  GraphObject& graph = *request.graph;
  ipc::GraphBuilt reply{graph.handle};
  if (Status status = Build(request); !status.ok()) {
    LogInfo("graph ({}) is refused: {}", graph.handle.index, status.error().ToString());
    graph.error = Error(status.error()).AddContext("building the graph");
    reply.error = std::move(status).error();
    return reply;
  }
  const Plan& plan = graph.executable->plan();
  reply.kernel_count = static_cast<uint32_t>(plan.calls.size()) - plan.copy_count;
  return reply;
}

}  // namespace webnnd::service
