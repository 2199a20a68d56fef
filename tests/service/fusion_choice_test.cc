#include "service/passes/fusion/fusion_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/service_fixture.h"

namespace webnnd::service {
namespace {

using ::testing::HasSubstr;
using webnn::Operand;
using webnn::OperandDataType;

TEST(FusionChoice, WithoutNames_AllowsAll) {
  for (const FusionChoice& choice : {FusionChoice(), *FusionChoice::Parse("")}) {
    EXPECT_TRUE(choice.Allows(RmsNormalization{}));
    EXPECT_TRUE(choice.Allows(Epilogue{}));
  }
}

TEST(FusionChoice, Names_AllowThoseAlone) {
  auto choice = FusionChoice::Parse("rmsNormalization,epilogue");
  ASSERT_TRUE(choice.ok());
  EXPECT_TRUE(choice->Allows(RmsNormalization{}));
  EXPECT_TRUE(choice->Allows(Epilogue{}));
  EXPECT_FALSE(choice->Allows(BlockMatmul{}));
  EXPECT_FALSE(choice->Allows(RotaryEmbedding{}));
}

TEST(FusionChoice, NamesBehindAMinusSign_AreLeftOut) {
  auto choice = FusionChoice::Parse("-rmsNormalization,-epilogue");
  ASSERT_TRUE(choice.ok());
  EXPECT_FALSE(choice->Allows(RmsNormalization{}));
  EXPECT_FALSE(choice->Allows(Epilogue{}));
  EXPECT_TRUE(choice->Allows(BlockMatmul{}));
  choice = FusionChoice::Parse("epilogue,blockMatmul,-epilogue");
  ASSERT_TRUE(choice.ok());
  EXPECT_FALSE(choice->Allows(Epilogue{}));
  EXPECT_TRUE(choice->Allows(BlockMatmul{}));
  EXPECT_FALSE(choice->Allows(RotaryEmbedding{}));
}

TEST(FusionChoice, UnknownNames_AreRefused) {
  for (const char* names :
       {"rmsnormalization", "blockMatmul,", ",", "blockMatmul,x", " ", "-", "--epilogue", "-x"}) {
    auto choice = FusionChoice::Parse(names);
    ASSERT_FALSE(choice.ok()) << names;
    EXPECT_THAT(choice.error().message(), HasSubstr("blockMatmul, ")) << names;
  }
}

using FusionChoiceOfContext = ServiceTest;

Result<uint32_t> CountKernels(webnn::ML& ml, const webnn::ContextOptions& options) {
  ASSIGN_OR_RETURN(auto context, ml.Wait(ml.CreateContext(options)));
  webnn::GraphBuilder builder(context);
  const auto kFloat = OperandDataType::kFloat32;
  ASSIGN_OR_RETURN(Operand x, builder.Input("x", kFloat, {4, 64}));
  ASSIGN_OR_RETURN(Operand gain, builder.Input("gain", kFloat, {64}));
  ASSIGN_OR_RETURN(Operand two, builder.Constant(kFloat, 2.0));
  ASSIGN_OR_RETURN(Operand epsilon, builder.Constant(kFloat, 1e-5));
  ASSIGN_OR_RETURN(Operand squares, builder.Pow(x, two));
  ASSIGN_OR_RETURN(Operand mean, builder.ReduceMean(squares, {.axes = std::vector<uint32_t>{1},
                                                              .keep_dimensions = true}));
  ASSIGN_OR_RETURN(Operand shifted, builder.Add(mean, epsilon));
  ASSIGN_OR_RETURN(Operand root, builder.Sqrt(shifted));
  ASSIGN_OR_RETURN(Operand normalized, builder.Div(x, root));
  ASSIGN_OR_RETURN(Operand result, builder.Mul(normalized, gain));
  ASSIGN_OR_RETURN(auto graph, ml.Wait(builder.Build({{"result", result}})));
  return graph->kernel_count();
}

TEST_F(FusionChoiceOfContext, Names_DecideWhatIsFused) {
  auto kernels = [&](const char* names) {
    auto count = CountKernels(ml(), {.fusions = names});
    EXPECT_TRUE(count.ok()) << count.error().ToString();
    return count.ok() ? *count : 0;
  };
  EXPECT_EQ(kernels(""), 1u);
  EXPECT_EQ(kernels("blockMatmul,rmsNormalization"), 1u);
  EXPECT_GT(kernels("blockMatmul"), 1u);
}

TEST_F(FusionChoiceOfContext, UnknownName_IsRefused) {
  auto count = CountKernels(ml(), {.fusions = "flux"});
  ASSERT_FALSE(count.ok());
  EXPECT_THAT(count.error().ToString(), HasSubstr("the macro operator (flux) is not one of"));
}

}  // namespace
}  // namespace webnnd::service
