#include "tools/benchmarks/mobilenet.h"

#include <cmath>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace webnnd::benchmarks {
namespace {

using webnn::Operand;
using webnn::OperandDataType;
using webnn::Shape;

constexpr uint32_t kClasses = 1000;
constexpr uint32_t kStemChannels = 32;
constexpr uint32_t kHeadChannels = 1280;

// `repeats` inverted residuals with `channels` each, the first with `stride`.
struct Stage {
  uint32_t expansion;
  uint32_t channels;
  uint32_t repeats;
  uint32_t stride;
};
constexpr Stage kStages[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2},  {6, 64, 4, 2},
    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
};

class Drawer {
 public:
  Drawer(webnn::GraphBuilder& builder, uint32_t seed) : builder_(builder), random_(seed) {}

  Result<MobileNet> Draw(Operand x) {
    ASSIGN_OR_RETURN(x, Convolve(x, {.channels = kStemChannels, .window = 3, .stride = 2}));
    for (const Stage& stage : kStages) {
      for (uint32_t i = 0; i < stage.repeats; ++i) {
        ASSIGN_OR_RETURN(
            x, InvertedResidual(x, stage.expansion, stage.channels, i == 0 ? stage.stride : 1));
      }
    }
    ASSIGN_OR_RETURN(x, Convolve(x, {.channels = kHeadChannels}));
    ASSIGN_OR_RETURN(x, builder_.AveragePool2d(x));
    ASSIGN_OR_RETURN(x, builder_.Reshape(x, {1, kHeadChannels}));
    webnn::GemmOptions options;
    options.b_transpose = true;
    ASSIGN_OR_RETURN(options.c, Biases(kClasses));
    ASSIGN_OR_RETURN(Operand weights, Weights({kClasses, kHeadChannels}, kHeadChannels));
    multiply_adds_ += 1.0 * kClasses * kHeadChannels;
    ASSIGN_OR_RETURN(x, builder_.Gemm(x, weights, options));
    return MobileNet{x, parameters_, multiply_adds_, convolutions_};
  }

 private:
  struct Convolution {
    uint32_t channels;
    uint32_t window = 1;
    uint32_t stride = 1;
    bool depthwise = false;
    bool clamped = true;  // relu6 behind it.
  };

  Result<Operand> Convolve(const Operand& x, const Convolution& convolution) {
    const uint32_t input_channels = x.shape()[1];
    const uint32_t per_group = convolution.depthwise ? 1 : input_channels;
    const uint32_t window = convolution.window;
    const uint32_t padding = window / 2;
    webnn::Conv2dOptions options;
    options.padding = {{padding, padding, padding, padding}};
    options.strides = {{convolution.stride, convolution.stride}};
    options.groups = convolution.depthwise ? input_channels : 1;
    ASSIGN_OR_RETURN(options.bias, Biases(convolution.channels));
    ASSIGN_OR_RETURN(Operand filter, Weights({convolution.channels, per_group, window, window},
                                             per_group * window * window));
    ASSIGN_OR_RETURN(Operand y, builder_.Conv2d(x, filter, options));
    ++convolutions_;
    multiply_adds_ +=
        1.0 * y.shape()[2] * y.shape()[3] * convolution.channels * per_group * window * window;
    if (!convolution.clamped) return y;
    webnn::ClampOptions relu6;
    relu6.min_value = 0.0;
    relu6.max_value = 6.0;
    return builder_.Clamp(y, relu6);
  }

  Result<Operand> InvertedResidual(const Operand& x, uint32_t expansion, uint32_t channels,
                                   uint32_t stride) {
    const uint32_t inner = x.shape()[1] * expansion;
    Operand y = x;
    if (expansion != 1) {
      ASSIGN_OR_RETURN(y, Convolve(y, {.channels = inner}));
    }
    ASSIGN_OR_RETURN(
        y, Convolve(y, {.channels = inner, .window = 3, .stride = stride, .depthwise = true}));
    ASSIGN_OR_RETURN(y, Convolve(y, {.channels = channels, .clamped = false}));
    if (stride != 1 || x.shape()[1] != channels) return y;
    return builder_.Add(x, y);
  }

  // Uniform with the variance 2 / `inputs`, which keeps the size of values behind a relu.
  Result<Operand> Weights(const Shape& shape, uint32_t inputs) {
    return Draw(shape, std::sqrt(6.0f / static_cast<float>(inputs)));
  }
  Result<Operand> Biases(uint32_t channels) { return Draw({channels}, 0.1f); }

  Result<Operand> Draw(const Shape& shape, float bound) {
    size_t count = 1;
    for (uint32_t size : shape) count *= size;
    std::vector<float> values(count);
    // Not a distribution of the library: those differ from one library to the next.
    for (float& value : values) {
      value = bound * (static_cast<float>(random_() >> 8) / static_cast<float>(1 << 23) - 1);
    }
    parameters_ += count;
    return builder_.Constant(OperandDataType::kFloat32, shape, std::as_bytes(std::span(values)));
  }

  webnn::GraphBuilder& builder_;
  std::mt19937 random_;
  uint64_t parameters_ = 0;
  double multiply_adds_ = 0;
  uint32_t convolutions_ = 0;
};

}  // namespace

webnn::Result<MobileNet> AddMobileNetV2(webnn::GraphBuilder& builder, const webnn::Operand& image,
                                        uint32_t seed) {
  INVALID_IF(image.shape() != Shape({1, 3, 224, 224}), "the image ({}) is not [1, 3, 224, 224]",
             image.descriptor().ToString());
  return Drawer(builder, seed).Draw(image);
}

}  // namespace webnnd::benchmarks
