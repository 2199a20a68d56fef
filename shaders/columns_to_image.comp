// The second half of a transposed convolution: slot 1 holds what each pixel of the input (a column)
// gives to each tap of each channel (a row), float32; an element of the result sums what falls on it.
// Slots: 1 columns, 2 the result (packed), 3 bias, 4 residual, which lies as the result does (the
// columns again where there is none). Sums are float32.
//
// Tap k of position i lands on i * stride + k * dilation - padding. Those that land on one element are
// every m-th tap, m = stride / gcd(stride, dilation), from positions dilation / gcd apart: an element
// visits these alone, and counts nothing for positions that are beyond the input.
//
// Parameters: 0 elements of the result; 1 rank of its dimensions; 2, 3 elements of slot 1 from a row of
// taps, and from a tap, to the next; from uvec4 1 on the height and from 5 on the width, each {size of
// the input, taps, padding before the result, inverse of dilation / gcd modulo m}, {m, as divisor;
// dilation / gcd}, {gcd, as divisor; dilation}, {stride, as divisor; most taps on one element}; from 9
// on the dimensions of the result (strided.glsl; x: row, y: column, z: offset in slot 1, w: channel).
// Specialisation constants: 1 data type, 2 whether there is a bias, 3 rank, 4 whether quads of the
// result lie in rows, 5 and 6 the most taps on one element, down and across, where they are few (else
// 0), 7 whether there is a residual, 8 the activation (epilogue.glsl), 9 whether quads lie across.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasBias = 0u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kInRows = 0u;
layout(constant_id = 5) const uint kRowTurns = 0u;
layout(constant_id = 6) const uint kColumnTurns = 0u;
layout(constant_id = 7) const uint kHasResidual = 0u;
layout(constant_id = 9) const uint kAcross = 0u;
#define STRIDED_RANK kRank

#include "strided.glsl"
#define EPILOGUE_CONSTANT 8
#include "epilogue.glsl"

READ_SLOT(1)
WRITE_SLOT(2)
READ_SLOT(3)
READ_SLOT(4)

const uint kHeight = 1u;
const uint kWidth = 5u;
const uint kDimensions = 9u;

// The taps of one dimension that land on an element: tap k comes from `position`, tap k + m from one
// that is `back` less. No position is beyond the input from below, where it wraps.
struct Taps {
  uint first;
  uint position;
};

Taps TapsOnto(uint axis, uint target) {
  uvec4 sizes = P4(axis);
  uvec4 step = P4(axis + 1u);
  uvec4 divisor = P4(axis + 2u);
  uint reached = target + sizes.z;
  uint part = Divide(reached, divisor.xyz);
  uint rest = part - Divide(part, step.xyz) * step.x;
  uint product = rest * sizes.w;
  uint first = product - Divide(product, step.xyz) * step.x;
  uint start = reached - first * divisor.w;
  bool lands = part * divisor.x == reached && first < sizes.y && start <= reached;
  uint position = Divide(lands ? start : 0u, P4(axis + 3u).xyz);
  return Taps(first, lands ? position : 0xffffffffu);
}

struct Place {
  QuadOffsets quad;
  Taps rows;
};

Place Prepare(uint first) {
  Place place;
  place.quad = OffsetsOfQuad(first, kDimensions, P(1));
  place.rows = TapsOnto(kHeight, place.quad.offsets.x);
  return place;
}

// What falls on an element by one row of taps.
float SumOfRow(uint from, Taps columns) {
  uvec4 width = P4(kWidth);
  uvec4 step = P4(kWidth + 1u);
  const uint turns = kColumnTurns != 0u ? kColumnTurns : P4(kWidth + 3u).w;
  float sum = 0.0;
  for (uint i = 0u; i < turns; ++i) {
    uint tap = columns.first + i * step.x;
    uint position = columns.position - i * step.w;
    bool counts = tap < width.y && position < width.x;
    float x = LOAD(1, kFloat32, counts ? from + tap * P(3) + position : 0u);
    sum += counts ? x : 0.0;
  }
  return sum;
}

uvec2 ComputeElement(Place place, uint e, uint k) {
  uvec4 at = OffsetsInQuad(place.quad, e, kInRows != 0u, kDimensions, P(1));
  Taps rows = place.rows;
  if (kInRows == 0u || kAcross == 0u) rows = TapsOnto(kHeight, at.x);
  Taps columns = TapsOnto(kWidth, at.y);
  uvec4 height = P4(kHeight);
  uvec4 step = P4(kHeight + 1u);
  const uint turns = kRowTurns != 0u ? kRowTurns : P4(kHeight + 3u).w;
  float sum = 0.0;
  for (uint i = 0u; i < turns; ++i) {
    uint tap = rows.first + i * step.x;
    uint position = rows.position - i * step.w;
    bool counts = tap < height.y && position < height.x;
    float part = SumOfRow(counts ? at.z + tap * P(2) + position * P4(kWidth).x : 0u, columns);
    sum += counts ? part : 0.0;
  }
  if (kHasBias != 0u) sum += LOAD(3, kType, at.w);
  if (kHasResidual != 0u) sum += LOAD(4, kType, e);
  return Encode(Activate(sum), kType);
}

void main() { STORE_QUADS(2, kType, P(0), Place, Prepare, ComputeElement) }
