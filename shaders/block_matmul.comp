// result[m, n] = sum over k of x[m, k] * (w[n, k] - zero_point[n, k / block]) * scale[n, k / block]:
// slots 1 x, 2 w, 3 scale, 4 zero point -> 5 the result (packed). Sums are float32.
//
// An invocation computes ROWS rows of four columns. Neighbours need the same elements of x, so
// each loads one of eight along k, and gets the others by shuffle. Weights of 4 bits are taken from
// their words by mask, not by shift: what is masked out of the upper places counts 16 times as much
// for each place, so x is divided by that when it is loaded, once for all columns; and their zero
// point is subtracted once a block, from the sum of x. With 8 bits that would cost precision.
//
// Parameters: 0 M; 1 N; 2 K; 3 block. Specialisation constants: 1 data type of x, scale and
// result; 2 of w and zero point; 3 whether a block of w is a whole number of 16-byte loads.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tensor.glsl"

#include "subgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kWeightType = 0u;
layout(constant_id = 3) const uint kByQuad = 0u;

READ_SLOT(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT(4)
WRITE_SLOT(5)

const uint kColumns = 4u;
// Elements along k that share one load of x.
const uint kStep = 8u;

uint WeightBits() { return 1u << BitsLog2(kWeightType); }
// Words that kStep weights take, 1 or 2.
uint WordsPerStep() { return WeightBits() / 4u; }
// Weights in half a word: places whose masks keep clear of the sign bit.
const uint kPlaces = 4u;
bool IsSigned() { return kWeightType == kInt4 || kWeightType == kInt8; }

struct Tile {
  uint rows[ROWS];         // Where rows of x start.
  uint columns[kColumns];  // Columns; beyond the last one it stands in.
};

struct Sums {
  float of[ROWS][kColumns];
};

// This invocation's share of kStep elements of each row of x, from k on.
float[ROWS] LoadShares(Tile tile, uint k) {
  uint lane = gl_SubgroupInvocationID & (kStep - 1u);
  float x[ROWS];
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) x[i] = LOAD(1, kType, tile.rows[i] + k + lane);
  return x;
}

// Weight s of kStep: of 4 bits in its place, else less its zero point.
float Weight(uvec2 words, uint s, int zero_point) {
  if (WeightBits() == 4u) {
    uint half_word = words.x >> ((4u * s) & 16u);
    return float(int(half_word & (15u << ((4u * s) & 15u))));
  }
  uint word = s < 4u ? words.x : words.y;
  int bit = int((8u * s) & 31u);
  int weight = IsSigned() ? bitfieldExtract(int(word), bit, 8) : int(bitfieldExtract(word, bit, 8));
  return float(weight - zero_point);
}

// What x is multiplied by for the place of weight s.
float PlaceScale(uint s) {
  return WeightBits() == 4u ? exp2(-4.0 * float(s & (kPlaces - 1u))) : 1.0;
}

// Adds kStep elements from k on to the sums of this block.
void AddStep(Tile tile, uint k, uvec2 words[kColumns], int zero_points[kColumns],
             inout Sums sums, inout float x_sums[ROWS]) {
  float x[ROWS];
  float placed[ROWS];
  if (SUBGROUP_SIZE >= kStep) {
    x = LoadShares(tile, k);
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      placed[i] = x[i] * PlaceScale(gl_SubgroupInvocationID & (kStep - 1u));
      x_sums[i] += x[i];
    }
  }
  [[unroll]] for (uint s = 0u; s < kStep; ++s) {
    float weights[kColumns];
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
      weights[j] = Weight(words[j], s, zero_points[j]);
    }
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      float shared_x;
      if (SUBGROUP_SIZE >= kStep) {
        shared_x = subgroupShuffle(placed[i], s);
      } else {  // Narrower subgroups cannot share a load of eight.
        float whole = LOAD(1, kType, tile.rows[i] + k + s);
        x_sums[i] += whole;
        shared_x = whole * PlaceScale(s);
      }
      [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        sums.of[i][j] = fma(shared_x, weights[j], sums.of[i][j]);
      }
    }
  }
}

// The sum of eight neighbours' values: of what LoadShares gave them.
float SumOfShares(float share) {
  if (SUBGROUP_SIZE < kStep) return share;
  float sum = 0.0;
  [[unroll]] for (uint s = 0u; s < kStep; ++s) sum += subgroupShuffle(share, s);
  return sum;
}

// Signed weights of 4 bits and their zero points are moved up by half their range.
bool IsMoved() { return kWeightType == kInt4; }

int ZeroPoint(uint e) {
  uint raw = LOAD_RAW(4, kWeightType, e).x;
  if (IsMoved()) return int(raw ^ 8u);
  return kWeightType == kInt8 ? bitfieldExtract(int(raw), 0, 8) : int(raw);
}

void AddBlock(Tile tile, uint block_index, inout Sums totals) {
  const uint words_per_step = WordsPerStep();
  const uint steps_per_load = kByQuad != 0u ? 4u / words_per_step : 1u;
  uint block = P(3);
  uint first = block_index * block;
  uint blocks = P(2) / block;
  float scales[kColumns];
  int zero_points[kColumns];
  [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
    uint e = tile.columns[j] * blocks + block_index;
    scales[j] = LOAD(3, kType, e);
    zero_points[j] = ZeroPoint(e);
  }
  Sums sums;
  float x_sums[ROWS];
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    x_sums[i] = 0.0;
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) sums.of[i][j] = 0.0;
  }
  for (uint k = first; k < first + block; k += kStep * steps_per_load) {
    uvec4 loaded[kColumns];
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
      uint step = (tile.columns[j] * P(2) + k) / kStep;
      if (kByQuad != 0u) {
        loaded[j] = LOAD_QUAD(2, step / steps_per_load);
      } else {
        uint word = step * words_per_step;
        loaded[j].x = LOAD_WORD(2, word);
        loaded[j].y = words_per_step == 2u ? LOAD_WORD(2, word + 1u) : 0u;
      }
      if (IsMoved()) loaded[j] ^= uvec4(0x88888888u);
    }
    [[unroll]] for (uint t = 0u; t < 4u; ++t) {
      if (t >= steps_per_load) break;
      uvec2 words[kColumns];
      [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        words[j].x = loaded[j][(t * words_per_step) & 3u];
        words[j].y = loaded[j][(t * words_per_step + 1u) & 3u];
      }
      AddStep(tile, k + t * kStep, words, zero_points, sums, x_sums);
    }
  }
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) x_sums[i] = SumOfShares(x_sums[i]);
  [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
    float zero_point = WeightBits() == 4u ? float(zero_points[j]) : 0.0;
    [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
      totals.of[i][j] += scales[j] * (sums.of[i][j] - zero_point * x_sums[i]);
    }
  }
}

void StoreRow(uint m, uint first_column, float values[kColumns]) {
  uint n = P(1);
  uint e = m * n + first_column;
  if (kType == kFloat16 && (n & 1u) == 0u) {
    [[unroll]] for (uint j = 0u; j < kColumns; j += 2u) {
      uint pair = FloatToHalf(values[j]) | (FloatToHalf(values[j + 1u]) << 16);
      if (first_column + j < n) STORE_WORD(5, (e + j) >> 1, pair);
    }
  } else {
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
      if (first_column + j < n) STORE_ELEMENT(5, kType, e + j, Encode(values[j], kType))
    }
  }
}

void ComputeTile(uint first_row, uint first_column) {
  Tile tile;
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    tile.rows[i] = min(first_row + i, P(0) - 1u) * P(2);
  }
  [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
    tile.columns[j] = min(first_column + j, P(1) - 1u);
  }
  Sums totals;
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) totals.of[i][j] = 0.0;
  }
  for (uint block = UNKNOWN_ZERO; block < P(2) / P(3); ++block) AddBlock(tile, block, totals);
  [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
    if (first_row + i < P(0)) StoreRow(first_row + i, first_column, totals.of[i]);
  }
}

void main() {
  // All invocations of a subgroup stay in the loop together: they share their loads.
  uint columns = kColumns * gl_WorkGroupSize.x;
  uint across = (P(1) + columns - 1u) / columns;
  uint down = (P(0) + ROWS - 1u) / ROWS;
  WORKGROUP_STRIDE_LOOP(index, down * across) {
    uint row = index / across;
    ComputeTile(row * ROWS, (index - row * across) * columns + gl_LocalInvocationID.x * kColumns);
  }
}
