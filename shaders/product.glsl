// The inner loop of matrix products: sums[m, n] += a[m, k] * b[k, n] for ROWS rows m, COLUMNS times
// four columns n of this invocation, and kBlock steps k at a time.
//
// The invocations of a subgroup compute different columns of the same rows. So each loads its own
// elements of b, but only a share of those of a: it gets the rest from its neighbours, by shuffles
// with constant indices. Loads of many steps come before their first multiplication, because
// drivers that call a function for each load save all registers around it; and four rows take
// turns, so that each element of b that comes back from the stack is used four times, and the
// chains of additions are many.
#ifndef WEBNND_SHADERS_PRODUCT_GLSL_
#define WEBNND_SHADERS_PRODUCT_GLSL_

#extension GL_EXT_control_flow_attributes : require
#include "subgroup.glsl"

const uint kBlock = 8u;
// Steps of b that load at once. Where each serves a single sum, keeping more costs more than it
// spares. A module may define STEPS.
#ifndef STEPS
#define STEPS (ROWS * COLUMNS == 1 ? 4u : kBlock)
#endif
const uint kLoadedSteps = STEPS;

struct Sums {
  vec4 of[ROWS][COLUMNS];
};

struct StepsOfB {
  vec4 of[kLoadedSteps][COLUMNS];  // [k][n]
};

// This invocation's share of a block of a; s = gl_SubgroupInvocationID modulo kBlock.
// kAlongSteps: of[i][j] = a[4 i + s / 2, 4 * (s & 1) + j]; else of[i][j] = a[4 i + j, s].
#define SHARES ((ROWS + 3) / 4)
struct Shares {
  vec4 of[SHARES];
};

uint ShareIndex() { return gl_SubgroupInvocationID & (kBlock - 1u); }

// Element (row, k) of the block.
float Share(Shares a, bool along_steps, uint row, uint k) {
  if (along_steps) {
    return subgroupShuffle(a.of[row / 4u][k & 3u], (row & 3u) * 2u + k / 4u);
  }
  return subgroupShuffle(a.of[row / 4u][row & 3u], k);
}

Sums ZeroSums() {
  Sums sums;
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) sums.of[i][j] = vec4(0.0);
  }
  return sums;
}

// Adds steps first to first + kLoadedSteps - 1 of the block.
void AddSteps(Shares a, bool along_steps, uint first, StepsOfB b, inout Sums sums) {
  const uint group = ROWS < 4 ? ROWS : 4;
  [[unroll]] for (uint g = 0u; g < ROWS / group; ++g) {
    [[unroll]] for (uint k = 0u; k < kLoadedSteps; ++k) {
      [[unroll]] for (uint r = 0u; r < group; ++r) {
        uint i = g * group + r;
        float shared_a = Share(a, along_steps, i, first + k);
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
          sums.of[i][j] = fma(vec4(shared_a), b.of[k][j], sums.of[i][j]);
        }
      }
    }
  }
}

// One step, for what is left of the sums behind the last block.
void AddStep(float a[ROWS], vec4 b[COLUMNS], inout Sums sums) {
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      sums.of[i][j] = fma(vec4(a[i]), b[j], sums.of[i][j]);
    }
  }
}

#endif  // WEBNND_SHADERS_PRODUCT_GLSL_
