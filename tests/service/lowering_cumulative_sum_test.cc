// cumulativeSum against long double loops.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/service/rows_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::rows_test {
namespace {

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

// Of rows in one piece that are no whole quads: less than a vector, whole ones, and more.
TEST(LowerCumulativeSum, RowsOfAnyLength_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf, OperandDataType::kInt32, OperandDataType::kUint32}) {
    for (uint32_t length : {11u, 12u, 13u, 16u, 17u, 33u, 50u, 77u, 129u}) {
      for (int choice = 0; choice < 4; ++choice) {
        ExpectCumulativeSum(RandomTensor(type, {5, length}, length), 1, choice & 1, choice & 2);
      }
    }
  }
}

// Of rows in one piece, in quads and not, and such as the last turn leaves invocations idle.
TEST(LowerCumulativeSum, EightHalvesAtOnce_MatchReference) {
  for (int choice = 0; choice < 4; ++choice) {
    for (uint32_t length : {32u, 36u, 40u, 128u, 304u}) {
      ExpectCumulativeSum(RandomTensor(kHalf, {3, length}, 50 + length), 1, choice & 1, choice & 2);
    }
  }
  ExpectCumulativeSum(RandomTensor(kHalf, {50, 2048}, 46), 1, false, false);
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

}  // namespace
}  // namespace webnnd::service::rows_test
