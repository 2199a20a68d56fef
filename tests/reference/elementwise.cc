// Element by element: unary, binary, cast, clamp, where, and the quantizing pair.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "tests/reference/indexing.h"
#include "tests/reference/reference.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;

long double Unary(OperatorKind kind, long double x) {
  switch (kind) {
    case OperatorKind::kAbs:
      return std::fabs(x);
    case OperatorKind::kCeil:
      return std::ceil(x);
    case OperatorKind::kExp:
      return std::exp(x);
    case OperatorKind::kFloor:
      return std::floor(x);
    case OperatorKind::kLogicalNot:
      return x == 0 ? 1 : 0;
    case OperatorKind::kNeg:
      return -x;
    case OperatorKind::kRelu:
      return std::max(x, 0.0L);
    case OperatorKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case OperatorKind::kSign:
      return x > 0 ? 1 : (x < 0 ? -1 : 0);
    case OperatorKind::kSqrt:
      return std::sqrt(x);
    case OperatorKind::kTanh:
      return std::tanh(x);
    default:
      UNREACHABLE();
  }
}

// Sums and products of 64-bit integers need more bits than a long double has: modulo 2^64 here, and
// modulo the type's range when the result is stored.
long double Wrapping(OperatorKind kind, long double a, long double b) {
  auto bits = [](long double x) {
    return x < 0 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
  };
  if (kind == OperatorKind::kAdd) return static_cast<long double>(bits(a) + bits(b));
  if (kind == OperatorKind::kSub) return static_cast<long double>(bits(a) - bits(b));
  return static_cast<long double>(bits(a) * bits(b));
}

long double Binary(OperatorKind kind, OperandDataType type, long double a, long double b) {
  switch (kind) {
    case OperatorKind::kAdd:
      return IsFloat(type) ? a + b : Wrapping(kind, a, b);
    case OperatorKind::kSub:
      return IsFloat(type) ? a - b : Wrapping(kind, a, b);
    case OperatorKind::kMul:
      return IsFloat(type) ? a * b : Wrapping(kind, a, b);
    case OperatorKind::kDiv:
      return IsFloat(type) ? a / b : std::trunc(a / b);
    case OperatorKind::kMax:
      return std::max(a, b);
    case OperatorKind::kMin:
      return std::min(a, b);
    case OperatorKind::kPow:
      return std::pow(a, b);
    case OperatorKind::kEqual:
      return a == b;
    case OperatorKind::kNotEqual:
      return a != b;
    case OperatorKind::kGreater:
      return a > b;
    case OperatorKind::kGreaterOrEqual:
      return a >= b;
    case OperatorKind::kLesser:
      return a < b;
    case OperatorKind::kLesserOrEqual:
      return a <= b;
    case OperatorKind::kLogicalAnd:
      return a != 0 && b != 0;
    case OperatorKind::kLogicalOr:
      return a != 0 || b != 0;
    case OperatorKind::kLogicalXor:
      return (a != 0) != (b != 0);
    default:
      UNREACHABLE();
  }
}

long double ToLongDouble(const webidl::Number& number) {
  return std::visit([](auto value) { return static_cast<long double>(value); }, number);
}

}  // namespace

void EvaluateUnary(const Arguments& arguments, std::span<Array> results) {
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    results[0].values[i] = Unary(arguments.kind, arguments.operands[0]->values[i]);
  }
}

void EvaluateBinary(const Arguments& arguments, std::span<Array> results) {
  const Array& a = *arguments.operands[0];
  const Array& b = *arguments.operands[1];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    results[0].values[i] = Binary(arguments.kind, a.type(), a.values[BroadcastIndex(at, a.shape())],
                                  b.values[BroadcastIndex(at, b.shape())]);
  }
}

// To an integer: towards zero.
void EvaluateCast(const Arguments& arguments, std::span<Array> results) {
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    long double x = arguments.operands[0]->values[i];
    results[0].values[i] = IsFloat(results[0].type()) ? x : std::trunc(x);
  }
}

void EvaluateClamp(const Arguments& arguments, std::span<Array> results) {
  const auto& attributes = std::get<webidl::ClampAttributes>(arguments.attributes);
  const OperandDataType type = results[0].type();
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    long double x = arguments.operands[0]->values[i];
    if (attributes.min_value) x = std::max(x, RoundTo(type, ToLongDouble(*attributes.min_value)));
    if (attributes.max_value) x = std::min(x, RoundTo(type, ToLongDouble(*attributes.max_value)));
    results[0].values[i] = x;
  }
}

void EvaluateWhere(const Arguments& arguments, std::span<Array> results) {
  const Array& condition = *arguments.operands[0];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    Position at = Unravel(i, results[0].shape());
    bool chosen = condition.values[BroadcastIndex(at, condition.shape())] != 0;
    const Array& source = *arguments.operands[chosen ? 1 : 2];
    results[0].values[i] = source.values[BroadcastIndex(at, source.shape())];
  }
}

void EvaluateDequantizeLinear(const Arguments& arguments, std::span<Array> results) {
  const Array& input = *arguments.operands[0];
  const Array& scale = *arguments.operands[1];
  const Array& zero_point = *arguments.operands[2];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    uint64_t block = BlockIndex(Unravel(i, input.shape()), input.shape(), scale.shape());
    results[0].values[i] = (input.values[i] - zero_point.values[block]) * scale.values[block];
  }
}

void EvaluateQuantizeLinear(const Arguments& arguments, std::span<Array> results) {
  const Array& input = *arguments.operands[0];
  const Array& scale = *arguments.operands[1];
  const Array& zero_point = *arguments.operands[2];
  const OperandDataType type = results[0].type();
  const bool is_signed = type == OperandDataType::kInt8 || type == OperandDataType::kInt4 ||
                         type == OperandDataType::kInt32;
  const auto bits = static_cast<int>(webidl::BitsPerElement(type));
  const long double minimum = is_signed ? -std::ldexp(1.0L, bits - 1) : 0;
  const long double maximum = minimum + std::ldexp(1.0L, bits) - 1;
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    uint64_t block = BlockIndex(Unravel(i, input.shape()), input.shape(), scale.shape());
    long double steps = std::nearbyint(input.values[i] / scale.values[block]);
    results[0].values[i] = std::clamp(steps + zero_point.values[block], minimum, maximum);
  }
}

}  // namespace webnnd::reference
