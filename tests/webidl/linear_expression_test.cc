#include "webidl/linear_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace webnnd::webidl {
namespace {

using testing::HasSubstr;

const Symbols kSymbols = {{"past", {0, 96}}, {"seq", {1, 32}}, {"séq.2", {2, 4}}};

std::string Normal(std::string_view text) {
  auto expression = LinearExpression::Parse(text, kSymbols);
  return expression.ok() ? expression->ToString() : "refused: " + expression.error().message();
}

TEST(LinearExpression, Text_IsReadAndWritten) {
  EXPECT_EQ(Normal("seq"), "seq");
  EXPECT_EQ(Normal("seq + past"), "past + seq");
  EXPECT_EQ(Normal("  2*seq+3 - past"), "-past + 2 * seq + 3");
  EXPECT_EQ(Normal("- 1 + seq"), "seq - 1");
  EXPECT_EQ(Normal("seq + seq"), "2 * seq");
  EXPECT_EQ(Normal("seq - seq"), "0");
  EXPECT_EQ(Normal("3 * séq.2"), "3 * séq.2");
  EXPECT_EQ(Normal("7"), "7");
}

TEST(LinearExpression, TextThatIsNone_IsRefused) {
  for (const char* text : {"", " ", "+", "seq +", "seq past", "2 seq", "seq * 2", "2 * 3", "2 *",
                           "seq * past", "--seq", "99999999999 * seq",
                           "268435456 * seq + "
                           "268435456 * seq",
                           "2seq"}) {
    EXPECT_THAT(Normal(text), HasSubstr("neither a name nor a linear expression")) << text;
  }
  EXPECT_EQ(Normal("past + total"),
            "refused: the dimension (past + total) names a dimension (total) that no input has");
}

TEST(LinearExpression, Bounds_FollowFromThoseOfTheNames) {
  auto expression = LinearExpression::Parse("2 * seq - past + 5", kSymbols);
  ASSERT_TRUE(expression.ok());
  EXPECT_EQ(expression->Min(), 2 - 96 + 5);
  EXPECT_EQ(expression->Max(), 64 + 5);
  EXPECT_EQ(expression->At({{"past", 3}, {"seq", 4}, {"other", 9}}), 10);
}

TEST(LinearExpression, TooManyNames_AreRefused) {
  LinearExpression expression;
  for (uint32_t i = 0; i < limits::kDynamicNamesMax; ++i) {
    EXPECT_TRUE(expression.Add("n" + std::to_string(i), {1, 2}, 1));
  }
  EXPECT_FALSE(expression.Add("one", {1, 2}, 1));
}

TEST(DimensionNames, Declared_KeepTheirBounds) {
  DimensionNames names;
  EXPECT_TRUE(names.Declare({"past", 96, 0}).ok());
  EXPECT_TRUE(names.Declare({"past", 96, 0}).ok());
  EXPECT_FALSE(names.Declare({"past", 96, 1}).ok());
  EXPECT_FALSE(names.Resolve({"seq", 32, 1}).ok());
  EXPECT_TRUE(names.Declare({"seq", 32, 1}).ok());
  EXPECT_TRUE(names.Resolve({"past + seq", 128, 1}).ok());
  EXPECT_EQ(names.Resolve({"past + seq", 127, 1}).error().message(),
            "the dimension (past + seq) is given as 1 to 127, where elsewhere it is 1 to 128");
}

TEST(DimensionNames, MoreThanTheLimit_AreRefused) {
  DimensionNames names;
  for (uint32_t i = 0; i < limits::kDynamicNamesMax; ++i) {
    EXPECT_TRUE(names.Declare({"n" + std::to_string(i), 2, 1}).ok());
  }
  EXPECT_EQ(names.Declare({"one", 2, 1}).error().cause(), Cause::kQuota);
}

}  // namespace
}  // namespace webnnd::webidl
