// Subgroups: how many invocations each has.
#ifndef WEBNND_SHADERS_SUBGROUP_GLSL_
#define WEBNND_SHADERS_SUBGROUP_GLSL_

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

// Before it declares the local size, gl_WorkGroupSize would be 1.
#include "tensor.glsl"

// Of every subgroup, or 0 where that is not certain.
layout(constant_id = 100) const uint kSubgroupSize = 0u;  // kSubgroupSizeConstant of shader_table.h.

// In place of gl_SubgroupSize, of which llvmpipe does not know early enough that it never varies: it
// runs both sides of an `if` on it, and selects by mask what the two leave.
#define SUBGROUP_SIZE (kSubgroupSize != 0u ? kSubgroupSize : gl_SubgroupSize)

// Whether a workgroup is one subgroup, as on llvmpipe.
bool IsWorkgroupOneSubgroup() { return kSubgroupSize != 0u && gl_WorkGroupSize.x == kSubgroupSize; }

// The loop over `count` units of work of which each subgroup of the grid takes one at a time, its
// neighbours those beside it.
#define SUBGROUP_STRIDE_LOOP(i, count)                                          \
  for (uint i = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; i < (count); \
       i += gl_NumSubgroups * gl_NumWorkGroups.x)

// `x`, which all invocations of a subgroup have, the first one among them: for drivers that cannot
// tell. On llvmpipe it is then computed once, and places that differ by the invocation's number alone
// are known to follow each other.
#define UNIFORM(x) subgroupShuffle(x, 0u)

// BODY(a, b) for each of a workgroup's share of `count` units, such as rows, where that is one subgroup: a and
// b are what PLACES(unit) gives. Finding it takes as long as copying a unit: each invocation finds one of the
// next units', and they pass them on.
#define PLACED_UNITS_LOOP(count, PLACES, BODY)                                                              \
  {                                                                                                         \
    const uint end_ = StartOfWorkgroup(gl_WorkGroupID.x + 1u, count);                                       \
    uint first_ = StartOfWorkgroup(gl_WorkGroupID.x, count);                                                \
    for (; first_ < end_; first_ += kSubgroupSize) {                                                        \
      uvec2 places_ = PLACES(min(first_ + gl_SubgroupInvocationID, end_ - 1u));                             \
      for (uint left_ = min(end_ - first_, kSubgroupSize); left_ > 0u; --left_) {                           \
        const uint a_ = UNIFORM(places_.x);                                                                 \
        const uint b_ = UNIFORM(places_.y);                                                                 \
        places_ = subgroupShuffle(places_, (gl_SubgroupInvocationID + 1u) % kSubgroupSize);                 \
        BODY(a_, b_);                                                                                       \
      }                                                                                                     \
    }                                                                                                       \
  }

// The k-th of this invocation's words in a stretch that a subgroup takes, neighbours beside each other.
uint PlaceInStretch(uint k) { return k * kSubgroupSize + gl_SubgroupInvocationID; }

// Stores `count` words of a row by stretches, where a workgroup is one subgroup: WORD(i, from, k) gives word
// i + PlaceInStretch(k), from what is from `from` + PlaceInStretch(k) on; the first ones are at `first_to` of slot
// `slot` and, of whatever is loaded, at `first_from`. All of a stretch are loaded before the first is stored, and
// where it begins is found once, so that drivers know them to follow each other. On llvmpipe what neighbours load
// and store as quads is shuffled on the way, and words are not.
#define STRETCHES_LOOP(slot, first_to, first_from, count, WORD)                                             \
  {                                                                                                         \
    const uint words_ = (count);                                                                            \
    uint i_ = UNKNOWN_ZERO;                                                                                 \
    STRETCHES_OF_VECTORS(slot, first_to, first_from, 8u, WORD)                                              \
    STRETCHES_OF_VECTORS(slot, first_to, first_from, 1u, WORD)                                              \
    const uint from_ = UNIFORM((first_from) + i_);                                                          \
    const uint to_ = UNIFORM((first_to) + i_);                                                              \
    if (i_ + gl_SubgroupInvocationID < words_) {                                                            \
      STORE_WORD(slot, to_ + gl_SubgroupInvocationID, WORD(i_, from_, 0u));                                 \
    }                                                                                                       \
  }
#define STRETCHES_OF_VECTORS(slot, first_to, first_from, vectors, WORD)                                     \
  for (; i_ + (vectors) * kSubgroupSize <= words_; i_ += (vectors) * kSubgroupSize) {                       \
    const uint from_ = UNIFORM((first_from) + i_);                                                          \
    const uint to_ = UNIFORM((first_to) + i_);                                                              \
    uint stretch_[vectors];                                                                                 \
    [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) stretch_[k_] = WORD(i_, from_, k_);                 \
    [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {                                                   \
      STORE_WORD(slot, to_ + PlaceInStretch(k_), stretch_[k_]);                                             \
    }                                                                                                       \
  }

float SumOverSubgroup(float value) {
  for (uint step = 1u; step < SUBGROUP_SIZE; step *= 2u) value += subgroupShuffleXor(value, step);
  return value;
}

#endif  // WEBNND_SHADERS_SUBGROUP_GLSL_
