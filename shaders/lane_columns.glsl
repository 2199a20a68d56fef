// How tall_matmul.comp computes a tile on llvmpipe where neighbouring invocations take neighbouring
// columns: b is loaded by whole vectors, each element of a for all of them at once, and what a few rows
// add up stays in registers over many steps.
//
// The steps of a tile come in blocks, so short that what they take of a and of b stays in the first
// cache while one group of rows after the other goes over it. UNIFORM names what all invocations share.
// What a few steps load is a constant away from where they begin, outside of any UNIFORM, which hides
// it: so that is checked once (base/drivers_llvm/lane_loads.h).
#ifndef WEBNND_SHADERS_LANE_COLUMNS_GLSL_
#define WEBNND_SHADERS_LANE_COLUMNS_GLSL_

const uint kRowsOfGroup = 8u;
// Neighbouring columns of an invocation, each as far from the next as there are invocations: as many as
// registers have room for.
const uint kVectors = kSubgroupSize == 16u ? 2u : 1u;
const uint kVectorsMax = 2u;
const uint kStepsOfBlock = 128u;
const uint kColumnsOfPanel = 32u;  // Of b.
const uint kColumnsAtOnce = kVectors * kSubgroupSize;

// Whether what the module is specialised to goes so. One condition after the other: glslang puts what
// joins constants by && where it is not defined yet.
#ifdef TURNS
bool GoesByColumns() { return true; }
#else
bool GoesByColumns() {
  if (kSubgroupSize != 16u && kSubgroupSize != 8u) return false;
  if (kStores == STORES_BLOCKS) return false;
  if (kType != kFloat32) return false;
  return kLoadsB == LOADS_PANELS;
}
#endif

struct GroupSums {
  float of[kRowsOfGroup][kVectorsMax];
};

GroupSums ZeroGroupSums() {
  GroupSums sums;
  [[unroll]] for (uint r = 0u; r < kRowsOfGroup; ++r) {
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) sums.of[r][v] = 0.0;
  }
  return sums;
}

#ifdef TURNS
#define LOAD_WORD_OF_B(i) RELOAD_WORD(8, i)
uint StrideOfB() { return kColumnsAtOnce; }
#else
#define LOAD_WORD_OF_B(i) LOAD_WORD(2, i)
uint StrideOfB() { return kColumnsOfPanel; }
#endif

// `count` steps, which are few; `a` and `b` are where those of the first one begin.
void AddFewSteps(uint a, uint b, uint b_stride, const uint count, inout GroupSums sums) {
  const uint b_own = b + gl_SubgroupInvocationID;
  [[unroll]] for (uint s = 0u; s < count; ++s) {
    float b_of[kVectorsMax];
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
      b_of[v] = uintBitsToFloat(LOAD_WORD_OF_B(b_own + (s * b_stride + v * kSubgroupSize)));
    }
    [[unroll]] for (uint q = 0u; q < kRowsOfGroup / 4u; ++q) {
      const vec4 rows = uintBitsToFloat(LOAD_QUAD(1, (a >> 2) + (s * (kPanelRows / 4u) + q)));
      [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
          sums.of[4u * q + i][v] = fma(rows[i], b_of[v], sums.of[4u * q + i][v]);
        }
      }
    }
  }
}

void AddStepsOfGroup(uint a, uint b, uint first, uint end, inout GroupSums sums) {
  const uint stride = StrideOfB();
  uint step = first;
  for (; step + kStepsOfTurn <= end; step += kStepsOfTurn) {
    const uint k = UNIFORM(step);
    AddFewSteps(UNIFORM(a + k * kPanelRows), UNIFORM(b + k * stride), stride, kStepsOfTurn, sums);
  }
}

// Of row m, which all share, and of this invocation's column n.
void StoreOfColumn(Tile tile, uint m, uint n, float sum) {
  float value = uintBitsToFloat(P(10)) * sum;
  if (kC == C_OF_ROW) {
    const uint e = tile.c_offset + min(m, P(1) - 1u) * P(8);
    value += uintBitsToFloat(P(11)) * LOAD(4, kResultType, UNIFORM(e));
  } else if (kC != C_NONE) {
    value += uintBitsToFloat(P(11)) * LoadC(tile, m, n);
  }
  const uint first = UNIFORM(tile.result_offset + m * P(13) + (n - gl_SubgroupInvocationID));
  const uint e = kStores == STORES_FOUR_ALONG_N ? first + gl_SubgroupInvocationID
                                                : tile.result_offset + m * P(13) + n * P(14);
  const bool is_there = m < P(1) && n < P(2);
  if (kHasResidual != 0u) value += LOAD(5, kResultType, is_there ? e : 0u);
  value = Activate(value);
  if (is_there) STORE_ELEMENT(3, kResultType, e, Encode(value, kResultType))
}

void StoreGroup(Tile tile, uint first_row, uint first_column, GroupSums sums) {
  [[unroll]] for (uint r = 0u; r < kRowsOfGroup; ++r) {
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
      const uint n = first_column + v * kSubgroupSize + gl_SubgroupInvocationID;
      StoreOfColumn(tile, first_row + r, n, sums.of[r][v]);
    }
  }
}

#ifdef TURNS
// Words of the workgroup's memory before those of step `step` of the block that begins with `begin`.
uint WordsBefore(uint begin, uint step) {
  return (gl_WorkGroupID.x * kStepsOfBlock + (step - begin)) * kColumnsAtOnce;
}

#ifdef BLOCKS
const uint kStepsOfLoad = 32u;  // Which 16 bytes of weights are.
const uint kRowsOfTile = 32u;   // As in service/graph/row_tiles.h.

// Unpacks load `load` of a row of w, which lies `place` behind load `from`, to words `place` behind `to`, and
// from step to step kColumnsAtOnce apart.
//
// By mask, not by shift: what is masked out of the upper places of half a word counts 16 times as much for
// each, and so does the zero point; a power of 2 changes no product. Where a step begins is uniform by
// itself: of sums with constants drivers make shifts, and no longer see that places follow each other.
void UnpackLoad(uint row, uint load, uint from, uint place, uint to) {
  const uvec4 blocks = P4(kTurnsWord);
  const uint moved = kType == kInt4 ? 0x88888888u : 0u;  // Signed ones, up by half their range.
  const uint at = ScaleOfTiles(row, load >> blocks.y, blocks.x);
  const uvec4 weights = LOAD_QUAD(2, from + place) ^ moved;
  const float scale = LOAD(6, kScaleType, at);
  const uint zero_points = LOAD_WORD(7, at >> 3) ^ moved;
  const float zero_point = float(int((zero_points >> (4u * (at & 7u))) & 15u));
  [[unroll]] for (uint k = 0u; k < kStepsOfLoad; ++k) {
    const uint word = weights[k >> 3];
    const uint half_word = (k & 4u) == 0u ? word : word >> 16;
    const uint shift = 4u * (k & 3u);
    const float counts = float(1u << shift);
    const float value = float(int(half_word & (15u << shift))) - zero_point * counts;
    const uint to_step = UNIFORM(to + k * kColumnsAtOnce) + place;
    STORE_WORD(8, to_step, floatBitsToUint(value * (scale * (1.0 / counts))));
  }
}

// Brings steps `begin` to `end` - 1 of columns from `first` on to the workgroup's memory.
void BringSteps(uint b, uint first, uint begin, uint end) {
  const uvec4 blocks = P4(kTurnsWord);
  const uint first_load = (first / kRowsOfTile) * kRowsOfTile * blocks.z + first % kRowsOfTile;
  for (uint step = begin; step < end; step += kStepsOfLoad) {
    const uint load = step / kStepsOfLoad;
    const uint from = UNIFORM(first_load + kRowsOfTile * load);
    const uint to = WordsBefore(begin, step);
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
      const uint place = v * kSubgroupSize + gl_SubgroupInvocationID;
      UnpackLoad(first + place, load, from, place, to);
    }
  }
}
#else
const uint kWordElements = kType == kFloat16 ? 2u : 1u;

// Of a matrix that begins at `b` and whose steps follow each other, those from `step` on, of as many columns from
// `first` on and of as many words as there are invocations; of a rest of steps not all are there. To the words from
// `to` on.
void BringSquare(uint b, uint first, uint step, const bool is_rest, uint to) {
  uint words[kSquareMax];
  const uint depth = P(4u * kTurnsWord);
  const bool is_there = step + gl_SubgroupInvocationID * kWordElements < depth;
  const uint first_step = is_rest ? min(step, depth - kWordElements) : step;
  [[unroll]] for (uint r = 0u; r < kSquareMax; ++r) {
    if (r < kSubgroupSize) {
      const uint column = min(first + r, P(2) - 1u);
      const uint from = UNIFORM((b + column * P(7) + first_step) / kWordElements);
      if (is_rest) {
        // What panels of a have zeros for must not be infinite.
        const uint word = LOAD_WORD(2, from + (is_there ? gl_SubgroupInvocationID : 0u));
        words[r] = is_there ? word : 0u;
      } else {
        words[r] = LOAD_WORD(2, from + gl_SubgroupInvocationID);
      }
    }
  }
  TransposeRows(words);
  [[unroll]] for (uint s = 0u; s < kSquareMax; ++s) {
    if (s < kSubgroupSize) {
      [[unroll]] for (uint i = 0u; i < kWordElements; ++i) {
        const uint bits = kType == kFloat16 ? floatBitsToUint(unpackHalf2x16(words[s])[i]) : words[s];
        STORE_WORD(8, UNIFORM(to + (s * kWordElements + i) * kColumnsAtOnce) + gl_SubgroupInvocationID, bits);
      }
    }
  }
}

// Of a matrix that begins at `b` and whose columns follow each other, those from `first` on of one step; of a rest of
// columns not all are there, and the last ones stand in. To the words from `to` on.
void BringLine(uint b, uint first, uint step, const bool is_rest, uint to) {
  const uint width = kColumnsAtOnce / kWordElements;  // In words.
  const bool is_there = kHasRest == 0u || step < P(4u * kTurnsWord);
  const uint from = UNIFORM((b + min(step, P(4u * kTurnsWord) - 1u) * P(6) + first) / kWordElements);
  const uint last = (P(2) - 1u - first) / kWordElements;
  uint words[kVectorsMax];
  [[unroll]] for (uint v = 0u; v < kVectorsMax; ++v) {
    if (v * kSubgroupSize < width) {
      const uint place = v * kSubgroupSize + gl_SubgroupInvocationID;
      // Those that are not there are only kept from being loaded.
      const bool is_clamped = is_rest || width < kSubgroupSize;
      const uint word = LOAD_WORD(2, from + (is_clamped ? min(place, min(last, width - 1u)) : place));
      // What panels of a have zeros for must not be infinite.
      words[v] = is_there ? word : 0u;
    }
  }
  [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
    uint bits = words[v];
    if (kType == kFloat16) {
      const uint place = v * kSubgroupSize + gl_SubgroupInvocationID;
      const uint pair = subgroupShuffle(words[0], (place / 2u) % kSubgroupSize);
      bits = floatBitsToUint(unpackHalf2x16((place & 1u) == 0u ? pair : pair >> 16).x);
    }
    STORE_WORD(8, UNIFORM(to + v * kSubgroupSize) + gl_SubgroupInvocationID, bits);
  }
}

void BringLines(uint b, uint first, uint begin, uint end) {
  const uint kLines = 8u;  // Of a turn, which steps are a multiple of.
  const bool is_whole = first + kColumnsAtOnce <= P(2);
  uint step = begin;
#define BRING_LINES(is_rest)                                                                        \
  for (; step < end; step += kLines) {                                                              \
    [[unroll]] for (uint s = 0u; s < kLines; ++s) {                                                 \
      BringLine(b, first, step + s, is_rest, WordsBefore(begin, step + s));                         \
    }                                                                                               \
  }
  if (is_whole) BRING_LINES(false)
  BRING_LINES(true)
#undef BRING_LINES
}

// Brings steps `begin` to `end` - 1 of columns from `first` on to the workgroup's memory.
void BringSteps(uint b, uint first, uint begin, uint end) {
  if (kLoadsB == LOADS_FOUR_ACROSS) {
    BringLines(b, first, begin, end);
    return;
  }
  const uint whole = min(end, P(4u * kTurnsWord));
  const uint steps_of_square = kSubgroupSize * kWordElements;
  uint step = begin;
#define BRING_SQUARES(is_rest)                                                                    \
  [[unroll]] for (uint v = 0u; v < kVectors; ++v) {                                               \
    const uint in_row = v * kSubgroupSize;                                                        \
    BringSquare(b, first + in_row, step, is_rest, WordsBefore(begin, step) + in_row);             \
  }
  for (; step + steps_of_square <= whole; step += steps_of_square) BRING_SQUARES(false)
  if (kHasRest != 0u) {
    for (; step < end; step += steps_of_square) BRING_SQUARES(true)
  }
#undef BRING_SQUARES
}
#endif
#endif

// Of the tile's columns, those of one invocation's vectors from `first` on; `b` is where their first step is, or
// the matrix that is brought in turns.
void ComputeColumns(Tile tile, uint a, uint b, uint first) {
  const uint depth = UNIFORM(P(3));
  const uint rows = UNIFORM(P(1) - tile.first_row);
  GroupSums sums0 = ZeroGroupSums();
  GroupSums sums1 = ZeroGroupSums();
  GroupSums sums2 = ZeroGroupSums();
  GroupSums sums3 = ZeroGroupSums();
  for (uint block = 0u; block < depth; block += kStepsOfBlock) {
    const uint begin = UNIFORM(block);
    const uint end = min(begin + kStepsOfBlock, depth);
#ifdef TURNS
    BringSteps(b, first, begin, end);
    const uint of_block = WordsBefore(begin, 0u);  // Where step 0 would be.
#else
    const uint of_block = b;
#endif
    // Not a loop: drivers do not unroll those that have loops in them.
    AddStepsOfGroup(a, of_block, begin, end, sums0);
    AddStepsOfGroup(a + 8u, of_block, begin, UNIFORM(rows > 8u ? end : begin), sums1);
    AddStepsOfGroup(a + 16u, of_block, begin, UNIFORM(rows > 16u ? end : begin), sums2);
    AddStepsOfGroup(a + 24u, of_block, begin, UNIFORM(rows > 24u ? end : begin), sums3);
  }
  StoreGroup(tile, tile.first_row, first, sums0);
  StoreGroup(tile, tile.first_row + 8u, first, sums1);
  StoreGroup(tile, tile.first_row + 16u, first, sums2);
  StoreGroup(tile, tile.first_row + 24u, first, sums3);
}

void ComputeTileByColumns(Tile tile, uint a, uint b, uint first_column) {
  const uint end = UNIFORM(min(first_column + TileColumns(), P(2)));
  for (uint loop = first_column; loop < end; loop += kColumnsAtOnce) {
    const uint first = UNIFORM(loop);
#ifdef TURNS
    const uint place = 0u;
#else
    const uint place = first / kColumnsOfPanel * P(5) + (first & (kColumnsOfPanel - 1u));
#endif
    ComputeColumns(tile, a, UNIFORM(b + place), first);
  }
}

#endif  // WEBNND_SHADERS_LANE_COLUMNS_GLSL_
