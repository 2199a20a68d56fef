// Where elements of a resampled dimension lie between those of the input.
//
// Coordinates are fractions of integers, so that no rounding picks a wrong neighbour: element o lies at
// ((2 o + 1) in - out) / (2 out) in the input. `axis` is {twice the size in the result, as divisor; size in
// the input} of the dimension.
#ifndef WEBNND_SHADERS_RESAMPLE_GLSL_
#define WEBNND_SHADERS_RESAMPLE_GLSL_

#include "tensor.glsl"

// The whole part of a fraction whose denominator is twice the size in the result, and the rest of its
// numerator. The former fits 31 bits.
struct Fraction {
  uint whole;
  uint rest;
};

// ((2 o + 1) in + addend) / (2 out); the numerator is not negative. `wide`: it may take 64 bits.
Fraction FractionAt(uvec4 axis, uint o, int addend, bool wide) {
  if (wide) {
    uint64_t numerator = (2ul * uint64_t(o) + 1ul) * uint64_t(axis.w) + uint64_t(int64_t(addend));
    uint64_t whole = numerator / uint64_t(axis.x);
    return Fraction(uint(whole), uint(numerator - whole * uint64_t(axis.x)));
  }
  uint numerator = (2u * o + 1u) * axis.w + uint(addend);
  uint whole = Divide(numerator, axis.xyz);
  return Fraction(whole, numerator - whole * axis.x);
}

// ceil(x - 1) for the positive x = (2 o + 1) in / (2 out): ties go to the lower neighbour.
Fraction NearestAt(uvec4 axis, uint o, bool wide) { return FractionAt(axis, o, -1, wide); }

// One more than the place between two elements, so that it is not negative.
Fraction BetweenAt(uvec4 axis, uint o, bool wide) {
  return FractionAt(axis, o, int(axis.x / 2u), wide);
}

// Of the higher neighbour.
float ShareOf(uvec4 axis, Fraction between) { return float(between.rest) / float(axis.x); }

struct Neighbours {
  uint low;
  uint high;
  float share;
};

Neighbours NeighboursOf(uvec4 axis, Fraction between) {
  uint last = axis.w - 1u;
  uint high = min(between.whole, last);
  uint low = min(max(between.whole, 1u) - 1u, last);
  return Neighbours(low, high, low == high ? 0.0 : ShareOf(axis, between));
}

// Nothing of `high` comes in with a share of 0, not even an infinity.
float Mix(float low, float high, float share) {
  float mixed = low * (1.0 - share) + high * share;
  return share == 0.0 ? low : mixed;
}

#endif  // WEBNND_SHADERS_RESAMPLE_GLSL_
