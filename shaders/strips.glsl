// Strips of a tensor along an axis: some neighbouring columns of what lies behind it, copied to where one
// row of them follows the other. What comes back to one column of a large tensor then finds it in a cache:
// as the tensor lies, all of a strip's lines are a row apart, each in a page of its own, and share few sets
// of a cache. A workgroup, which is one subgroup, has memory for one strip, and takes one after the other.
//
// Whatever their type, columns are words, and an invocation comes back to no others than it has copied: it
// waits for nobody.
//
// Parameters: 0 strips of all; 1 words of a row; 2 size of the axis; 3 indices along it; 4..6 strips of a
// row, as divisor. Specialisation constants: 1 element type, 2 data type of the indices, 3 words of a row of a
// strip.
#ifndef WEBNND_SHADERS_STRIPS_GLSL_
#define WEBNND_SHADERS_STRIPS_GLSL_

#include "index.glsl"
#include "stream.glsl"
#include "subgroup.glsl"

layout(constant_id = 1) const uint kType = 3u;
layout(constant_id = 2) const uint kIndexType = 2u;

layout(constant_id = 3) const uint kStripWords = 64u;  // Or 32.

// Vectors of words of a row that invocations take at a time: with short vectors, a strip is several.
const uint kVectorsAtOnce = kStripWords < 64u && kSubgroupSize > 8u ? 2u : 4u;
const uint kColumns = kVectorsAtOnce * kSubgroupSize;

const uint kRowsOfTurn = 4u;  // As in service/passes/lower_gather.cc.
const uint kLineWords = 16u;  // Of a line of a cache.
const uint kLinesOfRow = kColumns / kLineWords;
// Rows that are asked for ahead, as measured: of indices, and of what is copied to strips.
const uint kRowsAhead = kLinesOfRow > 2u ? 3u : kLinesOfRow > 1u ? 6u : 12u;
const uint kCopiedAhead = kLinesOfRow > 2u ? 8u : 16u;

// Elements that begin in a word, or the one that a word is half of.
uint ElementsOfWord() { return BitsLog2(kType) < 5u ? 32u >> BitsLog2(kType) : 1u; }
uint ElementOfWord(uint word) {
  return BitsLog2(kType) == 6u ? word >> 1 : word << (5u - BitsLog2(kType));
}
// Of the indices, where that of a word's first element begins.
uint WordOfIndex(uint word) { return ElementOfWord(word) << (BitsLog2(kIndexType) - 5u); }

// Where the workgroup has row `row` of its strip.
uint RowOfStrip(uint row) {
  return UNIFORM(gl_WorkGroupID.x * (kStripWords * P(2)) + row * kColumns);
}

// The place along the axis that the j-th element of word `word` of the indices' rows names.
#define LOAD_PLACE(slot, word, j) LOAD_INDEX(slot, kIndexType, ElementOfWord(word) + (j), P(2))

// ROW(i) for each of `count` rows, and for the last one again where they are no multiple of kRowsOfTurn.
#define ROWS_LOOP(count, ROW)                                              \
  for (uint turn_ = UNKNOWN_ZERO; turn_ < (count); turn_ += kRowsOfTurn) { \
    [[unroll]] for (uint r_ = 0u; r_ < kRowsOfTurn; ++r_) {                \
      ROW_OF_TURN(turn_ + r_, count, ROW)                                  \
    }                                                                      \
  }
// The same of rows from word `first` on. Each is a page from the one before it, and no processor sees the
// next one coming: what ASK(word) loads is asked for `ahead` rows ahead, line by line, for a processor waits for few
// lines at a time. It is added to `asked`, which is to be stored somewhere, lest it be left out.
#define ROWS_AHEAD_LOOP(first, count, ahead, asked, ASK, ROW)                      \
  for (uint turn_ = UNKNOWN_ZERO; turn_ < (count); turn_ += kRowsOfTurn) {         \
    [[unroll]] for (uint r_ = 0u; r_ < kRowsOfTurn; ++r_) {                        \
      const uint ahead_ = (first) + min(turn_ + r_ + (ahead), (count)-1u) * P(1);  \
      [[unroll]] for (uint l_ = 0u; l_ < kLinesOfRow; ++l_) {                      \
        asked += ASK(UNIFORM(ahead_ + l_ * kLineWords));                           \
      }                                                                            \
      ROW_OF_TURN(turn_ + r_, count, ROW)                                          \
    }                                                                              \
  }
#define ROW_OF_TURN(row, count, ROW)                                                   \
  {                                                                                    \
    const uint row_ = UNIFORM(min(row, (count) - 1u));                                 \
    ROW(row_)                                                                          \
  }

// Copies the axis' row `row` from word `first` of slot `from` on to the strip in slot `to`, or back.
#define COPY_ROW_TO_STRIP(from, to, first, row) \
  COPY_ROW(LOAD_WORD, from, UNIFORM((first) + (row) * P(1)), STORE_WORD, to, RowOfStrip(row))
#define COPY_ROW_FROM_STRIP(from, to, first, row) \
  COPY_ROW(RELOAD_WORD, from, RowOfStrip(row), STREAM_WORD, to, UNIFORM((first) + (row) * P(1)))
#define COPY_ROW(LOAD, from, first_from, STORE, to, first_to)    \
  {                                                              \
    const uint from_ = first_from;                               \
    const uint to_ = first_to;                                   \
    uint words_[kVectorsAtOnce];                                 \
    [[unroll]] for (uint k_ = 0u; k_ < kVectorsAtOnce; ++k_) {   \
      words_[k_] = LOAD(from, from_ + PlaceInStretch(k_));       \
    }                                                            \
    [[unroll]] for (uint k_ = 0u; k_ < kVectorsAtOnce; ++k_) {   \
      STORE(to, to_ + PlaceInStretch(k_), words_[k_]);           \
    }                                                            \
  }

// COMPUTE_STRIP(tensor, indices) for each of the workgroup's share of strips, by the first words of its rows
// of the tensor and of the indices.
#define STRIPS_LOOP(COMPUTE_STRIP)                                                               \
  WORKGROUP_STRIDE_LOOP(strip_, P(0)) {                                                          \
    const uvec3 strips_ = P4(1).xyz;                                                             \
    const uint outer_ = Divide(strip_, strips_);                                                 \
    const uint in_row_ = (strip_ - outer_ * strips_.x) * kStripWords;                            \
    for (uint i_ = UNKNOWN_ZERO; i_ < kStripWords; i_ += kColumns) {                             \
      COMPUTE_STRIP(outer_ * P(2) * P(1) + in_row_ + i_, outer_ * P(3) * P(1) + in_row_ + i_);   \
    }                                                                                            \
  }

#endif  // WEBNND_SHADERS_STRIPS_GLSL_
