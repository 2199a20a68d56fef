// Reductions over any dimensions: slot 1 -> slot 2, both packed.
//
// Parameters: 0 elements of the result; 1 operand elements for each; 2 rank of the kept and 3 of
// the reduced dimensions, which follow from uvec4 1 on (strided.glsl; strides of slot 1 in x).
// Specialisation constants: 1 operation (operations.inc), 2 data type of the operand, 3 whether a
// workgroup shares one element of the result, 4 data type of the result, 5 rank of the reduced
// dimensions (0: parameter 3), 6 for 32-bit types, whether (1) parameter 1 counts quads of the
// operand, which follow each other, or (2) an invocation computes quads of the result, whose
// elements are quads in the operand too; 7 how many, 1 to 4 (see cumulative_sum.comp), 8 how far
// from each other (FirstOfFours); 9 (1) whether subgroups share an element where they know themselves,
// along rows, of quads on GPUs, of elements on llvmpipe, or, on GPUs, (2) that workgroups take tiles
// (interleaved_tiles.glsl), of which parameter 11 are the operand's elements for each of the result; or, on
// llvmpipe, (3) that lanes take columns (column_parts.glsl), which have an element of the result each, and
// constant 7 says how many vectors.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "strided.glsl"
#include "workgroup.glsl"

#define REDUCE_OPERATION(name, value) const uint kReduce##name = value;
#include "operations.inc"

layout(constant_id = 1) const uint kOperation = 0u;
layout(constant_id = 2) const uint kType = 0u;
layout(constant_id = 3) const uint kByWorkgroup = 0u;
layout(constant_id = 4) const uint kResultType = 0u;
layout(constant_id = 5) const uint kReducedRank = 0u;
layout(constant_id = 6) const uint kQuads = 0u;
layout(constant_id = 7) const uint kFours = 1u;
layout(constant_id = 8) const uint kApart = 1u;
layout(constant_id = 9) const uint kWay = 0u;
const uint kFoursMax = 4u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
WRITE_SLOT(2)

// Sums are kept in blocks of this size first, so that rounding errors grow slower than the count.
const uint kBlock = 64u;

VALUE Least() {
#if COMPUTE == COMPUTE_FLOAT
  return -INFINITY;
#elif COMPUTE == COMPUTE_INT
  return int(0x80000000u);
#elif COMPUTE == COMPUTE_INT64
  return int64_t(packUint2x32(uvec2(0u, 0x80000000u)));
#else
  return VALUE(0);
#endif
}

VALUE Greatest() {
#if COMPUTE == COMPUTE_FLOAT
  return INFINITY;
#else
  return ~Least();
#endif
}

VALUE Identity(uint operation) {
  if (operation == kReduceMax) return Least();
  if (operation == kReduceMin) return Greatest();
  return operation == kReduceProduct ? VALUE(1) : VALUE(0);
}

VALUE Combine(uint operation, VALUE a, VALUE b) {
  if (operation == kReduceMax) return Max(a, b);
  if (operation == kReduceMin) return Min(a, b);
  return operation == kReduceProduct ? a * b : a + b;
}

VALUE Map(uint operation, VALUE x, VALUE shift) {
  switch (operation) {
    case kReduceSumSquare:
    case kReduceL2:
      return x * x;
#if COMPUTE != COMPUTE_UINT && COMPUTE != COMPUTE_UINT64
    case kReduceL1:
      return x < VALUE(0) ? -x : x;
#endif
#if COMPUTE == COMPUTE_FLOAT
    case kReduceLogSumExp:
      return Exp(x - shift);
#endif
    default:
      return x;
  }
}

VALUE Finish(VALUE x, uint count, VALUE shift) {
#if COMPUTE == COMPUTE_FLOAT
  switch (kOperation) {
    case kReduceMean:
      return x / float(count);
    case kReduceL2:
      return sqrt(x);
    case kReduceLogSum:
      return Log(x);
    case kReduceLogSumExp:
      return Log(x) + shift;
  }
#endif
  return x;
}

VALUE CombineMax(VALUE a, VALUE b) { return Max(a, b); }
VALUE CombineOperation(VALUE a, VALUE b) { return Combine(kOperation, a, b); }
WORKGROUP_FOLD(FoldMax, VALUE, CombineMax)
WORKGROUP_FOLD(FoldOperation, VALUE, CombineOperation)

// Values of kQuads.
const uint kAlongRow = 1u;
const uint kAcross = 2u;

// Folds elements first, first + step, ... of the `count` that belong to one element of the result.
VALUE Accumulate(uint operation, uint base, uint count, uint first, uint step, VALUE shift) {
  uint dimensions = 1u + 2u * P(2);
  uint rank = P(3);
  VALUE total = Identity(operation);
  for (uint start = first; start < count; start += kBlock * step) {
    // Of quads each element has its own, which do not wait for each other.
    const uint chains = kQuads == kAlongRow ? 4u : 1u;
    VALUE blocks[4];
    [[unroll]] for (uint k = 0u; k < chains; ++k) blocks[k] = Identity(operation);
    uint end = min(start + kBlock * step, count);
    LONG_LOOP(r, start, end, step) {
      if (kQuads == kAlongRow) {
        uvec4 quad = LOAD_QUAD(1, (base >> 2) + r);
        [[unroll]] for (uint k = 0u; k < 4u; ++k) {
          VALUE x = Decode(uvec2(quad[k], 0u), kType);
          blocks[k] = Combine(operation, blocks[k], Map(operation, x, shift));
        }
      } else {
        uint from = base + StridedOffsetsOfRank(r, dimensions, kReducedRank, rank).x;
        blocks[0] = Combine(operation, blocks[0], Map(operation, LOAD(1, kType, from), shift));
      }
    }
    if (kQuads == kAlongRow) {
      blocks[0] = Combine(operation, Combine(operation, blocks[0], blocks[1]),
                          Combine(operation, blocks[2], blocks[3]));
    }
    total = Combine(operation, total, blocks[0]);
  }
  return total;
}

#if COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
// Of kFours quads.
struct Fours {
  VALUE of[kFoursMax][4];
};
#define FOR_EACH_OF_FOURS(q, i)                                     \
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) if (q < kFours) \
      [[unroll]] for (uint i = 0u; i < 4u; ++i)

Fours SetAll(VALUE value) {
  Fours fours;
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) fours.of[q][i] = value;
  }
  return fours;
}

// Accumulate for the elements from base on and those that belong to them.
Fours AccumulateFours(uint operation, uint base, uint count, Fours shifts) {
  uint dimensions = 1u + 2u * P(2);
  uint rank = P(3);
  Fours total = SetAll(Identity(operation));
  for (uint start = 0u; start < count; start += kBlock) {
    Fours block = SetAll(Identity(operation));
    uint end = min(start + kBlock, count);
    LONG_LOOP(r, start, end, 1u) {
      uint from = base + StridedOffsetsOfRank(r, dimensions, kReducedRank, rank).x;
      uvec4 quads[kFoursMax];
      [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
        if (q < kFours) quads[q] = LOAD_QUAD(1, (from >> 2) + q * kApart);
      }
      FOR_EACH_OF_FOURS(q, i) {
        VALUE x = Decode(uvec2(quads[q][i], 0u), kType);
        block.of[q][i] = Combine(operation, block.of[q][i], Map(operation, x, shifts.of[q][i]));
      }
    }
    FOR_EACH_OF_FOURS(q, i) {
      total.of[q][i] = Combine(operation, total.of[q][i], block.of[q][i]);
    }
  }
  return total;
}

void ComputeFours() {
  uint count = P(1);
  GRID_STRIDE_LOOP(i, P(0) / (4u * kFours)) {
    uint first = FirstOfFours(i, kFours, kApart);
    uint base = StridedOffsets(4u * first, 1u, P(2)).x;
    Fours shifts = SetAll(VALUE(0));
#if COMPUTE == COMPUTE_FLOAT
    if (kOperation == kReduceLogSumExp) {
      shifts = AccumulateFours(kReduceMax, base, count, shifts);
      FOR_EACH_OF_FOURS(q, i) {
        if (IsInfinite(shifts.of[q][i])) shifts.of[q][i] = 0.0;
      }
    }
#endif
    Fours totals = AccumulateFours(kOperation, base, count, shifts);
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
      if (q < kFours) {
        uvec4 bits;
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
          bits[i] = Encode(Finish(totals.of[q][i], count, shifts.of[q][i]), kResultType).x;
        }
        STORE_QUAD(2, first + q * kApart, bits)
      }
    }
  }
}
#endif

// Values of kWay, ReduceWay of service/passes/lower_reduce.cc.
const uint kSubgroups = 1u;
const uint kTiles = 2u;
const uint kColumns = 3u;

#if TENSOR_READS == READS_STORAGE
#include "interleaved_tiles.glsl"

const uint kAtOnce = 8u;  // Quads that an invocation has on their way.

#if COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
// Folds quads first, first + step, ... before `end` of slot 1, of which number k is `at` + k * `apart`: each
// element of them for itself. `size`: end less the least `first` of all that share the work.
#define FOLD_QUADS(operation, totals, at, apart, first, step, end, size, shift)                 \
  for (uint turn_ = 0u; turn_ < (size); turn_ += kAtOnce * (step)) {                            \
    uvec4 quads_[kAtOnce];                                                                      \
    [[unroll]] for (uint i_ = 0u; i_ < kAtOnce; ++i_) {                                         \
      const uint k_ = (first) + turn_ + i_ * (step);                                            \
      const uint at_ = (at) + min(k_, (end) - 1u) * (apart);                                    \
      if (turn_ + i_ * (step) < (size)) quads_[i_] = LOAD_QUAD(1, at_);                         \
    }                                                                                           \
    [[unroll]] for (uint i_ = 0u; i_ < kAtOnce; ++i_) {                                         \
      if ((first) + turn_ + i_ * (step) < (end)) {                                              \
        [[unroll]] for (uint j_ = 0u; j_ < 4u; ++j_) {                                          \
          const VALUE x_ = Decode(uvec2(quads_[i_][j_], 0u), kType);                            \
          totals[j_] = Combine(operation, totals[j_], Map(operation, x_, shift));               \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }

VALUE FoldRowBySubgroup(uint operation, uint base, VALUE shift) {
  const VALUE identity = Identity(operation);
  VALUE totals[4] = VALUE[](identity, identity, identity, identity);
  FOLD_QUADS(operation, totals, base >> 2, 1u, gl_SubgroupInvocationID, kSubgroupSize, P(1), P(1), shift)
  VALUE total = Combine(operation, Combine(operation, totals[0], totals[1]),
                        Combine(operation, totals[2], totals[3]));
  for (uint step = 1u; step < kSubgroupSize; step *= 2u) {
    total = Combine(operation, total, ValueOf(total, gl_SubgroupInvocationID ^ step));
  }
  return total;
}

void ComputeBySubgroups() {
  SUBGROUP_STRIDE_LOOP(e, P(0)) {
    const uint base = StridedOffsets(e, 1u, P(2)).x;
    VALUE shift = VALUE(0);
#if COMPUTE == COMPUTE_FLOAT
    if (kOperation == kReduceLogSumExp) {
      shift = FoldRowBySubgroup(kReduceMax, base, 0.0);
      if (IsInfinite(shift)) shift = 0.0;
    }
#endif
    const VALUE total = FoldRowBySubgroup(kOperation, base, shift);
    if (gl_SubgroupInvocationID == 0u) {
      STORE_WORD(2, e, Encode(Finish(total, 4u * P(1), shift), kResultType).x);
    }
  }
}

shared VALUE tile_totals[4u * kInvocationsOfGpus];

// Results of tiles that have the same place along the axis follow each other.
void ComputeTile(uint index) {
  const Tile tile = TileAt(index);
  const VALUE zero = VALUE(0);
  const VALUE identity = Identity(kOperation);
  VALUE totals[4] = VALUE[](identity, identity, identity, identity);
  FOLD_QUADS(kOperation, totals, tile.base, tile.stride, tile.first + tile.own, kPartsOfTile, tile.end,
             tile.end - tile.first, zero)
  [[unroll]] for (uint i = 0u; i < 4u; ++i) tile_totals[InTile(i, gl_LocalInvocationID.x)] = totals[i];
  barrier();
  // Of the four, the first of those who share it have an element each.
  if (tile.own < 4u && tile.inside) {
    VALUE total = tile_totals[InTile(tile.own, SharingFour(0u))];
    [[unroll]] for (uint other = 1u; other < kPartsOfTile; ++other) {
      total = Combine(kOperation, total, tile_totals[InTile(tile.own, SharingFour(other))]);
    }
    const uint to = tile.part * P(3) + 4u * tile.row + tile.own;
    STORE_WORD(2, to, Encode(Finish(total, P(11), zero), kResultType).x);
  }
  barrier();
}
#else
void ComputeBySubgroups() {}
void ComputeTile(uint index) {}
#endif
#else
bool CanComputeRows() { return kWay == kSubgroups && IsWorkgroupOneSubgroup(); }

#if COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
// Vectors that a subgroup has on their way, each with a chain of its own.
const uint kVectorsOfRow = 8u;

// Folds element `e` of the operand into `total`.
#define FOLD_ELEMENT(operation, total, e, shift) \
  total = Combine(operation, total, Map(operation, LOAD(1, kType, e), shift));

// Of the P(1) elements from `base` on, to all invocations.
VALUE FoldRow(uint operation, uint base, VALUE shift) {
  const VALUE identity = Identity(operation);
  VALUE total = identity;
  const uint stretch = kVectorsOfRow * kSubgroupSize;
  for (uint start = UNKNOWN_ZERO; start < P(1); start += kBlock * stretch) {
    const uint end = min(start + kBlock * stretch, P(1));
    VALUE blocks[kVectorsOfRow];
    [[unroll]] for (uint k = 0u; k < kVectorsOfRow; ++k) blocks[k] = identity;
    uint i = start;
    for (; i + stretch <= end; i += stretch) {
      const uint from = UNIFORM(base + i);
      [[unroll]] for (uint k = 0u; k < kVectorsOfRow; ++k) {
        FOLD_ELEMENT(operation, blocks[k], from + PlaceInStretch(k), shift)
      }
    }
    for (; i + kSubgroupSize <= end; i += kSubgroupSize) {
      FOLD_ELEMENT(operation, blocks[0], UNIFORM(base + i) + gl_SubgroupInvocationID, shift)
    }
    const uint rest = UNIFORM(base + i);
    if (i + gl_SubgroupInvocationID < end) {
      FOLD_ELEMENT(operation, blocks[0], rest + gl_SubgroupInvocationID, shift)
    }
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      blocks[k] = Combine(operation, blocks[k], blocks[k + 4u]);
    }
    blocks[0] = Combine(operation, Combine(operation, blocks[0], blocks[1]),
                        Combine(operation, blocks[2], blocks[3]));
    total = Combine(operation, total, blocks[0]);
  }
  return operation == kReduceMax ? FoldMax(total) : FoldOperation(total);
}

// Row after row, as they lie in memory: each invocation finds where one of the next begins, and has its result.
void ComputeRows() {
  const uint end = StartOfWorkgroup(gl_WorkGroupID.x + 1u, P(0));
  for (uint first = StartOfWorkgroup(gl_WorkGroupID.x, P(0)); first < end; first += kSubgroupSize) {
    uint places = StridedOffsets(min(first + gl_SubgroupInvocationID, end - 1u), 1u, P(2)).x;
    const uint rows = min(end - first, kSubgroupSize);
    VALUE result = VALUE(0);
    VALUE result_shift = VALUE(0);
    for (uint row = UNKNOWN_ZERO; row < rows; ++row) {
      const uint base = UNIFORM(places);
      places = subgroupShuffle(places, (gl_SubgroupInvocationID + 1u) % kSubgroupSize);
      VALUE shift = VALUE(0);
#if COMPUTE == COMPUTE_FLOAT
      if (kOperation == kReduceLogSumExp) {
        shift = FoldRow(kReduceMax, base, 0.0);
        shift = IsInfinite(shift) ? 0.0 : shift;
      }
#endif
      const VALUE total = FoldRow(kOperation, base, shift);
      const bool is_own = row == gl_SubgroupInvocationID;
      result = is_own ? total : result;
      result_shift = is_own ? shift : result_shift;
    }
    if (gl_SubgroupInvocationID < rows) {
      const uvec2 raw = Encode(Finish(result, P(1), result_shift), kResultType);
      STORE_ELEMENT(2, kResultType, UNIFORM(first) + gl_SubgroupInvocationID, raw)
    }
  }
}

const uint kVectors = kFours;
#include "column_parts.glsl"

struct Totals {
  VALUE of[kColumnsMax];
};

void FoldRowOfColumns(uint operation, inout Totals totals, Part part, uint row, uint first, Totals shift) {
  uint words[kVectorsMax];
  LOAD_ROW_OF_PART(words, 1, part, row, first)
  FOR_COLUMNS(c) {
    const VALUE x = Decode(uvec2(words[c / kPerWord] >> (16u * (c % kPerWord)), 0u), kType);
    totals.of[c] = Combine(operation, totals.of[c], Map(operation, x, shift.of[c]));
  }
}

// Of all rows of a plane, each column for itself.
Totals FoldColumns(uint operation, Part part, uint first, Totals shift) {
  Totals total;
  FOR_COLUMNS(c) total.of[c] = Identity(operation);
  uint row = part.begin;
  while (row < part.end) {
    Totals chains[kRowsAtOnce];
    [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) {
      FOR_COLUMNS(c) chains[r].of[c] = Identity(operation);
    }
    const uint end = min(row + kBlock, part.end);
    for (; row + kRowsAtOnce <= end; row += kRowsAtOnce) {
      [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) {
        FoldRowOfColumns(operation, chains[r], part, row + r, first, shift);
      }
    }
    for (; row < end; ++row) FoldRowOfColumns(operation, chains[0], part, row, first, shift);
    [[unroll]] for (uint r = 0u; r < kRowsAtOnce; ++r) {
      FOR_COLUMNS(c) total.of[c] = Combine(operation, total.of[c], chains[r].of[c]);
    }
  }
  return total;
}

void ComputeColumns(Part part, uint first) {
  Totals shift;
  FOR_COLUMNS(c) shift.of[c] = VALUE(0);
#if COMPUTE == COMPUTE_FLOAT
  if (kOperation == kReduceLogSumExp) {
    shift = FoldColumns(kReduceMax, part, first, shift);
    FOR_COLUMNS(c) shift.of[c] = IsInfinite(shift.of[c]) ? 0.0 : shift.of[c];
  }
#endif
  const Totals total = FoldColumns(kOperation, part, first, shift);
  FOR_VECTORS(k) {
    uint bits = 0u;
    [[unroll]] for (uint h = 0u; h < kPerWord; ++h) {
      const uint c = k * kPerWord + h;
      bits |= Encode(Finish(total.of[c], P(1), shift.of[c]), kResultType).x << (16u * h);
    }
    STORE_WORD(2, UNIFORM(part.plane * P(2) + FirstOfVector(first, k)) + gl_SubgroupInvocationID, bits);
  }
}
void ComputeAllColumns() { COLUMN_PARTS_LOOP(ComputeColumns) }
#else
void ComputeRows() {}
void ComputeAllColumns() {}
#endif
#endif

uvec2 ComputeElement(uint e) {
  bool together = kByWorkgroup != 0u;
  uint base = StridedOffsets(e, 1u, P(2)).x;
  uint count = P(1);
  uint first = together ? gl_LocalInvocationID.x : 0u;
  uint step = together ? gl_WorkGroupSize.x : 1u;
  VALUE shift = VALUE(0);
#if COMPUTE == COMPUTE_FLOAT
  if (kOperation == kReduceLogSumExp) {
    // Less the greatest, no exponential overflows.
    shift = Accumulate(kReduceMax, base, count, first, step, 0.0);
    if (together) shift = FoldMax(shift);
    if (IsInfinite(shift)) shift = 0.0;
  }
#endif
  VALUE total = Accumulate(kOperation, base, count, first, step, shift);
  if (together) total = FoldOperation(total);
  if (kQuads == kAlongRow) count *= 4u;
  return Encode(Finish(total, count, shift), kResultType);
}

void main() {
#if TENSOR_READS == READS_STORAGE
  if (kWay == kTiles) {
    WORKGROUP_STRIDE_LOOP(tile, P(0)) ComputeTile(tile);
    return;
  }
  if (kWay == kSubgroups && FoldsBySubgroups()) {
    ComputeBySubgroups();
    return;
  }
#else
  if (kWay == kColumns) {
    ComputeAllColumns();
    return;
  }
  if (CanComputeRows()) {
    ComputeRows();
    return;
  }
#endif
  if (kQuads == kAcross) {
#if COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
    ComputeFours();
#endif
  } else if (kByWorkgroup != 0u) {
    STORE_ELEMENTS_BY_WORKGROUP(2, kResultType, P(0), ComputeElement);
  } else {
    STORE_ELEMENTS(2, kResultType, P(0), ComputeElement);
  }
}
