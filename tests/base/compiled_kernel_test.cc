#include "base/compiled_kernel.h"

#include <gtest/gtest.h>

#include <string>

namespace webnnd {
namespace {

TEST(CompiledKernel, Text_GoesBothWays) {
  for (const CompiledKernel& kernel :
       {CompiledKernel{}, CompiledKernel{.adapter = 1, .shader = 2},
        CompiledKernel{
            .adapter = 63, .shader = 91, .constant_count = 3, .constants = {7, 0, ~0u}}}) {
    EXPECT_EQ(ParseCompiledKernel(ToText(kernel)).value(), kernel) << ToText(kernel);
  }
  EXPECT_EQ(ToText({.shader = 5, .constant_count = 2, .constants = {8, 9}}), "0:5:8,9");
}

TEST(CompiledKernel, OtherText_IsInvalid) {
  std::string many = "0:0:1";
  for (uint32_t i = 1; i < CompiledKernel::kConstantsMax; ++i) many += ",1";
  EXPECT_TRUE(ParseCompiledKernel(many).ok());
  for (const std::string& text :
       {std::string(), std::string("0"), std::string("0:1"), std::string("0:1:2:3"),
        std::string(":1:"), std::string("0::"), std::string("x:1:"), std::string("0:1:-1"),
        std::string("0:1:1,,2"), std::string("0:1:2,"), std::string("0:1:4294967296"),
        std::string("0:1: 1"), many + ",1"}) {
    EXPECT_FALSE(ParseCompiledKernel(text).ok()) << text;
  }
}

TEST(CompiledKernel, WellFormed_IsWhatASenderOfOursSends) {
  EXPECT_TRUE((CompiledKernel{.constant_count = 1, .constants = {1}}).well_formed());
  EXPECT_FALSE((CompiledKernel{.constant_count = 1, .constants = {1, 1}}).well_formed());
  CompiledKernel too_many{.constant_count = CompiledKernel::kConstantsMax + 1};
  EXPECT_FALSE(too_many.well_formed());
  EXPECT_TRUE(too_many.Constants().empty());
}

}  // namespace
}  // namespace webnnd
