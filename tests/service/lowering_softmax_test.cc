// softmax against long double loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/service/rows_fixture.h"
#include "tests/support/sample.h"

namespace webnnd::service::rows_test {
namespace {

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

// Rows that fit into registers, which begin within words where they are of halves and odd, longer
// ones by vectors, several at a time or not, and what is left, which no quads need be.
TEST(LowerSoftmax, RowsOfAnyLength_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t length : {9u, 10u, 16u, 17u, 31u, 32u, 33u, 65u, 77u, 127u, 128u, 145u, 197u,
                            255u, 256u, 257u, 301u}) {
      ExpectSoftmax(RandomTensor(type, {5, length}, length), 1);
    }
    ExpectSoftmax(RandomTensor(type, {1, 77}, 53), 1);
    ExpectSoftmax(RandomTensor(type, {400, 21}, 54), 1);
  }
}

// Whichever kernel takes them.
TEST(LowerSoftmax, RowsOfOtherSizes_HaveTheSameBits) {
  const webidl::SoftmaxAttributes along{.axis = 1};
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t length : {9u, 10u, 31u, 77u, 128u, 130u, 200u, 255u, 256u, 300u}) {
      const HostTensor input = RandomTensor(type, {5, length}, length);
      EXPECT_EQ(RunWithOtherSizes(OperatorKind::kSoftmax, input, along).bytes,
                RunOne(OperatorKind::kSoftmax, {input}, along).bytes)
          << input.descriptor.ToString();
    }
  }
}

TEST(LowerSoftmax, NanInARowOfHalves_StaysThere) {
  for (uint32_t length : {77u, 78u}) {
    constexpr uint32_t kRows = 5;
    Values values(kRows * length, 1);
    for (uint32_t row : {1u, 2u}) values[row * length + length - 1] = kNan;
    values[4 * length] = -kInfinity;
    const HostTensor input = HostTensor::Create(kHalf, {kRows, length}, values);
    const Values shares =
        RunOne(OperatorKind::kSoftmax, {input}, webidl::SoftmaxAttributes{.axis = 1}).Values();
    for (uint32_t e = 0; e < shares.size(); ++e) {
      const uint32_t row = e / length;
      EXPECT_EQ(std::isnan(shares[e]), row == 1 || row == 2) << "element " << e;
      if (row == 4) EXPECT_EQ(shares[e] == 0, e == 4 * length) << "element " << e;
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
// Neighbouring rows by words (shaders/softmax_columns.comp): a vector of them, some, some units,
// and last ones that are not whole.
TEST(LowerSoftmax, Columns_MatchReference) {
  for (OperandDataType type : {kFloat, kHalf}) {
    for (uint32_t inner : {16u, 32u, 34u, 38u, 66u, 130u, 334u}) {
      for (uint32_t axis : {1u, 21u, 128u, 129u}) {
        ExpectSoftmax(RandomTensor(type, {2, axis, inner}, 51), 1);
      }
    }
    ExpectSoftmax(RandomTensor(type, {21, 9, 33, 2}, 52), 0);
  }
}

TEST(LowerSoftmax, NanInColumns_StaysThere) {
  constexpr uint32_t kInner = 40;
  for (OperandDataType type : {kFloat, kHalf}) {
    Values values(3 * kInner, 0.5);
    values[kInner + 7] = kNan;
    values[9] = kInfinity;
    for (uint32_t k = 0; k < 3; ++k) values[k * kInner + 11] = -kInfinity;
    const HostTensor input = HostTensor::Create(type, {3, kInner}, values);
    const Values shares =
        RunOne(OperatorKind::kSoftmax, {input}, webidl::SoftmaxAttributes{.axis = 0}).Values();
    for (uint32_t e = 0; e < shares.size(); ++e) {
      const uint32_t column = e % kInner;
      EXPECT_EQ(std::isnan(shares[e]), column == 7 || column == 9 || column == 11) << e;
      if (!std::isnan(shares[e])) EXPECT_NEAR(static_cast<double>(shares[e]), 1.0 / 3, 1e-3) << e;
    }
  }
}

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
  for (uint32_t size : {8u, 20u, 64u, 130u, 300u}) {
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
  for (uint32_t size : {8u, 20u, 64u, 130u, 300u}) {
    for (uint32_t inner : {1u, 4u, 32u}) {
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
}  // namespace webnnd::service::rows_test
