// Element-wise operations of one operand: slot 1 -> slot 2, both packed.
//
// Parameters: 0 elements; 1, 2 alpha and beta (float); 4..5 and 6..7 least and greatest value of
// clamp, in the compute class. Specialisation constants: 1 operation (operations.inc), 2 data type of
// the operand, 3 of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"

#define UNARY_OPERATION(name, value) const uint kUnary##name = value;
#include "operations.inc"

layout(constant_id = 1) const uint kOperation = 0u;
layout(constant_id = 2) const uint kOperandType = 0u;
layout(constant_id = 3) const uint kResultType = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

const bool kIsPredicate =
    kOperation == kUnaryIsNan || kOperation == kUnaryIsInfinite || kOperation == kUnaryLogicalNot;

bool Test(VALUE x) {
#if COMPUTE == COMPUTE_FLOAT
  if (kOperation == kUnaryIsNan) return IsNan(x);
  if (kOperation == kUnaryIsInfinite) return IsInfinite(x);
#endif
  return x == VALUE(0);
}

VALUE Apply(VALUE x) {
  const VALUE zero = VALUE(0);
  switch (kOperation) {
#if COMPUTE != COMPUTE_UINT && COMPUTE != COMPUTE_UINT64
    case kUnaryNeg:
      return -x;
    case kUnaryAbs:
#if COMPUTE == COMPUTE_FLOAT
      return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
#else
      return x < zero ? -x : x;
#endif
    case kUnarySign:
      return IsNanValue(x) ? x : (x > zero ? VALUE(1) : (x < zero ? VALUE(-1) : zero));
#else
    case kUnaryAbs:
      return x;
    case kUnarySign:
      return x > zero ? VALUE(1) : zero;
#endif
    case kUnaryRelu:
      return Max(x, zero);
    case kUnaryClamp:
      return Min(Max(x, ParameterValue(4u)), ParameterValue(6u));
#if COMPUTE == COMPUTE_FLOAT
    case kUnaryCeil:
      return ceil(x);
    case kUnaryFloor:
      return floor(x);
    case kUnaryRoundEven:
      return roundEven(x);
    case kUnarySqrt:
      return sqrt(x);
    case kUnaryReciprocal:
      return 1.0 / x;
    case kUnaryExp:
      return Exp(x);
    case kUnaryLog:
      return Log(x);
    case kUnarySin:
      return Sin(x);
    case kUnaryCos:
      return Cos(x);
    case kUnaryTan:
      return Tan(x);
    case kUnaryTanh:
      return Tanh(x);
    case kUnaryErf:
      return Erf(x);
    case kUnarySigmoid:
      return Sigmoid(x);
    case kUnaryGelu:
      return Gelu(x);
    case kUnarySoftplus:
      return Softplus(x);
    case kUnarySoftsign:
      return Div(x, 1.0 + abs(x));
    case kUnaryHardSwish:
      return x * (Max(0.0, Min(6.0, x + 3.0)) / 6.0);
    case kUnaryElu:
      return x < 0.0 ? ParameterValue(1u) * ExpMinus1(x) : x;
    case kUnaryLeakyRelu:
      return x < 0.0 ? ParameterValue(1u) * x : x;
    case kUnaryHardSigmoid:
      return Max(0.0, Min(1.0, ParameterValue(1u) * x + ParameterValue(2u)));
    case kUnaryLinear:
      return ParameterValue(1u) * x + ParameterValue(2u);
#endif
  }
  return x;
}

bool HaveSameWidth() { return BitsLog2(kOperandType) == BitsLog2(kResultType); }

uvec4 Prepare(uint first) {
  return HaveSameWidth() ? LOAD_QUAD(1, first >> Log2PerQuad(kResultType)) : uvec4(0u);
}

uvec2 ComputeElement(uvec4 operands, uint e, uint k) {
  VALUE x = HaveSameWidth() ? Decode(ElementOfQuad(operands, kOperandType, k), kOperandType)
                       : LOAD(1, kOperandType, e);
  if (kIsPredicate) return uvec2(Test(x) ? 1u : 0u, 0u);
  return Encode(Apply(x), kResultType);
}

void main() { STORE_QUADS(2, kResultType, P(0), uvec4, Prepare, ComputeElement); }
