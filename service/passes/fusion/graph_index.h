// GraphIndex: who makes and who uses each value of a graph. What the patterns of fusion look at.
#ifndef WEBNND_SERVICE_PASSES_FUSION_GRAPH_INDEX_H_
#define WEBNND_SERVICE_PASSES_FUSION_GRAPH_INDEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "service/graph/graph.h"

namespace webnnd::service {

// Of the graph as it is when this is made; the graph must outlive it.
class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const webidl::OperandDescriptor& descriptor(ValueId value) const {
    return graph_.values[value].descriptor;
  }
  const webidl::Shape& shape(ValueId value) const { return descriptor(value).shape(); }

  // The node that makes `value`, whatever it is; nullptr for inputs and constants.
  const Node* Maker(ValueId value) const;
  // The operator of the draft that makes `value`, if it is of this kind; else nullptr.
  const Node* Producer(ValueId value, webidl::OperatorKind kind) const;
  // The macro operator of this kind that makes `value`; else nullptr.
  template <class MacroKind>
  const Node* MacroProducer(ValueId value) const {
    if (value == kNoValue || graph_.values[value].kind != Value::Kind::kResult) return nullptr;
    const Node& node = graph_.nodes[graph_.values[value].index];
    return std::holds_alternative<MacroKind>(node.macro) ? &node : nullptr;
  }
  // Through any reshapes, the first value with the same bytes.
  ValueId SkipReshapes(ValueId value) const;

  // Nodes that use the value, each use counted; a graph output is one more.
  std::span<const Node* const> users(ValueId value) const {
    return {users_.data() + first_user_[value], users_.data() + first_user_[value + 1]};
  }
  uint32_t use_count(ValueId value) const {
    return static_cast<uint32_t>(users(value).size()) + output_count_[value];
  }

  bool IsConstant(ValueId value) const {
    return graph_.values[value].kind == Value::Kind::kConstant;
  }
  // The values of a small constant, where its bytes are at hand: floats, integers of 32 and 64 bits
  // and uint8.
  std::optional<std::vector<double>> Values(ValueId value) const;
  // That of a constant of one element.
  std::optional<double> Scalar(ValueId value) const;

 private:
  const Graph& graph_;
  // Those of value v are from first_user_[v] to first_user_[v + 1].
  std::vector<const Node*> users_;
  std::vector<uint32_t> first_user_;
  std::vector<uint32_t> output_count_;
};

}  // namespace webnnd::service

#endif  // WEBNND_SERVICE_PASSES_FUSION_GRAPH_INDEX_H_
