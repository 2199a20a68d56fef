// Resampling along two dimensions: slot 1 -> slot 2, of float32, float16, int8 or uint8.
//
// Coordinates are fractions of integers, so that no rounding picks a wrong neighbour: element o
// lies at ((2 o + 1) in - out) / (2 out) in the input. Interpolated integers round to the nearest.
//
// Parameters: 0 elements of the result; 1 rank of its dimensions; 2, 3 strides of the two
// dimensions in the input; uvec4 1, 2 {twice the size in the result, as divisor; size in the input}
// of each; from uvec4 3 on the dimensions of the result (strided.glsl; x: offset in the input from
// the other dimensions, y, z: coordinates along the two). Specialisation constants: 1 data type, 2
// whether linear (else the nearest), 3 rank, 4 whether the fractions take 64 bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"

layout(constant_id = 1) const uint kType = 0u;
layout(constant_id = 2) const uint kLinear = 0u;
layout(constant_id = 3) const uint kRank = 0u;
layout(constant_id = 4) const uint kWide = 0u;
#define STRIDED_RANK kRank

#include "strided.glsl"

READ_SLOT(1)
WRITE_SLOT(2)

const uint kAxes = 1u;
const uint kDimensions = 3u;

// numerator / divisor.x; the quotient fits 31 bits.
uint Quotient(uint64_t numerator, uvec3 divisor) {
  if (kWide != 0u) return uint(numerator / uint64_t(divisor.x));
  return Divide(uint(numerator), divisor);
}

// (2 o + 1) in
uint64_t Doubled(uint axis, uint o) {
  return (2ul * uint64_t(o) + 1ul) * uint64_t(P4(kAxes + axis).w);
}

uint Nearest(uint axis, uint o) {
  // ceil(x - 1) for the positive x = (2 o + 1) in / (2 out): ties go to the lower neighbour.
  return Quotient(Doubled(axis, o) - 1ul, P4(kAxes + axis).xyz);
}

struct Neighbours {
  uint low;
  uint high;
  float share;  // Of the higher one.
};

Neighbours Interpolate(uint axis, uint o) {
  uvec4 parameters = P4(kAxes + axis);
  uint last = parameters.w - 1u;
  uint64_t doubled = Doubled(axis, o);
  uint64_t offset = uint64_t(parameters.x / 2u);
  if (doubled <= offset) return Neighbours(0u, 0u, 0.0);
  doubled -= offset;
  uint low = Quotient(doubled, parameters.xyz);
  if (low >= last) return Neighbours(last, last, 0.0);
  uint rest = uint(doubled - uint64_t(low) * uint64_t(parameters.x));
  return Neighbours(low, rest == 0u ? low : low + 1u, float(rest) / float(parameters.x));
}

float LoadFloat(uint i) {
  uvec2 raw = LOAD_RAW(1, kType, i);
  if (kType == kInt8) return float(bitfieldExtract(int(raw.x), 0, 8));
  return kType == kUint8 ? float(raw.x) : Decode(raw, kType);
}

uvec2 EncodeFloat(float value) {
  if (kType == kInt8 || kType == kUint8) return uvec2(uint(int(roundEven(value))), 0u);
  return Encode(value, kType);
}

// Nothing of `high` comes in with a share of 0, not even an infinity.
float Mix(float low, float high, float share) {
  return share == 0.0 ? low : low * (1.0 - share) + high * share;
}

uvec2 ComputeElement(uint e) {
  uvec4 place = StridedOffsets(e, kDimensions, P(1));
  uint first_stride = P(2);
  uint second_stride = P(3);
  if (kLinear == 0u) {
    return LOAD_RAW(1, kType, place.x + Nearest(0u, place.y) * first_stride +
                                  Nearest(1u, place.z) * second_stride);
  }
  Neighbours first = Interpolate(0u, place.y);
  Neighbours second = Interpolate(1u, place.z);
  uint low = place.x + first.low * first_stride;
  uint high = place.x + first.high * first_stride;
  uint left = second.low * second_stride;
  uint right = second.high * second_stride;
  float at_low = Mix(LoadFloat(low + left), LoadFloat(low + right), second.share);
  float at_high = Mix(LoadFloat(high + left), LoadFloat(high + right), second.share);
  return EncodeFloat(Mix(at_low, at_high, first.share));
}

void main() { STORE_ELEMENTS(2, kType, P(0), ComputeElement); }
