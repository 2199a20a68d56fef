// Element-wise operations of one operand: slot 1 -> slot 2, both packed.
//
// Parameters: 0 elements; 1, 2 alpha and beta (float); 4..5 and 6..7 least and greatest value of
// clamp, in the compute class. Specialisation constants: 1 operation (operations.inc), 2 data type
// of the operand, 3 of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "by_words.glsl"
#include "unary.glsl"

layout(constant_id = 1) const uint kOperation = 0u;
layout(constant_id = 2) const uint kOperandType = 0u;
layout(constant_id = 3) const uint kResultType = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

// Of abs and neg of float16, which change nothing but signs.
bool ChangesSigns() {
  return COMPUTE == COMPUTE_FLOAT && kOperandType == kFloat16 &&
         (kOperation == kUnaryAbs || kOperation == kUnaryNeg);
}
uvec4 ChangeSigns(uvec4 quad) {
  return kOperation == kUnaryAbs ? quad & 0x7fff7fffu : quad ^ 0x80008000u;
}

struct Operands {
  uint first;
  uvec4 quad;
  uvec4 quadrants;  // Of its elements as angles.
};

// Of sin, cos and tan, in a loop, which drivers leave out where no invocation has any.
void ReduceLargeArguments(inout Operands operands) {
#if COMPUTE == COMPUTE_FLOAT
  vec4 x = uintBitsToFloat(operands.quad);
  while (IsLargeArgument(x.x) || IsLargeArgument(x.y) || IsLargeArgument(x.z) ||
         IsLargeArgument(x.w)) {
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      Angle angle = AngleOf(x[k]);
      x[k] = angle.x;
      operands.quadrants[k] += angle.quadrants;
    }
  }
  operands.quad = floatBitsToUint(x);
#endif
}

Operands Prepare(uint first) {
  Operands operands =
      Operands(first, PREPARE_ELEMENTS(1, kOperandType, kResultType, first), uvec4(0u));
  // No float16 is large.
  if (IsPeriodic(kOperation) && kOperandType == kFloat32) ReduceLargeArguments(operands);
  if (ChangesSigns()) operands.quad = ChangeSigns(operands.quad);
  return operands;
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  const uvec2 raw =
      PREPARED_ELEMENT(1, kOperandType, kResultType, operands.quad, operands.first, P(0), k);
  if (ChangesSigns()) return raw;
  VALUE x = Decode(raw, kOperandType);
  if (IsUnaryPredicate(kOperation)) return uvec2(TestUnary(kOperation, x) ? 1u : 0u, 0u);
#if COMPUTE == COMPUTE_FLOAT
  if (kOperation == kUnaryGelu && kOperandType == kFloat16 && kResultType == kFloat16) {
    return Encode(GeluOfHalf(x), kResultType);
  }
  if (IsPeriodic(kOperation)) {
    return Encode(ApplyPeriodic(kOperation, Angle(x, operands.quadrants[k & 3u])), kResultType);
  }
#endif
  UnaryParameters parameters = UnaryParameters(uintBitsToFloat(P(1)), uintBitsToFloat(P(2)),
                                               ParameterValue(4u), ParameterValue(6u));
  return Encode(ApplyUnary(kOperation, x, parameters), kResultType);
}

#if TENSOR_READS == READS_TEXELS
uint PrepareTurn(uint word) { return word; }
Operands PrepareWord(uint turn, uint i, uint ahead) {
  const uvec4 quad = uvec4(LOAD_WORD(1, turn + i) + ASK_WORD(1, ahead), 0u, 0u, 0u);
  return Operands(0u, ChangesSigns() ? ChangeSigns(quad) : quad, uvec4(0u));
}

#if COMPUTE == COMPUTE_FLOAT
uint ComputeOrdinary(Operands operands, out bool is_ordinary) {
  is_ordinary = !IsLargeArgument(uintBitsToFloat(operands.quad.x));
  return ComputeElement(operands, 0u, 0u).x;
}
uint ComputeAny(Operands operands) {
  const Angle angle = AngleOf(uintBitsToFloat(operands.quad.x));
  return floatBitsToUint(ApplyPeriodic(kOperation, angle));
}
#endif

bool GoesByWords() {
  return CanGoByWords(kResultType) && BitsLog2(kOperandType) == BitsLog2(kResultType);
}
void StoreByWords() {
#if COMPUTE == COMPUTE_FLOAT
  if (IsPeriodic(kOperation) && kOperandType == kFloat32) {
    STORE_MOSTLY_ORDINARY(2, P(0), uint, PrepareTurn, Operands, PrepareWord, ComputeOrdinary, ComputeAny)
    return;
  }
#endif
  STORE_BY_WORDS(2, kResultType, P(0), uint, PrepareTurn, Operands, PrepareWord, ComputeElement)
}
#else
bool GoesByWords() { return false; }
void StoreByWords() {}
#endif

void main() {
  if (GoesByWords()) {
    StoreByWords();
    return;
  }
  if (AreWordsOfQuads(kOperandType, kResultType)) {
    STORE_WORDS_OF_QUADS(2, kResultType, P(0), Operands, Prepare, ComputeElement)
    return;
  }
  if (BitsLog2(kOperandType) > BitsLog2(kResultType) && BitsLog2(kResultType) > 2u) {
    STORE_QUADS_IN_LOOP([[unroll]], 2, kResultType, P(0), Operands, Prepare, ComputeElement)
  } else {
    STORE_QUADS(2, kResultType, P(0), Operands, Prepare, ComputeElement)
  }
}
