#include "service/passes/fusion/patterns.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;
using webidl::Shape;

// Whether a permutation swaps the two dimensions of a matrix; without one it reverses them.
bool SwapsMatrix(const webidl::TransposeAttributes& attributes) {
  return !attributes.permutation || *attributes.permutation == std::vector<uint32_t>{1, 0};
}

// Whether each row of weights [N, K / block, block] has a scale and a zero point for each block.
bool IsByBlock(const Shape& weights, const Shape& scale) {
  return weights.size() == 3 && scale.size() == 3 && scale[0] == weights[0] &&
         scale[1] == weights[1] && scale[2] == 1;
}

// Whether the kernel can: it takes eight weights at a time.
bool IsSupported(const webidl::OperandDescriptor& weights,
                 const webidl::OperandDescriptor& result) {
  return webidl::BitsPerElement(weights.data_type()) <= 8 && weights.shape()[2] % 8 == 0 &&
         weights.element_count() != 0 && result.element_count() != 0;
}

}  // namespace

std::optional<Match> MatchBlockMatmul(const GraphIndex& index, const Node& last) {
  if (last.kind != OperatorKind::kMatmul) return std::nullopt;
  const Node* transpose = index.Producer(last.operands[1], OperatorKind::kTranspose);
  if (transpose == nullptr) return std::nullopt;
  const Shape& matrix = index.shape(transpose->operands[0]);  // [N, K]
  if (matrix.size() != 2 ||
      !SwapsMatrix(std::get<webidl::TransposeAttributes>(transpose->attributes))) {
    return std::nullopt;
  }
  const Node* dequantize =
      index.Producer(index.SkipReshapes(transpose->operands[0]), OperatorKind::kDequantizeLinear);
  if (dequantize == nullptr) return std::nullopt;
  const Shape& weights = index.shape(dequantize->operands[0]);
  if (!IsByBlock(weights, index.shape(dequantize->operands[1])) || weights[0] != matrix[0] ||
      weights[1] * weights[2] != matrix[1]) {
    return std::nullopt;
  }
  if (!IsSupported(index.descriptor(dequantize->operands[0]), index.descriptor(last.results[0]))) {
    return std::nullopt;
  }
  // A weight that somebody else reads in full exists anyway: then a plain product is as good.
  for (ValueId value : {last.operands[1], transpose->operands[0], dequantize->results[0]}) {
    for (const Node* user : index.users(value)) {
      bool is_part = user == transpose || user->kind == OperatorKind::kReshape ||
                     (user->kind == OperatorKind::kMatmul && value == last.operands[1]);
      if (!is_part) return std::nullopt;
    }
    if (index.use_count(value) != index.users(value).size()) return std::nullopt;
  }
  // Weights that change from run to run are left to the operators that the client asked for.
  for (ValueId value : dequantize->operands) {
    if (!index.IsConstant(index.SkipReshapes(value))) return std::nullopt;
  }
  Match match;
  match.node = last;
  match.node.macro = BlockMatmul{};
  match.node.operands = {last.operands[0], dequantize->operands[0], dequantize->operands[1],
                         dequantize->operands[2]};
  return match;
}

}  // namespace webnnd::service
