// Products of one row on llvmpipe, by words of b's rows and of the result, in which columns follow each
// other. A subgroup goes down all of the depth for kVectors words of each invocation, neighbours beside each
// other: what it reads of a row is up to a kilobyte in one piece, and is multiplied as it was loaded. Fours
// are shuffled first, which takes twice as long as memory does.
//
// Slots and parameters are those of matmul.comp.
#ifndef WEBNND_SHADERS_ROW_BY_WORDS_GLSL_
#define WEBNND_SHADERS_ROW_BY_WORDS_GLSL_

#include "subgroup.glsl"

const uint kElementsOfWord = kType == kFloat16 ? 2u : 1u;
const uint kSumsMax = 16u;  // As many have registers.
const uint kVectors = kSumsOfTile / kElementsOfWord;
const uint kStepsOfTurn = 4u;

uint WordsOfTile() { return kVectors * kSubgroupSize; }

#define FOR_EACH_VECTOR(v) [[unroll]] for (uint v = 0u; v < kSumsMax; ++v) if (v < kVectors)

struct SumsOfWords {
  float of[kSumsMax];  // Of element i of the v-th word at v * kElementsOfWord + i.
};

float ElementOfWord(uint word, uint i) {
  return kType == kFloat16 ? unpackHalf2x16(word)[i] : uintBitsToFloat(word);
}

// Of the row of b whose part of this tile begins with element `first`, times its element of a. `is_last`: whether
// there may be no word behind its last one, which is `last`.
void AddRowOfB(uint first, float a, const bool is_last, uint last, inout SumsOfWords sums) {
  // All of them constants away from one place: a run (base/drivers_llvm/lane_loads.h).
  const uint place = UNIFORM(first / kElementsOfWord) + gl_SubgroupInvocationID;
  FOR_EACH_VECTOR(v) {
    uint word = LOAD_WORD(2, place + v * kSubgroupSize);
    if (kBeginsAnywhere != 0u) {
      const uint next = place + (v * kSubgroupSize + 1u);
      word = JoinWords(word, LOAD_WORD(2, is_last ? min(next, last) : next), ShiftInWord(kType, first));
    }
    [[unroll]] for (uint i = 0u; i < kElementsOfWord; ++i) {
      const uint j = v * kElementsOfWord + i;
      sums.of[j] = fma(a, ElementOfWord(word, i), sums.of[j]);
    }
  }
}

// Of a matrix whose row of a, and this tile's elements of b, begin there. `last`: the last word of its last row.
SumsOfWords SumDepth(uint a_offset, uint first, uint last) {
  SumsOfWords sums;
  [[unroll]] for (uint j = 0u; j < kSumsMax; ++j) sums.of[j] = 0.0;
  const uint depth = P(3) - (kBeginsAnywhere != 0u ? 1u : 0u);
  uint k = UNKNOWN_ZERO;
#define ADD_ROW(k, is_last)                                                                  \
  {                                                                                          \
    const float a = LOAD(1, kType, UNIFORM(a_offset + (k) * P(5)));                          \
    AddRowOfB(UNIFORM(first + (k) * P(6)), a, is_last, last, sums);                          \
  }
  for (; k + kStepsOfTurn <= depth; k += kStepsOfTurn) {
    [[unroll]] for (uint s = 0u; s < kStepsOfTurn; ++s) ADD_ROW(k + s, false)
  }
  for (; k < depth; ++k) ADD_ROW(k, false)
  if (kBeginsAnywhere != 0u) ADD_ROW(depth, true)
#undef ADD_ROW
  return sums;
}

// Column n, which is element e of the result.
uint FinishElement(float sum, uint n, uint e, uint c_offset) {
  float value = uintBitsToFloat(P(10)) * sum;
  if (kHasC != 0u) value += uintBitsToFloat(P(11)) * LOAD(4, kType, c_offset + n * P(9));
  if (kHasResidual != 0u) value += LOAD(5, kType, e);
  return Encode(Activate(value), kType).x;
}

// Words of a row from `first` on, of which those from `own` on are this tile's.
void StoreTile(SumsOfWords sums, uint own, uint first, uvec4 offsets) {
  const uint first_of_result = UNIFORM(offsets.w / kElementsOfWord + first);
  FOR_EACH_VECTOR(v) {
    const uint word = first + PlaceInStretch(v);
    uint bits = 0u;
    [[unroll]] for (uint i = 0u; i < kElementsOfWord; ++i) {
      // What is behind the last column counts nothing.
      const uint n = min(word * kElementsOfWord + i, P(2) - 1u);
      const float sum = sums.of[v * kElementsOfWord + i];
      bits |= FinishElement(sum, n, offsets.w + n, offsets.z) << (16u * i);
    }
    if (word >= own) STORE_WORD(3, first_of_result + PlaceInStretch(v), bits);
  }
}

// Rows have the words of a tile, or more; the last tile of one begins early enough to be whole.
void ComputeByWords() {
  const uint words = (P(2) + kElementsOfWord - 1u) / kElementsOfWord;
  const uint across = (words + WordsOfTile() - 1u) / WordsOfTile();
  WORKGROUP_STRIDE_LOOP(index, P(0) * across) {
    const uint matrix = index / across;
    const uint own = (index - matrix * across) * WordsOfTile();
    const uint first = min(own, words - WordsOfTile());
    const uvec4 offsets = StridedOffsets(matrix, 4u, P(12));
    const uint last = WordOf(kType, offsets.y + (P(3) - 1u) * P(6) + P(2) - 1u);
    StoreTile(SumDepth(offsets.x, offsets.y + first * kElementsOfWord, last), own, first, offsets);
  }
}

#endif  // WEBNND_SHADERS_ROW_BY_WORDS_GLSL_
