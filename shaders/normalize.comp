// (x - mean) / sqrt(variance + epsilon) * scale + bias: slot 1 -> slot 6. Slots 2 and 3 are means
// and variances, 4 and 5 scale and bias.
//
// Parameters: 0 elements; 1 epsilon (float); 2 rank of the dimensions, which follow from uvec4 1 on
// (strided.glsl; strides of slots 2 and 3 in x, of 4 and 5 in y).
// Specialisation constants: 1 data type, 2 data type of slots 2 and 3, 3 whether there is a scale,
// 4 whether there is a bias, 5 STRIDED_RANK.
#version 450
#extension GL_GOOGLE_include_directive : require
#define STRIDED_RANK kRank
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kMomentType = 0u;
layout(constant_id = 3) const uint kHasScale = 0u;
layout(constant_id = 4) const uint kHasBias = 0u;
layout(constant_id = 5) const uint kRank = 0u;

#include "strided.glsl"

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)
WRITE_SLOT(6)

uvec2 ComputeElement(uint e) {
  uvec4 offsets = StridedOffsets(e, 1u, P(2));
  float epsilon = uintBitsToFloat(P(1));
  float x = LOAD(1, kType, e) - LOAD(2, kMomentType, offsets.x);
  x /= sqrt(LOAD(3, kMomentType, offsets.x) + epsilon);
  if (kHasScale != 0u) x *= LOAD(4, kType, offsets.y);
  if (kHasBias != 0u) x += LOAD(5, kType, offsets.y);
  return Encode(x, kType);
}

void main() { STORE_ELEMENTS(6, kType, P(0), ComputeElement); }
