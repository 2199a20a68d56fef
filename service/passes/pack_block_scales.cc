#include "service/passes/pack_block_scales.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "service/passes/block_gemv.h"
#include "service/passes/constant_transposes.h"

namespace webnnd::service {
namespace {

using webidl::OperandDescriptor;
using webidl::Shape;

class Packer {
 public:
  explicit Packer(Graph& graph) : graph_(graph) {}

  Status Run(ConstantEvaluator& evaluator) {
    for (Node& node : graph_.nodes) {
      const std::vector<size_t> weights = BlockGemvWeights(graph_, node);
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
    return transposes_.Evaluate(evaluator);
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
    ASSIGN_OR_RETURN(
        OperandDescriptor by_tile,
        OperandDescriptor::Create(source.descriptor.data_type(), Shape{tiles, shape[1], 8, 8}));
    ASSIGN_OR_RETURN(const ValueId packed, transposes_.Add(source, Shape{tiles, 8, 8, shape[1]},
                                                           {0, 3, 2, 1}, std::move(by_tile)));
    packed_.emplace(value, packed);
    return packed;
  }

  Graph& graph_;
  ConstantTransposes transposes_{graph_};
  std::map<ValueId, ValueId> packed_;
};

}  // namespace

Status PackBlockScales(Graph& graph, ConstantEvaluator& evaluator) {
  return Packer(graph).Run(evaluator);
}

}  // namespace webnnd::service
