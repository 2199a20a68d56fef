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

// Of the row of b whose words of this tile begin at `first`, times its element of a.
void AddRowOfB(uint first, float a, inout SumsOfWords sums) {
  // All of them constants away from one place: a run (base/drivers_llvm/lane_loads.h).
  const uint place = first + gl_SubgroupInvocationID;
  FOR_EACH_VECTOR(v) {
    const uint word = LOAD_WORD(2, place + v * kSubgroupSize);
    [[unroll]] for (uint i = 0u; i < kElementsOfWord; ++i) {
      const uint j = v * kElementsOfWord + i;
      sums.of[j] = fma(a, ElementOfWord(word, i), sums.of[j]);
    }
  }
}

// Of a matrix whose row of a, and this tile's words of b, begin there.
SumsOfWords SumDepth(uint a_offset, uint first_word) {
  SumsOfWords sums;
  [[unroll]] for (uint j = 0u; j < kSumsMax; ++j) sums.of[j] = 0.0;
  const uint stride = P(6) / kElementsOfWord;
  uint k = UNKNOWN_ZERO;
  for (; k + kStepsOfTurn <= P(3); k += kStepsOfTurn) {
    [[unroll]] for (uint s = 0u; s < kStepsOfTurn; ++s) {
      const float a = LOAD(1, kType, UNIFORM(a_offset + (k + s) * P(5)));
      AddRowOfB(UNIFORM(first_word + (k + s) * stride), a, sums);
    }
  }
  for (; k < P(3); ++k) {
    const float a = LOAD(1, kType, UNIFORM(a_offset + k * P(5)));
    AddRowOfB(UNIFORM(first_word + k * stride), a, sums);
  }
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
      const uint n = word * kElementsOfWord + i;
      const float sum = sums.of[v * kElementsOfWord + i];
      bits |= FinishElement(sum, n, offsets.w + n, offsets.z) << (16u * i);
    }
    if (word >= own) STORE_WORD(3, first_of_result + PlaceInStretch(v), bits);
  }
}

// Rows have the words of a tile, or more; the last tile of one begins early enough to be whole.
void ComputeByWords() {
  const uint words = P(2) / kElementsOfWord;
  const uint across = (words + WordsOfTile() - 1u) / WordsOfTile();
  WORKGROUP_STRIDE_LOOP(index, P(0) * across) {
    const uint matrix = index / across;
    const uint own = (index - matrix * across) * WordsOfTile();
    const uint first = min(own, words - WordsOfTile());
    const uvec4 offsets = StridedOffsets(matrix, 4u, P(12));
    StoreTile(SumDepth(offsets.x, offsets.y / kElementsOfWord + first), own, first, offsets);
  }
}

#endif  // WEBNND_SHADERS_ROW_BY_WORDS_GLSL_
