#include "service/graph/graph_assembler.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "ipc/codec.h"
#include "service/graph/row_tiles.h"
#include "webidl/graph_endpoints.h"
#include "webidl/operator_table.h"

namespace webnnd::service {
namespace {

// The graph while its client's operand ids are still known.
class Assembly {
 public:
  // Gives the client's id `operand` a value. Each id is defined once.
  Result<ValueId> Define(uint32_t operand, Value value) {
    INVALID_IF(operand == 0, "the operand id (0) is reserved");
    INVALID_IF(operand > limits::kOperandsPerGraphMax,
               "the operand id ({}) is greater than the limit ({})", operand,
               limits::kOperandsPerGraphMax);
    if (operand >= value_of_operand_.size()) value_of_operand_.resize(operand + 1, kNoValue);
    INVALID_IF(value_of_operand_[operand] != kNoValue, "the operand ({}) is defined twice",
               operand);
    auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back(std::move(value));
    value_of_operand_[operand] = id;
    return id;
  }

  Result<ValueId> Find(uint32_t operand) const {
    INVALID_IF(operand >= value_of_operand_.size() || value_of_operand_[operand] == kNoValue,
               "the operand ({}) is used before it is defined", operand);
    return value_of_operand_[operand];
  }

  Graph graph;

 private:
  std::vector<ValueId> value_of_operand_;
};

Status AddNode(Assembly& assembly, webidl::Operator op) {
  std::vector<const webidl::OperandDescriptor*> descriptors;
  Node node{op.kind, {}, {}, std::move(op.label), std::move(op.attributes), {}};
  for (uint32_t operand : op.operands) {
    ValueId value = kNoValue;
    if (operand != 0) {
      ASSIGN_OR_RETURN(value, assembly.Find(operand));
    }
    node.operands.push_back(value);
  }
  // Values move while more are defined below, so descriptors are looked up afterwards.
  for (ValueId value : node.operands) {
    descriptors.push_back(value == kNoValue ? nullptr : &assembly.graph.values[value].descriptor);
  }
  ASSIGN_OR_RETURN(std::vector<webidl::OperandDescriptor> results,
                   webidl::InferOperator(node.kind, descriptors, node.attributes, node.label,
                                         webidl::LimitSet::kAllowed, assembly.graph.names));
  INVALID_IF(results.size() != op.results.size(),
             "{}: the number of results ({}) is not what the operator has ({})",
             webidl::OperatorName(node.kind), op.results.size(), results.size());
  auto node_index = static_cast<uint32_t>(assembly.graph.nodes.size());
  for (size_t i = 0; i < results.size(); ++i) {
    ASSIGN_OR_RETURN(ValueId value, assembly.Define(op.results[i], {Value::Kind::kResult,
                                                                    results[i], node_index}));
    node.results.push_back(value);
  }
  assembly.graph.nodes.push_back(std::move(node));
  return {};
}

// Puts the inputs into the order in which dispatches name their tensors.
Status OrderInputs(const Assembly& assembly, Graph& graph, const std::vector<bool>& reached,
                   const std::vector<uint32_t>& operands) {
  std::vector<Graph::Input> ordered;
  std::vector<bool> seen(graph.inputs.size(), false);
  for (uint32_t operand : operands) {
    ASSIGN_OR_RETURN(ValueId value, assembly.Find(operand));
    Value& input = graph.values[value];
    INVALID_IF(input.kind != Value::Kind::kInput, "the operand ({}) is not an input", operand);
    INVALID_IF(seen[input.index], "the input ({}) is named twice", graph.inputs[input.index].name);
    INVALID_IF(!reached[value], "the input ({}) is not reached from the outputs",
               graph.inputs[input.index].name);
    seen[input.index] = true;
    ordered.push_back(graph.inputs[input.index]);
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    INVALID_IF(reached[graph.inputs[i].value] && !seen[i],
               "the input ({}) is missing from the build's inputs", graph.inputs[i].name);
  }
  graph.inputs = std::move(ordered);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    graph.values[graph.inputs[i].value].index = static_cast<uint32_t>(i);
  }
  return {};
}

Status AddOutputs(Assembly& assembly, const std::vector<ipc::GraphOutput>& outputs) {
  INVALID_IF(outputs.empty(), "the graph has no output");
  INVALID_IF(outputs.size() > limits::kGraphEndpointsMax,
             "the number of outputs ({}) is greater than the limit ({})", outputs.size(),
             limits::kGraphEndpointsMax);
  std::unordered_set<std::string> names;
  for (const ipc::GraphOutput& output : outputs) {
    INVALID_IF(!names.insert(output.name).second, "the output name ({}) is used twice",
               output.name);
    ASSIGN_OR_RETURN(ValueId value, assembly.Find(output.operand));
    TRY(webidl::CheckOutput(output.name,
                            assembly.graph.values[value].kind == Value::Kind::kResult));
    assembly.graph.outputs.push_back({output.name, value});
  }
  return {};
}

// Every size must follow from those of the inputs.
Status CheckNames(const Graph& graph, const std::vector<bool>& reached) {
  std::set<std::string> determined, used;
  for (const Graph::Input& input : graph.inputs) {
    webidl::AddDeterminedNames(graph.values[input.value].descriptor, determined);
  }
  for (size_t value = 0; value < graph.values.size(); ++value) {
    if (reached[value]) webidl::AddUsedNames(graph.values[value].descriptor, used);
  }
  for (const Node& node : graph.nodes) {
    const bool is_reached = std::any_of(node.results.begin(), node.results.end(),
                                        [&](ValueId result) { return reached[result]; });
    if (is_reached) TRY(webidl::AddUsedNames(node.attributes, graph.names, used));
  }
  return webidl::CheckDetermined(used, determined);
}

}  // namespace

bool GraphAssembler::Take(size_t operands, size_t bytes) {
  if (error_) return false;
  if (operands > limits::kOperandsPerGraphMax - operand_count_) {
    Fail(QuotaError("the graph has more operands than the limit ({})",
                    limits::kOperandsPerGraphMax));
    return false;
  }
  if (bytes > limits::kGraphHostBytesMax - host_bytes_) {
    Fail(QuotaError("the graph's description is larger than the limit ({} bytes)",
                    limits::kGraphHostBytesMax));
    return false;
  }
  operand_count_ += operands;
  host_bytes_ += bytes;
  return true;
}

void GraphAssembler::AddInput(ipc::GraphInput input) {
  if (!Take(1, sizeof(PendingInput) + ipc::EncodedBytesMax(input))) return;
  if (inputs_.size() >= limits::kGraphEndpointsMax) {
    return Fail(
        QuotaError("the graph has more inputs than the limit ({})", limits::kGraphEndpointsMax));
  }
  inputs_.push_back({input.operand, std::move(input.name), std::move(input.descriptor)});
}

void GraphAssembler::AddConstant(uint32_t operand, webidl::OperandDescriptor descriptor,
                                 uint32_t buffer) {
  if (descriptor.is_dynamic()) {
    return Fail(
        ValidationError("the shape of the constant ({}) is dynamic", descriptor.ToString()));
  }
  if (!Take(1, sizeof(PendingConstant))) return;
  const uint32_t tiled_loads = CountTiledLoads(descriptor);
  constants_.push_back({operand, {std::move(descriptor), buffer, /*bytes=*/nullptr, tiled_loads}});
}

void GraphAssembler::AddOperators(std::vector<webidl::Operator> operators) {
  if (operators.size() > limits::kOperatorsPerGraphMax - operators_.size()) {
    return Fail(QuotaError("the graph has more operators than the limit ({})",
                           limits::kOperatorsPerGraphMax));
  }
  for (webidl::Operator& op : operators) {
    if (!Take(op.results.size(), sizeof(op) + ipc::EncodedBytesMax(op))) return;
    operators_.push_back(std::move(op));
  }
}

void GraphAssembler::Fail(Error error) {
  if (error_) return;
  error_ = std::move(error);
  inputs_ = {};
  constants_ = {};
  operators_ = {};
  operand_count_ = host_bytes_ = 0;
}

Result<Graph> GraphAssembler::Finish(const std::vector<uint32_t>& inputs,
                                     const std::vector<ipc::GraphOutput>& outputs) && {
  if (error_) return *std::move(error_);
  Assembly assembly;
  std::unordered_set<std::string> names;
  // As they were made: a dimension may depend on those of inputs before.
  std::stable_sort(inputs_.begin(), inputs_.end(),
                   [](const auto& a, const auto& b) { return a.operand < b.operand; });
  for (PendingInput& input : inputs_) {
    TRY(webidl::CheckInputName(input.name, !names.insert(input.name).second));
    auto descriptor = webidl::OperandDescriptor::Create(
        input.descriptor.data_type, input.descriptor.dimensions, assembly.graph.names);
    if (!descriptor.ok()) {
      return std::move(descriptor).error().AddContext("adding the input \"" + input.name + "\"");
    }
    auto index = static_cast<uint32_t>(assembly.graph.inputs.size());
    ASSIGN_OR_RETURN(ValueId value,
                     assembly.Define(input.operand, {Value::Kind::kInput, *descriptor, index}));
    assembly.graph.inputs.push_back({std::move(input.name), value});
  }
  for (PendingConstant& constant : constants_) {
    auto index = static_cast<uint32_t>(assembly.graph.constants.size());
    TRY(assembly.Define(constant.operand,
                        {Value::Kind::kConstant, constant.constant.descriptor, index}));
    assembly.graph.constants.push_back(std::move(constant.constant));
  }
  for (webidl::Operator& op : operators_) TRY(AddNode(assembly, std::move(op)));
  TRY(AddOutputs(assembly, outputs));
  std::vector<bool> reached = FindReached(assembly.graph);
  TRY(OrderInputs(assembly, assembly.graph, reached, inputs));
  TRY(CheckNames(assembly.graph, reached));
  DropUnreachedNodes(assembly.graph, reached);
  return std::move(assembly.graph);
}

}  // namespace webnnd::service
