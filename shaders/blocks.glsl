// dequantizeLinear and quantizeLinear: slot 1 the operand, 2 scale, 3 zero point, 4 the result.
// Scale and zero point are alike in shape; each element of theirs covers a block of the
// operand's.
//
// Parameters: 0 elements; 1 rank of the dimensions, which follow from uvec4 1 on (strided.glsl;
// x: offset in scale). Specialisation constants: 1 data type of the operand, 2 of scale, 3 of
// zero point, 4 of the result, 6 STRIDED_RANK, 7 whether there is one block.
#ifndef WEBNND_SHADERS_BLOCKS_GLSL_
#define WEBNND_SHADERS_BLOCKS_GLSL_

#define STRIDED_RANK kRank
#include "tensor.glsl"

layout(constant_id = 1) const uint kOperandType = 0u;
layout(constant_id = 2) const uint kScaleType = 0u;
layout(constant_id = 3) const uint kZeroPointType = 0u;
layout(constant_id = 4) const uint kResultType = 0u;
layout(constant_id = 6) const uint kRank = 0u;
layout(constant_id = 7) const uint kOneBlock = 0u;

#include "strided.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT(3)
WRITE_SLOT(4)

uint BlockOf(uint e) { return kOneBlock != 0u ? 0u : StridedOffsets(e, 1u, P(1)).x; }

float DecodeFloat(uvec2 raw, uint type) {
  return type == kFloat16 ? HalfToFloat(raw.x) : uintBitsToFloat(raw.x);
}

// int8, uint8, int4 and uint4; 32-bit types need 64 bits to calculate in.
bool IsNarrow(uint type) { return BitsLog2(type) < 5u; }

int DecodeNarrow(uvec2 raw, uint type) {
  if (type == kInt8) return bitfieldExtract(int(raw.x), 0, 8);
  if (type == kInt4) return bitfieldExtract(int(raw.x), 0, 4);
  return int(raw.x);
}

int64_t DecodeWide(uvec2 raw, uint type) {
  return type == kInt32 ? int64_t(int(raw.x)) : int64_t(raw.x);
}

#endif  // WEBNND_SHADERS_BLOCKS_GLSL_
