// Copies up to seven pieces at once: split (-DMANY_RESULTS: from slot 1 to slots 2 to 8) and concat
// (from slots 2 to 8 to slot 1). A piece is rows of contiguous units, evenly apart on both sides;
// what a unit is: quads (four words), words, or elements of 4, 8 or 16 bits, of which an invocation
// takes a word of the result and merges it, because others may write the rest of it.
//
// Parameters: 1 + 2 i and on, in uvec4, of piece i: {units in a row of the copy, as divisor; units
// to copy}, {first unit of the source, of the result; from one row to the next in the source, in the
// result}. Of elements, the first three count words of a row that may take part (an upper bound),
// and uvec4 16 + i has {elements of a row}. Specialisation constants: 1 what a unit is: 0 quad,
// 1 word, else log2 of the bits of an element; 2 pieces.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kUnit = 1u;
layout(constant_id = 2) const uint kPieces = 0u;

const uint kUnitQuad = 0u;
const uint kUnitWord = 1u;
const uint kElementType = kUnit == 4u ? kFloat16 : kUnit == 3u ? kUint8 : kUint4;

#ifdef MANY_RESULTS
READ_SLOT(1)
READ_SLOT_WIDE(1)
#define DECLARE_PIECE(slot) WRITE_SLOT(slot)
#define SOURCE(slot) 1
#define RESULT(slot) slot
#else
WRITE_SLOT(1)
#define DECLARE_PIECE(slot) \
  READ_SLOT(slot)           \
  READ_SLOT_WIDE(slot)
#define SOURCE(slot) slot
#define RESULT(slot) 1
#endif

// Macros take literal slots: one more step makes them so.
#define LOAD_QUAD_OF(slot, i) LOAD_QUAD(slot, i)
#define LOAD_WORD_OF(slot, i) LOAD_WORD(slot, i)
#define LOAD_RAW_OF(slot, type, i) LOAD_RAW(slot, type, i)
#define STORE_QUAD_OF(slot, i, quad) STORE_QUAD(slot, i, quad)
#define STORE_WORD_OF(slot, i, word) STORE_WORD(slot, i, word)
#define MERGE_WORD_OF(slot, i, mask, word) MERGE_WORD(slot, i, mask, word)

// Elements: the word `word_of_row` of those that a row of the result touches.
#define DECLARE_COPY(slot)                                                                      \
  DECLARE_PIECE(slot)                                                                           \
  void CopyElements##slot(uint row_length, uint source, uint result, uint word_of_row) {        \
    const uint per_word = 32u >> kUnit;                                                         \
    uint word_index = result / per_word + word_of_row;                                          \
    uint word = 0u;                                                                             \
    uint mask = 0u;                                                                             \
    for (uint k = 0u; k < per_word; ++k) {                                                      \
      /* Wraps below the row's first element, and is then no less than its length. */           \
      uint position = word_index * per_word + k - result;                                       \
      if (position < row_length) {                                                              \
        uint raw = LOAD_RAW_OF(SOURCE(slot), kElementType, source + position).x;                \
        word = bitfieldInsert(word, raw, int(k << kUnit), 1 << kUnit);                          \
        mask = bitfieldInsert(mask, 0xffffffffu, int(k << kUnit), 1 << kUnit);                  \
      }                                                                                         \
    }                                                                                           \
    if (mask == 0xffffffffu) {                                                                  \
      STORE_WORD_OF(RESULT(slot), word_index, word);                                            \
    } else if (mask != 0u) {                                                                    \
      MERGE_WORD_OF(RESULT(slot), word_index, mask, word);                                      \
    }                                                                                           \
  }                                                                                             \
  void Copy##slot() {                                                                           \
    if (slot - 2u >= kPieces) return;                                                           \
    uvec4 counts = P4(1u + 2u * (slot - 2u));                                                   \
    uvec4 places = P4(2u + 2u * (slot - 2u));                                                   \
    GRID_STRIDE_LOOP(i, counts.w) {                                                             \
      uint row = Divide(i, counts.xyz);                                                         \
      uint unit = i - row * counts.x;                                                           \
      uint source = places.x + row * places.z;                                                  \
      uint result = places.y + row * places.w;                                                  \
      if (kUnit == kUnitQuad) {                                                                 \
        uvec4 quad = LOAD_QUAD_OF(SOURCE(slot), source + unit);                                 \
        STORE_QUAD_OF(RESULT(slot), result + unit, quad)                                        \
      } else if (kUnit == kUnitWord) {                                                          \
        STORE_WORD_OF(RESULT(slot), result + unit, LOAD_WORD_OF(SOURCE(slot), source + unit));  \
      } else {                                                                                  \
        CopyElements##slot(P4(14u + slot).x, source, result, unit);                             \
      }                                                                                         \
    }                                                                                           \
  }

DECLARE_COPY(2)
DECLARE_COPY(3)
DECLARE_COPY(4)
DECLARE_COPY(5)
DECLARE_COPY(6)
DECLARE_COPY(7)
DECLARE_COPY(8)

void main() {
  Copy2();
  Copy3();
  Copy4();
  Copy5();
  Copy6();
  Copy7();
  Copy8();
}
