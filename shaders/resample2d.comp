// Resampling along two dimensions: slot 1 -> slot 2, of float32, float16, int8 or uint8.
//
// Interpolated integers round to the nearest.
//
// Parameters: 0 elements of the result; 1 rank of its dimensions; 2, 3 strides of the two
// dimensions in the input; uvec4 1, 2 {twice the size in the result, as divisor; size in the input}
// of each; from uvec4 3 on the dimensions of the result (strided.glsl; x: offset in the input from
// the other dimensions, y, z: coordinates along the two). Specialisation constants: 1 data type, 2
// whether linear (else the nearest), 3 rank, 4 whether the fractions take 64 bits, 5 whether quads of
// the result lie in rows, 6 whether they are float32 along the second dimension, which is innermost,
// has whole quads in the input too and does not shrink but to half (2: and workgroups take whole rows),
// 7 whether the first dimension is innermost, 8 whether the second dimension then doubles (1) or halves
// (2), where quads always lie the same way between those of the input.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "resample.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kLinear = 0u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kWide = 0u;
layout(constant_id = 5) const uint kInRows = 0u;
layout(constant_id = 6) const uint kStretchesQuads = 0u;
layout(constant_id = 7) const uint kFirstVaries = 0u;
layout(constant_id = 8) const uint kRatio = 0u;
#define STRIDED_RANK kRank

#include "strided.glsl"

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

// Selects of whole values, not branches, whatever `a` and `b` are.
#define SELECT(condition, a, b) mix(b, a, condition)

const uint kAxes = 1u;
const uint kDimensions = 3u;

Fraction Nearest(uint axis, uint o) { return NearestAt(P4(kAxes + axis), o, kWide != 0u); }
Fraction Between(uint axis, uint o) { return BetweenAt(P4(kAxes + axis), o, kWide != 0u); }

float LoadFloat(uint i) {
  uvec2 raw = LOAD_RAW(1, kType, i);
  if (kType == kInt8) return float(bitfieldExtract(int(raw.x), 0, 8));
  return kType == kUint8 ? float(raw.x) : Decode(raw, kType);
}

uvec2 EncodeFloat(float value) {
  if (kType == kInt8 || kType == kUint8) return uvec2(uint(int(roundEven(value))), 0u);
  return Encode(value, kType);
}

// Where the elements of a quad of the result lie.
struct Place {
  QuadOffsets quad;
  Neighbours first;  // Along the first dimension, where quads lie in rows.
};

Neighbours AlongFirst(uint o) {
  if (kLinear != 0u) return NeighboursOf(P4(kAxes), Between(0u, o));
  uint nearest = Nearest(0u, o).whole;
  return Neighbours(nearest, nearest, 0.0);
}

Place Prepare(uint first) {
  Place place;
  place.quad = OffsetsOfQuad(first, kDimensions, P(1));
  place.first = AlongFirst(place.quad.offsets.y);
  return place;
}

uvec2 ComputeElement(Place place, uint e, uint k) {
  const bool in_rows = kInRows != 0u;
  uvec4 at = OffsetsInQuad(place.quad, e, in_rows, kDimensions, P(1));
  Neighbours first = place.first;
  if (!in_rows || kFirstVaries != 0u) first = AlongFirst(at.y);
  uint first_stride = P(2);
  uint second_stride = P(3);
  uint low = at.x + first.low * first_stride;
  if (kLinear == 0u) {
    return LOAD_RAW(1, kType, low + Nearest(1u, at.z).whole * second_stride);
  }
  Neighbours second = NeighboursOf(P4(kAxes + 1u), Between(1u, at.z));
  uint high = at.x + first.high * first_stride;
  uint left = second.low * second_stride;
  uint right = second.high * second_stride;
  float at_low = Mix(LoadFloat(low + left), LoadFloat(low + right), second.share);
  float at_high = Mix(LoadFloat(high + left), LoadFloat(high + right), second.share);
  return EncodeFloat(Mix(at_low, at_high, first.share));
}

// Five neighbours of a row.
struct Window {
  uint of[5];
};

// From element `from` of the row that begins at `base`; what is beyond the row may be anything.
Window LoadWindow(uint base, uint from) {
  uint quads = P4(kAxes + 1u).w >> 2;
  uint quad = from >> 2;
  uvec4 low = LOAD_QUAD(1, (base >> 2) + quad);
  uvec4 high = LOAD_QUAD(1, (base >> 2) + min(quad + 1u, quads - 1u));
  const uint all[8] = uint[8](low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w);
  const bool by_two = (from & 2u) != 0u;
  const bool by_one = (from & 1u) != 0u;
  uint moved[6];
  [[unroll]] for (uint i = 0u; i < 6u; ++i) moved[i] = SELECT(by_two, all[i + 2u], all[i]);
  Window window;
  [[unroll]] for (uint i = 0u; i < 5u; ++i) window.of[i] = SELECT(by_one, moved[i + 1u], moved[i]);
  return window;
}

// Element i of the window, which is at most `greatest`.
uint Pick(Window window, uint i, uint greatest) {
  uint picked = window.of[0];
  [[unroll]] for (uint k = 1u; k <= greatest; ++k) picked = SELECT(i == k, window.of[k], picked);
  return picked;
}

const uint kDoubles = 1u;
const uint kHalves = 2u;

// Quad number `quad` of a row, between the rows of the input that begin at `low` and at `high`.
vec4 LoadBetween(uint quad, uint low, uint high, float share) {
  vec4 x = uintBitsToFloat(LOAD_QUAD(1, (low >> 2) + quad));
  if (kLinear == 0u) return x;
  vec4 mixed = x * (1.0 - share) + uintBitsToFloat(LOAD_QUAD(1, (high >> 2) + quad)) * share;
  return mix(mixed, x, bvec4(share == 0.0));
}

// Quads `quad` and `quad` + 1 of the result, where columns double: from quad number `from` of a row
// of the input.
void DoubleQuad(uint quad, uint low, uint high, float share, uint from) {
  vec4 x = LoadBetween(from, low, high, share);
  vec4 first = x.xxyy;
  vec4 second = x.zzww;
  if (kLinear != 0u) {
    uint last = (P4(kAxes + 1u).w >> 2) - 1u;
    float left = LoadBetween(max(from, 1u) - 1u, low, high, share).w;
    float right = LoadBetween(min(from + 1u, last), low, high, share).x;
    vec4 before = vec4(left, x.yxz) * 0.25;
    vec4 behind = vec4(x.ywz, right) * 0.25;
    first = x.xxyy * 0.75 + before;
    second = x.zzww * 0.75 + behind;
    first.x = SELECT(from == 0u, x.x, first.x);
    second.w = SELECT(from == last, x.w, second.w);
  }
  STORE_QUAD(2, quad, floatBitsToUint(first))
  STORE_QUAD(2, quad + 1u, floatBitsToUint(second))
}

// From column `first` of a row of the result on, where two columns become one.
vec4 HalveColumns(uint low, uint high, float share, uint first) {
  vec4 left = LoadBetween(first >> 1, low, high, share);
  vec4 right = LoadBetween((first >> 1) + 1u, low, high, share);
  vec4 even = vec4(left.xz, right.xz);
  return kLinear == 0u ? even : even * 0.5 + vec4(left.yw, right.yw) * 0.5;
}

// From column `first` of a row of the result on, between the rows of the input that begin at `low` and
// at `high`.
void ComputeQuad(uint quad, uint low, uint high, float share, uint first) {
  if (kRatio == kHalves) {
    STORE_QUAD(2, quad, floatBitsToUint(HalveColumns(low, high, share, first)))
    return;
  }
  uvec4 axis = P4(kAxes + 1u);
  Fraction at = kLinear != 0u ? Between(1u, first) : Nearest(1u, first);
  uint column = kLinear != 0u ? max(at.whole, 1u) - 1u : at.whole;
  Window window = LoadWindow(low, column);
  if (kLinear != 0u) {
    Window below = LoadWindow(high, column);
    [[unroll]] for (uint i = 0u; i < 5u; ++i) {
      window.of[i] = floatBitsToUint(
          Mix(uintBitsToFloat(window.of[i]), uintBitsToFloat(below.of[i]), share));
    }
  }
  uvec4 result;
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    if (kLinear == 0u) {
      result[k] = Pick(window, at.whole - column, k);
    } else {
      Neighbours columns = NeighboursOf(axis, at);
      float left = uintBitsToFloat(Pick(window, columns.low - column, k));
      float right = uintBitsToFloat(Pick(window, columns.high - column, k + 1u));
      result[k] = floatBitsToUint(Mix(left, right, columns.share));
    }
    // The next element is less than one further in the input.
    at.rest += 2u * axis.w;
    uint carry = uint(at.rest >= axis.x);
    at.whole += carry;
    at.rest -= carry * axis.x;
  }
  STORE_QUAD(2, quad, result)
}

// On llvmpipe rows go by words where the ratio is one of those: neighbours have neighbouring columns, of
// the input and then of the result.
#if TENSOR_READS == READS_TEXELS
#include "subgroup.glsl"

bool CanGoByWords() { return kRatio != 0u && IsWorkgroupOneSubgroup(); }

// The column `behind` column `column`, between the rows of the input that begin at `low` and at `high`. All
// invocations share these three.
float LoadColumn(uint low, uint high, float share, uint column, uint behind) {
  const float x = uintBitsToFloat(LOAD_WORD(1, UNIFORM(low + column) + behind));
  if (kLinear == 0u) return x;
  const float below = uintBitsToFloat(LOAD_WORD(1, UNIFORM(high + column) + behind));
  const float mixed = x * (1.0 - share) + below * share;
  return share == 0.0 ? x : mixed;
}

// Two for each of a subgroup's columns of the input. What lies beside them is loaded for the first and the last.
void DoubleColumns(uint result, uint low, uint high, float share, uint column) {
  const uint lane = gl_SubgroupInvocationID;
  const float x = LoadColumn(low, high, share, column, lane);
  float even = x;
  float odd = x;
  if (kLinear != 0u) {
    const uint last = P4(kAxes + 1u).w - 1u;
    const float left = LoadColumn(low, high, share, max(column, 1u) - 1u, 0u);
    const float right = LoadColumn(low, high, share, min(column + kSubgroupSize, last), 0u);
    const float of_left = subgroupShuffle(x, max(lane, 1u) - 1u);
    const float of_right = subgroupShuffle(x, min(lane + 1u, kSubgroupSize - 1u));
    even = x * 0.75 + (lane == 0u ? left : of_left) * 0.25;
    odd = x * 0.75 + (lane == kSubgroupSize - 1u ? right : of_right) * 0.25;
    even = column + lane == 0u ? x : even;
    odd = column + lane == last ? x : odd;
  }
  [[unroll]] for (uint k = 0u; k < 2u; ++k) {
    const uint from = PlaceInStretch(k) >> 1;
    const float of_even = subgroupShuffle(even, from);
    const float of_odd = subgroupShuffle(odd, from);
    const float own = (gl_SubgroupInvocationID & 1u) == 0u ? of_even : of_odd;
    STORE_WORD(2, UNIFORM(result + 2u * column) + PlaceInStretch(k), floatBitsToUint(own));
  }
}

// One for each two of as many columns as two subgroups have.
void HalveColumnsByWords(uint result, uint low, uint high, float share, uint column) {
  const float first = LoadColumn(low, high, share, column, gl_SubgroupInvocationID);
  const float second = LoadColumn(low, high, share, column + kSubgroupSize, gl_SubgroupInvocationID);
  float of[2];
  [[unroll]] for (uint i = 0u; i < 2u; ++i) {
    const uint from = (2u * gl_SubgroupInvocationID + i) % kSubgroupSize;
    const float of_first = subgroupShuffle(first, from);
    const float of_second = subgroupShuffle(second, from);
    of[i] = gl_SubgroupInvocationID < kSubgroupSize / 2u ? of_first : of_second;
  }
  const float own = kLinear == 0u ? of[0] : of[0] * 0.5 + of[1] * 0.5;
  STORE_WORD(2, UNIFORM(result + column / 2u) + gl_SubgroupInvocationID, floatBitsToUint(own));
}

// Of a row of the result, which begins there; how many columns it has written.
uint ComputeByWords(uint result, uint length, uint low, uint high, float share) {
  const uint step = kRatio == kDoubles ? 2u * kSubgroupSize : kSubgroupSize;
  uint i = UNKNOWN_ZERO;
  for (; i + step <= length; i += step) {
    if (kRatio == kDoubles) {
      DoubleColumns(result, low, high, share, i / 2u);
    } else {
      HalveColumnsByWords(result, low, high, share, 2u * i);
    }
  }
  return i;
}
#endif

// Where in the input a row of the result lies: between two of its rows.
struct RowPlace {
  uint low;
  uint high;
  float share;
};

RowPlace PlaceOfRow(uint row, uint length) {
  const uvec2 place = StridedOffsets(row * length, kDimensions, P(1)).xy;
  const Neighbours first = AlongFirst(place.y);
  return RowPlace(place.x + first.low * P(2), place.x + first.high * P(2), first.share);
}

// Columns from `done` on, of a row of `length`.
void ComputeRow(uint row, uint length, uint done, RowPlace place) {
  const uint quads = row * length >> 2;
  if (kRatio == kDoubles) {
    for (uint i = (done >> 3) + gl_LocalInvocationID.x; i < length >> 3; i += gl_WorkGroupSize.x) {
      DoubleQuad(quads + 2u * i, place.low, place.high, place.share, i);
    }
  } else {
    for (uint i = (done >> 2) + gl_LocalInvocationID.x; i < length >> 2; i += gl_WorkGroupSize.x) {
      ComputeQuad(quads + i, place.low, place.high, place.share, 4u * i);
    }
  }
}

void ComputeRows() {
  const uint rank = kRank == 0u ? P(1) : kRank;
  const uvec3 length = P4(kDimensions + 2u * (rank - 1u)).xyz;
  const uint rows = Divide(P(0), length);
#if TENSOR_READS == READS_TEXELS
  if (CanGoByWords()) {
    // Each invocation finds the place of one of the next rows.
    const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, rows);
    for (uint first = StartOfWorkgroup(gl_WorkGroupID.x, rows); first < end; first += kSubgroupSize) {
      RowPlace places = PlaceOfRow(min(first + gl_SubgroupInvocationID, end - 1u), length.x);
      const uint last = min(first + kSubgroupSize, end);
      for (uint row = first + UNKNOWN_ZERO; row < last; ++row) {
        const RowPlace place =
            RowPlace(UNIFORM(places.low), UNIFORM(places.high), UNIFORM(places.share));
        const uint next = (gl_SubgroupInvocationID + 1u) % kSubgroupSize;
        places = RowPlace(subgroupShuffle(places.low, next), subgroupShuffle(places.high, next),
                          subgroupShuffle(places.share, next));
        const uint done = ComputeByWords(row * length.x, length.x, place.low, place.high, place.share);
        ComputeRow(row, length.x, done, place);
      }
    }
    return;
  }
#endif
  WORKGROUP_STRIDE_LOOP(row, rows) ComputeRow(row, length.x, 0u, PlaceOfRow(row, length.x));
}

void main() {
  if (kStretchesQuads == 2u) {
    ComputeRows();
  } else if (kRatio == kDoubles) {
    GRID_STRIDE_LOOP(eight, P(0) >> 3) {
      uvec3 place = StridedOffsets(8u * eight, kDimensions, P(1)).xyz;
      Neighbours first = AlongFirst(place.y);
      DoubleQuad(2u * eight, place.x + first.low * P(2), place.x + first.high * P(2), first.share,
                 place.z >> 3);
    }
  } else if (kStretchesQuads != 0u) {
    GRID_STRIDE_LOOP(quad, P(0) >> 2) {
      uvec3 place = StridedOffsets(4u * quad, kDimensions, P(1)).xyz;
      Neighbours first = AlongFirst(place.y);
      ComputeQuad(quad, place.x + first.low * P(2), place.x + first.high * P(2), first.share, place.z);
    }
  } else {
    STORE_QUADS(2, kType, P(0), Place, Prepare, ComputeElement);
  }
}
