#include "service/passes/fusion/product_candidate.h"

#include <algorithm>

#include "service/passes/block_gemv.h"
#include "service/passes/gemv.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;
using webidl::Shape;

bool IsPlain(const Node& node) {
  if (const auto* epilogue = std::get_if<Epilogue>(&node.macro)) {
    return !epilogue->activation && node.operands[3] == kNoValue;
  }
  return std::holds_alternative<std::monostate>(node.macro);
}

std::optional<ProductCandidate> AsDense(const GraphIndex& index, const Node& node) {
  if (node.kind != OperatorKind::kGemm || !IsPlain(node)) return std::nullopt;
  const auto& attributes = std::get<webidl::GemmAttributes>(node.attributes);
  if (attributes.a_transpose || !attributes.b_transpose || attributes.alpha != 1) {
    return std::nullopt;
  }
  const Shape& weights = index.shape(node.operands[1]);
  const ValueId bias = node.operands.size() > 2 ? node.operands[2] : kNoValue;
  if (bias != kNoValue && (attributes.beta != 1 || !IsRow(index.shape(bias), weights[0]))) {
    return std::nullopt;
  }
  const webidl::OperandDescriptor& result = index.descriptor(node.results[0]);
  if (result.element_count() == 0 || !IsGemvDepth(result.data_type(), weights[1])) {
    return std::nullopt;
  }
  return ProductCandidate{
      .node = &node, .weights = node.operands[1], .bias = bias, .result = node.results[0]};
}

std::optional<ProductCandidate> AsBlocks(const GraphIndex& index, const Node& node) {
  if (!std::holds_alternative<BlockMatmul>(node.macro)) return std::nullopt;
  if (!IsBlockGemvWeight(index.descriptor(node.operands[1]))) return std::nullopt;
  return ProductCandidate{.node = &node,
                          .weights = node.operands[1],
                          .scale = node.operands[2],
                          .zero_point = node.operands[3],
                          .result = node.results[0]};
}

}  // namespace

std::optional<ProductCandidate> AsProductCandidate(const GraphIndex& index, const Node& node) {
  if (node.results.empty()) return std::nullopt;
  std::optional<ProductCandidate> candidate = AsBlocks(index, node);
  return candidate ? candidate : AsDense(index, node);
}

void AppendProduct(const ProductCandidate& candidate, Node& node) {
  for (ValueId value : {candidate.weights, candidate.scale, candidate.zero_point, candidate.bias}) {
    node.operands.push_back(value);
  }
}

bool IsRow(const Shape& shape, uint32_t size) {
  return !shape.empty() && shape.back() == size &&
         std::all_of(shape.begin(), shape.end() - 1, [](uint32_t extent) { return extent == 1; });
}

}  // namespace webnnd::service
