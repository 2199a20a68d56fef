// What a recurrent network's gates get from its input: input * weight^T + bias, for several steps, in
// the order in which they are processed. Slots 1 input [all steps, batch, depth], 2 weight [directions,
// rows, depth], 3 bias [directions, rows] -> 4 gates (recurrent.glsl).
//
// Parameters: 0 elements of the gates; 1 depth; 3 first step; 4..6 rows, 8..10 batch and 12..14 steps of
// this call as divisors; 16 steps in all; 17 and 18 whether direction 0 and 1 process the input
// backward. Specialisation constants: 1 data type, 2 whether there is a bias, 3 whether rows load four
// elements at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "product_loads.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasBias = 0u;
layout(constant_id = 3) const uint kByFour = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
WRITE_SLOT(4)

DECLARE_LOAD_FOUR(1, kType)
DECLARE_LOAD_FOUR(2, kType)

float SumProducts(uint from, uint weight, uint depth) {
  if (kByFour != 0u) {
    vec4 sums = vec4(0.0);
    for (uint k = UNKNOWN_ZERO; k < depth; k += 4u) {
      sums += LoadFour1(from + k) * LoadFour2(weight + k);
    }
    return dot(sums, vec4(1.0));
  }
  float sum = 0.0;
  LONG_LOOP(k, 0u, depth, 1u) { sum += LOAD(1, kType, from + k) * LOAD(2, kType, weight + k); }
  return sum;
}

void ComputeElement(uint e) {
  uint depth = P(1);
  uvec3 rows = P4(1).xyz;
  uvec3 batches = P4(2).xyz;
  uvec3 steps = P4(3).xyz;
  uint rest = Divide(e, rows);
  uint row = e - rest * rows.x;
  uint step_index = Divide(rest, batches);
  uint batch = rest - step_index * batches.x;
  uint direction = Divide(step_index, steps);
  uint step = P(3) + step_index - direction * steps.x;
  if (P(17u + direction) != 0u) step = P(16) - 1u - step;

  uint from = (step * batches.x + batch) * depth;
  uint weight_row = direction * rows.x + row;
  float sum = SumProducts(from, weight_row * depth, depth);
  if (kHasBias != 0u) sum += LOAD(3, kType, weight_row);
  STORE_WORD(4, e, floatBitsToUint(sum));
}

void main() {
  GRID_STRIDE_LOOP(e, P(0)) { ComputeElement(e); }
}
