#include "service/passes/pack_filters.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/passes/lower_conv.h"
#include "service/passes/lowering.h"
#include "service/passes/memory_plan.h"
#include "service/passes/tall_product.h"

namespace webnnd::service {
namespace {

bool IsConvolution(const Node& node) {
  return node.kind == webidl::OperatorKind::kConv2d ||
         node.kind == webidl::OperatorKind::kConvTranspose2d;
}

class Packer {
 public:
  explicit Packer(Graph& graph) : graph_(graph) { packing_.device = graph.device; }

  Status Run(ConstantEvaluator& evaluator) {
    for (Node& node : graph_.nodes) {
      if (!IsConvolution(node)) continue;
      if (graph_.values[node.operands[1]].kind != Value::Kind::kConstant) continue;
      ASSIGN_OR_RETURN(std::optional<FilterProduct> found,
                       FindFilterProduct(node, LoweringBuilder(graph_)));
      if (!found || !CanTakePanels(found->product, found->filter, graph_.device.wide)) continue;
      const uint64_t bytes = PanelBytes(found->product, found->filter);
      if (bytes > kPackedFilterBytesMax - bytes_) continue;
      bytes_ += bytes;
      ASSIGN_OR_RETURN(node.operands[1],
                       Pack(std::move(found->product), found->filter, node.operands[1]));
      calls_.calls().back().label = NodeName(node);
    }
    return Evaluate(evaluator);
  }

 private:
  // The constant that the filter becomes. Its buffer is known once all calls are there.
  Result<ValueId> Pack(Product product, size_t operand, ValueId filter) {
    const GraphConstant source = graph_.constants[graph_.values[filter].index];
    const auto from = static_cast<ValueId>(packing_.values.size());
    packing_.values.push_back({Value::Kind::kConstant, source.descriptor,
                               static_cast<uint32_t>(packing_.constants.size())});
    packing_.constants.push_back(source);
    (operand == 0 ? product.a : product.b) = from;
    ASSIGN_OR_RETURN(const ValueId to, AddPanels(product, operand, calls_));
    packing_.outputs.push_back({"panels" + std::to_string(packing_.outputs.size()), to});

    const webidl::OperandDescriptor& panels = packing_.values[to].descriptor;
    const auto packed = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(
        {Value::Kind::kConstant, panels, static_cast<uint32_t>(graph_.constants.size()),
         /*reserved_bytes=*/0,
         std::make_shared<const webidl::OperandDescriptor>(graph_.values[filter].descriptor)});
    constants_.push_back(graph_.constants.size());
    graph_.constants.push_back({panels});
    return packed;
  }

  // All in one run.
  Status Evaluate(ConstantEvaluator& evaluator) {
    if (constants_.empty()) return {};
    ASSIGN_OR_RETURN(const CompiledGraph compiled, PlanMemory(packing_, std::move(calls_)));
    return EvaluateConstants(compiled, constants_, evaluator, graph_);
  }

  Graph& graph_;
  Graph packing_;  // Filters, and panels as its outputs.
  LoweringBuilder calls_{packing_};
  std::vector<size_t> constants_;
  uint64_t bytes_ = 0;  // Of panels.
};

}  // namespace

Status PackFilters(Graph& graph, ConstantEvaluator& evaluator) {
  return Packer(graph).Run(evaluator);
}

}  // namespace webnnd::service
