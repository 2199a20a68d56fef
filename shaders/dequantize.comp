// (operand - zero point) * scale, in blocks (blocks.glsl).
//
// Specialisation constant 5: whether every eight elements from a multiple of 8 on lie in one
// block of a narrow type: an invocation then computes eight from one load of scale and zero
// point.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "blocks.glsl"

layout(constant_id = 5) const uint kByEight = 0u;

uint EncodeResult(float value) {
  return kResultType == kFloat16 ? FloatToHalf(value) : floatBitsToUint(value);
}

uvec2 ComputeElement(uint e) {
  uint block = BlockOf(e);
  float scale = DecodeFloat(LOAD_RAW(2, kScaleType, block), kScaleType);
  uvec2 x = LOAD_RAW(1, kOperandType, e);
  uvec2 zero_point = LOAD_RAW(3, kZeroPointType, block);
  float difference =
      IsNarrow(kOperandType)
          ? float(DecodeNarrow(x, kOperandType) - DecodeNarrow(zero_point, kZeroPointType))
          : float(DecodeWide(x, kOperandType) - DecodeWide(zero_point, kZeroPointType));
  return uvec2(EncodeResult(difference * scale), 0u);
}

// Elements 8 * unit to 8 * unit + 7.
void ComputeEight(uint unit) {
  uint block = BlockOf(8u * unit);
  float scale = DecodeFloat(LOAD_RAW(2, kScaleType, block), kScaleType);
  int zero_point = DecodeNarrow(LOAD_RAW(3, kZeroPointType, block), kZeroPointType);
  const uint bits = 1u << BitsLog2(kOperandType);
  const uint words = bits / 4u;
  uint packed[2];
  uvec2 pair = words == 2u ? LOAD_PAIR(1, unit) : uvec2(LOAD_WORD(1, unit), 0u);
  packed[0] = pair.x;
  packed[1] = pair.y;
  uint raw[8];
  [[unroll]] for (uint k = 0u; k < 8u; ++k) {
    uint bit = k * bits;
    uint element = bitfieldExtract(packed[bit >> 5], int(bit & 31u), int(bits));
    int difference = DecodeNarrow(uvec2(element, 0u), kOperandType) - zero_point;
    raw[k] = EncodeResult(float(difference) * scale);
  }
  if (kResultType == kFloat16) {
    uvec4 halves;
    [[unroll]] for (uint k = 0u; k < 4u; ++k) halves[k] = raw[2u * k] | (raw[2u * k + 1u] << 16);
    STORE_QUAD(4, unit, halves)
  } else {
    STORE_QUAD(4, 2u * unit, uvec4(raw[0], raw[1], raw[2], raw[3]))
    STORE_QUAD(4, 2u * unit + 1u, uvec4(raw[4], raw[5], raw[6], raw[7]))
  }
}

void main() {
  if (kByEight != 0u) {
    GRID_STRIDE_LOOP(unit, P(0) / 8u) { ComputeEight(unit); }
  } else {
    STORE_ELEMENTS(4, kResultType, P(0), ComputeElement);
  }
}
