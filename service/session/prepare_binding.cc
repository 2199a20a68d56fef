#include "service/session/prepare_binding.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "service/session/build_graph.h"

namespace webnnd::service {
namespace {

using Tensors = std::vector<std::shared_ptr<TensorObject>>;

Status CheckTensor(const GraphObject& graph, const GraphObject::Endpoint& endpoint,
                   const TensorObject* tensor) {
  const std::string& name = endpoint.name;
  if (tensor == nullptr) return InvalidStateError("the tensor for ({}) was destroyed", name);
  INVALID_IF(tensor->context != graph.context, "the tensor for ({}) is of another context", name);
  INVALID_IF(tensor->descriptor != endpoint.descriptor, "the tensor for ({}) is {} and not {}",
             name, tensor->descriptor.ToString(), endpoint.descriptor.ToString());
  INVALID_IF(tensor->constant, "the tensor for ({}) is constant", name);
  if (tensor->buffer == nullptr) {
    if (tensor->error) return *tensor->error;
    return InvalidStateError("the tensor for ({}) was destroyed", name);
  }
  return {};
}

Status CheckTensors(const GraphObject& graph, const std::vector<GraphObject::Endpoint>& endpoints,
                    const Tensors& tensors) {
  INVALID_IF(endpoints.size() != tensors.size(),
             "the number of tensors ({}) is not the graph's ({})", tensors.size(),
             endpoints.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    TRY(CheckTensor(graph, endpoints[i], tensors[i].get()));
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

}  // namespace

Status PrepareBinding(BindingObject& binding, const std::shared_ptr<DeviceQuota>& quota,
                      const std::atomic<bool>* cancelled) {
  GraphObject& graph = *binding.graph;
  TRY(CheckTensors(graph, graph.inputs, binding.inputs));
  TRY(CheckTensors(graph, graph.outputs, binding.outputs));
  INVALID_IF(HasDuplicate(Pointers(binding.inputs)), "a tensor is bound to two inputs");
  INVALID_IF(HasDuplicate(Pointers(binding.outputs)), "a tensor is bound to two outputs");
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
