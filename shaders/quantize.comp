// clamp(roundEven(operand / scale) + zero point) to the result's type, in blocks (blocks.glsl). NaN
// gives the zero point.
//
// Specialisation constant 5: of how many elements an invocation computes all, from one load of scale and
// zero point: those of a word of a narrow type, 4 or 8. As many from each multiple of it on must lie in
// one block. 0: each by itself.
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

// By word, so that neighbours load what lies beside each other.
void ComputeWord(uint word) {
  uint block = BlockOf(kGroup * word);
  float scale = DecodeFloat(LOAD_RAW(2, kScaleType, block), kScaleType);
  int zero_point = DecodeNarrow(LOAD_RAW(3, kZeroPointType, block), kZeroPointType);
  const uint bits = 1u << BitsLog2(kResultType);
  const uint mask = (1u << bits) - 1u;
  uint packed = 0u;
  [[unroll]] for (uint four = 0u; four < kGroup / 4u; ++four) {
    vec4 x = LoadFours1(kOperandType, kGroup / 4u * word + four);
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      float rounded = roundEven(Div(x[k], scale));
      int value = int(clamp(rounded, -65536.0, 65536.0));
      value = (IsNan(rounded) ? 0 : value) + zero_point;
      packed |= (uint(clamp(value, NarrowLeast(), NarrowGreatest())) & mask) << ((4u * four + k) * bits);
    }
  }
  STORE_WORD(4, word, packed);
}

void main() {
  if (kGroup != 0u) {
    GRID_STRIDE_LOOP(word, P(0) / kGroup) { ComputeWord(word); }
  } else {
    STORE_ELEMENTS(4, kResultType, P(0), ComputeElement);
  }
}
