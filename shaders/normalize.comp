// (x - mean) / sqrt(variance + epsilon) * scale + bias: slot 1 -> slot 6. Slots 2 and 3 are means
// and variances, 4 and 5 scale and bias.
//
// Parameters: 0 elements; 1 epsilon (float); 2 rank of the dimensions, which follow from uvec4 1 on
// (strided.glsl; strides of slots 2 and 3 in x, of 4 and 5 in y).
// Specialisation constants: 1 data type, 2 data type of slots 2 and 3, 3 whether there is a scale,
// 4 whether there is a bias, 5 STRIDED_RANK, 6 whether quads lie in rows, 7 the access to slots 2 and
// 3, 8 to slots 4 and 5 (kAccess...), 9 how far from each other four quads lie (FirstOfFours) that have
// the same of these, one element each: an invocation takes them together (0: it takes one), 10 where rows have one of
// each and go by words one by one on llvmpipe, of how many vectors a turn is (STORE_ROWS_BY_WORDS of by_words.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#define STRIDED_RANK kRank
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kMomentType = 0u;
layout(constant_id = 3) const uint kHasScale = 0u;
layout(constant_id = 4) const uint kHasBias = 0u;
layout(constant_id = 5) const uint kRank = 0u;
layout(constant_id = 6) const uint kInRows = 0u;
layout(constant_id = 7) const uint kMomentAccess = 0u;
layout(constant_id = 8) const uint kAffineAccess = 0u;
layout(constant_id = 9) const uint kApart = 0u;
layout(constant_id = 10) const uint kVectorsOfTurn = 0u;

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
READ_SLOT(5)
READ_SLOT_WIDE(5)
WRITE_SLOT(6)

// What a quad's elements have in common.
struct State {
  QuadOffsets place;
  uvec4 x;
  uvec4 mean;
  uvec4 variance;
  uvec4 scale;
  uvec4 bias;
};

State Prepare(uint first) {
  State state;
  state.place = OffsetsOfQuad(first, 1u, P(2));
  uvec4 offsets = state.place.offsets;
  state.x = LOAD_QUAD(1, first >> Log2PerQuad(kType));
  state.mean = PREPARE_OPERAND(2, kMomentType, kMomentAccess, offsets.x);
  state.variance = PREPARE_OPERAND(3, kMomentType, kMomentAccess, offsets.x);
  if (kHasScale != 0u) state.scale = PREPARE_OPERAND(4, kType, kAffineAccess, offsets.y);
  if (kHasBias != 0u) state.bias = PREPARE_OPERAND(5, kType, kAffineAccess, offsets.y);
  return state;
}

#define OPERAND(slot, type, access, prepared, k, offset) \
  Decode(OPERAND_ELEMENT(slot, type, access, prepared, k, offset), type)

uvec2 ComputeElement(State state, uint e, uint k) {
  uvec4 offsets = OffsetsInQuad(state.place, e, kInRows != 0u, 1u, P(2));
  float mean = OPERAND(2, kMomentType, kMomentAccess, state.mean, k, offsets.x);
  float variance = OPERAND(3, kMomentType, kMomentAccess, state.variance, k, offsets.x);
  float x = Decode(ElementOfQuad(state.x, kType, k), kType) - mean;
  x *= 1.0 / sqrt(variance + uintBitsToFloat(P(1)));
  if (kHasScale != 0u) x *= OPERAND(4, kType, kAffineAccess, state.scale, k, offsets.y);
  if (kHasBias != 0u) x += OPERAND(5, kType, kAffineAccess, state.bias, k, offsets.y);
  return Encode(x, kType);
}

#if TENSOR_READS == READS_TEXELS
bool TakesRowsByWords() { return kVectorsOfTurn != 0u && CanGoByWords(kType); }

// What a row has.
struct Turn {
  uint word;
  float mean;
  float factor;
  float scale;
  float bias;
};

Turn LoadRow(uint word, uvec2 offsets) {
  Turn turn = Turn(word, LOAD(2, kMomentType, offsets.x), 0.0, 1.0, 0.0);
  turn.factor = 1.0 / sqrt(LOAD(3, kMomentType, offsets.x) + uintBitsToFloat(P(1)));
  if (kHasScale != 0u) turn.scale = LOAD(4, kType, offsets.y);
  if (kHasBias != 0u) turn.bias = LOAD(5, kType, offsets.y);
  return turn;
}

uvec2 ComputeOf(Turn turn, uvec2 raw) {
  float x = Decode(raw, kType) - turn.mean;
  x *= turn.factor;
  if (kHasScale != 0u) x *= turn.scale;
  if (kHasBias != 0u) x += turn.bias;
  return Encode(x, kType);
}

struct Word {
  Turn turn;
  uint bits;
};

Turn PrepareTurn(uint word) {
  const uvec4 offsets = StridedOffsets(word << (5u - BitsLog2(kType)), 1u, P(2));
  return LoadRow(word, uvec2(UNIFORM(offsets.x), UNIFORM(offsets.y)));
}
Word PrepareWord(Turn turn, uint i, uint ahead) { return Word(turn, LOAD_WORD(1, turn.word + i)); }
uvec2 ComputeOfWord(Word word, uint e, uint j) {
  return ComputeOf(word.turn, ElementOfQuad(uvec4(word.bits, 0u, 0u, 0u), kType, j));
}
uvec2 ComputeAt(uint e) {
  const uvec2 raw = LOAD_RAW(1, kType, e);
  return ComputeOf(LoadRow(0u, StridedOffsets(e, 1u, P(2)).xy), raw);
}

void StoreRowsByWords() {
  STORE_ROWS_BY_WORDS(6, kType, P(0), LengthOfRow(P(2)), kVectorsOfTurn, Turn, PrepareTurn, Word, PrepareWord, ComputeOfWord,
                      ComputeAt)
}
#else
bool TakesRowsByWords() { return false; }
void StoreRowsByWords() {}
#endif

const uint kFour = 4u;

void NormalizeFourQuads(uint first_quad) {
  State state = Prepare(first_quad << Log2PerQuad(kType));
  [[unroll]] for (uint q = 0u; q < kFour; ++q) {
    const uint quad = first_quad + q * kApart;
    state.x = LOAD_QUAD(1, quad);
    uvec4 bits;
    COMPUTE_QUAD(bits, kType, quad << Log2PerQuad(kType), P(0), state, ComputeElement)
    STORE_QUAD(6, quad, bits)
  }
}

void main() {
  if (TakesRowsByWords()) {
    StoreRowsByWords();
  } else if (kApart != 0u) {
    GRID_STRIDE_LOOP(i, WordsOf(kType, P(0)) / (4u * kFour)) {
      NormalizeFourQuads(FirstOfFours(i, kFour, kApart));
    }
  } else {
    STORE_QUADS(6, kType, P(0), State, Prepare, ComputeElement)
  }
}
