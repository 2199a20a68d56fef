// Index of the greatest or least element along one axis: slot 1 [outer, axis, inner] -> slot 2
// [outer, inner]. The first of equals; NaN counts as the extreme, as reduceMax and reduceMin
// have it.
//
// Parameters: 0 elements of the result; 1 size of the axis; 4..6 inner as divisor.
// Specialisation constants: 1 whether the greatest is sought, 2 data type of the operand, 3 of
// the result, 4 whether a workgroup shares one element of the result, 5 whether an invocation computes
// four neighbours of the result, whose operands are 32-bit and lie in quads.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
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
  for (uint k = 1u; k < P(1); ++k) {
    quad = LOAD_QUAD(1, (base + k * inner.x) >> 2);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      VALUE x = Decode(uvec2(quad[i], 0u), kOperandType);
      bool better = IsBetter(x, best[i]);
      best[i] = mix(best[i], x, better);
      indices[i] = mix(indices[i], k, better);
    }
  }
  if (BitsLog2(kResultType) == 6u) {
    uvec4 low = uvec4(indices.x, 0u, indices.y, 0u);
    uvec4 high = uvec4(indices.z, 0u, indices.w, 0u);
    STORE_QUAD(2, first >> 1, low)
    STORE_QUAD(2, (first >> 1) + 1u, high)
  } else {
    STORE_QUAD(2, first >> 2, indices)
  }
}
#else
void ComputeFour(uint first) {}
#endif

void main() {
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
