// Windows over rows of elements of up to 32 bits on llvmpipe: neighbouring invocations have neighbouring columns
// of the result, and what they load for a tap lies kColumnStep elements apart, so that it is loaded as vectors.
//
// A module has constants kColumnStep, 1 or 2, and kTapsOfRow (0: not known), the vectors of columns that it takes at
// once, kVectorsAtOnce, and the width's parameters at kWidth (window.glsl).
#ifndef WEBNND_SHADERS_COLUMN_WINDOWS_GLSL_
#define WEBNND_SHADERS_COLUMN_WINDOWS_GLSL_

#include "subgroup.glsl"
#include "window.glsl"

// COMPUTE(vectors, is_before, are_whole) for each stretch of the `length` columns of a row, `first` its first one: of
// kVectorsAtOnce vectors, of which more than half are inside, or of one. is_before: of a row whose first tap's element is number
// `first_element` from where the row's image begins in the tensor on, what it has left of the image may be before it.
// are_whole: all columns are inside, and all that they see.
#define FOR_EACH_STRETCH(first, length, first_element, COMPUTE)                                             \
  {                                                                                                         \
    const uint padding_ = UNIFORM(P4(kWidth).z);                                                            \
    const uint before_ = (first_element) < padding_ ? min((padding_ - 1u) / kColumnStep + 1u, length) : 0u; \
    const uint at_once_ = kVectorsAtOnce * kSubgroupSize;                                                   \
    const uint seen_ = (P4(kWidth).y - 1u) * WINDOW_DILATION(kWidth) + kColumnStep * (at_once_ - 1u) + 1u;  \
    const uint end_ = P4(kWidth).x + padding_;                                                              \
    const uint inside_ = seen_ <= end_ ? (end_ - seen_) / kColumnStep + 1u : 0u;                            \
    const uint begin_whole_ = UNIFORM((padding_ + kColumnStep - 1u) / kColumnStep);                         \
    const uint end_whole_ = UNIFORM(min(inside_, (length) + 1u - min(at_once_, (length) + 1u)));            \
    uint first = UNKNOWN_ZERO;                                                                              \
    for (; first < before_; first += kSubgroupSize) COMPUTE(1u, true, false)                                \
    while (first + at_once_ / 2u < (length)) {                                                              \
      COMPUTE(kVectorsAtOnce, false, false)                                                                 \
      first += at_once_;                                                                                    \
      for (; first >= begin_whole_ && first < end_whole_; first += at_once_) {                              \
        COMPUTE(kVectorsAtOnce, false, true)                                                                \
      }                                                                                                     \
    }                                                                                                       \
    for (; first < (length); first += kSubgroupSize) COMPUTE(1u, false, false)                              \
  }

// The taps of a row, inside or not; a loop where they are many.
#define FOR_EACH_TAP(kx)                                                                          \
  const uint taps_of_row_ = kTapsOfRow != 0u ? kTapsOfRow : P4(kWidth).y;                         \
  [[unroll]] for (uint kx = 0u; kx < taps_of_row_; ++kx)

// Declares `bits`, what the columns of a stretch have under a tap; that of its first column is at `from` of slot
// `slot`, of elements of `type`, which all invocations share. In the padding it is whatever lies there, or the first
// element where `is_before`.
#define LOAD_COLUMNS(slot, type, bits, vectors, is_before, from)                                  \
  uint bits[vectors];                                                                             \
  {                                                                                               \
    const uint from_ = (from) + kColumnStep * gl_SubgroupInvocationID;                            \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                         \
      const uint place_ = from_ + v_ * kColumnStep * kSubgroupSize;                               \
      bits[v_] = LOAD_RAW(slot, type, (is_before) ? uint(max(int(place_), 0)) : place_).x;        \
    }                                                                                             \
  }

// Whether vector v's is inside, where that of the first column is in column `column`, which before the first one
// has wrapped, of `width`.
#define IS_COLUMN_INSIDE(v, column, width, are_whole) \
  ((are_whole) || (column) + kColumnStep * PlaceInStretch(v) < (width))

#endif  // WEBNND_SHADERS_COLUMN_WINDOWS_GLSL_
