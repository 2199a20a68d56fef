// Element-wise operations of two operands (operations.inc), for every kernel that applies them.
#ifndef WEBNND_SHADERS_BINARY_GLSL_
#define WEBNND_SHADERS_BINARY_GLSL_

#include "arithmetic.glsl"

#define BINARY_OPERATION(name, value) const uint kBinary##name = value;
#include "operations.inc"
#undef BINARY_OPERATION

// Whether the result is uint8, 0 or 1: TestBinary has it; ApplyBinary that of all others.
bool IsBinaryPredicate(uint operation) { return operation >= kBinaryEqual; }

bool TestBinary(uint operation, VALUE a, VALUE b) {
  bool ordered = !IsNanValue(a) && !IsNanValue(b);
  switch (operation) {
    case kBinaryEqual:
      return ordered && a == b;
    case kBinaryNotEqual:
      return !ordered || a != b;
    case kBinaryGreater:
      return ordered && a > b;
    case kBinaryGreaterOrEqual:
      return ordered && a >= b;
    case kBinaryLesser:
      return ordered && a < b;
    case kBinaryLesserOrEqual:
      return ordered && a <= b;
    case kBinaryLogicalAnd:
      return a != VALUE(0) && b != VALUE(0);
    case kBinaryLogicalOr:
      return a != VALUE(0) || b != VALUE(0);
    default:  // Exclusive or.
      return (a != VALUE(0)) != (b != VALUE(0));
  }
}

VALUE ApplyBinary(uint operation, VALUE a, VALUE b) {
  switch (operation) {
    case kBinaryAdd:
      return a + b;
    case kBinarySub:
      return a - b;
    case kBinaryMul:
      return a * b;
    case kBinaryDiv:
      return Div(a, b);
    case kBinaryMax:
      return Max(a, b);
    case kBinaryMin:
      return Min(a, b);
    case kBinaryPow:
      return Power(a, b);
    default:  // prelu
      return a < VALUE(0) ? a * b : a;
  }
}

#endif  // WEBNND_SHADERS_BINARY_GLSL_
