// Element-wise operations of two operands with broadcasting: slots 1, 2 -> slot 3, which is packed.
//
// Parameters: 0 elements of the result; 1 rank; from 4 dimensions (strided.glsl, strides .x of slot
// 1 and .y of slot 2). Specialisation constants: 1 operation (operations.inc), 2 data type of the
// operands, 3 of the result, 4 rank, 5 what lies in rows (kTurnsInRows), 6 and 7 access to slots 1 and 2
// (strided.glsl), 8 whether rows go one by one on llvmpipe (OperandOfRow of by_words.glsl): by
// words, or by elements where operands are of another width than the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "binary.glsl"

layout(constant_id = 1) const uint kOperation = 0u;
layout(constant_id = 2) const uint kOperandType = 0u;
layout(constant_id = 3) const uint kResultType = 0u;
layout(constant_id = 4) const uint kRank = 0u;
layout(constant_id = 5) const uint kInRows = 0u;
layout(constant_id = 6) const uint kAccess1 = 0u;
layout(constant_id = 7) const uint kAccess2 = 0u;
layout(constant_id = 8) const uint kRowsByWords = 0u;

#define STRIDED_RANK kRank
#include "by_words.glsl"
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)

const bool kIsPow =
    COMPUTE == COMPUTE_FLOAT && kOperandType == kFloat32 && kOperation == kBinaryPow;

struct Operands {
  QuadOffsets places;
  uvec4 a;  // Or the result, of kIsPow.
  uvec4 b;
};

#if TENSOR_READS == READS_TEXELS
bool TakesRowsByWords() { return kRowsByWords != 0u && CanGoByWords(kResultType); }
uint Access1() { return TakesRowsByWords() ? AccessOfRows(kRowsByWords, 0u) : kAccess1; }
uint Access2() { return TakesRowsByWords() ? AccessOfRows(kRowsByWords, 1u) : kAccess2; }
#else
uint Access1() { return kAccess1; }
uint Access2() { return kAccess2; }
#endif

// Element k of the operand whose first one for this quad is at `begin`.
#define VALUE_OF(slot, access, prepared, begin, offset)                                \
  Decode((access) == kAccessQuads                                                      \
             ? ELEMENT_OF_QUADS(slot, kOperandType, begin, (begin) + elements_left, k) \
             : OPERAND_ELEMENT(slot, kOperandType, access, prepared, k, offset),       \
         kOperandType)

struct Values {
  VALUE a;
  VALUE b;
};

Values ValuesOf(Operands operands, uint e, uint k) {
  uvec2 offsets = OffsetsInQuad(operands.places, e, kInRows != 0u, 1u, P(1)).xy;
  uint elements_left = P(0) - 1u - operands.places.first;  // Behind the first of the quad.
  return Values(VALUE_OF(1, Access1(), operands.a, operands.places.offsets.x, offsets.x),
                VALUE_OF(2, Access2(), operands.b, operands.places.offsets.y, offsets.y));
}

#if COMPUTE == COMPUTE_FLOAT
// Of float32: all of a quad at once.
uvec4 PowersOfQuad(Operands operands) {
  vec4 x, y;
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    const Values values = ValuesOf(operands, min(operands.places.first + k, P(0) - 1u), k);
    x[k] = values.a;
    y[k] = values.b;
  }
  bvec4 ordinary;
  vec4 powers = PowOfOrdinary(x, y, ordinary);
  // A loop, which drivers leave out where no invocation has any; it changes what it computes from, or it
  // would be computed before.
  while (!all(ordinary)) {
    powers = Pow(x, y);
    x = vec4(1.0);
    y = vec4(1.0);
    ordinary = bvec4(true);
  }
  return floatBitsToUint(powers);
}
#endif

Operands Prepare(uint first) {
  Operands operands;
  operands.places = OffsetsOfQuad(first, 1u, P(1));
  operands.a = PREPARE_OPERAND(1, kOperandType, kAccess1, operands.places.offsets.x);
  operands.b = PREPARE_OPERAND(2, kOperandType, kAccess2, operands.places.offsets.y);
#if COMPUTE == COMPUTE_FLOAT
  if (kIsPow) operands.a = PowersOfQuad(operands);
#endif
  return operands;
}

uvec2 Compute(Values values) {
  if (IsBinaryPredicate(kOperation)) {
    return uvec2(TestBinary(kOperation, values.a, values.b) ? 1u : 0u, 0u);
  }
  return Encode(ApplyBinary(kOperation, values.a, values.b), kResultType);
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  return kIsPow ? uvec2(operands.a[k & 3u], 0u) : Compute(ValuesOf(operands, e, k));
}

#if TENSOR_READS == READS_TEXELS
uvec2 PrepareTurn(uint word) { return OffsetsOfTurn(word, kOperandType).xy; }
Operands PrepareWord(uvec2 offsets, uint i, uint ahead) {
  Operands operands;
  operands.places = QuadOffsets(0u, uvec4(0u));
  operands.a = OPERAND_WORD(1, kOperandType, Access1(), BeginsAnywhere(kRowsByWords, 0u), offsets.x, i, ahead);
  operands.b = OPERAND_WORD(2, kOperandType, Access2(), BeginsAnywhere(kRowsByWords, 1u), offsets.y, i, ahead);
  return operands;
}

uvec2 PrepareElements(uint first) { return OffsetsOfTurn(first).xy; }
uvec2 ComputeInTurn(uvec2 offsets, uint i) {
  const uvec2 places = offsets + uvec2(Access1() == kAccessOne ? 0u : i, Access2() == kAccessOne ? 0u : i);
  return Compute(Values(Decode(LOAD_RAW(1, kOperandType, places.x), kOperandType),
                        Decode(LOAD_RAW(2, kOperandType, places.y), kOperandType)));
}

uvec2 ComputeAt(uint e) {
  const uvec2 offsets = StridedOffsets(e, 1u, P(1)).xy;
  return Compute(Values(Decode(LOAD_RAW(1, kOperandType, offsets.x), kOperandType),
                        Decode(LOAD_RAW(2, kOperandType, offsets.y), kOperandType)));
}

#if COMPUTE == COMPUTE_FLOAT
uint ComputeOrdinary(Operands operands, out bool is_ordinary) {
  bvec4 ordinary;
  const vec4 power = PowOfOrdinary(vec4(uintBitsToFloat(operands.a.x)),
                                   vec4(uintBitsToFloat(operands.b.x)), ordinary);
  is_ordinary = ordinary.x;
  return floatBitsToUint(power.x);
}
uint ComputeAny(Operands operands) {
  return floatBitsToUint(Pow(uintBitsToFloat(operands.a.x), uintBitsToFloat(operands.b.x)));
}
#endif

// Offsets that all share are not for those who are left alone with powers that are not ordinary.
bool GoesByWords() {
  if (TakesRowsByWords()) return true;
  return CanGoByWords(kResultType) && BitsLog2(kOperandType) == BitsLog2(kResultType) &&
         kInRows == kTurnsInRows && CanOperandGoByWords(kAccess1) && CanOperandGoByWords(kAccess2) &&
         (kRank == 1u || !kIsPow);
}
void StoreByWords() {
#if COMPUTE == COMPUTE_FLOAT
  if (kIsPow) {
    STORE_MOSTLY_ORDINARY(3, P(0), uvec2, PrepareTurn, Operands, PrepareWord, ComputeOrdinary, ComputeAny)
    return;
  }
#endif
  if (TakesRowsByWords() && BitsLog2(kOperandType) != BitsLog2(kResultType)) {
    STORE_ROWS_BY_ELEMENTS(3, kResultType, P(0), LengthOfRow(P(1)), VectorsOfTurn(kRowsByWords), uvec2, PrepareElements,
                           ComputeInTurn)
    return;
  }
  if (TakesRowsByWords()) {
    STORE_ROWS_BY_WORDS(3, kResultType, P(0), LengthOfRow(P(1)), VectorsOfTurn(kRowsByWords), uvec2, PrepareTurn, Operands,
                        PrepareWord, ComputeElement, ComputeAt)
    return;
  }
  STORE_BY_WORDS(3, kResultType, P(0), uvec2, PrepareTurn, Operands, PrepareWord, ComputeElement)
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
    STORE_WORDS_OF_QUADS(3, kResultType, P(0), Operands, Prepare, ComputeElement)
    return;
  }
  if (kAccess1 == kAccessQuads || kAccess2 == kAccessQuads) {
    STORE_QUADS_IN_LOOP([[unroll]], 3, kResultType, P(0), Operands, Prepare, ComputeElement)
  } else {
    STORE_QUADS(3, kResultType, P(0), Operands, Prepare, ComputeElement)
  }
}
