#include "webidl/support_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/limits.h"

namespace webnnd::webidl {
namespace {

std::string RanksToText(const TensorConstraint& limits) {
  if (limits.rank_min == limits.rank_max) return std::to_string(limits.rank_min);
  const std::string rank_max =
      limits.rank_max == limits::kRankMax ? "N" : std::to_string(limits.rank_max);
  return fmt::format("{}..{}", limits.rank_min, rank_max);
}

DataTypeSet ParseTypes(const std::string& text) {
  if (text == "any") {
    return ParseTypes("float32,float16,int32,uint32,int64,uint64,int8,uint8");
  }
  DataTypeSet types;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const auto type = OperandDataTypeFromString(name);
    EXPECT_TRUE(type.has_value()) << name;
    if (type) types = types | DataTypeSet{*type};
  }
  return types;
}

using MemberKey = std::pair<std::string, std::string>;  // {"add", "a"}

// Where our rows say on purpose what the draft's tables do not.
const std::set<MemberKey> kPackedTypes = {
    {"cast", "input"},
    {"cast", "output"},
    {"concat", "inputs"},
    {"concat", "output"},
    {"gather", "input"},
    {"gather", "output"},
    {"reshape", "input"},
    {"reshape", "output"},
    {"slice", "input"},
    {"slice", "output"},
    {"transpose", "input"},
    {"transpose", "output"},
    {"dequantizeLinear", "input"},
    {"dequantizeLinear", "zeroPoint"},
    {"quantizeLinear", "zeroPoint"},
    {"quantizeLinear", "output"},
};
// The tables say any type, the algorithm floats only.
const std::set<MemberKey> kFloatsByAlgorithm = {{"isNaN", "a"}, {"isInfinite", "a"}};
// The table says rank 1 or more; scalar indices into a vector give a scalar.
const std::set<MemberKey> kScalarByAlgorithm = {{"gather", "output"}};

TEST(SupportLimits, EveryOperator_HasTheLimitsOfTheDraft) {
  std::map<MemberKey, TensorConstraint> ours;
  for (const OperatorSupportLimits& limits : MakeOpSupportLimits(0).operators) {
    for (const SupportLimitsMember& member : limits.members) {
      ours[{std::string(OperatorName(limits.kind)), std::string(member.name)}] = member.limits;
    }
  }
  std::ifstream file("tests/webidl/operators/draft_limits.txt");
  ASSERT_TRUE(file.is_open());
  size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, member, types, ranks;
    words >> name >> member >> types >> ranks;
    const MemberKey key{name, member};
    if (!ours.contains(key)) continue;
    ++compared;
    DataTypeSet expected = ParseTypes(types);
    if (kPackedTypes.contains(key)) expected = expected | ParseTypes("int4,uint4");
    if (kFloatsByAlgorithm.contains(key)) expected = ParseTypes("float32,float16");
    EXPECT_EQ(ours[key].types.ToString(), expected.ToString()) << line;
    EXPECT_EQ(RanksToText(ours[key]), kScalarByAlgorithm.contains(key) ? "0..N" : ranks) << line;
  }
  EXPECT_EQ(compared, ours.size());
}

TEST(SupportLimits, OperatorsWithoutMeaning_AreAbsent) {
  std::set<OperatorKind> present;
  for (const OperatorSupportLimits& limits : MakeOpSupportLimits(0).operators) {
    present.insert(limits.kind);
  }
  for (uint32_t i = 0; i < kOperatorKindCount; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    EXPECT_EQ(present.contains(kind), GetOperatorRow(kind).infer != nullptr) << OperatorName(kind);
  }
}

TEST(SupportLimits, InputsConstantsAndOutputs_TakeEveryTypeAndRank) {
  const OpSupportLimits limits = MakeOpSupportLimits(12345);
  EXPECT_EQ(limits.max_tensor_byte_length, 12345u);
  EXPECT_EQ(limits.preferred_input_layout, InputOperandLayout::kNchw);
  for (const TensorConstraint& constraint : {limits.input, limits.constant, limits.output}) {
    for (uint32_t type = 0; type < kOperandDataTypeCount; ++type) {
      EXPECT_TRUE(constraint.types.Contains(static_cast<OperandDataType>(type)));
    }
    EXPECT_EQ(RanksToText(constraint), "0..N");
  }
}

}  // namespace
}  // namespace webnnd::webidl
