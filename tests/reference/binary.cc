// Of two operands, element by element with broadcasting; and where.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tests/reference/case_maker.h"
#include "tests/reference/families.h"
#include "tests/reference/indexing.h"

namespace webnnd::reference {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;

// Any integer of 64 bits, modulo 2^64: sums and products need more bits than a long double has.
uint64_t Bits(long double x) {
  return x < 0 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
}

// What the draft leaves open, we promise (shaders/arithmetic.glsl): a division by 0 gives 0, and
// what overflows wraps.
long double DivideIntegers(long double a, long double b) { return b == 0 ? 0 : std::trunc(a / b); }

// Modulo 2^64; a negative exponent truncates 1 / a^-b, and 0 to a negative power is 0.
long double PowerOfIntegers(long double a, long double b) {
  if (b < 0) {
    if (std::fabs(a) != 1) return 0;
    return a == 1 || std::fmod(b, 2) == 0 ? 1 : -1;
  }
  uint64_t result = 1;
  uint64_t factor = Bits(a);
  for (uint64_t exponent = Bits(b); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<long double>(result);
}

// NaN wins, whichever operand it is.
long double Greater(long double a, long double b) {
  return std::isnan(a) ? a : (std::isnan(b) ? b : std::max(a, b));
}

Real OfFloats(OperatorKind kind, long double a, long double b) {
  switch (kind) {
    case OperatorKind::kAdd:
      return Real(a) + Real(b);
    case OperatorKind::kSub:
      return Real(a) - Real(b);
    case OperatorKind::kMul:
      return Real(a) * Real(b);
    case OperatorKind::kDiv:
      // 2 ULP in the conformance suite.
      return Real::Rounded(a / b, 0, 2);
    case OperatorKind::kMax:
      return Greater(a, b);
    case OperatorKind::kMin:
      return -Greater(-a, -b);
    case OperatorKind::kPow:
      // shaders/math.glsl.
      return Real::Rounded(std::pow(a, b), 0, 3);
    case OperatorKind::kPrelu:
      return a < 0 ? Real(a) * Real(b) : Real(a);
    default:
      UNREACHABLE();
  }
}

long double OfIntegers(OperatorKind kind, long double a, long double b) {
  switch (kind) {
    case OperatorKind::kAdd:
      return static_cast<long double>(Bits(a) + Bits(b));
    case OperatorKind::kSub:
      return static_cast<long double>(Bits(a) - Bits(b));
    case OperatorKind::kMul:
      return static_cast<long double>(Bits(a) * Bits(b));
    case OperatorKind::kDiv:
      return DivideIntegers(a, b);
    case OperatorKind::kMax:
      return std::max(a, b);
    case OperatorKind::kMin:
      return std::min(a, b);
    case OperatorKind::kPow:
      return PowerOfIntegers(a, b);
    case OperatorKind::kPrelu:
      return a < 0 ? static_cast<long double>(Bits(a) * Bits(b)) : a;
    default:
      UNREACHABLE();
  }
}

bool Test(OperatorKind kind, long double a, long double b) {
  switch (kind) {
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

bool IsPredicate(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kAdd:
    case OperatorKind::kSub:
    case OperatorKind::kMul:
    case OperatorKind::kDiv:
    case OperatorKind::kMax:
    case OperatorKind::kMin:
    case OperatorKind::kPow:
    case OperatorKind::kPrelu:
      return false;
    default:
      return true;
  }
}

}  // namespace

void MakeBinary(CaseMaker& maker) {
  const Shape shape = maker.MakeShape(0, 8);
  const OperandDataType type = maker.PickType(0);
  // Equal elements matter to comparisons, and moderate ones to pow.
  const Domain domain = maker.Flip() ? Domain::kModerate : Domain::kAny;
  maker.Add(type, maker.MakeBroadcastable(shape), domain);
  Array& b = maker.Add(type, maker.MakeBroadcastable(shape), domain);
  if (IsPredicate(maker.kind()) && b.shape() == maker.operand(0).shape()) {
    for (uint64_t i = 0; i < b.size(); ++i) {
      if (maker.OneIn(3)) b.values[i] = maker.operand(0).values[i];
    }
  }
}

void EvaluateBinary(const Arguments& arguments, std::span<Array> results) {
  const Array& a = *arguments.operands[0];
  const Array& b = *arguments.operands[1];
  Array& result = results[0];
  for (uint64_t i = 0; i < result.size(); ++i) {
    const Position at = Unravel(i, result.shape());
    const long double x = a.values[BroadcastIndex(at, a.shape())];
    const long double y = b.values[BroadcastIndex(at, b.shape())];
    if (IsPredicate(arguments.kind)) {
      result.values[i] = Test(arguments.kind, x, y);
    } else if (IsFloat(a.type())) {
      result.Set(i, OfFloats(arguments.kind, x, y));
    } else {
      result.values[i] = RoundTo(a.type(), OfIntegers(arguments.kind, x, y));
    }
  }
}

void MakeWhere(CaseMaker& maker) {
  const Shape shape = maker.MakeShape(0, 8);
  const OperandDataType type = maker.PickType(1);
  Array& condition = maker.Add(OperandDataType::kUint8, maker.MakeBroadcastable(shape));
  for (long double& value : condition.values) value = maker.Flip() ? maker.Between(1, 255) : 0;
  maker.Add(type, maker.MakeBroadcastable(shape));
  maker.Add(type, maker.MakeBroadcastable(shape));
}

void EvaluateWhere(const Arguments& arguments, std::span<Array> results) {
  const Array& condition = *arguments.operands[0];
  for (uint64_t i = 0; i < results[0].size(); ++i) {
    const Position at = Unravel(i, results[0].shape());
    const bool chosen = condition.values[BroadcastIndex(at, condition.shape())] != 0;
    const Array& source = *arguments.operands[chosen ? 1 : 2];
    results[0].values[i] = source.values[BroadcastIndex(at, source.shape())];
  }
}

}  // namespace webnnd::reference
