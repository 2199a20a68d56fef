// argMax and argMin against long double loops.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/service/rows_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::rows_test {
namespace {

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

// Rows that are interleaved, so many that an invocation takes four neighbours, four times as many,
// of its own or beside those of others, and one less.
TEST(LowerArgReduce, InterleavedRows_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf, OperandDataType::kInt32, OperandDataType::kUint32,
                               OperandDataType::kInt8, OperandDataType::kUint8}) {
    for (OperatorKind kind : {OperatorKind::kArgMax, OperatorKind::kArgMin}) {
      for (uint32_t inner : {512u, 514u, 528u}) {
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
    for (OperandDataType type : {kFloat, kHalf, OperandDataType::kInt32, OperandDataType::kUint32,
                                 OperandDataType::kUint8}) {
      const bool is_float = type == kFloat || type == kHalf;
      Values values(24 * length);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = random() % 4;
        const size_t row = i / length;
        if (is_float && row % 3 == 1 && random() % 64 == 0) values[i] = kNan;
        if (is_float && row % 3 == 2 && random() % 64 == 0) values[i] = kInfinity;
        if (is_float && row % 3 == 2 && random() % 64 == 0) values[i] = -kInfinity;
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

}  // namespace
}  // namespace webnnd::service::rows_test
