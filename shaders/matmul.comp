// result[m, n] = activation(alpha * sum over k of a[m, k] * b[k, n] + beta * c[m, n] +
// residual[m, n]), for each matrix of a batch. Slots: 1 a, 2 b, 3 the result, 4 c, 5 the residual,
// which lies as the result does (a again where there is none). Sums are float32.
//
// A workgroup computes ROWS rows; its invocations have neighbouring columns, four times COLUMNS
// each (product.glsl). Of one row, with -DDIVIDES_DEPTH=1 for GPUs, kAcross of them do, and those who
// have the same columns divide the depth between them. b is a matrix or, with -DIMAGE=1, the windows of
// an image: then a is the filter of a convolution, m counts channels of the result and n its pixels.
//
// Parameters: 0 matrices in the batch; 1 M; 2 N; 3 K; 4, 5 strides of a along m and k; 6, 7 of b
// along k and n; 8, 9 of c along m and n; 10 alpha; 11 beta; 12 rank of the batch, whose
// dimensions follow from uvec4 4 on (strided.glsl; x: offsets in a, y: in b, z: in c, w: in the
// result); 13, 14 strides of the result along m and n. Specialisation constants: 1 data type; 2, 3
// how a and b load (product_loads.glsl); 4 whether there is a c; 5 whether two results along n, from
// an even n on, share no word with others; 7 whether there is a residual; 8 the activation
// (epilogue.glsl); 9 kAcross; 10 sums of an invocation, 4, 8 or 16, where a row
// goes by words; 11 whether rows of b, of float16, then begin anywhere.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "strided.glsl"

#include "product.glsl"
#include "product_loads.glsl"
#define EPILOGUE_CONSTANT 8
#include "epilogue.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kLoadsA = 0u;
layout(constant_id = 3) const uint kLoadsB = 0u;
layout(constant_id = 4) const uint kHasC = 0u;
layout(constant_id = 5) const uint kStoresPairs = 0u;
layout(constant_id = 7) const uint kHasResidual = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)

DECLARE_LOAD_FOUR(1, kType)
DECLARE_LOAD_FOUR(2, kType)

#ifdef IMAGE
#include "image_columns.glsl"
#else
#include "matrix_columns.glsl"
#endif

struct Tile {
  uint first_row;
  uint first_column;  // Of this invocation; a multiple of 4.
  uint result_offset;
  uint c_offset;
  uvec2 size;  // M, N
  uvec2 result_strides;
  uvec2 c_strides;
  vec2 factors;  // alpha, beta
  // Where rows of a start, and those of which this invocation loads shares. Beyond the last row (or
  // column, of b) the last one stands in: nobody stores what comes of it.
  uint a_rows[ROWS];
  uint a_shares[SHARES];
  uint a_stride;
  uint depth;
  Columns columns;
};

// Of the block from k on, which may reach beyond K: the last steps stand in for what is not there.
Shares LoadShares(Tile tile, uint k) {
  Shares a;
  bool along_k = kLoadsA == LOADS_FOUR_ALONG_K;
  uint step = along_k ? min(k + 4u * (ShareIndex() & 1u), tile.depth - 4u)
                      : min(k + ShareIndex(), tile.depth - 1u);
  uint offset = step * tile.a_stride;
  if (kLoadsA == LOADS_ONE) {
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      a.of[i / 4u][i & 3u] = LOAD(1, kType, tile.a_rows[i] + offset);
    }
  } else {
    [[unroll]] for (uint i = 0u; i < SHARES; ++i) {
      a.of[i] = LoadFour1(tile.a_shares[i] + offset);
    }
  }
  return a;
}

void AddOne(Tile tile, uint k, float a[ROWS], inout Sums sums) {
  vec4 b[COLUMNS];
  [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) b[j] = LoadColumns(tile.columns, j, k);
  AddStep(a, b, sums);
}

// Without shares.
void AddAllOneByOne(Tile tile, inout Sums sums) {
  for (uint k = 0u; k < tile.depth; ++k) {
    float a[ROWS];
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      a[i] = LOAD(1, kType, tile.a_rows[i] + k * tile.a_stride);
    }
    AddOne(tile, k, a, sums);
  }
}

void AddAllInBlocks(Tile tile, inout Sums sums) {
  bool along_k = kLoadsA == LOADS_FOUR_ALONG_K;
  uint k = 0u;
  for (; k + kBlock <= tile.depth; k += kBlock) {
    Shares a = LoadShares(tile, k);
    [[unroll]] for (uint s = 0u; s < kBlock; s += kLoadedSteps) {
      AddSteps(a, along_k, s, LoadSteps(tile.columns, k + s), sums);
    }
  }
  if (k == tile.depth) return;
  Shares shares = LoadShares(tile, k);
  for (uint step = 0u; step < tile.depth - k; ++step) {
    float a[ROWS];
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) a[i] = Share(shares, along_k, i, step);
    AddOne(tile, k + step, a, sums);
  }
}

void StoreFour(Tile tile, uint m, uint n, vec4 values) {
  uint columns = tile.size.y;
  uint step = tile.result_strides.y;
  uint e = tile.result_offset + m * tile.result_strides.x + n * step;
  uint raw[4];
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    float value = tile.factors.x * values[i];
    if (kHasC != 0u && n + i < columns) {
      uint at = tile.c_offset + m * tile.c_strides.x + (n + i) * tile.c_strides.y;
      value += tile.factors.y * LOAD(4, kType, at);
    }
    if (kHasResidual != 0u && n + i < columns) value += LOAD(5, kType, e + i * step);
    raw[i] = Encode(Activate(value), kType).x;
  }
  if (kType == kFloat16 && kStoresPairs != 0u) {
    if (n < columns) STORE_WORD(3, e >> 1, raw[0] | (raw[1] << 16));
    if (n + 2u < columns) STORE_WORD(3, (e >> 1) + 1u, raw[2] | (raw[3] << 16));
  } else {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      if (n + i < columns) STORE_ELEMENT(3, kType, e + i * step, uvec2(raw[i], 0u))
    }
  }
}

void ComputeTile(Tile tile) {
  Sums sums = ZeroSums();
  // Narrower subgroups cannot share a block.
  if (SUBGROUP_SIZE >= kBlock) {
    AddAllInBlocks(tile, sums);
  } else {
    AddAllOneByOne(tile, sums);
  }
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      if (tile.first_row + i < tile.size.x) {
        StoreFour(tile, tile.first_row + i, tile.first_column + 4u * gl_WorkGroupSize.x * j,
                  sums.of[i][j]);
      }
    }
  }
}

// The row in which this invocation's share i of a starts, see Shares.
uint ShareRow(uint first_row, uint i) {
  if (kLoadsA == LOADS_FOUR_ALONG_K) return min(first_row + 4u * i + ShareIndex() / 2u, P(1) - 1u);
  // What loads four starts at a multiple of 4, beyond the last row as well.
  return min(first_row + 4u * i, P(1) - 4u);
}

Tile MakeTile(uint matrix, uint first_row, uint first_column) {
  Tile tile;
  uvec4 offsets = StridedOffsets(matrix, 4u, P(12));
  tile.first_row = first_row;
  tile.first_column = first_column;
  tile.result_offset = offsets.w;
  tile.c_offset = offsets.z;
  tile.size = uvec2(P(1), P(2));
  tile.result_strides = uvec2(P(13), P(14));
  tile.c_strides = uvec2(P(8), P(9));
  tile.factors = uintBitsToFloat(uvec2(P(10), P(11)));
  tile.a_stride = P(5);
  tile.depth = P(3);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    tile.a_rows[i] = offsets.x + min(first_row + i, P(1) - 1u) * P(4);
  }
  [[unroll]] for (uint i = 0u; i < SHARES; ++i) {
    tile.a_shares[i] = offsets.x + ShareRow(first_row, i) * P(4);
  }
  tile.columns = MakeColumns(first_column, offsets.y);
  return tile;
}

#ifdef DIVIDES_DEPTH

layout(constant_id = 9) const uint kAcross = 8u;  // A power of two.

shared vec4 shared_sums[gl_WorkGroupSize.x];

// Steps k to k + kBlock - 1.
void AddBlock(Tile tile, uint k, StepsOfB b, inout Sums sums) {
  float a[kBlock];
  if (kLoadsA == LOADS_FOUR_ALONG_K) {
    [[unroll]] for (uint s = 0u; s < kBlock; s += 4u) {
      const vec4 four = LoadFour1(tile.a_rows[0] + k + s);
      [[unroll]] for (uint i = 0u; i < 4u; ++i) a[s + i] = four[i];
    }
  } else {
    [[unroll]] for (uint s = 0u; s < kBlock; ++s) {
      a[s] = LOAD(1, kType, tile.a_rows[0] + (k + s) * tile.a_stride);
    }
  }
  [[unroll]] for (uint s = 0u; s < kBlock; ++s) {
    float step_of_a[ROWS];
    step_of_a[0] = a[s];
    AddStep(step_of_a, b.of[s], sums);
  }
}

// The sums over this part of the depth: each `parts`-th block of it, two at once while there are two,
// and each `parts`-th step of what is left.
Sums AddPart(Tile tile, uint part, uint parts) {
  Sums sums = ZeroSums();
  const uint blocks = tile.depth / kBlock;
  uint block = part;
  for (; block + parts < blocks; block += 2u * parts) {
    const StepsOfB first = LoadSteps(tile.columns, block * kBlock);
    const StepsOfB second = LoadSteps(tile.columns, (block + parts) * kBlock);
    AddBlock(tile, block * kBlock, first, sums);
    AddBlock(tile, (block + parts) * kBlock, second, sums);
  }
  if (block < blocks) AddBlock(tile, block * kBlock, LoadSteps(tile.columns, block * kBlock), sums);
  for (uint k = blocks * kBlock + part; k < tile.depth; k += parts) {
    float a[ROWS];
    a[0] = LOAD(1, kType, tile.a_rows[0] + k * tile.a_stride);
    AddOne(tile, k, a, sums);
  }
  return sums;
}

// Of all parts; known to the invocations of the first one.
vec4 SumOfParts(vec4 sum) {
  const uint i = gl_LocalInvocationID.x;
  shared_sums[i] = sum;
  barrier();
  for (uint left = gl_WorkGroupSize.x / kAcross; left > 1u;) {
    const uint kept = (left + 1u) / 2u;
    if (i + kept * kAcross < left * kAcross) shared_sums[i] += shared_sums[i + kept * kAcross];
    left = kept;
    barrier();
  }
  return shared_sums[i];
}

void main() {
  const uint tile_columns = 4u * kAcross;
  const uint across = (P(2) + tile_columns - 1u) / tile_columns;
  const uint in_part = gl_LocalInvocationID.x % kAcross;
  const uint part = gl_LocalInvocationID.x / kAcross;
  WORKGROUP_STRIDE_LOOP(index, P(0) * across) {
    const uint matrix = index / across;
    const uint first_column = (index - matrix * across) * tile_columns + 4u * in_part;
    const Tile tile = MakeTile(matrix, 0u, first_column);
    const vec4 sum = SumOfParts(AddPart(tile, part, gl_WorkGroupSize.x / kAcross).of[0][0]);
    if (part == 0u) StoreFour(tile, 0u, first_column, sum);
  }
}

#else

#if ROWS * COLUMNS == 4 && TENSOR_READS == READS_TEXELS
layout(constant_id = 10) const uint kSumsOfTile = 0u;
layout(constant_id = 11) const uint kBeginsAnywhere = 0u;
#include "row_by_words.glsl"
bool GoesByWords() { return kSumsOfTile != 0u && IsWorkgroupOneSubgroup() && kSubgroupSize <= 16u; }
#else
bool GoesByWords() { return false; }
void ComputeByWords() {}
#endif

void main() {
  if (GoesByWords()) {
    ComputeByWords();
    return;
  }
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

#endif
