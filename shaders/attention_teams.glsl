// attention.comp on GPUs where there are few tiles: the teams of a workgroup share one, each some blocks of
// its keys, and put together what they have at the end.
#ifndef WEBNND_SHADERS_ATTENTION_TEAMS_GLSL_
#define WEBNND_SHADERS_ATTENTION_TEAMS_GLSL_

layout(constant_id = 13) const uint kTeamsShare = 0u;

const uint kTeams = gl_WorkGroupSize.x / kTeam;
// Vectors that are added up at once.
const uint kTogether = 4u;

shared vec4 shared_sums[kTogether * gl_WorkGroupSize.x];
shared float shared_scores[kLinesMax * kTeams];

uint TeamIndex() {
  return gl_SubgroupID * (SUBGROUP_SIZE / kTeam) + gl_SubgroupInvocationID / kTeam;
}

// Sums of what the same invocations of all teams have, in the first team.
void AddTeams(inout vec4 x[kTogether]) {
  barrier();  // Nobody reads any more what lies there.
  [[unroll]] for (uint j = 0u; j < kTogether; ++j) {
    shared_sums[j * gl_WorkGroupSize.x + TeamIndex() * kTeam + Lane()] = x[j];
  }
  barrier();
  if (TeamIndex() != 0u) return;
  [[unroll]] for (uint team = 1u; team < kTeams; ++team) {
    [[unroll]] for (uint j = 0u; j < kTogether; ++j) {
      x[j] += shared_sums[j * gl_WorkGroupSize.x + team * kTeam + Lane()];
    }
  }
}

void PutTogether(inout Lines lines) {
  barrier();
  if (Lane() == 0u) {
    [[unroll]] for (uint t = 0u; t < kLines; ++t) {
      shared_scores[t * kTeams + TeamIndex()] = lines.greatest[t];
    }
  }
  barrier();
  vec4 weights[kTogether];
  [[unroll]] for (uint j = 0u; j < kTogether; ++j) weights[j] = vec4(0.0);
  [[unroll]] for (uint t = 0u; t < kLines; ++t) {
    float greatest = kHidden;
    [[unroll]] for (uint team = 0u; team < kTeams; ++team) {
      greatest = max(greatest, shared_scores[t * kTeams + team]);
    }
    const float kept = ExpOfNegative(lines.greatest[t] - greatest);
    lines.greatest[t] = greatest;
    weights[t / 4u][t % 4u] = lines.weights[t] * kept;
    [[unroll]] for (uint f = 0u; f < kFours; ++f) lines.sums[t * kFours + f] *= kept;
  }
  AddTeams(weights);
  [[unroll]] for (uint t = 0u; t < kLines; ++t) lines.weights[t] = weights[t / 4u][t % 4u];
  [[unroll]] for (uint i = 0u; i < kLines * kFours; i += kTogether) {
    vec4 sums[kTogether];
    [[unroll]] for (uint j = 0u; j < kTogether; ++j) {
      sums[j] = i + j < kLines * kFours ? lines.sums[i + j] : vec4(0.0);
    }
    AddTeams(sums);
    [[unroll]] for (uint j = 0u; j < kTogether; ++j) {
      if (i + j < kLines * kFours) lines.sums[i + j] = sums[j];
    }
  }
}

// All invocations of the workgroup stay together. Beyond the last key it stands in, unseen.
void ComputeTileTogether(Tile tile) {
  const uint blocks = (tile.end - tile.begin + kTeam - 1u) / kTeam;
  Lines lines;
  StartLines(tile, lines);
  const uint base = tile.head * P(15) * P(3);
  for (uint block = 0u; block < blocks; block += kTeams) {
    AddBlock(tile, tile.begin + (block + TeamIndex()) * kTeam, base, lines);
  }
  PutTogether(lines);
  // One team stores: the others' tiles have no keys.
  if (TeamIndex() != 0u) tile.end = tile.begin;
  [[unroll]] for (uint t = 0u; t < kLines; ++t) StoreLine(tile, t, lines);
}

#endif  // WEBNND_SHADERS_ATTENTION_TEAMS_GLSL_
