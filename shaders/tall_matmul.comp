// The product of matmul.comp for many rows: result[m, n] = activation(alpha * sum over k of a[m, k] *
// b[k, n] + beta * c[m, n] + residual[m, n]), for each matrix of a batch. Slots: 1 a in panels
// (pack_panels.comp; on GPUs also as it lies), 2 b, 3 the result, 4 c, 5 the residual, which lies as the result does (a again
// where there is none). Sums are float32.
//
// With -DSTEPS=4u a loop's turn is four steps, not kBlock: a product of few steps spends less on what
// they leave over, and on loading code that it runs but a few times.
//
// b is a matrix, panels or, with -DIMAGE=1, the windows of an image (image_columns.glsl). On GPUs a workgroup
// shares a tile of several rows and columns (shared_tile.glsl). Else it computes the rows of a panel, and its
// invocations have four neighbouring columns each.
//
// With -DTURNS=1, for llvmpipe alone, b is a matrix with rows or columns of fours: some steps of some columns are
// brought to memory of the workgroup, slot 8, and multiplied from a cache, in turns (lane_columns.glsl). With
// -DBLOCKS=1, too, it is weights of 4 bits by block, by tiles as block_gemv.comp has them, which are unpacked
// there; slots 6 and 7 are scale and zero point.
//
// There an invocation loads four rows of a step of a, and exchanges them with its neighbours by a distance
// that is constant: sum 8 * j + s belongs to row 4 * (ShareIndex() ^ s) + j of the panel. On CPUs that
// takes half the instructions of telling everybody the same row.
//
// Parameters: 0 matrices in the batch; 1 M; 2 N; 3 K; 4, 5 elements of a panel of a, of b; 6, 7 strides
// of b along k and n; 8, 9 of c along m and n; 10 alpha; 11 beta; 12 rank of the batch, whose
// dimensions follow from uvec4 4 on (strided.glsl; x: offsets in a, y: in b, z: in c, w: in the
// result); 13, 14 strides of the result along m and n; 15, for matrices, columns of tiles whose b stays in
// caches while one panel after the other goes over them; uvec4 24, where results are blocks, the width of
// the image that b is, as divisor, and by turns kTurnsWord. Specialisation constants: 1 data type of b;
// 2 that of c and the result; 3 how b loads (LOADS_...); 4 what c is (C_...); 5 how results are stored
// (STORES_...); 6 (image_columns.glsl); 7 whether K may be no multiple of kBlock, or by turns
// of 32; 8 whether there is a
// residual; 9 the activation (epilogue.glsl); 10 to 12 (shared_tile.glsl), or 10, on llvmpipe, how many
// steps a turn of lane_columns.glsl takes, and 11 the data type of scale.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "strided.glsl"

// Rows of a panel of a. ROWS are those of which an invocation has sums.
const uint kPanelRows = 32u;
#if TENSOR_READS == READS_STORAGE
#undef ROWS
#define ROWS 8
#endif

#include "product.glsl"
#include "product_loads.glsl"
#define EPILOGUE_CONSTANT 9
#include "epilogue.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kResultType = 0u;
layout(constant_id = 3) const uint kLoadsB = 0u;
layout(constant_id = 4) const uint kC = 0u;
layout(constant_id = 5) const uint kStores = 0u;
layout(constant_id = 7) const uint kHasRest = 1u;
layout(constant_id = 8) const uint kHasResidual = 0u;

// Of matrix c; those of a stride of 0 are loaded once.
#define C_NONE 0u
#define C_ELEMENTS 1u
#define C_OF_ROW 2u
#define C_OF_COLUMN 3u

// Four at once from a multiple of 4 on, along n or along m; two halves of a word along n; one by one; or
// as blocks of an image: rows 4 * i to 4 * i + 3 are the 2 x 2 elements that each pixel gives to channel i,
// c is that channel's, and the stride along m that of a channel.
#define STORES_ONE 0u
#define STORES_PAIRS 1u
#define STORES_FOUR_ALONG_N 2u
#define STORES_FOUR_ALONG_M 3u
#define STORES_BLOCKS 4u

#if TENSOR_READS == READS_TEXELS
layout(constant_id = 10) const uint kStepsOfTurn = 8u;
#else
#undef TURNS
#undef BLOCKS
#endif

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
WRITE_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)
READ_SLOT_WIDE(5)

#ifdef TURNS
WRITE_SLOT(8)
const uint kTurnsWord = 24u;  // {K}, or {blocks in a row, log2 of the loads in a block, loads in a row}.
#include "square_of_words.glsl"
#endif
#ifdef BLOCKS
#include "scale_tiles.glsl"
layout(constant_id = 11) const uint kScaleType = 0u;
READ_SLOT(6)
READ_SLOT(7)
#endif

DECLARE_LOAD_FOUR(2, kType)
DECLARE_LOAD_FOUR(5, kResultType)

#ifdef IMAGE
#include "image_columns.glsl"
#else
#include "matrix_columns.glsl"
#endif

struct Tile {
  uint first_row;     // Of this invocation on GPUs.
  uint first_column;  // Of this invocation; a multiple of 4.
  uint a;             // Where its share of the first step of the panel is; on GPUs, the matrix.
#if TENSOR_READS == READS_STORAGE
  uint b;
#endif
  uint result_offset;
  uint c_offset;
  Columns columns;
};

#if TENSOR_READS == READS_STORAGE
#include "shared_tile.glsl"
#else

DECLARE_LOAD_FOUR(1, kFloat32)

const uint kFoursOfRows = ROWS / 4u;

uint TileRows() { return kPanelRows; }
uint TileColumns() { return 4u * gl_WorkGroupSize.x; }
uint CountParts() { return 1u; }
uint SelectPart(uint index, uint whole_tiles) { return index; }
bool SumParts(inout Sums sums) { return true; }
// Of those of the tile, the four that are this invocation's.
uint FourOfColumns() { return gl_LocalInvocationID.x; }

Columns MakeTileColumns(uint first_column, uint offset) {
  return MakeColumns(first_column + 4u * FourOfColumns(), offset);
}

void SetRows(uint row_of_tiles, uint a, inout Tile tile) {
  tile.first_row = row_of_tiles * ROWS;
  tile.a = a + row_of_tiles * P(4) + 4u * ShareIndex();
}

// The row of sum i. Of those of which four belong to neighbouring rows, the first row, and sum j.
uint RowOfSum(Tile tile, uint i) {
  return tile.first_row + 4u * (ShareIndex() ^ (i & 7u)) + i / 8u;
}
uint RowOfFour(Tile tile, uint s) { return RowOfSum(tile, s); }
uint SumOfFour(uint s, uint j) { return 8u * j + s; }

struct PanelSteps {
  vec4 of[kLoadedSteps];  // Rows 4 * ShareIndex() to + 3.
};

PanelSteps LoadPanel(Tile tile, uint k) {
  PanelSteps a;
  [[unroll]] for (uint s = 0u; s < kLoadedSteps; ++s) a.of[s] = LoadFour1(tile.a + ROWS * (k + s));
  return a;
}

// All loads come before the first multiplication, because drivers that call a function for each load
// save all registers around it; and only four rows take turns, whose sums fit into registers.
void AddBlock(PanelSteps a, StepsOfB b, inout Sums sums) {
  [[unroll]] for (uint g = 0u; g < ROWS / 4u; ++g) {
    [[unroll]] for (uint k = 0u; k < kLoadedSteps; ++k) {
      [[unroll]] for (uint r = 0u; r < 4u; ++r) {
        uint i = 4u * g + r;
        float shared_a = subgroupShuffleXor(a.of[k][i / 8u], i & 7u);
        sums.of[i][0] = fma(vec4(shared_a), b.of[k][0], sums.of[i][0]);
      }
    }
  }
}

void AddOne(Tile tile, uint k, inout Sums sums) {
  vec4 a = LoadFour1(tile.a + ROWS * k);
  vec4 b = LoadColumns(tile.columns, 0u, k);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    float shared_a = subgroupShuffleXor(a[i / 8u], i & 7u);
    sums.of[i][0] = fma(vec4(shared_a), b, sums.of[i][0]);
  }
}

// Steps that are not there, for which panels of a have zeros, must not be infinite.
void ClearRest(uint k, inout StepsOfB b) {
  [[unroll]] for (uint s = 0u; s < kLoadedSteps; ++s) {
    bool is_there = k + s < P(3);
    b.of[s][0] = mix(vec4(0.0), b.of[s][0], bvec4(is_there));
  }
}

void AddAllInBlocks(Tile tile, inout Sums sums) {
  const bool rest_in_block = kHasRest != 0u && kLoadsB == LOADS_LINES;
  uint depth = rest_in_block ? P(3) + kLoadedSteps - 1u : P(3);
  uint k = 0u;
  for (; k + kLoadedSteps <= depth; k += kLoadedSteps) {
    PanelSteps a = LoadPanel(tile, k);
    StepsOfB b = LoadSteps(tile.columns, k);
    if (rest_in_block) ClearRest(k, b);
    AddBlock(a, b, sums);
  }
  if (kHasRest != 0u && !rest_in_block) {
    for (; k < depth; ++k) AddOne(tile, k, sums);
  }
}

// Without neighbours.
void AddAllOneByOne(Tile tile, inout Sums sums) {
  uint panel = tile.a - 4u * ShareIndex();
  for (uint k = 0u; k < P(3); ++k) {
    vec4 b = LoadColumns(tile.columns, 0u, k);
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      float a = LOAD(1, kFloat32, panel + ROWS * k + RowOfSum(tile, i) - tile.first_row);
      sums.of[i][0] = fma(vec4(a), b, sums.of[i][0]);
    }
  }
}

void AddAll(Tile tile, inout Sums sums) {
  if (SUBGROUP_SIZE >= kBlock) {
    AddAllInBlocks(tile, sums);
  } else {
    AddAllOneByOne(tile, sums);
  }
}

#endif

float LoadC(Tile tile, uint m, uint n) {
  return LOAD(4, kResultType, tile.c_offset + min(m, P(1) - 1u) * P(8) + min(n, P(2) - 1u) * P(9));
}

// Neighbours exchange what is added to rows, as they do a. Where steps are many it is not worth it:
// llvmpipe's loop over them comes out up to a fifth slower.
const bool kSharesC = TENSOR_READS == READS_TEXELS && kC == C_OF_ROW && kLoadedSteps < kBlock;

// What is added in columns n to n + 3 of all rows, or in all columns of rows 4 * ShareIndex() to + 3 of
// the panel.
vec4 LoadFourOfC(Tile tile, uint n) {
  vec4 c = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    if (kC == C_OF_COLUMN) c[i] = LoadC(tile, 0u, n + i);
    if (kSharesC) c[i] = LoadC(tile, tile.first_row + 4u * ShareIndex() + i, 0u);
  }
  return c;
}

// The results of sum i, which belong in columns n to n + 3 of row m, before the residual and the
// activation.
vec4 AddC(Tile tile, uint i, uint m, uint n, vec4 sums, vec4 four_of_c) {
  vec4 c = four_of_c;
  if (kC == C_OF_ROW) {
    c = vec4(kSharesC && SUBGROUP_SIZE >= kBlock ? subgroupShuffleXor(four_of_c[i / 8u], i & 7u)
                                                 : LoadC(tile, m, 0u));
  } else if (kC == C_ELEMENTS) {
    [[unroll]] for (uint j = 0u; j < 4u; ++j) c[j] = LoadC(tile, m, n + j);
  }
  vec4 values = uintBitsToFloat(P(10)) * sums;
  return kC == C_NONE ? values : values + uintBitsToFloat(P(11)) * c;
}

vec4 ActivateFour(vec4 values) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) values[i] = Activate(values[i]);
  return values;
}

// To elements e to e + 3, for e a multiple of 4.
void StoreFour(uint e, vec4 values) {
  if (kHasResidual != 0u) values += LoadFour5(e);
  values = ActivateFour(values);
  if (kResultType == kFloat32) {
    STORE_QUAD(3, e >> 2, floatBitsToUint(values))
  } else {
    STORE_PAIR(3, e >> 2,
               uvec2(FloatToHalf(values.x) | (FloatToHalf(values.y) << 16),
                     FloatToHalf(values.z) | (FloatToHalf(values.w) << 16)));
  }
}

// Those of `count` neighbours along n that are there, from element e on.
void StoreSome(uint e, uint count, vec4 values) {
  if (kHasResidual != 0u) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      if (i < count) values[i] += LOAD(5, kResultType, e + i * P(14));
    }
  }
  values = ActivateFour(values);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    uint at = e + i * P(14);
    if (kResultType == kFloat16 && kStores == STORES_PAIRS) {
      uint pair = FloatToHalf(values[i]) | (FloatToHalf(values[(i + 1u) & 3u]) << 16);
      if ((i & 1u) == 0u && i < count) STORE_WORD(3, at >> 1, pair);
    } else if (i < count) {
      STORE_ELEMENT(3, kResultType, at, Encode(values[i], kResultType))
    }
  }
}

void StoreAlongN(Tile tile, Sums sums) {
  uint n = tile.first_column;
  uint count = n < P(2) ? min(P(2) - n, 4u) : 0u;
  vec4 c = LoadFourOfC(tile, n);
  [[unroll]] for (uint i = 0u; i < 4u * kFoursOfRows; ++i) {
    uint m = RowOfSum(tile, i);
    vec4 values = AddC(tile, i, m, n, sums.of[i][0], c);
    uint e = tile.result_offset + m * P(13) + n * P(14);
    uint stored = m < P(1) ? count : 0u;
    if (kStores == STORES_FOUR_ALONG_N) {
      if (stored != 0u) StoreFour(e, values);
    } else {
      StoreSome(e, stored, values);
    }
  }
}

void StoreAlongM(Tile tile, Sums sums) {
  uint n = tile.first_column;
  vec4 c = LoadFourOfC(tile, n);
  [[unroll]] for (uint s = 0u; s < kFoursOfRows; ++s) {
    uint m = RowOfFour(tile, s);
    mat4 rows;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      rows[j] = AddC(tile, SumOfFour(s, j), m + j, n, sums.of[SumOfFour(s, j)][0], c);
    }
    mat4 columns = transpose(rows);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      if (m < P(1) && n + i < P(2)) {
        StoreFour(tile.result_offset + m + (n + i) * P(14), columns[i]);
      }
    }
  }
}

const uint kWidthOfBlocks = 24u;

// Four neighbouring columns are pixels of one line.
void StoreBlocks(Tile tile, Sums sums) {
  uint n = tile.first_column;
  uvec3 width = P4(kWidthOfBlocks).xyz;
  uint line = Divide(n, width);
  uint place = tile.result_offset + 4u * line * width.x + 2u * (n - line * width.x);
  [[unroll]] for (uint s = 0u; s < kFoursOfRows; ++s) {
    uint m = RowOfFour(tile, s);
    vec4 c = vec4(0.0);
    if (kC != C_NONE) c = vec4(LOAD(4, kResultType, tile.c_offset + min(m, P(1) - 1u) / 4u * P(8)));
    if (m < P(1) && n < P(2)) {
      [[unroll]] for (uint y = 0u; y < 2u; ++y) {
        vec4 left = sums.of[SumOfFour(s, 2u * y)][0];
        vec4 right = sums.of[SumOfFour(s, 2u * y + 1u)][0];
        uint e = place + m / 4u * P(13) + 2u * y * width.x;
        StoreFour(e, vec4(left.x, right.x, left.y, right.y) + c);
        StoreFour(e + 4u, vec4(left.z, right.z, left.w, right.w) + c);
      }
    }
  }
}

void ComputeTile(Tile tile) {
  Sums sums = ZeroSums();
  AddAll(tile, sums);
  if (!SumParts(sums)) return;
  if (kStores == STORES_FOUR_ALONG_M) {
    StoreAlongM(tile, sums);
  } else if (kStores == STORES_BLOCKS) {
    StoreBlocks(tile, sums);
  } else {
    StoreAlongN(tile, sums);
  }
}

// Neighbouring columns of an image seldom lie beside each other.
#if TENSOR_READS == READS_TEXELS && !defined(IMAGE)
#include "lane_columns.glsl"
#else
bool GoesByColumns() { return false; }
void ComputeTileByColumns(Tile tile, uint a, uint b, uint first_column) {}
#endif

Tile MakeTile(uint matrix, uint row_of_tiles, uint first_column) {
  Tile tile;
  uvec4 offsets = StridedOffsets(matrix, 4u, P(12));
  SetRows(row_of_tiles, offsets.x, tile);
#if TENSOR_READS == READS_STORAGE
  tile.b = offsets.y;
#endif
  tile.first_column = first_column + 4u * FourOfColumns();
  tile.result_offset = offsets.w;
  tile.c_offset = offsets.z;
  tile.columns = MakeTileColumns(first_column, offsets.y);
  return tile;
}

struct TilePlace {
  uint matrix;
  uint row;     // Of tiles.
  uint column;  // Of tiles.
};

// Of an image, tiles below each other follow each other. Matrices have groups of P(15) neighbouring
// columns of tiles, in which those beside each other do.
TilePlace PlaceOfTile(uint index, uint down, uint across) {
#ifdef IMAGE
  uint column_of_tiles = index / down;
  uint matrix = column_of_tiles / across;
  return TilePlace(matrix, index - column_of_tiles * down, column_of_tiles - matrix * across);
#else
  uint matrix = index / (down * across);
  uint in_matrix = index - matrix * down * across;
  uint first_of_group = in_matrix / (down * P(15)) * P(15);
  uint in_group = in_matrix - first_of_group * down;
  uint width = min(P(15), across - first_of_group);
  uint row = in_group / width;
  return TilePlace(matrix, row, first_of_group + in_group - row * width);
#endif
}

// Each workgroup takes one stretch of tiles. None is more than one longer than another, and long ones
// are spread, since drivers may give halves of the workgroups to each of two threads.
void main() {
  uint tile_columns = TileColumns();
  uint across = (P(2) + tile_columns - 1u) / tile_columns;
  uint down = (P(1) + TileRows() - 1u) / TileRows();
  uint whole_tiles = P(0) * down * across;
  uint tiles = whole_tiles * CountParts();
  uint each = tiles / gl_NumWorkGroups.x;
  uint rest = tiles - each * gl_NumWorkGroups.x;
  uint group = gl_WorkGroupID.x;
  uint first = group * each + group * rest / gl_NumWorkGroups.x;
  uint end = (group + 1u) * each + (group + 1u) * rest / gl_NumWorkGroups.x;
  for (uint index = first; index < end; ++index) {
    TilePlace place = PlaceOfTile(SelectPart(index, whole_tiles), down, across);
    uint first_column = place.column * tile_columns;
    const Tile tile = MakeTile(place.matrix, place.row, first_column);
    if (GoesByColumns()) {
      const uvec4 offsets = StridedOffsets(place.matrix, 4u, P(12));
      ComputeTileByColumns(tile, UNIFORM(offsets.x + place.row * P(4)), UNIFORM(offsets.y), first_column);
    } else {
      ComputeTile(tile);
    }
  }
}
