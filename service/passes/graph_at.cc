#include "service/passes/graph_at.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/limits.h"
#include "webidl/dynamic_inference.h"
#include "webidl/operator_table.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;

class Instance {
 public:
  Instance(const Graph& graph, const webidl::Assignment& sizes, Room room)
      : source_(graph), sizes_(sizes), room_(room) {}

  Result<Graph> Run() {
    graph_.constants = source_.constants;
    graph_.inputs = source_.inputs;
    graph_.outputs = source_.outputs;
    graph_.values.reserve(source_.values.size());
    graph_.reserves = true;
    graph_.device = source_.device;
    const webidl::Assignment planned = PlannedSizes();
    for (const Value& value : source_.values) {
      const uint64_t reserved =
          value.descriptor.is_dynamic() ? value.descriptor.At(planned).byte_length() : 0;
      graph_.values.push_back({value.kind, value.descriptor.At(sizes_), value.index,
                               std::min(reserved, limits::kBindingBytesMax)});
    }
    graph_.nodes.reserve(source_.nodes.size());
    for (const Node& node : source_.nodes) {
      if (std::all_of(node.results.begin(), node.results.end(),
                      [&](ValueId value) { return IsEmpty(value); })) {
        continue;
      }
      TRY_DOING(AddNode(node), "preparing the operator ({}) for the sizes ({})", NodeName(node),
                webidl::AssignmentToString(sizes_));
    }
    return std::move(graph_);
  }

 private:
  webidl::Assignment PlannedSizes() const {
    webidl::Assignment planned;
    for (const auto& [name, bounds] : source_.names.symbols()) {
      const uint32_t size = sizes_.at(name);
      uint64_t wanted = size;
      if (room_ == Room::kSteps) wanted = RoundUpToStep(size);
      if (room_ == Room::kAll && size > 1) wanted = bounds.max;
      planned[name] = static_cast<uint32_t>(std::min<uint64_t>(wanted, bounds.max));
    }
    return planned;
  }

  const webidl::OperandDescriptor& descriptor(ValueId value) const {
    return graph_.values[value].descriptor;
  }
  bool IsEmpty(ValueId value) const {
    return value != kNoValue && descriptor(value).element_count() == 0;
  }
  bool IsDynamicNode(const Node& node) const {
    const auto is_dynamic = [&](ValueId value) {
      return value != kNoValue && source_.values[value].descriptor.is_dynamic();
    };
    return std::any_of(node.operands.begin(), node.operands.end(), is_dynamic) ||
           std::any_of(node.results.begin(), node.results.end(), is_dynamic);
  }

  Status AddNode(const Node& source) {
    Node node = source;
    if (IsDynamicNode(source) || webidl::HasDynamicItems(source.attributes)) {
      ASSIGN_OR_RETURN(node.attributes,
                       webidl::AttributesAt(std::move(node.attributes), source_.names, sizes_));
      TRY(DoWithoutEmpty(node));
      TRY(Check(node));
    }
    for (ValueId value : node.results) {
      graph_.values[value].index = static_cast<uint32_t>(graph_.nodes.size());
    }
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  // Replaces a node some of whose operands are empty by one that has none.
  Status DoWithoutEmpty(Node& node) const {
    const auto is_empty = [&](ValueId value) { return IsEmpty(value); };
    if (std::none_of(node.operands.begin(), node.operands.end(), is_empty)) return {};
    switch (node.kind) {
      case OperatorKind::kConcat:
        std::erase_if(node.operands, is_empty);
        return {};
      case OperatorKind::kScatterElements:
      case OperatorKind::kScatterND:
        node.kind = OperatorKind::kIdentity;
        node.operands.resize(1);
        node.attributes = webidl::NoAttributes{};
        return {};
      default:
        return NotSupportedError("{} of an operand without elements is not supported",
                                 webidl::OperatorPrefix(node.kind, node.label));
    }
  }

  // The rows are the authority: what was found by a few samples at build is not trusted.
  Status Check(const Node& node) const {
    std::vector<const webidl::OperandDescriptor*> operands;
    for (ValueId value : node.operands) {
      operands.push_back(value == kNoValue ? nullptr : &descriptor(value));
    }
    ASSIGN_OR_RETURN(const std::vector<webidl::OperandDescriptor> results,
                     webidl::InferOperator(node.kind, operands, node.attributes, node.label));
    if (results.size() != node.results.size())
      return InternalError("{} has other results", NodeName(node));
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == descriptor(node.results[i])) continue;
      return NotSupportedError("the result of {} is {}, where {} follows from the dimensions",
                               webidl::OperatorPrefix(node.kind, node.label), results[i].ToString(),
                               descriptor(node.results[i]).ToString());
    }
    return {};
  }

  const Graph& source_;
  const webidl::Assignment& sizes_;
  const Room room_;
  Graph graph_;
};

}  // namespace

bool IsDynamic(const Graph& graph) { return !graph.names.symbols().empty(); }

uint64_t RoundUpToStep(uint64_t size) {
  if (size <= 8) return size;
  return AlignUp(size, std::bit_floor(size - 1) / 4);
}

Result<Graph> GraphAt(const Graph& graph, const webidl::Assignment& sizes, Room room) {
  return Instance(graph, sizes, room).Run();
}

}  // namespace webnnd::service
