// scatterElements by strips (strips.glsl): slot 1 with the elements of slot 3 at the places along one axis that
// the indices of slot 2 name -> slot 4. Slot 5 is memory for strips. Where several name one place, the last of
// them wins: an invocation takes what is for its columns one after the other. Parameters and specialisation
// constants are those of strips.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "strips.glsl"

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT(3)
WRITE_SLOT(4)
WRITE_SLOT(5)

void ScatterWord(uint word, uint column) {
  const uint to = RowOfStrip(0u) + column;
  const uint update = LOAD_WORD(3, word);
  if (ElementsOfWord() > 1u) {
    const int width = 1 << BitsLog2(kType);
    [[unroll]] for (uint j = 0u; j < ElementsOfWord(); ++j) {
      const uint at = to + LOAD_PLACE(2, word, j) * kColumns;
      const uint bits = update >> (int(j) * width);
      STORE_WORD(5, at, bitfieldInsert(RELOAD_WORD(5, at), bits, int(j) * width, width));
    }
  } else {
    STORE_WORD(5, to + LOAD_PLACE(2, word, 0u) * kColumns, update);
  }
}

void ScatterRow(uint first) {
  [[unroll]] for (uint k = 0u; k < kVectorsAtOnce; ++k) {
    ScatterWord(first + PlaceInStretch(k), PlaceInStretch(k));
  }
}

void ScatterStrip(uint tensor, uint indices) {
#define COPY(row) COPY_ROW_TO_STRIP(1, 5, tensor, row)
#define ASK(word) ASK_WORD(2, WordOfIndex(word)) + ASK_WORD(3, word)
#define SCATTER(row) ScatterRow(UNIFORM(indices + row * P(1)));
#define COPY_BACK(row) COPY_ROW_FROM_STRIP(5, 4, tensor, row)
  uint asked = 0u;
  ROWS_LOOP(P(2), COPY)
  ROWS_AHEAD_LOOP(indices, P(3), kRowsAhead, asked, ASK, SCATTER)
  ROWS_LOOP(P(2), COPY_BACK)
  STORE_WORD(5, RowOfStrip(0u) + PlaceInStretch(0u), asked);
}

void main() { STRIPS_LOOP(ScatterStrip) }
