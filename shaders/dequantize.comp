// (operand - zero point) * scale, in blocks (blocks.glsl).
//
// Specialisation constant 5: of how many elements an invocation computes all, from one load of scale
// and zero point: 8, or as many as a quad of the operand has, 16 or 32; on GPUs those of a quad of the
// result, 4 or 8. As many from each multiple of it on must lie in one block of a narrow type. 0: it
// computes one.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "blocks.glsl"

layout(constant_id = 5) const uint kGroup = 0u;

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

#if TENSOR_READS == READS_STORAGE
// Quads of the result, each invocation's beside its neighbours': what is written is more than what is read.
// Each loads for kQuadsAtOnce (of lower_quantize.cc) before it writes.
const uint kQuadsAtOnce = 4u;

void ComputeGroups() {
  const uint bits = 1u << BitsLog2(kOperandType);
  const uint quads = P(0) / kGroup;
  const uint at_once = kQuadsAtOnce * gl_WorkGroupSize.x;
  for (uint start = gl_WorkGroupID.x * at_once; start < quads; start += gl_NumWorkGroups.x * at_once) {
    const uint first = start + gl_LocalInvocationID.x;
    uvec2 packed[kQuadsAtOnce];
    float scales[kQuadsAtOnce];
    int zero_points[kQuadsAtOnce];
    [[unroll]] for (uint i = 0u; i < kQuadsAtOnce; ++i) {
      const uint quad = min(first + i * gl_WorkGroupSize.x, quads - 1u);
      const uint block = BlockOf(kGroup * quad);
      if (kGroup * bits == 64u) {
        packed[i] = LOAD_PAIR(1, quad);
      } else if (kGroup * bits == 32u) {
        packed[i] = uvec2(LOAD_WORD(1, quad), 0u);
      } else {
        packed[i] = uvec2(LOAD_WORD(1, quad >> 1) >> ((quad & 1u) << 4), 0u);
      }
      scales[i] = DecodeFloat(LOAD_RAW(2, kScaleType, block), kScaleType);
      zero_points[i] = DecodeNarrow(LOAD_RAW(3, kZeroPointType, block), kZeroPointType);
    }
    [[unroll]] for (uint i = 0u; i < kQuadsAtOnce; ++i) {
      uint raw[8];
      [[unroll]] for (uint k = 0u; k < kGroup; ++k) {
        const uint bit = k * bits;
        const uint element = bitfieldExtract(packed[i][bit >> 5], int(bit & 31u), int(bits));
        const int difference = DecodeNarrow(uvec2(element, 0u), kOperandType) - zero_points[i];
        raw[k] = EncodeResult(float(difference) * scales[i]);
      }
      uvec4 result = uvec4(raw[0], raw[1], raw[2], raw[3]);
      if (kResultType == kFloat16) {
        [[unroll]] for (uint k = 0u; k < 4u; ++k) result[k] = raw[2u * k] | (raw[2u * k + 1u] << 16);
      }
      const uint quad = first + i * gl_WorkGroupSize.x;
      if (quad < quads) STORE_QUAD(4, quad, result)
    }
  }
}
#else
// Elements kGroup * unit to kGroup * (unit + 1) - 1.
void ComputeGroup(uint unit) {
  uint block = BlockOf(kGroup * unit);
  float scale = DecodeFloat(LOAD_RAW(2, kScaleType, block), kScaleType);
  int zero_point = DecodeNarrow(LOAD_RAW(3, kZeroPointType, block), kZeroPointType);
  const uint bits = 1u << BitsLog2(kOperandType);
  const uint words = kGroup * bits / 32u;
  uvec4 packed = uvec4(0u);
  if (words == 4u) {
    packed = LOAD_QUAD(1, unit);
  } else if (words == 2u) {
    packed.xy = LOAD_PAIR(1, unit);
  } else {
    packed.x = LOAD_WORD(1, unit);
  }
  [[unroll]] for (uint eight = 0u; eight < kGroup / 8u; ++eight) {
    uint raw[8];
    [[unroll]] for (uint k = 0u; k < 8u; ++k) {
      uint bit = (8u * eight + k) * bits;
      uint element = bitfieldExtract(packed[bit >> 5], int(bit & 31u), int(bits));
      int difference = DecodeNarrow(uvec2(element, 0u), kOperandType) - zero_point;
      raw[k] = EncodeResult(float(difference) * scale);
    }
    uint to = kGroup / 8u * unit + eight;
    if (kResultType == kFloat16) {
      uvec4 halves;
      [[unroll]] for (uint k = 0u; k < 4u; ++k) halves[k] = raw[2u * k] | (raw[2u * k + 1u] << 16);
      STORE_QUAD(4, to, halves)
    } else {
      STORE_QUAD(4, 2u * to, uvec4(raw[0], raw[1], raw[2], raw[3]))
      STORE_QUAD(4, 2u * to + 1u, uvec4(raw[4], raw[5], raw[6], raw[7]))
    }
  }
}
#endif

void main() {
  if (kGroup != 0u) {
#if TENSOR_READS == READS_STORAGE
    ComputeGroups();
#else
    GRID_STRIDE_LOOP(unit, P(0) / kGroup) { ComputeGroup(unit); }
#endif
  } else {
    STORE_ELEMENTS(4, kResultType, P(0), ComputeElement);
  }
}
