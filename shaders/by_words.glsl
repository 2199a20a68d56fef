// Results of elements of at most 32 bits by words, whose operands have as wide ones in the same places, or in rows.
// Invocations that have no word of their own left load what is behind a row's, or behind the last one: anything.
//
// Where each invocation has a quad, llvmpipe turns what it loads from quads into vectors of words, and
// what it stores back. Here neighbours have neighbouring words, and vectors are loaded and stored as they
// lie. Others coalesce quads: they do not go by words.
#ifndef WEBNND_SHADERS_BY_WORDS_GLSL_
#define WEBNND_SHADERS_BY_WORDS_GLSL_

#include "stream.glsl"
#include "strided.glsl"

#if TENSOR_READS == READS_TEXELS
#include "subgroup.glsl"

bool CanGoByWords(uint type) { return BitsLog2(type) < 6u && IsWorkgroupOneSubgroup(); }

// A turn of a loop takes so many words of each invocation.
const uint kWordsAtOnce = 4u;
uint TurnsOf(uint words) {
  return (words + kWordsAtOnce * kSubgroupSize - 1u) / (kWordsAtOnce * kSubgroupSize);
}
uint FirstWordOfTurn(uint turn) { return turn * kWordsAtOnce * kSubgroupSize; }

// Of `words` words, one that vector k of a turn from `base` on asks for, turns ahead: a processor sees lines
// coming, but looks no further than some vectors, where each takes long to compute.
const uint kWordsAhead = 512u;
#define WORD_AHEAD(base, k, words) UNIFORM(min((base) + (kWordsAhead + (k) * kSubgroupSize), (words) - 1u))

// As STORE_QUADS of tensor.glsl, by turns of words: PREPARE_TURN(word) gives what those from `word` on have
// in common, a `Turn`, and PREPARE_WORD(turn, i, ahead) what the elements of the i-th of them have, and may ask
// for word `ahead` of operands; COMPUTE_ELEMENT takes them for the first ones of a quad. It is called for all of
// the last word, too: what is behind the last element is free.
#define STORE_BY_WORDS(slot, type, count, Turn, PREPARE_TURN, State, PREPARE_WORD, COMPUTE_ELEMENT)       \
  {                                                                                                       \
    const uint words_ = WordsOf(type, count);                                                             \
    const uint end_ = StartOfWorkgroup(gl_WorkGroupID.x + 1u, TurnsOf(words_));                           \
    for (uint i_ = StartOfWorkgroup(gl_WorkGroupID.x, TurnsOf(words_)); i_ < end_; ++i_) {                \
      const uint base_ = UNIFORM(FirstWordOfTurn(i_));                                                    \
      const Turn turn_ = PREPARE_TURN(base_);                                                             \
      [[unroll]] for (uint k_ = 0u; k_ < kWordsAtOnce; ++k_) {                                            \
        const uint word_ = base_ + PlaceInStretch(k_);                                                    \
        const uint ahead_ = WORD_AHEAD(base_, k_, words_);                                                \
        const State state_ = PREPARE_WORD(turn_, PlaceInStretch(k_), ahead_);                             \
        uvec4 bits_ = uvec4(0u);                                                                          \
        [[unroll]] for (uint j_ = 0u; j_ < 32u >> BitsLog2(type); ++j_) {                                 \
          const uint e_ = (word_ << (5u - BitsLog2(type))) + j_;                                          \
          InsertElement(bits_, type, j_, COMPUTE_ELEMENT(state_, e_, j_));                                \
        }                                                                                                 \
        if (word_ < words_) STORE_WORD(slot, word_, bits_.x);                                             \
      }                                                                                                   \
    }                                                                                                     \
  }

// The same of elements of 32 bits, few of which take more than others: COMPUTE_ORDINARY(state, is_ordinary)
// gives the bits of those that it says are ordinary, COMPUTE_ANY(state) those of all. The few are computed once
// in some turns, in a loop, which drivers leave out where no invocation has any: in the turns themselves it would
// take their registers. There only invocations that have some know their turn. Nothing is stored to them before,
// for the result may share an operand's memory.
const uint kTurnsTogether = 32u / kWordsAtOnce;
#define STORE_MOSTLY_ORDINARY(slot, count, Turn, PREPARE_TURN, State, PREPARE_WORD, COMPUTE_ORDINARY,     \
                              COMPUTE_ANY)                                                                \
  {                                                                                                       \
    const uint words_ = (count);                                                                          \
    const uint end_ = StartOfWorkgroup(gl_WorkGroupID.x + 1u, TurnsOf(words_));                           \
    uint first_ = StartOfWorkgroup(gl_WorkGroupID.x, TurnsOf(words_));                                    \
    for (; first_ < end_; first_ += kTurnsTogether) {                                                     \
      const uint turns_ = min(end_ - first_, kTurnsTogether);                                             \
      uint others_ = 0u; /* A bit of each word, the last one's lowest. */                                 \
      for (uint i_ = UNKNOWN_ZERO; i_ < turns_; ++i_) {                                                   \
        const uint base_ = UNIFORM(FirstWordOfTurn(first_ + i_));                                         \
        const Turn turn_ = PREPARE_TURN(base_);                                                           \
        [[unroll]] for (uint k_ = 0u; k_ < kWordsAtOnce; ++k_) {                                          \
          const uint word_ = base_ + PlaceInStretch(k_);                                                  \
          const uint ahead_ = WORD_AHEAD(base_, k_, words_);                                              \
          const State state_ = PREPARE_WORD(turn_, PlaceInStretch(k_), ahead_);                           \
          bool is_ordinary_;                                                                              \
          const uint bits_ = COMPUTE_ORDINARY(state_, is_ordinary_);                                      \
          others_ = others_ * 2u + (is_ordinary_ ? 0u : 1u);                                              \
          if (word_ < words_ && is_ordinary_) STORE_WORD(slot, word_, bits_);                             \
        }                                                                                                 \
      }                                                                                                   \
      while (others_ != 0u) {                                                                             \
        for (uint i_ = UNKNOWN_ZERO; i_ < turns_; ++i_) {                                                 \
          const uint base_ = FirstWordOfTurn(first_ + i_);                                                \
          const Turn turn_ = PREPARE_TURN(base_);                                                         \
          [[unroll]] for (uint k_ = 0u; k_ < kWordsAtOnce; ++k_) {                                        \
            const uint word_ = base_ + PlaceInStretch(k_);                                                \
            const uint bits_ = COMPUTE_ANY(PREPARE_WORD(turn_, PlaceInStretch(k_), base_));               \
            const uint behind_ = (turns_ - i_) * kWordsAtOnce - 1u - k_;                                  \
            const bool is_other_ = ((others_ >> behind_) & 1u) != 0u;                                     \
            if (word_ < words_ && is_other_) STORE_WORD(slot, word_, bits_);                              \
          }                                                                                               \
        }                                                                                                 \
        others_ = 0u;                                                                                     \
      }                                                                                                   \
    }                                                                                                     \
  }

// For modules of strided.glsl whose dimensions follow from uvec4 1 on: elements of a row. Not 0 where all parameters are.
uint LengthOfRow(uint rank) { return max(P4(2u * max(rank, 1u) - 1u).x, 1u); }

// From a turn that begins at `in_row` of row `row` to the next one, which may be another row's.
#define NEXT_TURN_OF_ROWS(row, in_row, of_turn, length)                                                   \
  {                                                                                                       \
    in_row += of_turn;                                                                                    \
    const bool is_next_ = in_row >= (length);                                                             \
    row += is_next_ ? 1u : 0u;                                                                            \
    in_row = is_next_ ? 0u : in_row;                                                                      \
  }

// As STORE_BY_WORDS, but turns, of so many vectors, begin anew in each row of `length` elements, which is any number
// of them: those of its words that are whole. Words that rows share, and a last one that is not whole, are put together of what
// COMPUTE_AT(e) gives for their elements.
#define STORE_ROWS_BY_WORDS(slot, type, count, length, vectors, Turn, PREPARE_TURN, State, PREPARE_WORD,  \
                            COMPUTE_ELEMENT, COMPUTE_AT)                                                  \
  {                                                                                                       \
    const uint log2_per_word_ = 5u - BitsLog2(type);                                                      \
    const uint per_word_ = 1u << log2_per_word_;                                                          \
    const uint length_ = (length);                                                                        \
    const uint rows_ = (count) / length_;                                                                 \
    const uint words_max_ = length_ >> log2_per_word_;                                                    \
    const uint words_of_turn_ = (vectors) * kSubgroupSize;                                                \
    /* Not 0 where all parameters are. */                                                                 \
    const uint turns_of_row_ = max((words_max_ + words_of_turn_ - 1u) / words_of_turn_, 1u);              \
    const uint turns_ = rows_ * turns_of_row_;                                                            \
    const uint end_ = StartOfWorkgroup(gl_WorkGroupID.x + 1u, turns_);                                    \
    uint i_ = StartOfWorkgroup(gl_WorkGroupID.x, turns_);                                                 \
    uint row_ = i_ / turns_of_row_;                                                                       \
    uint in_row_ = (i_ - row_ * turns_of_row_) * words_of_turn_;                                          \
    for (; i_ < end_; ++i_) {                                                                             \
      const uint first_ = (row_ * length_ + per_word_ - 1u) >> log2_per_word_;                            \
      const uint words_ = ((row_ * length_ + length_) >> log2_per_word_) - first_;                        \
      const uint base_ = UNIFORM(first_ + in_row_);                                                       \
      const Turn turn_ = PREPARE_TURN(base_);                                                             \
      [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {                                               \
        const uint ahead_ = WORD_AHEAD(base_, k_, WordsOf(type, count));                                  \
        const State state_ = PREPARE_WORD(turn_, PlaceInStretch(k_), ahead_);                             \
        const uint word_ = base_ + PlaceInStretch(k_);                                                    \
        uvec4 bits_ = uvec4(0u);                                                                          \
        [[unroll]] for (uint j_ = 0u; j_ < per_word_; ++j_) {                                             \
          const uint e_ = (word_ << log2_per_word_) + j_;                                                 \
          InsertElement(bits_, type, j_, COMPUTE_ELEMENT(state_, e_, j_));                                \
        }                                                                                                 \
        if (in_row_ + PlaceInStretch(k_) < words_) STORE_WORD(slot, word_, bits_.x);                      \
      }                                                                                                   \
      NEXT_TURN_OF_ROWS(row_, in_row_, words_of_turn_, words_max_)                                        \
    }                                                                                                     \
    if (per_word_ > 1u) {                                                                                 \
      const uint last_ = StartOfWorkgroup(gl_WorkGroupID.x + 1u, rows_);                                  \
      uint row_ = StartOfWorkgroup(gl_WorkGroupID.x, rows_) + gl_SubgroupInvocationID;                    \
      for (; row_ < last_; row_ += kSubgroupSize) {                                                       \
        const uint next_ = row_ * length_ + length_;                                                      \
        const uint first_ = next_ & ~(per_word_ - 1u);                                                    \
        if (first_ != next_) {                                                                            \
          uvec4 bits_ = uvec4(0u);                                                                        \
          [[unroll]] for (uint j_ = 0u; j_ < per_word_; ++j_) {                                           \
            InsertElement(bits_, type, j_, COMPUTE_AT(min(first_ + j_, (count) - 1u)));                   \
          }                                                                                               \
          STORE_WORD(slot, first_ >> log2_per_word_, bits_.x);                                            \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
  }

// The same where operands are of another width than the result, of which each lane has elements: a turn is what
// PREPARE_TURN(e) gives of the element that it begins with, and COMPUTE(turn, i) gives the bits of the turn's i-th one,
// or anything where that is behind the row.
#define STORE_ROWS_BY_ELEMENTS(slot, type, count, length, vectors, Turn, PREPARE_TURN, COMPUTE)           \
  {                                                                                                       \
    const uint length_ = (length);                                                                        \
    const uint of_turn_ = (vectors) * kSubgroupSize;                                                      \
    const uint turns_of_row_ = (length_ + of_turn_ - 1u) / of_turn_;                                      \
    const uint turns_ = (count) / length_ * turns_of_row_;                                                \
    const uint end_ = StartOfWorkgroup(gl_WorkGroupID.x + 1u, turns_);                                    \
    uint i_ = StartOfWorkgroup(gl_WorkGroupID.x, turns_);                                                 \
    uint row_ = i_ / turns_of_row_;                                                                       \
    uint in_row_ = (i_ - row_ * turns_of_row_) * of_turn_;                                                \
    for (; i_ < end_; ++i_) {                                                                             \
      const uint first_ = UNIFORM(row_ * length_ + in_row_);                                              \
      const Turn turn_ = PREPARE_TURN(first_);                                                            \
      [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {                                               \
        const uint place_ = PlaceInStretch(k_);                                                           \
        const uvec2 raw_ = COMPUTE(turn_, place_);                                                        \
        if (in_row_ + place_ < length_) STORE_ELEMENT(slot, type, first_ + place_, raw_)                  \
      }                                                                                                   \
      NEXT_TURN_OF_ROWS(row_, in_row_, of_turn_, length_)                                                 \
    }                                                                                                     \
  }

// For modules of strided.glsl. Whether operands of that access can go by words, where turns lie in rows:
bool CanOperandGoByWords(uint access) { return access == kAccessQuad || access == kAccessOne; }

// Offsets of the first element of a turn that all invocations take, which is element `e`, or of word `word`.
uvec4 OffsetsOfTurn(uint e) {
  if (STRIDED_RANK == 1u) return uvec4(e);
  const uvec4 offsets = StridedOffsets(e, 1u, P(1));
  return uvec4(UNIFORM(offsets.x), UNIFORM(offsets.y), UNIFORM(offsets.z), UNIFORM(offsets.w));
}
uvec4 OffsetsOfTurn(uint word, uint type) { return OffsetsOfTurn(word << (5u - BitsLog2(type))); }

// Where rows go by words one by one `rows_by_words` is not 0, and says of each operand, in two bits from the second
// lowest on, what a row has of it (RowOperand of service/passes/lower_elementwise.cc): elements that begin with a
// word where those of the result do, one element, or elements that begin anywhere.
const uint kRowOne = 1u;
const uint kRowAnywhere = 2u;
uint OperandOfRow(uint rows_by_words, uint operand) { return (rows_by_words >> (2u * operand + 1u)) & 3u; }
uint AccessOfRows(uint rows_by_words, uint operand) {
  return OperandOfRow(rows_by_words, operand) == kRowOne ? kAccessOne : kAccessQuad;
}
bool BeginsAnywhere(uint rows_by_words, uint operand) {
  return OperandOfRow(rows_by_words, operand) == kRowAnywhere;
}
// Above that it says how many vectors a turn has.
uint VectorsOfTurn(uint rows_by_words) { return rows_by_words >> 9; }

// What the elements of the turn's i-th word have of the operand in `slot`, as a quad. `anywhere`: whether they may
// begin within a word of it.
#define OPERAND_WORD(slot, type, access, anywhere, offset, i, ahead)                                      \
  uvec4((access) == kAccessOne ? LOAD_RAW(slot, type, STRIDED_RANK == 1u ? 0u : (offset)).x               \
        : (anywhere) && BitsLog2(type) < 5u                                                               \
            ? JoinWords(LOAD_WORD(slot, WordOf(type, offset) + (i)),                                      \
                        LOAD_WORD(slot, WordOf(type, (offset) + (32u >> BitsLog2(type)) - 1u) + (i)),     \
                        ShiftInWord(type, offset))                                                        \
            : LOAD_WORD(slot, WordOf(type, offset) + (i)) +                                               \
                  (STRIDED_RANK == 1u ? ASK_WORD(slot, ahead) : 0u),                                      \
        0u, 0u, 0u)

#endif

#endif  // WEBNND_SHADERS_BY_WORDS_GLSL_
