// slot 1 (uint8) chooses between slots 2 and 3, with broadcasting -> slot 4, which is packed.
//
// Parameters: as binary.comp, strides .x, .y, .z of slots 1, 2, 3. Specialisation constants: 1 data
// type of slots 2 to 4, 2 rank, 3 whether quads lie in rows, 4 to 6 access to slots 1 to 3
// (strided.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kRank = 0u;
layout(constant_id = 3) const uint kInRows = 0u;
layout(constant_id = 4) const uint kAccess1 = 0u;
layout(constant_id = 5) const uint kAccess2 = 0u;
layout(constant_id = 6) const uint kAccess3 = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)
WRITE_SLOT(4)

struct Operands {
  QuadOffsets places;
  uvec4 conditions;
  uvec4 a;
  uvec4 b;
};

Operands Prepare(uint first) {
  Operands operands;
  operands.places = OffsetsOfQuad(first, 1u, P(1));
  uvec4 offsets = operands.places.offsets;
  operands.conditions = PREPARE_OPERAND(1, kUint8, kAccess1, offsets.x);
  operands.a = PREPARE_OPERAND(2, kType, kAccess2, offsets.y);
  operands.b = PREPARE_OPERAND(3, kType, kAccess3, offsets.z);
  return operands;
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  uvec4 offsets = OffsetsInQuad(operands.places, e, kInRows != 0u, 1u, P(1));
  uvec2 condition = OPERAND_ELEMENT(1, kUint8, kAccess1, operands.conditions, k, offsets.x);
  uvec2 a = OPERAND_ELEMENT(2, kType, kAccess2, operands.a, k, offsets.y);
  uvec2 b = OPERAND_ELEMENT(3, kType, kAccess3, operands.b, k, offsets.z);
  return condition.x != 0u ? a : b;
}

void main() { STORE_QUADS(4, kType, P(0), Operands, Prepare, ComputeElement); }
