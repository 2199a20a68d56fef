// transpose.comp on llvmpipe of elements of which no quads are whole on both sides: slot 1 -> slot 2. A workgroup,
// which is one subgroup, takes squares of kSide elements each way, each of whose rows in the result is words, or
// elements of less than one, that neighbours store; the last ones begin early enough to be whole, so that some are
// moved twice. Of elements of less than a word that go by words, words of the result that squares leave, those that
// rows share among them, are put together one by one.
//
// Parameters: 0 squares; 1 rank of the dimensions around them; 2 elements of a row of the result, and 3 those of them
// that squares take, from its first word on that is its own; 4 columns of the source's matrices, which follow each
// other there and become rows; 5 from a row of the source to the next; 6 from such a row of the result to the next;
// 7 first element of the source; uvec4 2 {squares along the rows of the result, as divisor}, first element of the
// result; uvec4 3 {squares along its columns, as divisor}, rows of the result; 16 rank of these; from uvec4 5
// dimensions around squares (strided.glsl; stride .x of the source, .y of the result), then, of rows, stride .x of
// the source. Specialisation constants: 1 rank around squares, 2 log2 of the bits of an element, from 3 to 6, 3 rank
// of rows, 4 whether squares take all of short rows, which follow each other: those of a matrix are whole words, 5
// whether squares are of elements one by one, of less than a word: for short rows, and rows that words do not suit.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "square_of_words.glsl"

layout(constant_id = 1) const uint kRank = 0u;
layout(constant_id = 2) const uint kLog2Bits = 5u;
layout(constant_id = 3) const uint kRowsRank = 0u;
layout(constant_id = 4) const uint kTakesAll = 0u;
layout(constant_id = 5) const uint kByElements = 0u;

#define STRIDED_RANK kRank
#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

// As in service/passes/region_transposes.cc.
const uint kIsPair = kLog2Bits == 6u ? 1u : 0u;
const uint kLog2PerWord = kIsPair != 0u || kByElements != 0u ? 0u : 5u - kLog2Bits;
const uint kPerWord = 1u << kLog2PerWord;
const uint kSide = kIsPair != 0u ? 8u : 16u << kLog2PerWord;

const uint kDimensions = 5u;
const uint kNarrowType = kLog2Bits == 4u ? kFloat16 : kUint8;

uvec2 PlacesOfSquare(uint square) {
  const uvec3 along = P4(2).xyz;
  const uvec3 down = P4(3).xyz;
  const uint line = Divide(square, along);
  const uint outer = Divide(line, down);
  const uint row = min((square - line * along.x) * kSide, P(3) - kSide);
  const uint column = min((line - outer * down.x) * kSide, P(4) - kSide);
  const uvec2 offsets = StridedOffsets(outer, kDimensions, P(1)).xy;
  return uvec2(P(7) + offsets.x + row * P(5) + column, P(11) + offsets.y + column * P(6) + row);
}

// Of words, or of elements, where they go one by one.
uint LoadAt(uint i) { return kByElements != 0u ? LOAD_RAW(1, kNarrowType, i).x : LOAD_WORD(1, i); }
void StoreAt(uint i, uint bits) {
  if (kByElements != 0u) {
    STORE_ELEMENT(2, kNarrowType, i, uvec2(bits, 0u))
  } else {
    STORE_WORD(2, i, bits);
  }
}
uint FirstWordOf(uint e) { return UNIFORM(kIsPair != 0u ? 2u * e : e >> kLog2PerWord); }

// Element `row` of column `part` and of each kPerWord-th behind it, in the bits that it has in a word: neighbours have
// neighbouring columns. Behind the last one is what follows it in the result: the next column's, where words are not
// whole; the last column of a word ends with one.
uint LoadOfColumns(uint from, uint row, uint part) {
  const bool is_next = kTakesAll != 0u && row >= P(2);
  const uint in_column = is_next ? min(row - P(2), P(2) - 1u) : row;
  const uint column = part + (is_next && part < kPerWord - 1u ? 1u : 0u);
  const uint e = from + in_column * P(5) + column;
  const uint word = LoadAt(FirstWordOf(e) + gl_SubgroupInvocationID);
  return kPerWord == 1u ? word
                        : bitfieldExtract(word, int((e & (kPerWord - 1u)) << kLog2Bits), 1 << kLog2Bits);
}

// Of a square that begins with element `from` of the source and element `to` of the result, from its row `row` on:
// column `part`, and each kPerWord-th behind it.
void TransposeColumns(uint from, uint to, uint row, uint part) {
  // Rows of the result begin with a word.
  const uint first = row + ((0u - to - part * P(6)) & (kPerWord - 1u));
  uint rows[kSquareMax];
  [[unroll]] for (uint m = 0u; m < kSubgroupSize >> kIsPair; ++m) {
    rows[m] = 0u;
    [[unroll]] for (uint k = 0u; k < kPerWord; ++k) {
      rows[m] |= LoadOfColumns(from, first + m * kPerWord + k, part) << (k << kLog2Bits);
    }
  }
  if (kIsPair != 0u) {
    TransposeRowsOfPairs(rows);
  } else {
    TransposeRows(rows);
  }
  [[unroll]] for (uint m = 0u; m < kSubgroupSize >> kIsPair; ++m) {
    const uint word = FirstWordOf(to + (m * kPerWord + part) * P(6) + first) + gl_SubgroupInvocationID;
    if (kTakesAll == 0u || first + (gl_SubgroupInvocationID << kLog2PerWord >> kIsPair) < P(2)) {
      StoreAt(word, rows[m]);
    }
  }
}

// Of a square, those that a subgroup of few lanes can take.
void TransposeSquares(uint from, uint to) {
  const uint step = kSubgroupSize << kLog2PerWord >> kIsPair;
  const uint rows = kTakesAll != 0u ? P(2) : kSide;
  for (uint row = UNKNOWN_ZERO; row < rows; row += step) {
    for (uint column = UNKNOWN_ZERO; column < kSide; column += step) {
      for (uint part = UNKNOWN_ZERO; part < kPerWord; ++part) {
        TransposeColumns(from + column, to + column * P(6), row, part);
      }
    }
  }
}

uint SourceOfRow(uint row) {
  const uint dimensions = kDimensions + 2u * P(1);
  return P(7) + StridedOffsetsOfRank(min(row, P(15) - 1u), dimensions, kRowsRank, P(16)).x;
}

// Words that begin in a row and that squares leave.
void PutTogetherEndOf(uint row) {
  const uint first = row * P(2);
  const uint next = first + P(2);
  const uint sources[2] = uint[](SourceOfRow(row), SourceOfRow(row + 1u));
  const uint end = (next + kPerWord - 1u) >> kLog2PerWord;
  for (uint word = ((first + kPerWord - 1u) + P(3)) >> kLog2PerWord; word < end; ++word) {
    uint bits = 0u;
    [[unroll]] for (uint k = 0u; k < kPerWord; ++k) {
      const uint e = (word << kLog2PerWord) + k;
      const uint from = e < next ? sources[0] + (e - first) * P(5) : sources[1] + (e - next) * P(5);
      bits |= LOAD_RAW(1, kNarrowType, from).x << (k << kLog2Bits);
    }
    STORE_WORD(2, (P(11) >> kLog2PerWord) + word, bits);
  }
}

void main() {
  PLACED_UNITS_LOOP(P(0), PlacesOfSquare, TransposeSquares)
  if (kPerWord > 1u && kTakesAll == 0u && P(3) != P(2)) {
    const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, P(15));
    uint row = StartOfWorkgroup(gl_WorkGroupID.x, P(15)) + gl_SubgroupInvocationID;
    for (; row < end; row += kSubgroupSize) PutTogetherEndOf(row);
  }
}
