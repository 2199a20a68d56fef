#include "service/session/build_graph.h"

#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/trace.h"
#include "service/passes/block_gemv.h"
#include "service/passes/compile.h"
#include "service/passes/graph_at.h"
#include "webidl/dynamic_inference.h"

namespace webnnd::service {
namespace {

// What an executable takes beside its constants and its arena.
uint64_t BytesWithoutArena(const Plan& plan) {
  uint64_t bytes = kParametersPerCallMax * sizeof(uint32_t) + plan.counter_bytes;
  for (const KernelCall& call : plan.calls) {
    bytes += AlignUp<uint64_t>(call.parameters.size() * sizeof(uint32_t), kBufferAlignment);
    bytes += limits::kPlanBytesPerKernel;
  }
  return bytes;
}

uint64_t DeviceBytesOf(const Plan& plan) { return plan.arena_bytes + BytesWithoutArena(plan); }

std::vector<std::shared_ptr<Buffer>> Select(const std::vector<std::shared_ptr<Buffer>>& buffers,
                                            const std::vector<uint32_t>& indices) {
  std::vector<std::shared_ptr<Buffer>> selected;
  for (uint32_t index : indices) selected.push_back(buffers.at(index));
  return selected;
}

// Runs plans for constant folding, with the kernels of the device. Its results live as long as it.
class DeviceEvaluator : public ConstantEvaluator {
 public:
  // `request` outlives it.
  DeviceEvaluator(const BuildRequest& request, std::vector<std::shared_ptr<Buffer>> buffers)
      : request_(request), buffers_(std::move(buffers)) {}

  Result<std::vector<uint32_t>> Evaluate(const Plan& plan,
                                         const std::vector<uint32_t>& constant_buffers) override {
    const std::vector<std::shared_ptr<Buffer>> constants = Select(buffers_, constant_buffers);
    EvaluationCache& cache = request_.graph->context->evaluations;
    if (auto found = cache.Find(plan, constants)) return AddBuffers(*found);
    ASSIGN_OR_RETURN(DeviceQuota::Reservation temporaries,
                     DeviceQuota::Reserve(request_.quota, DeviceBytesOf(plan)));
    ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable,
                     Executable::Create(request_.device, plan, constants, request_.cancelled,
                                        /*arena=*/nullptr, KernelLife::kEvaluation));
    std::vector<std::shared_ptr<Buffer>> outputs;
    for (uint64_t bytes : plan.output_bytes) {
      // A graph can fold one constant many times over, so the results count like any other memory.
      ASSIGN_OR_RETURN(std::shared_ptr<Buffer> output,
                       AllocateWithinQuota(*request_.device, request_.quota, bytes));
      outputs.push_back(std::move(output));
    }
    ASSIGN_OR_RETURN(std::shared_ptr<Binding> binding,
                     Binding::Create(std::move(executable), {}, outputs));
    ASSIGN_OR_RETURN(std::unique_ptr<Timeline> timeline,
                     Timeline::Create(request_.device, request_.timeline_options));
    TRY(timeline->Dispatch(std::move(binding)));
    TRY(timeline->WaitIdle());
    cache.Add(plan, constants, outputs);
    return AddBuffers(outputs);
  }

  // Those that an operator, or an output, of the graph still uses; nullptr in the places of others.
  std::vector<std::shared_ptr<Buffer>> TakeUsed(const Graph& graph) {
    std::vector<bool> used(buffers_.size());
    auto use = [&](ValueId value) {
      if (value == kNoValue || graph.values[value].kind != Value::Kind::kConstant) return;
      used.at(graph.constants[graph.values[value].index].buffer) = true;
    };
    for (const Node& node : graph.nodes) {
      for (ValueId value : node.operands) use(value);
    }
    for (const Graph::Output& output : graph.outputs) use(output.value);
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) buffers_[i] = nullptr;
    }
    return std::move(buffers_);
  }

 private:
  std::vector<uint32_t> AddBuffers(const std::vector<std::shared_ptr<Buffer>>& buffers) {
    std::vector<uint32_t> indices;
    for (const std::shared_ptr<Buffer>& buffer : buffers) {
      indices.push_back(static_cast<uint32_t>(buffers_.size()));
      buffers_.push_back(buffer);
    }
    return indices;
  }

  const BuildRequest& request_;
  std::vector<std::shared_ptr<Buffer>> buffers_;  // The builder's constants, then folded ones.
};

// Sizes of one dimension that lowering may tell apart: none, one, more than a few (of rows that
// products by block take as they lie), some (of rows of products in turns), odd, of whole vectors,
// the most; and for wide devices, which have kernels for each number of tiles, some of those
// between.
std::vector<uint32_t> TrialSizesOf(const webidl::SizeBounds& bounds, bool wide) {
  const uint32_t middle = bounds.min + (bounds.max - bounds.min) / 2;
  std::vector<uint32_t> sizes = {bounds.min,          1,         FewRowsMax(wide) + 1, middle | 1,
                                 AlignUp(middle, 8u), bounds.max};
  if (wide) {
    sizes.insert(sizes.end(), {2, 8, 256});
  } else {
    sizes.push_back(64);
  }
  std::erase_if(sizes, [&](uint32_t size) { return size < bounds.min || size > bounds.max; });
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// Sizes at which a dynamic graph is tried: all of the above with all others, where that is few
// enough; the least of all come first.
std::vector<webidl::Assignment> TrialSizes(const Graph& graph) {
  const size_t trials_max = graph.device.wide ? 81 : 49;  // Of two dimensions, all.
  std::vector<webidl::Assignment> trials(1);
  for (const auto& [name, bounds] : graph.names.symbols()) {
    const std::vector<uint32_t> sizes = TrialSizesOf(bounds, graph.device.wide);
    std::vector<webidl::Assignment> extended;
    for (uint32_t size : sizes) {
      for (webidl::Assignment trial : trials) {
        trial[name] = size;
        extended.push_back(std::move(trial));
      }
    }
    trials = std::move(extended);
    if (trials.size() <= trials_max) continue;
    std::vector<webidl::Assignment> all = webidl::SamplePoints(graph.names.symbols());
    webidl::Assignment least;
    for (const auto& [other, limits] : graph.names.symbols()) least[other] = limits.min;
    all.insert(all.begin(), std::move(least));
    return all;
  }
  return trials;
}

// Compiles the pipelines that dispatches will ask for, and finds out whether they can be.
Status WarmUp(GraphObject& graph, Device& device, const std::atomic<bool>* cancelled) {
  for (const webidl::Assignment& sizes : TrialSizes(graph.graph)) {
    ASSIGN_OR_RETURN(const CompiledGraph compiled,
                     PlanGraphAt(graph.graph, sizes, graph.options, {}));
    TRY(Executable::WarmUp(device, compiled.plan, cancelled));
    if (compiled.plan.arena_bytes > limits::kRoomForAllSizesBytesMax) {
      graph.options.room = Room::kSteps;
    }
    const auto kernels = static_cast<uint32_t>(compiled.plan.calls.size());
    graph.kernel_count = std::max(graph.kernel_count, kernels - compiled.plan.copy_count);
  }
  return {};
}

Status Build(BuildRequest& request) {
  GraphObject& graph = *request.graph;
  ASSIGN_OR_RETURN(std::vector<HeldConstant> constants, std::move(request.constants));
  for (const auto& upload : std::exchange(request.uploads, {})) {
    if (upload->error() == nullptr) continue;
    return Error(*upload->error()).AddContext("uploading a constant of the graph");
  }
  TraceScope validating("validate");
  ASSIGN_OR_RETURN(Graph checked,
                   std::move(request.builder->assembler).Finish(request.inputs, request.outputs));
  for (GraphConstant& constant : checked.constants) {
    constant.bytes = constants.at(constant.buffer).values;
  }
  checked.device = {.wide = request.device->wide(),
                    .narrow = request.device->narrow(),
                    .streamed_stores = request.device->streamed_stores()};
  validating.Add("operators", checked.nodes.size());
  validating.End();
  for (const Graph::Input& input : checked.inputs) {
    graph.inputs.push_back({input.name, checked.values[input.value].descriptor});
  }
  for (const Graph::Output& output : checked.outputs) {
    graph.outputs.push_back({output.name, checked.values[output.value].descriptor});
  }
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (HeldConstant& constant : constants) buffers.push_back(std::move(constant.buffer));
  DeviceEvaluator evaluator(request, std::move(buffers));
  ASSIGN_OR_RETURN(FusionChoice fusions, FusionChoice::Parse(graph.context->options.fusions));
  graph.options = {.fusion = graph.context->options.fusion,
                   .fusions = std::move(fusions),
                   .constant_folding = graph.context->options.constant_folding,
                   .evaluator = &evaluator};
  TRY(OptimizeGraph(checked, graph.options));
  request.device->DropIdleEvaluationKernels();
  graph.options.evaluator = nullptr;
  graph.constants = evaluator.TakeUsed(checked);
  graph.graph = std::move(checked);
  if (IsDynamic(graph.graph)) return WarmUp(graph, *request.device, request.cancelled);
  TRY(PlanFor(graph, {}, request.quota, request.cancelled));
  return {};
}

}  // namespace

Result<std::shared_ptr<Executable>> PlanFor(GraphObject& graph, std::vector<TensorAlias> aliases,
                                            const std::shared_ptr<DeviceQuota>& quota,
                                            const std::atomic<bool>* cancelled) {
  std::sort(aliases.begin(), aliases.end());
  if (auto found = graph.plans.find(aliases); found != graph.plans.end()) {
    return found->second.executable;
  }
  if (graph.plans.size() >= limits::kPlansPerGraphMax) {
    return QuotaError("the graph is bound in more ways than the limit ({})",
                      limits::kPlansPerGraphMax);
  }
  ASSIGN_OR_RETURN(CompiledGraph compiled, PlanGraph(graph.graph, {.aliases = aliases}));
  GraphObject::Planned planned;
  ASSIGN_OR_RETURN(planned.reservation, DeviceQuota::Reserve(quota, DeviceBytesOf(compiled.plan)));
  ASSIGN_OR_RETURN(
      planned.executable,
      Executable::Create(graph.context->device, std::move(compiled.plan),
                         Select(graph.constants, compiled.constant_buffers), cancelled));
  return graph.plans.emplace(std::move(aliases), std::move(planned)).first->second.executable;
}

Result<CompiledGraph> PlanForSizes(const GraphObject& graph, const webidl::Assignment& sizes,
                                   const PlanOptions& options) {
  return IsDynamic(graph.graph) ? PlanGraphAt(graph.graph, sizes, graph.options, options)
                                : PlanGraph(graph.graph, options);
}

Result<std::shared_ptr<Executable>> MakeExecutable(GraphObject& graph, CompiledGraph compiled,
                                                   const std::shared_ptr<DeviceQuota>& quota,
                                                   const std::atomic<bool>* cancelled) {
  const uint64_t arena_bytes = compiled.plan.arena_bytes;
  if (arena_bytes > 0 && (graph.arena == nullptr || graph.arena->bytes() < arena_bytes)) {
    const uint64_t grown = graph.arena == nullptr ? 0 : graph.arena->bytes() / 2 * 3;
    ASSIGN_OR_RETURN(graph.arena, AllocateWithinQuota(*graph.context->device, quota,
                                                      std::max(arena_bytes, grown)));
  }
  struct Accounted {
    DeviceQuota::Reservation reservation;
    std::shared_ptr<Executable> executable;
  };
  auto accounted = std::make_shared<Accounted>();
  ASSIGN_OR_RETURN(accounted->reservation,
                   DeviceQuota::Reserve(quota, BytesWithoutArena(compiled.plan)));
  ASSIGN_OR_RETURN(accounted->executable,
                   Executable::Create(graph.context->device, std::move(compiled.plan),
                                      Select(graph.constants, compiled.constant_buffers), cancelled,
                                      graph.arena));
  Executable* executable = accounted->executable.get();
  return std::shared_ptr<Executable>(std::move(accounted), executable);
}

ipc::GraphBuilt BuildGraph(BuildRequest& request) {
  GraphObject& graph = *request.graph;
  ipc::GraphBuilt reply{graph.handle};
  TraceScope scope("build");
  scope.Add("graph", graph.handle.index);
  if (Status status = Build(request); !status.ok()) {
    LogInfo("graph ({}) is refused: {}", graph.handle.index, status.error().ToString());
    graph.error = Error(status.error()).AddContext("building the graph");
    // It lives on under its handle, and holds nothing.
    graph.graph = {};
    graph.constants.clear();
    reply.error = std::move(status).error();
    return reply;
  }
  if (!graph.plans.empty()) {
    const Plan& plan = graph.plans.at({}).executable->plan();
    graph.kernel_count = static_cast<uint32_t>(plan.calls.size()) - plan.copy_count;
  }
  reply.kernel_count = graph.kernel_count;
  scope.Add("kernels", graph.kernel_count);
  return reply;
}

}  // namespace webnnd::service
