// resample2d.comp on llvmpipe, of float32 and float16, or of anything to the nearest: a workgroup, which is one subgroup, takes some columns of some
// rows of a plane of the result. Where its columns lie between those of the input is found once, and what it finds
// of two rows of the input serves all rows of the result between them.
//
// A column is an element of a row of the result: behind the second dimension there may be others.
//
// Parameters: 0 units of work, of each plane one for each kRowsOfUnit of its rows, and of those one for each
// kVectors times kLanesMax columns; 1 columns of a row; 2 rows of a plane of the result; 3 of the input; in uvec4 1 {units of
// the same rows, as divisor; columns of the input}; in uvec4 2 {units of rows of a plane, as divisor}; uvec4 3
// {elements behind the second dimension, as divisor}; uvec4 4, 5 {twice the size in the result, as divisor; size
// in the input} of each of the two dimensions. Specialisation constants: 1 whether linear (else the nearest), 2
// columns of a unit for each lane, 1 to 4, 3 whether all of a subgroup's columns have neighbours that follow
// each other, 4 whether the first dimension does not shrink: the lower row of the input is the higher one before, 5
// data type.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "resample.glsl"
#include "subgroup.glsl"

layout(constant_id = 1) const uint kLinear = 0u;
layout(constant_id = 2) const uint kVectors = 1u;
layout(constant_id = 3) const uint kFollow = 0u;
layout(constant_id = 4) const uint kGrows = 0u;
layout(constant_id = 5) const uint kType = 0u;

READ_SLOT(1)
WRITE_SLOT(2)

const uint kRowsOfUnit = 32u;  // As in service/passes/lower_resample.cc.
const uint kLanesMax = 16u;
const uint kVectorsMax = 4u;
const uint kInner = 3u;
const uint kAxes = 4u;

// Of this invocation's columns.
#define FOR_COLUMNS(c) [[unroll]] for (uint c = 0u; c < kVectors; ++c)
struct Columns {
  uint at[kVectorsMax];    // The column of a row of the result that a subgroup's first lane has.
  uint low[kVectorsMax];   // Neighbours in a row of the input.
  uint high[kVectorsMax];
  float share[kVectorsMax];
};

Fraction PlaceAlong(uvec4 axis, uint o) {
  return kLinear != 0u ? BetweenAt(axis, o, false) : NearestAt(axis, o, false);
}

Neighbours NeighboursAt(uvec4 axis, Fraction at) {
  if (kLinear != 0u) return NeighboursOf(axis, at);
  return Neighbours(at.whole, at.whole, 0.0);
}

// Of a row of the result, from column `first` on or, where that is beyond it, its last ones once more: the
// same is stored there.
Columns FindColumns(uint first) {
  const uvec4 inner = P4(kInner);
  const uvec4 axis = P4(kAxes + 1u);
  Columns columns;
  FOR_COLUMNS(c) {
    columns.at[c] = min(first + c * kSubgroupSize, P(1) - kSubgroupSize);
    const uint column = columns.at[c] + gl_SubgroupInvocationID;
    const uint element = Divide(column, inner.xyz);
    const uint behind = column - element * inner.x;
    const Neighbours between = NeighboursAt(axis, PlaceAlong(axis, element));
    columns.low[c] = between.low * inner.x + behind;
    columns.high[c] = between.high * inner.x + behind;
    columns.share[c] = between.share;
  }
  return columns;
}

// What is at column `column` of the row that begins at `row`; its bits, where nothing is computed of it.
float LoadColumn(uint row, uint column) {
  const uint at = kFollow != 0u ? UNIFORM(row + column) + gl_SubgroupInvocationID : row + column;
  const uvec2 raw = LOAD_RAW(1, kType, at);
  return kLinear != 0u ? Decode(raw, kType) : uintBitsToFloat(raw.x);
}

// What is at the columns in row `row` of the input.
float[kVectorsMax] LoadRow(uint row, Columns columns) {
  const uint begin = UNIFORM(row * P4(1).w);
  float between[kVectorsMax];
  FOR_COLUMNS(c) {
    const float low = LoadColumn(begin, columns.low[c]);
    if (kLinear != 0u) {
      between[c] = Mix(low, LoadColumn(begin, columns.high[c]), columns.share[c]);
    } else {
      between[c] = low;
    }
  }
  return between;
}

// Columns from `first` on of the rows of a plane from `row` to `end`.
void ComputeColumns(uint plane, uint row, uint end, uint first) {
  const uvec4 axis = P4(kAxes);
  const Columns columns = FindColumns(first);
  Fraction at = PlaceAlong(axis, row);
  // From a row of the result to the next, in the input.
  const uint step = Divide(2u * axis.w, axis.xyz);
  const uint step_rest = 2u * axis.w - step * axis.x;
  const uint rows_before = plane * P(3);
  float low[kVectorsMax];
  float high[kVectorsMax];
  if (kGrows != 0u) high = LoadRow(rows_before + NeighboursAt(axis, at).low, columns);
  while (row < end) {
    const Neighbours rows = NeighboursAt(axis, at);
    if (kGrows != 0u) {
      low = high;
    } else {
      low = LoadRow(rows_before + rows.low, columns);
    }
    if (kLinear != 0u) high = LoadRow(rows_before + rows.high, columns);
    const uint whole = at.whole;
    do {
      const float share = rows.low == rows.high ? 0.0 : ShareOf(axis, at);
      const uint to = (plane * P(2) + row) * P(1);
      FOR_COLUMNS(c) {
        const uvec2 raw = kLinear != 0u ? Encode(Mix(low[c], high[c], share), kType)
                                        : uvec2(floatBitsToUint(low[c]), 0u);
        STORE_ELEMENT(2, kType, UNIFORM(to + columns.at[c]) + gl_SubgroupInvocationID, raw)
      }
      ++row;
      at.rest += step_rest;
      const uint carry = uint(at.rest >= axis.x);
      at = Fraction(at.whole + step + carry, at.rest - carry * axis.x);
    } while (row < end && at.whole == whole);
  }
}

void main() {
  const uvec3 blocks = P4(1).xyz;
  const uvec3 parts = P4(2).xyz;
  WORKGROUP_STRIDE_LOOP(unit, P(0)) {
    const uint part = Divide(unit, blocks);
    const uint plane = Divide(part, parts);
    const uint row = (part - plane * parts.x) * kRowsOfUnit;
    const uint end = min(row + kRowsOfUnit, P(2));
    const uint first = (unit - part * blocks.x) * kVectors * kLanesMax;
    for (uint i = UNKNOWN_ZERO; i < kVectors * kLanesMax; i += kVectors * kSubgroupSize) {
      ComputeColumns(plane, row, end, first + i);
    }
  }
}
