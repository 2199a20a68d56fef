// slot 1 (uint8) chooses between slots 2 and 3, with broadcasting -> slot 4, which is packed.
//
// Parameters: as binary.comp, strides .x, .y, .z of slots 1, 2, 3. Specialisation constants: 1 data
// type of slots 2 to 4, 2 rank, 3 whether quads lie in rows, 4 to 6 access to slots 1 to 3
// (strided.glsl), 7 whether rows go by words one by one on llvmpipe (OperandOfRow of by_words.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kRank = 0u;
layout(constant_id = 3) const uint kInRows = 0u;
layout(constant_id = 4) const uint kAccess1 = 0u;
layout(constant_id = 5) const uint kAccess2 = 0u;
layout(constant_id = 6) const uint kAccess3 = 0u;
layout(constant_id = 7) const uint kRowsByWords = 0u;

#define STRIDED_RANK kRank
#include "by_words.glsl"
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

#if TENSOR_READS == READS_TEXELS
bool TakesRowsByWords() { return kRowsByWords != 0u && CanGoByWords(kType); }
uint Access(uint operand, uint access) {
  return TakesRowsByWords() ? AccessOfRows(kRowsByWords, operand) : access;
}
#else
uint Access(uint operand, uint access) { return access; }
#endif

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  uvec4 offsets = OffsetsInQuad(operands.places, e, kInRows != 0u, 1u, P(1));
  uvec2 condition = OPERAND_ELEMENT(1, kUint8, Access(0u, kAccess1), operands.conditions, k, offsets.x);
  uvec2 a = OPERAND_ELEMENT(2, kType, Access(1u, kAccess2), operands.a, k, offsets.y);
  uvec2 b = OPERAND_ELEMENT(3, kType, Access(2u, kAccess3), operands.b, k, offsets.z);
  return condition.x != 0u ? a : b;
}

#if TENSOR_READS == READS_TEXELS
// Of the elements of a word, the first of which has the condition at `first`.
uvec4 LoadConditions(uint first, uint i, uint ahead) {
  const uint access = AccessOfRows(kRowsByWords, 0u);
  if (access == kAccessOne || BitsLog2(kType) == 3u) {
    return OPERAND_WORD(1, kUint8, access, BeginsAnywhere(kRowsByWords, 0u), first, i, ahead);
  }
  const uint log2_per_word = 5u - BitsLog2(kType);
  uvec4 conditions = uvec4(0u);
  [[unroll]] for (uint k = 0u; k < 1u << log2_per_word; ++k) {
    InsertElement(conditions, kUint8, k, LOAD_RAW(1, kUint8, first + (i << log2_per_word) + k));
  }
  return conditions;
}

uvec4 PrepareTurn(uint word) { return OffsetsOfTurn(word, kType); }
Operands PrepareWord(uvec4 offsets, uint i, uint ahead) {
  Operands operands;
  operands.places = QuadOffsets(0u, uvec4(0u));
  operands.conditions = LoadConditions(offsets.x, i, ahead);
  operands.a = OPERAND_WORD(2, kType, AccessOfRows(kRowsByWords, 1u), BeginsAnywhere(kRowsByWords, 1u), offsets.y, i,
                            ahead);
  operands.b = OPERAND_WORD(3, kType, AccessOfRows(kRowsByWords, 2u), BeginsAnywhere(kRowsByWords, 2u), offsets.z, i,
                            ahead);
  return operands;
}

uvec2 ComputeAt(uint e) {
  const uvec4 offsets = StridedOffsets(e, 1u, P(1));
  const uint condition = LOAD_RAW(1, kUint8, offsets.x).x;
  const uvec2 a = LOAD_RAW(2, kType, offsets.y);
  const uvec2 b = LOAD_RAW(3, kType, offsets.z);
  return condition != 0u ? a : b;
}

void StoreRowsByWords() {
  STORE_ROWS_BY_WORDS(4, kType, P(0), LengthOfRow(P(1)), VectorsOfTurn(kRowsByWords), uvec4, PrepareTurn, Operands, PrepareWord,
                      ComputeElement, ComputeAt)
}
#else
bool TakesRowsByWords() { return false; }
void StoreRowsByWords() {}
#endif

void main() {
  if (TakesRowsByWords()) {
    StoreRowsByWords();
  } else {
    STORE_QUADS(4, kType, P(0), Operands, Prepare, ComputeElement);
  }
}
