// Running sums along an axis (rows.glsl).
//
// Specialisation constants: 1 data type; 2 whether a workgroup shares a row, each invocation taking
// one stretch of it; 3 whether sums leave out their own element; 4 whether they start at the end.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "rows.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kByWorkgroup = 0u;
layout(constant_id = 3) const uint kExclusive = 0u;
layout(constant_id = 4) const uint kReversed = 0u;

READ_SLOT(1)
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
    uvec2 raw = Encode(kExclusive != 0u ? sum : next, kType);
    STORE_ROW_ELEMENT(2, kType, e, raw);
    sum = next;
  }
}

void main() {
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
