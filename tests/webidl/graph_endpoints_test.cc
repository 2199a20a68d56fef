#include "webidl/graph_endpoints.h"

#include <gtest/gtest.h>

namespace webnnd::webidl {
namespace {

// The sentence of a refusal; empty where there is none.
std::string Refusal(const Status& status) { return status.ok() ? "" : status.error().message(); }

TEST(InputName, EmptyOrTaken_IsRefused) {
  EXPECT_EQ(Refusal(CheckInputName("x", /*is_taken=*/false)), "");
  EXPECT_EQ(Refusal(CheckInputName("x", /*is_taken=*/true)), "the input name (x) is used twice");
  EXPECT_EQ(Refusal(CheckInputName("", /*is_taken=*/false)), "an input's name is empty");
}

TEST(Output, EmptyNameOrNoResult_IsRefused) {
  EXPECT_EQ(Refusal(CheckOutput("y", /*is_result=*/true)), "");
  EXPECT_EQ(Refusal(CheckOutput("y", /*is_result=*/false)),
            "the output (y) is not the result of an operator");
  EXPECT_EQ(Refusal(CheckOutput("", /*is_result=*/true)), "an output's name is empty");
}

}  // namespace
}  // namespace webnnd::webidl
