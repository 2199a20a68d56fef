#include "tools/benchmarks/mobilenet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "tests/support/service_fixture.h"

namespace webnnd::benchmarks {
namespace {

const webnn::Shape kImage = {1, 3, 224, 224};

class MobileNetTest : public service::ServiceTest {
 protected:
  // Builds the network of `seed`, checks its structure, and gives the logits of one image.
  std::vector<float> Classify(uint32_t seed) {
    auto context = MakeContext();
    webnn::GraphBuilder builder(context);
    auto image = builder.Input("image", webnn::OperandDataType::kFloat32, kImage);
    EXPECT_TRUE(image.ok());
    auto network = AddMobileNetV2(builder, *image, seed);
    EXPECT_TRUE(network.ok()) << network.error().ToString();
    EXPECT_EQ(network->logits.shape(), (webnn::Shape{1, 1000}));
    // Published: 3 504 872 parameters with a scale and a shift per channel, of which the folding
    // leaves the shift; 300.8 million multiply-adds; 52 convolutions and the classifier.
    EXPECT_EQ(network->parameters, 3'504'872u - 17'056u);
    EXPECT_NEAR(network->multiply_adds, 300.8e6, 0.1e6);
    EXPECT_EQ(network->convolutions, 52u);
    auto graph = ml().Wait(builder.Build({{"logits", network->logits}}));
    EXPECT_TRUE(graph.ok()) << graph.error().ToString();

    std::vector<float> pixels(3 * 224 * 224);
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<float>(i % 255) / 127 - 1;
    }
    auto input = MakeTensor(*context, image->descriptor(), std::as_bytes(std::span(pixels)));
    auto output = MakeTensor(*context, network->logits.descriptor());
    EXPECT_TRUE(context->Dispatch(**graph, {{"image", input}}, {{"logits", output}}).ok());
    std::vector<float> logits(1000);
    auto read = ml().Wait(context->ReadTensor(*output, std::as_writable_bytes(std::span(logits))));
    EXPECT_TRUE(read.ok());
    return logits;
  }
};

TEST_F(MobileNetTest, Logits_AreFiniteAndOfASensibleSize) {
  std::vector<float> logits = Classify(/*seed=*/1);
  double sum = 0;
  double squares = 0;
  for (float logit : logits) {
    ASSERT_TRUE(std::isfinite(logit));
    sum += logit;
    squares += double{logit} * logit;
  }
  double mean = sum / 1000;
  double deviation = std::sqrt(squares / 1000 - mean * mean);
  // Values that vanished or ran away on the way would show here.
  EXPECT_GT(deviation, 0.01);
  EXPECT_LT(deviation, 100);
}

TEST_F(MobileNetTest, OtherSeeds_GiveOtherLogits) { EXPECT_NE(Classify(1), Classify(2)); }

TEST_F(MobileNetTest, ImageOfAnotherShape_IsRefused) {
  auto context = MakeContext();
  webnn::GraphBuilder builder(context);
  auto image = builder.Input("image", webnn::OperandDataType::kFloat32, webnn::Shape{224});
  ASSERT_TRUE(image.ok());
  auto network = AddMobileNetV2(builder, *image, 1);
  ASSERT_FALSE(network.ok());
  EXPECT_EQ(network.error().cause(), Cause::kValidation);
}

}  // namespace
}  // namespace webnnd::benchmarks
