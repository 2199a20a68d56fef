// clamp(roundEven(operand / scale) + zero point) to the result's type, in blocks (blocks.glsl). NaN
// gives the zero point.
//
// Specialisation constant 5: 16 where every sixteen elements from a multiple of 16 on lie in one block
// and become a narrow type: an invocation then computes sixteen from one load of scale and zero point.
// Else 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "blocks.glsl"
#include "fours.glsl"

layout(constant_id = 5) const uint kGroup = 0u;

DECLARE_LOAD_FOURS(1)

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

// Elements 16 * unit to 16 * unit + 15.
void ComputeSixteen(uint unit) {
  uint block = BlockOf(16u * unit);
  float scale = DecodeFloat(LOAD_RAW(2, kScaleType, block), kScaleType);
  int zero_point = DecodeNarrow(LOAD_RAW(3, kZeroPointType, block), kZeroPointType);
  const uint bits = 1u << BitsLog2(kResultType);
  const uint mask = (1u << bits) - 1u;
  uvec4 words = uvec4(0u);
  [[unroll]] for (uint four = 0u; four < 4u; ++four) {
    vec4 x = LoadFours1(kOperandType, 4u * unit + four);
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      float rounded = roundEven(Div(x[k], scale));
      int value = int(clamp(rounded, -65536.0, 65536.0));
      value = (IsNan(rounded) ? 0 : value) + zero_point;
      uint bit = (4u * four + k) * bits;
      words[bit >> 5] |= (uint(clamp(value, NarrowLeast(), NarrowGreatest())) & mask) << (bit & 31u);
    }
  }
  if (bits == 8u) {
    STORE_QUAD(4, unit, words)
  } else {
    STORE_PAIR(4, unit, words.xy);
  }
}

void main() {
  if (kGroup != 0u) {
    GRID_STRIDE_LOOP(unit, P(0) / 16u) { ComputeSixteen(unit); }
  } else {
    STORE_ELEMENTS(4, kResultType, P(0), ComputeElement);
  }
}
