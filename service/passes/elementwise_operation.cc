#include "service/passes/elementwise_operation.h"

#include <variant>

#include "webidl/number.h"

namespace webnnd::service {

using webidl::OperatorKind;

std::optional<UnaryOperation> UnaryOperationOf(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kAbs:
      return UnaryOperation::kAbs;
    case OperatorKind::kCeil:
      return UnaryOperation::kCeil;
    case OperatorKind::kClamp:
      return UnaryOperation::kClamp;
    case OperatorKind::kCos:
      return UnaryOperation::kCos;
    case OperatorKind::kElu:
      return UnaryOperation::kElu;
    case OperatorKind::kErf:
      return UnaryOperation::kErf;
    case OperatorKind::kExp:
      return UnaryOperation::kExp;
    case OperatorKind::kFloor:
      return UnaryOperation::kFloor;
    case OperatorKind::kGelu:
      return UnaryOperation::kGelu;
    case OperatorKind::kHardSigmoid:
      return UnaryOperation::kHardSigmoid;
    case OperatorKind::kHardSwish:
      return UnaryOperation::kHardSwish;
    case OperatorKind::kIsInfinite:
      return UnaryOperation::kIsInfinite;
    case OperatorKind::kIsNaN:
      return UnaryOperation::kIsNan;
    case OperatorKind::kLeakyRelu:
      return UnaryOperation::kLeakyRelu;
    case OperatorKind::kLinear:
      return UnaryOperation::kLinear;
    case OperatorKind::kLog:
      return UnaryOperation::kLog;
    case OperatorKind::kLogicalNot:
      return UnaryOperation::kLogicalNot;
    case OperatorKind::kNeg:
      return UnaryOperation::kNeg;
    case OperatorKind::kReciprocal:
      return UnaryOperation::kReciprocal;
    case OperatorKind::kRelu:
      return UnaryOperation::kRelu;
    case OperatorKind::kRoundEven:
      return UnaryOperation::kRoundEven;
    case OperatorKind::kSigmoid:
      return UnaryOperation::kSigmoid;
    case OperatorKind::kSign:
      return UnaryOperation::kSign;
    case OperatorKind::kSin:
      return UnaryOperation::kSin;
    case OperatorKind::kSoftplus:
      return UnaryOperation::kSoftplus;
    case OperatorKind::kSoftsign:
      return UnaryOperation::kSoftsign;
    case OperatorKind::kSqrt:
      return UnaryOperation::kSqrt;
    case OperatorKind::kTan:
      return UnaryOperation::kTan;
    case OperatorKind::kTanh:
      return UnaryOperation::kTanh;
    default:
      return std::nullopt;
  }
}

std::optional<BinaryOperation> BinaryOperationOf(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kAdd:
      return BinaryOperation::kAdd;
    case OperatorKind::kSub:
      return BinaryOperation::kSub;
    case OperatorKind::kMul:
      return BinaryOperation::kMul;
    case OperatorKind::kDiv:
      return BinaryOperation::kDiv;
    case OperatorKind::kMax:
      return BinaryOperation::kMax;
    case OperatorKind::kMin:
      return BinaryOperation::kMin;
    case OperatorKind::kPow:
      return BinaryOperation::kPow;
    case OperatorKind::kPrelu:
      return BinaryOperation::kPrelu;
    case OperatorKind::kEqual:
      return BinaryOperation::kEqual;
    case OperatorKind::kNotEqual:
      return BinaryOperation::kNotEqual;
    case OperatorKind::kGreater:
      return BinaryOperation::kGreater;
    case OperatorKind::kGreaterOrEqual:
      return BinaryOperation::kGreaterOrEqual;
    case OperatorKind::kLesser:
      return BinaryOperation::kLesser;
    case OperatorKind::kLesserOrEqual:
      return BinaryOperation::kLesserOrEqual;
    case OperatorKind::kLogicalAnd:
      return BinaryOperation::kLogicalAnd;
    case OperatorKind::kLogicalOr:
      return BinaryOperation::kLogicalOr;
    case OperatorKind::kLogicalXor:
      return BinaryOperation::kLogicalXor;
    default:
      return std::nullopt;
  }
}

AlphaBeta AlphaBetaOf(const webidl::OperatorAttributes& attributes) {
  if (auto* elu = std::get_if<webidl::EluAttributes>(&attributes)) return {elu->alpha, 0};
  if (auto* leaky = std::get_if<webidl::LeakyReluAttributes>(&attributes)) {
    return {leaky->alpha, 0};
  }
  if (auto* hard = std::get_if<webidl::HardSigmoidAttributes>(&attributes)) {
    return {hard->alpha, hard->beta};
  }
  if (auto* linear = std::get_if<webidl::LinearAttributes>(&attributes)) {
    return {linear->alpha, linear->beta};
  }
  return {};
}

Activation MakeActivation(OperatorKind kind, const webidl::OperatorAttributes& attributes) {
  const AlphaBeta constants = AlphaBetaOf(attributes);
  Activation activation{.kind = kind, .alpha = constants.alpha, .beta = constants.beta};
  if (const auto* clamp = std::get_if<webidl::ClampAttributes>(&attributes)) {
    // Fused kernels calculate in floats, whatever they store.
    const auto bounds = webidl::CastBounds(*clamp, webidl::OperandDataType::kFloat32);
    activation.least = std::get<double>(bounds.least);
    activation.greatest = std::get<double>(bounds.greatest);
  }
  return activation;
}

bool IsUnaryPredicate(OperatorKind kind) {
  return kind == OperatorKind::kIsNaN || kind == OperatorKind::kIsInfinite ||
         kind == OperatorKind::kLogicalNot;
}

}  // namespace webnnd::service
