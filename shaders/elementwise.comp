// Several element-wise operations at once: slots 1 to 4, with broadcasting -> slot 5, which is
// packed. Each step takes operands, results of steps before it, or constants of its own; the last
// one makes the result. All steps calculate in float32; where a step's result is float16, it is
// rounded so. Truth is 1 and 0.
//
// Parameters: as binary.comp, strides .x to .w of slots 1 to 4; uvec4 32 + i holds what step i takes
// besides operands: of one operand, {alpha, beta, least, greatest}; else constants {first, second}.
// Specialisation constants: 1 data type of the result, 2 operands, 3 to 6 their data types, 7 steps,
// 8 to 15 the steps (service/passes/lower_elementwise_chain.cc), 16 rank, 17 what lies in rows
// (kTurnsInRows), 18 to 21 access to slots 1 to 4 (strided.glsl), 22 whether rows go by words one by one on
// llvmpipe (OperandOfRow of by_words.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "unary.glsl"

#include "binary.glsl"

layout(constant_id = 1) const uint kResultType = 0u;
layout(constant_id = 2) const uint kOperands = 0u;
layout(constant_id = 3) const uint kType1 = 0u;
layout(constant_id = 4) const uint kType2 = 0u;
layout(constant_id = 5) const uint kType3 = 0u;
layout(constant_id = 6) const uint kType4 = 0u;
layout(constant_id = 7) const uint kSteps = 0u;
layout(constant_id = 8) const uint kStep0 = 0u;
layout(constant_id = 9) const uint kStep1 = 0u;
layout(constant_id = 10) const uint kStep2 = 0u;
layout(constant_id = 11) const uint kStep3 = 0u;
layout(constant_id = 12) const uint kStep4 = 0u;
layout(constant_id = 13) const uint kStep5 = 0u;
layout(constant_id = 14) const uint kStep6 = 0u;
layout(constant_id = 15) const uint kStep7 = 0u;
layout(constant_id = 16) const uint kRank = 0u;
layout(constant_id = 17) const uint kInRows = 0u;
layout(constant_id = 18) const uint kAccess1 = 0u;
layout(constant_id = 19) const uint kAccess2 = 0u;
layout(constant_id = 20) const uint kAccess3 = 0u;
layout(constant_id = 21) const uint kAccess4 = 0u;
layout(constant_id = 22) const uint kRowsByWords = 0u;

#define STRIDED_RANK kRank
#include "by_words.glsl"
#include "strided.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)
READ_SLOT(4)
READ_SLOT_WIDE(4)
WRITE_SLOT(5)

const uint kOperandsMax = 4u;
const uint kConstants = 32u;  // In uvec4.
// Operations of a step: unary ones, then binary ones from kFirstBinary on, then these.
const uint kFirstBinary = 64u;
const uint kWhere = 128u;
const uint kCopy = 129u;
// Sources of a step: operands, then steps, then its constants.
const uint kFirstConstant = 12u;

// The value of an element that may be an integer.
float ToFloat(uvec2 raw, uint type) {
  switch (type) {
    case kFloat32:
      return uintBitsToFloat(raw.x);
    case kFloat16:
      return HalfToFloat(raw.x);
    case kInt32:
      return float(int(raw.x));
    case kInt64:
      return float(int64_t(packUint2x32(raw)));
    case kUint64:
      return float(packUint2x32(raw));
    case kInt8:
      return float(bitfieldExtract(int(raw.x), 0, 8));
    case kInt4:
      return float(bitfieldExtract(int(raw.x), 0, 4));
    default:
      return float(raw.x);
  }
}

struct Operands {
  QuadOffsets places;
  uvec4 of[kOperandsMax];
};

#if TENSOR_READS == READS_TEXELS
bool TakesRowsByWords() { return kRowsByWords != 0u && CanGoByWords(kResultType); }
uint Access(uint operand, uint access) {
  return TakesRowsByWords() ? AccessOfRows(kRowsByWords, operand) : access;
}
#else
uint Access(uint operand, uint access) { return access; }
#endif

Operands Prepare(uint first) {
  Operands operands;
  operands.places = OffsetsOfQuad(first, 1u, P(1));
  uvec4 offsets = operands.places.offsets;
  operands.of[0] = PREPARE_OPERAND(1, kType1, kAccess1, offsets.x);
  if (kOperands > 1u) operands.of[1] = PREPARE_OPERAND(2, kType2, kAccess2, offsets.y);
  if (kOperands > 2u) operands.of[2] = PREPARE_OPERAND(3, kType3, kAccess3, offsets.z);
  if (kOperands > 3u) operands.of[3] = PREPARE_OPERAND(4, kType4, kAccess4, offsets.w);
  return operands;
}

// Operands and results of steps so far.
struct Values {
  float of[kFirstConstant];
};

float Source(Values values, uint number, uint source) {
  if (source >= kFirstConstant) {
    return uintBitsToFloat(P(4u * (kConstants + number) + source - kFirstConstant));
  }
  return values.of[source];
}

float Apply(Values values, uint number, uint step) {
  const uint operation = step & 0xffu;
  float a = Source(values, number, (step >> 8) & 15u);
  if (operation == kCopy) return a;
  if (operation < kFirstBinary) {
    if (IsUnaryPredicate(operation)) return TestUnary(operation, a) ? 1.0 : 0.0;
    vec4 constants = uintBitsToFloat(P4(kConstants + number));
    return ApplyUnary(operation, a, UnaryParameters(constants.x, constants.y, constants.z,
                                                    constants.w));
  }
  float b = Source(values, number, (step >> 12) & 15u);
  if (operation == kWhere) return a != 0.0 ? b : Source(values, number, (step >> 16) & 15u);
  const uint binary = operation - kFirstBinary;
  if (IsBinaryPredicate(binary)) return TestBinary(binary, a, b) ? 1.0 : 0.0;
  return ApplyBinary(binary, a, b);
}

#define STEP(i)                                                          \
  if (i < kSteps) {                                                      \
    float result = Apply(values, i, kStep##i);                           \
    const bool rounds = ((kStep##i >> 20) & 1u) != 0u;                   \
    values.of[kOperandsMax + i] = rounds ? HalfToFloat(FloatToHalf(result)) : result; \
  }

uvec2 Compute(Values values) {
  STEP(0)
  STEP(1)
  STEP(2)
  STEP(3)
  STEP(4)
  STEP(5)
  STEP(6)
  STEP(7)
  float result = values.of[kOperandsMax + kSteps - 1u];
  if (kResultType == kUint8) return uvec2(uint(result), 0u);
  return Encode(result, kResultType);
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  uvec4 offsets = OffsetsInQuad(operands.places, e, kInRows != 0u, 1u, P(1));
  Values values;
#define LOAD_OPERAND(i, slot, offset)                                                         \
  if (i < kOperands) {                                                                        \
    values.of[i] = ToFloat(OPERAND_ELEMENT(slot, kType##slot, Access(i, kAccess##slot),       \
                                           operands.of[i], k, offset),                        \
                           kType##slot);                                                      \
  }
  LOAD_OPERAND(0u, 1, offsets.x)
  LOAD_OPERAND(1u, 2, offsets.y)
  LOAD_OPERAND(2u, 3, offsets.z)
  LOAD_OPERAND(3u, 4, offsets.w)
  return Compute(values);
}

#if TENSOR_READS == READS_TEXELS
uvec4 PrepareTurn(uint word) { return OffsetsOfTurn(word, kResultType); }
Operands PrepareWord(uvec4 offsets, uint i, uint ahead) {
  Operands operands;
  operands.places = QuadOffsets(0u, uvec4(0u));
#define PREPARE_WORD_OF(n, slot, offset)                                                          \
  if (n < kOperands) {                                                                            \
    operands.of[n] = OPERAND_WORD(slot, kType##slot, Access(n, kAccess##slot),                    \
                                  BeginsAnywhere(kRowsByWords, n), offset, i, ahead);             \
  }
  PREPARE_WORD_OF(0u, 1, offsets.x)
  PREPARE_WORD_OF(1u, 2, offsets.y)
  PREPARE_WORD_OF(2u, 3, offsets.z)
  PREPARE_WORD_OF(3u, 4, offsets.w)
  return operands;
}

uvec2 ComputeAt(uint e) {
  const uvec4 offsets = StridedOffsets(e, 1u, P(1));
  Values values;
#define LOAD_ELEMENT(n, slot, offset)                                                             \
  if (n < kOperands) values.of[n] = ToFloat(LOAD_RAW(slot, kType##slot, offset), kType##slot);
  LOAD_ELEMENT(0u, 1, offsets.x)
  LOAD_ELEMENT(1u, 2, offsets.y)
  LOAD_ELEMENT(2u, 3, offsets.z)
  LOAD_ELEMENT(3u, 4, offsets.w)
  return Compute(values);
}

bool CanGoByWords(uint number, uint type, uint access) {
  if (number >= kOperands) return true;
  return CanOperandGoByWords(access) && BitsLog2(type) == BitsLog2(kResultType);
}
bool GoesByWords() {
  if (TakesRowsByWords()) return true;
  return CanGoByWords(kResultType) && kInRows == kTurnsInRows && kRank == 1u &&
         CanGoByWords(0u, kType1, kAccess1) && CanGoByWords(1u, kType2, kAccess2) &&
         CanGoByWords(2u, kType3, kAccess3) && CanGoByWords(3u, kType4, kAccess4);
}
void StoreByWords() {
  if (TakesRowsByWords()) {
    STORE_ROWS_BY_WORDS(5, kResultType, P(0), LengthOfRow(P(1)), VectorsOfTurn(kRowsByWords), uvec4, PrepareTurn, Operands,
                        PrepareWord, ComputeElement, ComputeAt)
    return;
  }
  STORE_BY_WORDS(5, kResultType, P(0), uvec4, PrepareTurn, Operands, PrepareWord, ComputeElement)
}
#else
bool GoesByWords() { return false; }
void StoreByWords() {}
#endif

void main() {
  if (GoesByWords()) {
    StoreByWords();
  } else {
    STORE_QUADS(5, kResultType, P(0), Operands, Prepare, ComputeElement)
  }
}
