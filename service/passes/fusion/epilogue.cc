#include <algorithm>
#include <utility>

#include "service/passes/elementwise_operation.h"
#include "service/passes/fusion/patterns.h"

namespace webnnd::service {
namespace {

using webidl::OperatorKind;
using webidl::Shape;

// A convolution or a product, and what is added to it.
struct Sum {
  const Node* product = nullptr;
  ValueId bias = kNoValue;
  ValueId residual = kNoValue;
  std::vector<ValueId> hidden;  // Of the product and the additions, without the last.
};

const Node* FindProduct(const GraphIndex& index, ValueId value) {
  for (OperatorKind kind : {OperatorKind::kConv2d, OperatorKind::kConvTranspose2d,
                            OperatorKind::kMatmul, OperatorKind::kGemm}) {
    if (const Node* product = index.Producer(value, kind)) return product;
  }
  return nullptr;
}

// The axis of the result along which a bias lies.
size_t BiasAxis(const Node& product, size_t rank) {
  webidl::InputOperandLayout layout{};
  if (const auto* conv = std::get_if<webidl::Conv2dAttributes>(&product.attributes)) {
    layout = conv->input_layout;
  } else if (const auto* transposed =
                 std::get_if<webidl::ConvTranspose2dAttributes>(&product.attributes)) {
    layout = transposed->input_layout;
  } else {
    return rank - 1;
  }
  return layout == webidl::InputOperandLayout::kNchw ? 1 : rank - 1;
}

// Whether the operand has one element for each place along `axis` of the result, and no more.
bool LiesAlong(const Shape& operand, const Shape& result, size_t axis) {
  if (operand.size() > result.size()) return false;
  const size_t missing = result.size() - operand.size();
  if (axis < missing) return false;
  for (size_t d = 0; d < operand.size(); ++d) {
    if (operand[d] != (missing + d == axis ? result[axis] : 1)) return false;
  }
  return true;
}

bool TakesBias(const Node& product) {
  const bool has_c = product.operands.size() > 2 && product.operands[2] != kNoValue;
  if (has_c) return false;
  const auto* gemm = std::get_if<webidl::GemmAttributes>(&product.attributes);
  return gemm == nullptr || gemm->beta == 1;
}

// `value` as product + bias.
std::optional<Sum> MatchBias(const GraphIndex& index, ValueId value) {
  const Node* add = index.Producer(value, OperatorKind::kAdd);
  if (add == nullptr) return std::nullopt;
  for (int i : {0, 1}) {
    const ValueId sum = add->operands[i];
    const ValueId bias = add->operands[1 - i];
    const Node* product = FindProduct(index, sum);
    if (product == nullptr || !TakesBias(*product)) continue;
    const Shape& shape = index.shape(value);
    if (index.shape(sum) != shape || shape.empty()) continue;
    if (!LiesAlong(index.shape(bias), shape, BiasAxis(*product, shape.size()))) continue;
    return Sum{.product = product, .bias = bias, .hidden = {sum}};
  }
  return std::nullopt;
}

// `value` as product [+ bias].
std::optional<Sum> MatchProduct(const GraphIndex& index, ValueId value) {
  if (const Node* product = FindProduct(index, value)) return Sum{.product = product};
  return MatchBias(index, value);
}

// `value` as product [+ bias] + residual.
std::optional<Sum> MatchResidual(const GraphIndex& index, ValueId value) {
  const Node* add = index.Producer(value, OperatorKind::kAdd);
  if (add == nullptr) return std::nullopt;
  for (int i : {0, 1}) {
    const ValueId part = add->operands[i];
    const ValueId residual = add->operands[1 - i];
    // What is added to itself is used twice.
    if (part == residual || index.use_count(part) != 1) continue;
    if (index.shape(part) != index.shape(value) || index.shape(residual) != index.shape(value)) {
      continue;
    }
    std::optional<Sum> sum = MatchProduct(index, part);
    if (!sum) continue;
    sum->residual = residual;
    sum->hidden.push_back(part);
    return sum;
  }
  return std::nullopt;
}

std::optional<Sum> MatchSum(const GraphIndex& index, ValueId value) {
  std::optional<Sum> sum = MatchResidual(index, value);
  return sum ? sum : MatchProduct(index, value);
}

struct Activated {
  Activation activation;
  ValueId operand = kNoValue;
  ValueId gate = kNoValue;  // The activation's own result, where that is not the last one.
};

std::optional<Activated> MatchGate(const GraphIndex& index, const Node& mul) {
  for (int i : {0, 1}) {
    const Node* sigmoid = index.Producer(mul.operands[i], OperatorKind::kSigmoid);
    if (sigmoid == nullptr || sigmoid->operands[0] != mul.operands[1 - i]) continue;
    return Activated{.activation = {.kind = OperatorKind::kSigmoid, .gates = true},
                     .operand = sigmoid->operands[0],
                     .gate = mul.operands[i]};
  }
  return std::nullopt;
}

std::optional<Activated> MatchActivation(const GraphIndex& index, const Node& last) {
  if (last.kind == OperatorKind::kMul) return MatchGate(index, last);
  if (!UnaryOperationOf(last.kind) || IsUnaryPredicate(last.kind)) return std::nullopt;
  return Activated{.activation = MakeActivation(last.kind, last.attributes),
                   .operand = last.operands[0]};
}

Match MakeMatch(const Node& last, Sum sum, std::optional<Activation> activation) {
  Match match;
  match.node = *sum.product;
  match.node.macro = Epilogue{activation};
  const std::vector<ValueId>& operands = sum.product->operands;
  ValueId bias = sum.bias;
  if (bias == kNoValue && operands.size() > 2) bias = operands[2];
  match.node.operands = {operands[0], operands[1], bias, sum.residual};
  match.node.results = last.results;
  match.hidden = std::move(sum.hidden);
  return match;
}

}  // namespace

std::optional<Match> MatchActivatedProduct(const GraphIndex& index, const Node& last) {
  std::optional<Activated> activated = MatchActivation(index, last);
  if (!activated) return std::nullopt;
  std::optional<Sum> sum = MatchSum(index, activated->operand);
  if (!sum) return std::nullopt;
  sum->hidden.push_back(activated->operand);
  if (activated->gate != kNoValue) sum->hidden.push_back(activated->gate);
  return MakeMatch(last, *std::move(sum), activated->activation);
}

std::optional<Match> MatchProductWithResidual(const GraphIndex& index, const Node& last) {
  std::optional<Sum> sum = MatchResidual(index, last.results[0]);
  if (!sum) return std::nullopt;
  return MakeMatch(last, *std::move(sum), std::nullopt);
}

std::optional<Match> MatchProductWithBias(const GraphIndex& index, const Node& last) {
  std::optional<Sum> sum = MatchBias(index, last.results[0]);
  if (!sum) return std::nullopt;
  return MakeMatch(last, *std::move(sum), std::nullopt);
}

}  // namespace webnnd::service
