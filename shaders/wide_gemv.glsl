// gemv.comp on GPUs: a subgroup computes kRowsEach rows that follow each other, of each matrix that it
// takes at once. Fewer where there are few, so that all of a device has some; then more loads of each row
// are on their way at once.
#ifndef WEBNND_SHADERS_WIDE_GEMV_GLSL_
#define WEBNND_SHADERS_WIDE_GEMV_GLSL_

#include "deal_matrices.glsl"

layout(constant_id = 4) const uint kRowsEach = 4u;  // 1, 2, 4, or 8 where it is not gated.

#if GATED
const uint kMatricesAtOnce = 2u;
#else
const uint kMatricesAtOnce = 1u;
#endif
const uint kRows = kRowsEach * kMatricesAtOnce;
// Loads of each row that are on their way at once, and of all rows. What is not used costs nothing once
// loops are unrolled.
const uint kLoads = 8u / kRows;
const uint kLoadsMax = 8u;

// Those of a turn: load i of row r is number i * kRows + r of weights, as they come.
struct Turn {
  uvec4 weights[kLoadsMax];
  uvec4 x[kLoadsMax];
  uvec4 gain[kLoadsMax];
};

struct Rows {
  uint quads[kLoadsMax];  // Where they begin.
  float sums[kLoadsMax];
  float squares;  // Of x.
};

// Of the quads from k on; zeros beyond the end.
Turn LoadTurn(uint first_matrix, uint k, Rows rows) {
  Turn turn;
  [[unroll]] for (uint i = 0u; i < kLoads; ++i) {
    const uint quad = k + i * SUBGROUP_SIZE;
    const bool inside = quad < P(0);
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      turn.weights[i * kRows + r] = uvec4(0u);
      if (inside) {
        turn.weights[i * kRows + r] =
            LoadWeights(first_matrix + r / kRowsEach, rows.quads[r] + quad);
      }
    }
    turn.x[i] = uvec4(0u);
    if (inside) turn.x[i] = LOAD_QUAD(1, quad);
    turn.gain[i] = uvec4(0u);
    if (inside && kNormalizes != 0u) turn.gain[i] = LOAD_GAIN(quad);
  }
  return turn;
}

void AddTurn(Turn turn, inout Rows rows) {
  [[unroll]] for (uint i = 0u; i < kLoads; ++i) {
    Elements x = DecodeQuad(turn.x[i]);
    if (kNormalizes != 0u) {
      rows.squares = AddProducts(x, x, rows.squares);
      const Elements gain = DecodeQuad(turn.gain[i]);
      [[unroll]] for (uint j = 0u; j < 2u; ++j) x.of[j] *= gain.of[j];
    }
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      rows.sums[r] = AddProducts(x, DecodeQuad(turn.weights[i * kRows + r]), rows.sums[r]);
    }
  }
}

void ComputeRows(uint matrix, uint number) {
  const uint lane = gl_SubgroupInvocationID;
  const uint first_row = number * kRowsEach;
  const uint rows_of_matrix = P(4u * matrix + 4u);
  Rows rows;
  rows.squares = 0.0;
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    // Beyond the last row the last one stands in: nobody stores what comes of it.
    rows.quads[r] = min(first_row + r % kRowsEach, rows_of_matrix - 1u) * P(0);
    rows.sums[r] = 0.0;
  }
  for (uint k = 0u; k < P(0); k += kLoads * SUBGROUP_SIZE) {
    AddTurn(LoadTurn(matrix, k + lane, rows), rows);
  }
  float scale = uintBitsToFloat(P(1));
  if (kNormalizes != 0u) {
    const float count = float(P(0) * (kType == kFloat16 ? 8u : 4u));
    scale /= sqrt(SumOverSubgroup(rows.squares) / count + uintBitsToFloat(P(3)));
  }
  [[unroll]] for (uint r = 0u; r < kRowsEach; ++r) {
    float value = scale * SumOverSubgroup(rows.sums[r]);
#if GATED
    value = Silu(value) * (scale * SumOverSubgroup(rows.sums[kRowsEach + r]));
#endif
    // Each by another invocation: they store at once.
    if (lane == r % SUBGROUP_SIZE && first_row + r < rows_of_matrix) {
      Store(matrix, first_row + r, value);
    }
  }
}

uint CountGroups(uint matrix) { return (P(4u * matrix + 4u) + kRowsEach - 1u) / kRowsEach; }

void main() { DEAL_MATRICES(SUBGROUP_STRIDE_LOOP, CountGroups, ComputeRows) }

#endif  // WEBNND_SHADERS_WIDE_GEMV_GLSL_
