// clamp(roundEven(operand / scale) + zero point) to the result's type, in blocks (blocks.glsl). NaN
// gives the zero point.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "blocks.glsl"

int NarrowLeast() { return kResultType == kInt8 ? -128 : (kResultType == kInt4 ? -8 : 0); }
int NarrowGreatest() {
  if (kResultType == kInt8) return 127;
  if (kResultType == kInt4) return 7;
  return kResultType == kUint8 ? 255 : 15;
}

uvec2 ComputeElement(uint e) {
  uint block = BlockOf(e);
  float scale = DecodeFloat(LOAD_RAW(2, kScaleType, block), kScaleType);
  float rounded = roundEven(Div(DecodeFloat(LOAD_RAW(1, kOperandType, e), kOperandType), scale));
  if (IsNan(rounded)) rounded = 0.0;
  uvec2 zero_point = LOAD_RAW(3, kZeroPointType, block);
  // Clamped far outside of the type first, so that the conversion is defined and the sum exact.
  if (IsNarrow(kResultType)) {
    int value = int(clamp(rounded, -65536.0, 65536.0)) + DecodeNarrow(zero_point, kZeroPointType);
    return uvec2(uint(clamp(value, NarrowLeast(), NarrowGreatest())), 0u);
  }
  int64_t value = int64_t(clamp(rounded, -17179869184.0, 17179869184.0)) +
                  DecodeWide(zero_point, kZeroPointType);
  int64_t least = kResultType == kInt32 ? -2147483648l : 0l;
  int64_t greatest = kResultType == kInt32 ? 2147483647l : 4294967295l;
  return uvec2(uint(clamp(value, least, greatest)), 0u);
}

void main() { STORE_ELEMENTS(4, kResultType, P(0), ComputeElement); }
