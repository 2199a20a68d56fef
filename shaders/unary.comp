// Element-wise operations of one operand: slot 1 -> slot 2, both packed.
//
// Parameters: 0 elements; 1, 2 alpha and beta (float); 4..5 and 6..7 least and greatest value of
// clamp, in the compute class. Specialisation constants: 1 operation (operations.inc), 2 data type of
// the operand, 3 of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "unary.glsl"

layout(constant_id = 1) const uint kOperation = 0u;
layout(constant_id = 2) const uint kOperandType = 0u;
layout(constant_id = 3) const uint kResultType = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

bool HaveSameWidth() { return BitsLog2(kOperandType) == BitsLog2(kResultType); }

uvec4 Prepare(uint first) {
  return HaveSameWidth() ? LOAD_QUAD(1, first >> Log2PerQuad(kResultType)) : uvec4(0u);
}

uvec2 ComputeElement(uvec4 operands, uint e, uint k) {
  VALUE x = HaveSameWidth() ? Decode(ElementOfQuad(operands, kOperandType, k), kOperandType)
                       : LOAD(1, kOperandType, e);
  if (IsUnaryPredicate(kOperation)) return uvec2(TestUnary(kOperation, x) ? 1u : 0u, 0u);
  UnaryParameters parameters = UnaryParameters(uintBitsToFloat(P(1)), uintBitsToFloat(P(2)),
                                               ParameterValue(4u), ParameterValue(6u));
  return Encode(ApplyUnary(kOperation, x, parameters), kResultType);
}

void main() { STORE_QUADS(2, kResultType, P(0), uvec4, Prepare, ComputeElement); }
