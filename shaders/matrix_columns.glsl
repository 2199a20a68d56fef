// b of matmul.comp as a matrix.
#ifndef WEBNND_SHADERS_MATRIX_COLUMNS_GLSL_
#define WEBNND_SHADERS_MATRIX_COLUMNS_GLSL_

struct Columns {
  uint at[COLUMNS][4];  // Where columns start. Beyond the last one the last one stands in.
  uint stride;          // Along k.
};

// Those of this invocation, of a matrix that starts at `offset`.
Columns MakeColumns(uint first_column, uint offset) {
  Columns columns;
  columns.stride = P(6);
  [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
    uint column = first_column + 4u * gl_WorkGroupSize.x * j;
    if (kLoadsB == LOADS_PANELS) {
      columns.at[j][0] = offset + min(column / 32u, (P(2) - 1u) / 32u) * P(5) + (column & 31u);
      continue;
    }
    // What loads four starts at a multiple of 4, beyond the last column as well.
    if (kLoadsB == LOADS_FOUR_ACROSS) column = min(column, P(2) - 4u);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      columns.at[j][i] = offset + min(column + i, P(2) - 1u) * P(7);
    }
  }
  return columns;
}

vec4 LoadColumns(Columns columns, uint j, uint k) {
  uint offset = k * columns.stride;
  if (kLoadsB == LOADS_FOUR_ACROSS || kLoadsB == LOADS_PANELS) {
    return LoadFour2(columns.at[j][0] + offset);
  }
  vec4 b;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) b[i] = LOAD(2, kType, columns.at[j][i] + offset);
  return b;
}

StepsOfB LoadSteps(Columns columns, uint k) {
  StepsOfB b;
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    [[unroll]] for (uint s = 0u; s < kLoadedSteps; s += 4u) {
      [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
          vec4 steps = LoadFour2(columns.at[j][n] + k + s);
          [[unroll]] for (uint u = 0u; u < 4u; ++u) b.of[s + u][j][n] = steps[u];
        }
      }
    }
  } else {
    [[unroll]] for (uint s = 0u; s < kLoadedSteps; ++s) {
      [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) b.of[s][j] = LoadColumns(columns, j, k + s);
    }
  }
  return b;
}

#endif  // WEBNND_SHADERS_MATRIX_COLUMNS_GLSL_
