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
// (epilogue.glsl), 8 the stride along a row, 1 or 2, where rows of float32 go by words on llvmpipe, 9 the taps of
// a row where they are few (else 0), and 10 and 11 those of depthwise_any_window.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "depthwise.glsl"

layout(constant_id = 8) const uint kWordStep = 0u;
layout(constant_id = 9) const uint kTapsOfRow = 0u;

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

// Neighbouring invocations have neighbouring columns, whose taps they load as they lie.
#if TENSOR_READS == READS_TEXELS
#include "columns_by_words.glsl"

#include "depthwise_any_window.glsl"

bool GoesByWords() { return kWordStep != 0u && IsWorkgroupOneSubgroup(); }
bool GoesByChannels() { return kColumnsAtOnce != 0u && IsWorkgroupOneSubgroup(); }

// What parameters say of windows, found once.
struct Windows {
  uint width;
  uint dilation;
  uint line_step;  // From a row of taps to the next, in the image.
  uint taps_line;
  uint taps_column;
};

// The columns of a row of the result from `first_` on, as many vectors as that.
#define COMPUTE_STRETCH(vectors, is_before, are_whole)                                                    \
  {                                                                                                       \
    float sums_[vectors];                                                                                 \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) sums_[v_] = 0.0;                                  \
    const uint left_ = UNIFORM(WindowStart(kWidth, first_));                                              \
    for (uint ky_ = taps_.x; ky_ < taps_.y; ++ky_) {                                                      \
      const uint line_ = UNIFORM(image_ + ky_ * windows_.line_step + left_);                              \
      const uint filter_ = UNIFORM(filter_channel_ + ky_ * windows_.taps_line);                           \
      float parts_[vectors];                                                                              \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) parts_[v_] = 0.0;                               \
      FOR_EACH_TAP(kx_) {                                                                                 \
        const uint to_tap_ = kx_ * windows_.dilation;                                                     \
        const uint column_ = UNIFORM(left_ + to_tap_);                                                    \
        const float weight_ = uintBitsToFloat(LOAD_WORD(2, UNIFORM(filter_ + kx_ * windows_.taps_column))); \
        LOAD_COLUMNS(1, words_, vectors, is_before, UNIFORM(line_ + to_tap_))                             \
        [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                             \
          const uint word_ = IS_COLUMN_INSIDE(v_, column_, windows_.width, are_whole) ? words_[v_] : 0u;  \
          parts_[v_] = fma(uintBitsToFloat(word_), weight_, parts_[v_]);                                  \
        }                                                                                                 \
      }                                                                                                   \
      [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) sums_[v_] += parts_[v_];                        \
    }                                                                                                     \
    const uint to_ = UNIFORM(result_ + first_);                                                           \
    [[unroll]] for (uint v_ = 0u; v_ < (vectors); ++v_) {                                                 \
      float sum_ = sums_[v_] + bias_;                                                                     \
      if ((are_whole) || first_ + PlaceInStretch(v_) < length_) {                                         \
        if (kHasResidual != 0u) sum_ += uintBitsToFloat(LOAD_WORD(5, to_ + PlaceInStretch(v_)));          \
        STORE_WORD(3, to_ + PlaceInStretch(v_), floatBitsToUint(Activate(sum_)));                         \
      }                                                                                                   \
    }                                                                                                     \
  }

void ComputeLine(Windows windows_, uint line_) {
  const uint rest = Divide(line_, P4(2).xyz);
  const uint batch = Divide(rest, P4(3).xyz);
  const uint row = line_ - rest * P4(2).x;
  const uint channel = rest - batch * P4(3).x;
  const uvec4 strides_ = P4(4);
  const uint image_ =
      UNIFORM(batch * strides_.x + channel * strides_.y + WindowStart(kHeight, row) * strides_.z);
  const uint filter_channel_ = UNIFORM(channel * P4(5).x);
  uvec2 taps_ = TapsInside(kHeight, row);
  taps_ = uvec2(UNIFORM(taps_.x), UNIFORM(taps_.y));
  const float bias_ = kHasBias != 0u ? LOAD(4, kType, UNIFORM(channel)) : 0.0;
  const uint length_ = UNIFORM(P(1));
  const uint result_ = UNIFORM(line_ * length_);
  const uint first_word_ = UNIFORM(image_ + taps_.x * windows_.line_step);
  FOR_EACH_STRETCH(first_, length_, first_word_, COMPUTE_STRETCH)
}

void ComputeByWords() {
  Windows windows;
  windows.width = UNIFORM(P4(kWidth).x);
  windows.dilation = UNIFORM(WINDOW_DILATION(kWidth));
  windows.line_step = UNIFORM(WINDOW_DILATION(kHeight) * P4(4).z);
  windows.taps_line = UNIFORM(P4(5).y);
  windows.taps_column = UNIFORM(P4(5).z);
  WORKGROUP_STRIDE_LOOP(line, Divide(P(0), P4(1).xyz)) ComputeLine(windows, line);
}
#else
bool GoesByWords() { return false; }
bool GoesByChannels() { return false; }
void ComputeByWords() {}
void ComputeByChannels() {}
#endif

void main() {
  if (GoesByWords()) {
    ComputeByWords();
  } else if (GoesByChannels()) {
    ComputeByChannels();
  } else {
    GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
  }
}
