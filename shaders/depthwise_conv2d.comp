// Convolutions in which each channel of the image has a filter of its own: slots 1 input, 2 filter,
// 3 result (packed), 4 bias, 5 residual, which lies as the result does (the input again where there is
// none), of one float type. Sums are float32.
//
// An invocation computes four neighbours: columns of a row, or, where channels come last, channels
// of a pixel. A line is what they are a part of.
//
// Parameters: 0 units (fours of neighbours); 1 length of a line; from uvec4 1 on three divisors,
// {fours in a line}, {rows; columns}, {channels; rows}, the second of each where channels come last;
// 4 {input strides: batch, channel, row, column}; 5 {filter strides: channel, row, column}; from 6
// on the height and from 9 on the width (window.glsl). Specialisation constants: 1 data type,
// 2 whether channels come last (a line is then a multiple of four), 3 whether there is a bias,
// 4 whether a line is a multiple of four, 5 whether the filter's channels lie together or, where
// columns are neighbours, the weights of a channel do, 6 whether there is a residual, 7 the activation
// (epilogue.glsl), and from 8 on those of depthwise_any_window.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"

struct Place {
  uint batch;
  uint channel;  // The first, where channels come last.
  uint row;
  uint column;  // The first, where they do not.
};

// The input's neighbours under tap kx of a row that begins at `from`; 0 in the padding.
vec4 LoadColumns(Place place, uint from, uint kx) {
  uint stride = P4(4).w;
  uint width = P4(kWidth).x;
  uint first = WindowStart(kWidth, place.column) + kx * WINDOW_DILATION(kWidth);
  vec4 x;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    uint column = first + i * WINDOW_STRIDE(kWidth);
    // Before the first column it wraps.
    float value = LOAD(1, kType, from + min(column, width - 1u) * stride);
    x[i] = column < width ? value : 0.0;
  }
  return x;
}

vec4 LoadChannelFilters(uint e) {
  if (kFilterByFour != 0u) return LoadFours2(kType, e >> 2);
  vec4 weights;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) weights[i] = LOAD(2, kType, e + i * P4(5).x);
  return weights;
}

vec4 SumOfRow(Place place, uint from, uint filter_from) {
  vec4 sum = vec4(0.0);
  uint filter_step = P4(5).z;
  if (kChannelsLast != 0u) {
    uvec2 taps = TapsInside(kWidth, place.column);
    uint start = WindowStart(kWidth, place.column);
    for (uint kx = taps.x; kx < taps.y; ++kx) {
      uint column = start + kx * WINDOW_DILATION(kWidth);
      vec4 x = LoadFours1(kType, (from + column * P4(4).w) >> 2);
      sum = fma(x, LoadChannelFilters(filter_from + kx * filter_step), sum);
    }
  } else {
    for (uint kx = 0u; kx < P4(kWidth).y; ++kx) {
      float weight = LOAD(2, kType, filter_from + kx * filter_step);
      sum = fma(LoadColumns(place, from, kx), vec4(weight), sum);
    }
  }
  return sum;
}

vec4 LoadBias(uint channel) {
  if (kChannelsLast == 0u) return vec4(LOAD(4, kType, channel));
  vec4 bias;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) bias[i] = LOAD(4, kType, channel + i);
  return bias;
}

void ComputeUnit(uint unit) {
  uvec3 fours = P4(1).xyz;
  uvec3 inner = P4(2).xyz;
  uvec3 outer = P4(3).xyz;
  uint line = Divide(unit, fours);
  uint neighbour = 4u * (unit - line * fours.x);
  uint rest = Divide(line, inner);
  uint batch = Divide(rest, outer);
  uint by_inner = line - rest * inner.x;
  uint by_outer = rest - batch * outer.x;
  Place place = kChannelsLast != 0u ? Place(batch, neighbour, by_outer, by_inner)
                                    : Place(batch, by_outer, by_inner, neighbour);

  uvec4 strides = P4(4);
  uvec4 filter_strides = P4(5);
  uint image = place.batch * strides.x + place.channel * strides.y;
  uint row_start = WindowStart(kHeight, place.row);
  uvec2 taps = TapsInside(kHeight, place.row);
  vec4 sums = vec4(0.0);
  for (uint ky = taps.x; ky < taps.y; ++ky) {
    uint from = image + (row_start + ky * WINDOW_DILATION(kHeight)) * strides.z;
    sums += SumOfRow(place, from, place.channel * filter_strides.x + ky * filter_strides.y);
  }
  if (kHasBias != 0u) sums += LoadBias(place.channel);
  uint length = P(1);
  uint e = line * length + neighbour;
  uint count = min(length - neighbour, 4u);
  FinishFour(e, count, sums);
}

#if TENSOR_READS == READS_TEXELS
#include "depthwise_any_window.glsl"

bool GoesByChannels() { return kColumnsAtOnce != 0u && IsWorkgroupOneSubgroup(); }
#else
bool GoesByChannels() { return false; }
void ComputeByChannels() {}
#endif

void main() {
  if (GoesByChannels()) {
    ComputeByChannels();
  } else {
    GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
  }
}
