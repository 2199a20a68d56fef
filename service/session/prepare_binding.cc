#include "service/session/prepare_binding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/limits.h"
#include "base/trace.h"
#include "service/passes/graph_at.h"
#include "service/session/build_graph.h"
#include "webidl/graph_endpoints.h"

namespace webnnd::service {
namespace {

using Tensors = std::vector<std::shared_ptr<TensorObject>>;

Status CheckTensor(const char* what, const GraphObject& graph,
                   const GraphObject::Endpoint& endpoint, const TensorObject* tensor) {
  const std::string& name = endpoint.name;
  if (tensor == nullptr) return InvalidStateError("the tensor for ({}) was destroyed", name);
  INVALID_IF(tensor->context != graph.context, "the tensor for ({}) is of another context", name);
  TRY(webidl::CheckBindable(what, name, endpoint.descriptor, tensor->descriptor));
  INVALID_IF(tensor->constant, "the tensor for ({}) is constant", name);
  return {};
}

Status CheckMemory(const std::vector<GraphObject::Endpoint>& endpoints, const Tensors& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->buffer != nullptr) continue;
    if (tensors[i]->error) return *tensors[i]->error;
    return InvalidStateError("the tensor for ({}) was destroyed", endpoints[i].name);
  }
  return {};
}

Status CheckTensors(const char* what, const GraphObject& graph,
                    const std::vector<GraphObject::Endpoint>& endpoints, const Tensors& tensors) {
  INVALID_IF(endpoints.size() != tensors.size(),
             "the number of tensors ({}) is not the graph's ({})", tensors.size(),
             endpoints.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    TRY(CheckTensor(what, graph, endpoints[i], tensors[i].get()));
  }
  return {};
}

bool HasDuplicate(std::vector<const TensorObject*> tensors) {
  // Not more than limits::kGraphEndpointsMax each, so sorting is cheap against a dispatch.
  std::sort(tensors.begin(), tensors.end());
  return std::adjacent_find(tensors.begin(), tensors.end()) != tensors.end();
}

std::vector<const TensorObject*> Pointers(const Tensors& tensors) {
  std::vector<const TensorObject*> pointers;
  for (const auto& tensor : tensors) pointers.push_back(tensor.get());
  return pointers;
}

// The tensors that are input and output at once.
std::vector<TensorAlias> FindAliases(const BindingObject& binding) {
  std::map<const TensorObject*, uint32_t> input_of;
  for (uint32_t i = 0; i < binding.inputs.size(); ++i) input_of[binding.inputs[i].get()] = i;
  std::vector<TensorAlias> aliases;
  for (uint32_t i = 0; i < binding.outputs.size(); ++i) {
    auto found = input_of.find(binding.outputs[i].get());
    if (found != input_of.end()) aliases.push_back({found->second, i});
  }
  return aliases;
}

std::vector<std::shared_ptr<Buffer>> Buffers(const Tensors& tensors) {
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (const auto& tensor : tensors) buffers.push_back(tensor->buffer);
  return buffers;
}

std::vector<webidl::BoundEndpoint> Pair(const std::vector<GraphObject::Endpoint>& endpoints,
                                        const Tensors& tensors) {
  std::vector<webidl::BoundEndpoint> pairs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    pairs.push_back({&endpoints[i].name, &endpoints[i].descriptor, &tensors[i]->descriptor,
                     &tensors[i]->current.shape()});
  }
  return pairs;
}

std::vector<webidl::Shape> CapacitiesOf(const Tensors& tensors) {
  std::vector<webidl::Shape> capacities;
  for (const auto& tensor : tensors) capacities.push_back(tensor->descriptor.shape());
  return capacities;
}

// Records the executable with the binding's tensors; what that takes counts against the quota until
// the last holder lets go.
Result<std::shared_ptr<Binding>> CreateWithinQuota(std::shared_ptr<Executable> executable,
                                                   const BindingObject& binding, bool variable,
                                                   const std::shared_ptr<DeviceQuota>& quota) {
  struct Accounted {
    DeviceQuota::Reservation reservation;
    std::shared_ptr<Binding> binding;
  };
  const Plan& plan = executable->plan();
  uint64_t bytes = plan.calls.size() * limits::kBindingBytesPerKernel;
  if (variable) {
    // Parameters and commands are there twice.
    bytes *= 2;
    for (const KernelCall& call : plan.calls) {
      bytes += 2 * AlignUp<uint64_t>(call.parameters.size() * sizeof(uint32_t), kBufferAlignment);
    }
  }
  auto accounted = std::make_shared<Accounted>();
  ASSIGN_OR_RETURN(accounted->reservation, DeviceQuota::Reserve(quota, bytes));
  ASSIGN_OR_RETURN(accounted->binding,
                   Binding::Create(std::move(executable), Buffers(binding.inputs),
                                   Buffers(binding.outputs), variable));
  Binding* created = accounted->binding.get();
  return std::shared_ptr<Binding>(std::move(accounted), created);
}

// Finds a recording that can run the plan too, or records one, and puts it first.
Status ChooseRecording(BindingObject& binding, const std::shared_ptr<const CompiledGraph>& compiled,
                       const std::shared_ptr<DeviceQuota>& quota,
                       const std::atomic<bool>* cancelled) {
  auto& recordings = binding.recordings;
  const std::shared_ptr<const Plan> plan(compiled, &compiled->plan);
  for (auto known = recordings.begin(); known != recordings.end(); ++known) {
    if (known->constant_buffers != compiled->constant_buffers) continue;
    Binding::Use use = known->prepared->UsePlan(plan);
    if (use == Binding::Use::kBusy) {
      // Cheaper than to record again, which would go on for as long as the client is ahead.
      // What has failed meanwhile is told where it belongs.
      (void)binding.context->timeline->WaitIdle().ok();
      use = known->prepared->UsePlan(plan);
    }
    if (use != Binding::Use::kReady) continue;
    recordings.splice(recordings.begin(), recordings, known);
    return {};
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable,
                   MakeExecutable(*binding.graph, *compiled, quota, cancelled));
  ASSIGN_OR_RETURN(std::shared_ptr<Binding> prepared,
                   CreateWithinQuota(std::move(executable), binding, /*variable=*/true, quota));
  CHECK(prepared->UsePlan(plan) == Binding::Use::kReady);
  recordings.push_front({compiled->constant_buffers, std::move(prepared)});
  if (recordings.size() > limits::kRecordingsPerBindingMax) recordings.pop_back();
  return {};
}

PlanOptions OptionsFor(const BindingObject& binding) {
  return {.aliases = FindAliases(binding),
          .input_capacities = CapacitiesOf(binding.inputs),
          .output_capacities = CapacitiesOf(binding.outputs)};
}

// Whether the tensors have room for what the graph's dimensions would be.
bool HaveRoom(const std::vector<GraphObject::Endpoint>& endpoints, const Tensors& tensors,
              const webidl::Assignment& sizes) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const webidl::Shape shape = endpoints[i].descriptor.At(sizes).shape();
    const webidl::Shape& capacity = tensors[i]->descriptor.shape();
    if (!std::equal(shape.begin(), shape.end(), capacity.begin(), capacity.end(),
                    std::less_equal<>())) {
      return false;
    }
  }
  return true;
}

// The plan for sizes that are none of the variants', which has been made already if they could be
// told; then tells what comes next.
Result<CompiledGraph> PlanOrTake(BindingObject& binding, const webidl::Assignment& sizes,
                                 WorkQueue& ahead) {
  const std::shared_ptr<PlanAhead> known = std::exchange(binding.plan_ahead, nullptr);
  const webidl::Assignment before = std::exchange(binding.sizes, sizes);
  ASSIGN_OR_RETURN(CompiledGraph compiled,
                   known != nullptr && known->sizes() == sizes
                       ? known->Take()
                       : PlanForSizes(*binding.graph, sizes, OptionsFor(binding)));
  auto next = PredictSizes(before, sizes, binding.graph->graph.names.symbols());
  if (!next || !HaveRoom(binding.graph->inputs, binding.inputs, *next) ||
      !HaveRoom(binding.graph->outputs, binding.outputs, *next)) {
    return compiled;
  }
  // The graph does not change once it is built.
  auto work = [graph = binding.graph, sizes = *next, options = OptionsFor(binding)] {
    return PlanForSizes(*graph, sizes, options);
  };
  binding.plan_ahead = std::make_shared<PlanAhead>(std::move(*next), std::move(work));
  ahead.Post([plan = binding.plan_ahead] { plan->Run(); });
  return compiled;
}

Status PrepareForShapes(BindingObject& binding, const std::shared_ptr<DeviceQuota>& quota,
                        WorkQueue& ahead, const std::atomic<bool>* cancelled) {
  GraphObject& graph = *binding.graph;
  ASSIGN_OR_RETURN(const webidl::Assignment sizes,
                   webidl::CheckInputs(Pair(graph.inputs, binding.inputs)));
  ASSIGN_OR_RETURN(const std::vector<webidl::Shape> results,
                   webidl::CheckOutputs(Pair(graph.outputs, binding.outputs), sizes));
  // First, and whatever fails below: the client has done the same, and what it writes to poisoned
  // outputs has these shapes.
  for (size_t i = 0; i < results.size(); ++i) {
    if (!binding.outputs[i]->descriptor.is_dynamic()) continue;
    ASSIGN_OR_RETURN(binding.outputs[i]->current,
                     binding.outputs[i]->descriptor.Resized(results[i]));
  }
  TRY(CheckMemory(graph.inputs, binding.inputs));
  TRY(CheckMemory(graph.outputs, binding.outputs));
  std::vector<webidl::Shape> shapes;
  for (const auto& input : binding.inputs) shapes.push_back(input->current.shape());
  shapes.insert(shapes.end(), results.begin(), results.end());
  auto& variants = binding.variants;
  auto variant = std::find_if(variants.begin(), variants.end(),
                              [&](const auto& known) { return known.shapes == shapes; });
  if (variant != variants.end()) {
    variants.splice(variants.begin(), variants, variant);
  } else {
    ASSIGN_OR_RETURN(CompiledGraph compiled, PlanOrTake(binding, sizes, ahead));
    variants.push_front(
        {std::move(shapes), std::make_shared<const CompiledGraph>(std::move(compiled))});
  }
  if (variants.size() > limits::kVariantsPerBindingMax) variants.pop_back();
  TRY(ChooseRecording(binding, variants.front().compiled, quota, cancelled));
  binding.prepared = binding.recordings.front().prepared;
  return {};
}

}  // namespace

bool IsDynamic(const BindingObject& binding) {
  const auto is_dynamic = [](const auto& tensor) {
    return tensor != nullptr && tensor->descriptor.is_dynamic();
  };
  return IsDynamic(binding.graph->graph) ||
         std::any_of(binding.inputs.begin(), binding.inputs.end(), is_dynamic) ||
         std::any_of(binding.outputs.begin(), binding.outputs.end(), is_dynamic);
}

Status PrepareBinding(BindingObject& binding, const std::shared_ptr<DeviceQuota>& quota,
                      WorkQueue& ahead, const std::atomic<bool>* cancelled) {
  TraceScope scope("prepare");
  GraphObject& graph = *binding.graph;
  TRY(CheckTensors("input", graph, graph.inputs, binding.inputs));
  TRY(CheckTensors("output", graph, graph.outputs, binding.outputs));
  INVALID_IF(HasDuplicate(Pointers(binding.inputs)), "a tensor is bound to two inputs");
  INVALID_IF(HasDuplicate(Pointers(binding.outputs)), "a tensor is bound to two outputs");
  if (IsDynamic(binding)) return PrepareForShapes(binding, quota, ahead, cancelled);
  TRY(CheckMemory(graph.inputs, binding.inputs));
  TRY(CheckMemory(graph.outputs, binding.outputs));
  ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable,
                   PlanFor(graph, FindAliases(binding), quota, cancelled));
  ASSIGN_OR_RETURN(binding.prepared,
                   CreateWithinQuota(std::move(executable), binding, /*variable=*/false, quota));
  return {};
}

Status CheckTensorsDiffer(const BindingObject& binding) {
  std::vector<const TensorObject*> all = Pointers(binding.inputs);
  for (const TensorObject* output : Pointers(binding.outputs)) all.push_back(output);
  // Those that were destroyed are told so later.
  std::erase(all, nullptr);
  INVALID_IF(HasDuplicate(std::move(all)), "a tensor is used twice in one dispatch");
  return {};
}

}  // namespace webnnd::service
