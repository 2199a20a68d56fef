// result[m, n] = alpha * sum over k of a[m, k] * b[k, n] + beta * c[m, n], for each matrix of a
// batch. Slots: 1 a, 2 b, 3 the result (packed), 4 c (a again where there is none). Sums are
// float32.
//
// An invocation computes ROWS rows of COLUMNS vec4 columns; neighbours have neighbouring
// columns, so that all share their elements of a: each loads one of eight along k and gets the
// others by shuffle.
//
// Parameters: 0 matrices in the batch; 1 M; 2 N; 3 K; 4, 5 strides of a along m and k; 6, 7 of b
// along k and n; 8, 9 of c along m and n; 10 alpha; 11 beta; 12 rank of the batch, whose
// dimensions follow from uvec4 4 on (strided.glsl; x: offsets in a, y: in b). Specialisation
// constants: 1 data type; 2 whether four elements of b along its contiguous dimension, from a
// multiple of 4 on, load at once; 3 whether that dimension is k (else n); 4 whether there is a
// c.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "strided.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kLoadsFour = 0u;
layout(constant_id = 3) const uint kTransposed = 0u;
layout(constant_id = 4) const uint kHasC = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)
READ_SLOT(4)

// Steps along k that share one load of a.
const uint kUnroll = 8u;

struct Tile {
  uint first_row;
  uint first_column;  // Of this invocation; a multiple of 4.
  uint result_offset;
  // Where rows of a and columns of b start. Beyond the last row or column the last one stands in:
  // nobody stores what comes of it.
  uint a_rows[ROWS];
  uint b_columns[COLUMNS][4];
  uint a_stride;
  uint b_stride;
};

struct Sums {
  vec4 of[ROWS][COLUMNS];
};

// Elements e to e + 3, for e a multiple of 4.
vec4 LoadFourOfB(uint e) {
  if (kType == kFloat16) {
    uvec2 pair = LOAD_PAIR(2, e >> 2);
    return vec4(unpackHalf2x16(pair.x), unpackHalf2x16(pair.y));
  }
  return uintBitsToFloat(LOAD_QUAD(2, e >> 2));
}

vec4 LoadColumns(Tile tile, uint j, uint k) {
  uint offset = k * tile.b_stride;
  if (kLoadsFour != 0u && kTransposed == 0u) return LoadFourOfB(tile.b_columns[j][0] + offset);
  vec4 b;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) b[i] = LOAD(2, kType, tile.b_columns[j][i] + offset);
  return b;
}

// This invocation's share of kUnroll elements of each row of a, from k on.
float[ROWS] LoadShares(Tile tile, uint k) {
  uint lane = gl_SubgroupInvocationID & (kUnroll - 1u);
  float a[ROWS];
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    a[i] = LOAD(1, kType, tile.a_rows[i] + (k + lane) * tile.a_stride);
  }
  return a;
}

// Adds k to k + kUnroll - 1, loading b along n.
void AddAcross(Tile tile, uint k, inout Sums sums) {
  float a[ROWS] = LoadShares(tile, k);
  [[unroll]] for (uint s = 0u; s < kUnroll; ++s) {
    vec4 b[COLUMNS];
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) b[j] = LoadColumns(tile, j, k + s);
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      float shared_a = subgroupShuffle(a[i], s);
      [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
        sums.of[i][j] = fma(vec4(shared_a), b[j], sums.of[i][j]);
      }
    }
  }
}

// The same, loading b along k.
void AddAlong(Tile tile, uint k, inout Sums sums) {
  float a[ROWS] = LoadShares(tile, k);
  [[unroll]] for (uint u = 0u; u < kUnroll; u += 4u) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      vec4 b[4];
      [[unroll]] for (uint n = 0u; n < 4u; ++n) b[n] = LoadFourOfB(tile.b_columns[j][n] + k + u);
      [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
        [[unroll]] for (uint s = 0u; s < 4u; ++s) {
          float shared_a = subgroupShuffle(a[i], u + s);
          [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            sums.of[i][j][n] = fma(shared_a, b[n][s], sums.of[i][j][n]);
          }
        }
      }
    }
  }
}

void AddOne(Tile tile, uint k, inout Sums sums) {
  vec4 b[COLUMNS];
  [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) b[j] = LoadColumns(tile, j, k);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    float a = LOAD(1, kType, tile.a_rows[i] + k * tile.a_stride);
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      sums.of[i][j] = fma(vec4(a), b[j], sums.of[i][j]);
    }
  }
}

void StoreFour(Tile tile, uint m, uint n, vec4 values) {
  uint columns = P(2);
  uint e = tile.result_offset + m * columns + n;
  uint raw[4];
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    float value = uintBitsToFloat(P(10)) * values[i];
    if (kHasC != 0u && n + i < columns) {
      value += uintBitsToFloat(P(11)) * LOAD(4, kType, m * P(8) + (n + i) * P(9));
    }
    raw[i] = Encode(value, kType).x;
  }
  if (kType == kFloat32) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      if (n + i < columns) STORE_WORD(3, e + i, raw[i]);
    }
  } else if ((columns & 1u) == 0u) {
    if (n < columns) STORE_WORD(3, e >> 1, raw[0] | (raw[1] << 16));
    if (n + 2u < columns) STORE_WORD(3, (e >> 1) + 1u, raw[2] | (raw[3] << 16));
  } else {
    // Rows of an odd length share words.
    for (uint i = 0u; i < 4u; ++i) {
      uint shift = ((e + i) & 1u) << 4;
      if (n + i < columns) MERGE_WORD(3, (e + i) >> 1, 0xffffu << shift, raw[i] << shift);
    }
  }
}

void ComputeTile(Tile tile) {
  Sums sums;
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) sums.of[i][j] = vec4(0.0);
  }
  uint depth = P(3);
  uint k = 0u;
  // Narrower subgroups cannot share a load of eight.
  if (gl_SubgroupSize >= kUnroll) {
    for (; k + kUnroll <= depth; k += kUnroll) {
      if (kLoadsFour != 0u && kTransposed != 0u) {
        AddAlong(tile, k, sums);
      } else {
        AddAcross(tile, k, sums);
      }
    }
  }
  for (; k < depth; ++k) AddOne(tile, k, sums);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      if (tile.first_row + i < P(1)) {
        StoreFour(tile, tile.first_row + i, tile.first_column + 4u * gl_WorkGroupSize.x * j,
                  sums.of[i][j]);
      }
    }
  }
}

Tile MakeTile(uint matrix, uint first_row, uint first_column) {
  Tile tile;
  uvec4 offsets = StridedOffsets(matrix, 4u, P(12));
  tile.first_row = first_row;
  tile.first_column = first_column;
  tile.result_offset = matrix * P(1) * P(2);
  tile.a_stride = P(5);
  tile.b_stride = P(6);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    tile.a_rows[i] = offsets.x + min(first_row + i, P(1) - 1u) * P(4);
  }
  [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
    uint column = first_column + 4u * gl_WorkGroupSize.x * j;
    // What loads four starts at a multiple of 4, beyond the last column as well.
    if (kLoadsFour != 0u && kTransposed == 0u) column = min(column, P(2) - 4u);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      tile.b_columns[j][i] = offsets.y + min(column + i, P(2) - 1u) * P(7);
    }
  }
  return tile;
}

void main() {
  uint tile_columns = 4u * COLUMNS * gl_WorkGroupSize.x;
  uint across = (P(2) + tile_columns - 1u) / tile_columns;
  uint down = (P(1) + ROWS - 1u) / ROWS;
  WORKGROUP_STRIDE_LOOP(index, P(0) * down * across) {
    uint row_of_tiles = index / across;
    uint matrix = row_of_tiles / down;
    uint first_row = (row_of_tiles - matrix * down) * ROWS;
    uint first_column = (index - row_of_tiles * across) * tile_columns;
    ComputeTile(MakeTile(matrix, first_row, first_column + 4u * gl_LocalInvocationID.x));
  }
}
