// exp(x - max) / sum(exp(x - max)) along an axis (rows.glsl).
//
// Specialisation constants: 1 data type, 2 whether a workgroup shares a row, 3 whether four elements
// are computed at once: four neighbours of a row that lies in one piece, where rows are shared, else
// of four neighbouring rows, 4 how many such fours of rows an invocation takes, 1 to 4 (see
// cumulative_sum.comp), 5 which part of the work the call does, 6 how far those fours are from each other
// (FirstOfFours). Where rows are interleaved and too long
// for caches, one call finds what scales each row and another goes over the elements as they lie, a few
// of each row at a time: slot 2 of the former and slot 3 of the latter have two fours of float32 for each
// four of rows, the greatest elements and what exp(x - max) is multiplied by. On GPUs workgroups take tiles
// of interleaved rows (interleaved_tiles.glsl), whose parts along the axis another call combines to such
// factors, and 7 says who takes a row that lies in one piece and fits into registers: 1 a workgroup, 2 a
// subgroup where those are large enough. On llvmpipe they go by words, those of float16 where they fit
// into registers: 8 says how many times kLanesMax words such a row has at most, 9 whether it is of float16 and
// odd length, so that every other begins within a word, 10 how many times at least.
//
// Parameters besides: in uvec4 2 {parts of kSharesOfRow of a row, as divisor}; in uvec4 3 {fours behind
// the axis, as divisor}.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "fours.glsl"
#include "rows.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kByWorkgroup = 0u;
layout(constant_id = 3) const uint kByFour = 0u;
layout(constant_id = 4) const uint kFours = 1u;
layout(constant_id = 5) const uint kPart = 0u;
layout(constant_id = 6) const uint kApart = 1u;
#if TENSOR_READS == READS_STORAGE
layout(constant_id = 7) const uint kInRegisters = 0u;
#else
layout(constant_id = 8) const uint kRowVectors = 0u;
layout(constant_id = 9) const uint kOddHalves = 0u;
layout(constant_id = 10) const uint kWholeVectors = 0u;
#endif
const uint kFoursMax = 4u;

const uint kWhole = 0u;
const uint kFactors = 1u;  // Of fours of rows.
const uint kShares = 2u;
const uint kSharesOfRow = 8u;  // kSharesOfRow of service/passes/lower_reduce.cc.

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)
DECLARE_LOAD_FOURS(1)
DECLARE_LOAD_FOURS(3)

float Add(float a, float b) { return a + b; }
WORKGROUP_FOLD(FoldMax, float, Max)
WORKGROUP_FOLD(FoldSum, float, Add)

struct Row {
  uint base;
  uint size;
  uint stride;
  float greatest;
  float scale;
};

float ComputeElement(Row row, uint e) {
  return Exp(LOAD(1, kType, e) - row.greatest) * row.scale;
}

// A row of float16 that lies in one piece: words, of which neighbours write the rest at its ends.
void StoreHalves(Row row, uint first, uint step) {
  uint end = row.base + row.size;
  LONG_LOOP(word, (row.base >> 1) + first, (end + 1u) >> 1, step) {
    uint bits = 0u;
    uint mask = 0u;
    [[unroll]] for (uint k = 0u; k < 2u; ++k) {
      uint e = 2u * word + k;
      if (e >= row.base && e < end) {
        bits |= FloatToHalf(ComputeElement(row, e)) << (16u * k);
        mask |= 0xffffu << (16u * k);
      }
    }
    if (mask == 0xffffffffu) {
      STORE_WORD(2, word, bits);
    } else {
      MERGE_WORD(2, word, mask, bits);
    }
  }
}

void ComputeRow(uint index, uint first, uint step) {
  const bool together = kByWorkgroup != 0u;
  Row row = Row(RowBase(index), P(1), P(4), -INFINITY, 1.0);
  LONG_LOOP(k, first, row.size, step) {
    row.greatest = Max(row.greatest, LOAD(1, kType, row.base + k * row.stride));
  }
  if (together) row.greatest = FoldMax(row.greatest);
  float sum = 0.0;
  LONG_LOOP(k, first, row.size, step) {
    sum += Exp(LOAD(1, kType, row.base + k * row.stride) - row.greatest);
  }
  if (together) sum = FoldSum(sum);
  row.scale = 1.0 / sum;
  if (kType == kFloat16 && row.stride == 1u) {
    StoreHalves(row, first, step);
    return;
  }
  LONG_LOOP(k, first, row.size, step) {
    uint e = row.base + k * row.stride;
    uvec2 raw = Encode(ComputeElement(row, e), kType);
    STORE_ROW_ELEMENT(2, kType, e, raw);
  }
}

vec4 ExpOfNegatives(vec4 x) {
  return vec4(ExpOfNegative(x.x), ExpOfNegative(x.y), ExpOfNegative(x.z), ExpOfNegative(x.w));
}

// The greatest so far, and the sum of exp(x - greatest).
struct Sums {
  vec4 greatest;
  vec4 sum;
};

// Adds `count` fours, at most kFoursAtOnce, from `first` on, `stride` apart: to each other before to the
// sum, which is rounded less often so. Fours of one row have one maximum, so that one factor corrects
// their sums. NaN comes in by the sum alone.
#define ADD_FOURS(sums, count, first, stride)                                                     \
  {                                                                                               \
    vec4 x_[kFoursAtOnce];                                                                        \
    vec4 greatest_ = sums.greatest;                                                               \
    [[unroll]] for (uint k_ = 0u; k_ < (count); ++k_) {                                           \
      x_[k_] = LoadFours1(kType, (first) + k_ * (stride));                                        \
      greatest_ = mix(greatest_, x_[k_], greaterThan(x_[k_], greatest_));                         \
    }                                                                                             \
    if (kByWorkgroup != 0u) greatest_ = vec4(MaxOfFour(greatest_));                               \
    vec4 added_ = ExpOfNegatives(x_[0] - greatest_);                                              \
    [[unroll]] for (uint k_ = 1u; k_ < (count); ++k_) {                                           \
      added_ += ExpOfNegatives(x_[k_] - greatest_);                                               \
    }                                                                                             \
    sums.sum = sums.sum * ExpOfNegatives(sums.greatest - greatest_) + added_;                     \
    sums.greatest = greatest_;                                                                    \
  }

// Writes the shares of `count` fours, at most kFoursAtOnce, once 1 / sum is in place of the sum. Loads
// and arithmetic of all come before the stores, which keep a processor from seeing what comes after.
#define STORE_SHARES(sums, count, first, stride)                                                  \
  {                                                                                               \
    vec4 x_[kFoursAtOnce];                                                                        \
    [[unroll]] for (uint k_ = 0u; k_ < (count); ++k_) {                                           \
      x_[k_] = LoadFours1(kType, (first) + k_ * (stride));                                        \
    }                                                                                             \
    [[unroll]] for (uint k_ = 0u; k_ < (count); ++k_) {                                           \
      x_[k_] = ExpOfNegatives(x_[k_] - sums.greatest) * sums.sum;                                 \
    }                                                                                             \
    [[unroll]] for (uint k_ = 0u; k_ < (count); ++k_) {                                           \
      STORE_FOURS(2, kType, (first) + k_ * (stride), x_[k_])                                      \
    }                                                                                             \
  }

// `count` fours from number `base` on, `stride` apart, of which this invocation has every `step`th
// from `first` on; and as many kApart from each of them. `factors`: the number of the first four of rows.
void ComputeFours(uint base, uint count, uint stride, uint first, uint step, uint factors) {
  const float kLeast = -3.402823466e+38;
  Sums sums[kFoursMax];
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) sums[q] = Sums(vec4(kLeast), vec4(0.0));
  uint k = first;
  for (; k + (kFoursAtOnce - 1u) * step < count; k += kFoursAtOnce * step) {
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) ADD_FOURS(sums[q], kFoursAtOnce, base + q * kApart + k * stride, step * stride)
    }
  }
  for (; k < count; k += step) {
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) ADD_FOURS(sums[q], 1u, base + q * kApart + k * stride, 0u)
    }
  }
  if (kByWorkgroup != 0u) {
    float greatest = FoldMax(MaxOfFour(sums[0].greatest));
    sums[0].sum *= ExpOfNegatives(sums[0].greatest - greatest);
    sums[0] = Sums(vec4(greatest), vec4(FoldSum(SumOfFour(sums[0].sum))));
  }
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) sums[q].sum = 1.0 / sums[q].sum;
  if (kPart == kFactors) {
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) {
        STORE_FOURS(2, kFloat32, 2u * (factors + q * kApart), sums[q].greatest)
        STORE_FOURS(2, kFloat32, 2u * (factors + q * kApart) + 1u, sums[q].sum)
      }
    }
    return;
  }
  k = first;
  for (; k + (kFoursAtOnce - 1u) * step < count; k += kFoursAtOnce * step) {
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) STORE_SHARES(sums[q], kFoursAtOnce, base + q * kApart + k * stride, step * stride)
    }
  }
  for (; k < count; k += step) {
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) STORE_SHARES(sums[q], 1u, base + q * kApart + k * stride, 0u)
    }
  }
}

void ComputeShares() {
  uvec3 parts = P4(2).xyz;
  uvec3 fours = P4(3).xyz;
  GRID_STRIDE_LOOP(i, P(0) / 4u * parts.x) {
    uint line = Divide(i, fours);
    uint outer = Divide(line, parts);
    uint in_line = i - line * fours.x;
    uint factors = outer * fours.x + in_line;
    Sums sums = Sums(LoadFours3(kFloat32, 2u * factors), LoadFours3(kFloat32, 2u * factors + 1u));
    uint base = outer * P(1) * fours.x + in_line;
    uint k = (line - outer * parts.x) * kSharesOfRow;
    uint end = min(k + kSharesOfRow, P(1));
    for (; k + kFoursAtOnce <= end; k += kFoursAtOnce) {
      STORE_SHARES(sums, kFoursAtOnce, base + k * fours.x, fours.x)
    }
    for (; k < end; ++k) STORE_SHARES(sums, 1u, base + k * fours.x, 0u)
  }
}

#if TENSOR_READS == READS_STORAGE
#include "interleaved_tiles.glsl"

// Values of kPart besides.
const uint kWholeTiles = 3u;  // Whose stretch is the axis, and fits into registers.
const uint kSumsOfTiles = 4u;
const uint kCombined = 5u;    // Sums of tiles to factors.

const uint kAtOnce = 8u;  // Fours that an invocation has on their way, or in registers.

float MaxOverSubgroup(float value) {
  for (uint step = 1u; step < SUBGROUP_SIZE; step *= 2u) {
    value = max(value, subgroupShuffleXor(value, step));
  }
  return value;
}

const float kLeastFloat = -3.402823466e+38;

// A row of which invocation `lane` of `size` has every size-th four in registers. What is beyond the row
// is its last four once more, which counts for the greatest alone.
void ComputeInRegisters(uint row, uint lane, uint size, bool by_subgroup) {
  const uint count = P(1) / 4u;
  const uint base = row * count;
  vec4 x[kAtOnce];
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (i * size < count) x[i] = LoadFours1(kType, base + min(lane + i * size, count - 1u));
  }
  vec4 greatest = vec4(kLeastFloat);
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (i * size < count) greatest = mix(greatest, x[i], greaterThan(x[i], greatest));
  }
  float whole = MaxOfFour(greatest);
  whole = by_subgroup ? MaxOverSubgroup(whole) : FoldMax(whole);
  vec4 sums = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (i * size < count) {
      x[i] = ExpOfNegatives(x[i] - whole);
      if (lane + i * size < count) sums += x[i];
    }
  }
  float sum = SumOfFour(sums);
  sum = by_subgroup ? SumOverSubgroup(sum) : FoldSum(sum);
  const float scale = 1.0 / sum;
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (lane + i * size < count) STORE_FOURS(2, kType, base + lane + i * size, x[i] * scale)
  }
}

void ComputeRowsInRegisters() {
  if (kInRegisters == 2u && FoldsBySubgroups() && P(1) <= 4u * kAtOnce * kSubgroupSize) {
    SUBGROUP_STRIDE_LOOP(row, P(0)) {
      ComputeInRegisters(row, gl_SubgroupInvocationID, kSubgroupSize, true);
    }
  } else {
    WORKGROUP_STRIDE_LOOP(row, P(0)) {
      ComputeInRegisters(row, gl_LocalInvocationID.x, gl_WorkGroupSize.x, false);
    }
  }
}

shared vec4 tile_greatest[kInvocationsOfGpus];
shared vec4 tile_sums[kInvocationsOfGpus];

void ComputeTile(uint index) {
  const Tile tile = TileAt(index);
  Sums sums = Sums(vec4(kLeastFloat), vec4(0.0));
  vec4 x[kAtOnce];
  for (uint turn = tile.first + tile.own; turn < tile.end; turn += kAtOnce * kPartsOfTile) {
    vec4 added[kAtOnce];  // What each four is already the sum of; nothing beyond the stretch.
    vec4 greatest = sums.greatest;
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
      const uint k = turn + i * kPartsOfTile;
      const uint at = tile.base + min(k, tile.end - 1u) * tile.stride;
      x[i] = kPart == kCombined ? LoadFours3(kFloat32, 2u * at) : LoadFours1(kType, at);
      added[i] = kPart == kCombined ? LoadFours3(kFloat32, 2u * at + 1u) : vec4(1.0);
      greatest = mix(greatest, x[i], greaterThan(x[i], greatest));
    }
    sums.sum *= ExpOfNegatives(sums.greatest - greatest);
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
      const vec4 more = ExpOfNegatives(x[i] - greatest) * added[i];
      if (turn + i * kPartsOfTile < tile.end) sums.sum += more;
    }
    sums.greatest = greatest;
  }
  tile_greatest[gl_LocalInvocationID.x] = sums.greatest;
  tile_sums[gl_LocalInvocationID.x] = sums.sum;
  barrier();
  sums = Sums(vec4(kLeastFloat), vec4(0.0));
  [[unroll]] for (uint other = 0u; other < kPartsOfTile; ++other) {
    const vec4 greatest = tile_greatest[SharingFour(other)];
    sums.greatest = mix(sums.greatest, greatest, greaterThan(greatest, sums.greatest));
  }
  [[unroll]] for (uint other = 0u; other < kPartsOfTile; ++other) {
    const uint at = SharingFour(other);
    sums.sum += tile_sums[at] * ExpOfNegatives(tile_greatest[at] - sums.greatest);
  }
  barrier();
  if (!tile.inside) return;
  if (kPart == kWholeTiles) {
    const vec4 scale = 1.0 / sums.sum;
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
      const uint k = tile.first + tile.own + i * kPartsOfTile;
      const vec4 share = ExpOfNegatives(x[i] - sums.greatest) * scale;
      if (k < tile.end) STORE_FOURS(2, kType, tile.base + k * tile.stride, share)
    }
  } else if (tile.own == 0u) {
    const uint to = 2u * (tile.part * (P(3) / 4u) + tile.row);
    STORE_FOURS(2, kFloat32, to, sums.greatest)
    STORE_FOURS(2, kFloat32, to + 1u, kPart == kCombined ? 1.0 / sums.sum : sums.sum)
  }
}
#endif

#if TENSOR_READS == READS_TEXELS
bool CanGoByWords() { return kByWorkgroup != 0u && P(4) == 1u && IsWorkgroupOneSubgroup(); }

float LoadWord1(uint from, uint k) { return uintBitsToFloat(LOAD_WORD(1, from + PlaceInStretch(k))); }

const uint kVectors = 8u;  // Of a stretch.

float GreatestOfRow(uint base, uint size) {
  float greatest[kVectors];
  [[unroll]] for (uint k = 0u; k < kVectors; ++k) greatest[k] = -3.402823466e+38;
  uint i = UNKNOWN_ZERO;
  for (; i + kVectors * kSubgroupSize <= size; i += kVectors * kSubgroupSize) {
    const uint from = UNIFORM(base + i);
    [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
      const float x = LoadWord1(from, k);
      greatest[k] = x > greatest[k] ? x : greatest[k];
    }
  }
  for (; i + kSubgroupSize <= size; i += kSubgroupSize) {
    const float x = LoadWord1(UNIFORM(base + i), 0u);
    greatest[0] = x > greatest[0] ? x : greatest[0];
  }
  const uint rest = UNIFORM(base + i);
  if (i + gl_SubgroupInvocationID < size) {
    const float x = LoadWord1(rest, 0u);
    greatest[0] = x > greatest[0] ? x : greatest[0];
  }
  [[unroll]] for (uint k = 1u; k < kVectors; ++k) greatest[0] = max(greatest[0], greatest[k]);
  return FoldMax(greatest[0]);
}

uint PowerAndSum(float x, inout float sum) {
  const float power = ExpOfNegative(x);
  sum += power;
  return floatBitsToUint(power);
}

void ComputeRowByWords(uint row) {
  const uint size = P(1);
  const uint base = row * size;
  const float greatest = GreatestOfRow(base, size);
  float sums[kVectors];
  [[unroll]] for (uint k = 0u; k < kVectors; ++k) sums[k] = 0.0;
  // Powers wait in the result for what they are multiplied by.
#define POWER(i, from, k) PowerAndSum(LoadWord1(from, k) - greatest, sums[k])
  STRETCHES_LOOP(2, base, base, size, POWER)
#undef POWER
  [[unroll]] for (uint k = 1u; k < kVectors; ++k) sums[0] += sums[k];
  const float scale = 1.0 / FoldSum(sums[0]);
#define SHARE(i, from, k) \
  floatBitsToUint(uintBitsToFloat(RELOAD_WORD(2, from + PlaceInStretch(k))) * scale)
  STRETCHES_LOOP(2, base, base, size, SHARE)
#undef SHARE
}

#include "held_rows.glsl"

// Processors with short vectors have fewer registers for them.
bool IsRowInRegisters() {
  return kType == kFloat32 && kRowVectors > 0u && VectorsOfRow() <= kSubgroupSize;
}

void ComputeRowInRegisters(uint row) {
  const uint size = P(1);
  const uint base = UNIFORM(row * size);
  float x[kRowVectorsMax];
  float greatest = -3.402823466e+38;
  FOR_VECTORS_OF_ROW(k) {
    x[k] = -INFINITY;
    IN_ROW(k, size, x[k] = LoadWord1(base, k))
    greatest = x[k] > greatest ? x[k] : greatest;
  }
  greatest = FoldMax(greatest);
  FOR_VECTORS_OF_ROW(k) x[k] = ExpOfNegative(x[k] - greatest);
  // In the order of ComputeRowByWords, which other sizes of a dynamic graph have: the first of a stretch and those
  // behind it, then the stretch's others.
  float sum = x[0];
  [[unroll]] for (uint k = kVectors; k < VectorsOfRow(); ++k) sum += x[k];
  [[unroll]] for (uint k = 1u; k < min(kVectors, VectorsOfRow()); ++k) sum += x[k];
  const float scale = 1.0 / FoldSum(sum);
  FOR_VECTORS_OF_ROW(k) {
    IN_ROW(k, size, STORE_WORD(2, base + PlaceInStretch(k), floatBitsToUint(x[k] * scale)))
  }
}

// A row of float16. If it begins within a word, the row before it has been written.
void ComputeHalvesInRegisters(uint row, bool begins_within) {
  const uint size = P(1);
  const uint words = (size + 1u) >> 1;
  const uint base = UNIFORM(row * size >> 1);
  const uint first = begins_within ? 1u : 0u;  // Of the halves of its words.
  float x[kVectorsMax];  // Of half as many vectors of words.
  float greatest = -3.402823466e+38;
  FOR_VECTORS_OF_ROW(k) {
    uint word = 0u;
    IN_ROW(k, words, word = LOAD_WORD(1, base + PlaceInStretch(k)))
    [[unroll]] for (uint h = 0u; h < 2u; ++h) {
      const uint half_number = 2u * PlaceInStretch(k) + h;
      const bool is_own = (k > 0u || half_number >= first) &&
                          (k < WholeVectorsOfRow() || half_number < first + size);
      const float own = HalfToFloat(word >> (16u * h));
      x[2u * k + h] = is_own ? own : -INFINITY;
      greatest = x[2u * k + h] > greatest ? x[2u * k + h] : greatest;
    }
  }
  greatest = FoldMax(greatest);
  float sums[2] = float[2](0.0, 0.0);
  [[unroll]] for (uint k = 0u; k < 2u * VectorsOfRow(); ++k) {
    x[k] = ExpOfNegative(x[k] - greatest);
    sums[k & 1u] += x[k];
  }
  const float scale = 1.0 / FoldSum(sums[0] + sums[1]);
  const uint before = begins_within ? RELOAD_WORD(2, base) & 0xffffu : 0u;
  FOR_VECTORS_OF_ROW(k) {
    uint word = FloatToHalf(x[2u * k] * scale) | FloatToHalf(x[2u * k + 1u] * scale) << 16;
    if (k == 0u && begins_within) {
      word = gl_SubgroupInvocationID == 0u ? (word & 0xffff0000u) | before : word;
    }
    IN_ROW(k, words, STORE_WORD(2, base + PlaceInStretch(k), word))
  }
}

// What is left of the last word, where there is an odd number of odd rows, belongs to nobody.
void ComputeRowsOfHalves() {
  if (kOddHalves == 0u) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeHalvesInRegisters(row, false);
    return;
  }
  WORKGROUP_STRIDE_LOOP(pair, (P(0) + 1u) >> 1) {
    ComputeHalvesInRegisters(2u * pair, false);
    // Drivers that run both sides of a branch skip loops.
    for (uint row = 2u * pair + 1u; row < min(2u * pair + 2u, P(0)); ++row) {
      ComputeHalvesInRegisters(row, true);
    }
  }
}
#endif

void main() {
#if TENSOR_READS == READS_TEXELS
  if (CanGoByWords() && IsRowInRegisters()) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRowInRegisters(row);
    return;
  }
  if (CanGoByWords() && kType == kFloat16 && kRowVectors > 0u) {
    ComputeRowsOfHalves();
    return;
  }
  if (CanGoByWords() && kType == kFloat32) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRowByWords(row);
    return;
  }
#endif
#if TENSOR_READS == READS_STORAGE
  if (kPart >= kWholeTiles) {
    WORKGROUP_STRIDE_LOOP(tile, P(0)) ComputeTile(tile);
    return;
  }
  if (kInRegisters != 0u) {
    ComputeRowsInRegisters();
    return;
  }
#endif
  if (kPart == kShares) {
    ComputeShares();
  } else if (kByFour != 0u && kByWorkgroup != 0u) {
    uint count = P(1) / 4u;
    WORKGROUP_STRIDE_LOOP(row, P(0)) {
      ComputeFours(row * count, count, 1u, gl_LocalInvocationID.x, gl_WorkGroupSize.x, 0u);
    }
  } else if (kByFour != 0u) {
    uint stride = P(4) / 4u;
    GRID_STRIDE_LOOP(i, P(0) / (4u * kFours)) {
      uint four = FirstOfFours(i, kFours, kApart);
      ComputeFours(RowBase(4u * four) / 4u, P(1), stride, 0u, 1u, four);
    }
  } else if (kByWorkgroup != 0u) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) {
      ComputeRow(row, gl_LocalInvocationID.x, gl_WorkGroupSize.x);
    }
  } else {
    GRID_STRIDE_LOOP(row, P(0)) { ComputeRow(row, 0u, 1u); }
  }
}
