// gatherElements by strips (strips.glsl): slot 1 taken at the indices of slot 2 along one axis -> slot 3. Slot
// 4 is memory for strips. Parameters and specialisation constants are those of strips.glsl, and 4: whether
// the result is streamed (stream.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "strips.glsl"

layout(constant_id = 4) const uint kIsStreamed = 0u;

READ_SLOT(1)
READ_SLOT(2)
WRITE_SLOT(3)
WRITE_SLOT(4)

// The word `column` of a row of the strip, each of its elements from where word `word` of the indices says.
uint GatherWord(uint word, uint column) {
  const uint strip = RowOfStrip(0u);
  if (ElementsOfWord() > 1u) {
    const int width = 1 << BitsLog2(kType);
    uint result = 0u;
    [[unroll]] for (uint j = 0u; j < ElementsOfWord(); ++j) {
      const uint bits = RELOAD_WORD(4, strip + LOAD_PLACE(2, word, j) * kColumns + column);
      result = bitfieldInsert(result, bits >> (int(j) * width), int(j) * width, width);
    }
    return result;
  } else {
    return RELOAD_WORD(4, strip + LOAD_PLACE(2, word, 0u) * kColumns + column);
  }
}

void GatherRow(uint first) {
  uint words[kVectorsAtOnce];
  [[unroll]] for (uint k = 0u; k < kVectorsAtOnce; ++k) {
    words[k] = GatherWord(first + PlaceInStretch(k), PlaceInStretch(k));
  }
  [[unroll]] for (uint k = 0u; k < kVectorsAtOnce; ++k) {
    if (kIsStreamed != 0u) {
      STREAM_WORD(3, first + PlaceInStretch(k), words[k]);
    } else {
      STORE_WORD(3, first + PlaceInStretch(k), words[k]);
    }
  }
}

void GatherStrip(uint tensor, uint indices) {
#define ASK_COPIED(word) ASK_WORD(1, word)
#define COPY(row) COPY_ROW_TO_STRIP(1, 4, tensor, row)
#define ASK(word) ASK_WORD(2, WordOfIndex(word))
#define GATHER(row) GatherRow(UNIFORM(indices + row * P(1)));
  uint asked = 0u;
  ROWS_AHEAD_LOOP(tensor, P(2), kCopiedAhead, asked, ASK_COPIED, COPY)
  ROWS_AHEAD_LOOP(indices, P(3), kRowsAhead, asked, ASK, GATHER)
  STORE_WORD(4, RowOfStrip(0u) + PlaceInStretch(0u), asked);
}

void main() { STRIPS_LOOP(GatherStrip) }
