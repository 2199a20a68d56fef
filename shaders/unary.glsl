// Element-wise operations of one operand (operations.inc), for every kernel that applies them.
#ifndef WEBNND_SHADERS_UNARY_GLSL_
#define WEBNND_SHADERS_UNARY_GLSL_

#include "arithmetic.glsl"

#define UNARY_OPERATION(name, value) const uint kUnary##name = value;
#include "operations.inc"
#undef UNARY_OPERATION

// What some operations take besides their operand.
struct UnaryParameters {
  float alpha;
  float beta;
  VALUE least;     // Of clamp.
  VALUE greatest;  // Of clamp.
};

// Whether the result is uint8, 0 or 1: TestUnary has it; ApplyUnary that of all others.
bool IsUnaryPredicate(uint operation) {
  return operation == kUnaryIsNan || operation == kUnaryIsInfinite ||
         operation == kUnaryLogicalNot;
}

bool TestUnary(uint operation, VALUE x) {
#if COMPUTE == COMPUTE_FLOAT
  if (operation == kUnaryIsNan) return IsNan(x);
  if (operation == kUnaryIsInfinite) return IsInfinite(x);
#endif
  return x == VALUE(0);
}

bool IsPeriodic(uint operation) {
  return operation == kUnarySin || operation == kUnaryCos || operation == kUnaryTan;
}

#if COMPUTE == COMPUTE_FLOAT
float ApplyPeriodic(uint operation, Angle angle) {
  if (operation == kUnarySin) return Sin(angle);
  if (operation == kUnaryCos) return Cos(angle);
  return Tan(angle);
}
#endif

VALUE ApplyUnary(uint operation, VALUE x, UnaryParameters parameters) {
  const VALUE zero = VALUE(0);
  switch (operation) {
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
      return Min(Max(x, parameters.least), parameters.greatest);
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
    case kUnaryCos:
    case kUnaryTan:
      return ApplyPeriodic(operation, AngleOf(x));
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
      return x < 0.0 ? parameters.alpha * ExpMinus1(x) : x;
    case kUnaryLeakyRelu:
      return x < 0.0 ? parameters.alpha * x : x;
    case kUnaryHardSigmoid:
      return Max(0.0, Min(1.0, parameters.alpha * x + parameters.beta));
    case kUnaryLinear:
      return parameters.alpha * x + parameters.beta;
    case kUnarySilu:
      return x * Sigmoid(x);
#endif
  }
  return x;
}

#endif  // WEBNND_SHADERS_UNARY_GLSL_
