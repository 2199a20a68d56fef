// softmax(scale * q k^T) v over the keys that each row sees, with the softmax computed as the keys go
// by (Dao et al. 2022, "FlashAttention"). Slots: 1 q, 2 keys and 3 values [heads, capacity, head
// size], 4 start, 5 to 7 the rotation of q (rotation.glsl) -> 8 the result, or its parts where the
// keys are divided (attention_combine.comp).
//
// A line is one query: a head of one row. Lines of all rows and of the heads that share keys are
// numbered row by row; LINES of them make a tile, and a team of eight invocations, or of four where
// subgroups have no more, computes a tile against a stretch of keys, so that each key is loaded once a
// tile. An invocation holds every eighth load, or fourth, of a line of q and of the result. It gets its
// share of the products of as many keys as there are invocations, and the shares are added up so that
// invocation i ends with the score of key i.
//
// Parameters: 0 lines for each head of keys (0: no work); 1 heads of keys; 2 keys of each head; 3 loads
// (128 bits) of a head; 4..6 heads that share keys, as divisor; 7 splits; 8 fours of a row of q; 9 fours
// before its first head; 10 scale (float); 11 reach: row r sees keys before start + reach +
// beyond + r, of which start + reach is modulo 2^32; 12 window; 13 rotary size; 14 rows of cos and sin;
// 15 capacity; 16 beyond; 17 all bits where r is part of the sum modulo 2^32, else 0. Specialisation
// constants: 1 data type; 2 whether there is a start (else it is 0); 3 lines of a tile; 4 loads of an
// invocation for a head; 5 vectors of four elements of these; 6 whether a row that sees nothing is NaN;
// 7 whether keys are divided; 8 and on those of the rotation; 13, on GPUs, whether the teams of a
// workgroup share each tile (attention_teams.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROTATION_FIRST_CONSTANT 8
#include "attention.glsl"
#include "math.glsl"
#include "rotation.glsl"
#include "subgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasStart = 0u;
layout(constant_id = 3) const uint kLines = 1u;
layout(constant_id = 4) const uint kLoads = 1u;
layout(constant_id = 5) const uint kFours = 1u;
layout(constant_id = 6) const uint kNothingIsNan = 0u;
layout(constant_id = 7) const uint kDivided = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
DECLARE_LOAD_FOURS(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)
READ_SLOT(4)
WRITE_SLOT(8)

const uint kTeam = kSubgroupSize != 0u && kSubgroupSize < 8u ? 4u : 8u;
// Keys whose products are added up together: more make a larger kernel, and drivers compile slowly.
const uint kGroup = 4u;
// At most so many lines of a tile, and vectors of four elements of them all (Tiling of
// service/passes/lower_attention.cc). What is not used costs nothing once loops are unrolled.
const uint kLinesMax = 8u;
const uint kFoursMax = 16u;
// Loops over the keys of a block. On GPUs loads of many of them should be on their way at once.
#if TENSOR_READS == READS_STORAGE
#define LOOP_OVER_KEYS [[unroll]]
#else
#define LOOP_OVER_KEYS [[dont_unroll]]
#endif
// A score that no key has: exp of the difference to any other is 0.
const float kHidden = -3e38;

// Vectors of four elements in a load.
uint FoursPerLoad() { return kType == kFloat16 ? 2u : 1u; }

struct Tile {
  uint head;        // Of keys.
  uint first_line;  // Beyond the last line it stands in.
  uint split;
  uint begin;  // Keys of the tile.
  uint end;
};

// What this invocation has of the lines of a tile. Passed on, though drivers copy what is: llvmpipe
// keeps a variable outside of functions in memory, and writes it lane by lane.
struct Lines {
  vec4 q[kFoursMax];  // Times scale.
  vec4 sums[kFoursMax];
  float greatest[kLinesMax];  // Score so far; of all keys of the team.
  float weights[kLinesMax];   // Their sum; of this invocation's keys.
  Keys keys[kLinesMax];
};

uint Lane() { return gl_SubgroupInvocationID & (kTeam - 1u); }
float OfTeam(float x, uint lane) {
  return subgroupShuffle(x, (gl_SubgroupInvocationID & ~(kTeam - 1u)) + lane);
}
float TeamMax(float x) {
  float y = OfTeam(x, 0u);
  [[unroll]] for (uint i = 1u; i < kTeam; ++i) y = max(y, OfTeam(x, i));
  return y;
}
float TeamSum(float x) {
  [[unroll]] for (uint bit = 1u; bit < kTeam; bit <<= 1) x += subgroupShuffleXor(x, bit);
  return x;
}

// Of the loads of a head, the one that is this invocation's v-th; beyond the last one it stands in.
uint LoadAt(uint v) { return min(Lane() + kTeam * v, P(3) - 1u); }

vec4[2] Unpack(uvec4 words) {
  vec4 fours[2];
  if (kType == kFloat16) {
    fours[0] = vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
    fours[1] = vec4(unpackHalf2x16(words.z), unpackHalf2x16(words.w));
  } else {
    fours[0] = uintBitsToFloat(words);
    fours[1] = vec4(0.0);
  }
  return fours;
}

#define LOAD_ROW(slot, row, first)                                                       \
  [[unroll]] for (uint v_ = 0u; v_ < kLoads; ++v_) {                                     \
    vec4 fours_[2] = Unpack(LOAD_QUAD(slot, (first) + LoadAt(v_)));                      \
    [[unroll]] for (uint w_ = 0u; w_ < FoursPerLoad(); ++w_) {                           \
      row[v_ * FoursPerLoad() + w_] = fours_[w_];                                        \
    }                                                                                    \
  }

vec4 LoadQuery(uint row, uint head, uint four) {
  uint first = row * P(8) + P(9) + head * P(3) * FoursPerLoad();
  vec4 x = LoadFours1(kType, first + four);
  if (kTurns == 0u) return x;
  uint d = 4u * four;
  vec4 partner = LoadFours1(kType, first + (PartnerOf(d, P(13)) >> 2));
  return Turn(kType, x, partner, d, P(13), TableRow(row, P(14)));
}

uint LineOf(Tile tile, uint t) { return min(tile.first_line + t, P(0) - 1u); }

Keys KeysOfRow(uint row) {
  uint start = kHasStart != 0u ? LOAD_WORD(4, 0u) : 0u;
  uint wraps = P(17);
  return VisibleKeys(start + P(11) + (row & wraps), P(16) + (row & ~wraps), P(2), P(12));
}

void StartLines(Tile tile, inout Lines lines) {
  uvec3 group = P4(1).xyz;
  [[unroll]] for (uint t = 0u; t < kLines; ++t) {
    uint line = LineOf(tile, t);
    uint row = Divide(line, group);
    uint head = tile.head * group.x + (line - row * group.x);
    lines.keys[t] = KeysOfRow(row);
    float scale = lines.keys[t].is_nothing ? 0.0 : uintBitsToFloat(P(10));
    lines.greatest[t] = kHidden;
    lines.weights[t] = 0.0;
    [[unroll]] for (uint v = 0u; v < kLoads; ++v) {
      // Who has no load of a row multiplies by 0.
      float own = Lane() + kTeam * v < P(3) ? scale : 0.0;
      [[unroll]] for (uint w = 0u; w < FoursPerLoad(); ++w) {
        uint i = t * kFours + v * FoursPerLoad() + w;
        lines.q[i] = LoadQuery(row, head, LoadAt(v) * FoursPerLoad() + w) * own;
        lines.sums[i] = vec4(0.0);
      }
    }
  }
}

// The sum of a value's shares that this invocation and the one whose number differs by `bit` have: of
// `a` where that bit is 0, of `b` where it is 1.
float SumPair(float a, float b, uint bit) {
  bool is_upper = (Lane() & bit) != 0u;
  return (is_upper ? b : a) + OfTeam(is_upper ? a : b, Lane() ^ bit);
}

// Adds up the shares that a team has of four values: invocation i gets value i modulo four.
float SumShares(float x[kGroup]) {
  float sum = SumPair(SumPair(x[0], x[1], 1u), SumPair(x[2], x[3], 1u), 2u);
  return kTeam == kGroup ? sum : sum + OfTeam(sum, Lane() ^ 4u);
}

// One block of keys, one for each invocation; `base` is the first load of the head's rows.
void AddBlock(Tile tile, uint first, uint base, inout Lines lines) {
  float scores[kLinesMax];
  [[unroll]] for (uint t = 0u; t < kLines; ++t) scores[t] = 0.0;
  LOOP_OVER_KEYS for (uint k = 0u; k < kTeam; k += kGroup) {
    float shares[kLinesMax * kGroup];
    [[unroll]] for (uint g = 0u; g < kGroup; ++g) {
      vec4 key[kFoursMax];
      LOAD_ROW(2, key, base + min(first + k + g, tile.end - 1u) * P(3))
      [[unroll]] for (uint t = 0u; t < kLines; ++t) {
        float share = 0.0;
        [[unroll]] for (uint f = 0u; f < kFours; ++f) {
          [[unroll]] for (uint c = 0u; c < 4u; ++c) {
            share = fma(lines.q[t * kFours + f][c], key[f][c], share);
          }
        }
        shares[t * kGroup + g] = share;
      }
    }
    [[unroll]] for (uint t = 0u; t < kLines; ++t) {
      float x[kGroup];
      [[unroll]] for (uint g = 0u; g < kGroup; ++g) x[g] = shares[t * kGroup + g];
      float score = SumShares(x);
      scores[t] = (Lane() & ~(kGroup - 1u)) == k ? score : scores[t];
    }
  }
  float weights[kLinesMax];
  uint own_key = first + Lane();
  [[unroll]] for (uint t = 0u; t < kLines; ++t) {
    bool is_seen = own_key >= lines.keys[t].begin && own_key < min(lines.keys[t].end, tile.end);
    float score = is_seen ? scores[t] : kHidden;
    float greatest = max(lines.greatest[t], TeamMax(score));
    float kept = ExpOfNegative(lines.greatest[t] - greatest);
    weights[t] = is_seen ? ExpOfNegative(score - greatest) : 0.0;
    lines.greatest[t] = greatest;
    lines.weights[t] = lines.weights[t] * kept + weights[t];
    [[unroll]] for (uint f = 0u; f < kFours; ++f) lines.sums[t * kFours + f] *= kept;
  }
  LOOP_OVER_KEYS for (uint k = 0u; k < kTeam; ++k) {
    vec4 value[kFoursMax];
    LOAD_ROW(3, value, base + min(first + k, tile.end - 1u) * P(3))
    [[unroll]] for (uint t = 0u; t < kLines; ++t) {
      float weight = OfTeam(weights[t], k);
      [[unroll]] for (uint f = 0u; f < kFours; ++f) {
        lines.sums[t * kFours + f] = fma(vec4(weight), value[f], lines.sums[t * kFours + f]);
      }
    }
  }
}

void StoreLine(Tile tile, uint t, inout Lines lines) {
  uvec3 group = P4(1).xyz;
  uint line = tile.first_line + t;
  uint row = Divide(line, group);
  uint head = tile.head * group.x + (line - row * group.x);
  uint to = row * group.x * P(1) + head;
  float sum = TeamSum(lines.weights[t]);
  if (kNothingIsNan != 0u && lines.keys[t].is_nothing) sum = NAN;
  if (line >= P(0) || tile.begin >= tile.end) return;
  // Parts are float32: the sums, then the greatest score and the sum of weights.
  const uint per_load = FoursPerLoad();
  const uint row_of_parts = P(3) * per_load + 1u;
  uint part = (tile.split * P(0) * P(1) + to) * row_of_parts;
  float scale = kDivided != 0u ? 1.0 : 1.0 / sum;
  [[unroll]] for (uint v = 0u; v < kLoads; ++v) {
    uint at = Lane() + kTeam * v;
    if (at < P(3)) {
      vec4 low = lines.sums[t * kFours + v * per_load] * scale;
      vec4 high = lines.sums[t * kFours + v * per_load + (per_load - 1u)] * scale;
      if (kDivided != 0u) {
        STORE_QUAD(8, part + at * per_load, floatBitsToUint(low))
        if (per_load == 2u) STORE_QUAD(8, part + at * 2u + 1u, floatBitsToUint(high))
      } else if (kType == kFloat16) {
        STORE_QUAD(8, to * P(3) + at, uvec4(PackHalves(low), PackHalves(high)))
      } else {
        STORE_QUAD(8, to * P(3) + at, floatBitsToUint(low))
      }
    }
  }
  if (kDivided != 0u && Lane() == 0u) {
    vec4 scores = vec4(lines.greatest[t], sum, 0.0, 0.0);
    STORE_QUAD(8, part + row_of_parts - 1u, floatBitsToUint(scores))
  }
}

// Where the lines of a tile see keys, and of these the tile's split.
void FindKeys(inout Tile tile) {
  uvec3 group = P4(1).xyz;
  tile.begin = P(2);
  tile.end = 0u;
  uint last_row = Divide(LineOf(tile, kLines - 1u), group);
  [[unroll]] for (uint t = 0u; t < kLines; ++t) {
    Keys keys = KeysOfRow(min(Divide(LineOf(tile, 0u), group) + t, last_row));
    tile.begin = min(tile.begin, keys.begin);
    tile.end = max(tile.end, keys.end);
  }
  if (kDivided != 0u) {
    uvec2 division = DivideKeys(tile.end - tile.begin, P(7));
    tile.begin = min(tile.begin + tile.split * division.y, tile.end);
    tile.end = min(tile.end, tile.begin + division.y);
  }
}

// Blocks of keys that the teams of a subgroup, which stay together, go through.
uint CountBlocks(Tile tile) {
  uint blocks = (tile.end - tile.begin + kTeam - 1u) / kTeam;
  for (uint bit = kTeam; bit < SUBGROUP_SIZE; bit <<= 1) {
    blocks = max(blocks, subgroupShuffleXor(blocks, bit));
  }
  return blocks;
}

void ComputeTile(Tile tile, uint blocks) {
  Lines lines;
  StartLines(tile, lines);
  uint base = tile.head * P(15) * P(3);
  for (uint block = 0u; block < blocks; ++block) {
    AddBlock(tile, tile.begin + block * kTeam, base, lines);
  }
  [[unroll]] for (uint t = 0u; t < kLines; ++t) StoreLine(tile, t, lines);
}

#if TENSOR_READS == READS_STORAGE
#include "attention_teams.glsl"
#endif

// A tile by its number, of `tiles` for each head; of no keys where the split has none.
Tile FindTile(uint number, uint tiles) {
  Tile tile;
  uint of_split = tiles * P(1);
  tile.split = number / of_split;
  uint of_head = number - tile.split * of_split;
  tile.head = of_head / tiles;
  tile.first_line = (of_head - tile.head * tiles) * kLines;
  FindKeys(tile);
  return tile;
}

void main() {
  uint tiles = (P(0) + kLines - 1u) / kLines;
  uint count = P(1) * tiles * P(7);
  uint teams = SUBGROUP_SIZE / kTeam;
  uint step = gl_NumWorkGroups.x * gl_NumSubgroups * teams;
#if TENSOR_READS == READS_STORAGE
  if (kTeamsShare != 0u) {
    WORKGROUP_STRIDE_LOOP(i, count) {
      const Tile tile = FindTile(i, tiles);
      if (tile.begin < tile.end) ComputeTileTogether(tile);
    }
    return;
  }
#endif
  // It starts with a number that the host does not know: drivers compile anew for loops that are of
  // fixed length, and pipelines are warmed without any work.
  uint first = (gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * teams;
  for (uint i = first; i < count; i += step) {
    // Teams without a tile of their own repeat the last one.
    Tile tile = FindTile(min(i + gl_SubgroupInvocationID / kTeam, count - 1u), tiles);
    uint blocks = CountBlocks(tile);
    // A loop, since drivers run both sides of a branch.
    for (uint turn = 0u; turn < min(blocks, 1u); ++turn) ComputeTile(tile, blocks);
  }
}
