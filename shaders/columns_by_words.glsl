// Windows over rows of 32-bit elements on llvmpipe, by words: neighbouring invocations have neighbouring columns
// of the result, and what they load for a tap lies kWordStep words apart, so that it is loaded as vectors.
//
// A module has constants kWordStep, 1 or 2, and kTapsOfRow (0: not known), and the width's parameters at kWidth
// (window.glsl).
#ifndef WEBNND_SHADERS_COLUMNS_BY_WORDS_GLSL_
#define WEBNND_SHADERS_COLUMNS_BY_WORDS_GLSL_

#include "subgroup.glsl"
#include "window.glsl"

// COMPUTE(vectors) for each stretch of the `length` columns of a row, `first` its first one: of four vectors, of
// which more than two are inside, or of one.
#define FOR_EACH_STRETCH(first, length, COMPUTE)                                                  \
  {                                                                                               \
    uint first = UNKNOWN_ZERO;                                                                    \
    for (; first + 2u * kSubgroupSize < (length); first += 4u * kSubgroupSize) COMPUTE(4u)        \
    for (; first < (length); first += kSubgroupSize) COMPUTE(1u)                                  \
  }

// The taps of a row, inside or not; a loop where they are many.
#define FOR_EACH_TAP(kx)                                                                          \
  const uint taps_of_row_ = kTapsOfRow != 0u ? kTapsOfRow : P4(kWidth).y;                         \
  [[unroll]] for (uint kx = 0u; kx < taps_of_row_; ++kx)

// Declares `words`, what the columns of a stretch have under a tap; that of its first column is at `from` of slot
// `slot`, which all invocations share. In the padding it is whatever lies there, or, before the tensor, its first word:
// of few stretches, in a loop, which drivers leave out for others.
#define LOAD_COLUMNS(slot, words, vectors, from)                                                  \
  uint words[vectors];                                                                            \
  {                                                                                               \
    const uint given_ = (from);                                                                   \
    const uint lane_ = kWordStep * gl_SubgroupInvocationID;                                       \
    const uint from_ = UNIFORM(int(given_) < 0 ? 0u : given_) + lane_;                            \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                         \
      words[v_] = LOAD_WORD(slot, from_ + v_ * kWordStep * kSubgroupSize);                        \
    }                                                                                             \
    for (uint left_ = int(given_) < 0 ? 1u : 0u; left_ > 0u; --left_) {                           \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                       \
        const int place_ = int(given_ + lane_ + v_ * kWordStep * kSubgroupSize);                  \
        words[v_] = LOAD_WORD(slot, uint(max(place_, 0)));                                        \
      }                                                                                           \
    }                                                                                             \
  }

// Whether vector v's is inside, where that of the first column is in column `column`, which before the first one
// has wrapped, of `width`.
#define IS_COLUMN_INSIDE(v, column, width) ((column) + kWordStep * PlaceInStretch(v) < (width))

#endif  // WEBNND_SHADERS_COLUMNS_BY_WORDS_GLSL_
