// How workgroups of GPUs compute the sums of tall_matmul.comp: for a tile of TileRows() x TileColumns() sums
// they load kSteps steps of a and b to shared memory, of which each invocation then multiplies 4 or 8 rows by
// 4 columns; meanwhile it loads its share of the next steps. Where tiles are small, because there are few of
// them, little else runs beside one: it loads twice as many steps at a time. Shared memory is 16 KiB,
// and with places in an image a little more.
//
// Where tiles are fewer still, each is divided along k, and workgroups leave their sums of a part in slot 6.
// Slot 7 counts those of a tile that have: the last one adds all of them up, in their order, stores what they
// come to, and leaves the count at 0, as it has to be before the first.
//
// Parameters besides: 4 elements of a panel of a, or its stride along m; 164 parts; 165 steps of a part, a
// multiple of kSteps. Specialisation constants: 10 how many fours of rows an invocation has, 1 or 2; 11
// whether tiles are divided; 12 how a loads: LOADS_PANELS or LOADS_FOUR_ALONG_K.
#ifndef WEBNND_SHADERS_SHARED_TILE_GLSL_
#define WEBNND_SHADERS_SHARED_TILE_GLSL_

layout(constant_id = 10) const uint kFoursOfRows = 2u;
layout(constant_id = 11) const uint kDivided = 0u;
layout(constant_id = 12) const uint kLoadsA = LOADS_PANELS;

const uint kSteps = kFoursOfRows == 1u ? 32u : 16u;
const uint kFoursOfSteps = kSteps / 4u;
const uint kFoursAcross = 16u;
const uint kFoursDown = kInvocationsOfGpus / kFoursAcross * kFoursOfRows;

// Fours of columns, or of rows, of one step follow each other, and steps. Of two halves one is written while
// the other one is read.
//
// What loads by four steps of a row, or column, is written word by word, by invocations whose steps differ:
// all of them into one bank of the memory, were it not that each four of steps has its own order of fours.
const uint kHalves = kFoursOfRows == 1u ? 1u : 2u;
const uint kHalfOfA = kSteps * kFoursDown;
const uint kHalfOfB = kSteps * kFoursAcross;
shared vec4 shared_a[kHalves * kHalfOfA];
shared vec4 shared_b[kHalves * kHalfOfB];

uint PlaceIn(uint four, uint step, uint loads) {
  const uint banks = 8u;  // Of fours.
  return loads == LOADS_FOUR_ALONG_K ? four ^ (step / 4u * (banks / kFoursOfSteps)) : four;
}

EXCHANGE_SLOT(6)
EXCHANGE_SLOT(7)

DECLARE_LOAD_FOUR(1, kLoadsA == LOADS_PANELS ? kFloat32 : kResultType)

uint TileRows() { return 4u * kFoursDown; }
uint TileColumns() { return 4u * kFoursAcross; }
uint CountParts() { return kDivided != 0u ? P(164) : 1u; }
// The part of its steps that a tile is; which of the whole ones it belongs to.
uint part_of_tile;
uint whole_tile;
uint SelectPart(uint index, uint whole_tiles) {
  part_of_tile = kDivided != 0u ? index / whole_tiles : 0u;
  whole_tile = index - part_of_tile * whole_tiles;
  return whole_tile;
}
uint FirstStep() { return kDivided != 0u ? part_of_tile * P(165) : 0u; }
uint EndStep() { return kDivided != 0u ? min((part_of_tile + 1u) * P(165), P(3)) : P(3); }

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
    const uint at =
        half_ * kHalfOfA + place.x * kFoursDown + PlaceIn(place.y / 4u, place.x, kLoadsA);
    [[unroll]] for (uint s = 0u; s < 4u; ++s) shared_a[at + s * kFoursDown][place.y % 4u] = four[s];
  } else {
    const uvec2 place = PlaceAcross(i, kFoursDown);
    shared_a[half_ * kHalfOfA + place.x * kFoursDown + place.y] = four;
  }
}

#ifdef IMAGE

// Windows load for other columns than this invocation multiplies. Those whose channels lie together load by
// four of them, neighbouring invocations neighbouring fours; the others load one by one, as invocations have
// neighbouring columns, at places in the window that they find together.
const uint kColumnStep =
    kLoadsB == LOADS_FOUR_ALONG_K ? kInvocationsOfGpus / kFoursOfSteps : 0u;
const uint kStepsAtOnce = kInvocationsOfGpus / (4u * kFoursAcross);
const bool kSharesPlaces = kLoadsB != LOADS_FOUR_ALONG_K;
shared uvec3 shared_places[kHalves * kSteps];

uint FirstColumnToLoad() {
  const uint i = gl_LocalInvocationID.x;
  return kLoadsB == LOADS_FOUR_ALONG_K ? i / kFoursOfSteps : i % (4u * kFoursAcross);
}

Columns MakeTileColumns(uint first_column, uint offset) {
  return MakeColumnsEvery(first_column + FirstColumnToLoad(), kColumnStep, offset);
}

void SharePlaces(Tile tile, uint half_, uint first_step) {
  const uint i = gl_LocalInvocationID.x;
  if (i >= kSteps) return;
  const uint step = first_step + i;
  // Beyond the end, one that is inside of no image.
  const uvec3 place = step < EndStep() ? PlaceOf(tile.columns, step) : uvec3(1u << 31, 0u, 0u);
  shared_places[half_ * kSteps + i] = place;
}

void LoadTileOfB(Tile tile, uint half_, uint first_step, inout Loaded loaded) {
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    const uint step = first_step + 4u * (gl_LocalInvocationID.x % kFoursOfSteps);
    const uvec3 place = PlaceOf(tile.columns, step);
    [[unroll]] for (uint i = 0u; i < kLoadsOfBMax; ++i) {
      if (i < kLoadsOfB) {
        const bool inside = step < EndStep() && IsInside(tile.columns, 0u, i, place);
        const vec4 steps = LoadFour2(inside ? tile.columns.at[0][i] + place.z : 0u);
        loaded.b[i] = inside ? steps : vec4(0.0);
      }
    }
    return;
  }
  const uint own_step = gl_LocalInvocationID.x / (4u * kFoursAcross);
  [[unroll]] for (uint i = 0u; i < 4u * kLoadsOfBMax; ++i) {
    if (i < 4u * kLoadsOfB) {
      const uvec3 place = shared_places[half_ * kSteps + i * kStepsAtOnce + own_step];
      const bool inside = IsInside(tile.columns, 0u, 0u, place);
      const float x = LOAD(2, kType, inside ? tile.columns.at[0][0] + place.z : 0u);
      loaded.b[i / 4u][i % 4u] = inside ? x : 0.0;
    }
  }
}

void ShareTileOfB(uint half_, Loaded loaded) {
  const uint column = FirstColumnToLoad();
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    const uint step = 4u * (gl_LocalInvocationID.x % kFoursOfSteps);
    [[unroll]] for (uint i = 0u; i < kLoadsOfBMax; ++i) {
      if (i < kLoadsOfB) {
        const uint own = column + i * kColumnStep;
        const uint at =
            half_ * kHalfOfB + step * kFoursAcross + PlaceIn(own / 4u, step, kLoadsB);
        [[unroll]] for (uint s = 0u; s < 4u; ++s) {
          shared_b[at + s * kFoursAcross][own % 4u] = loaded.b[i][s];
        }
      }
    }
    return;
  }
  const uint own_step = gl_LocalInvocationID.x / (4u * kFoursAcross);
  [[unroll]] for (uint i = 0u; i < 4u * kLoadsOfBMax; ++i) {
    if (i < 4u * kLoadsOfB) {
      const uint step = i * kStepsAtOnce + own_step;
      shared_b[half_ * kHalfOfB + step * kFoursAcross + column / 4u][column % 4u] =
          loaded.b[i / 4u][i % 4u];
    }
  }
}

#else

Columns MakeTileColumns(uint first_column, uint offset) {
  return MakeColumns(first_column + 4u * FourOfColumns(), offset);
}

const bool kSharesPlaces = false;
void SharePlaces(Tile tile, uint half_, uint first_step) {}

vec4 LoadFourOfB(Tile tile, uint first_step, uint i) {
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    const uvec2 place = PlaceAlongK(i);
    const uint step = first_step + place.x;
    if (step >= EndStep()) return vec4(0.0);
    const uint column = tile.first_column - 4u * FourOfColumns() + place.y;
    return LoadFour2(tile.b + min(column, P(2) - 1u) * P(7) + step);
  }
  const uint step = first_step + PlaceAcross(i, kFoursAcross).x;
  return step < EndStep() ? LoadColumns(tile.columns, 0u, step) : vec4(0.0);
}

void ShareFourOfB(uint half_, uint i, vec4 four) {
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    const uvec2 place = PlaceAlongK(i);
    const uint at =
        half_ * kHalfOfB + place.x * kFoursAcross + PlaceIn(place.y / 4u, place.x, kLoadsB);
    [[unroll]] for (uint s = 0u; s < 4u; ++s) shared_b[at + s * kFoursAcross][place.y % 4u] = four[s];
  } else {
    const uvec2 place = PlaceAcross(i, kFoursAcross);
    shared_b[half_ * kHalfOfB + place.x * kFoursAcross + place.y] = four;
  }
}

void LoadTileOfB(Tile tile, uint half_, uint first_step, inout Loaded loaded) {
  [[unroll]] for (uint i = 0u; i < kLoadsOfBMax; ++i) {
    if (i < kLoadsOfB) loaded.b[i] = LoadFourOfB(tile, first_step, i);
  }
}

void ShareTileOfB(uint half_, Loaded loaded) {
  [[unroll]] for (uint i = 0u; i < kLoadsOfBMax; ++i) {
    if (i < kLoadsOfB) ShareFourOfB(half_, i, loaded.b[i]);
  }
}

#endif

Loaded LoadTile(Tile tile, uint half_, uint first_step) {
  Loaded loaded;
  [[unroll]] for (uint i = 0u; i < kLoadsOfA; ++i) {
    loaded.a[i] = LoadFourOfA(tile, first_step, i);
  }
  LoadTileOfB(tile, half_, first_step, loaded);
  return loaded;
}

void ShareTile(uint half_, Loaded loaded) {
  [[unroll]] for (uint i = 0u; i < kLoadsOfA; ++i) ShareFourOfA(half_, i, loaded.a[i]);
  ShareTileOfB(half_, loaded);
}

void AddTile(uint half_, inout Sums sums) {
  [[unroll]] for (uint k = 0u; k < kSteps; ++k) {
    const uint first_b = half_ * kHalfOfB + k * kFoursAcross;
    const uint first_a = half_ * kHalfOfA + k * kFoursDown;
    const vec4 b = shared_b[first_b + PlaceIn(FourOfColumns(), k, kLoadsB)];
    [[unroll]] for (uint s = 0u; s < 2u; ++s) {
      if (s < kFoursOfRows) {
        const vec4 a = shared_a[first_a + PlaceIn(FirstFourOfRows() + s, k, kLoadsA)];
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
          const uint i = SumOfFour(s, j);
          sums.of[i][0] = fma(vec4(a[j]), b, sums.of[i][0]);
        }
      }
    }
  }
}

void AddAll(Tile tile, inout Sums sums) {
  if (kSharesPlaces) {
    // Where the first half's come, nobody reads them any more.
    SharePlaces(tile, kHalves - 1u, FirstStep());
    barrier();
  }
  Loaded next = LoadTile(tile, kHalves - 1u, FirstStep());
  uint half_ = 0u;
  for (uint k = FirstStep(); k < EndStep(); k += kSteps) {
    // Those who still read the last steps.
    if (kHalves == 1u) barrier();
    ShareTile(half_, next);
    if (kSharesPlaces) SharePlaces(tile, half_, k + kSteps);
    barrier();
    next = LoadTile(tile, half_, k + kSteps);
    AddTile(half_, sums);
    half_ = kHalves - 1u - half_;
  }
  // The next tile's steps come in place of the last ones.
  barrier();
}

const uint kSumsOfInvocation = 4u * kFoursOfRows;
// Parts whose loads are on their way at once.
const uint kPartsAtOnce = 4u;

uint PlaceOfSum(uint part, uint i) {
  const uint first = (whole_tile * CountParts() + part) * kSumsOfInvocation;
  return (first + i) * kInvocationsOfGpus + gl_LocalInvocationID.x;
}

shared uint shared_arrivals;

// Whether this workgroup has the sums of the whole tile: it is the last one that comes here with a part.
bool SumParts(inout Sums sums) {
  if (kDivided == 0u) return true;
  [[unroll]] for (uint i = 0u; i < kSumsOfInvocation; ++i) {
    STORE_QUAD(6, PlaceOfSum(part_of_tile, i), floatBitsToUint(sums.of[i][0]))
  }
  memoryBarrierBuffer();
  barrier();
  if (gl_LocalInvocationID.x == 0u) {
    // What the others' barriers made visible to this one, it does to who counts behind it.
    memoryBarrierBuffer();
    shared_arrivals = ATOMIC_ADD_WORD(7, whole_tile, 1u);
  }
  barrier();
  if (shared_arrivals != CountParts() - 1u) return false;
  memoryBarrierBuffer();
  sums = ZeroSums();
  for (uint first = 0u; first < CountParts(); first += kPartsAtOnce) {
    vec4 parts[kPartsAtOnce][8];
    [[unroll]] for (uint p = 0u; p < kPartsAtOnce; ++p) {
      // Beyond the last one it stands in.
      const uint part = min(first + p, CountParts() - 1u);
      [[unroll]] for (uint i = 0u; i < kSumsOfInvocation; ++i) {
        parts[p][i] = uintBitsToFloat(RELOAD_QUAD(6, PlaceOfSum(part, i)));
      }
    }
    [[unroll]] for (uint p = 0u; p < kPartsAtOnce; ++p) {
      if (first + p < CountParts()) {
        [[unroll]] for (uint i = 0u; i < kSumsOfInvocation; ++i) sums.of[i][0] += parts[p][i];
      }
    }
  }
  if (gl_LocalInvocationID.x == 0u) STORE_WORD(7, whole_tile, 0u);
  return true;
}

#endif  // WEBNND_SHADERS_SHARED_TILE_GLSL_
