// Element-wise kernels against long double loops, at tolerances no wider than the conformance
// suite's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using Values = std::vector<long double>;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
constexpr OperandDataType kFloatTypes[] = {OperandDataType::kFloat32, OperandDataType::kFloat16};
constexpr OperandDataType kSignedTypes[] = {OperandDataType::kInt32, OperandDataType::kInt64,
                                            OperandDataType::kInt8};
constexpr OperandDataType kIntegerTypes[] = {OperandDataType::kInt32, OperandDataType::kUint32,
                                             OperandDataType::kInt64, OperandDataType::kUint64,
                                             OperandDataType::kInt8,  OperandDataType::kUint8};
constexpr OperandDataType kAllTypes[] = {OperandDataType::kFloat32, OperandDataType::kFloat16,
                                         OperandDataType::kInt32,   OperandDataType::kUint32,
                                         OperandDataType::kInt64,   OperandDataType::kUint64,
                                         OperandDataType::kInt8,    OperandDataType::kUint8};

std::string Name(OperandDataType type) { return std::string(webidl::ToString(type)); }

bool IsFloat(OperandDataType type) {
  return type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16;
}

// Numbers that the type holds: small ones of both signs, its extremes and, of floats, NaN.
Values Samples(OperandDataType type) {
  switch (type) {
    case OperandDataType::kFloat32:
      return {0.0L,  -0.0L, 1,         -1,         0.5L, -2.5L,   3.5L,  1e-30L, -3e38L,
              3e38L, 1e38L, kInfinity, -kInfinity, kNan, 100.25L, -0.1L, 2,      16777217};
    case OperandDataType::kFloat16:
      return {0.0L,  -0.0L, 1,         -1,         0.5L, -2.5L,   3.5L,  6.2e-5L, -65504,
              65504, 30000, kInfinity, -kInfinity, kNan, 100.25L, -0.1L, 2,       2049};
    case OperandDataType::kInt32:
      return {0, 1, -1, 2, -2, 7, -100, 65536, INT32_MAX, INT32_MIN, 46341, 3};
    case OperandDataType::kUint32:
      return {0, 1, 2, 3, 7, 100, 65536, INT32_MAX, 2147483648.0L, UINT32_MAX, 46341};
    case OperandDataType::kInt64:
      return {0, 1, -1, 2, -2, 7, -100, 4294967296.0L, INT64_MAX, INT64_MIN, 3037000500.0L, 3};
    case OperandDataType::kUint64:
      return {0, 1, 2, 3, 7, 100, 4294967296.0L, INT64_MAX, 9223372036854775808.0L, UINT64_MAX};
    case OperandDataType::kInt8:
      return {0, 1, -1, 2, -2, 7, -100, 127, -128, 12, 3};
    case OperandDataType::kUint8:
      return {0, 1, 2, 3, 7, 100, 127, 128, 255, 16};
    case OperandDataType::kInt4:
      return {0, 1, -1, 7, -8, 3, -5};
    case OperandDataType::kUint4:
      return {0, 1, 7, 8, 15, 3, 5};
  }
  return {};
}

HostTensor Vector(OperandDataType type, const Values& values) {
  return HostTensor::Create(type, {static_cast<uint32_t>(values.size())}, values);
}

// What a device that flushes subnormals may give for `value` is 0.
long double Flush(OperandDataType type, long double value) {
  if (type == OperandDataType::kFloat32 && std::fabs(value) < 1.17549436e-38L) return 0;
  return value;
}

void ExpectClose(const Values& expected, const HostTensor& actual, double ulp,
                 double absolute = 0) {
  OperandDataType type = actual.descriptor.data_type();
  Values values = actual.Values();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    long double want = Flush(type, RoundTo(type, expected[i]));
    long double got = Flush(type, values[i]);
    if (std::fabs(want - got) <= absolute) continue;
    EXPECT_LE(UlpDistance(type, want, got), ulp)
        << Name(type) << " element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(got);
  }
}

// --- Unary ---------------------------------------------------------------------------------------

using UnaryReference = std::function<long double(long double)>;

void ExpectUnary(OperatorKind kind, OperandDataType type, const UnaryReference& reference,
                 double ulp, double absolute = 0,
                 webidl::OperatorAttributes attributes = webidl::NoAttributes{}) {
  SCOPED_TRACE(std::string(webidl::OperatorName(kind)) + " " + Name(type));
  Values values = Samples(type);
  if (IsFloat(type)) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> spread(-12, 12);
    for (int i = 0; i < 2000; ++i) values.push_back(RoundTo(type, spread(random)));
    for (int i = 0; i < 500; ++i) values.push_back(RoundTo(type, spread(random) * 8));
    for (int i = 0; i < 500; ++i) values.push_back(RoundTo(type, spread(random) / 4096));
  }
  HostTensor operand = Vector(type, values);
  Values expected;
  for (long double value : operand.Values()) expected.push_back(reference(value));
  ExpectClose(expected, RunOne(kind, {operand}, std::move(attributes)), ulp, absolute);
}

long double RoundEven(long double x) { return std::nearbyint(x); }
long double Sign(long double x) { return std::isnan(x) ? x : (x > 0 ? 1 : (x < 0 ? -1 : 0)); }
long double Relu(long double x) { return std::isnan(x) ? x : std::fmax(x, 0.0L); }
long double Sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double Gelu(long double x) {
  return std::isinf(x) ? Relu(x) : 0.5L * x * std::erfc(-x / std::sqrt(2.0L));
}
long double Softplus(long double x) { return Relu(x) + std::log1p(std::exp(-std::fabs(x))); }
long double Softsign(long double x) { return std::isinf(x) ? kNan : x / (1 + std::fabs(x)); }

TEST(Unary, ExactFloat_MatchesReference) {
  for (OperandDataType type : kFloatTypes) {
    ExpectUnary(
        OperatorKind::kAbs, type, [](auto x) { return std::fabs(x); }, 0);
    ExpectUnary(
        OperatorKind::kNeg, type, [](auto x) { return -x; }, 0);
    ExpectUnary(
        OperatorKind::kCeil, type, [](auto x) { return std::ceil(x); }, 0);
    ExpectUnary(
        OperatorKind::kFloor, type, [](auto x) { return std::floor(x); }, 0);
    ExpectUnary(OperatorKind::kRoundEven, type, RoundEven, 0);
    ExpectUnary(OperatorKind::kSign, type, Sign, 0);
    ExpectUnary(OperatorKind::kRelu, type, Relu, 0);
    ExpectUnary(
        OperatorKind::kSqrt, type, [](auto x) { return std::sqrt(x); }, 1);
    ExpectUnary(
        OperatorKind::kReciprocal, type, [](auto x) { return 1 / x; }, 1);
  }
}

TEST(Unary, Transcendental_MatchesReference) {
  for (OperandDataType type : kFloatTypes) {
    bool half = type == OperandDataType::kFloat16;
    ExpectUnary(
        OperatorKind::kExp, type, [](auto x) { return std::exp(x); }, half ? 1 : 2);
    ExpectUnary(
        OperatorKind::kLog, type, [](auto x) { return std::log(x); }, half ? 1 : 3);
    ExpectUnary(
        OperatorKind::kTanh, type, [](auto x) { return std::tanh(x); }, half ? 1 : 4);
    ExpectUnary(
        OperatorKind::kErf, type, [](auto x) { return std::erf(x); }, half ? 1 : 4);
    ExpectUnary(
        OperatorKind::kSin, type, [](auto x) { return std::sin(x); }, 1, 4e-7);
    ExpectUnary(
        OperatorKind::kCos, type, [](auto x) { return std::cos(x); }, 1, 4e-7);
    ExpectUnary(
        OperatorKind::kTan, type, [](auto x) { return std::tan(x); }, half ? 1 : 400);
  }
}

TEST(Unary, Activation_MatchesReference) {
  for (OperandDataType type : kFloatTypes) {
    bool half = type == OperandDataType::kFloat16;
    ExpectUnary(OperatorKind::kSigmoid, type, Sigmoid, half ? 1 : 4);
    ExpectUnary(OperatorKind::kSoftplus, type, Softplus, half ? 1 : 4);
    ExpectUnary(OperatorKind::kSoftsign, type, Softsign, half ? 1 : 3);
    ExpectUnary(OperatorKind::kGelu, type, Gelu, half ? 1 : 16);
    ExpectUnary(
        OperatorKind::kHardSwish, type,
        [](long double x) { return x * (std::isnan(x) ? x : std::fmin(Relu(x + 3), 6.0L) / 6); },
        4);
    ExpectUnary(
        OperatorKind::kElu, type, [](long double x) { return x < 0 ? 0.75L * std::expm1(x) : x; },
        half ? 1 : 5, 0, webidl::EluAttributes{0.75});
    ExpectUnary(
        OperatorKind::kLeakyRelu, type, [](long double x) { return x < 0 ? 0.25L * x : x; }, 1, 0,
        webidl::LeakyReluAttributes{0.25});
    ExpectUnary(
        OperatorKind::kHardSigmoid, type,
        [](long double x) { return std::isnan(x) ? x : std::fmin(Relu(0.25L * x + 0.5L), 1.0L); },
        2, 1e-6, webidl::HardSigmoidAttributes{0.25, 0.5});
    ExpectUnary(
        OperatorKind::kLinear, type, [](long double x) { return 0.5L * x - 3; }, 2, 1e-6,
        webidl::LinearAttributes{0.5, -3});
  }
}

TEST(Unary, Integer_WrapsAtTheLeastValue) {
  for (OperandDataType type : kSignedTypes) {
    ExpectUnary(
        OperatorKind::kNeg, type, [](auto x) { return -x; }, 0);
    ExpectUnary(
        OperatorKind::kAbs, type, [](auto x) { return std::fabs(x); }, 0);
    ExpectUnary(OperatorKind::kSign, type, Sign, 0);
    ExpectUnary(OperatorKind::kRelu, type, Relu, 0);
  }
}

TEST(Unary, Predicates_TellNanInfinityAndZero) {
  for (OperandDataType type : kFloatTypes) {
    ExpectUnary(
        OperatorKind::kIsNaN, type, [](auto x) { return std::isnan(x) ? 1 : 0; }, 0);
    ExpectUnary(
        OperatorKind::kIsInfinite, type, [](auto x) { return std::isinf(x) ? 1 : 0; }, 0);
  }
  ExpectUnary(
      OperatorKind::kLogicalNot, OperandDataType::kUint8, [](auto x) { return x == 0 ? 1 : 0; }, 0);
}

TEST(Unary, LargeArguments_KeepSineAccurate) {
  // From 65536 on they are reduced in a loop of a quad's, of which one, some or all are large.
  Values values = {1e4L,      1e5L,      -1e6L,     123456789.0L, -1e10L, 1e20L, 3e38L, 41721.5L,
                   65535.99L, -65536.0L, 65536.01L, -65535.99L,   2,      -1e7L, 3,     0.5L};
  HostTensor operand = Vector(OperandDataType::kFloat32, values);
  Values sine, cosine;
  for (long double value : operand.Values()) {
    sine.push_back(std::sin(value));
    cosine.push_back(std::cos(value));
  }
  ExpectClose(sine, RunOne(OperatorKind::kSin, {operand}), 0, 2.4e-7);
  ExpectClose(cosine, RunOne(OperatorKind::kCos, {operand}), 0, 2.4e-7);
}

// In words of many turns (shaders/by_words.glsl), the last ones of which are not whole.
TEST(Unary, LargeArgumentsAmongMany_KeepSineAccurate) {
  for (uint32_t every : {1u, 3u, 64u, 1000u}) {
    Values values;
    for (uint32_t i = 0; i < 2611; ++i) {
      values.push_back(i % every == every - 1 ? 70000 + 1e5L * i : 0.01L * i - 9);
    }
    HostTensor operand = Vector(OperandDataType::kFloat32, values);
    Values sine;
    for (long double value : operand.Values()) sine.push_back(std::sin(value));
    ExpectClose(sine, RunOne(OperatorKind::kSin, {operand}), 0, 2.4e-7);
  }
}

TEST(Unary, SineOfInfinity_IsNanBesideLargeArguments) {
  HostTensor operand = Vector(OperandDataType::kFloat32, {kInfinity, 1e9L, -kInfinity, 1});
  const Values sine = RunOne(OperatorKind::kSin, {operand}).Values();
  EXPECT_TRUE(std::isnan(sine[0]) && std::isnan(sine[2]));
  EXPECT_NEAR(static_cast<double>(sine[1]), std::sin(1e9), 2.4e-7);
  EXPECT_NEAR(static_cast<double>(sine[3]), std::sin(1.0), 2.4e-7);
}

TEST(Clamp, Bounds_AreConvertedToTheType) {
  for (OperandDataType type : kAllTypes) {
    SCOPED_TRACE(Name(type));
    HostTensor operand = Vector(type, Samples(type));
    Values expected, below, all;
    for (long double value : operand.Values()) {
      all.push_back(value);
      expected.push_back(std::isnan(value) ? value : std::fmin(std::fmax(value, 1.0L), 3.0L));
      below.push_back(std::isnan(value) ? value : std::fmin(value, 2.0L));
    }
    auto clamp = [&](std::optional<webidl::Number> least, std::optional<webidl::Number> greatest) {
      return RunOne(OperatorKind::kClamp, {operand}, webidl::ClampAttributes{least, greatest});
    };
    ExpectClose(expected, clamp(1.0, 3.0), 0);
    ExpectClose(expected, clamp(int64_t{1}, uint64_t{3}), 0);
    ExpectClose(below, clamp(std::nullopt, 2.0), 0);
    ExpectClose(all, clamp(std::nullopt, std::nullopt), 0);
    ExpectClose(all, clamp(-INFINITY, INFINITY), 0);
    ExpectClose(all, clamp(NAN, NAN), 0);
    ExpectClose(below, clamp(NAN, 2.0), 0);
    // Of an integer type, to the nearest: ties to even, and not beyond the type.
    if (type == OperandDataType::kFloat32 || type == OperandDataType::kFloat16) continue;
    ExpectClose(expected, clamp(0.7, 3.4), 0);
    ExpectClose(below, clamp(-1e30, 2.5), 0);
    ExpectClose(all, clamp(-1e30, 1e30), 0);
  }
}

// A bound that is no integer, and one of another sign than the type's.
TEST(Clamp, Bounds_AreRoundedAndSaturate) {
  auto clamp = [](OperandDataType type, webidl::Number least, webidl::Number greatest) {
    return RunOne(OperatorKind::kClamp, {Vector(type, {0, 1, 2, 3, 4, 5})},
                  webidl::ClampAttributes{least, greatest})
        .Values();
  };
  EXPECT_EQ(clamp(OperandDataType::kInt32, 1.5, 3.5), (Values{2, 2, 2, 3, 4, 4}));
  EXPECT_EQ(clamp(OperandDataType::kUint64, 0.6, 4.4), (Values{1, 1, 2, 3, 4, 4}));
  EXPECT_EQ(clamp(OperandDataType::kUint8, int64_t{-3}, int64_t{-1}), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(clamp(OperandDataType::kInt8, int64_t{3}, uint64_t{1} << 63),
            (Values{3, 3, 3, 3, 4, 5}));
}

TEST(Unary, CountsThatFillNoWord_WriteNothingElse) {
  for (OperandDataType type : {OperandDataType::kFloat16, OperandDataType::kInt8}) {
    for (uint32_t count : {1u, 2u, 3u, 5u, 7u, 9u, 129u, 1023u}) {
      HostTensor operand = HostTensor::Create(type, {count}, {-5});
      ExpectClose(Values(count, 5), RunOne(OperatorKind::kNeg, {operand}), 0);
    }
  }
}

// lavapipe leaves loops early after 65535 iterations of an invocation.
TEST(Unary, MoreElementsThanAFewWorkgroupsCanLoopOver_AllAreWritten) {
  HostTensor operand = HostTensor::Create(OperandDataType::kFloat32, {2200, 2000}, {-1.5L});
  HostTensor result = RunOne(OperatorKind::kNeg, {operand});
  Values values = result.Values();
  EXPECT_EQ(std::count(values.begin(), values.end(), 1.5L), 4400000);
}

// --- Binary --------------------------------------------------------------------------------------

using BinaryReference = std::function<long double(long double, long double)>;

// All pairs of samples, by broadcasting a column against a row.
void ExpectBinary(OperatorKind kind, OperandDataType type, const BinaryReference& reference,
                  double ulp) {
  SCOPED_TRACE(std::string(webidl::OperatorName(kind)) + " " + Name(type));
  Values samples = Samples(type);
  auto count = static_cast<uint32_t>(samples.size());
  HostTensor a = HostTensor::Create(type, {count, 1}, samples);
  HostTensor b = HostTensor::Create(type, {1, count}, samples);
  Values expected;
  for (long double x : a.Values()) {
    for (long double y : b.Values()) expected.push_back(reference(x, y));
  }
  ExpectClose(expected, RunOne(kind, {a, b}), ulp);
}

long double MaxOf(long double a, long double b) {
  return std::isnan(a) || std::isnan(b) ? kNan : std::fmax(a, b);
}
long double MinOf(long double a, long double b) {
  return std::isnan(a) || std::isnan(b) ? kNan : std::fmin(a, b);
}

TEST(Binary, FloatArithmetic_MatchesReference) {
  for (OperandDataType type : kFloatTypes) {
    ExpectBinary(
        OperatorKind::kAdd, type, [](auto a, auto b) { return a + b; }, 1);
    ExpectBinary(
        OperatorKind::kSub, type, [](auto a, auto b) { return a - b; }, 1);
    ExpectBinary(
        OperatorKind::kMul, type, [](auto a, auto b) { return a * b; }, 1);
    ExpectBinary(
        OperatorKind::kDiv, type, [](auto a, auto b) { return a / b; }, 2);
    ExpectBinary(OperatorKind::kMax, type, MaxOf, 0);
    ExpectBinary(OperatorKind::kMin, type, MinOf, 0);
    ExpectBinary(
        OperatorKind::kPow, type, [](auto a, auto b) { return std::pow(a, b); }, 2);
    ExpectBinary(
        OperatorKind::kPrelu, type, [](auto a, auto b) { return a < 0 ? a * b : a; }, 1);
  }
}

// gelu of 2000 values from `first` on, `step` apart towards less.
void ExpectGelu(long double first, long double step) {
  Values values;
  for (int i = 0; i < 2000; ++i) {
    values.push_back(RoundTo(OperandDataType::kFloat32, first - i * step));
  }
  const HostTensor x = HostTensor::Create(OperandDataType::kFloat32, {2000}, values);
  const Values results = RunOne(OperatorKind::kGelu, {x}).Values();
  for (size_t i = 0; i < results.size(); ++i) {
    const bool goes_towards_the_suites = values[i] >= -2.2L && values[i] <= -1.83L;
    ASSERT_LE(UlpDistance(OperandDataType::kFloat32, results[i], Gelu(values[i])),
              goes_towards_the_suites ? 18 : 8)
        << values[i];
  }
}

TEST(Unary, Gelu_KeepsItsAccuracy) {
  ExpectGelu(-12.5L, 0.0003L);  // Where the tail is subnormal, and the result is not.
  ExpectGelu(-1.5L, 0.0005L);   // Towards the public suite's values, and to either side of that.
}

// Where the logarithm of the base has most behind its leading part, and the exponent multiplies it.
TEST(Binary, PowOfGreatExponents_KeepsItsAccuracy) {
  std::vector<long double> bases;
  std::vector<long double> exponents;
  for (int i = 0; i < 400; ++i) {
    const long double base = std::sqrt(0.5L) + 0.001766L * i;  // To the square root of 2.
    bases.push_back(RoundTo(OperandDataType::kFloat32, base));
    const long double least = -87 / std::fabs(std::log(base));
    exponents.push_back(RoundTo(OperandDataType::kFloat32, least + i * (-2 * least / 400)));
  }
  const HostTensor a = HostTensor::Create(OperandDataType::kFloat32, {400}, bases);
  const HostTensor b = HostTensor::Create(OperandDataType::kFloat32, {400}, exponents);
  const std::vector<long double> powers = RunOne(OperatorKind::kPow, {a, b}).Values();
  for (size_t i = 0; i < powers.size(); ++i) {
    const long double expected = std::pow(bases[i], exponents[i]);
    EXPECT_LE(UlpDistance(OperandDataType::kFloat32, powers[i], expected), 3)
        << bases[i] << " to the power of " << exponents[i];
  }
}

// Bases and exponents whose powers do not take the short way.
constexpr std::pair<long double, long double> kSpecialPowers[] = {
    {-2, 3},         {-2, 2},         {-2, 0.5L},        {0, -1},        {0, 2},
    {-0.0L, 3},      {-0.0L, -3},     {kInfinity, -1},   {kInfinity, 2}, {-kInfinity, 3},
    {2, kInfinity},  {2, -kInfinity}, {0.5L, kInfinity}, {1, kNan},      {1, kInfinity},
    {-1, kInfinity}, {kNan, 0},       {kNan, 2},         {2, kNan},      {0x1p-130L, 0.5L}};

void ExpectPowers(const webidl::Shape& shape, const Values& bases, const Values& exponents) {
  const HostTensor a = HostTensor::Create(OperandDataType::kFloat32, shape, bases);
  const HostTensor b = HostTensor::Create(OperandDataType::kFloat32, shape, exponents);
  const Values powers = RunOne(OperatorKind::kPow, {a, b}).Values();
  for (size_t i = 0; i < powers.size(); ++i) {
    const long double expected = std::pow(bases[i], exponents[i]);
    const bool is_near = std::isnan(expected)
                             ? std::isnan(powers[i])
                             : UlpDistance(OperandDataType::kFloat32, powers[i], expected) <= 3;
    EXPECT_TRUE(is_near &&
                (std::isnan(expected) || std::signbit(expected) == std::signbit(powers[i])))
        << "element " << i << ": " << bases[i] << " to the power of " << exponents[i] << " is "
        << powers[i];
  }
}

// Of four neighbours, each in turn beside three whose powers take the short way; and all of a
// subgroup's neighbours but one take it.
TEST(Binary, PowOfSpecialValues_LeavesItsNeighboursAlone) {
  for (const auto& [base, exponent] : kSpecialPowers) {
    Values bases(4 * 36, 1.5L);
    Values exponents(4 * 36, 2.25L);
    for (size_t quad = 0; quad < 4; ++quad) {
      bases[quad * 36 + quad] = base;
      exponents[quad * 36 + quad] = exponent;
    }
    ExpectPowers({4, 36}, bases, exponents);
  }
}

// In words of many turns (shaders/by_words.glsl), the last ones of which are not whole.
TEST(Binary, PowOfSpecialValuesAmongMany_LeavesOthersAlone) {
  for (size_t every : {1, 2, 37, 1000}) {
    constexpr uint32_t kCount = 2611;
    Values bases(kCount);
    Values exponents(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const bool is_special = i % every == every - 1;
      const auto& [base, exponent] = kSpecialPowers[i / every % std::size(kSpecialPowers)];
      bases[i] = is_special ? base : RoundTo(OperandDataType::kFloat32, 0.5L + 0.001L * i);
      exponents[i] = is_special ? exponent : RoundTo(OperandDataType::kFloat32, 2 - 0.002L * i);
    }
    ExpectPowers({kCount}, bases, exponents);
  }
}

// The type's own arithmetic in 128 bits, so that only the last step wraps.
long double Wrap(OperandDataType type, __int128 value) {
  return RoundTo(type, static_cast<long double>(static_cast<int64_t>(value))) < 0 ||
                 type == OperandDataType::kInt64
             ? static_cast<long double>(static_cast<int64_t>(value))
             : static_cast<long double>(static_cast<uint64_t>(value));
}

long double IntegerPower(OperandDataType type, long double a, long double b) {
  if (b < 0) {
    if (a == 1) return 1;
    if (a == -1) return std::fmod(b, 2.0L) != 0 ? -1 : 1;
    return 0;
  }
  auto base = static_cast<uint64_t>(static_cast<__int128>(a));
  auto exponent = static_cast<uint64_t>(b);
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return Wrap(type, static_cast<__int128>(result));
}

TEST(Binary, IntegerArithmetic_WrapsAndNeverTraps) {
  Sample sample(3);
  const auto expect = [&](OperatorKind kind, OperandDataType type, const BinaryReference& reference,
                          double ulp) {
    if (sample.Takes()) ExpectBinary(kind, type, reference, ulp);
  };
  for (OperandDataType type : kIntegerTypes) {
    auto exact = [type](auto operation) {
      return [type, operation](long double a, long double b) {
        return Wrap(type, operation(static_cast<__int128>(a), static_cast<__int128>(b)));
      };
    };
    expect(OperatorKind::kAdd, type, exact([](auto a, auto b) { return a + b; }), 0);
    expect(OperatorKind::kSub, type, exact([](auto a, auto b) { return a - b; }), 0);
    expect(OperatorKind::kMul, type, exact([](__int128 a, __int128 b) {
             return static_cast<__int128>(static_cast<unsigned __int128>(a) *
                                          static_cast<unsigned __int128>(b));
           }),
           0);
    expect(OperatorKind::kDiv, type,
           exact([](__int128 a, __int128 b) { return b == 0 ? __int128{0} : a / b; }), 0);
    expect(OperatorKind::kMax, type, MaxOf, 0);
    expect(OperatorKind::kMin, type, MinOf, 0);
    expect(
        OperatorKind::kPow, type, [type](auto a, auto b) { return IntegerPower(type, a, b); }, 0);
  }
}

TEST(Binary, Comparisons_AreFalseForNan) {
  Sample sample(5);
  const auto expect = [&](OperatorKind kind, OperandDataType type, const BinaryReference& reference,
                          double ulp) {
    if (sample.Takes()) ExpectBinary(kind, type, reference, ulp);
  };
  for (OperandDataType type : kAllTypes) {
    expect(
        OperatorKind::kEqual, type, [](auto a, auto b) { return a == b; }, 0);
    expect(
        OperatorKind::kNotEqual, type, [](auto a, auto b) { return a != b; }, 0);
    expect(
        OperatorKind::kGreater, type, [](auto a, auto b) { return a > b; }, 0);
    expect(
        OperatorKind::kGreaterOrEqual, type, [](auto a, auto b) { return a >= b; }, 0);
    expect(
        OperatorKind::kLesser, type, [](auto a, auto b) { return a < b; }, 0);
    expect(
        OperatorKind::kLesserOrEqual, type, [](auto a, auto b) { return a <= b; }, 0);
  }
}

TEST(Binary, Logic_TakesAnyNonzeroForTrue) {
  auto type = OperandDataType::kUint8;
  ExpectBinary(
      OperatorKind::kLogicalAnd, type, [](auto a, auto b) { return a != 0 && b != 0; }, 0);
  ExpectBinary(
      OperatorKind::kLogicalOr, type, [](auto a, auto b) { return a != 0 || b != 0; }, 0);
  ExpectBinary(
      OperatorKind::kLogicalXor, type, [](auto a, auto b) { return (a != 0) != (b != 0); }, 0);
}

// The element of an operand that broadcasting puts at index `index` of `result`.
size_t BroadcastIndex(const webidl::Shape& shape, const webidl::Shape& result, size_t index) {
  size_t offset = 0;
  size_t stride = 1;
  for (size_t d = result.size(); d-- > 0; index /= result[d]) {
    size_t missing = result.size() - shape.size();
    if (d < missing) continue;
    if (shape[d - missing] != 1) offset += index % result[d] * stride;
    stride *= shape[d - missing];
  }
  return offset;
}

HostTensor Counting(OperandDataType type, const webidl::Shape& shape, int start) {
  auto descriptor = webidl::OperandDescriptor::Create(type, std::span<const uint32_t>(shape));
  Values values(descriptor->element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<long double>((start + static_cast<int>(i) * 7) % 61);
  }
  return HostTensor::Create(type, shape, values);
}

// Quads of the result have elements of several quads of the operands, of rows, and of one element.
TEST(Binary, ComparisonsOfAnyLength_FindTheirOperands) {
  Sample sample(5);
  for (OperandDataType type : kAllTypes) {
    for (uint32_t length : {1, 4, 15, 16, 17, 33, 62, 67}) {
      for (const webidl::Shape& shape :
           {webidl::Shape{length}, webidl::Shape{3, length}, webidl::Shape{3, 1}}) {
        if (!sample.Takes()) continue;
        SCOPED_TRACE(Name(type) + " of " + std::to_string(length));
        const HostTensor a = Counting(type, {3, length}, 0);
        const HostTensor b = Counting(type, shape, 30);
        const Values result = RunOne(OperatorKind::kGreater, {a, b}).Values();
        const Values of_a = a.Values();
        const Values of_b = b.Values();
        for (size_t i = 0; i < result.size(); ++i) {
          EXPECT_EQ(result[i], of_a[i] > of_b[BroadcastIndex(shape, {3, length}, i)]) << i;
        }
      }
    }
  }
}

TEST(Binary, Broadcasting_MatchesReferenceUpToRank8) {
  const std::pair<webidl::Shape, webidl::Shape> shapes[] = {
      {{}, {}},
      {{5}, {}},
      {{2, 3, 4}, {4}},
      {{2, 3, 4}, {3, 1}},
      {{2, 1, 4}, {5, 1, 3, 1}},
      {{1, 2, 1, 3, 1, 2, 1, 2}, {2, 1, 3, 1, 2, 1, 2, 1}},
      {{2, 3, 2, 1, 2, 3, 1, 2}, {2, 3, 2, 1, 2, 3, 1, 2}},
      {{7, 33}, {7, 1}},
      {{5, 32}, {5, 1}},
      {{5, 32}, {32}},
      {{1, 16}, {6, 16}},
      {{3, 1, 16}, {4, 16}},
      // Turns of words (shaders/by_words.glsl) in rows, and not in rows.
      {{3, 256}, {3, 1}},
      {{2, 3, 512}, {3, 1}},
      {{1}, {517}},
      {{2, 3, 64}, {3, 1}},
  };
  Sample sample(2);
  for (OperandDataType type : {OperandDataType::kFloat32, OperandDataType::kFloat16,
                               OperandDataType::kInt64, OperandDataType::kInt8}) {
    for (const auto& [a_shape, b_shape] : shapes) {
      if (!sample.Takes()) continue;
      SCOPED_TRACE(Name(type) + webidl::ShapeToString(a_shape) + webidl::ShapeToString(b_shape));
      HostTensor a = Counting(type, a_shape, 3);
      HostTensor b = Counting(type, b_shape, 10);
      HostTensor result = RunOne(OperatorKind::kSub, {a, b});
      Values a_values = a.Values();
      Values b_values = b.Values();
      const webidl::Shape& shape = result.descriptor.shape();
      Values expected;
      for (size_t i = 0; i < result.descriptor.element_count(); ++i) {
        expected.push_back(a_values[BroadcastIndex(a_shape, shape, i)] -
                           b_values[BroadcastIndex(b_shape, shape, i)]);
      }
      ExpectClose(expected, result, 0);
    }
    sample.Takes();  // The number of shapes is even: the next type has the other half.
  }
}

// --- where, cast ---------------------------------------------------------------------------------

TEST(Where, AllTypes_ChooseWithBroadcasting) {
  for (OperandDataType type : {OperandDataType::kFloat32, OperandDataType::kFloat16,
                               OperandDataType::kUint64, OperandDataType::kInt8}) {
    for (uint32_t width : {5u, 16u}) {
      Values conditions;
      for (uint32_t i = 0; i < 3 * width; ++i) conditions.push_back(i * i % 7 % 3 * 128 % 255);
      HostTensor condition = HostTensor::Create(OperandDataType::kUint8, {3, 1, width}, conditions);
      HostTensor a = Counting(type, {2, width}, 1);
      HostTensor b = Counting(type, {1}, 40);
      HostTensor result = RunOne(OperatorKind::kWhere, {condition, a, b});
      ASSERT_EQ(result.descriptor.shape(), (webidl::Shape{3, 2, width}));
      Values expected;
      for (size_t i = 0; i < size_t{6} * width; ++i) {
        long double chosen = conditions[BroadcastIndex({3, 1, width}, {3, 2, width}, i)];
        expected.push_back(chosen != 0 ? a.Values()[i % (2 * width)] : b.Values()[0]);
      }
      ExpectClose(expected, result, 0);
    }
  }
}

// What the draft says where it says something, else our choice: saturate, NaN is 0.
long double CastReference(OperandDataType from, OperandDataType to, long double value) {
  if (IsFloat(to)) return value;
  if (!IsFloat(from)) return Wrap(to, static_cast<__int128>(value));
  if (std::isnan(value)) return 0;
  Values samples = Samples(to);
  long double least = *std::min_element(samples.begin(), samples.end());
  long double greatest = *std::max_element(samples.begin(), samples.end());
  return std::fmin(std::fmax(std::trunc(value), least), greatest);
}

std::vector<OperandDataType> CastTypes() {
  std::vector<OperandDataType> types(std::begin(kAllTypes), std::end(kAllTypes));
  types.push_back(OperandDataType::kInt4);
  types.push_back(OperandDataType::kUint4);
  return types;
}

TEST(Cast, AllPairsOfTypes_MatchTheDraft) {
  const std::vector<OperandDataType> types = CastTypes();
  Sample sample(3);
  for (OperandDataType from : types) {
    for (OperandDataType to : types) {
      if (!sample.Takes()) continue;
      SCOPED_TRACE(Name(from) + " to " + Name(to));
      HostTensor operand = Vector(from, Samples(from));
      Values expected;
      for (long double value : operand.Values()) {
        expected.push_back(RoundTo(to, CastReference(from, to, value)));
      }
      ExpectClose(expected, RunOne(OperatorKind::kCast, {operand}, webidl::CastAttributes{to}), 0);
    }
  }
}

// Quads of the result have elements of several quads of the operand, or of a part of one.
TEST(Cast, AnyLength_KeepsElementsInPlace) {
  const std::vector<OperandDataType> types = CastTypes();
  Sample sample(5);
  for (OperandDataType from : types) {
    for (OperandDataType to : types) {
      for (uint32_t length : {1, 3, 8, 15, 16, 31, 33, 67, 129}) {
        if (!sample.Takes()) continue;
        SCOPED_TRACE(Name(from) + " to " + Name(to) + " of " + std::to_string(length));
        Values values;
        for (uint32_t i = 0; i < length; ++i) values.push_back((i * 5 + i / 8) % 8);
        const HostTensor operand = Vector(from, values);
        EXPECT_EQ(RunOne(OperatorKind::kCast, {operand}, webidl::CastAttributes{to}).Values(),
                  values);
      }
    }
  }
}

TEST(Cast, FloatToHalf_RoundsToNearestEven) {
  Values values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(std::ldexp(1.0L + i / 16384.0L, i % 42 - 26) * (i % 2 == 0 ? 1 : -1));
  }
  for (long double value : {65519.99L, 65520.0L, 2.98e-8L, 2.9802322387695312e-8L, 1.0004882813L}) {
    values.push_back(value);
  }
  HostTensor operand = Vector(OperandDataType::kFloat32, values);
  ExpectClose(
      operand.Values(),
      RunOne(OperatorKind::kCast, {operand}, webidl::CastAttributes{OperandDataType::kFloat16}), 0);
}

}  // namespace
}  // namespace webnnd::service
