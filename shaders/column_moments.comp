// Means and sums of squares around them of the columns of slot 1, part by part (column_parts.glsl): slots 2 and
// 3, float32.
//
// Specialisation constants: 1 data type, 2 vectors of words that a lane takes.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kVectors = 1u;

#include "column_parts.glsl"

READ_SLOT(1)
WRITE_SLOT(2)
WRITE_SLOT(3)

struct Sums {
  float of[kColumnsMax];
  float squares[kColumnsMax];
};

void AddRow(inout Sums sums, Part part, uint row, uint first, float mean[kColumnsMax]) {
  uint words[kVectorsMax];
  LOAD_ROW_OF_PART(words, 1, part, row, first)
  FOR_COLUMNS(c) {
    const float distance = COLUMN_OF(words, c) - mean[c];
    sums.of[c] += distance;
    sums.squares[c] += distance * distance;
  }
}

// Sums are kept in blocks of this size first, so that rounding errors grow slower than the count.
const uint kBlock = 64u;

// Of what columns of a part's rows differ from `mean`.
Sums SumRows(Part part, uint first, float mean[kColumnsMax]) {
  Sums total;
  FOR_COLUMNS(c) {
    total.of[c] = 0.0;
    total.squares[c] = 0.0;
  }
  uint row = part.begin;
  while (row < part.end) {
    Sums block;
    FOR_COLUMNS(c) {
      block.of[c] = 0.0;
      block.squares[c] = 0.0;
    }
    const uint end = min(row + kBlock, part.end);
    Sums chains[kRowsAtOnce];
    [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) chains[r] = block;
    for (; row + kRowsAtOnce <= end; row += kRowsAtOnce) {
      [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) AddRow(chains[r], part, row + r, first, mean);
    }
    for (; row < end; ++row) AddRow(chains[0], part, row, first, mean);
    [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) {
      FOR_COLUMNS(c) {
        total.of[c] += chains[r].of[c];
        total.squares[c] += chains[r].squares[c];
      }
    }
  }
  return total;
}

void Measure(Part part, uint first) {
  const float count = float(part.end - part.begin);
  float mean[kColumnsMax];
  FOR_COLUMNS(c) mean[c] = 0.0;
  const Sums sums = SumRows(part, first, mean);
  FOR_COLUMNS(c) mean[c] = sums.of[c] / count;
  const Sums apart = SumRows(part, first, mean);
  FOR_COLUMNS(c) {
    const float rest = apart.of[c] / count;  // What rounding took from the mean.
    const uint place = PlaceOfColumn(part.number, first, c);
    STORE_WORD(2, place, floatBitsToUint(mean[c] + rest));
    STORE_WORD(3, place, floatBitsToUint(max(apart.squares[c] - rest * apart.of[c], 0.0)));
  }
}

void main() { COLUMN_PARTS_LOOP(Measure) }
