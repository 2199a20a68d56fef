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
// 0), 7 whether there is a residual, 8 the activation (epilogue.glsl), 9 whether quads lie across, 10 to
// 12 taps, stride and padding of the width, where an invocation computes a strip.
//
// A strip is the columns of the result that begin with four positions of the input: a stride of quads.
// Each tap adds four neighbours of its row of slot 1 to them. Taps are not dilated, and lines of the
// input and of the result are whole quads. Then parameter 0 counts strips, the innermost dimension is
// those of a line (y: position of the first), and in place of the most taps on one element across stand
// the columns of the result.
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
layout(constant_id = 10) const uint kStripTaps = 0u;
layout(constant_id = 11) const uint kStripStep = 1u;
layout(constant_id = 12) const uint kStripPadding = 0u;
#define STRIDED_RANK kRank

#include "strided.glsl"
#define EPILOGUE_CONSTANT 8
#include "epilogue.glsl"
#include "fours.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
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

// kStripTapsMax and kStripStepMax of service/passes/transposed_convolution.cc.
const uint kStripTapsMax = 16u;
const uint kStripStepMax = 4u;

// Positions first to first + 3 of the line of slot 1 that begins at `from`; 0 beyond its ends. `first`
// is a multiple of 4, and `distance` from it a constant.
vec4 LoadPositions(uint from, uint first, int distance, bool counts) {
  const uint width = P4(kWidth).x;
  const int last = int(width >> 2) - 1;
  const int four = int(first >> 2) + (distance >> 2);
  vec4 run;
#define FOUR_OF_LINE(q) \
  uintBitsToFloat(LOAD_QUAD(1, (from >> 2) + uint(clamp(four + int(q), 0, last))))
  LOAD_RUN(run, 4u, 4u, distance, FOUR_OF_LINE)
#undef FOUR_OF_LINE
  const uint inside_to = counts ? width : 0u;
  vec4 result;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    bool inside = first + uint(distance) + i < inside_to;
    float x = run[i];
    result[i] = inside ? x : 0.0;
  }
  return result;
}

void ComputeStrip(uint strip) {
  const uint rank = kRank == 0u ? P(1) : kRank;
  uvec4 at = StridedOffsets(strip, kDimensions, P(1));
  uint line = Divide(strip, P4(kDimensions + 2u * (rank - 1u)).xyz);
  Taps rows = TapsOnto(kHeight, at.x);
  uvec4 height = P4(kHeight);
  uvec4 step = P4(kHeight + 1u);
  const uint turns = kRowTurns != 0u ? kRowTurns : P4(kHeight + 3u).w;
  vec4 sums[kStripStepMax];  // [column modulo step][position]
  [[unroll]] for (uint i = 0u; i < kStripStepMax; ++i) {
    sums[i] = vec4(kHasBias != 0u ? LOAD(3, kType, at.w) : 0.0);
  }
  for (uint i = 0u; i < turns; ++i) {
    uint tap = rows.first + i * step.x;
    uint position = rows.position - i * step.w;
    bool counts = tap < height.y && position < height.x;
    uint from = counts ? at.z + tap * P(2) + position * P4(kWidth).x : 0u;
    [[unroll]] for (uint t = 0u; t < kStripTapsMax; ++t) {
      if (t >= kStripTaps) break;
      const uint phase = (t + (kStripStep - 1u) * kStripPadding) % kStripStep;
      const int distance = (int(phase + kStripPadding) - int(t)) / int(kStripStep);
      sums[phase] += LoadPositions(from + t * P(3), at.y, distance, counts);
    }
  }
  const uint columns = P4(kWidth + 3u).w;
  [[unroll]] for (uint q = 0u; q < kStripStepMax; ++q) {
    if (q >= kStripStep) break;
    uint column = kStripStep * at.y + 4u * q;
    uint e = line * columns + column;
    if (column < columns) {
      vec4 values;
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        values[i] = sums[(4u * q + i) % kStripStep][(4u * q + i) / kStripStep];
        if (kHasResidual != 0u) values[i] += LOAD(4, kType, e + i);
        values[i] = Activate(values[i]);
      }
      STORE_FOURS(2, kType, e >> 2, values)
    }
  }
}

void main() {
  if (kStripTaps != 0u) {
    GRID_STRIDE_LOOP(strip, P(0)) ComputeStrip(strip);
  } else {
    STORE_QUADS(2, kType, P(0), Place, Prepare, ComputeElement)
  }
}
