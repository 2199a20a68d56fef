// Packs matrices of one float type for tall_matmul.comp: slots 1 the matrices, 2 the panels.
//
// A panel holds 32 neighbouring rows of a, or columns of b, step by step along k: element c of step
// k of a panel stands at 32 * k + c. Panels are float32, of a multiple of 8 steps; what is beyond the
// matrix is 0. So the product reads them as one stream, whatever the layout of the matrix was.
//
// An invocation packs eight steps of four neighbours, so that it uses up what it reads of a row along
// k: rows may lie a power of two apart, where caches keep few of them. Where neighbours lie beside each
// other, one panel after the other gets a block of steps, so that rows are read as streams.
//
// Parameters: 0 units; 1 width (rows of a, columns of b); 2 depth; 3, 4 strides along the width and the
// depth; 5 rank of the batch, whose dimensions follow from uvec4 4 on (strided.glsl; x: offsets in the
// matrices); from uvec4 2 on two divisors, {blocks of a panel}, {panels of a matrix}. Specialisation
// constants: 1 data type; 2 how the matrices load (LOADS_... of product_loads.glsl, across: along the
// width); 3 whether blocks go over panels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "strided.glsl"

#include "product_loads.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kLoads = 0u;
layout(constant_id = 3) const uint kOverPanels = 0u;

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

const uint kSteps = 8u;

struct Steps {
  vec4 of[kSteps];  // [step][neighbour]
};

// The four neighbours' steps from k on.
Steps LoadSteps(uint offset, uint column, uint k) {
  Steps steps;
  if (kLoads == LOADS_FOUR_ALONG_K) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      uint row = offset + min(column + i, P(1) - 1u) * P(3);
      [[unroll]] for (uint j = 0u; j < kSteps; j += 4u) {
        vec4 four = LoadFour1(row + min(k + j, P(2) - 4u));
        [[unroll]] for (uint u = 0u; u < 4u; ++u) steps.of[j + u][i] = four[u];
      }
    }
    return steps;
  }
  [[unroll]] for (uint s = 0u; s < kSteps; ++s) {
    steps.of[s] = LoadStep(offset, column, min(k + s, P(2) - 1u));
  }
  return steps;
}

struct Place {
  uint matrix;
  uint panel;  // Of the matrix.
  uint block;  // Of the panel.
};

Place PlaceOf(uint index) {
  uvec3 blocks = P4(2).xyz;
  uvec3 panels = P4(3).xyz;
  if (kOverPanels != 0u) {
    uint block = Divide(index, panels);
    uint matrix = Divide(block, blocks);
    return Place(matrix, index - block * panels.x, block - matrix * blocks.x);
  }
  uint panel = Divide(index, blocks);
  uint matrix = Divide(panel, panels);
  return Place(matrix, panel - matrix * panels.x, index - panel * blocks.x);
}

// On llvmpipe neighbouring invocations have neighbours, whose steps it stores as they lie in registers:
// of quads along k it has one vector for each step.
#if TENSOR_READS == READS_TEXELS
#include "subgroup.glsl"

bool GoesByNeighbours() {
  if (kSubgroupSize == 0u || kLoads == LOADS_ONE) return false;
  return kLoads == LOADS_FOUR_ALONG_K || kType == kFloat32;
}

// One block of a panel.
void PackBlock(uint index) {
  const Place place = PlaceOf(index);
  const uint k = UNIFORM(kSteps * place.block);
  const uint panel = UNIFORM(32u * place.panel);
  const uint offset = UNIFORM(StridedOffsets(place.matrix, 4u, P(5)).x);
  const uint to =
      UNIFORM(32u * kSteps * ((place.matrix * P4(3).x + place.panel) * P4(2).x + place.block));
  const uint lane = gl_SubgroupInvocationID;
  for (uint first = UNKNOWN_ZERO; first < 32u; first += kSubgroupSize) {
    const uint start = UNIFORM(panel + first);
    const uint column = start + lane;
    vec4 fours[kSteps / 4u];
    [[unroll]] for (uint s = 0u; s < kSteps; ++s) {
      if (kLoads == LOADS_FOUR_ALONG_K && s % 4u == 0u) {
        const uint row = offset + min(column, P(1) - 1u) * P(3);
        fours[s / 4u] = LoadFour1(row + min(k + s, P(2) - 4u));
      } else if (kLoads == LOADS_FOUR_ACROSS) {
        const uint from = UNIFORM(offset + min(k + s, P(2) - 1u) * P(4) + start);
        fours[s / 4u][s % 4u] = uintBitsToFloat(LOAD_WORD(1, from + lane));
      }
    }
    [[unroll]] for (uint s = 0u; s < kSteps; ++s) {
      const bool inside = column < P(1) && k + s < P(2);
      const uint bits = inside ? floatBitsToUint(fours[s / 4u][s % 4u]) : 0u;
      STORE_WORD(2, UNIFORM(to + 32u * s + first) + lane, bits);
    }
  }
}

void PackByNeighbours(uint blocks) {
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, blocks);
  for (uint i = StartOfWorkgroup(gl_WorkGroupID.x, blocks); i < end; ++i) PackBlock(UNIFORM(i));
}
#else
bool GoesByNeighbours() { return false; }
void PackByNeighbours(uint blocks) {}
#endif

void main() {
  if (GoesByNeighbours()) {
    PackByNeighbours(P(0) / 8u);
    return;
  }
  GRID_STRIDE_LOOP(unit, P(0)) {
    Place place = PlaceOf(unit / 8u);
    uint k = kSteps * place.block;
    uint column = 32u * place.panel + 4u * (unit & 7u);
    Steps steps = LoadSteps(StridedOffsets(place.matrix, 4u, P(5)).x, column, k);
    uint width = P(1) - min(column, P(1));
    uint packed_block = (place.matrix * P4(3).x + place.panel) * P4(2).x + place.block;
    [[unroll]] for (uint s = 0u; s < kSteps; ++s) {
      bvec4 inside = lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(k + s < P(2) ? width : 0u));
      uvec4 bits = mix(uvec4(0u), floatBitsToUint(steps.of[s]), inside);
      STORE_QUAD(2, 8u * (kSteps * packed_block + s) + (unit & 7u), bits)
    }
  }
}
