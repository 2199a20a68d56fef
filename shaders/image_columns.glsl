// b of matmul.comp as the windows of an image: column n is what the filter sees where it computes
// pixel n of the result, 0 in the padding.
//
// k counts channels and taps in the order of the filter's layout. Parameters: from uvec4 24 on
// {channels (where they are counted last) or taps, as divisor}, {taps of a row, as divisor}, {width
// of the result, as divisor}, {strides of a row, a column and a channel of the image; its last
// element divided by 4}, {height, width of the image; padding above and to the left}, {strides down
// and across; dilations down and across}. Specialisation constant 6: whether channels are counted
// last. Loads four across where neighbours of the result lie beside each other in the image too. Where b
// loads by lines, strides are those in the lines, and of the rest only the steps down count.
#ifndef WEBNND_SHADERS_IMAGE_COLUMNS_GLSL_
#define WEBNND_SHADERS_IMAGE_COLUMNS_GLSL_

#include "fours.glsl"

layout(constant_id = 6) const uint kChannelsLast = 0u;

const uint kImage = 24u;

struct Columns {
  // Where windows start, before and above the image as well (modulo 2^32).
  uint at[COLUMNS][4];
  uint y[COLUMNS][4];
  uint x[COLUMNS][4];
  uvec2 size;  // Height and width of the image.
  uvec3 strides;
  uint last_four;
  uvec2 dilations;
  uvec3 inner;  // Divisors.
  uvec3 taps_of_row;
};

Columns MakeWindows() {
  Columns columns;
  columns.inner = P4(kImage).xyz;
  columns.taps_of_row = P4(kImage + 1u).xyz;
  columns.strides = P4(kImage + 3u).xyz;
  columns.last_four = P4(kImage + 3u).w;
  columns.size = P4(kImage + 4u).xy;
  columns.dilations = P4(kImage + 5u).zw;
  return columns;
}

// The window of a pixel of the result; beyond the last one, of that.
void SetWindow(uint column, uint offset, uint j, uint i, inout Columns columns) {
  const uvec3 width = P4(kImage + 2u).xyz;
  const uvec2 padding = P4(kImage + 4u).zw;
  const uvec2 steps = P4(kImage + 5u).xy;
  uint pixel = min(column, P(2) - 1u);
  uint row = Divide(pixel, width);
  uint y = row * steps.x - padding.x;
  uint x = (pixel - row * width.x) * steps.y - padding.y;
  columns.y[j][i] = y;
  columns.x[j][i] = x;
  columns.at[j][i] = offset + y * columns.strides.x + x * columns.strides.y;
}

Columns MakeColumns(uint first_column, uint offset) {
  Columns columns = MakeWindows();
  uvec3 width = P4(kImage + 2u).xyz;
  uvec2 steps = P4(kImage + 5u).xy;
  if (kLoadsB == LOADS_LINES) {
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      // What loads four starts at a multiple of 4, beyond the last column as well.
      uint pixel = min(first_column + 4u * gl_WorkGroupSize.x * j, P(2) - 4u);
      uint row = Divide(pixel, width);
      uint in_line = pixel - row * width.x;
      columns.at[j][0] = offset + row * steps.x * columns.strides.x + in_line;
    }
    return columns;
  }
  [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
    const uint first = first_column + 4u * gl_WorkGroupSize.x * j;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) SetWindow(first + i, offset, j, i, columns);
  }
  return columns;
}

// Four columns `step` apart.
Columns MakeColumnsEvery(uint first_column, uint step, uint offset) {
  Columns columns = MakeWindows();
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    SetWindow(first_column + i * step, offset, 0u, i, columns);
  }
  return columns;
}

// What step k adds to where a window starts: rows, columns, elements.
uvec3 PlaceOf(Columns columns, uint k) {
  uint outer = Divide(k, columns.inner);
  uint inner = k - outer * columns.inner.x;
  uint channel = kChannelsLast != 0u ? inner : outer;
  uint tap = kChannelsLast != 0u ? outer : inner;
  uint row = Divide(tap, columns.taps_of_row);
  uint y = row * columns.dilations.x;
  uint x = (tap - row * columns.taps_of_row.x) * columns.dilations.y;
  return uvec3(y, x, y * columns.strides.x + x * columns.strides.y + channel * columns.strides.z);
}

bool IsInside(Columns columns, uint j, uint i, uvec3 place) {
  return columns.y[j][i] + place.x < columns.size.x && columns.x[j][i] + place.y < columns.size.y;
}

// Elements at to at + 3, which may reach beyond the image: whatever is there.
vec4 LoadFourFrom(uint at, uint last_four) {
  uint four = uint(int(at) >> 2);
  vec4 result;
#define FOUR_OF_IMAGE(q) LoadFour2(4u * min(four + (q), last_four))
  LOAD_RUN(result, 4u, 4u, at, FOUR_OF_IMAGE)
#undef FOUR_OF_IMAGE
  return result;
}

vec4 LoadPlace(Columns columns, uint j, uvec3 place) {
  if (kLoadsB == LOADS_LINES) return LoadFour2(columns.at[j][0] + place.z);
  vec4 b;
  if (kLoadsB == LOADS_FOUR_ACROSS) {
    vec4 x = LoadFourFrom(columns.at[j][0] + place.z, columns.last_four);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) b[i] = IsInside(columns, j, i, place) ? x[i] : 0.0;
    return b;
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    bool inside = IsInside(columns, j, i, place);
    float x = LOAD(2, kType, inside ? columns.at[j][i] + place.z : 0u);
    b[i] = inside ? x : 0.0;
  }
  return b;
}

vec4 LoadColumns(Columns columns, uint j, uint k) {
  return LoadPlace(columns, j, PlaceOf(columns, k));
}

StepsOfB LoadSteps(Columns columns, uint k) {
  StepsOfB b;
  // Each invocation finds the place of one step.
  uint own_k = k + ShareIndex();
  // A block may reach beyond the last step.
  if (kLoadsB == LOADS_LINES) own_k = min(own_k, P(3) - 1u);
  uvec3 own_place = PlaceOf(columns, own_k);
  if (kLoadsB == LOADS_FOUR_ALONG_K) {
    [[unroll]] for (uint s = 0u; s < kLoadedSteps; s += 4u) {
      uvec3 place = subgroupShuffle(own_place, s);
      [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
        [[unroll]] for (uint i = 0u; i < 4u; ++i) {
          bool inside = IsInside(columns, j, i, place);
          vec4 channels = LoadFour2(inside ? columns.at[j][i] + place.z : 0u);
          [[unroll]] for (uint u = 0u; u < 4u; ++u) {
            b.of[s + u][j][i] = inside ? channels[u] : 0.0;
          }
        }
      }
    }
  } else {
    [[unroll]] for (uint s = 0u; s < kLoadedSteps; ++s) {
      uvec3 place = subgroupShuffle(own_place, s);
      [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) b.of[s][j] = LoadPlace(columns, j, place);
    }
  }
  return b;
}

#endif  // WEBNND_SHADERS_IMAGE_COLUMNS_GLSL_
