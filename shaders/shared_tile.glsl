// How workgroups of GPUs compute the sums of tall_matmul.comp: for a tile of TileRows() x TileColumns() sums
// they load kSteps steps of a and b to shared memory, of which each invocation then multiplies 4 or 8 rows by
// 4 columns; meanwhile it loads its share of the next steps. Where tiles are small, because there are few of
// them, little else runs beside one: it loads twice as many steps at a time. Shared memory is 16 KiB, which
// all devices have.
//
// Where tiles are fewer still, each is divided along k: parts of the sums lie behind each other, float32, in
// place of the results, and combine_parts.comp adds them up.
//
// Parameters besides: 4 elements of a panel of a, or its stride along m; 164 parts; 165 steps of a part, a
// multiple of kSteps; 166 elements from one part of the results to the next, a multiple of 4. Specialisation
// constants: 10 how many fours of rows an invocation has, 1 or 2; 11 whether tiles are divided; 12 how a
// loads: LOADS_PANELS or LOADS_FOUR_ALONG_K.
#ifndef WEBNND_SHADERS_SHARED_TILE_GLSL_
#define WEBNND_SHADERS_SHARED_TILE_GLSL_

layout(constant_id = 10) const uint kFoursOfRows = 2u;
layout(constant_id = 11) const uint kDivided = 0u;
layout(constant_id = 12) const uint kLoadsA = LOADS_PANELS;

const uint kStoredType = kDivided != 0u ? kFloat32 : kResultType;

const uint kSteps = kFoursOfRows == 1u ? 32u : 16u;
const uint kFoursOfSteps = kSteps / 4u;
const uint kFoursAcross = 16u;
const uint kFoursDown = kInvocationsOfGpus / kFoursAcross * kFoursOfRows;

// Fours of columns, or of rows, of one step follow each other, and steps. Of two halves one is written while
// the other one is read.
const uint kHalves = kFoursOfRows == 1u ? 1u : 2u;
const uint kHalfOfA = kSteps * kFoursDown;
const uint kHalfOfB = kSteps * kFoursAcross;
shared vec4 shared_a[kHalves * kHalfOfA];
shared vec4 shared_b[kHalves * kHalfOfB];

DECLARE_LOAD_FOUR(1, kLoadsA == LOADS_PANELS ? kFloat32 : kResultType)

uint TileRows() { return 4u * kFoursDown; }
uint TileColumns() { return 4u * kFoursAcross; }
uint CountParts() { return kDivided != 0u ? P(164) : 1u; }
// The part of its steps that a tile is; which of the whole ones it belongs to.
uint part_of_tile;
uint SelectPart(uint index, uint whole_tiles) {
  part_of_tile = kDivided != 0u ? index / whole_tiles : 0u;
  return index - part_of_tile * whole_tiles;
}
uint FirstStep() { return kDivided != 0u ? part_of_tile * P(165) : 0u; }
uint EndStep() { return kDivided != 0u ? min((part_of_tile + 1u) * P(165), P(3)) : P(3); }
// Whether what is added to sums belongs to this part, and where it is stored.
bool IsFirstPart() { return kDivided == 0u || part_of_tile == 0u; }
uint OffsetOfPart() { return kDivided != 0u ? part_of_tile * P(166) : 0u; }

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
const uint kLoadsOfA = 2u;  // kHalfOfA / kInvocationsOfGpus
const uint kLoadsOfB = kHalfOfB / kInvocationsOfGpus;
const uint kLoadsOfBMax = 4u;
struct Loaded {
  vec4 a[kLoadsOfA];
  vec4 b[kLoadsOfBMax];
};

// What load i of `fours` in a step loads: one step of four neighbours (x: the step, y: the four), or four
// steps of one (x: the first step, y: which), neighbouring invocations those beside each other.
uvec2 PlaceAcross(uint i, uint fours) {
  const uint place = gl_LocalInvocationID.x + i * kInvocationsOfGpus;
  return uvec2(place / fours, place % fours);
}
uvec2 PlaceAlongK(uint i) {
  const uint place = gl_LocalInvocationID.x + i * kInvocationsOfGpus;
  return uvec2(4u * (place % kFoursOfSteps), place / kFoursOfSteps);
}

// Steps, and rows, that are not there are 0.
vec4 LoadFourOfA(Tile tile, uint first_step, uint i) {
  const uint first_row = tile.first_row - 4u * FirstFourOfRows();
  if (kLoadsA == LOADS_FOUR_ALONG_K) {
    const uvec2 place = PlaceAlongK(i);
    const uint row = first_row + place.y;
    if (first_step + place.x >= EndStep() || row >= P(1)) return vec4(0.0);
    return LoadFour1(tile.a + row * P(4) + first_step + place.x);
  }
  const uvec2 place = PlaceAcross(i, kFoursDown);
  const uint step = first_step + place.x;
  const uint row = first_row + 4u * place.y;
  if (step >= EndStep() || row >= P(1)) return vec4(0.0);
  return LoadFour1(tile.a + row / kPanelRows * P(4) + row % kPanelRows + kPanelRows * step);
}

void ShareFourOfA(uint half_, uint i, vec4 four) {
  if (kLoadsA == LOADS_FOUR_ALONG_K) {
    const uvec2 place = PlaceAlongK(i);
    const uint at = half_ * kHalfOfA + place.x * kFoursDown + place.y / 4u;
    [[unroll]] for (uint s = 0u; s < 4u; ++s) shared_a[at + s * kFoursDown][place.y % 4u] = four[s];
  } else {
    const uvec2 place = PlaceAcross(i, kFoursDown);
    shared_a[half_ * kHalfOfA + place.x * kFoursDown + place.y] = four;
  }
}

// Four steps of a column: of an image, those of this invocation's own columns, whose windows it knows.
uvec2 PlaceOfColumn(uint i) {
#ifdef IMAGE
  const uint four = gl_LocalInvocationID.x / (4u * kFoursAcross) +
                    i * (kInvocationsOfGpus / (4u * kFoursAcross));
  return uvec2(4u * four, 4u * FourOfColumns() + gl_LocalInvocationID.x / kFoursAcross % 4u);
#else
  return PlaceAlongK(i);
#endif
}

vec4 LoadFourOfB(Tile tile, uint first_step, uint i) {
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    const uvec2 place = PlaceOfColumn(i);
    const uint step = first_step + place.x;
    if (step >= EndStep()) return vec4(0.0);
#ifdef IMAGE
    return LoadStepsOfColumn(tile.columns, place.y % 4u, step);
#else
    const uint column = tile.first_column - 4u * FourOfColumns() + place.y;
    return LoadFour2(tile.b + min(column, P(2) - 1u) * P(7) + step);
#endif
  }
  const uint step = first_step + PlaceAcross(i, kFoursAcross).x;
  return step < EndStep() ? LoadColumns(tile.columns, 0u, step) : vec4(0.0);
}

void ShareFourOfB(uint half_, uint i, vec4 four) {
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    const uvec2 place = PlaceOfColumn(i);
    const uint at = half_ * kHalfOfB + place.x * kFoursAcross + place.y / 4u;
    [[unroll]] for (uint s = 0u; s < 4u; ++s) shared_b[at + s * kFoursAcross][place.y % 4u] = four[s];
  } else {
    const uvec2 place = PlaceAcross(i, kFoursAcross);
    shared_b[half_ * kHalfOfB + place.x * kFoursAcross + place.y] = four;
  }
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

void ShareTile(uint half_, Loaded loaded) {
  [[unroll]] for (uint i = 0u; i < kLoadsOfA; ++i) ShareFourOfA(half_, i, loaded.a[i]);
  [[unroll]] for (uint i = 0u; i < kLoadsOfBMax; ++i) {
    if (i < kLoadsOfB) ShareFourOfB(half_, i, loaded.b[i]);
  }
}

void AddTile(uint half_, inout Sums sums) {
  [[unroll]] for (uint k = 0u; k < kSteps; ++k) {
    const vec4 b = shared_b[half_ * kHalfOfB + k * kFoursAcross + FourOfColumns()];
    [[unroll]] for (uint s = 0u; s < 2u; ++s) {
      if (s < kFoursOfRows) {
        const vec4 a = shared_a[half_ * kHalfOfA + k * kFoursDown + FirstFourOfRows() + s];
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
          const uint i = SumOfFour(s, j);
          sums.of[i][0] = fma(vec4(a[j]), b, sums.of[i][0]);
        }
      }
    }
  }
}

void AddAll(Tile tile, inout Sums sums) {
  Loaded next = LoadTile(tile, FirstStep());
  uint half_ = 0u;
  for (uint k = FirstStep(); k < EndStep(); k += kSteps) {
    // Those who still read the last steps.
    if (kHalves == 1u) barrier();
    ShareTile(half_, next);
    barrier();
    next = LoadTile(tile, k + kSteps);
    AddTile(half_, sums);
    half_ = kHalves - 1u - half_;
  }
  // The next tile's steps come in place of the last ones.
  barrier();
}

#endif  // WEBNND_SHADERS_SHARED_TILE_GLSL_
