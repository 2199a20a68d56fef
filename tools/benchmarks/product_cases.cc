#include "tools/benchmarks/product_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace webnnd::benchmarks {
namespace {

using webnn::Operand;
using webnn::OperandDataType;
using webnn::Shape;
using Cases = std::vector<OperatorCase>;

// Adds multiply-adds and output of a data type.
using Draw = std::function<void(GraphSketch&, OperandDataType)>;

void Add(const std::string& name, const Draw& draw, Cases& cases) {
  for (const auto& [type, suffix] : {std::pair{OperandDataType::kFloat32, "float32"},
                                     std::pair{OperandDataType::kFloat16, "float16"}}) {
    cases.push_back({fmt::format("{} {}", name, suffix),
                     [draw, type = type](GraphSketch& g) { draw(g, type); }});
  }
}

// Of two inputs, as attention has them.
void AddMatmul(const Shape& a, const Shape& b, Cases& cases) {
  Add(
      fmt::format("matmul {} x {}", a, b),
      [=](GraphSketch& g, OperandDataType type) {
        const Operand product = Must(g->Matmul(g.Input(type, a), g.Input(type, b)));
        double count = a.back();
        for (const uint32_t size : product.shape()) count *= size;
        g.CountMultiplyAdds(count);
        g.Output(product);
      },
      cases);
}

void AddLinear(const Shape& a, uint32_t columns, Cases& cases) {
  Add(
      fmt::format("matmul {} x constant [{}, {}]", a, a.back(), columns),
      [=](GraphSketch& g, OperandDataType type) {
        double count = columns;
        for (const uint32_t size : a) count *= size;
        g.CountMultiplyAdds(count);
        g.Output(Must(g->Matmul(g.Input(type, a), g.Constant(type, {a.back(), columns}))));
      },
      cases);
}

void AddGemm(uint32_t rows, uint32_t depth, uint32_t columns, bool a_transpose, bool b_transpose,
             Cases& cases) {
  Add(
      fmt::format("gemm [{}, {}]{} x [{}, {}]{}", rows, depth, a_transpose ? " (transposed)" : "",
                  depth, columns, b_transpose ? " (transposed)" : ""),
      [=](GraphSketch& g, OperandDataType type) {
        g.CountMultiplyAdds(1.0 * rows * depth * columns);
        webnn::GemmOptions options;
        options.a_transpose = a_transpose;
        options.b_transpose = b_transpose;
        options.c = g.Constant(type, {columns});
        const Shape a = a_transpose ? Shape{depth, rows} : Shape{rows, depth};
        const Shape b = b_transpose ? Shape{columns, depth} : Shape{depth, columns};
        g.Output(Must(g->Gemm(g.Input(type, a), g.Constant(type, b), options)));
      },
      cases);
}

struct Convolution {
  uint32_t input_channels;
  uint32_t output_channels;
  uint32_t height;
  uint32_t width;
  uint32_t rows;  // Of the window.
  uint32_t columns;
  uint32_t stride = 1;
  uint32_t padding = 0;
  uint32_t groups = 1;
  uint32_t dilation = 1;
};

void AddConv2d(const Convolution& c, Cases& cases) {
  for (const bool nhwc : {false, true}) {
    Add(
        fmt::format("conv2d {}x{}/{} {}->{} of {}x{}, groups {}, dilation {}, {}", c.rows,
                    c.columns, c.stride, c.input_channels, c.output_channels, c.height, c.width,
                    c.groups, c.dilation, nhwc ? "nhwc" : "nchw"),
        [=](GraphSketch& g, OperandDataType type) {
          const uint32_t per_group = c.input_channels / c.groups;
          const uint32_t down = c.rows == 1 ? 0 : c.padding;
          const uint32_t across = c.columns == 1 ? 0 : c.padding;
          webnn::Conv2dOptions options;
          options.padding = {{down, down, across, across}};
          options.strides = {{c.rows == 1 && c.height == 1 ? 1 : c.stride, c.stride}};
          options.dilations = {{c.dilation, c.dilation}};
          options.groups = c.groups;
          options.bias = g.Constant(type, {c.output_channels});
          Shape input = {1, c.input_channels, c.height, c.width};
          Shape filter = {c.output_channels, per_group, c.rows, c.columns};
          if (nhwc) {
            const bool is_depthwise = per_group == 1;
            options.input_layout = webnn::InputOperandLayout::kNhwc;
            options.filter_layout = is_depthwise ? webnn::Conv2dFilterOperandLayout::kIhwo
                                                 : webnn::Conv2dFilterOperandLayout::kOhwi;
            input = {1, c.height, c.width, c.input_channels};
            filter = is_depthwise ? Shape{1, c.rows, c.columns, c.output_channels}
                                  : Shape{c.output_channels, c.rows, c.columns, per_group};
          }
          const Operand result =
              Must(g->Conv2d(g.Input(type, input), g.Constant(type, filter), options));
          double count = 1.0 * per_group * c.rows * c.columns;
          for (const uint32_t size : result.shape()) count *= size;
          g.CountMultiplyAdds(count);
          g.Output(result);
        },
        cases);
  }
}

void AddConvTranspose2d(uint32_t input_channels, uint32_t output_channels, uint32_t size,
                        uint32_t window, uint32_t stride, Cases& cases) {
  Add(
      fmt::format("convTranspose2d {0}x{0}/{1} {2}->{3} of {4}x{4}", window, stride, input_channels,
                  output_channels, size),
      [=](GraphSketch& g, OperandDataType type) {
        webnn::ConvTranspose2dOptions options;
        const uint32_t padding = (window - stride) / 2;
        options.padding = {{padding, padding, padding, padding}};
        options.strides = {{stride, stride}};
        options.bias = g.Constant(type, {output_channels});
        g.CountMultiplyAdds(1.0 * size * size * input_channels * output_channels * window * window);
        g.Output(Must(g->ConvTranspose2d(
            g.Input(type, {1, input_channels, size, size}),
            g.Constant(type, {input_channels, output_channels, window, window}), options)));
      },
      cases);
}

void AddRecurrent(uint32_t steps, uint32_t batch, uint32_t hidden, Cases& cases) {
  Add(
      fmt::format("lstm of {} steps, {} rows, {} hidden", steps, batch, hidden),
      [=](GraphSketch& g, OperandDataType type) {
        g.CountMultiplyAdds(8.0 * steps * batch * hidden * hidden);
        g.Output(Must(g->Lstm(g.Input(type, {steps, batch, hidden}),
                              g.Constant(type, {1, 4 * hidden, hidden}),
                              g.Constant(type, {1, 4 * hidden, hidden}), steps, hidden))[0]);
      },
      cases);
  Add(
      fmt::format("gru of {} steps, {} rows, {} hidden", steps, batch, hidden),
      [=](GraphSketch& g, OperandDataType type) {
        g.CountMultiplyAdds(6.0 * steps * batch * hidden * hidden);
        g.Output(Must(g->Gru(g.Input(type, {steps, batch, hidden}),
                             g.Constant(type, {1, 3 * hidden, hidden}),
                             g.Constant(type, {1, 3 * hidden, hidden}), steps, hidden))[0]);
      },
      cases);
}

void AddProducts(Cases& cases) {
  // Attention of images, texts, sounds, and of a diffusion's pixels.
  AddMatmul({12, 197, 64}, {12, 64, 197}, cases);
  AddMatmul({12, 197, 197}, {12, 197, 64}, cases);
  AddMatmul({8, 77, 64}, {8, 64, 77}, cases);
  AddMatmul({6, 1500, 64}, {6, 64, 1500}, cases);
  AddMatmul({8, 1024, 40}, {8, 40, 77}, cases);
  AddMatmul({8, 1024, 77}, {8, 77, 40}, cases);
  AddMatmul({1, 8, 77, 77}, {1, 8, 77, 63}, cases);
  AddMatmul({8, 1, 64}, {8, 64, 513}, cases);
  AddMatmul({333, 555}, {555, 777}, cases);
  AddMatmul({16, 7, 7}, {16, 7, 7}, cases);
  AddMatmul({4096, 4, 4}, {4096, 4, 1}, cases);
  AddLinear({1, 197, 768}, 3072, cases);
  AddLinear({1, 197, 3072}, 768, cases);
  AddLinear({1, 7, 768}, 768, cases);
  AddLinear({1, 1, 768}, 32003, cases);
  AddLinear({1, 1, 768}, 32002, cases);
  AddLinear({1, 1, 513}, 257, cases);
  AddLinear({1, 77, 512}, 512, cases);
  AddLinear({1, 1024, 320}, 320, cases);
  AddLinear({1, 1500, 384}, 1536, cases);
  AddLinear({64, 49, 96}, 288, cases);
  AddLinear({2, 1000, 33}, 65, cases);
  AddGemm(32, 2048, 1000, false, true, cases);
  AddGemm(1, 1280, 1000, false, true, cases);
  AddGemm(5, 1280, 1000, false, false, cases);
  AddGemm(1024, 16, 16, false, false, cases);
  AddGemm(1024, 64, 10, false, true, cases);
  AddGemm(513, 255, 129, true, false, cases);
  AddGemm(513, 255, 129, true, true, cases);
}

void AddConvolutions(Cases& cases) {
  // Residual networks and what grew out of them.
  AddConv2d({.input_channels = 64,
             .output_channels = 256,
             .height = 56,
             .width = 56,
             .rows = 1,
             .columns = 1},
            cases);
  AddConv2d({.input_channels = 256,
             .output_channels = 512,
             .height = 56,
             .width = 56,
             .rows = 1,
             .columns = 1,
             .stride = 2},
            cases);
  AddConv2d({.input_channels = 128,
             .output_channels = 128,
             .height = 56,
             .width = 56,
             .rows = 3,
             .columns = 3,
             .stride = 2,
             .padding = 1},
            cases);
  AddConv2d({.input_channels = 512,
             .output_channels = 512,
             .height = 7,
             .width = 7,
             .rows = 3,
             .columns = 3,
             .padding = 1},
            cases);
  AddConv2d({.input_channels = 512,
             .output_channels = 2048,
             .height = 7,
             .width = 7,
             .rows = 1,
             .columns = 1},
            cases);
  AddConv2d({.input_channels = 128,
             .output_channels = 128,
             .height = 56,
             .width = 56,
             .rows = 3,
             .columns = 3,
             .padding = 1,
             .groups = 32},
            cases);
  AddConv2d({.input_channels = 256,
             .output_channels = 256,
             .height = 28,
             .width = 28,
             .rows = 3,
             .columns = 3,
             .padding = 2,
             .dilation = 2},
            cases);
  // Detectors.
  AddConv2d({.input_channels = 3,
             .output_channels = 16,
             .height = 320,
             .width = 320,
             .rows = 3,
             .columns = 3,
             .stride = 2,
             .padding = 1},
            cases);
  AddConv2d({.input_channels = 16,
             .output_channels = 32,
             .height = 160,
             .width = 160,
             .rows = 3,
             .columns = 3,
             .stride = 2,
             .padding = 1},
            cases);
  AddConv2d({.input_channels = 80,
             .output_channels = 80,
             .height = 40,
             .width = 40,
             .rows = 3,
             .columns = 3,
             .padding = 1},
            cases);
  // Patches of transformers.
  AddConv2d({.input_channels = 3,
             .output_channels = 768,
             .height = 224,
             .width = 224,
             .rows = 16,
             .columns = 16,
             .stride = 16},
            cases);
  AddConv2d({.input_channels = 3,
             .output_channels = 96,
             .height = 224,
             .width = 224,
             .rows = 4,
             .columns = 4,
             .stride = 4},
            cases);
  // Sounds.
  AddConv2d({.input_channels = 80,
             .output_channels = 384,
             .height = 1,
             .width = 3000,
             .rows = 1,
             .columns = 3,
             .padding = 1},
            cases);
  AddConv2d({.input_channels = 1,
             .output_channels = 512,
             .height = 1,
             .width = 16000,
             .rows = 1,
             .columns = 10,
             .stride = 5},
            cases);
  AddConv2d({.input_channels = 512,
             .output_channels = 512,
             .height = 1,
             .width = 800,
             .rows = 1,
             .columns = 3,
             .stride = 2},
            cases);
  // Of masks, and of generators.
  AddConvTranspose2d(256, 256, 14, 2, 2, cases);
  AddConvTranspose2d(128, 64, 16, 4, 2, cases);
  AddConvTranspose2d(64, 3, 32, 4, 2, cases);
  AddConvTranspose2d(21, 21, 16, 4, 2, cases);
  AddRecurrent(16, 1, 100, cases);
  AddRecurrent(16, 4, 125, cases);
  // Digits.
  AddConv2d({.input_channels = 1,
             .output_channels = 32,
             .height = 28,
             .width = 28,
             .rows = 3,
             .columns = 3},
            cases);
  AddConv2d({.input_channels = 32,
             .output_channels = 64,
             .height = 26,
             .width = 26,
             .rows = 3,
             .columns = 3},
            cases);
}

}  // namespace

std::vector<OperatorCase> ProductCases() {
  Cases cases;
  AddProducts(cases);
  AddConvolutions(cases);
  return cases;
}

}  // namespace webnnd::benchmarks
