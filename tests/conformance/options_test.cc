#include "tests/conformance/options.h"

#include <gtest/gtest.h>

namespace webnnd::conformance {
namespace {

Result<Options> Parse(std::vector<const char*> arguments) { return ParseOptions(arguments); }

TEST(Options, All_AreRead) {
  auto options = Parse({"--cases", "a", "b", "--op", "add", "--kernels", "--json", "f", "--cases",
                        "c", "--in-process", "--no-fusion", "--require", "383", "--disable-feature",
                        "fp16", "--disable-feature", "x"});
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_EQ(options->cases, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(options->op, "add");
  EXPECT_TRUE(options->kernels);
  EXPECT_EQ(options->json_path, "f");
  EXPECT_TRUE(options->in_process);
  EXPECT_FALSE(options->fusion);
  EXPECT_TRUE(options->constant_folding);
  EXPECT_EQ(options->require, 383u);
  EXPECT_EQ(options->disabled_features, (std::vector<std::string>{"fp16", "x"}));
}

TEST(Options, Wrong_AreRefused) {
  EXPECT_FALSE(Parse({}).ok());
  EXPECT_FALSE(Parse({"--cases"}).ok());
  EXPECT_FALSE(Parse({"--cases", "a", "--what"}).ok());
  EXPECT_FALSE(Parse({"--cases", "a", "--op"}).ok());
  EXPECT_FALSE(Parse({"--cases", "a", "--require", "many"}).ok());
  EXPECT_FALSE(Parse({"--cases", "a", "--validation"}).ok());
  EXPECT_FALSE(Parse({"--cases", "a", "--in-process", "--socket", "s"}).ok());
  EXPECT_FALSE(Parse({"--cases", "a", "--disable-feature"}).ok());
  EXPECT_FALSE(Parse({"--cases", "a", "--disable-feature", "fp16", "--socket", "s"}).ok());
}

}  // namespace
}  // namespace webnnd::conformance
