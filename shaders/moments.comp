// Mean and variance over any dimensions: slot 1 -> slots 2 (means) and 3 (variances), both float32.
//
// Parameters: 0 groups; 1 operand elements of each; 2 rank of the kept and 3 of the reduced
// dimensions, which follow from uvec4 1 on (strided.glsl; strides of slot 1 in x).
// Specialisation constants: 1 data type of the operand, 2 whether a workgroup shares a group, 3
// rank of the reduced dimensions (0: parameter 3).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "strided.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kByWorkgroup = 0u;
layout(constant_id = 3) const uint kReducedRank = 0u;

READ_SLOT(1)
WRITE_SLOT(2)
WRITE_SLOT(3)

// Sums are kept in blocks of this size first, so that rounding errors grow slower than the count.
const uint kBlock = 64u;

vec2 Add(vec2 a, vec2 b) { return a + b; }
WORKGROUP_FOLD(FoldSum, vec2, Add)

// Sums of x - shift and of its square over elements first, first + step, ... of a group.
vec2 Accumulate(uint base, uint first, uint step, float shift) {
  uint dimensions = 1u + 2u * P(2);
  uint rank = P(3);
  uint count = P(1);
  vec2 total = vec2(0.0);
  for (uint start = first; start < count; start += kBlock * step) {
    vec2 block = vec2(0.0);
    uint end = min(start + kBlock * step, count);
    LONG_LOOP(r, start, end, step) {
      uint from = base + StridedOffsetsOfRank(r, dimensions, kReducedRank, rank).x;
      float x = LOAD(1, kType, from) - shift;
      block += vec2(x, x * x);
    }
    total += block;
  }
  return total;
}

void ComputeGroup(uint group, bool together) {
  uint base = StridedOffsets(group, 1u, P(2)).x;
  uint first = together ? gl_LocalInvocationID.x : 0u;
  uint step = together ? gl_WorkGroupSize.x : 1u;
  float count = float(P(1));
  vec2 sums = Accumulate(base, first, step, 0.0);
  if (together) sums = FoldSum(sums);
  float mean = sums.x / count;
  sums = Accumulate(base, first, step, mean);
  if (together) sums = FoldSum(sums);
  // What rounding took from the mean.
  float error = sums.x / count;
  if (!together || gl_LocalInvocationID.x == 0u) {
    STORE_WORD(2, group, floatBitsToUint(mean + error));
    STORE_WORD(3, group, floatBitsToUint(sums.y / count - error * error));
  }
}

void main() {
  if (kByWorkgroup != 0u) {
    WORKGROUP_STRIDE_LOOP(group, P(0)) { ComputeGroup(group, true); }
  } else {
    GRID_STRIDE_LOOP(group, P(0)) { ComputeGroup(group, false); }
  }
}
