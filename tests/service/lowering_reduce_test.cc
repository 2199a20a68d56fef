// Reductions, argMax, cumulativeSum and softmax against long double loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"

namespace webnnd::service {
namespace {

using webidl::OperandDataType;
using webidl::OperatorKind;
using webidl::Shape;
using Values = std::vector<long double>;
using Axes = std::optional<std::vector<uint32_t>>;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
constexpr OperandDataType kFloat = OperandDataType::kFloat32;
constexpr OperandDataType kHalf = OperandDataType::kFloat16;
constexpr OperandDataType kIntegerTypes[] = {OperandDataType::kInt32, OperandDataType::kUint32,
                                             OperandDataType::kInt64, OperandDataType::kUint64};
constexpr OperandDataType kAllTypes[] = {OperandDataType::kFloat32, OperandDataType::kFloat16,
                                         OperandDataType::kInt32,   OperandDataType::kUint32,
                                         OperandDataType::kInt64,   OperandDataType::kUint64,
                                         OperandDataType::kInt8,    OperandDataType::kUint8};

size_t CountOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

bool IsFloat(OperandDataType type) { return type == kFloat || type == kHalf; }

// Of both signs where the type has one, of small magnitude.
// The reduced elements that make up each element of the result, in order.
std::vector<Values> GroupsOf(const HostTensor& input, const Axes& axes) {
  const Shape& shape = input.descriptor.shape();
  std::vector<bool> is_reduced(shape.size(), !axes);
  for (uint32_t axis : axes.value_or(std::vector<uint32_t>())) is_reduced[axis] = true;
  size_t groups = 1;
  for (size_t d = 0; d < shape.size(); ++d) groups *= is_reduced[d] ? 1 : shape[d];
  std::vector<Values> result(groups);
  Values values = input.Values();
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i;
    size_t group = 0;
    size_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (!is_reduced[d]) {
        group += rest % shape[d] * stride;
        stride *= shape[d];
      }
      rest /= shape[d];
    }
    result[group].push_back(values[i]);
  }
  return result;
}

long double Sum(const Values& values, const std::function<long double(long double)>& map) {
  long double sum = 0;
  for (long double value : values) sum += map(value);
  return sum;
}

long double Identity(long double x) { return x; }
long double Absolute(long double x) { return std::fabs(x); }
long double Square(long double x) { return x * x; }

long double Reduce(OperatorKind kind, const Values& values) {
  switch (kind) {
    case OperatorKind::kReduceSum:
      return Sum(values, Identity);
    case OperatorKind::kReduceMean:
      return Sum(values, Identity) / values.size();
    case OperatorKind::kReduceL1:
      return Sum(values, Absolute);
    case OperatorKind::kReduceSumSquare:
      return Sum(values, Square);
    case OperatorKind::kReduceL2:
      return std::sqrt(Sum(values, Square));
    case OperatorKind::kReduceLogSum:
      return std::log(Sum(values, Identity));
    case OperatorKind::kReduceLogSumExp:
      return std::log(Sum(values, [](long double x) { return std::exp(x); }));
    case OperatorKind::kReduceProduct:
      return std::accumulate(values.begin(), values.end(), 1.0L, std::multiplies<>());
    case OperatorKind::kReduceMax:
      return *std::max_element(values.begin(), values.end());
    default:
      return *std::min_element(values.begin(), values.end());
  }
}

void ExpectReduces(OperatorKind kind, const HostTensor& input, const Axes& axes,
                   bool keep_dimensions = false) {
  OperandDataType type = input.descriptor.data_type();
  SCOPED_TRACE(std::string(webidl::OperatorName(kind)) + " " + input.descriptor.ToString() +
               " axes " + (axes ? ::testing::PrintToString(*axes) : "absent"));
  HostTensor result = RunOne(
      kind, {input}, webidl::ReduceAttributes{.axes = axes, .keep_dimensions = keep_dimensions});
  std::vector<Values> groups = GroupsOf(input, axes);
  Values actual = result.Values();
  ASSERT_EQ(actual.size(), groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    long double expected = RoundTo(type, Reduce(kind, groups[i]));
    // Where terms cancel, the error is relative to them and not to their sum.
    bool sums = kind != OperatorKind::kReduceMax && kind != OperatorKind::kReduceMin &&
                kind != OperatorKind::kReduceProduct && IsFloat(type);
    double absolute = sums ? 1e-7 * static_cast<double>(Sum(groups[i], Absolute)) : 0;
    double ulp = IsFloat(type) && sums                                   ? 8
                 : kind == OperatorKind::kReduceProduct && IsFloat(type) ? groups[i].size()
                                                                         : 0;
    if (std::fabs(expected - actual[i]) <= absolute) continue;
    ASSERT_LE(UlpDistance(type, expected, actual[i]), ulp)
        << "element " << i << ": want " << static_cast<double>(expected) << ", got "
        << static_cast<double>(actual[i]);
  }
}

constexpr OperatorKind kSumsOfAnySign[] = {
    OperatorKind::kReduceSum, OperatorKind::kReduceMean,      OperatorKind::kReduceL1,
    OperatorKind::kReduceL2,  OperatorKind::kReduceSumSquare, OperatorKind::kReduceLogSumExp};

TEST(LowerReduce, FloatOverEveryChoiceOfAxes_MatchesReference) {
  HostTensor input = RandomTensor(kFloat, {3, 4, 5, 2}, 1);
  for (uint32_t chosen = 0; chosen < 16; ++chosen) {
    std::vector<uint32_t> axes;
    for (uint32_t d = 0; d < 4; ++d) {
      if ((chosen >> d & 1) != 0) axes.push_back(d);
    }
    ExpectReduces(OperatorKind::kReduceSum, input, axes, chosen % 2 == 0);
    ExpectReduces(OperatorKind::kReduceMax, input, axes, chosen % 2 == 1);
  }
}

TEST(LowerReduce, RowsOfQuads_MatchReference) {
  Sample sample(3);
  const auto expect = [&](OperatorKind kind, const HostTensor& input, const Axes& axes) {
    if (sample.Takes()) ExpectReduces(kind, input, axes);
  };
  for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
    HostTensor wide = RandomTensor(type, {70, 600}, 6);
    HostTensor deep = RandomTensor(type, {3, 40, 4, 36}, 7);
    for (OperatorKind kind : {OperatorKind::kReduceSum, OperatorKind::kReduceMin}) {
      expect(kind, wide, {{0}});
      expect(kind, wide, {{1}});
      expect(kind, deep, {{0, 2}});
      expect(kind, deep, {{1, 3}});
      expect(kind, deep, {{0, 1, 2}});
    }
  }
}

// So many results beside each other that an invocation takes four quads: those that its neighbours
// leave, or its own four; and no quad of quads. The loop over blocks takes one turn and two.
TEST(LowerReduce, RowsOfFourQuads_MatchReference) {
  for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
    for (uint32_t inner : {512u, 528u, 516u}) {
      for (uint32_t axis : {5u, 70u}) {
        const HostTensor input = RandomTensor(type, {axis, 2, inner}, inner + axis);
        ExpectReduces(OperatorKind::kReduceL1, input, {{0}});
        ExpectReduces(OperatorKind::kReduceMax, RandomTensor(type, {2, axis, inner}, axis), {{1}});
      }
    }
  }
  for (OperatorKind kind :
       {OperatorKind::kReduceLogSumExp, OperatorKind::kReduceMean, OperatorKind::kReduceL2}) {
    ExpectReduces(kind, RandomTensor(kFloat, {9, 1024}, 5), {{0}});
  }
}

TEST(LowerReduce, EveryFloatOperation_MatchesReference) {
  Sample sample(3);
  const auto expect = [&](OperatorKind kind, const HostTensor& input, const Axes& axes,
                          bool keep_dimensions = false) {
    if (sample.Takes()) ExpectReduces(kind, input, axes, keep_dimensions);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    for (OperatorKind kind : kSumsOfAnySign) {
      expect(kind, RandomTensor(type, {7, 5, 3}, 2), {{1}});
      expect(kind, RandomTensor(type, {5, 77}, 3), {{1}}, true);
      // Rows that are quads, along them and across.
      expect(kind, RandomTensor(type, {5, 80}, 3), {{1}}, true);
      expect(kind, RandomTensor(type, {3, 7, 8}, 3), {{1}});
    }
    HostTensor positive = RandomTensor(type, {5, 77}, 4);
    Values values = positive.Values();
    for (long double& value : values) value = std::fabs(value) + 0.25L;
    positive = HostTensor::Create(type, {5, 77}, values);
    expect(OperatorKind::kReduceLogSum, positive, {{1}});
    expect(OperatorKind::kReduceLogSum, positive, {{0}});
    expect(OperatorKind::kReduceMin, positive, {{0}});
    expect(OperatorKind::kReduceProduct, RandomTensor(type, {9, 6}, 5), {{1}});
    expect(OperatorKind::kReduceProduct, RandomTensor(kFloat, {2, 40}, 5), {{1}});
  }
}

// Tiles of interleaved rows on GPUs, which the rows or their lengths may leave in part empty: of a
// whole axis, of parts of it, and of a whole axis by turns.
// Whose parts are float32.
TEST(LowerReduce, HalvesOfInterleavedRowsInParts_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (OperatorKind kind : {OperatorKind::kReduceSum, OperatorKind::kReduceMax}) {
    ExpectReduces(kind, RandomTensor(kHalf, {256, 1024}, 56), {{0}});
    ExpectReduces(kind, RandomTensor(kHalf, {2, 512, 600}, 57), {{1}});
  }
}

TEST(LowerReduce, InterleavedRowsInParts_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  const std::pair<Shape, std::vector<uint32_t>> shapes[] = {
      {{2, 40, 36}, {1}}, {{129, 68}, {0}}, {{2, 700, 12}, {1}}, {{2, 9, 40, 4}, {1, 2}}};
  for (const auto& [shape, axes] : shapes) {
    for (OperatorKind kind : kSumsOfAnySign) {
      ExpectReduces(kind, RandomTensor(kFloat, shape, 51), axes);
    }
    HostTensor positive = RandomTensor(kFloat, shape, 52);
    Values values = positive.Values();
    for (long double& value : values) value = std::fabs(value) + 0.25L;
    ExpectReduces(OperatorKind::kReduceLogSum, HostTensor::Create(kFloat, shape, values), axes);
    for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
      for (OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceMin}) {
        ExpectReduces(kind, RandomTensor(type, shape, 53), axes);
      }
    }
    ExpectReduces(OperatorKind::kReduceProduct,
                  HostTensor::Create(OperandDataType::kInt32, shape, {-1}), axes);
    ExpectReduces(OperatorKind::kReduceSumSquare, RandomTensor(OperandDataType::kInt32, shape, 54),
                  axes);
  }
  ExpectReduces(OperatorKind::kReduceMean, RandomTensor(kFloat, {1024, 150, 4}, 55), {{1}});
}

// NaN and infinities, wherever they are in rows that are interleaved, leave no trace in others.
TEST(LowerReduce, NanAndInfinityInInterleavedRows_ComeThrough) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  constexpr uint32_t kRows = 8;
  for (uint32_t place : {0u, 1u, 170u, 299u}) {
    Values values(300 * kRows, 1);
    values[place * kRows + 2] = kNan;
    values[place * kRows + 5] = kInfinity;
    values[place * kRows + 7] = -kInfinity;
    const HostTensor input = HostTensor::Create(kFloat, {300, kRows}, values);
    for (OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceMin,
                              OperatorKind::kReduceSum, OperatorKind::kReduceMean}) {
      const Values results =
          RunOne(kind, {input}, webidl::ReduceAttributes{.axes = {{0}}}).Values();
      for (uint32_t row = 0; row < kRows; ++row) {
        const long double extreme = values[place * kRows + row];
        const bool ignored = (kind == OperatorKind::kReduceMax && extreme < 1) ||
                             (kind == OperatorKind::kReduceMin && extreme > 1);
        const long double plain = kind == OperatorKind::kReduceSum ? 300 : 1;
        if (std::isnan(extreme)) {
          EXPECT_TRUE(std::isnan(results[row])) << webidl::OperatorName(kind);
        } else {
          // Devices divide with 2.5 ULP.
          EXPECT_LE(UlpDistance(kFloat, results[row], extreme == 1 || ignored ? plain : extreme), 3)
              << webidl::OperatorName(kind) << " row " << row;
        }
      }
    }
  }
}

// So many rows that subgroups of GPUs take them.
TEST(LowerReduce, ManyRows_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (uint32_t length : {256u, 260u, 1024u}) {
    for (OperatorKind kind :
         {OperatorKind::kReduceMean, OperatorKind::kReduceLogSumExp, OperatorKind::kReduceL2}) {
      ExpectReduces(kind, RandomTensor(kFloat, {1025, length}, length), {{1}});
    }
    for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
      ExpectReduces(OperatorKind::kReduceMin, RandomTensor(type, {1025, length}, length), {{1}});
    }
  }
  ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kFloat, {2, 256, 2, 256}, 56), {{1}});
  ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kFloat, {4, 256, 2, 256}, 57), {{3}});
}

TEST(LowerReduce, AbsentAxes_ReduceAll) {
  ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kFloat, {3, 4, 5}, 6), std::nullopt);
  ExpectReduces(OperatorKind::kReduceMean, RandomTensor(kFloat, {3, 4, 5}, 6), std::nullopt, true);
  ExpectReduces(OperatorKind::kReduceL1, HostTensor::Create(kFloat, {}, {-3}), std::nullopt);
}

TEST(LowerReduce, EmptyAxes_MapEachElement) {
  ExpectReduces(OperatorKind::kReduceL1, RandomTensor(kFloat, {3, 5}, 7), {{}});
  ExpectReduces(OperatorKind::kReduceSumSquare, RandomTensor(kHalf, {3, 5}, 7), {{}});
  ExpectReduces(OperatorKind::kReduceL1, HostTensor::Create(kFloat, {}, {-3}), {{}});
}

TEST(LowerReduce, LongRows_MatchReference) {
  for (const Shape& shape : {Shape{1, 70001}, Shape{3, 4096}, Shape{600, 33}, Shape{70001}}) {
    auto last = static_cast<uint32_t>(shape.size() - 1);
    ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kFloat, shape, 8), {{last}});
    ExpectReduces(OperatorKind::kReduceMax, RandomTensor(kFloat, shape, 9), {{last}});
  }
  ExpectReduces(OperatorKind::kReduceMean, RandomTensor(kFloat, {5000, 3}, 10), {{0}});
  ExpectReduces(OperatorKind::kReduceMean, RandomTensor(kFloat, {100, 600}, 11), {{0}});
  ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kFloat, {40, 7, 30}, 12), {{0, 2}});
}

// More elements than one call folds: in parts, the last ones in one.
TEST(LowerReduce, VeryLongRows_MatchReference) {
  HostTensor input = RandomTensor(kFloat, {2, 1500, 1200}, 31);
  Sample sample(3);
  for (OperatorKind kind : kSumsOfAnySign) {
    if (sample.Takes()) ExpectReduces(kind, input, std::vector<uint32_t>{1, 2});
  }
  ExpectReduces(OperatorKind::kReduceMax, input, std::nullopt);
  ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kHalf, {1900000}, 32), std::nullopt);
  HostTensor ones = HostTensor::Create(OperandDataType::kInt64, {4000000}, {1});
  ExpectReduces(OperatorKind::kReduceSum, ones, std::nullopt);
}

TEST(LowerReduce, LongPrimeDimension_IsRefused) {
  HostTensor input = HostTensor::Create(OperandDataType::kInt32, {3000017}, {1});
  auto result = RunNode(OperatorKind::kReduceSum, {input}, webidl::ReduceAttributes{});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(LowerReduce, RankEight_MatchesReference) {
  HostTensor input = RandomTensor(kFloat, {2, 3, 2, 1, 3, 2, 2, 3}, 13);
  ExpectReduces(OperatorKind::kReduceSum, input, {{0, 2, 4, 6}});
  ExpectReduces(OperatorKind::kReduceMin, input, {{1, 3, 5, 7}}, true);
  ExpectReduces(OperatorKind::kReduceSum, input, std::nullopt);
}

TEST(LowerReduce, Integers_AreExact) {
  Sample sample(3);
  const auto expect = [&](OperatorKind kind, const HostTensor& input, const Axes& axes) {
    if (sample.Takes()) ExpectReduces(kind, input, axes);
  };
  for (OperandDataType type : kIntegerTypes) {
    for (OperatorKind kind :
         {OperatorKind::kReduceSum, OperatorKind::kReduceL1, OperatorKind::kReduceSumSquare,
          OperatorKind::kReduceMax, OperatorKind::kReduceMin}) {
      expect(kind, RandomTensor(type, {3, 5, 4}, 14), {{1}});
      expect(kind, RandomTensor(type, {3, 50}, 15), {{1}});
    }
    expect(OperatorKind::kReduceProduct, HostTensor::Create(type, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
           {{1}});
  }
}

TEST(LowerReduce, IntegerSums_Wrap) {
  HostTensor sum = RunOne(OperatorKind::kReduceSum,
                          {HostTensor::Create(OperandDataType::kInt32, {2}, {INT32_MAX, 1})},
                          webidl::ReduceAttributes{});
  EXPECT_EQ(sum.Values(), Values{INT32_MIN});
  sum = RunOne(OperatorKind::kReduceSum,
               {HostTensor::Create(OperandDataType::kUint64, {2}, {18446744073709551615.0L, 5})},
               webidl::ReduceAttributes{});
  EXPECT_EQ(sum.Values(), Values{4});
}

TEST(LowerReduce, NarrowTypes_FillWordsOfOddLength) {
  for (OperandDataType type : {OperandDataType::kInt8, OperandDataType::kUint8, kHalf}) {
    for (OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceMin}) {
      ExpectReduces(kind, RandomTensor(type, {7, 3}, 16), {{1}});
      ExpectReduces(kind, RandomTensor(type, {7, 45}, 17), {{1}});
      ExpectReduces(kind, RandomTensor(type, {45, 7}, 18), {{0}});
    }
  }
}

TEST(LowerReduce, NanAndInfinity_ComeThrough) {
  auto reduce = [](OperatorKind kind, const Values& values) {
    auto size = static_cast<uint32_t>(values.size());
    return RunOne(kind, {HostTensor::Create(kFloat, {size}, values)}, webidl::ReduceAttributes{})
        .Values()[0];
  };
  Values padding(40, -5);
  for (size_t extra : {size_t{0}, padding.size()}) {
    Values with_nan = {1, kNan, 3};
    Values with_infinity = {1, kInfinity, 3};
    Values least = {-kInfinity, -kInfinity};
    with_nan.insert(with_nan.end(), padding.begin(), padding.begin() + extra);
    with_infinity.insert(with_infinity.end(), padding.begin(), padding.begin() + extra);
    least.insert(least.end(), extra, -kInfinity);
    for (OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceMin,
                              OperatorKind::kReduceSum, OperatorKind::kReduceLogSumExp}) {
      EXPECT_TRUE(std::isnan(reduce(kind, with_nan))) << webidl::OperatorName(kind);
    }
    EXPECT_EQ(reduce(OperatorKind::kReduceMax, with_infinity), kInfinity);
    EXPECT_EQ(reduce(OperatorKind::kReduceSum, with_infinity), kInfinity);
    EXPECT_EQ(reduce(OperatorKind::kReduceLogSumExp, with_infinity), kInfinity);
    EXPECT_EQ(reduce(OperatorKind::kReduceMax, least), -kInfinity);
    EXPECT_EQ(reduce(OperatorKind::kReduceLogSumExp, least), -kInfinity);
  }
  EXPECT_NEAR(static_cast<double>(reduce(OperatorKind::kReduceLogSumExp, {1000, 1000})),
              1000 + std::log(2.0), 1e-4);
}

TEST(LowerReduce, SameOperands_GiveSameBits) {
  HostTensor input = RandomTensor(kFloat, {3, 9999}, 19);
  webidl::ReduceAttributes attributes{.axes = {{1}}};
  HostTensor first = RunOne(OperatorKind::kReduceSum, {input}, attributes);
  HostTensor second = RunOne(OperatorKind::kReduceSum, {input}, attributes);
  EXPECT_EQ(first.bytes, second.bytes);
}

TEST(LowerReduce, AxisBeyondRank_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kReduceSum, {RandomTensor(kFloat, {2, 2}, 20)},
                       webidl::ReduceAttributes{.axes = {{2}}})
                   .ok());
}

// --- argMax, argMin ------------------------------------------------------------------------------

void ExpectArg(OperatorKind kind, const HostTensor& input, uint32_t axis,
               OperandDataType output_type = OperandDataType::kInt32) {
  SCOPED_TRACE(std::string(webidl::OperatorName(kind)) + " " + input.descriptor.ToString() +
               " axis " + std::to_string(axis));
  bool greatest = kind == OperatorKind::kArgMax;
  HostTensor result =
      RunOne(kind, {input},
             webidl::ArgMinMaxAttributes{
                 .axis = axis, .keep_dimensions = axis % 2 == 1, .output_data_type = output_type});
  Values expected;
  for (const Values& group : GroupsOf(input, {{axis}})) {
    size_t best = 0;
    for (size_t i = 0; i < group.size() && !std::isnan(group[best]); ++i) {
      bool beats = greatest ? group[i] > group[best] : group[i] < group[best];
      if (beats || std::isnan(group[i])) best = i;
    }
    expected.push_back(best);
  }
  EXPECT_EQ(result.Values(), expected);
}

TEST(LowerArgReduce, EveryTypeAndAxis_MatchesReference) {
  Sample sample(5);
  const auto expect = [&](OperatorKind kind, const HostTensor& input, uint32_t axis) {
    if (sample.Takes()) ExpectArg(kind, input, axis);
  };
  for (OperandDataType type : kAllTypes) {
    for (OperatorKind kind : {OperatorKind::kArgMax, OperatorKind::kArgMin}) {
      for (uint32_t axis : {0u, 1u, 2u}) expect(kind, RandomTensor(type, {3, 5, 4}, axis), axis);
      expect(kind, RandomTensor(type, {3, 300}, 21), 1);
    }
  }
  ExpectArg(OperatorKind::kArgMax, RandomTensor(kFloat, {2, 2, 1, 2, 2, 5, 2, 2}, 22), 5);
}

// Rows that are interleaved, so many that an invocation takes four neighbours, and one less.
TEST(LowerArgReduce, InterleavedRows_MatchReference) {
  for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
    for (OperatorKind kind : {OperatorKind::kArgMax, OperatorKind::kArgMin}) {
      for (uint32_t inner : {512u, 514u}) {
        ExpectArg(kind, RandomTensor(type, {40, inner}, inner), 0);
        ExpectArg(kind, RandomTensor(type, {2, 5, inner}, inner), 1, OperandDataType::kInt64);
        ExpectArg(kind, RandomTensor(type, {2, 1, inner}, inner), 1);
      }
    }
  }
  // Ties, NaN before and behind others, and infinities, in neighbouring rows.
  constexpr uint32_t kRows = 1024;
  Values values(5 * kRows, 1);
  for (uint32_t row = 0; row < kRows; ++row) {
    if (row % 4 == 1) values[2 * kRows + row] = values[4 * kRows + row] = kNan;
    if (row % 4 == 2) values[row % 5 * kRows + row] = kInfinity;
    if (row % 4 == 3) values[row % 5 * kRows + row] = -kInfinity;
    if (row % 8 == 3) values[row] = kNan;
  }
  HostTensor input = HostTensor::Create(kFloat, {5, kRows}, values);
  ExpectArg(OperatorKind::kArgMax, input, 0);
  ExpectArg(OperatorKind::kArgMin, input, 0);
}

// Rows of whole quads, which workgroups share: few, as many as invocations, and more; with ties,
// NaN and infinities anywhere.
TEST(LowerArgReduce, RowsOfQuads_MatchReference) {
  std::mt19937 random(26);
  for (uint32_t length : {32u, 36u, 64u, 68u, 132u, 400u}) {
    for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
      Values values(24 * length);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = random() % 4;
        const size_t row = i / length;
        if (type == kFloat && row % 3 == 1 && random() % 64 == 0) values[i] = kNan;
        if (type == kFloat && row % 3 == 2 && random() % 64 == 0) values[i] = kInfinity;
        if (type == kFloat && row % 3 == 2 && random() % 64 == 0) values[i] = -kInfinity;
      }
      const HostTensor input = HostTensor::Create(type, {24, length}, values);
      ExpectArg(OperatorKind::kArgMax, input, 1);
      ExpectArg(OperatorKind::kArgMin, input, 1, OperandDataType::kInt64);
    }
  }
}

// So long that GPUs divide them: rows in one piece, and rows that are interleaved, of which a tile
// may have more or fewer than it takes. Few values, so that there are ties between the parts.
TEST(LowerArgReduce, AxesInParts_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  std::mt19937 random(28);
  const std::pair<Shape, uint32_t> shapes[] = {{{3, 4100}, 1},    {{40000}, 0},    {{20, 1024}, 1},
                                               {{2, 40, 36}, 1},  {{1000, 32}, 0}, {{3, 257, 4}, 1},
                                               {{2, 131, 68}, 1}, {{2050, 4}, 0}};
  for (const auto& [shape, axis] : shapes) {
    for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
      for (bool extremes : {false, true}) {
        if (extremes && type != kFloat) continue;
        Values values(CountOf(shape));
        for (long double& value : values) {
          value = random() % 400;
          if (extremes && random() % 64 == 0) {
            const long double of[] = {kNan, kInfinity, -kInfinity};
            value = of[random() % 64 == 0 ? 0 : 1 + random() % 2];
          }
        }
        const HostTensor input = HostTensor::Create(type, shape, values);
        ExpectArg(OperatorKind::kArgMax, input, axis);
        ExpectArg(OperatorKind::kArgMin, input, axis, OperandDataType::kInt64);
      }
    }
  }
}

TEST(LowerArgReduce, ZerosOfEitherSign_AreEquals) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (const auto& [shape, axis] :
       std::initializer_list<std::pair<Shape, uint32_t>>{{{3, 4100}, 1}, {{1000, 32}, 0}}) {
    Values values(CountOf(shape), 0);
    for (size_t i = 0; i < values.size(); i += 3) values[i] = -0.0L;
    const HostTensor input = HostTensor::Create(kFloat, shape, values);
    for (OperatorKind kind : {OperatorKind::kArgMax, OperatorKind::kArgMin}) {
      ExpectArg(kind, input, axis);
    }
  }
}

// So many rows that a tile goes along all of the axis, by turns.
TEST(LowerArgReduce, LongTiles_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  ExpectArg(OperatorKind::kArgMax, RandomTensor(kFloat, {1024, 150, 4}, 29), 1);
}

TEST(LowerArgReduce, Int64Result_HasHighWords) {
  ExpectArg(OperatorKind::kArgMax, RandomTensor(kFloat, {5, 7}, 23), 1, OperandDataType::kInt64);
  ExpectArg(OperatorKind::kArgMin, RandomTensor(kFloat, {2, 999}, 24), 1, OperandDataType::kInt64);
}

TEST(LowerArgReduce, LogitsOfOneToken_MatchReference) {
  ExpectArg(OperatorKind::kArgMax, RandomTensor(kFloat, {1, 1, 32003}, 25), 2);
}

TEST(LowerArgReduce, VeryLongAxis_FindsTheLast) {
  Values values(1000000, 0);
  values.back() = 1;
  HostTensor input = HostTensor::Create(kFloat, {1000000}, values);
  EXPECT_EQ(RunOne(OperatorKind::kArgMax, {input}, webidl::ArgMinMaxAttributes{}).Values(),
            Values{999999});
}

TEST(LowerArgReduce, Ties_GiveTheFirst) {
  Values values(100, 3);
  values[0] = 1;
  for (uint32_t size : {5u, 100u}) {
    Values part(values.begin(), values.begin() + size);
    ExpectArg(OperatorKind::kArgMax, HostTensor::Create(kFloat, {size}, part), 0);
    ExpectArg(OperatorKind::kArgMin, HostTensor::Create(kFloat, {size}, {7}), 0);
  }
}

TEST(LowerArgReduce, Nan_IsTheExtreme) {
  for (size_t size : {size_t{6}, size_t{70}}) {
    Values values(size, 1);
    values[1] = kInfinity;
    values[3] = kNan;
    values[size - 1] = kNan;
    HostTensor input = HostTensor::Create(kFloat, {static_cast<uint32_t>(size)}, values);
    ExpectArg(OperatorKind::kArgMax, input, 0);
    ExpectArg(OperatorKind::kArgMin, input, 0);
  }
}

TEST(LowerArgReduce, AxisBeyondRank_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kArgMax, {RandomTensor(kFloat, {2}, 26)},
                       webidl::ArgMinMaxAttributes{.axis = 1})
                   .ok());
}

// --- Rows: cumulativeSum, softmax ----------------------------------------------------------------

// Maps each row of an axis to a row.
Values MapRows(const HostTensor& input, uint32_t axis, const std::function<Values(Values)>& map) {
  const Shape& shape = input.descriptor.shape();
  size_t inner = CountOf(Shape(shape.begin() + axis + 1, shape.end()));
  Values values = input.Values();
  for (size_t base = 0; base < values.size(); ++base) {
    if (base / inner % shape[axis] != 0) continue;
    Values row;
    for (uint32_t k = 0; k < shape[axis]; ++k) row.push_back(values[base + k * inner]);
    row = map(row);
    for (uint32_t k = 0; k < shape[axis]; ++k) values[base + k * inner] = row[k];
  }
  return values;
}

void ExpectNear(const Values& expected, const HostTensor& actual, double ulp, double absolute) {
  OperandDataType type = actual.descriptor.data_type();
  Values values = actual.Values();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    long double want = RoundTo(type, expected[i]);
    if (std::fabs(want - values[i]) <= absolute) continue;
    ASSERT_LE(UlpDistance(type, want, values[i]), ulp)
        << "element " << i << ": want " << static_cast<double>(want) << ", got "
        << static_cast<double>(values[i]);
  }
}

void ExpectCumulativeSum(const HostTensor& input, uint32_t axis, bool exclusive, bool reversed) {
  SCOPED_TRACE(input.descriptor.ToString() + " axis " + std::to_string(axis));
  HostTensor result = RunOne(
      OperatorKind::kCumulativeSum, {input},
      webidl::CumulativeSumAttributes{.axis = axis, .exclusive = exclusive, .reversed = reversed});
  Values expected = MapRows(input, axis, [&](Values row) {
    if (reversed) std::reverse(row.begin(), row.end());
    long double sum = 0;
    for (long double& value : row) {
      long double next = sum + value;
      value = exclusive ? sum : next;
      sum = next;
    }
    if (reversed) std::reverse(row.begin(), row.end());
    return row;
  });
  bool is_float = IsFloat(input.descriptor.data_type());
  ExpectNear(expected, result, is_float ? 3 : 0, is_float ? 2e-4 : 0);
}

TEST(LowerCumulativeSum, EveryTypeAndDirection_MatchesReference) {
  Sample sample(5);
  const auto expect = [&](const HostTensor& input, uint32_t axis, bool exclusive, bool reversed) {
    if (sample.Takes()) ExpectCumulativeSum(input, axis, exclusive, reversed);
  };
  for (OperandDataType type : kAllTypes) {
    if (type == OperandDataType::kInt8 || type == OperandDataType::kUint8) continue;
    for (int choice = 0; choice < 4; ++choice) {
      expect(RandomTensor(type, {3, 5, 3}, 27), 1, choice & 1, choice & 2);
    }
    expect(RandomTensor(type, {5, 7}, 28), 1, false, false);
    expect(RandomTensor(type, {3, 201}, 29), 1, true, true);
  }
}

TEST(LowerCumulativeSum, FourAtOnce_MatchesReference) {
  Sample sample(4);
  const auto expect = [&](const HostTensor& input, uint32_t axis, bool exclusive, bool reversed) {
    if (sample.Takes()) ExpectCumulativeSum(input, axis, exclusive, reversed);
  };
  for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
    for (int choice = 0; choice < 4; ++choice) {
      for (uint32_t length : {32u, 36u, 300u}) {
        expect(RandomTensor(type, {3, length}, length), 1, choice & 1, choice & 2);
      }
      for (uint32_t length : {1u, 7u, 9u, 40u}) {
        expect(RandomTensor(type, {2, length, 36}, length), 1, choice & 1, choice & 2);
      }
      expect(RandomTensor(type, {2, 7, 1040}, 41), 1, choice & 1, choice & 2);
      expect(RandomTensor(type, {3, 7, 1152}, 43), 1, choice & 1, choice & 2);
      expect(RandomTensor(type, {5, 1044}, 42), 0, choice & 1, choice & 2);
    }
  }
}

// So many elements of rows that are interleaved that GPUs divide them between tiles, which the rows
// or their lengths may leave in part empty.
TEST(LowerCumulativeSum, InterleavedRowsInParts_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  const std::pair<Shape, uint32_t> shapes[] = {
      {{2, 40, 36}, 1}, {{300, 32}, 0}, {{3, 129, 4}, 1}, {{2, 2100, 12}, 1}, {{256, 68}, 0}};
  for (const auto& [shape, axis] : shapes) {
    for (OperandDataType type : {kFloat, OperandDataType::kInt32, OperandDataType::kUint32}) {
      for (int choice = 0; choice < 4; ++choice) {
        ExpectCumulativeSum(RandomTensor(type, shape, 44), axis, choice & 1, choice & 2);
      }
    }
  }
}

// So many rows that a tile goes along all of the axis, by turns.
TEST(LowerCumulativeSum, LongTiles_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  const HostTensor input = RandomTensor(kFloat, {1024, 150, 4}, 45);
  ExpectCumulativeSum(input, 1, false, true);
  ExpectCumulativeSum(input, 1, true, false);
}

TEST(LowerCumulativeSum, LongRows_MatchReference) {
  for (int choice = 0; choice < 4; ++choice) {
    ExpectCumulativeSum(RandomTensor(kFloat, {2, 3001}, 30), 1, choice & 1, choice & 2);
    ExpectCumulativeSum(RandomTensor(OperandDataType::kInt64, {129, 3}, 31), 0, choice & 1,
                        choice & 2);
  }
  ExpectCumulativeSum(RandomTensor(kFloat, {1, 2, 1, 2, 3, 2, 1, 2}, 32), 4, false, false);
}

TEST(LowerCumulativeSum, VeryLongAxis_ReachesItsEnd) {
  HostTensor ones = HostTensor::Create(OperandDataType::kInt32, {500000}, {1});
  Values sums =
      RunOne(OperatorKind::kCumulativeSum, {ones}, webidl::CumulativeSumAttributes{}).Values();
  EXPECT_EQ(sums.back(), 500000);
}

TEST(LowerCumulativeSum, AxisBeyondRank_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kCumulativeSum, {RandomTensor(kFloat, {2}, 33)},
                       webidl::CumulativeSumAttributes{.axis = 1})
                   .ok());
}

void ExpectSoftmax(const HostTensor& input, uint32_t axis, double ulp = 12) {
  SCOPED_TRACE(input.descriptor.ToString() + " axis " + std::to_string(axis));
  HostTensor result =
      RunOne(OperatorKind::kSoftmax, {input}, webidl::SoftmaxAttributes{.axis = axis});
  Values expected = MapRows(input, axis, [&](Values row) {
    long double greatest = *std::max_element(row.begin(), row.end());
    for (long double& value : row) value = std::exp(value - greatest);
    long double sum = Sum(row, Identity);
    for (long double& value : row) value /= sum;
    return row;
  });
  bool is_half = input.descriptor.data_type() == kHalf;
  ExpectNear(expected, result, is_half ? 1 : ulp, 1e-38);
}

TEST(LowerSoftmax, EveryAxis_MatchesReference) {
  Sample sample(2);
  const auto expect = [&](const HostTensor& input, uint32_t axis) {
    if (sample.Takes()) ExpectSoftmax(input, axis);
  };
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t axis : {0u, 1u, 2u}) expect(RandomTensor(type, {3, 5, 7}, 34), axis);
    expect(RandomTensor(type, {5, 77}, 35), 1);
    expect(RandomTensor(type, {5, 76}, 35), 1);
    expect(RandomTensor(type, {77, 5}, 36), 0);
    expect(RandomTensor(type, {1}, 37), 0);
  }
  expect(RandomTensor(kFloat, {4, 1, 3000}, 38), 2);
  expect(RandomTensor(kFloat, {600, 40, 2}, 39), 1);
  expect(RandomTensor(kFloat, {2, 2, 1, 2, 2, 5, 2, 2}, 40), 5);
}

TEST(LowerSoftmax, FourAtOnce_MatchesReference) {
  Sample sample(2);
  const auto expect = [&](const HostTensor& input, uint32_t axis) {
    if (sample.Takes()) ExpectSoftmax(input, axis);
  };
  // Lengths with and without a rest beyond the fours that each invocation takes at once.
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t length : {32u, 36u, 128u, 300u, 2052u}) {
      expect(RandomTensor(type, {3, length}, length), 1);
    }
    // Workgroups with different numbers of rows.
    expect(RandomTensor(type, {21, 64}, 43), 1);
    for (uint32_t length : {1u, 3u, 4u, 9u, 33u}) {
      expect(RandomTensor(type, {2, length, 1028}, length), 1);
      expect(RandomTensor(type, {2, length, 1040}, length), 1);
      expect(RandomTensor(type, {3, length, 1152}, length), 1);
      expect(RandomTensor(type, {length, 3, 4}, length), 0);
    }
  }
}

// The elements are gone over as they lie. An invocation adds the terms of a row four by four, so
// that its sum is rounded 258 times, by half a unit at most, of which a few remain.
TEST(LowerSoftmax, LongInterleavedRows_MatchReference) {
  constexpr double kUlp = 16;
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectSoftmax(RandomTensor(type, {3, 1031, 260}, 41), 1, kUlp);
  }
  ExpectSoftmax(RandomTensor(kFloat, {1026, 1040}, 42), 0, kUlp);
  ExpectSoftmax(RandomTensor(kFloat, {8, 1026, 128}, 45), 1, kUlp);
}

// Tiles of interleaved rows, which the rows or their lengths may leave in part empty: of a whole
// axis, of parts of it, and of a whole axis by turns.
TEST(LowerSoftmax, InterleavedRowsInParts_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (OperandDataType type : {kFloat, kHalf}) {
    ExpectSoftmax(RandomTensor(type, {2, 40, 36}, 46), 1);
    ExpectSoftmax(RandomTensor(type, {128, 4}, 47), 0);
    ExpectSoftmax(RandomTensor(type, {129, 68}, 48), 0);
    ExpectSoftmax(RandomTensor(type, {2, 700, 12}, 49), 1);
    ExpectSoftmax(RandomTensor(type, {1024, 150, 4}, 50), 1);
  }
}

// So many rows that subgroups of GPUs take them, short enough for any and too long for small ones.
TEST(LowerSoftmax, ManyRows_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t length : {36u, 252u, 256u, 260u, 1024u}) {
      ExpectSoftmax(RandomTensor(type, {1025, length}, length), 1);
    }
    ExpectSoftmax(RandomTensor(type, {3, 4092}, 51), 1);
    ExpectSoftmax(RandomTensor(type, {2, 4100}, 52), 1);
  }
}

// Rows of `values`, `inner` of them interleaved.
HostTensor Interleave(const Values& values, uint32_t inner) {
  Values all;
  for (long double value : values) all.insert(all.end(), inner, value);
  return HostTensor::Create(kFloat, {static_cast<uint32_t>(values.size()), inner}, all);
}

TEST(LowerSoftmax, LargeAndMaskedScores_DoNotOverflow) {
  for (uint32_t size : {8u, 64u, 300u}) {
    for (uint32_t inner : {1u, 4u}) {
      Values values(size, -kInfinity);
      values[1] = 3e38L;
      values[2] = 3e38L;
      values[3] = -3e38L;
      ExpectSoftmax(Interleave(values, inner), 0);
      values[4] = kNan;
      HostTensor result = RunOne(OperatorKind::kSoftmax, {Interleave(values, inner)},
                                 webidl::SoftmaxAttributes{.axis = 0});
      for (long double value : result.Values()) EXPECT_TRUE(std::isnan(value));
    }
  }
}

TEST(LowerSoftmax, NoScoreLessThanInfinity_GivesNan) {
  for (uint32_t size : {8u, 64u, 300u}) {
    for (uint32_t inner : {1u, 4u}) {
      for (bool masked : {false, true}) {
        Values values(size, masked ? -kInfinity : 1);
        if (!masked) values[size - 1] = kInfinity;
        HostTensor result = RunOne(OperatorKind::kSoftmax, {Interleave(values, inner)},
                                   webidl::SoftmaxAttributes{.axis = 0});
        for (long double value : result.Values()) EXPECT_TRUE(std::isnan(value));
      }
    }
  }
}

TEST(LowerSoftmax, VocabularyOfManyTokens_SumsToOne) {
  for (OperandDataType type : {kFloat, kHalf}) {
    HostTensor scores = HostTensor::Create(type, {1, 262144}, {0.5L});
    Values shares = RunOne(OperatorKind::kSoftmax, {scores}, webidl::SoftmaxAttributes{1}).Values();
    for (long double share : shares) ASSERT_NEAR(static_cast<double>(share * 262144), 1, 0.04);
  }
}

TEST(LowerSoftmax, AxisBeyondTheLoops_IsRefused) {
  HostTensor scores = HostTensor::Create(kHalf, {1, 4000000}, {0});
  auto result = RunNode(OperatorKind::kSoftmax, {scores}, webidl::SoftmaxAttributes{1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().cause(), Cause::kNotSupported);
}

TEST(LowerSoftmax, IntegerOperand_IsRefused) {
  EXPECT_FALSE(RunNode(OperatorKind::kSoftmax, {RandomTensor(OperandDataType::kInt32, {2}, 41)},
                       webidl::SoftmaxAttributes{.axis = 0})
                   .ok());
}

}  // namespace
}  // namespace webnnd::service
