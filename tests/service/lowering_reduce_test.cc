// Reductions against long double loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/service/rows_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::rows_test {
namespace {

constexpr OperandDataType kIntegerTypes[] = {OperandDataType::kInt32, OperandDataType::kUint32,
                                             OperandDataType::kInt64, OperandDataType::kUint64};

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

// Their parts are float32.
TEST(LowerReduce, HalvesOfInterleavedRowsInParts_MatchReference) {
  SKIP_UNLESS_FORMS_OF_GPUS_ARE_TESTED();
  for (OperatorKind kind : {OperatorKind::kReduceSum, OperatorKind::kReduceMax}) {
    ExpectReduces(kind, RandomTensor(kHalf, {256, 1024}, 56), {{0}});
    ExpectReduces(kind, RandomTensor(kHalf, {2, 512, 600}, 57), {{1}});
  }
}

// Tiles of interleaved rows on GPUs, which the rows or their lengths may leave in part empty: of a
// whole axis, of parts of it, and of a whole axis by turns.
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

// In llvmpipe's lanes: vectors of columns that are all whole or not, a few and in turns; blocks of
// rows that are all whole or not.
TEST(LowerReduce, Columns_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf, OperandDataType::kInt32, OperandDataType::kUint32}) {
    for (uint32_t columns : {16u, 33u, 40u, 64u, 166u, 300u}) {
      ExpectReduces(OperatorKind::kReduceSum, RandomTensor(type, {2, 67, columns}, columns), {{1}});
      ExpectReduces(OperatorKind::kReduceMax, RandomTensor(type, {66, columns}, columns), {{0}});
      ExpectReduces(OperatorKind::kReduceMin, RandomTensor(type, {2, 3, 5, columns}, columns),
                    {{1, 2}});
    }
    ExpectReduces(OperatorKind::kReduceSumSquare, RandomTensor(type, {3, 131, 34}, 58), {{1}},
                  true);
    ExpectReduces(OperatorKind::kReduceL1, RandomTensor(type, {3, 9, 34}, 59), {{1}});
    if (type != kFloat && type != kHalf) continue;
    for (OperatorKind kind : {OperatorKind::kReduceMean, OperatorKind::kReduceLogSumExp,
                              OperatorKind::kReduceL2, OperatorKind::kReduceProduct}) {
      ExpectReduces(kind, RandomTensor(type, {3, 21, 50}, 60), {{1}});
      ExpectReduces(kind, RandomTensor(type, {2, 8, 34}, 61), {{1}});
    }
  }
}

// NaN and infinities, wherever they are in rows that are interleaved, leave no trace in others.
TEST(LowerReduce, NanAndInfinityInInterleavedRows_ComeThrough) {
  constexpr uint32_t kRows = 24;
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

// So many rows that subgroups of llvmpipe take them: whole vectors, several at a time or not, and
// what is left; and longer than what is summed at once.
TEST(LowerReduce, ManyRowsOfAnyLength_MatchReference) {
  for (uint32_t length : {16u, 17u, 31u, 128u, 145u, 300u}) {
    const HostTensor input = RandomTensor(kFloat, {275, length}, length);
    for (OperatorKind kind : kSumsOfAnySign) ExpectReduces(kind, input, {{1}});
    for (OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceMin}) {
      ExpectReduces(kind, input, {{1}});
      for (OperandDataType type : {OperandDataType::kInt32, OperandDataType::kUint32}) {
        ExpectReduces(kind, RandomTensor(type, {275, length}, length), {{1}});
      }
    }
    for (OperandDataType type : {OperandDataType::kInt32, OperandDataType::kUint32}) {
      ExpectReduces(OperatorKind::kReduceSum, RandomTensor(type, {275, length}, length), {{1}});
    }
  }
  ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kFloat, {257, 8500}, 58), {{1}});
  ExpectReduces(OperatorKind::kReduceMax, RandomTensor(kFloat, {257, 8500}, 59), {{1}});
}

// Words of which have two elements each, and rows that are no whole words.
TEST(LowerReduce, ManyRowsOfHalves_MatchReference) {
  constexpr auto kHalf = OperandDataType::kFloat16;
  for (uint32_t length : {16u, 17u, 18u, 34u, 49u, 62u, 77u, 256u, 259u, 290u, 600u, 601u}) {
    const HostTensor input = RandomTensor(kHalf, {275, length}, length);
    for (OperatorKind kind : kSumsOfAnySign) ExpectReduces(kind, input, {{1}});
    for (OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceMin}) {
      ExpectReduces(kind, input, {{1}});
    }
  }
  ExpectReduces(OperatorKind::kReduceSum, RandomTensor(kHalf, {257, 17000}, 60), {{1}});
  ExpectReduces(OperatorKind::kReduceMean, RandomTensor(kHalf, {3, 100, 5, 64}, 61), {{3}});
  // So many of one row that they are reduced in parts.
  ExpectReduces(OperatorKind::kReduceMean, RandomTensor(kHalf, {300, 1000}, 62), std::nullopt);
}

TEST(LowerReduce, NanAndInfinityInManyRows_ComeThrough) {
  constexpr uint32_t kRows = 300;
  // Of each such row, where: first, in a stretch of vectors, in a vector, and last. Odd rows of
  // halves begin or end within a word.
  constexpr uint32_t kLength = 151;
  constexpr uint32_t kPlaces[] = {0, 5, 130, 150};
  constexpr long double kSpecials[] = {kNan, kInfinity, -kInfinity};
  Values values(kRows * kLength, 1);
  const auto special_of = [&](uint32_t row) { return kSpecials[row / 3 % 3]; };
  for (uint32_t row = 0; row < kRows; row += 3) {
    values[row * kLength + kPlaces[row / 9 % 4]] = special_of(row);
  }
  const HostTensor floats = HostTensor::Create(kFloat, {kRows, kLength}, values);
  const HostTensor halves = HostTensor::Create(OperandDataType::kFloat16, {kRows, kLength}, values);
  for (const auto& [kind, input] :
       {std::pair(OperatorKind::kReduceMax, floats), std::pair(OperatorKind::kReduceMin, floats),
        std::pair(OperatorKind::kReduceSum, floats),
        std::pair(OperatorKind::kReduceLogSumExp, floats),
        std::pair(OperatorKind::kReduceMax, halves), std::pair(OperatorKind::kReduceMin, halves),
        std::pair(OperatorKind::kReduceSum, halves)}) {
    const Values results = RunOne(kind, {input}, webidl::ReduceAttributes{.axes = {{1}}}).Values();
    for (uint32_t row = 0; row < kRows; ++row) {
      const bool has_special = row % 3 == 0;
      const long double plain = kind == OperatorKind::kReduceSum         ? kLength
                                : kind == OperatorKind::kReduceLogSumExp ? 1 + std::log(151.0L)
                                                                         : 1;
      const long double special = special_of(row);
      const bool is_extreme = kind == OperatorKind::kReduceSum ||
                              (kind == OperatorKind::kReduceMin ? special < 0 : special > 0);
      if (has_special && std::isnan(special)) {
        EXPECT_TRUE(std::isnan(results[row])) << webidl::OperatorName(kind) << " row " << row;
      } else if (has_special && is_extreme) {
        EXPECT_EQ(results[row], special) << webidl::OperatorName(kind) << " row " << row;
      } else {
        EXPECT_NEAR(static_cast<double>(results[row]), static_cast<double>(plain), 0.01)
            << webidl::OperatorName(kind) << " row " << row;
      }
    }
  }
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
  // GPUs' kernels take more.
  const uint32_t length = TestDevice()->wide() ? 8000009 : 3000017;
  HostTensor input = HostTensor::Create(OperandDataType::kInt32, {length}, {1});
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

}  // namespace
}  // namespace webnnd::service::rows_test
