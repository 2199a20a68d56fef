// (x - mean) / sqrt(variance + epsilon) * scale + bias for each row of slot 1, which is one piece, for GPUs:
// slot 1 -> slot 4, as row_normalization.comp. Slots 2 and 3 are scale and bias. What an invocation takes of
// a row it has in registers. Rows that do not fit are divided: one call measures the parts, another
// combines that and normalizes them. Slot 5 is {mean, what it lacks, variance, 0} of each part, floats.
//
// Parameters: 0 rows, or parts of all rows; 1 fours of elements in a row; 2 epsilon (float); 4..6 elements of
// scale and bias as divisor, where rows take turns with them; 8..10 parts of a row, as divisor; 11 fours of
// a part, but the last. Specialisation constants: 1 data type, 2 whether there is a scale, 3 whether there is
// a bias, 4 whether scale and bias have an element for each of a row, not one for the row; 5 which way the
// call goes.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fours.glsl"
#include "workgroup.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kHasScale = 0u;
layout(constant_id = 3) const uint kHasBias = 0u;
layout(constant_id = 4) const uint kAffineAlongRow = 0u;
layout(constant_id = 5) const uint kWay = 0u;

READ_SLOT(1)
READ_SLOT_WIDE(1)
READ_SLOT(2)
READ_SLOT_WIDE(2)
READ_SLOT(3)
READ_SLOT_WIDE(3)
WRITE_SLOT(4)
WRITE_SLOT(5)
DECLARE_LOAD_FOURS(1)
DECLARE_LOAD_FOURS(2)
DECLARE_LOAD_FOURS(3)

// Values of kWay, HeldWay of service/passes/lower_normalization.cc: a workgroup takes a row, a subgroup does
// where it is large enough, or a workgroup takes a part of a row, first to measure it, then to normalize it.
const uint kRows = 0u;
const uint kRowsBySubgroups = 1u;
const uint kMeasuresParts = 2u;
const uint kNormalizesParts = 3u;

const uint kAtOnce = 8u;  // Fours that an invocation has in registers, at most.
vec4 held[kAtOnce];

vec2 Add(vec2 a, vec2 b) { return a + b; }
WORKGROUP_FOLD(FoldSums, vec2, Add)

// Those who share a row, or a part of one.
struct Team {
  uint lane;
  uint size;
  bool is_subgroup;
};

vec2 SumOverTeam(Team team, vec2 sums) {
  if (!team.is_subgroup) return FoldSums(sums);
  for (uint step = 1u; step < kSubgroupSize; step *= 2u) sums += subgroupShuffleXor(sums, step);
  return sums;
}

// The mean is the sum of two, so that what is left of elements near it is exact.
struct Spread {
  float mean;
  float rest;
  float variance;
};

// Of `count` fours from `base` on, which are held afterwards.
Spread Measure(Team team, uint base, uint count) {
  const float elements = 4.0 * float(count);
  vec4 sums = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (i * team.size < count) {
      held[i] = LoadFours1(kType, base + min(team.lane + i * team.size, count - 1u));
    }
  }
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (team.lane + i * team.size < count) sums += held[i];
  }
  const float mean = SumOverTeam(team, vec2(SumOfFour(sums), 0.0)).x / elements;
  sums = vec4(0.0);
  vec4 squares = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (team.lane + i * team.size < count) {
      const vec4 distance = held[i] - mean;
      sums += distance;
      squares += distance * distance;
    }
  }
  const vec2 folded = SumOverTeam(team, vec2(SumOfFour(sums), SumOfFour(squares))) / elements;
  return Spread(mean, folded.x, max(folded.y - folded.x * folded.x, 0.0));
}

// What the elements of a row are multiplied by, and what is added then where that is one for the row.
vec2 FactorAndBias(uint row, float variance) {
  vec2 result = vec2(1.0 / sqrt(variance + uintBitsToFloat(P(2))), 0.0);
  if (kAffineAlongRow == 0u) {
    const uvec3 elements_of_affine = P4(1).xyz;
    const uint own = row - Divide(row, elements_of_affine) * elements_of_affine.x;
    if (kHasScale != 0u) result.x *= LOAD(2, kType, own);
    if (kHasBias != 0u) result.y = LOAD(3, kType, own);
  }
  return result;
}

// Writes what is held, of fours `first` of a row to `end`.
void NormalizeHeld(Team team, uint row, Spread spread, uint first, uint end) {
  const vec2 affine = FactorAndBias(row, spread.variance);
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    const uint k = first + team.lane + i * team.size;
    if (k < end) {
      vec4 x = (held[i] - spread.mean - spread.rest) * affine.x + affine.y;
      if (kAffineAlongRow != 0u && kHasScale != 0u) x *= LoadFours2(kType, k);
      if (kAffineAlongRow != 0u && kHasBias != 0u) x += LoadFours3(kType, k);
      STORE_FOURS(4, kType, row * P(1) + k, x)
    }
  }
}

void NormalizeRow(Team team, uint row) {
  const Spread spread = Measure(team, row * P(1), P(1));
  NormalizeHeld(team, row, spread, 0u, P(1));
}

#define PART_FLOAT(part, i) uintBitsToFloat(RELOAD_WORD(5, 4u * (part) + (i)))

// Of a row, from those of its parts, of which the first is number `first`: no more than invocations.
Spread Combine(Team team, uint first, uint parts) {
  const uint own = min(team.lane, parts - 1u);
  const float weight = team.lane < parts ? 4.0 * float(min(P(11), P(1) - own * P(11))) : 0.0;
  const float elements = 4.0 * float(P(1));
  // Less the first, they are about as small as they differ.
  const float mean = PART_FLOAT(first, 0u);
  const float distance = (PART_FLOAT(first + own, 0u) - mean) + PART_FLOAT(first + own, 1u);
  const float rest = SumOverTeam(team, vec2(weight * distance, 0.0)).x / elements;
  const float apart = distance - rest;
  const float squares = weight * (PART_FLOAT(first + own, 2u) + apart * apart);
  precise float center = mean + rest;
  precise float added = center - mean;
  precise float lacking = (mean - (center - added)) + (rest - added);
  return Spread(center, lacking, SumOverTeam(team, vec2(squares, 0.0)).x / elements);
}

void GoByParts(uint part) {
  const Team team = Team(gl_LocalInvocationID.x, gl_WorkGroupSize.x, false);
  const uvec3 parts = P4(2).xyz;
  const uint row = Divide(part, parts);
  const uint first = (part - row * parts.x) * P(11);
  const uint end = min(first + P(11), P(1));
  if (kWay == kMeasuresParts) {
    const Spread spread = Measure(team, row * P(1) + first, end - first);
    if (team.lane == 0u) {
      STORE_QUAD(5, part, floatBitsToUint(vec4(spread.mean, spread.rest, spread.variance, 0.0)))
    }
    return;
  }
  [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
    if (i * team.size < end - first) {
      held[i] = LoadFours1(kType, row * P(1) + min(first + team.lane + i * team.size, end - 1u));
    }
  }
  NormalizeHeld(team, row, Combine(team, row * parts.x, parts.x), first, end);
}

void main() {
  if (kWay >= kMeasuresParts) {
    WORKGROUP_STRIDE_LOOP(part, P(0)) GoByParts(part);
  } else if (kWay == kRowsBySubgroups && FoldsBySubgroups() && P(1) <= kAtOnce * kSubgroupSize) {
    const Team team = Team(gl_SubgroupInvocationID, kSubgroupSize, true);
    SUBGROUP_STRIDE_LOOP(row, P(0)) NormalizeRow(team, row);
  } else {
    const Team team = Team(gl_LocalInvocationID.x, gl_WorkGroupSize.x, false);
    WORKGROUP_STRIDE_LOOP(row, P(0)) NormalizeRow(team, row);
  }
}
