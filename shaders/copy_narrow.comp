// copy_words.comp for elements of 4, 8 or 16 bits that do not move as whole words. One invocation
// per word of each run; words that a run covers in part are merged, because others write the rest.
//
// Parameters: as copy_words.comp, counted in elements, but 0 is words per run times runs, 4..7 are
// {words per run (an upper bound), multiplier, shift, elements between the starts of two runs}, and
// 8 is the length of a run. Specialisation constants: 1 log2 of the bits of an element, 2 rank.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kLog2Bits = 4u;
layout(constant_id = 2) const uint kRank = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kElementType = kLog2Bits == 4u ? kFloat16 : kLog2Bits == 3u ? kUint8 : kUint4;

void main() {
  uint count = P(0);
  uint rank = P(1);
  uint source = P(2);
  uint result = P(3);
  uvec4 run = P4(1);
  uint run_length = P(8);
  const uint per_word = 32u >> kLog2Bits;
  GRID_STRIDE_LOOP(i, count) {
    uint row = Divide(i, run.xyz);
    uint first = result + row * run.w;
    uint word_index = first / per_word + (i - row * run.x);
    uint word = 0u;
    uint mask = 0u;
    for (uint k = 0u; k < per_word; ++k) {
      // Wraps below the run's first element, and is then no less than its length.
      uint position = word_index * per_word + k - first;
      if (position < run_length) {
        uint from = source + StridedOffsets(row * run_length + position, 3u, rank).x;
        int bit = int(k << kLog2Bits);
        word = bitfieldInsert(word, LOAD_RAW(1, kElementType, from).x, bit, 1 << kLog2Bits);
        mask = bitfieldInsert(mask, 0xffffffffu, bit, 1 << kLog2Bits);
      }
    }
    if (mask == 0xffffffffu) {
      STORE_WORD(2, word_index, word);
    } else if (mask != 0u) {
      MERGE_WORD(2, word_index, mask, word);
    }
  }
}
