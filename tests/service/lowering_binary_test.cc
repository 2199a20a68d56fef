// Element-wise kernels of two operands against long double, at tolerances no wider than the
// conformance suite's.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/service/elementwise_fixture.h"
#include "tests/support/kernel_runner.h"

namespace webnnd::service::elementwise_test {
namespace {

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
    {-2, 3},         {-2, 2},         {-2, 0.5L},        {0, -1},           {0, 2},
    {-0.0L, 3},      {-0.0L, -3},     {kInfinity, -1},   {kInfinity, 2},    {-kInfinity, 3},
    {2, kInfinity},  {2, -kInfinity}, {0.5L, kInfinity}, {1, kNan},         {1, kInfinity},
    {-1, kInfinity}, {kNan, 0},       {kNan, 2},         {2, kNan},         {0x1p-130L, 0.5L},
    {2, 140},        {2, -160},       {0.5L, 0x1p127L},  {0.5L, -0x1p127L}, {3, 80.75L}};

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

// Where the short way ends, and where floats do: to the smallest normal one, and beyond the
// largest.
TEST(Binary, PowsNearTheLimits_KeepTheirAccuracy) {
  Values bases;
  Values exponents;
  for (const auto& [first, last] : {std::pair(-126.0L, -124.0L), {125.0L, 129.0L}}) {
    constexpr int kSteps = 500;
    for (int i = 0; i <= kSteps; ++i) {
      const long double base =
          RoundTo(OperandDataType::kFloat32, (i % 2 == 0 ? 1.2L : 0.6L) + 0.0003L * i);
      const long double log = first + (last - first) * i / kSteps;
      const long double exponent = RoundTo(OperandDataType::kFloat32, log / std::log2(base));
      if (std::pow(base, exponent) < 0x1.00001p-126L) continue;  // Drivers may take it for 0.
      bases.push_back(base);
      exponents.push_back(exponent);
    }
  }
  ExpectPowers({static_cast<uint32_t>(bases.size())}, bases, exponents);
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

// lavapipe leaves loops early after 65535 iterations of an invocation, and each of these takes 31.
TEST(Binary, ManyIntegerPowers_AreAllWhole) {
  constexpr uint32_t kCount = 1 << 20;
  const HostTensor base = HostTensor::Create(OperandDataType::kInt32, {kCount}, {3});
  const HostTensor exponent = HostTensor::Create(OperandDataType::kInt32, {kCount}, {0x7ffffffe});
  const Values powers = RunOne(OperatorKind::kPow, {base, exponent}).Values();
  constexpr long double kNinth = 954437177;  // 9 times as much is 1, modulo 2^32.
  EXPECT_EQ(std::count(powers.begin(), powers.end(), kNinth), kCount);
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

void ExpectBroadcasts(OperatorKind kind, OperandDataType type, const webidl::Shape& a_shape,
                      const webidl::Shape& b_shape,
                      const std::function<long double(long double, long double)>& compute) {
  SCOPED_TRACE(Name(type) + webidl::ShapeToString(a_shape) + webidl::ShapeToString(b_shape));
  HostTensor a = Counting(type, a_shape, 3);
  HostTensor b = Counting(type, b_shape, 10);
  HostTensor result = RunOne(kind, {a, b});
  Values a_values = a.Values();
  Values b_values = b.Values();
  const webidl::Shape& shape = result.descriptor.shape();
  Values expected;
  for (size_t i = 0; i < result.descriptor.element_count(); ++i) {
    expected.push_back(compute(a_values[BroadcastIndex(a_shape, shape, i)],
                               b_values[BroadcastIndex(b_shape, shape, i)]));
  }
  ExpectClose(expected, result, 0);
}
void ExpectDifference(OperandDataType type, const webidl::Shape& a_shape,
                      const webidl::Shape& b_shape) {
  ExpectBroadcasts(OperatorKind::kSub, type, a_shape, b_shape, std::minus<>());
}
// Whose result has other elements than the operands.
void ExpectComparison(OperandDataType type, const webidl::Shape& a_shape,
                      const webidl::Shape& b_shape) {
  ExpectBroadcasts(OperatorKind::kGreater, type, a_shape, b_shape, std::greater<>());
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
      ExpectDifference(type, a_shape, b_shape);
    }
    sample.Takes();  // The number of shapes is even: the next type has the other half.
  }
}

// Of any length, where they are a vector of lanes or more (STORE_ROWS_BY_WORDS of
// shaders/by_words.glsl).
TEST(Binary, RowsByWords_MatchReference) {
  const std::pair<webidl::Shape, webidl::Shape> shapes[] = {
      {{5, 77}, {77}},
      {{5, 77}, {5, 1}},
      {{1, 15}, {4, 1}},
      {{1, 17}, {4, 1}},
      {{2, 3, 131}, {3, 1}},
      {{2, 1, 63}, {3, 1}},
      {{5, 1, 66}, {3, 66}},
      {{3, 1, 2, 1, 2, 65}, {2, 1, 3, 1, 65}},
      {{1, 2, 1, 3, 1, 2, 1, 19}, {2, 1, 3, 1, 2, 1, 2, 1}},
      // Of types of less than a word: rows that begin with each of its elements, and operands that
      // begin with others than the result.
      {{9, 67}, {67}},
      {{40, 65}, {40, 1}},
      {{7, 74}, {74}},
      {{3, 5, 66}, {1, 5, 66}},
      {{3, 5, 81}, {3, 1, 81}},
      {{2, 3, 7, 93}, {7, 93}},
      {{5, 1, 330}, {3, 330}},
      {{2, 1, 3, 1, 2, 1, 95}, {3, 1, 2, 1, 2, 95}},
  };
  for (OperandDataType type : {OperandDataType::kFloat32, OperandDataType::kInt32,
                               OperandDataType::kFloat16, OperandDataType::kInt8}) {
    for (const auto& [a_shape, b_shape] : shapes) {
      ExpectDifference(type, a_shape, b_shape);
      ExpectDifference(type, b_shape, a_shape);
      ExpectComparison(type, a_shape, b_shape);
      ExpectComparison(type, b_shape, a_shape);
    }
  }
  for (const auto& [a_shape, b_shape] : shapes) {
    ExpectComparison(OperandDataType::kInt64, a_shape, b_shape);
  }
}

}  // namespace
}  // namespace webnnd::service::elementwise_test
