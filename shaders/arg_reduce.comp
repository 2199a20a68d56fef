// Index of the greatest or least element along one axis: slot 1 [outer, axis, inner] -> slot 2
// [outer, inner]. The first of equals; NaN counts as the extreme, as reduceMax and reduceMin
// have it.
//
// Parameters: 0 elements of the result; 1 size of the axis; 4..6 inner as divisor.
// Specialisation constants: 1 whether the greatest is sought, 2 data type of the operand, 3 of
// the result, 4 whether a workgroup shares one element of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kGreatest = 0u;
layout(constant_id = 2) const uint kOperandType = 0u;
layout(constant_id = 3) const uint kResultType = 2u;
layout(constant_id = 4) const uint kByWorkgroup = 0u;

READ_SLOT(1)
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

void main() {
  if (kByWorkgroup != 0u) {
    STORE_ELEMENTS_BY_WORKGROUP(2, kResultType, P(0), ComputeElement);
  } else {
    STORE_ELEMENTS(2, kResultType, P(0), ComputeElement);
  }
}
