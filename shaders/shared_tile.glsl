// How workgroups of GPUs compute the sums of tall_matmul.comp: for a tile of TileRows() x TileColumns() sums
// they load kSteps steps of a and b to shared memory, of which each invocation then multiplies 4 or 8 rows by
// 4 columns; meanwhile it loads its share of the next steps. Where tiles are small, because there are few of
// them, little else runs beside one: it loads twice as many steps at a time. Shared memory is 16 KiB, which
// all devices have.
//
// Specialisation constant 10: how many fours of rows an invocation has, 1 or 2.
#ifndef WEBNND_SHADERS_SHARED_TILE_GLSL_
#define WEBNND_SHADERS_SHARED_TILE_GLSL_

layout(constant_id = 10) const uint kFoursOfRows = 2u;

const uint kSteps = kFoursOfRows == 1u ? 32u : 16u;
const uint kFoursAcross = 16u;
const uint kFoursDown = kInvocationsOfGpus / kFoursAcross * kFoursOfRows;

// Fours of columns, or of rows, of one step follow each other, and steps. Of two parts one is written while the
// other one is read.
const uint kParts = kFoursOfRows == 1u ? 1u : 2u;
const uint kPartOfA = kSteps * kFoursDown;
const uint kPartOfB = kSteps * kFoursAcross;
shared vec4 shared_a[kParts * kPartOfA];
shared vec4 shared_b[kParts * kPartOfB];

uint TileRows() { return 4u * kFoursDown; }
uint TileColumns() { return 4u * kFoursAcross; }
// Of those of the tile, this invocation's.
uint FourOfColumns() { return gl_LocalInvocationID.x % kFoursAcross; }
uint FirstFourOfRows() { return gl_LocalInvocationID.x / kFoursAcross * kFoursOfRows; }

void SetRows(uint row_of_tiles, uint a, inout Tile tile) {
  tile.first_row = row_of_tiles * TileRows() + 4u * FirstFourOfRows();
  tile.a = a;
}

// The row of sum i. Of those of which four belong to neighbouring rows, the first row, and sum j.
uint RowOfSum(Tile tile, uint i) { return tile.first_row + i; }
uint RowOfFour(Tile tile, uint s) { return tile.first_row + 4u * s; }
uint SumOfFour(uint s, uint j) { return 4u * s + j; }

// An invocation's share of kSteps steps.
const uint kLoadsOfA = 2u;  // kPartOfA / kInvocationsOfGpus
const uint kLoadsOfB = kPartOfB / kInvocationsOfGpus;
const uint kLoadsOfBMax = 4u;
struct Loaded {
  vec4 a[kLoadsOfA];
  vec4 b[kLoadsOfBMax];
};

// Where load i of a and of b is in its part. Of b, four columns of one step, or four steps of one column.
uint PlaceOfA(uint i) { return gl_LocalInvocationID.x + i * kInvocationsOfGpus; }
uint PlaceOfB(uint i) { return gl_LocalInvocationID.x + i * kInvocationsOfGpus; }
uint ColumnInFour() { return gl_LocalInvocationID.x / kFoursAcross % 4u; }
uint FirstStepOfFour(uint i) {
  return 4u * (gl_LocalInvocationID.x / (4u * kFoursAcross) +
               i * (kInvocationsOfGpus / (4u * kFoursAcross)));
}

// Steps, and rows, that are not there are 0.
vec4 LoadFourOfA(Tile tile, uint first_step, uint i) {
  const uint step = first_step + PlaceOfA(i) / kFoursDown;
  const uint row = tile.first_row + 4u * (PlaceOfA(i) % kFoursDown - FirstFourOfRows());
  if (step >= P(3) || row >= P(1)) return vec4(0.0);
  return LoadFour1(tile.a + row / kPanelRows * P(4) + row % kPanelRows + kPanelRows * step);
}

vec4 LoadFourOfB(Tile tile, uint first_step, uint i) {
  const bool along_k = kLoadsB == LOADS_FOUR_ALONG_K;
  const uint step = first_step + (along_k ? FirstStepOfFour(i) : PlaceOfB(i) / kFoursAcross);
  if (step >= P(3)) return vec4(0.0);
  if (along_k) return LoadStepsOfColumn(tile.columns, ColumnInFour(), step);
  return LoadColumns(tile.columns, 0u, step);
}

Loaded LoadTile(Tile tile, uint first_step) {
  Loaded loaded;
  [[unroll]] for (uint i = 0u; i < kLoadsOfA; ++i) {
    loaded.a[i] = LoadFourOfA(tile, first_step, i);
  }
  [[unroll]] for (uint i = 0u; i < kLoadsOfBMax; ++i) {
    if (i < kLoadsOfB) loaded.b[i] = LoadFourOfB(tile, first_step, i);
  }
  return loaded;
}

void ShareTile(uint part, Loaded loaded) {
  [[unroll]] for (uint i = 0u; i < kLoadsOfA; ++i) {
    shared_a[part * kPartOfA + PlaceOfA(i)] = loaded.a[i];
  }
  [[unroll]] for (uint i = 0u; i < kLoadsOfBMax; ++i) {
    if (i >= kLoadsOfB) continue;
    if (kLoadsB == LOADS_FOUR_ALONG_K) {
      const uint place = part * kPartOfB + FirstStepOfFour(i) * kFoursAcross + FourOfColumns();
      [[unroll]] for (uint s = 0u; s < 4u; ++s) {
        shared_b[place + s * kFoursAcross][ColumnInFour()] = loaded.b[i][s];
      }
    } else {
      shared_b[part * kPartOfB + PlaceOfB(i)] = loaded.b[i];
    }
  }
}

void AddTile(uint part, inout Sums sums) {
  [[unroll]] for (uint k = 0u; k < kSteps; ++k) {
    const vec4 b = shared_b[part * kPartOfB + k * kFoursAcross + FourOfColumns()];
    [[unroll]] for (uint s = 0u; s < 2u; ++s) {
      if (s < kFoursOfRows) {
        const vec4 a = shared_a[part * kPartOfA + k * kFoursDown + FirstFourOfRows() + s];
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
          const uint i = SumOfFour(s, j);
          sums.of[i][0] = fma(vec4(a[j]), b, sums.of[i][0]);
        }
      }
    }
  }
}

void AddAll(Tile tile, inout Sums sums) {
  Loaded next = LoadTile(tile, 0u);
  uint part = 0u;
  for (uint k = 0u; k < P(3); k += kSteps) {
    // Those who still read the last steps.
    if (kParts == 1u) barrier();
    ShareTile(part, next);
    barrier();
    next = LoadTile(tile, k + kSteps);
    AddTile(part, sums);
    part = kParts - 1u - part;
  }
  // The next tile's steps come in place of the last ones.
  barrier();
}

#endif  // WEBNND_SHADERS_SHARED_TILE_GLSL_
