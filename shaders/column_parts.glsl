// Columns that are normalized, or reduced, each by itself, on llvmpipe: a tensor as planes of rows, whose words are beside
// each other in lanes. A workgroup, which is one subgroup, takes some words of a part of a plane's rows: kVectors
// of them in each lane, at once or, with few lanes, in turns. Where vectors are few, it sums kRowsAtOnce rows at once, so
// that additions need not wait for each other.
//
// Parameters: 0 units of work; 1 rows of a plane; 2 words of a row; 3 rows of a part; in uvec4 1 {units across, as
// divisor}; in uvec4 2 {parts of a plane, as divisor}, planes. Before it is included: kType and kVectors, 1 to 4 or, of
// float32, 8.
#ifndef WEBNND_SHADERS_COLUMN_PARTS_GLSL_
#define WEBNND_SHADERS_COLUMN_PARTS_GLSL_

#include "subgroup.glsl"

const uint kLanesMax = 16u;  // As in service/passes/column_parts.h.
const uint kPerWord = kType == kFloat16 ? 2u : 1u;
const uint kVectorsMax = 8u;
const uint kColumnsMax = 8u;  // Of a lane.
const uint kRowsAtOnce = kVectors < 4u ? 4u / kVectors : 1u;

// Of column `c` of this lane: which vector has it, and which half of its words.
#define FOR_COLUMNS(c) [[unroll]] for (uint c = 0u; c < kVectors * kPerWord; ++c)
#define FOR_VECTORS(k) [[unroll]] for (uint k = 0u; k < kVectors; ++k)

struct Part {
  uint plane;
  uint number;  // Among those of all planes: part 0 of each plane first.
  uint begin;   // Rows of the plane.
  uint end;
};

// Of a row, the first word of a vector; the last ones begin early enough to be whole, and what two have is the same.
uint FirstOfVector(uint first, uint k) { return min(first + k * kSubgroupSize, P(2) - kSubgroupSize); }

// A word of each vector of a row of the plane, in `slot`.
#define LOAD_ROW_OF_PART(words, slot, part, row, first)                                                 \
  {                                                                                                     \
    const uint base_ = ((part).plane * P(1) + (row)) * P(2);                                            \
    FOR_VECTORS(k_) {                                                                                   \
      words[k_] = LOAD_WORD(slot, UNIFORM(base_ + FirstOfVector(first, k_)) + gl_SubgroupInvocationID); \
    }                                                                                                   \
  }

// Column c of what a vector of words, one of each lane, has.
#define COLUMN_OF(words, c) \
  (kType == kFloat16 ? HalfToFloat((words)[(c) / kPerWord] >> (16u * ((c) % kPerWord))) \
                     : uintBitsToFloat((words)[(c) / kPerWord]))

// Where float32 of columns lie for a part, or for all planes: those of the lower halves of words first.
uint PlaceOfColumn(uint number, uint first, uint c) {
  return UNIFORM((number * kPerWord + c % kPerWord) * P(2) + FirstOfVector(first, c / kPerWord)) +
         gl_SubgroupInvocationID;
}

// COMPUTE(part, first) for each of the workgroup's share of units: words from `first` on.
#define COLUMN_PARTS_LOOP(COMPUTE)                                                                  \
  WORKGROUP_STRIDE_LOOP(unit_, P(0)) {                                                              \
    const uvec3 across_ = P4(1).xyz;                                                                \
    const uvec4 parts_ = P4(2);                                                                     \
    const uint all_ = Divide(unit_, across_);                                                       \
    const uint plane_ = Divide(all_, parts_.xyz);                                                   \
    const uint part_ = all_ - plane_ * parts_.x;                                                    \
    const Part of_unit_ = Part(plane_, part_ * parts_.w + plane_, part_ * P(3),                     \
                               min((part_ + 1u) * P(3), P(1)));                                     \
    const uint first_ = (unit_ - all_ * across_.x) * kVectors * kLanesMax;                          \
    for (uint i_ = UNKNOWN_ZERO; i_ < kVectors * kLanesMax; i_ += kVectors * kSubgroupSize) {       \
      COMPUTE(of_unit_, first_ + i_);                                                               \
    }                                                                                               \
  }

#endif  // WEBNND_SHADERS_COLUMN_PARTS_GLSL_
