// Index of the greatest or least element along one axis: slot 1 [outer, axis, inner] -> slot 2
// [outer, inner]. The first of equals; NaN counts as the extreme, as reduceMax and reduceMin
// have it.
//
// Parameters: 0 elements of the result; 1 size of the axis; 4..6 inner as divisor.
// Specialisation constants: 1 whether the greatest is sought, 2 data type of the operand, 3 of
// the result, 4 whether a workgroup shares one element of the result, 5 whether four neighbours are
// taken at once, of at most 32 bits: of the axis, which is innermost, where a workgroup shares it, else of
// the result; 6, on GPUs, another way to go, of 32-bit operands that lie in
// quads, whose parameters are below. There several calls may divide an axis: all but the last write
// candidates, {key, index}; 7 and 8, of how many fours of neighbouring rows an invocation takes at once, 1
// to 4, and how far they are from each other, as cumulative_sum.comp has them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "arithmetic.glsl"
#include "fours.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kGreatest = 0u;
layout(constant_id = 2) const uint kOperandType = 0u;
layout(constant_id = 3) const uint kResultType = 2u;
layout(constant_id = 4) const uint kByWorkgroup = 0u;

layout(constant_id = 5) const uint kByFour = 0u;
#if TENSOR_READS == READS_STORAGE
layout(constant_id = 6) const uint kWay = 0u;
#endif
layout(constant_id = 7) const uint kFours = 1u;
layout(constant_id = 8) const uint kApart = 1u;
const uint kFoursMax = 4u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
DECLARE_LOAD_FOUR_RAW(1)
WRITE_SLOT(2)

struct Candidate {
  VALUE value;
  uint index;
};
const uint kNoIndex = 0xffffffffu;

bool Beats(VALUE a, VALUE b) {
  if (IsNanValue(b)) return false;
  return IsNanValue(a) || (kGreatest != 0u ? a > b : a < b);
}

Candidate Better(Candidate a, Candidate b) {
  if (b.index == kNoIndex) return a;
  if (a.index == kNoIndex || Beats(b.value, a.value)) return b;
  return b.index < a.index && !Beats(a.value, b.value) ? b : a;
}
Candidate ValueOf(Candidate candidate, uint lane) {
  return Candidate(ValueOf(candidate.value, lane), ValueOf(candidate.index, lane));
}
WORKGROUP_FOLD(FoldBetter, Candidate, Better)

uvec2 ComputeElement(uint e) {
  uvec3 inner = P4(1).xyz;
  uint axis = P(1);
  bool together = kByWorkgroup != 0u;
  uint outer = Divide(e, inner);
  uint base = outer * axis * inner.x + (e - outer * inner.x);
  uint step = together ? gl_WorkGroupSize.x : 1u;
  Candidate best = Candidate(VALUE(0), kNoIndex);
  LONG_LOOP(i, together ? gl_LocalInvocationID.x : 0u, axis, step) {
    VALUE x = LOAD(1, kOperandType, base + i * inner.x);
    if (best.index == kNoIndex || Beats(x, best.value)) best = Candidate(x, i);
  }
  if (together) best = FoldBetter(best);
  return uvec2(best.index, 0u);
}

#if COMPUTE == COMPUTE_FLOAT || COMPUTE == COMPUTE_INT || COMPUTE == COMPUTE_UINT
// Beats without a branch.
bool IsBetter(VALUE a, VALUE b) {
  uint better = uint(kGreatest != 0u ? a > b : a < b);
#if COMPUTE == COMPUTE_FLOAT
  better = (better | uint(IsNan(a))) & ~uint(IsNan(b));
#endif
  return (better & 1u) != 0u;
}

// Of kFours fours of rows, of which the first begins with row `first`.
void ComputeFours(uint first) {
  uvec3 inner = P4(1).xyz;
  uint outer = Divide(first, inner);
  uint base = outer * P(1) * inner.x + (first - outer * inner.x);
  VALUE best[kFoursMax][4];
  uvec4 indices[kFoursMax];
  uvec4 quads[kFoursMax];
#define LOAD_QUADS(k)                                                                       \
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {                                        \
    if (q < kFours) {                                                                       \
      quads[q] = LoadFourRaw1(kOperandType, ((base + (k) * inner.x) >> 2) + q * kApart);    \
    }                                                                                       \
  }
  LOAD_QUADS(0u)
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
    indices[q] = uvec4(0u);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      if (q < kFours) best[q][i] = Decode(uvec2(quads[q][i], 0u), kOperandType);
    }
  }
#define TAKE_QUADS(k)                                              \
  {                                                                \
    LOAD_QUADS(k)                                                  \
    [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {             \
      if (q < kFours) {                                            \
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {                \
          VALUE x = Decode(uvec2(quads[q][i], 0u), kOperandType);  \
          bool better = IsBetter(x, best[q][i]);                   \
          best[q][i] = mix(best[q][i], x, better);                 \
          indices[q][i] = mix(indices[q][i], k, better);           \
        }                                                          \
      }                                                            \
    }                                                              \
  }
  if (kFours == 1u) {
    FOURS_LOOP(1u, P(1), 1u, TAKE_QUADS)
  } else {
    for (uint k = 1u; k < P(1); ++k) TAKE_QUADS(k)
  }
#undef TAKE_QUADS
#undef LOAD_QUADS
  [[unroll]] for (uint q = 0u; q < kFoursMax; ++q) {
    if (q >= kFours) continue;
    const uint quad = (first >> 2) + q * kApart;
    if (BitsLog2(kResultType) == 6u) {
      uvec4 low = uvec4(indices[q].x, 0u, indices[q].y, 0u);
      uvec4 high = uvec4(indices[q].z, 0u, indices[q].w, 0u);
      STORE_QUAD(2, 2u * quad, low)
      STORE_QUAD(2, 2u * quad + 1u, high)
    } else {
      STORE_QUAD(2, quad, indices[q])
    }
  }
}

// Of an axis that lies in fours, every `size of the workgroup`th from the invocation's own on.
uvec2 ComputeRow(uint row) {
  uint quads = P(1) >> 2;
  uint base = row * quads;
  uint step = gl_WorkGroupSize.x;
  uint first = min(gl_LocalInvocationID.x, quads - 1u);
  VALUE best[4];
  uint places[4];
  uvec4 quad = LoadFourRaw1(kOperandType, base + first);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    best[i] = Decode(uvec2(quad[i], 0u), kOperandType);
    places[i] = first;
  }
#define TAKE_QUAD(k)                                               \
  {                                                                \
    uvec4 next = LoadFourRaw1(kOperandType, base + (k));           \
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {                    \
      VALUE x = Decode(uvec2(next[i], 0u), kOperandType);          \
      bool better = IsBetter(x, best[i]);                          \
      best[i] = mix(best[i], x, better);                           \
      places[i] = mix(places[i], k, better);                       \
    }                                                              \
  }
  FOURS_LOOP(first + step, quads, step, TAKE_QUAD)
#undef TAKE_QUAD
  Candidate winner = Candidate(best[0], 4u * places[0]);
  [[unroll]] for (uint i = 1u; i < 4u; ++i) {
    winner = Better(winner, Candidate(best[i], 4u * places[i] + i));
  }
  return uvec2(FoldBetter(winner).index, 0u);
}

#if TENSOR_READS == READS_STORAGE
#include "interleaved_tiles.glsl"

// Values of kWay, ArgReduceWay of service/passes/lower_reduce.cc: a subgroup, or a workgroup where it does not know
// its subgroups, takes the runs of rows that lie in one piece, or combines candidates; a workgroup takes
// tiles of rows that are interleaved (interleaved_tiles.glsl).
const uint kRuns = 1u;
const uint kTiles = 2u;
const uint kCombines = 3u;

const uint kAtOnce = 8u;  // Quads that an invocation has on their way.

// Of an element's bits, a number that is greater where it beats others: NaN needs no care then. Zeros of
// either sign are equals.
uint KeyOf(uint bits) {
#if COMPUTE == COMPUTE_FLOAT
  if (IsNanBits(bits)) return 0xffffffffu;
  const uint zero_or_bits = (bits << 1) == 0u ? 0u : bits;
  const uint ordered = (zero_or_bits & 0x80000000u) != 0u ? ~zero_or_bits : zero_or_bits | 0x80000000u;
#elif COMPUTE == COMPUTE_INT
  const uint ordered = bits ^ 0x80000000u;
#else
  const uint ordered = bits;
#endif
  return kGreatest != 0u ? ordered : ~ordered;
}

struct KeyAndIndex {
  uint key;
  uint index;
};
KeyAndIndex BetterOf(KeyAndIndex a, KeyAndIndex b) {
  const bool better = b.key > a.key || (b.key == a.key && b.index < a.index);
  return KeyAndIndex(better ? b.key : a.key, better ? b.index : a.index);
}
KeyAndIndex ValueOf(KeyAndIndex x, uint lane) {
  return KeyAndIndex(ValueOf(x.key, lane), ValueOf(x.index, lane));
}
WORKGROUP_FOLD(FoldBetterOf, KeyAndIndex, BetterOf)

// Invocations that share a unit of work.
struct Team {
  uint lane;
  uint size;
};
Team OwnTeam() {
  if (FoldsBySubgroups()) return Team(gl_SubgroupInvocationID, kSubgroupSize);
  return Team(gl_LocalInvocationID.x, gl_WorkGroupSize.x);
}
KeyAndIndex FoldTeam(KeyAndIndex best) {
  if (!FoldsBySubgroups()) return FoldBetterOf(best);
  for (uint step = 1u; step < kSubgroupSize; step *= 2u) {
    best = BetterOf(best, ValueOf(best, gl_SubgroupInvocationID ^ step));
  }
  return best;
}
#define TEAM_STRIDE_LOOP(COMPUTE, count)                         \
  if (FoldsBySubgroups()) {                                      \
    SUBGROUP_STRIDE_LOOP(unit_, count) COMPUTE(unit_);           \
  } else {                                                       \
    WORKGROUP_STRIDE_LOOP(unit_, count) COMPUTE(unit_);          \
  }

void StoreBest(uint to, KeyAndIndex best) {
  if (BitsLog2(kResultType) == 6u) {
    STORE_PAIR(2, to, uvec2(best.index, 0u));
  } else {
    STORE_WORD(2, to, best.index);
  }
}
void StoreCandidate(uint to, KeyAndIndex best) {
  STORE_PAIR(2, to, uvec2(best.key, best.index));
}

// The best of the elements beside each other that an invocation takes, and the quads, or rows, they are of.
struct Bests {
  uint keys[4];
  uint places[4];
};

// Loads quads `at` + k * `apart` for k = first, first + step, ... below `end`, which `first` need not be:
// the last one counts instead, and where there are no more. `size`: end less the least `first` of all
// that share the work.
#define TAKE_BEST(bests, at, apart, first, step, end, size)                                     \
  {                                                                                             \
    bool any_ = false;                                                                          \
    for (uint turn_ = 0u; turn_ < (size); turn_ += kAtOnce * (step)) {                          \
      uvec4 quads_[kAtOnce];                                                                    \
      [[unroll]] for (uint i_ = 0u; i_ < kAtOnce; ++i_) {                                       \
        const uint k_ = min((first) + turn_ + i_ * (step), (end) - 1u);                         \
        if (turn_ + i_ * (step) < (size)) quads_[i_] = LOAD_QUAD(1, (at) + k_ * (apart));       \
      }                                                                                         \
      [[unroll]] for (uint i_ = 0u; i_ < kAtOnce; ++i_) {                                       \
        const uint k_ = min((first) + turn_ + i_ * (step), (end) - 1u);                         \
        if (turn_ + i_ * (step) < (size)) {                                                     \
          [[unroll]] for (uint j_ = 0u; j_ < 4u; ++j_) {                                        \
            const uint key_ = KeyOf(quads_[i_][j_]);                                            \
            const bool better_ = !any_ || key_ > bests.keys[j_];                                \
            bests.keys[j_] = better_ ? key_ : bests.keys[j_];                                   \
            bests.places[j_] = better_ ? k_ : bests.places[j_];                                 \
          }                                                                                     \
          any_ = true;                                                                          \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }

// Parameters: 0 runs of all rows; 1 quads of a row; 2 quads of a run; 4..6 runs of a row, as divisor. The
// runs of a row follow each other.
void ComputeRun(uint run) {
  const uvec3 runs = P4(1).xyz;
  const uint row = Divide(run, runs);
  const uint first = (run - row * runs.x) * P(2);
  const uint end = min(first + P(2), P(1));
  const Team team = OwnTeam();
  Bests bests = Bests(uint[](0u, 0u, 0u, 0u), uint[](0u, 0u, 0u, 0u));
  TAKE_BEST(bests, row * P(1), 1u, first + team.lane, team.size, end, end - first)
  KeyAndIndex best = KeyAndIndex(bests.keys[0], 4u * bests.places[0]);
  [[unroll]] for (uint i = 1u; i < 4u; ++i) {
    best = BetterOf(best, KeyAndIndex(bests.keys[i], 4u * bests.places[i] + i));
  }
  best = FoldTeam(best);
  if (team.lane != 0u) return;
  if (runs.x == 1u) {
    StoreBest(row, best);
  } else {
    StoreCandidate(run, best);
  }
}

shared uint tile_keys[4u * kInvocationsOfGpus];
shared uint tile_indices[4u * kInvocationsOfGpus];

// Candidates that have the same place along the axis follow each other.
void ComputeTile(uint index) {
  const Tile tile = TileAt(index);
  Bests bests = Bests(uint[](0u, 0u, 0u, 0u), uint[](0u, 0u, 0u, 0u));
  TAKE_BEST(bests, tile.base, tile.stride, tile.first + tile.own, kPartsOfTile, tile.end,
            tile.end - tile.first)
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    tile_keys[InTile(i, gl_LocalInvocationID.x)] = bests.keys[i];
    tile_indices[InTile(i, gl_LocalInvocationID.x)] = bests.places[i];
  }
  barrier();
  // Of the four, the first of those who share it have a row each.
  if (tile.own < 4u && tile.inside) {
    KeyAndIndex best;
    [[unroll]] for (uint other = 0u; other < kPartsOfTile; ++other) {
      const uint at = InTile(tile.own, SharingFour(other));
      const KeyAndIndex candidate = KeyAndIndex(tile_keys[at], tile_indices[at]);
      if (other == 0u) {
        best = candidate;
      } else {
        best = BetterOf(best, candidate);
      }
    }
    const uint row = 4u * tile.row + tile.own;
    if (tile.parts == 1u) {
      StoreBest(row, best);
    } else {
      StoreCandidate(tile.part * P(3) + row, best);
    }
  }
  barrier();
}

// Parameters: 0 elements of the result; 1 candidates of each; 2 places from those of one to those of the
// next; 3 places between those of one. Slot 1 has the candidates.
void Combine(uint e) {
  const Team team = OwnTeam();
  const uint at = e * P(2);
  const uvec2 own = LOAD_PAIR(1, at + min(team.lane, P(1) - 1u) * P(3));
  KeyAndIndex best = KeyAndIndex(own.x, own.y);
#define TAKE_CANDIDATE(k)                                                          \
  {                                                                                \
    const uvec2 pair = LOAD_PAIR(1, at + (k) * P(3));                              \
    best = BetterOf(best, KeyAndIndex(pair.x, pair.y));                            \
  }
  FOURS_LOOP(team.lane + team.size, P(1), team.size, TAKE_CANDIDATE)
#undef TAKE_CANDIDATE
  best = FoldTeam(best);
  if (team.lane == 0u) StoreBest(e, best);
}

void GoAnotherWay() {
  if (kWay == kRuns) {
    TEAM_STRIDE_LOOP(ComputeRun, P(0))
  } else if (kWay == kTiles) {
    WORKGROUP_STRIDE_LOOP(tile, P(0)) ComputeTile(tile);
  } else {
    TEAM_STRIDE_LOOP(Combine, P(0))
  }
}
#endif
#else
void ComputeFours(uint first) {}
uvec2 ComputeRow(uint row) { return uvec2(0u); }
#if TENSOR_READS == READS_STORAGE
void GoAnotherWay() {}
#endif
#endif

void main() {
#if TENSOR_READS == READS_STORAGE
  if (kWay != 0u) {
    GoAnotherWay();
    return;
  }
#endif
  if (kByFour != 0u && kByWorkgroup != 0u) {
    STORE_ELEMENTS_BY_WORKGROUP(2, kResultType, P(0), ComputeRow);
    return;
  }
  if (kByFour != 0u) {
    GRID_STRIDE_LOOP(i, (P(0) >> 2) / kFours) { ComputeFours(4u * FirstOfFours(i, kFours, kApart)); }
    return;
  }
  if (kByWorkgroup != 0u) {
    STORE_ELEMENTS_BY_WORKGROUP(2, kResultType, P(0), ComputeElement);
  } else {
    STORE_ELEMENTS(2, kResultType, P(0), ComputeElement);
  }
}
