// Element-wise kernels of one operand against long double, at tolerances no wider than the
// conformance suite's.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/service/elementwise_fixture.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service::elementwise_test {
namespace {

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

// Of every float16: the one nearest to the true value, or to what is up to 12 ULP of float32 from
// it.
TEST(Unary, GeluOfHalves_IsTheNearest) {
  constexpr uint32_t kAll = 1 << 16;
  HostTensor x = HostTensor::Create(OperandDataType::kFloat16, {kAll}, {0});
  auto* bits = reinterpret_cast<uint16_t*>(x.bytes.data());
  for (uint32_t i = 0; i < kAll; ++i) bits[i] = static_cast<uint16_t>(i);
  const Values values = x.Values();
  const Values results = RunOne(OperatorKind::kGelu, {x}).Values();
  for (uint32_t i = 0; i < kAll; ++i) {
    const long double expected = Gelu(values[i]);
    if (!std::isfinite(expected)) {
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(results[i]) : results[i] == expected)
          << values[i];
      continue;
    }
    const long double off = 12 * std::ldexp(std::fabs(expected), -23);
    ASSERT_GE(results[i], RoundTo(OperandDataType::kFloat16, expected - off)) << values[i];
    ASSERT_LE(results[i], RoundTo(OperandDataType::kFloat16, expected + off)) << values[i];
  }
}

}  // namespace
}  // namespace webnnd::service::elementwise_test
