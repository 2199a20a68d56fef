// Index of the greatest or least element along one axis: slot 1 [outer, axis, inner] -> slot 2
// [outer, inner]. The first of equals; NaN counts as the extreme, as reduceMax and reduceMin
// have it.
//
// Parameters: 0 elements of the result; 1 size of the axis; 4..6 inner as divisor.
// Specialisation constants: 1 whether the greatest is sought, 2 data type of the operand, 3 of
// the result, 4 whether a workgroup shares one element of the result, 5 whether four neighbours are
// taken at once, whose operands are 32-bit and lie in quads: of the axis, which is innermost, where a
// workgroup shares it, else of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "fours.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kGreatest = 0u;
layout(constant_id = 2) const uint kOperandType = 0u;
layout(constant_id = 3) const uint kResultType = 2u;
layout(constant_id = 4) const uint kByWorkgroup = 0u;

layout(constant_id = 5) const uint kByFour = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

struct Candidate {
  VALUE value;
  uint index;
};
const uint kNoIndex = 0xffffffffu;

bool Beats(VALUE a, VALUE b) {
  if (IsNanValue(b)) return false;
  return IsNanValue(a) || (kGreatest != 0u ? a > b : a < b);
}

Candidate Better(Candidate a, Candidate b) {
  if (b.index == kNoIndex) return a;
  if (a.index == kNoIndex || Beats(b.value, a.value)) return b;
  return b.index < a.index && !Beats(a.value, b.value) ? b : a;
}
Candidate ValueOf(Candidate candidate, uint lane) {
  return Candidate(ValueOf(candidate.value, lane), ValueOf(candidate.index, lane));
}
WORKGROUP_FOLD(FoldBetter, Candidate, Better)

uvec2 ComputeElement(uint e) {
  uvec3 inner = P4(1).xyz;
  uint axis = P(1);
  bool together = kByWorkgroup != 0u;
  uint outer = Divide(e, inner);
  uint base = outer * axis * inner.x + (e - outer * inner.x);
  uint step = together ? gl_WorkGroupSize.x : 1u;
  Candidate best = Candidate(VALUE(0), kNoIndex);
  LONG_LOOP(i, together ? gl_LocalInvocationID.x : 0u, axis, step) {
    VALUE x = LOAD(1, kOperandType, base + i * inner.x);
    if (best.index == kNoIndex || Beats(x, best.value)) best = Candidate(x, i);
  }
  if (together) best = FoldBetter(best);
  return uvec2(best.index, 0u);
}

#if COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
// Beats without a branch.
bool IsBetter(VALUE a, VALUE b) {
  uint better = uint(kGreatest != 0u ? a > b : a < b);
#if COMPUTE == COMPUTE_FLOAT
  better = (better | uint(IsNan(a))) & ~uint(IsNan(b));
#endif
  return (better & 1u) != 0u;
}

void ComputeFour(uint first) {
  uvec3 inner = P4(1).xyz;
  uint outer = Divide(first, inner);
  uint base = outer * P(1) * inner.x + (first - outer * inner.x);
  VALUE best[4];
  uvec4 indices = uvec4(0u);
  uvec4 quad = LOAD_QUAD(1, base >> 2);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) best[i] = Decode(uvec2(quad[i], 0u), kOperandType);
#define TAKE_QUAD(k)                                      \
  {                                                       \
    quad = LOAD_QUAD(1, (base + (k) * inner.x) >> 2);     \
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {           \
      VALUE x = Decode(uvec2(quad[i], 0u), kOperandType); \
      bool better = IsBetter(x, best[i]);                 \
      best[i] = mix(best[i], x, better);                  \
      indices[i] = mix(indices[i], k, better);            \
    }                                                     \
  }
  FOURS_LOOP(1u, P(1), 1u, TAKE_QUAD)
#undef TAKE_QUAD
  if (BitsLog2(kResultType) == 6u) {
    uvec4 low = uvec4(indices.x, 0u, indices.y, 0u);
    uvec4 high = uvec4(indices.z, 0u, indices.w, 0u);
    STORE_QUAD(2, first >> 1, low)
    STORE_QUAD(2, (first >> 1) + 1u, high)
  } else {
    STORE_QUAD(2, first >> 2, indices)
  }
}

// Of an axis that lies in quads, every `size of the workgroup`th from the invocation's own on.
uvec2 ComputeRow(uint row) {
  uint quads = P(1) >> 2;
  uint base = row * quads;
  uint step = gl_WorkGroupSize.x;
  uint first = min(gl_LocalInvocationID.x, quads - 1u);
  VALUE best[4];
  uint places[4];
  uvec4 quad = LOAD_QUAD(1, base + first);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    best[i] = Decode(uvec2(quad[i], 0u), kOperandType);
    places[i] = first;
  }
#define TAKE_QUAD(k)                                               \
  {                                                                \
    uvec4 next = LOAD_QUAD(1, base + (k));                         \
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {                    \
      VALUE x = Decode(uvec2(next[i], 0u), kOperandType);          \
      bool better = IsBetter(x, best[i]);                          \
      best[i] = mix(best[i], x, better);                           \
      places[i] = mix(places[i], k, better);                       \
    }                                                              \
  }
  FOURS_LOOP(first + step, quads, step, TAKE_QUAD)
#undef TAKE_QUAD
  Candidate winner = Candidate(best[0], 4u * places[0]);
  [[unroll]] for (uint i = 1u; i < 4u; ++i) {
    winner = Better(winner, Candidate(best[i], 4u * places[i] + i));
  }
  return uvec2(FoldBetter(winner).index, 0u);
}
#else
void ComputeFour(uint first) {}
uvec2 ComputeRow(uint row) { return uvec2(0u); }
#endif

void main() {
  if (kByFour != 0u && kByWorkgroup != 0u) {
    STORE_ELEMENTS_BY_WORKGROUP(2, kResultType, P(0), ComputeRow);
    return;
  }
  if (kByFour != 0u) {
    GRID_STRIDE_LOOP(i, P(0) >> 2) { ComputeFour(4u * i); }
    return;
  }
  if (kByWorkgroup != 0u) {
    STORE_ELEMENTS_BY_WORKGROUP(2, kResultType, P(0), ComputeElement);
  } else {
    STORE_ELEMENTS(2, kResultType, P(0), ComputeElement);
  }
}
