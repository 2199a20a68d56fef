// Softmax along an axis behind which rows follow each other in whole words, on llvmpipe: slot 1 [outer, axis, inner]
// -> slot 2. A workgroup, which is one subgroup, takes some words of neighbouring rows at a time, all of their axis;
// caches keep them from one pass to the next. float16 are computed anew for the last one, float32 wait in the result.
//
// Parameters: 0 units; 1 size of the axis; 2 words behind it; uvec4 1 {units of an outer index, as divisor}.
// Specialisation constants: 1 data type, 2 how many vectors of words a unit has, 1 to 4.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "subgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kVectors = 1u;

#include "arithmetic.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kVectorsMax = 4u;
const uint kPerWordMax = 2u;
const uint kPerWord = kType == kFloat16 ? 2u : 1u;

float ElementOfWord(uint word, uint i) {
  return kType == kFloat16 ? unpackHalf2x16(word)[i] : uintBitsToFloat(word);
}

#define FOR_EACH_ELEMENT                                                    \
  [[unroll]] for (uint v = 0u; v < kVectorsMax; ++v) if (v < kVectors)      \
    [[unroll]] for (uint i = 0u; i < kPerWord; ++i)

// Words of place `k` of the axis, from word `from` of the first one on; `last`: of those behind it that are there.
#define LOAD_WORDS(words, k)                                                                    \
  uint words[kVectorsMax];                                                                      \
  {                                                                                             \
    const uint place_ = UNIFORM(from + (k) * P(2));                                             \
    [[unroll]] for (uint v = 0u; v < kVectorsMax; ++v) if (v < kVectors) {                      \
      words[v] = LOAD_WORD(1, place_ + (is_whole ? PlaceInStretch(v) : min(PlaceInStretch(v), last))); \
    }                                                                                           \
  }
#define STORE_WORDS(words, k)                                                                   \
  {                                                                                             \
    const uint place_ = UNIFORM(from + (k) * P(2));                                             \
    [[unroll]] for (uint v = 0u; v < kVectorsMax; ++v) if (v < kVectors) {                      \
      if (is_whole || PlaceInStretch(v) <= last) STORE_WORD(2, place_ + PlaceInStretch(v), words[v]); \
    }                                                                                           \
  }

void ComputeUnit(uint from, const bool is_whole, uint last) {
  float greatest[kVectorsMax][kPerWordMax];
  float sums[kVectorsMax][kPerWordMax];
  FOR_EACH_ELEMENT {
    greatest[v][i] = -INFINITY;
    sums[v][i] = 0.0;
  }
  for (uint k = UNKNOWN_ZERO; k < P(1); ++k) {
    LOAD_WORDS(words, k)
    FOR_EACH_ELEMENT greatest[v][i] = Max(greatest[v][i], ElementOfWord(words[v], i));
  }
  for (uint k = UNKNOWN_ZERO; k < P(1); ++k) {
    LOAD_WORDS(words, k)
    FOR_EACH_ELEMENT {
      const float power = Exp(ElementOfWord(words[v], i) - greatest[v][i]);
      sums[v][i] += power;
      if (kType == kFloat32) words[v] = floatBitsToUint(power);
    }
    if (kType == kFloat32) STORE_WORDS(words, k)
  }
  FOR_EACH_ELEMENT sums[v][i] = 1.0 / sums[v][i];
  for (uint k = UNKNOWN_ZERO; k < P(1); ++k) {
    uint results[kVectorsMax];
    if (kType == kFloat32) {
      const uint place = UNIFORM(from + k * P(2));
      [[unroll]] for (uint v = 0u; v < kVectorsMax; ++v) if (v < kVectors) {
        const uint own = is_whole ? PlaceInStretch(v) : min(PlaceInStretch(v), last);
        results[v] = floatBitsToUint(uintBitsToFloat(RELOAD_WORD(2, place + own)) * sums[v][0]);
      }
    } else {
      LOAD_WORDS(words, k)
      FOR_EACH_ELEMENT {
        const float share = Exp(ElementOfWord(words[v], i) - greatest[v][i]) * sums[v][i];
        results[v] = i == 0u ? FloatToHalf(share) : results[v] | FloatToHalf(share) << 16;
      }
    }
    STORE_WORDS(results, k)
  }
}

void main() {
  const uint words_of_unit = kVectors * 16u;  // As in service/passes/lower_softmax.cc: of the most lanes.
  const uint step = kVectors * kSubgroupSize;
  WORKGROUP_STRIDE_LOOP(unit, P(0)) {
    const uvec3 units = P4(1).xyz;
    const uint outer = UNIFORM(Divide(unit, units));
    const uint begin = UNIFORM((unit - outer * units.x) * words_of_unit);
    const uint end = UNIFORM(min(begin + words_of_unit, P(2)));
    const uint row = UNIFORM(outer * P(1) * P(2));
    uint first = begin;
    for (; first + step <= end; first += step) ComputeUnit(UNIFORM(row + first), true, 0u);
    for (; first < end; first += step) ComputeUnit(UNIFORM(row + first), false, end - 1u - first);
  }
}
