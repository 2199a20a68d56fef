// Axes about as long as kernels loop over: each result is that of all elements, or there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/service/rows_fixture.h"

namespace webnnd::service::rows_test {
namespace {

struct Case {
  OperatorKind kind;
  OperandDataType type;
  long double value;  // Of all elements but the last one.
  long double last;
  webidl::OperatorAttributes attributes;
  size_t operands = 1;
  std::optional<long double> first = std::nullopt;
};

void ExpectTooLong(const Error& error) {
  EXPECT_EQ(error.cause(), Cause::kNotSupported);
  EXPECT_THAT(error.message(), testing::AnyOf(testing::HasSubstr("than a kernel loops over"),
                                              testing::HasSubstr("is long and has no divisor")));
}

// Of rows of so many elements, results end with `expected`, but for `error` of it. The first of the
// counts is what each device takes; of the others it may say that they are too many.
void ExpectEnds(const Case& c, const std::vector<uint32_t>& counts,
                const std::function<long double(uint32_t)>& expected, double error = 0) {
  for (const uint32_t count : counts) {
    SCOPED_TRACE(count);
    Values values(count, c.value);
    values.front() = c.first.value_or(c.value);
    values.back() = c.last;
    std::vector<std::optional<HostTensor>> operands(c.operands);
    operands[0] = HostTensor::Create(c.type, {1, count}, values);
    const auto results = RunNode(c.kind, operands, c.attributes);
    if (results.ok()) {
      EXPECT_NEAR(results->front().Values().back() / expected(count), 1, error);
      continue;
    }
    EXPECT_NE(count, counts[0]);
    ExpectTooLong(results.error());
  }
}

TEST(LongAxes, CumulativeSum_ReachesTheEnd) {
  const webidl::CumulativeSumAttributes along{.axis = 1};
  ExpectEnds({OperatorKind::kCumulativeSum, OperandDataType::kInt32, 1, 1, along},
             {900001, 1900000}, [](uint32_t count) { return count; });
  ExpectEnds({OperatorKind::kCumulativeSum, kHalf, 0, 4000, along}, {900000, 1900000},
             [](uint32_t) { return 4000; });
}

TEST(LongAxes, ArgMax_ReachesTheEnd) {
  ExpectEnds({OperatorKind::kArgMax, kFloat, 0, 1, webidl::ArgMinMaxAttributes{.axis = 1}},
             {1800001, 3800000}, [](uint32_t count) { return count - 1; });
}

TEST(LongAxes, Softmax_ReachesTheEnd) {
  const long double power = std::exp(12.0L);
  ExpectEnds(
      {OperatorKind::kSoftmax, kFloat, 0, 12, webidl::SoftmaxAttributes{.axis = 1}},
      {630001, 1270000}, [&](uint32_t count) { return power / (power + count - 1); }, 1e-3);
}

TEST(LongAxes, Reductions_ReachTheEnd) {
  const std::vector<uint32_t> counts = {719999, 840000, 1439999, 1600001, 2879999};
  const webidl::ReduceAttributes all;
  for (const OperandDataType type : {OperandDataType::kInt32, OperandDataType::kInt64}) {
    ExpectEnds({OperatorKind::kReduceSum, type, 1, 1, all}, counts,
               [](uint32_t count) { return count; });
  }
  ExpectEnds({OperatorKind::kReduceMax, kHalf, 0, 7, all}, counts, [](uint32_t) { return 7; });
  ExpectEnds(
      {OperatorKind::kReduceLogSumExp, kFloat, 0, 30, all}, counts,
      [](uint32_t count) { return std::log(std::exp(30.0L) + count - 1); }, 1e-6);
}

// Rows that lie interleaved have an invocation each, or all rows of a word have one.
TEST(LongAxes, ReductionsOfBytes_ReachTheEnd) {
  constexpr uint32_t kRows = 512;
  for (const uint32_t length : {26000u, 110000u}) {
    HostTensor bytes = HostTensor::Create(OperandDataType::kUint8, {length, kRows}, {1});
    std::fill(bytes.bytes.end() - kRows, bytes.bytes.end(), std::byte{7});
    const webidl::ReduceAttributes along{.axes = std::vector<uint32_t>{0}};
    EXPECT_EQ(RunOne(OperatorKind::kReduceMax, {bytes}, along).Values(), Values(kRows, 7));
  }
}

// Few rows that lie interleaved, of the length up to which llvmpipe has an invocation for each, and
// of a longer one, of which a workgroup shares each; both are prime, or nearly.
TEST(LongAxes, FewInterleavedRows_ReachTheEnd) {
  constexpr uint32_t kRows = 36;
  for (const uint32_t length : {65521u, 65536u, 65537u}) {
    SCOPED_TRACE(length);
    const auto rows_of = [&](OperandDataType type, long double value, long double last) {
      Values values(size_t{kRows} * length, value);
      std::fill(values.end() - kRows, values.end(), last);
      return HostTensor::Create(type, {length, kRows}, values);
    };
    const auto expect_last = [&](const HostTensor& result, long double expected, double error) {
      const Values values = result.Values();
      for (uint32_t row = 0; row < kRows; ++row) {
        ASSERT_NEAR(static_cast<double>(values[values.size() - 1 - row] / expected), 1, error);
      }
    };
    const webidl::ReduceAttributes along{.axes = std::vector<uint32_t>{0}};
    expect_last(RunOne(OperatorKind::kReduceMax, {rows_of(OperandDataType::kUint8, 1, 7)}, along),
                7, 0);
    expect_last(RunOne(OperatorKind::kReduceSum, {rows_of(kFloat, 0, 7)}, along), 7, 0);
    expect_last(RunOne(OperatorKind::kReduceLogSumExp, {rows_of(kHalf, 0, 40)}, along), 40, 1e-3);
    expect_last(RunOne(OperatorKind::kArgMax, {rows_of(kHalf, 0, 7)},
                       webidl::ArgMinMaxAttributes{.axis = 0}),
                length - 1, 0);
    const long double whole = std::exp(12.0L) + length - 1;
    for (const OperandDataType type : {kFloat, kHalf}) {
      expect_last(RunOne(OperatorKind::kSoftmax, {rows_of(type, 0, 12)},
                         webidl::SoftmaxAttributes{.axis = 0}),
                  std::exp(12.0L) / whole, type == kHalf ? 1e-3 : 5e-5);
    }
  }
}

TEST(LongAxes, ReductionsOfTwoHalves_ReachTheEnd) {
  for (const uint32_t length : {400000u, 1000003u, 1200000u, 2000003u}) {
    SCOPED_TRACE(length);
    for (const OperatorKind kind : {OperatorKind::kReduceMax, OperatorKind::kReduceLogSumExp}) {
      Values values(size_t{2} * length, 0);
      values.back() = 40;
      const webidl::ReduceAttributes along{.axes = std::vector<uint32_t>{0}};
      const auto results = RunNode(kind, {HostTensor::Create(kHalf, {length, 2}, values)}, along);
      if (results.ok()) {
        EXPECT_EQ(results->front().Values().back(), 40);
        continue;
      }
      EXPECT_NE(length, 400000);
      ExpectTooLong(results.error());
    }
  }
}

TEST(LongAxes, InstanceNormalization_ReachesTheEnd) {
  constexpr uint32_t kSize = 1280;
  Values values(size_t{kSize} * kSize, 0);
  values.front() = 50;
  values.back() = 1000;
  const long double mean = 1050.0L / (kSize * kSize);
  const long double variance = (2500 + 1e6L) / (kSize * kSize) - mean * mean;
  const auto results = RunNode(OperatorKind::kInstanceNormalization,
                               {HostTensor::Create(kFloat, {1, 1, kSize, kSize}, values), {}, {}},
                               webidl::InstanceNormalizationAttributes{});
  if (!results.ok()) {
    EXPECT_TRUE(TestDevice()->narrow());
    return ExpectTooLong(results.error());
  }
  EXPECT_NEAR(results->front().Values().back() / ((1000 - mean) / std::sqrt(variance + 1e-5L)), 1,
              1e-3);
}

// As many parts of columns as there are processors to take them, which are as long as they may be.
TEST(LongAxes, Columns_ReachTheEnd) {
  constexpr uint32_t kPlanes = 17;
  constexpr uint32_t kRows = 8192;
  constexpr uint32_t kColumns = 48;
  Values values(size_t{kPlanes} * kRows * kColumns, 0);
  std::fill(values.end() - kColumns, values.end(), 1000);
  const Values results =
      RunOne(OperatorKind::kLayerNormalization,
             {HostTensor::Create(kFloat, {kPlanes, kRows, kColumns}, values), {}, {}},
             webidl::LayerNormalizationAttributes{.axes = {{1}}})
          .Values();
  const long double mean = 1000.0L / kRows;
  const long double variance = 1e6L / kRows - mean * mean;
  for (uint32_t column = 0; column < kColumns; ++column) {
    const long double last = results[results.size() - 1 - column];
    ASSERT_NEAR(static_cast<double>(last * std::sqrt(variance) / (1000 - mean)), 1, 1e-4);
  }
}

// Once with a first element that is far from the mean, so that rows are summed twice.
TEST(LongAxes, LayerNormalization_ReachesTheEnd) {
  for (const long double first : {0, 50}) {
    const auto expected = [&](uint32_t count) {
      const long double mean = (first + 1000) / count;
      const long double variance = (first * first + 1e6L) / count - mean * mean;
      return (1000 - mean) / std::sqrt(variance + 1e-5L);
    };
    ExpectEnds({OperatorKind::kLayerNormalization, kFloat, 0, 1000,
                webidl::LayerNormalizationAttributes{}, 3, first},
               {710000, 719999, 1270000, 1439999, 1900000, 2550000, 3800000}, expected, 1e-3);
  }
}

TEST(LongAxes, DeepProducts_ReachTheEnd) {
  for (const uint32_t rows : {1u, 2u, 40u, 128u}) {
    for (const uint32_t depth : {30001u, 70000u, 490000u}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, depth " + std::to_string(depth));
      if (uint64_t{rows} * depth > 20000000) continue;
      Values values(size_t{rows} * depth, 0);
      values.back() = 3;
      const HostTensor a = HostTensor::Create(kFloat, {rows, depth}, values);
      const HostTensor b = HostTensor::Create(kFloat, {depth, 36}, {1});
      const auto results = RunNode(OperatorKind::kMatmul, {a, b}, webidl::NoAttributes{});
      if (results.ok()) {
        EXPECT_EQ(results->front().Values().back(), 3);
        continue;
      }
      EXPECT_NE(depth, 30001);
      ExpectTooLong(results.error());
    }
  }
}

}  // namespace
}  // namespace webnnd::service::rows_test
