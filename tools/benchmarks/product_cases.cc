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

// Rows and columns.
struct Size {
  uint32_t rows;
  uint32_t columns;
};

struct Windows {
  uint32_t stride = 1;
  uint32_t padding = 0;
  uint32_t groups = 1;
  uint32_t dilation = 1;
};

void AddConv2d(uint32_t input_channels, uint32_t output_channels, const Size& image,
               const Size& window, const Windows& c, Cases& cases) {
  for (const bool nhwc : {false, true}) {
    Add(
        fmt::format("conv2d {}x{}/{} {}->{} of {}x{}, groups {}, dilation {}, {}", window.rows,
                    window.columns, c.stride, input_channels, output_channels, image.rows,
                    image.columns, c.groups, c.dilation, nhwc ? "nhwc" : "nchw"),
        [=](GraphSketch& g, OperandDataType type) {
          const uint32_t per_group = input_channels / c.groups;
          const uint32_t down = window.rows == 1 ? 0 : c.padding;
          const uint32_t across = window.columns == 1 ? 0 : c.padding;
          webnn::Conv2dOptions options;
          options.padding = {{down, down, across, across}};
          options.strides = {{image.rows == 1 ? 1 : c.stride, c.stride}};
          options.dilations = {{c.dilation, c.dilation}};
          options.groups = c.groups;
          options.bias = g.Constant(type, {output_channels});
          Shape input = {1, input_channels, image.rows, image.columns};
          Shape filter = {output_channels, per_group, window.rows, window.columns};
          if (nhwc) {
            const bool is_depthwise = per_group == 1;
            options.input_layout = webnn::InputOperandLayout::kNhwc;
            options.filter_layout = is_depthwise ? webnn::Conv2dFilterOperandLayout::kIhwo
                                                 : webnn::Conv2dFilterOperandLayout::kOhwi;
            input = {1, image.rows, image.columns, input_channels};
            filter = is_depthwise ? Shape{1, window.rows, window.columns, output_channels}
                                  : Shape{output_channels, window.rows, window.columns, per_group};
          }
          const Operand result =
              Must(g->Conv2d(g.Input(type, input), g.Constant(type, filter), options));
          double count = 1.0 * per_group * window.rows * window.columns;
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

// `draw`, lstm or gru, is given input, weights and recurrent weights of so many gates.
template <typename Recurrent>
void AddRecurrent(const char* what, uint32_t gates, Recurrent draw, uint32_t steps, uint32_t rows,
                  uint32_t hidden, Cases& cases) {
  Add(
      fmt::format("{} of {} steps, {} rows, {} hidden", what, steps, rows, hidden),
      [=](GraphSketch& g, OperandDataType type) {
        g.CountMultiplyAdds(2.0 * gates * steps * rows * hidden * hidden);
        const Shape weights = {1, gates * hidden, hidden};
        g.Output(Must(draw(g, g.Input(type, {steps, rows, hidden}), g.Constant(type, weights),
                           g.Constant(type, weights)))[0]);
      },
      cases);
}

void AddRecurrent(uint32_t steps, uint32_t rows, uint32_t hidden, Cases& cases) {
  AddRecurrent(
      "lstm", 4,
      [=](GraphSketch& g, const Operand& x, const Operand& w, const Operand& r) {
        return g->Lstm(x, w, r, steps, hidden);
      },
      steps, rows, hidden, cases);
  AddRecurrent(
      "gru", 3,
      [=](GraphSketch& g, const Operand& x, const Operand& w, const Operand& r) {
        return g->Gru(x, w, r, steps, hidden);
      },
      steps, rows, hidden, cases);
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
  AddConv2d(64, 256, {56, 56}, {1, 1}, {}, cases);
  AddConv2d(256, 512, {56, 56}, {1, 1}, {.stride = 2}, cases);
  AddConv2d(128, 128, {56, 56}, {3, 3}, {.stride = 2, .padding = 1}, cases);
  AddConv2d(512, 512, {7, 7}, {3, 3}, {.padding = 1}, cases);
  AddConv2d(512, 2048, {7, 7}, {1, 1}, {}, cases);
  AddConv2d(128, 128, {56, 56}, {3, 3}, {.padding = 1, .groups = 32}, cases);
  AddConv2d(256, 256, {28, 28}, {3, 3}, {.padding = 2, .dilation = 2}, cases);
  // Detectors.
  AddConv2d(3, 16, {320, 320}, {3, 3}, {.stride = 2, .padding = 1}, cases);
  AddConv2d(16, 32, {160, 160}, {3, 3}, {.stride = 2, .padding = 1}, cases);
  AddConv2d(80, 80, {40, 40}, {3, 3}, {.padding = 1}, cases);
  // Patches of transformers.
  AddConv2d(3, 768, {224, 224}, {16, 16}, {.stride = 16}, cases);
  AddConv2d(3, 96, {224, 224}, {4, 4}, {.stride = 4}, cases);
  // Sounds.
  AddConv2d(80, 384, {1, 3000}, {1, 3}, {.padding = 1}, cases);
  AddConv2d(1, 512, {1, 16000}, {1, 10}, {.stride = 5}, cases);
  AddConv2d(512, 512, {1, 800}, {1, 3}, {.stride = 2}, cases);
  // Of masks, and of generators.
  AddConvTranspose2d(256, 256, 14, 2, 2, cases);
  AddConvTranspose2d(128, 64, 16, 4, 2, cases);
  AddConvTranspose2d(64, 3, 32, 4, 2, cases);
  AddConvTranspose2d(21, 21, 16, 4, 2, cases);
  AddRecurrent(16, 1, 100, cases);
  AddRecurrent(16, 4, 125, cases);
  // Digits.
  AddConv2d(1, 32, {28, 28}, {3, 3}, {}, cases);
  AddConv2d(32, 64, {26, 26}, {3, 3}, {}, cases);
}

}  // namespace

std::vector<OperatorCase> ProductCases() {
  Cases cases;
  AddProducts(cases);
  AddConvolutions(cases);
  return cases;
}

}  // namespace webnnd::benchmarks
