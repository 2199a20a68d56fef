// Rows that are copied as they are, wherever they begin on either side, by a workgroup that is one subgroup, as on
// llvmpipe: by words of the result, and one by one where elements share a word with what is beside the row.
#ifndef WEBNND_SHADERS_ROW_COPY_GLSL_
#define WEBNND_SHADERS_ROW_COPY_GLSL_

#include "subgroup.glsl"

// Writes `length` elements of `type`, of 8 to 32 bits, from element `to` of slot `slot` on: the words that are all the
// row's by STRETCHES_LOOP, from `first_from` on, and of those at its ends element i by RAW(i).
#define STORE_ROW(slot, type, to, length, first_from, WORD, RAW)                                                     \
  {                                                                                                                  \
    const uint log2_per_word_ = 5u - BitsLog2(type);                                                                 \
    const uint before_ = min((0u - (to)) & ((1u << log2_per_word_) - 1u), length);                                   \
    const uint row_words_ = ((length) - before_) >> log2_per_word_;                                                  \
    STRETCHES_LOOP(slot, ((to) + before_) >> log2_per_word_, first_from, row_words_, WORD)                           \
    if (log2_per_word_ > 0u) {                                                                                       \
      const uint lane_ = gl_SubgroupInvocationID;                                                                    \
      if (lane_ < before_) STORE_ELEMENT(slot, type, (to) + lane_, RAW(lane_))                                       \
      const uint behind_ = before_ + (row_words_ << log2_per_word_) + lane_;                                         \
      if (behind_ < (length)) STORE_ELEMENT(slot, type, (to) + behind_, RAW(behind_))                                \
    }                                                                                                                \
  }

// CopyRow(to, from, length): elements of slot `from_slot` from `from` on become those of slot `to_slot` from `to` on.
#define DECLARE_COPY_ROW(to_slot, from_slot, type)                                                                   \
  uint WordAt(uint word, uint next, uint shift) {                                                                    \
    if (BitsLog2(type) == 5u) return LOAD_WORD(from_slot, word);                                                     \
    return JoinWords(LOAD_WORD(from_slot, word), LOAD_WORD(from_slot, next), shift);                                 \
  }                                                                                                                  \
  uvec2 RawAt(uint e) { return LOAD_RAW(from_slot, type, e); }                                                       \
  void CopyRow(uint to, uint from, uint length) {                                                                    \
    const uint whole = from + ((0u - to) & ((32u >> BitsLog2(type)) - 1u));                                          \
    const uint shift = ShiftInWord(type, whole);                                                                     \
    const uint ahead = shift != 0u ? 1u : 0u; /* Else no element is in the word behind. */                           \
    STORE_ROW(to_slot, type, to, length, WordOf(type, whole), COPIED_WORD, COPIED_RAW)                               \
  }
#define COPIED_WORD(i, from_word, k) \
  WordAt((from_word) + PlaceInStretch(k), UNIFORM((from_word) + ahead) + PlaceInStretch(k), shift)
#define COPIED_RAW(i) RawAt(from + (i))

#endif  // WEBNND_SHADERS_ROW_COPY_GLSL_
