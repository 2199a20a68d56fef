// Running sums along an axis (rows.glsl).
//
// Specialisation constants: 1 data type; 2 whether a workgroup shares a row, each invocation taking
// one stretch of it; 3 whether sums leave out their own element; 4 whether they start at the end; 5
// whether elements are taken by quads: neighbours of a row that lies in one piece, where rows are shared
// (then by turns, not in stretches), else, of at most 32 bits, of four neighbouring rows; 6 how many
// fours of neighbouring rows an invocation takes, 1 to 4: where rows are interleaved, each of their
// elements is likely to lie in another page, of which little is read at a time; 7 how far those fours are
// from each other (FirstOfFours); 8 whether, on llvmpipe, rows in one piece that workgroups share go by vectors.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fours.glsl"
#include "rows.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kByWorkgroup = 0u;
layout(constant_id = 3) const uint kExclusive = 0u;
layout(constant_id = 4) const uint kReversed = 0u;
layout(constant_id = 5) const uint kByFour = 0u;
layout(constant_id = 6) const uint kFours = 1u;
layout(constant_id = 7) const uint kApart = 1u;
layout(constant_id = 8) const uint kByVectors = 0u;
const uint kFoursMax = 4u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
DECLARE_LOAD_FOUR_RAW(1)
WRITE_SLOT(2)

uint Element(uint base, uint k) {
  return base + (kReversed != 0u ? P(1) - 1u - k : k) * P(4);
}

shared VALUE stretch_sums[gl_WorkGroupSize.x];

// The sum of all elements before `first`, to which the other invocations contribute.
VALUE SumBefore(uint base, uint first, uint end) {
  VALUE sum = VALUE(0);
  LONG_LOOP(k, first, end, 1u) sum += LOAD(1, kType, Element(base, k));
  stretch_sums[gl_LocalInvocationID.x] = sum;
  barrier();
  VALUE before = VALUE(0);
  for (uint i = 0u; i < gl_LocalInvocationID.x; ++i) before += stretch_sums[i];
  barrier();
  return before;
}

void ComputeStretch(uint base, uint first, uint end, VALUE sum) {
  LONG_LOOP(k, first, end, 1u) {
    uint e = Element(base, k);
    VALUE x = LOAD(1, kType, e);
    VALUE next = sum + x;
    STORE_ELEMENT(2, kType, e, Encode(kExclusive != 0u ? sum : next, kType))
    sum = next;
  }
}

#if COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
const uint kFour = 4u;

VALUE ElementOf(uvec4 quad, uint k) { return Decode(uvec2(quad[k], 0u), kType); }

// Writes the sums of kFours fours of rows, of which the first begins with row `first`.
void ComputeRowsByFour(uint first) {
  uint base = RowBase(first);
  VALUE sums[kFoursMax][kFour];
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
    [[unroll]] for (uint i = 0u; i < kFour; ++i) sums[q][i] = VALUE(0);
  }
  for (uint k = 0u; k < P(1); ++k) {
    uint at = Element(base, k) >> 2;
    uvec4 quads[kFoursMax];
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) quads[q] = LoadFourRaw1(kType, at + q * kApart);
    }
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) {
        uvec4 bits;
        [[unroll]] for (uint i = 0u; i < kFour; ++i) {
          VALUE next = sums[q][i] + ElementOf(quads[q], i);
          bits[i] = Encode(kExclusive != 0u ? sums[q][i] : next, kType).x;
          sums[q][i] = next;
        }
        STORE_FOUR_RAW(2, kType, at + q * kApart, bits)
      }
    }
  }
}

struct Totals {
  VALUE before;  // Of the invocations before this one.
  VALUE all;
};

Totals AddTotals(VALUE own) {
  const uint lane = gl_LocalInvocationID.x;
  const uint size = gl_WorkGroupSize.x;
  Totals totals = Totals(VALUE(0), VALUE(0));
  const VALUE zero = VALUE(0);
  if (size == kSubgroupSize && size <= 16u) {
    for (uint i = 0u; i < size; ++i) {
      VALUE value = ValueOf(own, i);
      totals.before += i < lane ? value : zero;
      totals.all += value;
    }
    return totals;
  }
  stretch_sums[lane] = own;
  barrier();
  // Each step adds what is twice as far away.
  for (uint step = 1u; step < size; step *= 2u) {
    const VALUE more = lane >= step ? stretch_sums[max(lane, step) - step] : zero;
    barrier();
    stretch_sums[lane] += more;
    barrier();
  }
  totals.before = lane > 0u ? stretch_sums[max(lane, 1u) - 1u] : zero;
  totals.all = stretch_sums[size - 1u];
  barrier();
  return totals;
}

// A row that lies in one piece, by vectors of a workgroup that is one subgroup, from its end on if reversed.
void ComputeRowByVectors(uint row) {
  const uint lane = gl_SubgroupInvocationID;
  const uint count = (P(1) + kSubgroupSize - 1u) / kSubgroupSize;
  const uint base = row * P(1);
  VALUE before = VALUE(0);  // The sum of all vectors that came before.
  for (uint turn = UNKNOWN_ZERO; turn < count; ++turn) {
    const uint first = (kReversed != 0u ? count - 1u - turn : turn) * kSubgroupSize;
    const uint at = UNIFORM(base + first) + lane;
    VALUE sum = VALUE(0);
    if (first + lane < P(1)) sum = LOAD(1, kType, at);
    // Each step adds what is twice as far away.
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      const uint step = 1u << k;
      if (step >= kSubgroupSize) break;
      const bool is_there = kReversed != 0u ? lane + step < kSubgroupSize : lane >= step;
      const VALUE more = ValueOf(sum, (kReversed != 0u ? lane + step : lane - step) % kSubgroupSize);
      sum += is_there ? more : VALUE(0);
    }
    const uint last = kReversed != 0u ? 0u : kSubgroupSize - 1u;
    const VALUE all = ValueOf(sum, last);
    if (kExclusive != 0u) {
      const bool is_first = lane == kSubgroupSize - 1u - last;
      const VALUE others = ValueOf(sum, (kReversed != 0u ? lane + 1u : lane - 1u) % kSubgroupSize);
      sum = is_first ? VALUE(0) : others;
    }
    if (first + lane < P(1)) STORE_ELEMENT(2, kType, at, Encode(before + sum, kType))
    before += all;
  }
}

const uint kHalves = kType == kFloat16 ? 2u : 1u;  // Elements in a word.
const uint kPerQuad = 4u * kHalves;
const uint kPerQuadMax = 8u;

VALUE ElementOfRow(uvec4 quad, uint k) {
  const uint word = quad[k / kHalves];
  return Decode(uvec2(kHalves == 2u ? (word >> (16u * (k & 1u))) & 0xffffu : word, 0u), kType);
}

// A row that lies in one piece: invocations take neighbouring quads by turns.
void ComputeRowByQuads(uint row) {
  uint quads = P(1) / kPerQuad;
  uint base = row * quads;
  VALUE sum = VALUE(0);
  for (uint start = 0u; start < quads; start += gl_WorkGroupSize.x) {
    uint turn = start + gl_LocalInvocationID.x;
    bool inside = turn < quads;
    uint k = min(turn, quads - 1u);
    uint at = base + (kReversed != 0u ? quads - 1u - k : k);
    uvec4 quad = LOAD_QUAD(1, at);
    VALUE before[kPerQuadMax];
    VALUE own = VALUE(0);
    VALUE elements[kPerQuadMax];
    [[unroll]] for (uint i = 0u; i < kPerQuad; ++i) {
      elements[i] = ElementOfRow(quad, kReversed != 0u ? kPerQuad - 1u - i : i);
      before[i] = own;
      own += elements[i];
    }
    const VALUE zero = VALUE(0);
    Totals totals = AddTotals(inside ? own : zero);
    VALUE so_far = sum + totals.before;
    uvec4 bits = uvec4(0u);
    [[unroll]] for (uint i = 0u; i < kPerQuad; ++i) {
      VALUE result = so_far + before[i];
      if (kExclusive == 0u) result += elements[i];
      const uint k = kReversed != 0u ? kPerQuad - 1u - i : i;
      bits[k / kHalves] |= Encode(result, kType).x << (kHalves == 2u ? 16u * (k & 1u) : 0u);
    }
    if (inside) STORE_QUAD(2, at, bits)
    sum += totals.all;
  }
}
bool CanGoByVectors() { return kByVectors != 0u && IsWorkgroupOneSubgroup(); }
#else
void ComputeRowsByFour(uint first) {}
void ComputeRowByQuads(uint row) {}
void ComputeRowByVectors(uint row) {}
bool CanGoByVectors() { return false; }
#endif

void main() {
  if (kByFour != 0u && kByWorkgroup != 0u) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRowByQuads(row);
    return;
  }
  if (kByFour != 0u) {
    GRID_STRIDE_LOOP(i, P(0) / (4u * kFours)) {
      ComputeRowsByFour(4u * FirstOfFours(i, kFours, kApart));
    }
    return;
  }
  if (CanGoByVectors()) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRowByVectors(row);
    return;
  }
  uint axis = P(1);
  if (kByWorkgroup != 0u) {
    uint length = (axis + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
    WORKGROUP_STRIDE_LOOP(row, P(0)) {
      uint base = RowBase(row);
      uint first = min(gl_LocalInvocationID.x * length, axis);
      uint end = min(first + length, axis);
      ComputeStretch(base, first, end, SumBefore(base, first, end));
    }
  } else {
    GRID_STRIDE_LOOP(row, P(0)) { ComputeStretch(RowBase(row), 0u, axis, VALUE(0)); }
  }
}
