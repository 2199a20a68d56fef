#include "tests/conformance/case.h"

#include <gtest/gtest.h>

namespace webnnd::conformance {
namespace {

using nlohmann::json;

json Tensor(const char* type, const json& data) {
  return {{"descriptor", {{"dataType", type}, {"shape", {2}}}}, {"data", data}};
}

// A valid case: y = a + b.
json AddCase() {
  json a = Tensor("float32", {1, 2});
  a["constant"] = false;
  json b = Tensor("float32", 3);
  b["constant"] = true;
  return {{"id", "1"},
          {"file", "add.js"},
          {"name", "add"},
          {"tolerance", {{"metricType", "ULP"}, {"value", 1}}},
          {"inputs", {{"a", a}, {"b", b}}},
          {"operators",
           {{{"name", "add"},
             {"arguments", {{{"x", "a"}}, {{"y", "b"}}, {{"options", {{"label", "l"}}}}}},
             {"outputs", "y"}}}},
          {"expectedOutputs", {{"y", Tensor("float32", {4, 5})}}}};
}

Result<std::vector<LoadedCase>> Parse(const json& test) {
  return ParseCases(json{{"format", "webnn-case/1"}, {"cases", {test}}}.dump());
}

// Why the case is refused; empty when it is not.
std::string Refusal(const json& test) {
  auto cases = Parse(test);
  if (!cases.ok()) return "the file: " + cases.error().message();
  return (*cases)[0].error ? (*cases)[0].error->message() : "";
}

TEST(CaseFile, Case_IsReadWhole) {
  auto cases = Parse(AddCase());
  ASSERT_TRUE(cases.ok()) << cases.error().ToString();
  ASSERT_FALSE((*cases)[0].error.has_value()) << (*cases)[0].error->ToString();
  const Case& test = (*cases)[0].value;
  EXPECT_EQ(test.name, "add");
  ASSERT_EQ(test.inputs.size(), 2u);
  EXPECT_FALSE(test.inputs[0].constant);
  EXPECT_TRUE(test.inputs[1].constant);
  EXPECT_EQ(test.inputs[1].bytes.size(), 8u);
  ASSERT_EQ(test.calls.size(), 1u);
  EXPECT_EQ(test.calls[0].arguments, (std::vector<json>{"a", "b"}));
  EXPECT_EQ(test.calls[0].options["label"], "l");
  EXPECT_EQ(test.calls[0].outputs, std::vector<std::string>{"y"});
  ASSERT_EQ(test.outputs.size(), 1u);
  EXPECT_EQ(test.outputs[0].tolerance.metric, Tolerance::Metric::kUlp);
  EXPECT_EQ(test.outputs[0].tolerance.value, 1);
  EXPECT_FALSE(test.kernels_at_most.has_value());
}

TEST(CaseFile, OutputsTolerance_OverridesTheCases) {
  json test = AddCase();
  test["expectedOutputs"]["y"]["tolerance"] = {{"metricType", "ATOL"}, {"value", 0.5}};
  auto cases = Parse(test);
  ASSERT_TRUE(cases.ok() && !(*cases)[0].error);
  EXPECT_EQ((*cases)[0].value.outputs[0].tolerance.metric, Tolerance::Metric::kAtol);
}

TEST(CaseFile, KernelBound_IsReadFromFusion) {
  json test = AddCase();
  test["fusion"] = {{"expectedKernelsAtMost", 3}};
  auto cases = Parse(test);
  ASSERT_TRUE(cases.ok() && !(*cases)[0].error);
  EXPECT_EQ((*cases)[0].value.kernels_at_most, 3u);
  test["fusion"] = {{"expectedKernelsAtMost", -1}};
  EXPECT_EQ(Refusal(test), "\"expectedKernelsAtMost\" (-1) is not a count");
}

TEST(CaseFile, WhatIsNoFileOfCases_IsRefused) {
  EXPECT_FALSE(ParseCases("").ok());
  EXPECT_FALSE(ParseCases("[1").ok());
  EXPECT_FALSE(ParseCases("[]").ok());
  EXPECT_FALSE(ParseCases(R"({"format":"webnn-case/2","cases":[]})").ok());
  EXPECT_FALSE(ParseCases(R"({"format":"webnn-case/1"})").ok());
  EXPECT_FALSE(ParseCases(R"({"format":"webnn-case/1","cases":{}})").ok());
  EXPECT_TRUE(ParseCases(R"({"format":"webnn-case/1","cases":[]})").ok());
}

TEST(CaseFile, EachMemberMissing_IsNamed) {
  for (const char* key :
       {"id", "file", "name", "tolerance", "inputs", "operators", "expectedOutputs"}) {
    json test = AddCase();
    test.erase(key);
    EXPECT_EQ(Refusal(test), fmt::format("the member \"{}\" is missing", key));
  }
}

TEST(CaseFile, MembersOfAnotherKind_AreRefused) {
  auto changed = [](auto change) {
    json test = AddCase();
    change(test);
    return Refusal(test);
  };
  EXPECT_NE(changed([](json& test) { test["tolerance"]["metricType"] = "RTOL"; }), "");
  EXPECT_NE(changed([](json& test) { test["tolerance"]["value"] = "1"; }), "");
  EXPECT_NE(changed([](json& test) { test["inputs"]["a"]["constant"] = 1; }), "");
  EXPECT_NE(changed([](json& test) { test["inputs"]["a"]["data"] = {1, 2, 3}; }), "");
  EXPECT_NE(changed([](json& test) { test["inputs"]["a"]["descriptor"]["shape"] = {-1}; }), "");
  EXPECT_NE(changed([](json& test) { test["inputs"]["a"]["descriptor"]["shape"] = 2; }), "");
  EXPECT_NE(changed([](json& test) { test["inputs"]["a"]["descriptor"]["dataType"] = "half"; }),
            "");
  EXPECT_NE(changed([](json& test) { test["operators"] = json::array(); }), "");
  EXPECT_NE(changed([](json& test) { test["operators"][0]["arguments"][0]["more"] = 1; }), "");
  EXPECT_NE(changed([](json& test) { test["operators"][0]["outputs"] = 1; }), "");
  EXPECT_NE(changed([](json& test) { test["expectedOutputs"] = json::object(); }), "");
}

TEST(CaseFile, OneBadCase_LeavesTheOthers) {
  json bad = AddCase();
  bad.erase("inputs");
  auto cases = ParseCases(json{{"format", "webnn-case/1"}, {"cases", {bad, AddCase()}}}.dump());
  ASSERT_TRUE(cases.ok());
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_TRUE((*cases)[0].error.has_value());
  EXPECT_EQ((*cases)[0].value.name, "add");
  EXPECT_FALSE((*cases)[1].error.has_value());
}

TEST(CaseFile, PathWithoutCases_IsRefused) {
  EXPECT_FALSE(FindCaseFiles("tests/conformance/no_such_folder").ok());
  EXPECT_FALSE(ReadFile("tests/conformance/no_such_file.json").ok());
  auto files = FindCaseFiles("tests/conformance/cases/passing");
  ASSERT_TRUE(files.ok());
  EXPECT_GE(files->size(), 6u);
}

}  // namespace
}  // namespace webnnd::conformance
