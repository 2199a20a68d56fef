#include "service/passes/pack_block_scales.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "service/passes/block_gemv.h"

namespace webnnd::service {
namespace {

using webidl::OperandDescriptor;
using webidl::OperatorKind;
using webidl::Shape;

// Indices of the operands that are weights of the kernel; scale and zero point follow each.
std::vector<size_t> WeightsOf(const Graph& graph, const Node& node) {
  std::vector<size_t> weights;
  if (std::holds_alternative<BlockMatmul>(node.macro)) {
    weights = {1};
  } else if (const auto* group = std::get_if<MatmulGroup>(&node.macro);
             group != nullptr && group->by_block) {
    for (size_t i = 1; i + 3 < node.operands.size(); i += 4) weights.push_back(i);
  }
  const bool fits = std::all_of(weights.begin(), weights.end(), [&](size_t i) {
    return IsBlockGemvWeight(graph.values[node.operands[i]].descriptor);
  });
  return fits ? weights : std::vector<size_t>();
}

class Packer {
 public:
  explicit Packer(Graph& graph) : graph_(graph) {}

  Status Run(ConstantEvaluator& evaluator) {
    for (Node& node : graph_.nodes) {
      const std::vector<size_t> weights = WeightsOf(graph_, node);
      const bool can_all = std::all_of(weights.begin(), weights.end(), [&](size_t i) {
        return CanPack(node.operands[i + 1]) && CanPack(node.operands[i + 2]);
      });
      if (!can_all) continue;
      for (size_t i : weights) {
        for (ValueId* value : {&node.operands[i + 1], &node.operands[i + 2]}) {
          ASSIGN_OR_RETURN(*value, Pack(*value));
        }
      }
    }
    return Evaluate(evaluator);
  }

 private:
  bool CanPack(ValueId value) const {
    return graph_.values[value].kind == Value::Kind::kConstant &&
           graph_.values[value].descriptor.shape()[0] % kRowsOfScaleTile == 0;
  }

  // The constant that a constant [N, K / block, 1] becomes. Its buffer is known once all are drawn.
  Result<ValueId> Pack(ValueId value) {
    if (auto found = packed_.find(value); found != packed_.end()) return found->second;
    const GraphConstant source = graph_.constants[graph_.values[value].index];
    const Shape& shape = source.descriptor.shape();
    const uint32_t tiles = shape[0] / kRowsOfScaleTile;
    const auto type = source.descriptor.data_type();
    ASSIGN_OR_RETURN(OperandDescriptor by_row,
                     OperandDescriptor::Create(type, Shape{tiles, 8, 8, shape[1]}));
    ASSIGN_OR_RETURN(OperandDescriptor by_tile,
                     OperandDescriptor::Create(type, Shape{tiles, shape[1], 8, 8}));
    DrawTranspose({by_row, source.buffer, source.bytes}, by_tile);
    const auto packed = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(
        {Value::Kind::kConstant, by_tile, static_cast<uint32_t>(graph_.constants.size())});
    constants_.push_back(graph_.constants.size());
    graph_.constants.push_back({std::move(by_tile)});
    packed_.emplace(value, packed);
    return packed;
  }

  void DrawTranspose(GraphConstant source, const OperandDescriptor& result) {
    const auto from = static_cast<ValueId>(packing_.values.size());
    const ValueId to = from + 1;
    packing_.values.push_back({Value::Kind::kConstant, source.descriptor,
                               static_cast<uint32_t>(packing_.constants.size())});
    packing_.values.push_back(
        {Value::Kind::kResult, result, static_cast<uint32_t>(packing_.nodes.size())});
    packing_.constants.push_back(std::move(source));
    packing_.outputs.push_back({"packed" + std::to_string(packing_.outputs.size()), to});
    packing_.nodes.push_back({OperatorKind::kTranspose,
                              {from},
                              {to},
                              "",
                              webidl::TransposeAttributes{.permutation = {{0, 3, 2, 1}}},
                              {}});
  }

  // All in one run.
  Status Evaluate(ConstantEvaluator& evaluator) {
    if (constants_.empty()) return {};
    ASSIGN_OR_RETURN(
        const CompiledGraph compiled,
        CompileGraph(std::move(packing_), {.fusion = false, .constant_folding = false}));
    return EvaluateConstants(compiled, constants_, evaluator, graph_);
  }

  Graph& graph_;
  Graph packing_;  // A transpose for each of `constants_`.
  std::vector<size_t> constants_;
  std::map<ValueId, ValueId> packed_;
};

}  // namespace

Status PackBlockScales(Graph& graph, ConstantEvaluator& evaluator) {
  return Packer(graph).Run(evaluator);
}

}  // namespace webnnd::service
