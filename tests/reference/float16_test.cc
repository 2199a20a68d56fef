// float16 accumulates in float32: what sums many terms gives float32's result rounded once. The
// same cases calculated in float16 would be noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/reference/case_maker.h"
#include "tests/reference/compare.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/sample.h"

namespace webnnd::reference {
namespace {

using service::HostTensor;
using webidl::OperandDataType;
using webidl::OperatorKind;

constexpr uint32_t kCases = 24;

HostTensor ToHost(const Array& array) {
  return HostTensor::Create(array.type(), array.shape(), array.values);
}

// Calls on float16 whose results are all finite: NaN hides what it is made of.
std::vector<RandomCase> MakeCases(OperatorKind kind, uint32_t count) {
  std::mt19937_64 random(static_cast<uint64_t>(kind) + 16);
  std::vector<RandomCase> cases;
  while (cases.size() < count) {
    RandomCase made = MakeRandomCase(kind, random);
    if (made.operands[0]->type() != OperandDataType::kFloat16) continue;
    auto expected = Evaluate(made);
    EXPECT_TRUE(expected.ok()) << expected.error().ToString();
    if (!expected.ok()) return {};
    const auto finite = [](const Array& result) {
      return std::all_of(result.values.begin(), result.values.end(),
                         [](long double value) { return std::isfinite(value); });
    };
    if (!std::all_of(expected->results.begin(), expected->results.end(), finite)) continue;
    cases.push_back(std::move(made));
  }
  return cases;
}

class Float16 : public testing::TestWithParam<OperatorKind> {};

TEST_P(Float16, Sums_AccumulateInFloat32) {
  for (const RandomCase& made : MakeCases(GetParam(), service::SampleOf(kCases, 3))) {
    SCOPED_TRACE(made.Describe());
    std::vector<std::optional<HostTensor>> operands;
    for (const auto& operand : made.operands) {
      operands.push_back(operand ? std::optional(ToHost(*operand)) : std::nullopt);
    }
    auto results = service::RunNode(made.kind, operands, made.attributes);
    ASSERT_TRUE(results.ok()) << results.error().ToString();
    auto expected = Evaluate(made);
    for (size_t i = 0; i < results->size(); ++i) {
      EXPECT_EQ(Compare(*expected, i, Match::kValue, (*results)[i]), "");
    }
  }
}

TEST_P(Float16, SumsInFloat16_WouldBeNoticed) {
  uint32_t noticed = 0;
  for (const RandomCase& made : MakeCases(GetParam(), kCases)) {
    auto expected = Evaluate(made);
    ASSERT_TRUE(expected.ok());
    std::vector<HostTensor> half;
    {
      HalfArithmetic arithmetic;
      auto in_half = Evaluate(made);
      ASSERT_TRUE(in_half.ok());
      for (const Array& result : in_half->results) half.push_back(ToHost(result));
    }
    bool differs = false;
    for (size_t i = 0; i < half.size(); ++i) {
      differs = differs || !Compare(*expected, i, Match::kValue, half[i]).empty();
    }
    noticed += differs ? 1 : 0;
  }
  // Not in every case: a short sum may come out right in float16 too.
  EXPECT_GE(noticed, kCases / 8);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Float16,
    testing::Values(OperatorKind::kAveragePool2d, OperatorKind::kConv2d,
                    OperatorKind::kConvTranspose2d, OperatorKind::kCumulativeSum,
                    OperatorKind::kGemm, OperatorKind::kGru, OperatorKind::kGruCell,
                    OperatorKind::kInstanceNormalization, OperatorKind::kL2Pool2d,
                    OperatorKind::kLayerNormalization, OperatorKind::kLstm, OperatorKind::kLstmCell,
                    OperatorKind::kMatmul, OperatorKind::kReduceL1, OperatorKind::kReduceL2,
                    OperatorKind::kReduceMean, OperatorKind::kReduceProduct,
                    OperatorKind::kReduceSum, OperatorKind::kReduceSumSquare,
                    OperatorKind::kSoftmax),
    [](const auto& info) { return std::string(webidl::OperatorName(info.param)); });

}  // namespace
}  // namespace webnnd::reference
