// slot 1 -> slot 2 in another data type; both packed. Floating point to integer truncates and
// saturates (NaN gives 0); integer to integer keeps the low bits.
//
// Parameters: 0 elements. Specialisation constants: 1 data type of the operand, 2 of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "by_words.glsl"
#include "tensor.glsl"

layout(constant_id = 1) const uint kOperandType = 0u;
layout(constant_id = 2) const uint kResultType = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

uvec2 EncodeFloat(float x) {
  return uvec2(kResultType == kFloat16 ? FloatToHalf(x) : floatBitsToUint(x), 0u);
}

#if COMPUTE == COMPUTE_FLOAT
int ToInt(float x, float least, float greatest) { return int(clamp(x, least, greatest)); }

uvec2 Convert(float x) {
  if (kResultType <= kFloat16) return EncodeFloat(x);
  if (IsNan(x)) return uvec2(0u);
  switch (kResultType) {
    case kInt32:
      if (x >= 2147483648.0) return uvec2(0x7fffffffu, 0u);
      return uvec2(x <= -2147483648.0 ? 0x80000000u : uint(int(x)), 0u);
    case kUint32:
      if (x >= 4294967296.0) return uvec2(0xffffffffu, 0u);
      return uvec2(x <= 0.0 ? 0u : uint(x), 0u);
    case kInt64:
      if (x >= 9223372036854775808.0) return uvec2(0xffffffffu, 0x7fffffffu);
      if (x <= -9223372036854775808.0) return uvec2(0u, 0x80000000u);
      return unpackUint2x32(uint64_t(int64_t(x)));
    case kUint64:
      if (x >= 18446744073709551616.0) return uvec2(0xffffffffu);
      return x <= 0.0 ? uvec2(0u) : unpackUint2x32(uint64_t(x));
    case kInt8:
      return uvec2(uint(ToInt(x, -128.0, 127.0)), 0u);
    case kUint8:
      return uvec2(uint(ToInt(x, 0.0, 255.0)), 0u);
    case kInt4:
      return uvec2(uint(ToInt(x, -8.0, 7.0)), 0u);
    default:
      return uvec2(uint(ToInt(x, 0.0, 15.0)), 0u);
  }
}
#else
uvec2 Convert(VALUE x) {
  if (kResultType <= kFloat16) return EncodeFloat(float(x));
  // Sign extension, or none, comes with the compute class.
  if (kResultType == kInt64 || kResultType == kUint64) {
#if COMPUTE == COMPUTE_INT
    return unpackUint2x32(uint64_t(int64_t(x)));
#else
    return unpackUint2x32(uint64_t(x));
#endif
  }
  return Encode(x, kUint32);
}
#endif

struct Operands {
  uint first;
  uvec4 quad;
};

Operands Prepare(uint first) {
  return Operands(first, PREPARE_ELEMENTS(1, kOperandType, kResultType, first));
}

uvec2 ComputeElement(Operands operands, uint e, uint k) {
  return Convert(
      Decode(PREPARED_ELEMENT(1, kOperandType, kResultType, operands.quad, operands.first, P(0), k),
             kOperandType));
}

#if COMPUTE == COMPUTE_FLOAT
// From one quad each, so that neighbours load what lies beside each other.
void StoreFourHalves(uint four, uint count) {
  const uvec4 quad = LOAD_QUAD(1, four);
  uint halves[4];
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    halves[k] = 4u * four + k < count ? Convert(uintBitsToFloat(quad[k])).x : 0u;
  }
  const uvec2 pair = uvec2(halves[0] | (halves[1] << 16), halves[2] | (halves[3] << 16));
  const uint words = (count + 1u) >> 1;
  const bool whole = 2u * four + 2u <= words;
  if (whole) STORE_PAIR(2, four, pair);
  for (uint word = whole ? words : 2u * four; word < words; ++word) STORE_WORD(2, word, pair.x);
}
#endif

#if TENSOR_READS == READS_TEXELS
uint PrepareTurn(uint word) { return word; }
Operands PrepareWord(uint turn, uint i, uint ahead) {
  return Operands(0u, uvec4(LOAD_WORD(1, turn + i), 0u, 0u, 0u));
}

bool GoesByWords() {
  return CanGoByWords(kResultType) && BitsLog2(kOperandType) == BitsLog2(kResultType);
}
void StoreByWords() {
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
#if COMPUTE == COMPUTE_FLOAT
  if (kOperandType == kFloat32 && kResultType == kFloat16) {
    const uint count = P(0);
    GRID_STRIDE_LOOP(four, (count + 3u) >> 2) StoreFourHalves(four, count);
    return;
  }
#endif
  if (BitsLog2(kOperandType) > BitsLog2(kResultType) && BitsLog2(kResultType) > 2u) {
    STORE_QUADS_IN_LOOP([[unroll]], 2, kResultType, P(0), Operands, Prepare, ComputeElement)
  } else {
    STORE_QUADS(2, kResultType, P(0), Operands, Prepare, ComputeElement)
  }
}
