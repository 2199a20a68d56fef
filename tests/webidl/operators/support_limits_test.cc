#include "webidl/support_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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

std::map<MemberKey, TensorConstraint> OurLimits(LimitSet set) {
  std::map<MemberKey, TensorConstraint> ours;
  for (const OperatorSupportLimits& limits : MakeOpSupportLimits(0, set).operators) {
    for (const SupportLimitsMember& member : limits.members) {
      const MemberKey key{std::string(OperatorName(limits.kind)), std::string(member.name)};
      EXPECT_TRUE(ours.emplace(key, member.limits).second) << key.first << " " << key.second;
    }
  }
  return ours;
}

struct DraftLimits {
  std::string types, ranks, required_types, required_ranks;
};

std::map<MemberKey, DraftLimits> ReadDraftLimits() {
  std::map<MemberKey, DraftLimits> limits;
  std::ifstream file("tests/webidl/operators/draft_limits.txt");
  EXPECT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    MemberKey key;
    DraftLimits draft;
    std::istringstream words(line);
    words >> key.first >> key.second >> draft.types >> draft.ranks >> draft.required_types >>
        draft.required_ranks;
    EXPECT_FALSE(words.fail()) << line;
    EXPECT_TRUE(limits.emplace(key, draft).second) << line;
  }
  return limits;
}

TEST(SupportLimits, EveryOperator_HasTheLimitsOfTheDraft) {
  const auto ours = OurLimits(LimitSet::kAllowed);
  const auto draft = ReadDraftLimits();
  ASSERT_EQ(ours.size(), draft.size());
  for (const auto& [key, limits] : ours) {
    const std::string name = key.first + " " + key.second;
    ASSERT_TRUE(draft.contains(key)) << name;
    DataTypeSet expected = ParseTypes(draft.at(key).types);
    if (kPackedTypes.contains(key)) expected = expected | ParseTypes("int4,uint4");
    if (kFloatsByAlgorithm.contains(key)) expected = ParseTypes("float32,float16");
    EXPECT_EQ(limits.types.ToString(), expected.ToString()) << name;
    EXPECT_EQ(RanksToText(limits), kScalarByAlgorithm.contains(key) ? "0..N" : draft.at(key).ranks)
        << name;
  }
}

TEST(SupportLimits, Restricted_AreWhatTheDraftRequires) {
  const auto ours = OurLimits(LimitSet::kRequired);
  const auto draft = ReadDraftLimits();
  ASSERT_EQ(ours.size(), draft.size());
  for (const auto& [key, limits] : ours) {
    const std::string name = key.first + " " + key.second;
    ASSERT_TRUE(draft.contains(key)) << name;
    EXPECT_EQ(limits.types.ToString(), ParseTypes(draft.at(key).required_types).ToString()) << name;
    EXPECT_EQ(RanksToText(limits), draft.at(key).required_ranks) << name;
  }
}

TEST(SupportLimits, RestrictedTopLevel_SaysNothingOfTheMachine) {
  const OpSupportLimits small = MakeOpSupportLimits(limits::kBindingBytesMax, LimitSet::kRequired);
  const OpSupportLimits large = MakeOpSupportLimits(uint64_t{1} << 40, LimitSet::kRequired);
  EXPECT_EQ(small.max_tensor_byte_length, limits::kBindingBytesMax);
  EXPECT_EQ(large.max_tensor_byte_length, limits::kBindingBytesMax);
  for (const TensorConstraint& constraint : {large.input, large.constant, large.output}) {
    EXPECT_EQ(constraint.types.ToString(),
              ParseTypes("float32,float16,int32,int8,uint8").ToString());
    EXPECT_EQ(RanksToText(constraint), "0..5");
  }
}

// Whatever an operator requires, a graph of it can be fed, and its result be read.
TEST(SupportLimits, RestrictedEndpoints_TakeWhatAnyOperatorRequires) {
  const TensorConstraint input = MakeOpSupportLimits(0, LimitSet::kRequired).input;
  for (const auto& [key, limits] : OurLimits(LimitSet::kRequired)) {
    EXPECT_EQ((input.types | limits.types).ToString(), input.types.ToString()) << key.first;
    EXPECT_LE(limits.rank_max, input.rank_max) << key.first;
  }
}

// Members of the dictionaries of the interface definition: {"MLConv2dSupportLimits", {"input",
// ...}}.
std::map<std::string, std::map<std::string, std::string>> ReadDictionaries() {
  std::map<std::string, std::map<std::string, std::string>> dictionaries;
  std::ifstream file("webidl/generated/webnn.idl");
  EXPECT_TRUE(file.is_open());
  std::string dictionary;
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line.substr(0, line.find(';')));
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    if (words.size() < 2) {
      dictionary.clear();
    } else if (words[0] == "dictionary") {
      dictionary = words[1];
    } else if (!dictionary.empty()) {
      dictionaries[dictionary][words.back()] = words[words.size() - 2];
    }
  }
  return dictionaries;
}

TEST(SupportLimits, Members_AreThoseOfTheInterfaceDefinition) {
  const auto dictionaries = ReadDictionaries();
  std::set<MemberKey> expected;
  std::set<std::string> top_level;
  ASSERT_TRUE(dictionaries.contains("MLOpSupportLimits"));
  for (const auto& [name, type] : dictionaries.at("MLOpSupportLimits")) {
    if (!OperatorKindFromName(name)) {
      top_level.insert(name);
      continue;
    }
    ASSERT_TRUE(dictionaries.contains(type)) << type;
    for (const auto& [member, member_type] : dictionaries.at(type)) {
      EXPECT_EQ(member_type, "MLTensorLimits") << type << " " << member;
      expected.emplace(name, member);
    }
  }
  std::set<MemberKey> ours;
  for (const auto& [key, limits] : OurLimits(LimitSet::kAllowed)) ours.insert(key);
  EXPECT_EQ(ours, expected);
  EXPECT_EQ(top_level, (std::set<std::string>{"preferredInputLayout", "maxTensorByteLength",
                                              "input", "constant", "output"}));
  EXPECT_EQ(MakeOpSupportLimits(0).operators.size(), kOperatorKindCount);
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
