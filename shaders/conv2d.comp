// Convolutions of images: slots 1 input, 2 filter, 3 result, 4 bias, 5 residual, which lies as the
// result does (the input again where there is none), of one float type. Sums are float32.
//
// An invocation computes CHANNELS neighbouring channels of a pixel, which share their loads of the
// input; the last ones of a group may be fewer.
//
// Parameters: 0 units (pixels times blocks of channels); 1 rank of their dimensions; 2 input
// channels of a group; from uvec4 1 on {output channels of a group, as divisor}, {width of the
// result, as divisor}; {input strides: channel, row, column}; {filter strides: group, output
// channel, input channel, row}; {filter stride: column; result stride: channel}; from uvec4 6 on
// the height and from 9 on the width (window.glsl); from 12 on the dimensions of the units
// (strided.glsl; x: pixel, y: offset of the input, z: first output channel, w: offset of the
// result). Specialisation constants: 1 data type, 2 whether transposed, 3 whether there is a bias,
// 4 rank, 5 whether a group has so few input channels that a plain loop does, 6 whether there
// is a residual, 7 the activation (epilogue.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kTransposed = 0u;
layout(constant_id = 3) const uint kHasBias = 0u;
layout(constant_id = 4) const uint kRank = 0u;
layout(constant_id = 5) const uint kIsShallow = 0u;
layout(constant_id = 6) const uint kHasResidual = 0u;
#define STRIDED_RANK kRank

#include "strided.glsl"
#include "window.glsl"
#define EPILOGUE_CONSTANT 7
#include "epilogue.glsl"

READ_SLOT(1)
READ_SLOT(2)
WRITE_SLOT(3)
READ_SLOT(4)
READ_SLOT(5)

const uint kHeight = 6u;
const uint kWidth = 9u;
const uint kDimensions = 12u;

uvec2 TapsOf(uint axis, uint position) {
  return kTransposed != 0u ? TapsOnto(axis, position) : TapsInside(axis, position);
}

// Whether tap k falls on the input, and where.
bool FindInput(uint axis, uint position, uint k, out uint at) {
  if (kTransposed != 0u) return FindSource(axis, position, k, at);
  at = WindowStart(axis, position) + k * WINDOW_DILATION(axis);
  return true;
}

void ComputeUnit(uint unit) {
  uvec4 place = StridedOffsets(unit, kDimensions, P(1));
  uint depth = P(2);
  uvec3 group_channels = P4(1).xyz;
  uvec3 columns = P4(2).xyz;
  uint row = Divide(place.x, columns);
  uint column = place.x - row * columns.x;
  uint group = Divide(place.z, group_channels);
  uint channel = place.z - group * group_channels.x;
  uvec4 input_strides = P4(3);
  uvec4 filter_strides = P4(4);
  uint filter_column_stride = P4(5).x;

  // Beyond the last channel the last one stands in: nobody stores what comes of it.
  uint filters[CHANNELS];
  float sums[CHANNELS];
  [[unroll]] for (uint i = 0u; i < CHANNELS; ++i) {
    filters[i] = group * filter_strides.x +
                 min(channel + i, group_channels.x - 1u) * filter_strides.y;
    sums[i] = 0.0;
  }

  uvec2 row_taps = TapsOf(kHeight, row);
  uvec2 column_taps = TapsOf(kWidth, column);
  for (uint ky = row_taps.x; ky < row_taps.y; ++ky) {
    uint input_row;
    if (!FindInput(kHeight, row, ky, input_row)) continue;
    for (uint kx = column_taps.x; kx < column_taps.y; ++kx) {
      uint input_column;
      if (!FindInput(kWidth, column, kx, input_column)) continue;
      uint from = place.y + input_row * input_strides.y + input_column * input_strides.z;
      uint tap = ky * filter_strides.w + kx * filter_column_stride;
      // Sums of one tap are kept apart, so that rounding errors grow slower than the count.
      float part[CHANNELS];
      [[unroll]] for (uint i = 0u; i < CHANNELS; ++i) part[i] = 0.0;
#define ADD_CHANNEL(c)                                                     \
  {                                                                        \
    float x = LOAD(1, kType, from + (c) * input_strides.x);                \
    uint weight = tap + (c) * filter_strides.z;                            \
    [[unroll]] for (uint i = 0u; i < CHANNELS; ++i) {                      \
      part[i] = fma(x, LOAD(2, kType, filters[i] + weight), part[i]);      \
    }                                                                      \
  }
      if (kIsShallow != 0u) {
        for (uint c = 0u; c < depth; ++c) ADD_CHANNEL(c)
      } else {
        LONG_LOOP(c, 0u, depth, 1u) ADD_CHANNEL(c)
      }
#undef ADD_CHANNEL
      [[unroll]] for (uint i = 0u; i < CHANNELS; ++i) sums[i] += part[i];
    }
  }

  [[unroll]] for (uint i = 0u; i < CHANNELS; ++i) {
    if (channel + i < group_channels.x) {
      float value = sums[i];
      if (kHasBias != 0u) value += LOAD(4, kType, place.z + i);
      uint e = place.w + i * P4(5).y;
      if (kHasResidual != 0u) value += LOAD(5, kType, e);
      STORE_ELEMENT(3, kType, e, Encode(Activate(value), kType))
    }
  }
}

void main() {
  GRID_STRIDE_LOOP(unit, P(0)) ComputeUnit(unit);
}
