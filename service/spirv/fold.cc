#include "service/spirv/fold.h"

#include <algorithm>

namespace webnnd::service::spirv {
namespace {

using spv::Op;

Known FoldUnary(Op op, uint32_t a) {
  switch (op) {
    case Op::OpLogicalNot:
      return a == 0;
    case Op::OpNot:
      return ~a;
    case Op::OpSNegate:
      return 0u - a;
    case Op::OpBitcast:
    case Op::OpCopyObject:
      return a;
    default:
      return std::nullopt;
  }
}

Known FoldBinary(Op op, uint32_t a, uint32_t b) {
  const auto signed_a = static_cast<int32_t>(a);
  const auto signed_b = static_cast<int32_t>(b);
  constexpr uint32_t kBits = 32;
  switch (op) {
    case Op::OpIAdd:
      return a + b;
    case Op::OpISub:
      return a - b;
    case Op::OpIMul:
      return a * b;
    case Op::OpUDiv:
      return b == 0 ? Known() : a / b;
    case Op::OpUMod:
      return b == 0 ? Known() : a % b;
    case Op::OpShiftLeftLogical:
      return b >= kBits ? Known() : a << b;
    case Op::OpShiftRightLogical:
      return b >= kBits ? Known() : a >> b;
    case Op::OpShiftRightArithmetic:
      return b >= kBits ? Known() : static_cast<uint32_t>(signed_a >> b);
    case Op::OpBitwiseAnd:
      return a & b;
    case Op::OpBitwiseOr:
      return a | b;
    case Op::OpBitwiseXor:
      return a ^ b;
    case Op::OpIEqual:
    case Op::OpLogicalEqual:
      return a == b;
    case Op::OpINotEqual:
    case Op::OpLogicalNotEqual:
      return a != b;
    case Op::OpLogicalAnd:
      return a & b;
    case Op::OpLogicalOr:
      return a | b;
    case Op::OpULessThan:
      return a < b;
    case Op::OpULessThanEqual:
      return a <= b;
    case Op::OpUGreaterThan:
      return a > b;
    case Op::OpUGreaterThanEqual:
      return a >= b;
    case Op::OpSLessThan:
      return signed_a < signed_b;
    case Op::OpSLessThanEqual:
      return signed_a <= signed_b;
    case Op::OpSGreaterThan:
      return signed_a > signed_b;
    case Op::OpSGreaterThanEqual:
      return signed_a >= signed_b;
    default:
      return std::nullopt;
  }
}

}  // namespace

Known Fold(Op op, std::span<const Known> operands) {
  const auto has = [&](uint32_t value) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Known& operand) { return operand == value; });
  };
  // What one operand decides.
  switch (op) {
    case Op::OpLogicalAnd:
    case Op::OpBitwiseAnd:
    case Op::OpIMul:
      if (has(0)) return 0;
      break;
    case Op::OpLogicalOr:
      if (has(1)) return 1;
      break;
    default:
      break;
  }
  if (std::any_of(operands.begin(), operands.end(), [](const Known& o) { return !o; })) return {};
  switch (operands.size()) {
    case 1:
      return FoldUnary(op, *operands[0]);
    case 2:
      return FoldBinary(op, *operands[0], *operands[1]);
    case 3:
      if (op == Op::OpSelect) return *operands[0] != 0 ? operands[1] : operands[2];
      return {};
    default:
      return {};
  }
}

std::optional<size_t> SameAs(Op op, std::span<const Known> operands) {
  if (op == Op::OpSelect) {
    if (!operands[0]) return {};
    return *operands[0] != 0 ? 1 : 2;
  }
  if (op != Op::OpLogicalAnd && op != Op::OpLogicalOr) return {};
  const uint32_t neutral = op == Op::OpLogicalAnd ? 1 : 0;
  if (operands[0] == neutral) return 1;
  if (operands[1] == neutral) return 0;
  return {};
}

}  // namespace webnnd::service::spirv
