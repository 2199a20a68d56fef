#include "service/session/prepare_binding.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

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
  if (tensor->buffer == nullptr) {
    if (tensor->error) return *tensor->error;
    return InvalidStateError("the tensor for ({}) was destroyed", name);
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

// Finds a recorded binding that can run the first variant too, or records one.
Status ChooseBinding(BindingObject& binding, const std::shared_ptr<DeviceQuota>& quota,
                     const std::atomic<bool>* cancelled) {
  BindingObject::Variant& wanted = binding.variants.front();
  const std::shared_ptr<const Plan> plan(wanted.compiled, &wanted.compiled->plan);
  for (const BindingObject::Variant& variant : binding.variants) {
    if (variant.prepared == nullptr ||
        variant.compiled->constant_buffers != wanted.compiled->constant_buffers ||
        !variant.prepared->Use(plan)) {
      continue;
    }
    wanted.prepared = variant.prepared;
    return {};
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable,
                   MakeExecutable(*binding.graph, *wanted.compiled, quota, cancelled));
  ASSIGN_OR_RETURN(wanted.prepared, Binding::Create(std::move(executable), Buffers(binding.inputs),
                                                    Buffers(binding.outputs), /*variable=*/true));
  CHECK(wanted.prepared->Use(plan));
  return {};
}

Status PrepareForShapes(BindingObject& binding, const std::shared_ptr<DeviceQuota>& quota,
                        const std::atomic<bool>* cancelled) {
  GraphObject& graph = *binding.graph;
  // Where an input is not what it should be, its shape need not be either.
  for (size_t i = 0; i < binding.inputs.size(); ++i) {
    if (!binding.inputs[i]->error) continue;
    return Error(*binding.inputs[i]->error)
        .AddContext("using it as the input (" + graph.inputs[i].name + ")");
  }
  ASSIGN_OR_RETURN(const webidl::Assignment sizes,
                   webidl::CheckInputs(Pair(graph.inputs, binding.inputs)));
  ASSIGN_OR_RETURN(const std::vector<webidl::Shape> results,
                   webidl::CheckOutputs(Pair(graph.outputs, binding.outputs), sizes));
  std::vector<webidl::Shape> shapes;
  for (const auto& input : binding.inputs) shapes.push_back(input->current.shape());
  shapes.insert(shapes.end(), results.begin(), results.end());
  auto& variants = binding.variants;
  auto variant = std::find_if(variants.begin(), variants.end(),
                              [&](const auto& known) { return known.shapes == shapes; });
  if (variant != variants.end()) {
    variants.splice(variants.begin(), variants, variant);
  } else {
    ASSIGN_OR_RETURN(CompiledGraph compiled,
                     PlanForSizes(graph, sizes,
                                  {.aliases = FindAliases(binding),
                                   .input_capacities = CapacitiesOf(binding.inputs),
                                   .output_capacities = CapacitiesOf(binding.outputs)}));
    variants.push_front(
        {std::move(shapes), std::make_shared<const CompiledGraph>(std::move(compiled)), nullptr});
  }
  if (variants.size() > limits::kVariantsPerBindingMax) variants.pop_back();
  TRY(ChooseBinding(binding, quota, cancelled));
  binding.prepared = variants.front().prepared;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!binding.outputs[i]->descriptor.is_dynamic()) continue;
    ASSIGN_OR_RETURN(binding.outputs[i]->current,
                     binding.outputs[i]->descriptor.Resized(results[i]));
  }
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
                      const std::atomic<bool>* cancelled) {
  TraceScope scope("prepare");
  GraphObject& graph = *binding.graph;
  TRY(CheckTensors("input", graph, graph.inputs, binding.inputs));
  TRY(CheckTensors("output", graph, graph.outputs, binding.outputs));
  INVALID_IF(HasDuplicate(Pointers(binding.inputs)), "a tensor is bound to two inputs");
  INVALID_IF(HasDuplicate(Pointers(binding.outputs)), "a tensor is bound to two outputs");
  if (IsDynamic(binding)) return PrepareForShapes(binding, quota, cancelled);
  ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable,
                   PlanFor(graph, FindAliases(binding), quota, cancelled));
  ASSIGN_OR_RETURN(binding.prepared, Binding::Create(std::move(executable), Buffers(binding.inputs),
                                                     Buffers(binding.outputs)));
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
