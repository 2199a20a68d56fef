// slot 1 (uint8) chooses between slots 2 and 3, with broadcasting -> slot 4, which is packed.
//
// Parameters: as binary.comp, strides .x, .y, .z of slots 1, 2, 3. Specialisation constants: 1 data
// type of slots 2 to 4, 2 rank.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kRank = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
WRITE_SLOT(4)

uvec2 ComputeElement(uint e) {
  uvec4 offsets = StridedOffsets(e, 1u, P(1));
  bool condition = LOAD_RAW(1, kUint8, offsets.x).x != 0u;
  if (condition) return LOAD_RAW(2, kType, offsets.y);
  return LOAD_RAW(3, kType, offsets.z);
}

void main() { STORE_ELEMENTS(4, kType, P(0), ComputeElement); }
