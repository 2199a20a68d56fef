#include "service/passes/untile_constants.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "service/graph/row_tiles.h"
#include "service/passes/block_gemv.h"
#include "service/passes/constant_transposes.h"

namespace webnnd::service {
namespace {

using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

// A tiled constant as transpose takes it and gives it back.
Shape ShapeByTiles(const GraphConstant& constant) {
  const uint64_t rows =
      constant.descriptor.element_count() / (uint64_t{constant.tiled_loads} * kWeightsPerLoad);
  return {static_cast<uint32_t>(rows / kRowsOfTile), constant.tiled_loads, kRowsOfTile,
          kWeightsPerLoad};
}
const std::vector<uint32_t> kPermutation = {0, 2, 1, 3};

class Untiler {
 public:
  explicit Untiler(Graph& graph) : graph_(graph) {}

  Status Run(ConstantEvaluator* evaluator) {
    if (std::none_of(graph_.constants.begin(), graph_.constants.end(),
                     [](const GraphConstant& constant) { return constant.tiled_loads != 0; })) {
      return {};
    }
    for (Node& node : graph_.nodes) {
      const std::vector<size_t> weights = BlockGemvWeights(graph_, node);
      for (size_t i = 0; i < node.operands.size(); ++i) {
        if (!IsTiled(node.operands[i])) continue;
        const bool is_weight = std::find(weights.begin(), weights.end(), i) != weights.end();
        if (is_weight ? FitsProduct(node.operands[i]) : IsLookUp(node, i)) continue;
        ASSIGN_OR_RETURN(node.operands[i], Untiled(node.operands[i], evaluator != nullptr));
      }
    }
    for (Graph::Output& output : graph_.outputs) {
      if (!IsTiled(output.value)) continue;
      ASSIGN_OR_RETURN(output.value, Untiled(output.value, evaluator != nullptr));
    }
    if (evaluator != nullptr) return transposes_.Evaluate(*evaluator);
    InsertNodes();
    return {};
  }

 private:
  bool IsTiled(ValueId value) const { return value != kNoValue && TiledLoads(graph_, value) != 0; }

  bool FitsProduct(ValueId weights) const {
    return CountTiledLoads(graph_.values[weights].descriptor) == TiledLoads(graph_, weights);
  }

  // Whether it takes whole rows (shaders/gather.comp).
  bool IsLookUp(const Node& node, size_t i) const {
    if (node.kind != OperatorKind::kGather || i != 0) return false;
    const OperandDescriptor& table = graph_.values[node.operands[i]].descriptor;
    const uint64_t row = uint64_t{TiledLoads(graph_, node.operands[i])} * kWeightsPerLoad;
    return std::get<webidl::GatherAttributes>(node.attributes).axis == 0 &&
           table.element_count() / table.shape()[0] == row;
  }

  // Another value for the same constant, in its order.
  Result<ValueId> Untiled(ValueId value, bool evaluates) {
    if (auto found = untiled_.find(value); found != untiled_.end()) return found->second;
    const GraphConstant source = graph_.constants[graph_.values[value].index];
    const OperandDescriptor descriptor = graph_.values[value].descriptor;
    ValueId result = kNoValue;
    if (evaluates) {
      ASSIGN_OR_RETURN(result,
                       transposes_.Add(source, ShapeByTiles(source), kPermutation, descriptor));
      graph_.constants[graph_.values[result].index].bytes = source.bytes;
    } else {
      ASSIGN_OR_RETURN(result, DrawNodes(source, descriptor));
    }
    untiled_.emplace(value, result);
    return result;
  }

  Result<ValueId> DrawNodes(const GraphConstant& source, const OperandDescriptor& descriptor) {
    const auto type = descriptor.data_type();
    const Shape tiles = ShapeByTiles(source);
    ASSIGN_OR_RETURN(OperandDescriptor by_tiles, OperandDescriptor::Create(type, tiles));
    ASSIGN_OR_RETURN(
        OperandDescriptor by_rows,
        OperandDescriptor::Create(type, Shape{tiles[0], tiles[2], tiles[1], tiles[3]}));
    const auto constant = static_cast<uint32_t>(graph_.constants.size());
    graph_.constants.push_back({by_tiles, source.buffer});
    const ValueId from = AddValue(Value::Kind::kConstant, std::move(by_tiles), constant);
    const ValueId transposed = AddValue(Value::Kind::kResult, std::move(by_rows), 0);
    const ValueId result = AddValue(Value::Kind::kResult, descriptor, 0);
    nodes_.push_back({OperatorKind::kTranspose,
                      {from},
                      {transposed},
                      "",
                      webidl::TransposeAttributes{.permutation = kPermutation},
                      {}});
    nodes_.push_back({OperatorKind::kReshape,
                      {transposed},
                      {result},
                      "",
                      webidl::ReshapeAttributes{.new_shape = descriptor.shape()},
                      {}});
    return result;
  }

  ValueId AddValue(Value::Kind kind, OperandDescriptor descriptor, uint32_t index) {
    graph_.values.push_back({kind, std::move(descriptor), index});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  // Before all others.
  void InsertNodes() {
    if (nodes_.empty()) return;
    graph_.nodes.insert(graph_.nodes.begin(), std::make_move_iterator(nodes_.begin()),
                        std::make_move_iterator(nodes_.end()));
    for (uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      for (ValueId result : graph_.nodes[i].results) {
        if (result != kNoValue) graph_.values[result].index = i;
      }
    }
  }

  Graph& graph_;
  ConstantTransposes transposes_{graph_};
  std::vector<Node> nodes_;
  std::map<ValueId, ValueId> untiled_;
};

}  // namespace

Status UntileConstants(Graph& graph, ConstantEvaluator* evaluator) {
  return Untiler(graph).Run(evaluator);
}

}  // namespace webnnd::service
