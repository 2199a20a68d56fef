// Depthwise convolutions of images whose columns lie together, in rows of any length from four on,
// with windows of TAPS by TAPS that move by one and are not dilated, and results as large as images.
// Slots and specialisation constants are those of depthwise_conv2d.comp, but 4 is 1, for the result is
// whole quads, and 8 whether these may have elements of two channels.
//
// An invocation computes a quad of the result, whatever rows its elements are in: what a line of
// their windows needs lies as far from the quad for each of them, so that neighbours load what lies
// beside each other. What of that is beyond an edge, in another row, is left out.
//
// Parameters: as in depthwise_conv2d.comp, but 0 quads; 3 the last element of the input divided by 4;
// and from uvec4 1 on the divisors {columns}, {rows}, {channels}.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"
#include "depthwise_weights.glsl"

layout(constant_id = 8) const uint kStraddles = 0u;

// On llvmpipe it goes by lines instead, each wherever it begins.
#if TENSOR_READS == READS_TEXELS
#define STEP 1u
const bool kHasWholeTurns = false;
#define MASKED_TAPS_CONSTANT 9
#define BLOCKS_CONSTANT 10
#include "depthwise_lines.glsl"
const bool kByLines = true;
#else
const bool kByLines = false;
void ComputeAllLines(uint planes) {}
#endif

// What four elements need of a line.
const uint kLineLength = 3u + TAPS;

struct Line {
  float of[kLineLength];
};

// From element `first` on; before the first one it wraps.
Line LoadLine(uint first) {
  const int at = int(first);
  Line line;
#define FOUR_OF_LINE(q) LoadFours1(kType, uint(clamp((at >> 2) + int(q), 0, int(P(3)))))
  LOAD_RUN(line.of, kLineLength, kLineLength, at, FOUR_OF_LINE)
#undef FOUR_OF_LINE
  return line;
}

// Where the elements of a quad are.
struct Places {
  uvec4 column;
  uvec4 row;
  bvec4 is_next;  // In the channel behind that of the first one.
};

void ComputeQuad(uint quad) {
  const uvec3 columns = P4(1).xyz;
  const uvec3 rows = P4(2).xyz;
  const uvec3 channels = P4(3).xyz;
  const uint line_of_first = Divide(4u * quad, columns);
  const uint plane = Divide(line_of_first, rows);
  const uint channel = plane - Divide(plane, channels) * channels.x;
  const uint next = channel + 1u < channels.x ? channel + 1u : 0u;

  Places places;
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    const uint column = 4u * quad - line_of_first * columns.x + k;
    const uint wraps = column < columns.x ? 0u : 1u;
    const uint row = line_of_first - plane * rows.x + wraps;
    places.column[k] = column - wraps * columns.x;
    places.is_next[k] = kStraddles != 0u && row >= rows.x;
    places.row[k] = row - (places.is_next[k] ? rows.x : 0u);
  }

  const Weights weights = LoadWeights(channel);
  Weights next_weights = weights;
  vec4 sums = vec4(kHasBias != 0u ? LOAD(4, kType, channel) : 0.0);
  if (kStraddles != 0u) {
    next_weights = LoadWeights(next);
    if (kHasBias != 0u) sums = mix(sums, vec4(LOAD(4, kType, next)), places.is_next);
  }
  const uint above = P4(kHeight).z;
  const uint before = P4(kWidth).z;
  [[unroll]] for (uint y = 0u; y < TAPS; ++y) {
    const Line line = LoadLine(4u * quad + (y - above) * columns.x - before);
    vec4 sums_with_line = sums;
    [[unroll]] for (uint x = 0u; x < TAPS; ++x) {
      [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        const bool inside = places.column[k] + x - before < columns.x;
        const float element = inside ? line.of[x + k] : 0.0;
        const float weight = places.is_next[k] ? next_weights.of[y][x] : weights.of[y][x];
        sums_with_line[k] = fma(element, weight, sums_with_line[k]);
      }
    }
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      const bool inside = places.row[k] + y - above < rows.x;
      sums[k] = inside ? sums_with_line[k] : sums[k];
    }
  }
  FinishFour(4u * quad, 4u, sums);
}

void main() {
  if (kByLines) {
    ComputeAllLines(Divide(Divide(4u * P(0), P4(1).xyz), P4(2).xyz));
  } else {
    GRID_STRIDE_LOOP(quad, P(0)) ComputeQuad(quad);
  }
}
