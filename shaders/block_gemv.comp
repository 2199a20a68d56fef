// result[m, n] = sum over k of x[m, k] * (w[n, k] - zero_point[n, k / block]) * scale[n, k / block]
// + addend[n], or addend[m, n], for each of up to MATRICES weights w of 4 bits that share x; with
// -DGATED=1 result[m, n] = silu(gate[m, n]) * up[m, n] of the two products. Slots: 1 x; from 2 on w,
// scale, zero point, addend (x again where there is none) and result of each matrix in turn, the gate
// before up. Sums are float32. Where it normalizes the rows of x (see gemv.comp), the gain follows; of
// a group it takes the place of the third addend.
//
// On GPUs (wide_block_gemv.glsl has how) a workgroup computes a few rows of w. On llvmpipe an
// invocation computes every eighth of some rows of w, for one row of x. Neighbours need the same
// elements of x, so each loads four of 32, and gets the others by shuffle. Weights are taken from
// their words by mask, not by shift: what is masked out of the upper places counts 16 times as much
// for each place, so x is divided by that, once for all rows; and the zero point is subtracted once
// a load, from the sum of x. Scales and zero points that are constants come by tiles of 64 rows,
// [rows / 64, blocks in a row, 8, 8], every eighth row in the last dimension: all of an
// invocation's rows with a load or two.
//
// Rows of w come by tiles of 32 (service/graph/row_tiles.h), or one after the other.
//
// Parameters: 0 blocks in a row; 1 log2 of the loads of 16 bytes in a block; 2 rows of x; 3 epsilon;
// from uvec4 1 on for each matrix: rows of w; whether each row of x has a row of the addend.
// Specialisation constants: 1 data type of x, scale, addend and result; 2 of w and zero point; 3 bit j:
// whether matrix j has an addend; 4 whether scales and zero points come by tiles; 5 whether it
// normalizes; 6 bit j: whether w of matrix j comes by tiles; 7, on GPUs, rows of an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tensor.glsl"

#include "math.glsl"
#include "subgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kWeightType = 0u;
layout(constant_id = 3) const uint kAddends = 0u;
layout(constant_id = 4) const uint kByTiles = 0u;
layout(constant_id = 5) const uint kNormalizes = 0u;
layout(constant_id = 6) const uint kTiledWeights = 0u;

#define DECLARE_WEIGHTS(weights, scale, zero_point) \
  READ_SLOT(weights)                                \
  READ_SLOT_WIDE(weights)                           \
  READ_SLOT(scale)                                  \
  READ_SLOT_WIDE(scale)                             \
  READ_SLOT(zero_point)

READ_SLOT(1)
READ_SLOT_WIDE(1)
DECLARE_WEIGHTS(2, 3, 4)
READ_SLOT(5)
WRITE_SLOT(6)
#if MATRICES > 1
DECLARE_WEIGHTS(7, 8, 9)
#endif
#if MATRICES > 2
READ_SLOT(10)
WRITE_SLOT(11)
DECLARE_WEIGHTS(12, 13, 14)
READ_SLOT(15)
WRITE_SLOT(16)
READ_SLOT_WIDE(15)
#define GAIN_SLOT 15
#elif MATRICES > 1
READ_SLOT(10)
READ_SLOT_WIDE(10)
#define GAIN_SLOT 10
#else
READ_SLOT(7)
READ_SLOT_WIDE(7)
#define GAIN_SLOT 7
#endif
#define LOAD_GAIN(i) LOAD_FOUR(GAIN_SLOT, i)

// Declares Name(matrix, i), which accesses the slot of a matrix. Which one is known at compile time
// wherever it is called: only one of the accesses remains.
#define LOAD_ELEMENT(slot, i) LOAD(slot, kType, i)
// Elements 4 * i to 4 * i + 3.
#define LOAD_FOUR(slot, i)                                                      \
  (kType == kFloat16 ? HalvesToFloats(LOAD_PAIR(slot, i)) : uintBitsToFloat(LOAD_QUAD(slot, i)))
vec4 HalvesToFloats(uvec2 pair) {
  return vec4(unpackHalf2x16(pair.x), unpackHalf2x16(pair.y));
}
#if MATRICES > 2
#define DECLARE_LOAD(Type, Name, LOAD_SLOT, first, second, third) \
  Type Name(uint matrix, uint i) {                                \
    if (matrix == 1u) return LOAD_SLOT(second, i);                \
    if (matrix == 2u) return LOAD_SLOT(third, i);                 \
    return LOAD_SLOT(first, i);                                   \
  }
#elif MATRICES > 1
#define DECLARE_LOAD(Type, Name, LOAD_SLOT, first, second, third) \
  Type Name(uint matrix, uint i) {                                \
    if (matrix == 1u) return LOAD_SLOT(second, i);                \
    return LOAD_SLOT(first, i);                                   \
  }
#else
#define DECLARE_LOAD(Type, Name, LOAD_SLOT, first, second, third) \
  Type Name(uint matrix, uint i) { return LOAD_SLOT(first, i); }
#endif
DECLARE_LOAD(uvec4, LoadWeights, LOAD_QUAD, 2, 7, 12)
DECLARE_LOAD(float, LoadScale, LOAD_ELEMENT, 3, 8, 13)
DECLARE_LOAD(vec4, LoadFourScales, LOAD_FOUR, 3, 8, 13)
DECLARE_LOAD(uint, LoadZeroPoints, LOAD_WORD, 4, 9, 14)

float LoadAddend(uint matrix, uint e) {
#if MATRICES > 2
  if (matrix == 1u) return LOAD(10, kType, e);
  if (matrix == 2u) return LOAD(15, kType, e);
#endif
  return LOAD(5, kType, e);
}

void StoreElement(uint matrix, uint e, float value) {
  const uvec2 bits = Encode(value, kType);
#if MATRICES > 2
  if (matrix == 1u) STORE_ELEMENT(11, kType, e, bits)
  if (matrix == 2u) STORE_ELEMENT(16, kType, e, bits)
#endif
  if (matrix == 0u) STORE_ELEMENT(6, kType, e, bits)
}

#if TENSOR_READS == READS_STORAGE

#include "wide_block_gemv.glsl"

#else

// Rows of one invocation: many, since reading x is what costs.
const uint kRows = 8u;
// Of these rows, those of one matrix; the gated kernel computes the same rows of both.
#if GATED
const uint kRowsEach = kRows / 2u;
#else
const uint kRowsEach = kRows;
#endif

uint MatrixOf(uint first_matrix, uint row) { return first_matrix + row / kRowsEach; }

// Elements of x that neighbours share: those of 16 bytes of weights.
const uint kShared = 32u;
const uint kSharers = kShared / 4u;

struct SharedX {
  vec4 own;       // Four of 32, divided by what their places count.
  float sum;      // Of all 32.
  float squares;  // Before the gain: of the four, or of all 32 where invocations do not share.
};

const vec4 kPlaceScales = vec4(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0);

float SumOf(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

// Elements 4 * i to 4 * i + 3 of the row of x whose first load is `row`.
vec4 LoadFourOfX(uint row, uint i) { return LOAD_FOUR(1, row * kSharers + i); }

vec4 ApplyGain(vec4 x, uint i) { return kNormalizes != 0u ? x * LOAD_GAIN(i) : x; }

SharedX LoadX(uint row, uint shared_index) {
  SharedX x;
  if (SUBGROUP_SIZE >= kSharers) {
    const uint place = gl_SubgroupInvocationID & (kSharers - 1u);
    vec4 own = LoadFourOfX(row, shared_index * kSharers + place);
    x.squares = SumOf(own * own);
    own = ApplyGain(own, shared_index * kSharers + place);
    x.own = own * kPlaceScales;
    const float share = SumOf(own);
    x.sum = 0.0;
    // By fixed invocations: llvmpipe exchanges values crosswise one lane at a time.
    [[unroll]] for (uint i = 0u; i < kSharers; ++i) x.sum += subgroupShuffle(share, i);
  } else {
    x.own = vec4(0.0);
    x.sum = 0.0;
    x.squares = 0.0;
    for (uint i = 0u; i < kSharers; ++i) {
      const vec4 four = LoadFourOfX(row, shared_index * kSharers + i);
      x.squares += SumOf(four * four);
      x.sum += SumOf(ApplyGain(four, shared_index * kSharers + i));
    }
  }
  return x;
}

// Elements 4 * i to 4 * i + 3 of those shared.
vec4 GetFour(SharedX x, uint row, uint shared_index, uint i) {
  // Narrower subgroups cannot share.
  if (SUBGROUP_SIZE < kSharers) {
    const uint four = shared_index * kSharers + i;
    return ApplyGain(LoadFourOfX(row, four), four) * kPlaceScales;
  }
  return vec4(subgroupShuffle(x.own.x, i), subgroupShuffle(x.own.y, i),
              subgroupShuffle(x.own.z, i), subgroupShuffle(x.own.w, i));
}

// Signed weights and their zero points are moved up by half their range.
const uint kMoved = kWeightType == kInt4 ? 0x88888888u : 0u;

// Four chains of additions, which do not wait for each other: even and odd places of a word's halves.
float AddProducts(uvec4 weights, vec4 x[kSharers]) {
  vec4 sums = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    uint lower = weights[i] ^ kMoved;
    uint upper = lower >> 16;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      const uint mask = 15u << (4u * j);
      const uint chain = 2u * (j & 1u);
      sums[chain] = fma(float(int(lower & mask)), x[2u * i][j], sums[chain]);
      sums[chain + 1u] = fma(float(int(upper & mask)), x[2u * i + 1u][j], sums[chain + 1u]);
    }
  }
  return (sums.x + sums.y) + (sums.z + sums.w);
}

// The rows of w of an invocation: their first blocks, their first loads, and their sums so far; the
// first load of x, and the squares of it so far, an invocation's part; where scales come by tiles,
// the eight of the first row for the first block, and where in it.
struct Rows {
  uint x;
  float squares;
  uint blocks[kRows];
  uint loads[kRows];
  float sums[kRows];
  uint eight;
  uint in_eight;
};

struct BlockScales {
  float scales[kRows];
  float zero_points[kRows];
};

// Of all rows, for one of their blocks.
BlockScales LoadScales(uint first_matrix, uint block, Rows rows) {
  BlockScales loaded;
  if (kByTiles != 0u) {
    const uint eight = rows.eight + 8u * block;
    [[unroll]] for (uint m = 0u; m < kRows / kRowsEach; ++m) {
      uint words = LoadZeroPoints(first_matrix + m, eight) ^ kMoved;
      if (kRowsEach < 8u) words >>= 4u * rows.in_eight;
      vec4 four = vec4(0.0);
      [[unroll]] for (uint r = 0u; r < kRowsEach; ++r) {
        if (kRowsEach >= 4u) {
          if ((r & 3u) == 0u) {
            four = LoadFourScales(first_matrix + m, 2u * eight + ((rows.in_eight + r) >> 2));
          }
          loaded.scales[m * kRowsEach + r] = four[r & 3u];
        } else {
          loaded.scales[m * kRowsEach + r] =
              LoadScale(first_matrix + m, 8u * eight + rows.in_eight + r);
        }
        loaded.zero_points[m * kRowsEach + r] = float(int((words >> (4u * r)) & 15u));
      }
    }
  } else {
    [[unroll]] for (uint r = 0u; r < kRows; ++r) {
      const uint matrix = MatrixOf(first_matrix, r);
      const uint e = rows.blocks[r] + block;
      const uint word = LoadZeroPoints(matrix, e >> 3) ^ kMoved;
      loaded.scales[r] = LoadScale(matrix, e);
      loaded.zero_points[r] = float(int((word >> (4u * (e & 7u))) & 15u));
    }
  }
  return loaded;
}

#include "row_tiles.glsl"

// Adds 32 elements along k: each row's products with 16 bytes of weights, scaled. Weights are loaded
// before all else, so that as many of them as can be are on their way from memory at once. Loops
// over blocks around loops over what they have would keep more alive from turn to turn than loading
// scales again costs.
void AddLoad(uint first_matrix, uint load, inout Rows rows) {
  uvec4 weights[kRows];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    const uint matrix = MatrixOf(first_matrix, r);
    weights[r] = LoadWeights(matrix, rows.loads[r] + load * LoadStride(matrix));
  }
  SharedX shared_x = LoadX(rows.x, load);
  if (kNormalizes != 0u) rows.squares += shared_x.squares;
  vec4 x[kSharers];
  [[unroll]] for (uint i = 0u; i < kSharers; ++i) x[i] = GetFour(shared_x, rows.x, load, i);
  const BlockScales block = LoadScales(first_matrix, load >> P(1), rows);
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    float products = AddProducts(weights[r], x);
    float sum = fma(-block.zero_points[r], shared_x.sum, products);
    rows.sums[r] = fma(block.scales[r], sum, rows.sums[r]);
  }
}

float Silu(float x) { return x * Sigmoid(x); }

// What sums are multiplied by.
float ScaleOf(Rows rows) {
  if (kNormalizes == 0u) return 1.0;
  float squares = rows.squares;
  if (SUBGROUP_SIZE >= kSharers) {
    squares = 0.0;
    [[unroll]] for (uint i = 0u; i < kSharers; ++i) squares += subgroupShuffle(rows.squares, i);
  }
  const uint elements = (P(0) << P(1)) * kShared;
  return 1.0 / sqrt(squares / float(elements) + uintBitsToFloat(P(3)));
}

void StoreRows(uint matrix, uint row_of_x, uint first_row, float scale, Rows rows) {
  const uint rows_of_matrix = P(4u * matrix + 4u);
  [[unroll]] for (uint r = 0u; r < kRowsEach; ++r) {
    const uint row = first_row + 8u * r;
    float value = scale * rows.sums[r];
#if GATED
    value = Silu(value) * (scale * rows.sums[kRowsEach + r]);
#endif
    if (row < rows_of_matrix) {
      if ((kAddends & (1u << matrix)) != 0u) {
        const uint row_of_addend = row_of_x * P(4u * matrix + 5u);
        value += LoadAddend(matrix, row_of_addend * rows_of_matrix + row);
      }
      StoreElement(matrix, row_of_x * rows_of_matrix + row, value);
    }
  }
}

void ComputeRows(uint matrix, uint row_of_x, uint first_row) {
  const uint blocks = P(0);
  const uint loads = blocks << P(1);
  const uint last_row = P(4u * matrix + 4u) - 1u;
  Rows rows;
  rows.x = row_of_x * loads;
  rows.eight = (min(first_row, last_row) >> 6) * 8u * blocks + (first_row & 7u);
  rows.in_eight = (first_row >> 3) & 7u;
  rows.squares = 0.0;
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    // Beyond the last row the last one stands in: nobody stores what comes of it.
    const uint row = min(first_row + 8u * (r % kRowsEach), last_row);
    rows.blocks[r] = row * blocks;
    rows.loads[r] = FirstLoad(MatrixOf(matrix, r), row, loads);
    rows.sums[r] = 0.0;
  }
  for (uint load = UNKNOWN_ZERO; load < loads; ++load) AddLoad(matrix, load, rows);
  StoreRows(matrix, row_of_x, first_row, ScaleOf(rows), rows);
}

// Of all rows of w, in whole eights of invocations, which a workgroup may be half of.
uint CountTiles(uint matrix) {
  const uint eights = (P(4u * matrix + 4u) + 8u * kRowsEach - 1u) / (8u * kRowsEach);
  return (8u * eights + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x * P(2);
}

// The tiles of one matrix among those of this workgroup; `tiles_before` are those of others.
void ComputeMatrix(uint matrix, uint tiles_before, uvec2 tiles) {
  const uint end = min(max(tiles.y, tiles_before) - tiles_before, CountTiles(matrix));
  // All invocations of a subgroup stay in the loop together: they share their loads.
  for (uint tile = max(tiles.x, tiles_before) - tiles_before; tile < end; ++tile) {
    // The rows of x in turn, while weights are in the cache.
    uint tile_of_rows = tile / P(2);
    uint row_of_x = tile - tile_of_rows * P(2);
    // Eights of invocations compute rows of which every eighth is one invocation's.
    const uint invocation = tile_of_rows * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    ComputeRows(matrix, row_of_x, (invocation & ~7u) * kRowsEach + (invocation & 7u));
  }
}

// First and end of this workgroup's stretch: drivers that give each core as many workgroups keep
// all of them busy.
uvec2 TilesOfWorkgroup(uint count) {
  const uint each = count / gl_NumWorkGroups.x;
  const uint rest = count - each * gl_NumWorkGroups.x;
  const uvec2 workgroups = uvec2(gl_WorkGroupID.x, gl_WorkGroupID.x + 1u);
  return workgroups * each + workgroups * rest / gl_NumWorkGroups.x;
}

void main() {
#if MATRICES > 2
  const uint before = CountTiles(0u);
  const uint before_last = before + CountTiles(1u);
  const uvec2 tiles = TilesOfWorkgroup(before_last + CountTiles(2u));
  ComputeMatrix(0u, 0u, tiles);
  ComputeMatrix(1u, before, tiles);
  ComputeMatrix(2u, before_last, tiles);
#else
  ComputeMatrix(0u, 0u, TilesOfWorkgroup(CountTiles(0u)));
#endif
}

#endif
