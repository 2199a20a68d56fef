// Depthwise convolutions of images whose columns lie together in whole fours, as do those of the result,
// with windows of TAPS by TAPS that move by one and are not dilated. Slots and specialisation constants
// are those of depthwise_rows.comp.
//
// An invocation goes down four columns, line after line of the image, and adds each to all rows of the
// result that it is a part of. Its neighbours in the subgroup have the fours beside it, and it takes from
// them what its windows reach of those, so that each four is loaded once: where a row has more fours than
// a subgroup has invocations, it is cut into parts, and an invocation on either side of a part loads what
// the others need, and has no result. What is beyond an edge is loaded from within, and left out.
//
// Parameters: as in depthwise_conv2d.comp, but 0 bands (some rows of a channel); 2 rows of the result;
// from uvec4 1 on the divisors {fours of a row}, {bands down}, {channels}; 2.w rows of a band.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"
#include "depthwise_weights.glsl"
#include "subgroup.glsl"

layout(constant_id = 8) const uint kLead = 0u;

// On llvmpipe it goes by lines instead, each wherever it begins.
#if TENSOR_READS == READS_TEXELS
#define STEP 1u
const bool kHasWholeTurns = true;
#define MASKED_TAPS_CONSTANT 9
#define BLOCKS_CONSTANT 10
#include "depthwise_lines.glsl"
const bool kByLines = true;
#else
const bool kByLines = false;
void ComputeAllLines(uint planes) {}
#endif

// Fours of the image that four columns need of a line, with any lead, and which of them is loaded.
const uint kFours = (kLead + 3u + TAPS + 3u) / 4u;
const uint kFoursMax = (3u + 3u + TAPS + 3u) / 4u;
const uint kOwn = kLead == 0u ? 0u : 1u;

// How the fours of a row are dealt out.
struct Parts {
  uint count;  // Of a row.
  uint fours;  // Of a part.
  uint halo;  // Invocations on either side of them.
  uint log2_lanes;  // Lanes for a part: a power of two, so that runs of lanes have whole ones, or are in one.
};

// Where subgroups are surely as large, and whole. In smaller ones two invocations without a result would
// be many: there, each one loads all that it needs.
const bool kShares = TENSOR_READS == READS_TEXELS && kSubgroupSize >= 16u;

// Of a turn: more of them where each is one load.
const uint kLines = kShares ? LINES : 1u;

Parts DealOut(uint fours) {
  Parts parts = Parts(1u, fours, 0u, 0u);
  if (fours > kSubgroupSize) {
    parts.halo = 1u;
    uint most = kSubgroupSize - 2u;
    parts.count = (fours + most - 1u) / most;
    parts.fours = (fours + parts.count - 1u) / parts.count;
  }
  uint lanes = parts.fours + 2u * parts.halo;
  if (lanes > 1u) parts.log2_lanes = uint(findMSB(lanes - 1u)) + 1u;
  return parts;
}

// What invocation `lane` of the subgroup has.
vec4 FourOf(vec4 four, uint lane) {
  return vec4(subgroupShuffle(four.x, lane), subgroupShuffle(four.y, lane),
              subgroupShuffle(four.z, lane), subgroupShuffle(four.w, lane));
}

// A four of the image, of which `last` is the last one, or 0.
vec4 LoadFour(uint four, uint last, bool inside) {
  const vec4 loaded = LoadFours1(kType, uint(clamp(int(four), 0, int(last))));
  return mix(vec4(0.0), loaded, bvec4(inside));
}

// What a line of the image has for the windows of an invocation.
struct Line {
  float of[4u * kFoursMax];
};

// Which invocations an invocation takes fours from, and whether they are of its part.
struct Place {
  bool has_left;
  bool has_right;
  uint left;  // In the subgroup.
  uint right;
};

// Of the image's fours `first` and on, `at` the place of that in memory; `columns` of them are a row's.
Line LoadLine(uint at, uint first, uint columns, uint last, bool inside, Place place) {
  Line line;
  const vec4 own = LoadFour(at + kOwn, last, inside && first + kOwn < columns);
  [[unroll]] for (uint q = 0u; q < kFours; ++q) {
    vec4 four = own;
    if (!kShares) {
      four = LoadFour(at + q, last, inside && first + q < columns);
    } else if (q < kOwn) {
      four = mix(vec4(0.0), FourOf(own, place.left), bvec4(place.has_left));
    } else if (q > kOwn) {
      four = mix(vec4(0.0), FourOf(own, place.right), bvec4(place.has_right));
    }
    [[unroll]] for (uint i = 0u; i < 4u; ++i) line.of[4u * q + i] = four[i];
  }
  return line;
}

vec4 SumOfLine(Line line, float weights[TAPS], vec4 sum) {
  [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      sum[k] = fma(line.of[kLead + k + x], weights[x], sum[k]);
    }
  }
  return sum;
}

// Where they share, all invocations of a subgroup call it together: `lane` counts those of the part.
void ComputePart(uint part, Parts parts, uint lane, bool is_used) {
  uint fours = P4(1).x;
  uvec4 down = P4(2);
  uvec3 channels = P4(3).xyz;
  uint band = part;
  if (!kShares) {
    band = Divide(part, P4(1).xyz);
  } else if (parts.count > 1u) {
    band = part / parts.count;
  }
  // Before the first column it wraps.
  uint column = (part - band * parts.count) * parts.fours + lane - parts.halo;
  uint plane = Divide(band, down.xyz);
  uint row = down.w * (band - plane * down.x);
  uint batch = Divide(plane, channels);
  uint channel = plane - batch * channels.x;

  const bool stores = is_used && lane - parts.halo < parts.fours && column < fours;
  const uint own_lane = gl_SubgroupInvocationID;
  const Place place = Place(lane > 0u, lane + 1u < parts.fours + 2u * parts.halo,
                            max(own_lane, 1u) - 1u, min(own_lane + 1u, kSubgroupSize - 1u));

  Weights weights = LoadWeights(channel);
  vec4 bias = vec4(kHasBias != 0u ? LOAD(4, kType, channel) : 0.0);
  uvec4 strides = P4(4);
  const uint step = strides.z >> 2;
  const uint height = P4(kHeight).x;
  const uint columns = P4(kWidth).x >> 2;
  const uint last = P(3);
  const uint first = column - ((P4(kWidth).z + kLead) >> 2);
  uint top = row - P4(kHeight).z;  // Before the first row it wraps.
  const uint image = ((batch * strides.x + channel * strides.y) >> 2) + first;
  uint result = (plane * P(2) + row) * fours + column;
  const uint rows = min(down.w, P(2) - row);
  const uint lines = rows + TAPS - 1u;

  // sums[y] lacks the lines from tap y on.
  vec4 sums[TAPS];
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) sums[y] = bias;
  for (uint done = UNKNOWN_ZERO; done < lines; done += kLines) {
    [[unroll]] for (uint i = 0u; i < kLines; ++i) {
      const uint y = top + done + i;
      const Line line = LoadLine(image + y * step, first, columns, last, y < height, place);
      [[unroll]] for (uint tap = 0u; tap < TAPS; ++tap) {
        sums[tap] = SumOfLine(line, weights.of[tap], sums[tap]);
      }
      const uint at = done + i - (TAPS - 1u);  // Before the first row it wraps.
      if (stores && at < rows) FinishFour(4u * (result + at * fours), 4u, sums[TAPS - 1u]);
      [[unroll]] for (uint tap = 1u; tap < TAPS; ++tap) sums[TAPS - tap] = sums[TAPS - tap - 1u];
      sums[0] = bias;
    }
  }
}

void ComputeTogether() {
  const Parts parts = DealOut(P4(1).x);
  const uint count = P(0) * parts.count;
  const uint at_once = kSubgroupSize >> parts.log2_lanes;
  const uint own = gl_SubgroupInvocationID >> parts.log2_lanes;
  const uint lane = gl_SubgroupInvocationID - (own << parts.log2_lanes);
  const uint step = gl_NumWorkGroups.x * gl_NumSubgroups * at_once;
  uint first = (gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * at_once;
  for (; first < count; first += step) {
    ComputePart(min(first + own, count - 1u), parts, lane, first + own < count);
  }
}

void main() {
  if (kByLines) {
    ComputeAllLines(Divide(P(0), P4(2).xyz));
  } else if (kShares) {
    ComputeTogether();
  } else {
    const uint fours = P4(1).x;
    GRID_STRIDE_LOOP(unit, P(0) * fours) ComputePart(unit, Parts(fours, 1u, 0u, 0u), 0u, true);
  }
}
