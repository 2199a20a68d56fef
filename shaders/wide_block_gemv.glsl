// block_gemv.comp on GPUs, which need all their invocations to have loads on their way.
//
// A workgroup computes eight times kRowsEach rows of w, for one row of x. Of every eighth of these an
// invocation has a part: eights of invocations divide what lies along k, a load each, and add up what
// comes of it at the end. A stage is a load of each row of an invocation; it loads the stages of the next
// turn before it does the arithmetic of this one. What they need of x lies in shared memory, float32.
//
// A weight becomes a float by four instructions at most, none of them a conversion, which are slow: its
// four bits are the last ones of a float that is large enough, 2^23 where they are the lowest of the word,
// and that, with the zero point, is subtracted.
#ifndef WEBNND_SHADERS_WIDE_BLOCK_GEMV_GLSL_
#define WEBNND_SHADERS_WIDE_BLOCK_GEMV_GLSL_

#include "deal_matrices.glsl"
#include "row_tiles.glsl"
#include "subgroup.glsl"

// Rows of an invocation, of one matrix: 1, 2 or 4, of a workgroup of as many eights or more.
layout(constant_id = 7) const uint kRowsEach = 1u;

// The gated kernel computes the same rows of both matrices.
#if GATED
const uint kMatricesAtOnce = 2u;
#else
const uint kMatricesAtOnce = 1u;
#endif
const uint kRows = kRowsEach * kMatricesAtOnce;
const uint kStages = kRows > 4u ? 1u : kRows > 2u ? 2u : 4u;
// At most so many loads of a turn, rows, and stages times matrices: what is not used costs nothing once
// loops are unrolled.
const uint kLoadsMax = 8u;
const uint kRowsMax = 8u;
const uint kScalesMax = 8u;
const uint kStagesMax = 4u;

const uint kEight = 8u;
const uint kParts = gl_WorkGroupSize.x / kEight;
// Fours of x for a load, and where they lie: loads beside each other begin in other banks.
const uint kFours = 8u;
const uint kPlaces = 9u;

shared vec4 shared_x[kStages * kParts * kPlaces];
shared float shared_sums[kRows * gl_WorkGroupSize.x];
shared float shared_squares[gl_WorkGroupSize.x];  // By subgroup.

// Signed weights and their zero points are moved up by half their range.
const uint kMoved = kWeightType == kInt4 ? 0x88888888u : 0u;

DECLARE_LOAD(uint, LoadScaleWord, LOAD_WORD, 3, 8, 13)
DECLARE_LOAD(uvec2, LoadScalePair, LOAD_PAIR, 3, 8, 13)
DECLARE_LOAD(uvec4, LoadScaleQuad, LOAD_QUAD, 3, 8, 13)

// Which of every eighth row an invocation has, and which part along k. Neighbours' loads lie side by
// side: of eight rows where w comes by tiles, else of one row.
struct Place {
  uint row;
  uint part;
};

Place FindPlace(uint matrix) {
  const uint i = gl_LocalInvocationID.x;
  if (IsTiled(matrix) || gl_WorkGroupSize.x % 64u != 0u) return Place(i & 7u, i >> 3);
  return Place((i >> 3) & 7u, (i >> 6) * 8u + (i & 7u));
}

// What an invocation computes: where its rows begin, in w, and in scales and zero points that come by
// row; where those that come by tiles do, of eight rows, and which of these is the first.
struct Rows {
  uint matrix;
  Place place;
  uint x;
  uint count;  // Loads in a row.
  uint loads[kRowsMax];
  uint blocks[kRowsMax];
  uint eight;
  uint in_eight;
};

// The loads of a turn as they come, so that nothing waits for them: of stage s, those of row r are number
// s * kRows + r; scales and zero points of the rows of one matrix are number s * kMatricesAtOnce + matrix.
struct Turn {
  uvec4 weights[kLoadsMax];
  uvec4 scales[kScalesMax];
  uvec4 zero_points[kScalesMax];
  uvec4 x[kStagesMax];
  uvec4 gain[kStagesMax];
};

uint LoadOfStage(Rows rows, uint turn, uint stage) {
  return (turn * kStages + stage) * kParts + rows.place.part;
}

bool IsHalf() { return kType == kFloat16; }

// Where the scale of row r of those of one matrix is, and its zero point.
uint BlockOfRow(Rows rows, uint r, uint block) {
  return kByTiles != 0u ? kEight * (rows.eight + kEight * block) + rows.in_eight + r
                        : rows.blocks[r] + block;
}

void LoadScales(Rows rows, uint m, uint block, out uvec4 scales, out uvec4 zero_points) {
  const uint matrix = rows.matrix + m;
  scales = uvec4(0u);
  zero_points = uvec4(0u);
  if (kByTiles != 0u) {
    const uint first = BlockOfRow(rows, 0u, block);
    zero_points.x = LoadZeroPoints(matrix, first >> 3);
    if (kRowsEach == 4u && !IsHalf()) {
      scales = LoadScaleQuad(matrix, first >> 2);
    } else if (kRowsEach == 4u) {
      scales.xy = LoadScalePair(matrix, first >> 2);
    } else if (kRowsEach == 2u && !IsHalf()) {
      scales.xy = LoadScalePair(matrix, first >> 1);
    } else {
      scales.x = LoadScaleWord(matrix, IsHalf() ? first >> 1 : first);
    }
  } else {
    [[unroll]] for (uint r = 0u; r < kRowsEach; ++r) {
      const uint at = BlockOfRow(rows, r, block);
      scales[r] = LoadScaleWord(matrix, IsHalf() ? at >> 1 : at);
      zero_points[r] = LoadZeroPoints(matrix, at >> 3);
    }
  }
}

float DecodeScale(Rows rows, uint r, uint block, uvec4 scales) {
  if (!IsHalf()) return uintBitsToFloat(scales[r]);
  const uint word = kByTiles != 0u ? scales[r >> 1] : scales[r];
  return HalfToFloat(word >> (16u * (BlockOfRow(rows, r, block) & 1u)));
}

float DecodeZeroPoint(Rows rows, uint r, uint block, uvec4 zero_points) {
  const uint word = (kByTiles != 0u ? zero_points.x : zero_points[r]) ^ kMoved;
  return float((word >> (4u * (BlockOfRow(rows, r, block) & 7u))) & 15u);
}

// Elements 4 * i to 4 * i + 3 as they lie.
#define LOAD_RAW_FOUR(slot, i) (IsHalf() ? uvec4(LOAD_PAIR(slot, i), 0u, 0u) : LOAD_QUAD(slot, i))
vec4 DecodeFour(uvec4 raw) { return IsHalf() ? HalvesToFloats(raw.xy) : uintBitsToFloat(raw); }

// Of the fours of x for a turn, the i-th of this invocation.
uint FourOfTurn(uint i) { return i * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }
uint FoursBefore(uint turn) { return turn * kStages * gl_WorkGroupSize.x; }

Turn LoadTurn(Rows rows, uint turn) {
  Turn loaded;
  [[unroll]] for (uint s = 0u; s < kStages; ++s) {
    const uint load = LoadOfStage(rows, turn, s);
    if (load < rows.count) {
      [[unroll]] for (uint r = 0u; r < kRows; ++r) {
        const uint matrix = rows.matrix + r / kRowsEach;
        loaded.weights[s * kRows + r] =
            LoadWeights(matrix, rows.loads[r] + load * LoadStride(matrix));
      }
      [[unroll]] for (uint m = 0u; m < kMatricesAtOnce; ++m) {
        const uint i = s * kMatricesAtOnce + m;
        LoadScales(rows, m, load >> P(1), loaded.scales[i], loaded.zero_points[i]);
      }
    }
  }
  [[unroll]] for (uint i = 0u; i < kStages; ++i) {
    const uint four = FoursBefore(turn) + FourOfTurn(i);
    if (four < rows.count * kFours) {
      loaded.x[i] = LOAD_RAW_FOUR(1, rows.x + four);
      if (kNormalizes != 0u) loaded.gain[i] = LOAD_RAW_FOUR(GAIN_SLOT, four);
    }
  }
  return loaded;
}

// Gives the workgroup what this invocation has of x; the squares of it.
float ShareX(Rows rows, uint turn, Turn loaded) {
  float squares = 0.0;
  [[unroll]] for (uint i = 0u; i < kStages; ++i) {
    const uint four = FourOfTurn(i);
    if (FoursBefore(turn) + four < rows.count * kFours) {
      vec4 x = DecodeFour(loaded.x[i]);
      if (kNormalizes != 0u) {
        squares += dot(x, x);
        x *= DecodeFour(loaded.gain[i]);
      }
      shared_x[four / kFours * kPlaces + four % kFours] = x;
    }
  }
  return squares;
}

// Where the bits of a weight begin at 4 * j, 2^23 / 16^j is a float whose last bits they are.
const vec4 kLarge = vec4(8388608.0, 524288.0, 32768.0, 2048.0);

float AddProducts(uvec4 weights, float zero_point, vec4 x[kFours]) {
  const vec4 subtracted = kLarge + zero_point;
  vec4 sums = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    const uint lower = weights[i];
    const uint upper = lower >> 16;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
      const uint mask = 15u << (4u * j);
      const uint others = floatBitsToUint(kLarge[j]) ^ (kMoved & mask);
      const float of_lower = uintBitsToFloat((lower & mask) ^ others) - subtracted[j];
      const float of_upper = uintBitsToFloat((upper & mask) ^ others) - subtracted[j];
      sums[j] = fma(of_lower, x[2u * i][j], sums[j]);
      sums[j] = fma(of_upper, x[2u * i + 1u][j], sums[j]);
    }
  }
  return (sums.x + sums.y) + (sums.z + sums.w);
}

void AddTurn(Rows rows, uint turn, Turn loaded, inout float sums[kRowsMax]) {
  [[unroll]] for (uint s = 0u; s < kStages; ++s) {
    const uint load = LoadOfStage(rows, turn, s);
    if (load < rows.count) {
      vec4 x[kFours];
      const uint first = (s * kParts + rows.place.part) * kPlaces;
      [[unroll]] for (uint i = 0u; i < kFours; ++i) x[i] = shared_x[first + i];
      [[unroll]] for (uint r = 0u; r < kRows; ++r) {
        const uint i = s * kMatricesAtOnce + r / kRowsEach;
        const uint of_matrix = r % kRowsEach;
        const float scale = DecodeScale(rows, of_matrix, load >> P(1), loaded.scales[i]);
        const float zero = DecodeZeroPoint(rows, of_matrix, load >> P(1), loaded.zero_points[i]);
        sums[r] = fma(scale, AddProducts(loaded.weights[s * kRows + r], zero, x), sums[r]);
      }
    }
  }
}

float Silu(float x) { return x * Sigmoid(x); }

// Of row `row` of those of the workgroup, counted through all that it computes.
float SumOfParts(uint row) {
  float sum = 0.0;
  [[unroll]] for (uint part = 0u; part < kParts; ++part) {
    sum += shared_sums[part * kRows * kEight + row];
  }
  return sum;
}

// What sums are multiplied by.
float ScaleOf(uint loads) {
  if (kNormalizes == 0u) return 1.0;
  float squares = 0.0;
  for (uint i = 0u; i < gl_NumSubgroups; ++i) squares += shared_squares[i];
  return 1.0 / sqrt(squares / float(loads * kFours * 4u) + uintBitsToFloat(P(3)));
}

// Each of the first invocations stores a row: there are as many.
bool StoresRow(uint matrix, uint row) {
  return gl_LocalInvocationID.x < kRowsEach * kEight && row < P(4u * matrix + 4u);
}

Rows MakeRows(uint matrix, uint row_of_x, uint first_row) {
  const uint blocks = P(0);
  Rows rows;
  rows.matrix = matrix;
  rows.place = FindPlace(matrix);
  rows.count = blocks << P(1);
  rows.x = row_of_x * rows.count * kFours;
  const uint first = first_row + rows.place.row;
  rows.eight = (first >> 6) * kEight * blocks + (first & 7u);
  rows.in_eight = (first >> 3) & 7u;
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    // Beyond the last row the last one stands in: nobody stores what comes of it.
    const uint row = min(first + kEight * (r % kRowsEach), P(4u * matrix + 4u) - 1u);
    rows.loads[r] = FirstLoad(matrix + r / kRowsEach, row, rows.count);
    rows.blocks[r] = row * blocks;
  }
  return rows;
}

void ComputeRows(uint matrix, uint tile, uint row_of_x) {
  const uint first_row = tile * kRowsEach * kEight;
  const Rows rows = MakeRows(matrix, row_of_x, first_row);
  float sums[kRowsMax];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) sums[r] = 0.0;
  float squares = 0.0;
  const uint turns = (rows.count + kStages * kParts - 1u) / (kStages * kParts);
  Turn next = LoadTurn(rows, 0u);
  // Early, since nobody would wait for anything else at the end.
  const uint own_row = first_row + gl_LocalInvocationID.x;
  const uint rows_of_matrix = P(4u * matrix + 4u);
  float addend = 0.0;
  if ((kAddends & (1u << matrix)) != 0u && StoresRow(matrix, own_row)) {
    addend = LoadAddend(matrix, row_of_x * P(4u * matrix + 5u) * rows_of_matrix + own_row);
  }
  for (uint turn = 0u; turn < turns; ++turn) {
    const Turn loaded = next;
    barrier();  // Nobody reads any more what lies there.
    squares += ShareX(rows, turn, loaded);
    barrier();
    // Behind the last turn there is nothing to load.
    next = LoadTurn(rows, turn + 1u);
    AddTurn(rows, turn, loaded, sums);
  }
  // Who reads them meets the others before the next rows' are written.
  if (kNormalizes != 0u) shared_squares[gl_SubgroupID] = SumOverSubgroup(squares);
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    shared_sums[(rows.place.part * kRows + r) * kEight + rows.place.row] = sums[r];
  }
  barrier();
  if (StoresRow(matrix, own_row)) {
    const uint i = gl_LocalInvocationID.x;
    const float scale = ScaleOf(rows.count);
    float value = scale * SumOfParts(i);
#if GATED
    value = Silu(value) * (scale * SumOfParts(kRowsEach * kEight + i));
#endif
    StoreElement(matrix, row_of_x * rows_of_matrix + own_row, value + addend);
  }
}

// Of one matrix, for all rows of x.
uint CountTiles(uint matrix) {
  const uint rows = kRowsEach * kEight;
  return (P(4u * matrix + 4u) + rows - 1u) / rows * P(2);
}

// The rows of x in turn, while weights are in the cache.
void ComputeTile(uint matrix, uint number) {
  const uint tile = number / P(2);
  ComputeRows(matrix, tile, number - tile * P(2));
}

void main() { DEAL_MATRICES(WORKGROUP_STRIDE_LOOP, CountTiles, ComputeTile) }

#endif  // WEBNND_SHADERS_WIDE_BLOCK_GEMV_GLSL_
