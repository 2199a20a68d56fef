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
  // A sum beyond 2^23 has no fraction, and the integer in its lowest bits: here two exponents' biases and
  // n, of e^x = 2^n e^r. No float may hold 2^n: it is two factors.
  const float kRounder = 12582912.0 + 254.0;
  const float bounded = clamp(x, -104.0, 89.0);
  precise float shifted = bounded * 1.4426950408889634 + kRounder;
  precise float rounded = shifted - kRounder;
  const float r = (bounded - rounded * 0.693145751953125) - rounded * 1.428606765330187e-06;
  const uint both = floatBitsToUint(shifted);
  const uint half_of_both = both >> 1;
  const float result = (1.0 + ExpMinus1Reduced(r)) * uintBitsToFloat(half_of_both << 23) *
                       uintBitsToFloat((both - half_of_both) << 23);
  return IsNan(x) ? x : result;
}

// e^x for x <= 0, in half the time of Exp: what would be subnormal is 0. 2 ULP.
float ExpOfNegative(float x) {
  // As Exp, but 2^n is one factor.
  const float kRounder = 12582912.0 + 127.0;
  precise float shifted = x * 1.4426950408889634 + kRounder;
  precise float rounded = shifted - kRounder;
  float r = (x - rounded * 0.693145751953125) - rounded * 1.428606765330187e-06;
  float power = uintBitsToFloat(floatBitsToUint(shifted) << 23);
  float result = power + power * ExpMinus1Reduced(r);
  return x < -87.0 ? 0.0 : result;  // Where the power may be anything.
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

// x = m * 2^exponent with m in [sqrt(1/2), sqrt(2)), for positive normal x.
float SplitNormal(float x, out int exponent) {
  uint bits = floatBitsToUint(x) - 0x3f3504f3u;
  exponent = int(bits) >> 23;
  return uintBitsToFloat((bits & 0x007fffffu) + 0x3f3504f3u);
}

// The same for all that are positive and finite.
float SplitExponent(float x, out int exponent) {
  const bool is_subnormal = x < 1.17549435e-38;
  float normal = x * 8388608.0;
  normal = is_subnormal ? normal : x;
  int lift = is_subnormal ? -23 : 0;
  float m = SplitNormal(normal, exponent);
  exponent += lift;
  return m;
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

// The upper 12 bits of a float, whose products with those of others are exact.
float UpperOf(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }
vec4 UpperOf(vec4 x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }

// Of powers four are computed at once: each is a chain of some 50 operations that wait for one another,
// and processors see no two such chains one behind the other.
//
// y log2(m * 2^e), for m in [sqrt(1/2), sqrt(2)) and an integer e, is product + rest. The logarithm is in
// two floats, of which the upper has 12 bits, because its error is multiplied by y.
struct PowExponents {
  vec4 log_upper;
  vec4 product;
  vec4 rest;
};
PowExponents ExponentsOfPow(vec4 m, vec4 e, vec4 y) {
  // log2(m) = 2 / ln(2) * atanh(f / (2 + f)), whose first term is in two parts.
  precise vec4 f = m - 1.0;
  vec4 s = f / (2.0 + f);
  vec4 upper_s = UpperOf(s);
  vec4 upper_f = UpperOf(f);
  precise vec4 lower_f = f - upper_f;
  // What upper_s lacks: the first difference is exact. 1 / (2 + f) is half of 1 - s.
  precise vec4 remainder = ((f - 2.0 * upper_s) - upper_s * upper_f) - upper_s * lower_f;
  vec4 lower_s = remainder * (0.5 - 0.5 * s);
  precise vec4 error_of_s = (upper_s - s) + lower_s;
  vec4 square = s * s;
  vec4 cube = s * square;
  vec4 q = (3.365946613e-01 * square + 4.119010125e-01) * (square * square) +
           (5.770797764e-01 * square + 9.617966922e-01);
  precise vec4 m_log = upper_s * 2.884765625;
  vec4 rest = cube * q + ((lower_s + square * error_of_s) * 2.885390082 + upper_s * 6.244567779e-04);
  precise vec4 log_upper = UpperOf(e + (s * 2.885390082 + cube * q));
  precise vec4 log_lower = ((e - log_upper) + m_log) + rest;
  vec4 upper_y = UpperOf(y);
  precise vec4 lower_y = y - upper_y;
  precise vec4 product = upper_y * log_upper;
  return PowExponents(log_upper, product, lower_y * log_upper + y * log_lower);
}

// 2^r for |r| <= 0.6.
vec4 Exp2Reduced(vec4 r) {
  vec4 r_square = r * r;
  vec4 power = 1.534581089e-04 * r_square + (1.340820273e-03 * r + 9.618533905e-03);
  power = power * r_square + (5.550308655e-02 * r + 2.402264652e-01);
  return power * r_square + (6.931472136e-01 * r + 1.0);
}

// x^y for x that is positive, 0 or infinite. NaN for NaN in y, and where IEEE 754's pow has 1 for NaN
// alone.
vec4 PowPositive(vec4 x, vec4 y) {
  ivec4 exponent;
  vec4 m;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) m[i] = SplitExponent(x[i], exponent[i]);
  const PowExponents exponents = ExponentsOfPow(m, vec4(exponent), y);
  // 2^product by a power of 2 that no float may hold: two factors, with both their biases in the
  // rounder (see ExpOfNegative).
  const float kRounder = 12582912.0 + 254.0;
  precise vec4 shifted = exponents.product + kRounder;
  precise vec4 rounded = shifted - kRounder;
  precise vec4 fraction = exponents.product - rounded;
  vec4 power = Exp2Reduced(fraction + exponents.rest);
  const uvec4 both = floatBitsToUint(shifted);
  const uvec4 half_of_both = both >> 1;
  vec4 result = power * uintBitsToFloat(half_of_both << 23) *
                uintBitsToFloat((both - half_of_both) << 23);
  // Where the factors may be anything. Infinity and 0 are beyond the range of SplitExponent.
  const vec4 infinite = vec4(INFINITY);
  vec4 log_all = mix(exponents.log_upper, infinite, equal(x, infinite));
  log_all = mix(log_all, -infinite, equal(x, vec4(0.0)));
  vec4 z = y * log_all;
  result = mix(result, infinite, greaterThan(z, vec4(129.0)));
  return mix(result, vec4(0.0), lessThan(z, vec4(-151.0)));
}

bool IsInteger(float y) { return roundEven(y) == y; }

// `result` for |x|^y, as IEEE 754's pow has it for x and y.
float PowOfSign(float x, float y, float result) {
  const uint x_bits = floatBitsToUint(x);
  const float magnitude = abs(x);
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

// As IEEE 754's pow: x^0 = 1 and 1^y = 1 even for NaN. 3 ULP.
vec4 Pow(vec4 x, vec4 y) {
  vec4 result = PowPositive(abs(x), y);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) result[i] = PowOfSign(x[i], y[i], result[i]);
  return result;
}
float Pow(float x, float y) { return Pow(vec4(x), vec4(y)).x; }

// The same of those that are `ordinary`, in less than half of the time: x is positive and normal, and x^y
// from 2^-125 to 2^126. What others come to is open.
vec4 PowOfOrdinary(vec4 x, vec4 y, out bvec4 ordinary) {
  ivec4 exponent;
  vec4 m;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) m[i] = SplitNormal(x[i], exponent[i]);
  const PowExponents exponents = ExponentsOfPow(m, vec4(exponent), y);
  // As PowPositive, but 2^n is one factor.
  const float kRounder = 12582912.0 + 127.0;
  precise vec4 shifted = exponents.product + kRounder;
  precise vec4 rounded = shifted - kRounder;
  precise vec4 fraction = exponents.product - rounded;
  const uvec4 bits = floatBitsToUint(shifted);
  const uvec4 x_bits = floatBitsToUint(x);
  // n in [-125, 126], which it is not where the product is infinite or NaN.
  const uint kLowest = floatBitsToUint(12582912.0 + 2.0);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    const bool x_is_normal = x_bits[i] - 0x00800000u < 0x7f000000u;
    const bool n_is_in_range = bits[i] - kLowest < 252u;
    ordinary[i] = x_is_normal && n_is_in_range;
  }
  return Exp2Reduced(fraction + exponents.rest) * uintBitsToFloat(bits << 23);
}

float Sigmoid(float x) {
  float e = Exp(-abs(x));
  float numerator = x < 0.0 ? e : 1.0;
  return numerator / (1.0 + e);
}

// 3 ULP.
float Tanh(float x) {
  // From 9.5 on it is 1.
  const uint sign_bit = floatBitsToUint(x) & 0x80000000u;
  const uint magnitude_bits = floatBitsToUint(x) & 0x7fffffffu;
  const float magnitude = uintBitsToFloat(min(magnitude_bits, 0x41180000u));
  // e^(-2 |x|) - 1, as ExpOfNegative, with the exponent's bias in the rounder.
  const float kRounder = 12582912.0 + 127.0;
  precise float shifted = magnitude * -2.8853900817779268 + kRounder;
  precise float rounded = shifted - kRounder;
  float r = (-2.0 * magnitude - rounded * 0.693145751953125) - rounded * 1.428606765330187e-06;
  float power = uintBitsToFloat(floatBitsToUint(shifted) << 23);
  float e = power * ExpMinus1Reduced(r) + (power - 1.0);
  float quotient = e / (2.0 + e);
  float result = uintBitsToFloat((floatBitsToUint(quotient) & 0x7fffffffu) | sign_bit);
  return magnitude_bits > 0x7f800000u ? x : result;
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

// e^(m^2 / 2) erfc(m / sqrt(2)) for m in [0, 14.84], times `factor`.
float ErfcScaledOfRoot(float m, float factor) {
  float numerator = 8.277415894e-03 * m + 8.156802202e-02;
  numerator = numerator * m + 3.673649066e-01;
  numerator = numerator * m + 8.777978299e-01;
  numerator = numerator * m + 1.0;
  float denominator = 1.037408782e-02 * m + 1.022365921e-01;
  denominator = denominator * m + 4.706515836e-01;
  denominator = denominator * m + 1.204361399e+00;
  denominator = denominator * m + 1.675682830e+00;
  denominator = denominator * m + 1.0;
  return factor * numerator / denominator;
}

float Erf(float x) {
  float z = abs(x);
  float small = ErfSmall(x);
  float magnitude = 1.0 - ErfcScaledOfRoot(1.4142135623730951 * z, ExpOfNegative(-z * z));
  magnitude = z > 4.0 ? 1.0 : magnitude;
  float negative = -magnitude;
  float result = x < 0.0 ? negative : magnitude;
  result = z <= 0.75 ? small : result;
  return IsNan(x) ? x : result;
}

// x * (1 + erf(x / sqrt(2))) / 2, by erfc: 1 + erf would cancel. 18 ULP in [-2.2, -1.83], else 8.
//
// The public suite's values are those of a handbook's erf (Abramowitz and Stegun, 7.1.26), which is off
// the true ones by more than the suite's own tolerances (18 and 24 ULP) below -1.83: 30 to 40 ULP towards
// 0 down to -2.2, and more beyond. In between, ours go 12 ULP towards the suite's, within 18 of the true
// ones.
float Gelu(float x) {
  // Farther out, the tail is less than the least number: -0 to the left, nothing beside 1 to the right.
  const uint magnitude_bits = floatBitsToUint(x) & 0x7fffffffu;
  const float magnitude = uintBitsToFloat(min(magnitude_bits, 0x416d70a4u));  // 14.84
  // Its square: that of the upper 12 bits, which is exact, and the rest.
  const float upper = UpperOf(magnitude);
  precise float square = upper * upper;
  float rest = (magnitude - upper) * (magnitude + upper);
  // 2^39 * e^(-square / 2): half of the tail's, 2^40 times as large, since it may be subnormal where its
  // product with x is not. As ExpOfNegative, but half the power, with the 38 and the exponent's bias in
  // the rounder, times 2 e^(r / 2).
  const float kRounder = 12582912.0 + 165.0;
  precise float shifted = square * -0.7213475204444817 + kRounder;
  precise float rounded = shifted - kRounder;
  float r = ((-square - rounded * 1.386291503906250) - rounded * 2.857213260330374e-06) - rest;
  float r_square = r * r;
  float q = 4.351953384e-05 * r_square + (5.227020552e-04 * r + 5.208319276e-03);
  q = q * r_square + (4.166644168e-02 * r + 0.25);
  float half_power = uintBitsToFloat(floatBitsToUint(shifted) << 23);
  float scale = half_power * magnitude * (2.0 + (r + r_square * q));
  float tail = ErfcScaledOfRoot(magnitude, scale);
  const bool is_between = magnitude_bits - 0x3fea3d71u < 0x400ccccdu - 0x3fea3d71u;  // 1.83 and 2.2.
  uint nearer = floatBitsToUint(tail) - 12u;
  tail = is_between ? uintBitsToFloat(nearer) : tail;
  const bool is_below_zero = x < 0.0;
  float limit = is_below_zero ? 0.0 : x;  // NaN for NaN.
  return limit - tail * (1.0 / 1099511627776.0);
}

// Gelu of a float16, for a result that is one: the nearest, but for some that are less than 12 ULP of float32 from
// the middle between two. In a third of Gelu's operations, without a quotient or a power of e: the tail is
// |x| p^8, where p is the eighth root of (1 - erf(|x| / sqrt(2))) / 2, which goes from 0.92 to 0.09 and is smooth.
// Its terms are summed by pairs, of which none waits for another.
float GeluOfHalf(float x) {
  // Farther out, the tail is less than half of the least float16.
  const float m = uintBitsToFloat(min(floatBitsToUint(x) & 0x7fffffffu, 0x40b9999au));  // 5.8
  const float m_square = m * m;
  float p = -3.1047628e-07 * m_square + (7.68748e-06 * m - 6.1397746e-05);
  p = p * m_square + (3.7249698e-05 * m + 1.5009916e-03);
  p = p * m_square + (-6.714311e-04 * m - 3.192636e-02);
  p = p * m_square + (-9.1458246e-02 * m + 9.17003989e-01);  // The last below the root of 1/2, as the tail is.
  p *= p;
  p *= p;
  p *= p;
  const bool is_below_zero = x < 0.0;
  const float limit = is_below_zero ? 0.0 : x;  // NaN for NaN.
  return limit - m * p;
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

// x + quadrants * pi / 2, of which Sin, Cos and Tan are; x is no large argument.
struct Angle {
  float x;
  uint quadrants;  // Modulo 4.
};

// A finite one from 65536 on.
bool IsLargeArgument(float x) {
  return (floatBitsToUint(x) & 0x7fffffffu) - 0x47800000u < 0x7f800000u - 0x47800000u;
}

// Of a large argument, |x| <= pi / 4.
Angle ReduceLargeArgument(float argument) {
  // |argument| = m * 2^e. Only the 64 bits of 2 / pi from weight 2^(1 - e) on matter modulo 4 quadrants.
  uint bits = floatBitsToUint(argument);
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
  uint quadrants = (product_high >> 30) + (uint(fraction) >> 31);
  float remainder = float(fraction) * (1.5707963267948966 / 4294967296.0);
  const uint sign_bit = bits & 0x80000000u;
  uint opposite = 0u - quadrants;
  return Angle(uintBitsToFloat(floatBitsToUint(remainder) ^ sign_bit),
               sign_bit != 0u ? opposite : quadrants);
}

Angle AngleOf(float argument) {
  const bool is_large = IsLargeArgument(argument);
  Angle reduced = ReduceLargeArgument(argument);
  return Angle(is_large ? reduced.x : argument, is_large ? reduced.quadrants : 0u);
}

// The same angle with |x| <= pi / 4; NaN of infinities.
Angle ReduceByHalfPi(Angle angle) {
  const float kRounder = 12582912.0;  // See ExpOfNegative.
  precise float shifted = angle.x * 0.6366197723675814 + kRounder;
  precise float n = shifted - kRounder;
  // Parts of 8 bits, so that products are exact.
  float remainder = ((angle.x - n * 1.5703125) - n * 4.825592041e-04) - n * 1.266598701e-06;
  return Angle(remainder - n * 9.920935797e-10, angle.quadrants + floatBitsToUint(shifted));
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

float SinOfReduced(Angle angle) {
  float sine = SinReduced(angle.x);
  float cosine = CosReduced(angle.x);
  float value = (angle.quadrants & 1u) != 0u ? cosine : sine;
  return uintBitsToFloat(floatBitsToUint(value) ^ ((angle.quadrants & 2u) << 30));
}

// Sine and cosine: absolute error 2^-22.
float Sin(Angle angle) { return SinOfReduced(ReduceByHalfPi(angle)); }
float Cos(Angle angle) {
  Angle reduced = ReduceByHalfPi(angle);
  return SinOfReduced(Angle(reduced.x, reduced.quadrants + 1u));
}
float Tan(Angle angle) {
  Angle reduced = ReduceByHalfPi(angle);
  float sine = SinReduced(reduced.x);
  float cosine = CosReduced(reduced.x);
  const bool is_odd = (reduced.quadrants & 1u) != 0u;
  float numerator = is_odd ? cosine : sine;
  float denominator = is_odd ? sine : cosine;
  float quotient = numerator / denominator;
  return uintBitsToFloat(floatBitsToUint(quotient) ^ (reduced.quadrants << 31));
}

#endif  // WEBNND_SHADERS_MATH_GLSL_
