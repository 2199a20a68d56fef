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
// subgroup where those are large enough. On llvmpipe they go by vectors of their elements; of
// those that registers hold, 8 says how many times kLanesMax elements they have at most, and 9 how many times at least.
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
layout(constant_id = 9) const uint kWholeVectors = 0u;
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
  LONG_LOOP(k, first, row.size, step) {
    uint e = row.base + k * row.stride;
    STORE_ELEMENT(2, kType, e, Encode(ComputeElement(row, e), kType))
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
bool CanGoByVectors() { return kByWorkgroup != 0u && P(4) == 1u && IsWorkgroupOneSubgroup(); }

float LoadOfVector(uint from, uint k) { return LOAD(1, kType, from + PlaceInStretch(k)); }

const uint kVectors = 8u;  // Of a stretch.

// BODY(from, vectors) for the vectors of a row that begins at `base`; the last one may be whole for some alone.
#define ROW_LOOP(base, size, BODY)                                                                \
  {                                                                                               \
    uint i_ = UNKNOWN_ZERO;                                                                       \
    for (; i_ + kVectors * kSubgroupSize <= (size); i_ += kVectors * kSubgroupSize) {             \
      const uint from_ = UNIFORM((base) + i_);                                                    \
      BODY(from_, kVectors)                                                                       \
    }                                                                                             \
    for (; i_ + kSubgroupSize <= (size); i_ += kSubgroupSize) {                                   \
      const uint from_ = UNIFORM((base) + i_);                                                    \
      BODY(from_, 1u)                                                                             \
    }                                                                                             \
    const uint from_ = UNIFORM((base) + i_);                                                      \
    if (i_ + gl_SubgroupInvocationID < (size)) BODY(from_, 1u)                                    \
  }

float GreatestOfRow(uint base, uint size) {
  float greatest[kVectors];
  [[unroll]] for (uint k = 0u; k < kVectors; ++k) greatest[k] = -3.402823466e+38;
#define TAKE_GREATER(from, vectors)                              \
  [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {          \
    const float x_ = LoadOfVector(from, k_);                     \
    greatest[k_] = x_ > greatest[k_] ? x_ : greatest[k_];        \
  }
  ROW_LOOP(base, size, TAKE_GREATER)
#undef TAKE_GREATER
  [[unroll]] for (uint k = 1u; k < kVectors; ++k) greatest[0] = max(greatest[0], greatest[k]);
  return FoldMax(greatest[0]);
}

void ComputeRowByVectors(uint row) {
  const uint size = P(1);
  const uint base = row * size;
  const float greatest = GreatestOfRow(base, size);
  float sums[kVectors];
  [[unroll]] for (uint k = 0u; k < kVectors; ++k) sums[k] = 0.0;
  // Powers of float32 wait in the result for what they are multiplied by; others would be rounded there.
#define ADD_POWERS(from, vectors)                                                                      \
  {                                                                                                    \
    float powers_[kVectors];                                                                           \
    [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {                                              \
      powers_[k_] = ExpOfNegative(LoadOfVector(from, k_) - greatest);                                  \
      sums[k_] += powers_[k_];                                                                         \
    }                                                                                                  \
    [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {                                              \
      if (kType == kFloat32) STORE_WORD(2, (from) + PlaceInStretch(k_), floatBitsToUint(powers_[k_])); \
    }                                                                                                  \
  }
  ROW_LOOP(base, size, ADD_POWERS)
#undef ADD_POWERS
  [[unroll]] for (uint k = 1u; k < kVectors; ++k) sums[0] += sums[k];
  const float scale = 1.0 / FoldSum(sums[0]);
#define STORE_SHARES_OF_VECTORS(from, vectors)                                                       \
  {                                                                                                  \
    float shares_[kVectors];                                                                         \
    [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {                                            \
      shares_[k_] = kType == kFloat32 ? uintBitsToFloat(RELOAD_WORD(2, (from) + PlaceInStretch(k_))) \
                                      : ExpOfNegative(LoadOfVector(from, k_) - greatest);            \
    }                                                                                                \
    [[unroll]] for (uint k_ = 0u; k_ < (vectors); ++k_) {                                            \
      STORE_ELEMENT(2, kType, (from) + PlaceInStretch(k_), Encode(shares_[k_] * scale, kType))       \
    }                                                                                                \
  }
  ROW_LOOP(base, size, STORE_SHARES_OF_VECTORS)
#undef STORE_SHARES_OF_VECTORS
}

#include "held_rows.glsl"

// Processors with short vectors have fewer registers for them.
bool IsRowInRegisters() { return kRowVectors > 0u && VectorsOfRow() <= kSubgroupSize; }

void ComputeRowInRegisters(uint row) {
  const uint size = P(1);
  const uint base = UNIFORM(row * size);
  float x[kRowVectorsMax];
  float greatest = -3.402823466e+38;
  FOR_VECTORS_OF_ROW(k) {
    x[k] = -INFINITY;
    IN_ROW(k, size, x[k] = LoadOfVector(base, k))
    greatest = x[k] > greatest ? x[k] : greatest;
  }
  greatest = FoldMax(greatest);
  FOR_VECTORS_OF_ROW(k) x[k] = ExpOfNegative(x[k] - greatest);
  // In the order of ComputeRowByVectors, which other sizes of a dynamic graph have: the first of a stretch and those
  // behind it, then the stretch's others.
  float sum = x[0];
  [[unroll]] for (uint k = kVectors; k < VectorsOfRow(); ++k) sum += x[k];
  [[unroll]] for (uint k = 1u; k < min(kVectors, VectorsOfRow()); ++k) sum += x[k];
  const float scale = 1.0 / FoldSum(sum);
  FOR_VECTORS_OF_ROW(k) {
    IN_ROW(k, size, STORE_ELEMENT(2, kType, base + PlaceInStretch(k), Encode(x[k] * scale, kType)))
  }
}
#endif

void main() {
#if TENSOR_READS == READS_TEXELS
  if (CanGoByVectors() && IsRowInRegisters()) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRowInRegisters(row);
    return;
  }
  if (CanGoByVectors()) {
    WORKGROUP_STRIDE_LOOP(row, P(0)) ComputeRowByVectors(row);
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
