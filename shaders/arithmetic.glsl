// Arithmetic on the module's compute class (VALUE), as the draft defines it: integers wrap, and no
// operand makes a device trap.
#ifndef WEBNND_SHADERS_ARITHMETIC_GLSL_
#define WEBNND_SHADERS_ARITHMETIC_GLSL_

#include "math.glsl"

#if COMPUTE == COMPUTE_FLOAT

bool IsNanValue(float x) { return IsNan(x); }
// NaN wins, whichever operand it is. Of comparisons compilers may assume that there is none.
float Max(float a, float b) { return (b > a && !IsNan(a)) || IsNan(b) ? b : a; }
float Min(float a, float b) { return (b < a && !IsNan(a)) || IsNan(b) ? b : a; }

float Div(float a, float b) {
  // Devices that multiply by the reciprocal would flush that of a large divisor.
  float scale = abs(b) > 4e37 && !IsInfinite(b) ? 0.0625 : 1.0;
  return (a * scale) / (b * scale);
}
float Power(float a, float b) { return Pow(a, b); }

VALUE ParameterValue(uint first) { return uintBitsToFloat(P(first)); }

#else

bool IsNanValue(VALUE x) { return false; }
VALUE Max(VALUE a, VALUE b) { return a > b ? a : b; }
VALUE Min(VALUE a, VALUE b) { return a < b ? a : b; }

// Truncates; a division by zero gives 0 and the least integer over -1 gives itself.
VALUE Div(VALUE a, VALUE b) {
  if (b == VALUE(0)) return VALUE(0);
#if COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_INT64
  if (b == VALUE(-1)) return VALUE(0) - a;
#endif
  return a / b;
}

// Modulo 2^bits. A negative exponent truncates 1 / a^-b; 0 to a negative power is 0.
VALUE Power(VALUE a, VALUE b) {
#if COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_INT64
  if (b < VALUE(0)) {
    if (a == VALUE(1)) return VALUE(1);
    if (a == VALUE(-1)) return (b & VALUE(1)) != VALUE(0) ? VALUE(-1) : VALUE(1);
    return VALUE(0);
  }
#endif
  VALUE result = VALUE(1);
  for (int i = 0; i < 64 && b != VALUE(0); ++i) {
    if ((b & VALUE(1)) != VALUE(0)) result *= a;
    a *= a;
    b >>= 1;
  }
  return result;
}

#if COMPUTE == COMPUTE_INT64 || COMPUTE == COMPUTE_UINT64
VALUE ParameterValue(uint first) { return VALUE(packUint2x32(uvec2(P(first), P(first + 1u)))); }
#else
VALUE ParameterValue(uint first) { return VALUE(P(first)); }
#endif

#endif

#endif  // WEBNND_SHADERS_ARITHMETIC_GLSL_
