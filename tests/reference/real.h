// Real: a number with a bound on how far a float32 computation of it may be off. The reference
// evaluates in extended precision and carries the bound along, so that an operator's tolerance
// follows from what it does to its operands, and from one statement per basic operation.
#ifndef WEBNND_TESTS_REFERENCE_REAL_H_
#define WEBNND_TESTS_REFERENCE_REAL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace webnnd::reference {

// Numbers below this may be flushed to 0.
inline const long double kLeastNormal = std::ldexp(1.0L, -126);

// One unit in the last place (ULP) of float32 at x.
inline long double Spacing(long double x) {
  if (x == 0 || !std::isfinite(x)) return 0;
  return std::ldexp(1.0L, std::max(std::ilogb(x), -126) - 23);
}

long double RoundToHalf(long double value);

// While one lives, every operation rounds to float16: what a kernel would give that calculated in
// it, for the proof that tests notice.
class HalfArithmetic {
 public:
  HalfArithmetic() { alive_ = true; }
  ~HalfArithmetic() { alive_ = false; }
  HalfArithmetic(const HalfArithmetic&) = delete;
  HalfArithmetic& operator=(const HalfArithmetic&) = delete;
  static long double Round(long double value) { return alive_ ? RoundToHalf(value) : value; }

 private:
  static inline bool alive_ = false;
};

struct Real {
  long double value = 0;
  long double error = 0;

  Real() = default;
  // Exactly this number.
  Real(long double exact) : value(exact) {}  // NOLINT: arithmetic mixes both.
  // At most `error` off. Infinities and NaN are what they are, whatever came before.
  static Real Within(long double value, long double error) {
    Real real(HalfArithmetic::Round(value));
    if (std::isfinite(value)) real.error = error;
    return real;
  }
  // What an operation gives that is `ulps` units off, of operands that made it `carried` off.
  static Real Rounded(long double value, long double carried, long double ulps = 1) {
    const long double flushed = std::fabs(value) < 2 * kLeastNormal ? kLeastNormal : 0;
    return Within(value, carried + ulps * Spacing(value) + flushed);
  }
};

// Vulkan rounds sums and products correctly, and leaves open in which direction.
inline Real operator+(Real a, Real b) {
  return Real::Rounded(a.value + b.value, a.error + b.error);
}
inline Real operator-(Real a, Real b) {
  return Real::Rounded(a.value - b.value, a.error + b.error);
}
inline Real operator*(Real a, Real b) {
  const auto part = [](long double error, long double factor) {
    return error == 0 ? 0 : error * std::fabs(factor);  // Not 0 * infinity.
  };
  return Real::Rounded(a.value * b.value,
                       part(a.error, b.value) + part(b.error, a.value) + part(a.error, b.error));
}
// Vulkan's division: 2.5 ULP.
inline Real operator/(Real a, Real b) {
  const long double value = a.value / b.value;
  long double carried = 0;
  if (a.error != 0 || b.error != 0) {
    // Infinite where the divisor might be 0.
    const long double divisor = std::max(std::fabs(b.value) - b.error, 0.0L);
    carried = (a.error + std::fabs(value) * b.error) / divisor;
  }
  return Real::Rounded(value, carried, 2.5L);
}

// A function that is `ulps` off and monotonic around x as far as x may be off.
template <class Function>
Real Map(Function function, Real x, long double ulps) {
  const long double value = function(x.value);
  long double carried = 0;
  if (x.error != 0 && std::isfinite(value)) {
    carried = std::max(std::fabs(function(x.value + x.error) - value),
                       std::fabs(function(x.value - x.error) - value));
  }
  return Real::Rounded(value, carried, ulps);
}

// What shaders/math.glsl states of its functions, in ULP.
inline Real Exp(Real x) {
  return Map([](long double v) { return std::exp(v); }, x, 2);
}
inline Real ExpMinus1(Real x) {
  return Map([](long double v) { return std::expm1(v); }, x, 4);
}
inline Real Log(Real x) {
  return Map([](long double v) { return std::log(v); }, x, 2);
}
// 1 ULP in the conformance suite; Vulkan alone would allow more. What may be off into the negative
// counts as 0.
inline Real Sqrt(Real x) {
  const bool negative = x.value < 0;
  return Map([=](long double v) { return std::sqrt(negative ? v : std::max(v, 0.0L)); }, x, 1);
}
inline Real Sigmoid(Real x) {
  // e^-|x| (2 ULP), a sum and a quotient.
  return Map([](long double v) { return 1 / (1 + std::exp(-v)); }, x, 6);
}
inline Real Tanh(Real x) {
  return Map([](long double v) { return std::tanh(v); }, x, 3);
}
inline Real Relu(Real x) {
  Real result = x;
  if (!std::isnan(x.value)) result.value = std::max(x.value, 0.0L);
  return result;
}

inline Real Clamp(Real x, long double least, long double greatest) {
  if (std::isnan(x.value)) return x;
  return Map([=](long double v) { return std::clamp(v, least, greatest); }, x, 0);
}

// A sum of many terms, in whatever order and grouping. Its error grows with the sum of the terms'
// sizes: at worst by a rounding for each term, and all but surely by no more than a few times the
// square root of their number (Higham and Mary, 2019).
class Sum {
 public:
  void Add(Real term) {
    value_ = HalfArithmetic::Round(value_ + term.value);
    carried_ += term.error;
    magnitude_ += std::fabs(term.value) + term.error;
    ++count_;
  }
  Real Result() const {
    if (count_ <= 1) return Real::Within(value_, carried_);
    const auto n = static_cast<long double>(count_);
    const long double roundings = std::min(n - 1, 6 * std::sqrt(n));
    return Real::Within(value_, carried_ + roundings * std::ldexp(magnitude_, -23) + kLeastNormal);
  }

 private:
  long double value_ = 0;
  long double carried_ = 0;
  long double magnitude_ = 0;
  uint64_t count_ = 0;
};

}  // namespace webnnd::reference

#endif  // WEBNND_TESTS_REFERENCE_REAL_H_
