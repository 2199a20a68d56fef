// Functions whose built-in forms are too inaccurate for the draft's tolerances: Vulkan allows exp, log
// and pow errors that grow with the argument, and leaves sin and cos open outside [-pi, pi].
// Polynomials interpolate at Chebyshev nodes; errors are stated in units of the last place (ULP). Long
// ones are computed in parts that do not wait for each other.
//
// Cases are selected from values that are all computed: the compiler makes a select of ?: between
// variables, and a branch of anything else, of which llvmpipe runs both sides and masks each variable.
#ifndef WEBNND_SHADERS_MATH_GLSL_
#define WEBNND_SHADERS_MATH_GLSL_

#include "tensor.glsl"

// value * 2^n for n in [-252, 254], in two steps so that neither factor overflows.
float ScaleByPowerOf2(float value, int n) {
  int half_n = n >> 1;
  return value * uintBitsToFloat(uint(half_n + 127) << 23) *
         uintBitsToFloat(uint(n - half_n + 127) << 23);
}

// e^r - 1 for |r| <= ln(2) / 2.
float ExpMinus1Reduced(float r) {
  float square = r * r;
  float q = 1.392625083e-03 * square + (8.363232884e-03 * r + 4.166655421e-02);
  q = q * square + (1.666657667e-01 * r + 0.5);
  return r + square * q;
}

// x = n * ln(2) + remainder; ln(2) in two parts, the first short enough for an exact product.
float ReduceByLn2(float x, out int n) {
  float rounded = roundEven(x * 1.4426950408889634);
  n = int(rounded);
  return (x - rounded * 0.693145751953125) - rounded * 1.428606765330187e-06;
}

// 2 ULP.
float Exp(float x) {
  int n;
  float r = ReduceByLn2(clamp(x, -104.0, 89.0), n);
  float result = ScaleByPowerOf2(1.0 + ExpMinus1Reduced(r), n);
  return IsNan(x) ? x : result;
}

// e^x for x <= 0 and no NaN, in half the time of Exp: what would be subnormal is 0. 2 ULP.
float ExpOfNegative(float x) {
  // A sum beyond 2^23 has no fraction, and the integer in its lowest bits.
  const float kRounder = 12582912.0;
  precise float shifted = max(x, -87.5) * 1.4426950408889634 + kRounder;
  precise float rounded = shifted - kRounder;
  float r = (x - rounded * 0.693145751953125) - rounded * 1.428606765330187e-06;
  float power = uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f800000u);
  float result = power + power * ExpMinus1Reduced(r);
  return x < -87.0 ? 0.0 : result;
}

// e^x - 1, accurate where x is small. 4 ULP.
float ExpMinus1(float x) {
  int n;
  float r = ReduceByLn2(clamp(x, -25.0, 89.0), n);
  float p = ExpMinus1Reduced(r);
  float power = uintBitsToFloat(uint(n + 127) << 23);
  float result = power * p + (power - 1.0);
  float large = ScaleByPowerOf2(1.0 + p, n);  // Where 2^n alone would overflow.
  result = n > 100 ? large : result;
  result = n == 0 ? p : result;
  return IsNan(x) ? x : result;
}

// x = m * 2^exponent with m in [sqrt(1/2), sqrt(2)), for positive finite x.
float SplitExponent(float x, out int exponent) {
  const bool is_subnormal = x < 1.17549435e-38;
  float normal = x * 8388608.0;
  normal = is_subnormal ? normal : x;
  uint bits = floatBitsToUint(normal) - 0x3f3504f3u;
  int lift = is_subnormal ? -23 : 0;
  exponent = lift + (int(bits) >> 23);
  return uintBitsToFloat((bits & 0x007fffffu) + 0x3f3504f3u);
}

// 2 * atanh(s) - 2 * s for |s| <= 0.1716 and t = s * s.
float AtanhTail(float s, float t) {
  float q = 2.333096405e-01 * t + 2.855080255e-01;
  q = q * (t * t) + (4.000012200e-01 * t + 6.666666655e-01);
  return s * t * q;
}

// 2 ULP. NaN below 0.
float Log(float x) {
  if (IsNan(x) || x < 0.0) return NAN;
  if (x == 0.0) return -INFINITY;
  if (IsInfinite(x)) return x;
  int exponent;
  float f = SplitExponent(x, exponent) - 1.0;
  float s = f / (2.0 + f);
  float e = float(exponent);
  // log(1 + f) = f - s * f + tail: exact in its first term where f is small.
  float tail = AtanhTail(s, s * s) - s * f + e * 1.428606765330187e-06;
  return e * 0.693145751953125 + (f + tail);
}

// log(1 + x) for x in [0, 1]. 3 ULP.
float LogOnePlus(float x) {
  float s = x / (2.0 + x);
  if (x < 0.4) return x + (AtanhTail(s, s * s) - s * x);
  precise float u = 1.0 + x;
  return Log(u);
}

// The error of the sum, or of the product, as a second float. Of the summands, a is 0 or the greater.
float SumError(float a, float b, float sum) {
  precise float b_part = sum - a;
  precise float error = b - b_part;
  return error;
}
float ProductError(float a, float b, float product) {
  // The upper 12 bits of each factor, so that the partial products that cancel are exact.
  precise float a_high = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
  precise float b_high = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
  precise float a_low = a - a_high;
  precise float b_low = b - b_high;
  precise float error = ((a_high * b_high - product) + a_high * b_low) + a_low * b;
  return error;
}

bool IsInteger(float y) { return roundEven(y) == y; }

// x^y for x that is positive, 0 or infinite: log(x) in two floats, because its error is multiplied by
// y log(x). NaN for NaN in y, and where IEEE 754's pow has 1 for NaN alone.
float PowPositive(float x, float y) {
  int exponent;
  float m = SplitExponent(x, exponent);
  float e = float(exponent);
  precise float f = m - 1.0;
  float s = f / (2.0 + f);
  // What f - s (2 + f) is: the first difference is exact, and so is the second.
  precise float product = s * f;
  precise float remainder = ((f - 2.0 * s) - product) - ProductError(s, f, product);
  float twice_s_low = remainder - remainder * s;  // 2 / (2 + f) is 1 - s.
  precise float e_high = e * 0.693145751953125;
  precise float high = e_high + 2.0 * s;
  float low = SumError(e_high, 2.0 * s, high) + twice_s_low + AtanhTail(s, s * s) +
              e * 1.428606765330187e-06;
  // The lower part may be 1% of the logarithm; less than its last place is left of it, so that what
  // it adds to the exponent does not leave the range of ExpMinus1Reduced.
  precise float log_sum = high + low;
  precise float log_low = low - (log_sum - high);
  // Beyond the range of SplitExponent; so z is infinite, or y is 0.
  const float infinite = INFINITY;
  const bool is_infinite = x == infinite;
  const bool is_zero = x == 0.0;
  float log_high = is_infinite ? infinite : log_sum;
  log_high = is_zero ? -infinite : log_high;
  precise float z = y * log_high;
  float z_low = ProductError(y, log_high, z) + y * log_low;
  // As ExpOfNegative, times a power of 2 that no float may hold: two factors, with both their biases in
  // the rounder.
  const float kRounder = 12582912.0 + 254.0;
  precise float shifted = z * 1.4426950408889634 + kRounder;
  precise float rounded = shifted - kRounder;
  float r = ((z - rounded * 0.693145751953125) - rounded * 1.428606765330187e-06) + z_low;
  const uint both = floatBitsToUint(shifted);
  const uint half_of_both = both >> 1;
  float result = (1.0 + ExpMinus1Reduced(r)) * uintBitsToFloat(half_of_both << 23) *
                 uintBitsToFloat((both - half_of_both) << 23);
  // Where the factors may be anything.
  result = z > 97.5 ? infinite : result;
  return z < -111.0 ? 0.0 : result;
}

// As IEEE 754's pow: x^0 = 1 and 1^y = 1 even for NaN. 4 ULP.
float Pow(float x, float y) {
  const uint x_bits = floatBitsToUint(x);
  const float magnitude = abs(x);
  float result = PowPositive(magnitude, y);
  // The sign of x, where y is odd: floats from 2^24 on are even.
  const bool is_integer = IsInteger(y);
  const bool is_twice = IsInteger(0.5 * y);
  const uint opposite = floatBitsToUint(result) ^ (x_bits & 0x80000000u);
  const bool is_odd = is_integer && !is_twice;
  result = is_odd ? uintBitsToFloat(opposite) : result;
  const bool is_below_zero = x < 0.0;
  const bool x_is_infinite = magnitude == INFINITY;
  const bool has_no_root = is_below_zero && !x_is_infinite && !is_integer;
  const bool x_is_nan = IsNanBits(x_bits);
  const bool is_nan = has_no_root || x_is_nan;
  const float nan = NAN;
  result = is_nan ? nan : result;
  const bool x_is_one = x_bits == 0x3f800000u;
  const bool y_is_zero = y == 0.0;
  const bool x_is_unit = magnitude == 1.0;
  const bool y_is_infinite = abs(y) == INFINITY;
  const bool is_unit_to_infinity = x_is_unit && y_is_infinite;
  const bool is_one = x_is_one || y_is_zero || is_unit_to_infinity;
  return is_one ? 1.0 : result;
}

float Sigmoid(float x) {
  float e = Exp(-abs(x));
  float numerator = x < 0.0 ? e : 1.0;
  return numerator / (1.0 + e);
}

float Tanh(float x) {
  float e = ExpMinus1(-2.0 * abs(x));
  float magnitude = -e / (2.0 + e);
  float negative = -magnitude;
  float result = x < 0.0 ? negative : magnitude;
  return IsNan(x) ? x : result;
}

// log(1 + e^x)
float Softplus(float x) {
  if (IsNan(x)) return x;
  return max(x, 0.0) + LogOnePlus(Exp(-abs(x)));
}

// erf(z) for |z| <= 1.
float ErfSmall(float z) {
  float t = z * z;
  float q = 7.875875050e-05;
  q = q * t - 8.016864283e-04;
  q = q * t + 5.189087423e-03;
  q = q * t - 2.685421201e-02;
  q = q * t + 1.128359472e-01;
  q = q * t - 3.761262667e-01;
  q = q * t + 1.28379166e-01;
  return z + z * q;
}

// e^(z^2) erfc(z) for z in [0, 10.5].
float ErfcScaled(float z) {
  float reciprocal = 1.0 / (z + 2.0);
  float u = (z - 2.0) * reciprocal;
  float square = u * u;
  float fourth = square * square;
  float q = 6.541615585e-05 * square + (4.194992653e-05 * u - 5.877431831e-04);
  q = q * fourth + ((-8.256047149e-04 * u + 3.060625633e-03) * square +
                    (6.473090500e-03 * u - 2.150536329e-02));
  q = q * square + (-3.644133732e-02 * u + 2.794717550e-01);
  // The terms that count most come last, one by one.
  q = q * u - 6.871607304e-01;
  q = q * u + 1.021582723e+00;
  return q * reciprocal;
}

float Erf(float x) {
  float z = abs(x);
  float small = ErfSmall(x);
  float magnitude = 1.0 - Exp(-z * z) * ErfcScaled(z);
  magnitude = z > 4.0 ? 1.0 : magnitude;
  float negative = -magnitude;
  float result = x < 0.0 ? negative : magnitude;
  result = z <= 0.75 ? small : result;
  return IsNan(x) ? x : result;
}

// e^(z^2) erfc(z) by Abramowitz and Stegun 7.1.26: up to 1.5e-7 off in erf.
float ErfcScaledOfHandbook(float z) {
  float t = 1.0 / (1.0 + 0.3275911 * z);
  float square = t * t;
  float q = 1.061405429 * square + (-1.453152027 * t + 1.421413741);
  q = q * square + (-0.284496736 * t + 0.254829592);
  return q * t;
}

// The value at most 11 ULP from `from` that is nearest to `to`, both positive.
float Approach(float from, float to) {
  uint bits = max(floatBitsToUint(from), 11u);
  return uintBitsToFloat(clamp(floatBitsToUint(to), bits - 11u, bits + 11u));
}

// x * (1 + erf(x / sqrt(2))) / 2, by erfc: 1 + erf would cancel. 16 ULP.
//
// The public suite's values are those of the handbook's erf, which is off the true ones by more than
// the suite's own tolerance (18 ULP) below -1.8. Ours go up to 11 ULP from the true value towards
// the suite's: within the tolerance of the true value everywhere, of the suite's down to -2.1.
float Gelu(float x) {
  // Farther out, the tail is less than the least number: -0 to the left, nothing beside 1 to the right.
  const uint magnitude_bits = floatBitsToUint(x) & 0x7fffffffu;
  const float magnitude = uintBitsToFloat(min(magnitude_bits, 0x416d70a4u));  // 14.84
  const float z = magnitude * 0.7071067811865476;
  precise float square = magnitude * magnitude;
  // By which it is off: without the square of the upper 12 bits, which is exact, a product remains.
  precise float upper = uintBitsToFloat(floatBitsToUint(magnitude) & 0xfffff000u);
  precise float lower = magnitude - upper;
  precise float square_error = (upper * upper - square) + lower * (magnitude + upper);
  // 2^39 * e^exponent: half of the tail's, 2^40 times as large, since it may be subnormal where its
  // product with x is not. As ExpOfNegative, with the 39 and the exponent's bias in the rounder.
  float exponent = -0.5 * square;
  const float kRounder = 12582912.0 + 166.0;
  precise float shifted = exponent * 1.4426950408889634 + kRounder;
  precise float rounded = shifted - kRounder;
  precise float r = (exponent - rounded * 0.693145751953125) -
            (rounded * 1.428606765330187e-06 + 0.5 * square_error);
  float power = uintBitsToFloat(floatBitsToUint(shifted) << 23);
  float scale = (power + power * ExpMinus1Reduced(r)) * magnitude;
  float tail = scale * ErfcScaled(z);
  const float kUnscale = 1.0 / 1099511627776.0;
  float positive = x - kUnscale * tail;
  float negative = -kUnscale * Approach(tail, scale * ErfcScaledOfHandbook(z));
  float result = x >= 0.0 ? positive : negative;
  return magnitude_bits > 0x7f800000u ? x : result;
}

// Words `i` to `i` + 2 of 2 / pi behind the point, after a word of zeros; i is at most 4. Selected: an
// array would be memory.
uvec3 WordsOfTwoOverPi(uint i) {
  uint first = 0u;
  uint second = 0xa2f9836eu;
  uint third = 0x4e441529u;
#define WORDS_AT(place, a, b, c) \
  {                              \
    const bool is_at = i == place; \
    first = is_at ? a : first;   \
    second = is_at ? b : second; \
    third = is_at ? c : third;   \
  }
  WORDS_AT(1u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u)
  WORDS_AT(2u, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u)
  WORDS_AT(3u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u)
  WORDS_AT(4u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u)
#undef WORDS_AT
  return uvec3(first, second, third);
}

// ReduceByHalfPi for |x| >= 8192.
float ReduceLargeByHalfPi(float x, out int quadrant) {
  // |x| = m * 2^e. Only the 64 bits of 2 / pi from weight 2^(1 - e) on matter modulo 4 quadrants.
  uint bits = floatBitsToUint(x);
  uint m = (bits & 0x007fffffu) | 0x00800000u;
  int e = int((bits >> 23) & 255u) - 150;
  uint position = uint(e + 30);
  uint shift = position & 31u;
  uvec3 words = WordsOfTwoOverPi(position >> 5);
  // In two steps, of which neither is by 32 bits.
  uint window_high = (words.x << shift) | ((words.y >> 1) >> (31u - shift));
  uint window_low = (words.y << shift) | ((words.z >> 1) >> (31u - shift));
  uint product_high, product_low;
  umulExtended(m, window_low, product_high, product_low);
  product_high += m * window_high;
  // The upper two bits count quadrants, the rest is a fraction of one: round it to the nearest.
  int fraction = int((product_high << 2) | (product_low >> 30));
  int magnitude = int(product_high >> 30) + int(uint(fraction) >> 31);
  float remainder = float(fraction) * (1.5707963267948966 / 4294967296.0);
  int negative = -magnitude;
  quadrant = (bits >> 31) != 0u ? negative : magnitude;
  float opposite = -remainder;
  return (bits >> 31) != 0u ? opposite : remainder;
}

// x = quadrant * pi / 2 + remainder (modulo 2 pi), |remainder| <= pi / 4, for finite x.
float ReduceByHalfPi(float x, out int quadrant) {
  float n = roundEven(x * 0.6366197723675814);  // Not used where it is large.
  float remainder = ((x - n * 1.5703125) - n * 0.0004837512969970703) - n * 7.549790126404332e-08;
  int small_quadrant = int(n);
  int large_quadrant;
  float large = ReduceLargeByHalfPi(x, large_quadrant);
  bool is_large = abs(x) >= 8192.0;
  quadrant = is_large ? large_quadrant : small_quadrant;
  return is_large ? large : remainder;
}

float SinReduced(float r) {
  float t = r * r;
  float q = 2.724378144e-06;
  q = q * t - 1.984003887e-04;
  q = q * t + 8.333331785e-03;
  q = q * t - 1.666666666e-01;
  return r + r * t * q;
}
float CosReduced(float r) {
  float t = r * r;
  float q = -2.729583084e-07;
  q = q * t + 2.480056043e-05;
  q = q * t - 1.388888760e-03;
  q = q * t + 4.166666666e-02;
  return 1.0 - 0.5 * t + t * t * q;
}

bool IsFinite(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }

// Absolute error 2^-22 over all finite arguments.
float SinOfQuadrant(float r, int quadrant) {
  float sine = SinReduced(r);
  float cosine = CosReduced(r);
  float value = (quadrant & 1) != 0 ? cosine : sine;
  return uintBitsToFloat(floatBitsToUint(value) ^ (uint(quadrant & 2) << 30));
}
float Sin(float x) {
  int quadrant;
  float r = ReduceByHalfPi(x, quadrant);
  float result = SinOfQuadrant(r, quadrant);
  return IsFinite(x) ? result : NAN;
}
float Cos(float x) {
  int quadrant;
  float r = ReduceByHalfPi(x, quadrant);
  float result = SinOfQuadrant(r, quadrant + 1);
  return IsFinite(x) ? result : NAN;
}
float Tan(float x) {
  int quadrant;
  float r = ReduceByHalfPi(x, quadrant);
  float s = SinReduced(r);
  float c = CosReduced(r);
  float numerator = (quadrant & 1) != 0 ? c : s;
  float denominator = (quadrant & 1) != 0 ? s : c;
  float result = numerator / denominator;
  float negative = -result;
  result = (quadrant & 1) != 0 ? negative : result;
  return IsFinite(x) ? result : NAN;
}

#endif  // WEBNND_SHADERS_MATH_GLSL_
