// Packs matrices of one float type for tall_matmul.comp: slots 1 the matrices, 2 the panels.
//
// A panel holds 32 neighbouring rows of a, or columns of b, step by step along k: element c of step
// k of a panel stands at 32 * k + c. Panels are float32, of a multiple of 8 steps; what is beyond the
// matrix is 0. So the product reads them as one stream, whatever the layout of the matrix was.
//
// An invocation packs four steps of four neighbours. Parameters: 0 units; 1 width (rows of a, columns
// of b); 2 depth; 3, 4 strides along the width and the depth; 5 rank of the batch, whose dimensions
// follow from uvec4 4 on (strided.glsl; x: offsets in the matrices); from uvec4 2 on two divisors,
// {fours of steps of a panel}, {panels of a matrix}. Specialisation constants: 1 data type; 2 how the
// matrices load (LOADS_... of product_loads.glsl, across: along the width).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "strided.glsl"

#include "product_loads.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kLoads = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

DECLARE_LOAD_FOUR(1, kType)

// Four neighbours from `column` on, of step `k`.
vec4 LoadStep(uint offset, uint column, uint k) {
  vec4 four;
  uint from = offset + k * P(4);
  if (kLoads == LOADS_FOUR_ACROSS) {
    four = LoadFour1(from + min(column, P(1) - 4u));
  } else {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      four[i] = LOAD(1, kType, from + min(column + i, P(1) - 1u) * P(3));
    }
  }
  return four;
}

// The four neighbours' steps k to k + 3, [step][neighbour].
mat4 LoadSteps(uint offset, uint column, uint k) {
  mat4 steps;
  if (kLoads == LOADS_FOUR_ALONG_K) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      uint row = offset + min(column + i, P(1) - 1u) * P(3);
      steps[i] = LoadFour1(row + min(k, P(2) - 4u));
    }
    return transpose(steps);
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    steps[i] = LoadStep(offset, column, min(k + i, P(2) - 1u));
  }
  return steps;
}

void main() {
  GRID_STRIDE_LOOP(unit, P(0)) {
    uint fours = unit / 8u;
    uvec3 fours_of_panel = P4(2).xyz;
    uvec3 panels = P4(3).xyz;
    uint panel = Divide(fours, fours_of_panel);
    uint matrix = Divide(panel, panels);
    uint k = 4u * (fours - panel * fours_of_panel.x);
    uint column = 32u * (panel - matrix * panels.x) + 4u * (unit & 7u);
    mat4 steps = LoadSteps(StridedOffsets(matrix, 4u, P(5)).x, column, k);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      bvec4 inside = lessThan(uvec4(column) + uvec4(0u, 1u, 2u, 3u), uvec4(k + i < P(2) ? P(1) : 0u));
      uvec4 bits = mix(uvec4(0u), floatBitsToUint(steps[i]), inside);
      STORE_QUAD(2, 32u * fours + 8u * i + (unit & 7u), bits)
    }
  }
}
